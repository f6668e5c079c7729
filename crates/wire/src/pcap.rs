//! Captures that Wireshark and tshark read with their Omni-Path dissectors.
//!
//! A capture is a pcap file of nanosecond resolution whose packets are ERF records (link type 197)
//! of type 29, Omni-Path in the 9B format: local route header, base transport header, datagram
//! transport header, the datagram, and an invariant CRC, which is written as 0.

use crate::bits::store;
use crate::id::Lid;
use crate::packet::Packet;

/// Link type of captures in ERF records.
const LINK_TYPE_ERF: u32 = 197;
/// First word of a pcap file with nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xA1B2_3C4D;
/// Longest packet that is written.
const SNAP_LEN: u32 = 0xFFFF;
/// ERF record of an Omni-Path packet in the 9B format.
const ERF_TYPE_OPA_9B: u8 = 29;
/// ERF flag: records vary in length.
const ERF_FLAG_VARYING: u8 = 0x04;
const ERF_HEADER_LEN: usize = 16;
const LRH_LEN: usize = 8;
const BTH_LEN: usize = 12;
const DETH_LEN: usize = 8;
const ICRC_LEN: usize = 4;
/// A base transport header follows the local route header.
const LNH_LOCAL: u64 = 2;
/// An unreliable datagram in one packet.
const OPCODE_UD_SEND_ONLY: u64 = 0x64;
/// Service channel of subnet management.
const SC_MANAGEMENT: u64 = 15;
/// The queue key of general services.
const Q_KEY_GENERAL_SERVICES: u64 = 0x8001_0000;

/// Writes captures into memory.
#[derive(Debug, Clone)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// A capture without packets.
    pub fn new() -> Self {
        let mut bytes = Vec::with_capacity(24);
        bytes.extend_from_slice(&MAGIC_NANOSECONDS.to_be_bytes());
        bytes.extend_from_slice(&[0, 2, 0, 4]); // version 2.4
        bytes.extend_from_slice(&[0; 8]); // time zone and accuracy, unused
        bytes.extend_from_slice(&SNAP_LEN.to_be_bytes());
        bytes.extend_from_slice(&LINK_TYPE_ERF.to_be_bytes());
        Self { bytes }
    }

    /// Adds `packet` as it was at `time_ns`, nanoseconds since 1970 or since any start.
    ///
    /// LIDs above 0xBFFF that are not multicast do not fit into the 9B format and are cut.
    pub fn push(&mut self, time_ns: u64, packet: &Packet) {
        let frame = frame(packet);
        let len = ERF_HEADER_LEN + frame.len();
        let (seconds, nanoseconds) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        for word in [seconds as u32, nanoseconds as u32, len as u32, len as u32] {
            self.bytes.extend_from_slice(&word.to_be_bytes());
        }
        self.bytes
            .extend_from_slice(&erf_header(seconds, nanoseconds, frame.len()));
        self.bytes.extend_from_slice(&frame);
    }

    /// The capture so far; it is a complete file after every packet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The capture.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The header of an ERF record: its time in units of 2^-32 s, little-endian, then big-endian what
/// it is and how long.
fn erf_header(seconds: u64, nanoseconds: u64, frame_len: usize) -> [u8; ERF_HEADER_LEN] {
    let fraction = (nanoseconds << 32) / 1_000_000_000;
    let mut header = [0; ERF_HEADER_LEN];
    let (time, rest) = header.split_at_mut(8);
    time.copy_from_slice(&(seconds << 32 | fraction).to_le_bytes());
    store(rest, 0, 1, u64::from(ERF_TYPE_OPA_9B));
    store(rest, 1, 1, u64::from(ERF_FLAG_VARYING));
    store(rest, 2, 2, (ERF_HEADER_LEN + frame_len) as u64);
    store(rest, 6, 2, frame_len as u64);
    header
}

/// The packet on the link.
fn frame(packet: &Packet) -> Vec<u8> {
    let pad = packet.mad.len().next_multiple_of(4) - packet.mad.len();
    let headers = LRH_LEN + BTH_LEN + DETH_LEN;
    let len = headers + packet.mad.len() + pad + ICRC_LEN;
    let (sc, q_key) = match packet.dest_qp {
        0 => (SC_MANAGEMENT, 0),
        _ => (0, Q_KEY_GENERAL_SERVICES),
    };
    let mut frame = vec![0; headers];
    store(&mut frame, 0, 1, sc << 4);
    store(
        &mut frame,
        1,
        1,
        u64::from(packet.sl.0) << 4 & 0xF0 | LNH_LOCAL,
    );
    store(&mut frame, 2, 2, short_lid(packet.dlid));
    store(&mut frame, 4, 2, len as u64 / 4);
    store(&mut frame, 6, 2, short_lid(packet.slid));
    let bth = LRH_LEN;
    store(&mut frame, bth, 1, OPCODE_UD_SEND_ONLY);
    store(&mut frame, bth + 1, 1, (pad as u64) << 4);
    store(&mut frame, bth + 2, 2, u64::from(packet.pkey.0));
    store(
        &mut frame,
        bth + 4,
        4,
        u64::from(packet.dest_qp & 0xFF_FFFF),
    );
    let deth = LRH_LEN + BTH_LEN;
    store(&mut frame, deth, 4, q_key);
    store(
        &mut frame,
        deth + 4,
        4,
        u64::from(packet.src_qp & 0xFF_FFFF),
    );
    frame.extend_from_slice(&packet.mad);
    frame.resize(len, 0);
    frame
}

/// A LID in 16 bits: multicast from 0xC000, permissive 0xFFFF.
fn short_lid(lid: Lid) -> u64 {
    match lid {
        Lid::PERMISSIVE => 0xFFFF,
        lid if lid >= Lid::MULTICAST_BASE => u64::from(0xC000 | lid.0 & 0x3FFF),
        lid => u64::from(lid.0 & 0xFFFF),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{PKey, Sl};

    fn packet(dlid: Lid, mad_len: usize) -> Packet {
        Packet {
            slid: Lid(0x12),
            dlid,
            sl: Sl(1),
            pkey: PKey::MGMT_FULL,
            dest_qp: 1,
            src_qp: 1,
            mad: vec![0xAA; mad_len],
        }
    }

    #[test]
    fn lengths_and_padding_agree() {
        for (mad_len, pad) in [(24, 0), (33, 3), (242, 2)] {
            let frame = frame(&packet(Lid(1), mad_len));
            assert_eq!(frame.len(), 28 + mad_len + pad + 4);
            assert_eq!(
                usize::from(frame[4]) << 8 | usize::from(frame[5]),
                frame.len() / 4
            );
            assert_eq!(usize::from(frame[9] >> 4), pad, "pad count");
            let mut writer = Writer::new();
            writer.push(1_500_000_000, &packet(Lid(1), mad_len));
            let bytes = writer.finish();
            assert_eq!(bytes.len(), 24 + 16 + 16 + frame.len());
            assert_eq!(
                bytes[24..32],
                [0, 0, 0, 1, 0x1D, 0xCD, 0x65, 0],
                "1 s and 500,000,000 ns"
            );
            assert_eq!(
                bytes[40..48],
                [0, 0, 0, 0x80, 1, 0, 0, 0],
                "1.5 s in units of 2^-32 s"
            );
        }
    }

    #[test]
    fn lids_fit_into_sixteen_bits() {
        for (lid, short) in [
            (Lid(0xBFFF), 0xBFFF),
            (Lid(0xF000_0001), 0xC001),
            (Lid(0xF000_3FFE), 0xFFFE),
            (Lid::PERMISSIVE, 0xFFFF),
        ] {
            assert_eq!(short_lid(lid), short, "{lid}");
        }
    }
}
