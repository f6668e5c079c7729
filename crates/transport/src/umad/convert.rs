//! Between datagrams as the fabric has them and as the kernel has them.

use weft_wire::Layout;
use weft_wire::bits::{load, store};
use weft_wire::header::{class, method};
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{RMPP_AT, RmppHeader};

use super::library::{From, PortInfo, To};

/// The Q_Key of queue pair 1.
const QP1_Q_KEY: u32 = 0x8001_0000;
/// The permissive LID in 16 bits.
const PERMISSIVE_16: u16 = 0xFFFF;
/// Index of the management P_Key by convention, used if the table is unavailable.
const MANAGEMENT_INDEX: u16 = 1;

/// Places in the common header.
const CLASS: usize = 1;
const VERSION: usize = 2;
const METHOD: usize = 3;
const TRANSACTION: usize = 8;

/// Bytes that a datagram has at least: the common header.
pub(super) const LEN_MIN: usize = 24;

/// Class and version of a datagram.
pub(super) fn class_of(mad: &[u8]) -> (u8, u8) {
    (load(mad, CLASS, 1) as u8, load(mad, VERSION, 1) as u8)
}

/// Whether it answers something.
pub(super) fn is_response(mad: &[u8]) -> bool {
    method::is_response(load(mad, METHOD, 1) as u8)
}

/// Whether it is part of a transfer in segments: its RMPP header is active.
pub(super) fn is_segment(mad: &[u8]) -> bool {
    let is_segmented = matches!(
        load(mad, CLASS, 1) as u8,
        class::SUBN_ADM | class::SM_DBSYNC | class::PA
    );
    let header = mad.get(RMPP_AT..).unwrap_or_default();
    is_segmented && RmppHeader::decode(header).is_ok_and(|header| header.active)
}

/// Its transaction identifier.
pub(super) fn transaction(mad: &[u8]) -> u64 {
    load(mad, TRANSACTION, 8)
}

/// Gives it another.
pub(super) fn set_transaction(mad: &mut [u8], id: u64) {
    store(mad, TRANSACTION, 8, id);
}

/// The kernel's address of a datagram to be sent; none for a LID that needs more than 16 bits.
pub(super) fn to_kernel(packet: &Packet, port: &PortInfo) -> Option<To> {
    let lid = match packet.dlid {
        Lid::PERMISSIVE => PERMISSIVE_16,
        Lid(lid) => u16::try_from(lid).ok().filter(|lid| *lid <= 0xBFFF)?,
    };
    let subnet = packet.dest_qp == 0;
    Some(To {
        lid,
        qp: packet.dest_qp,
        q_key: if subnet { 0 } else { QP1_Q_KEY },
        sl: packet.sl.0,
        pkey_index: pkey_index(packet.pkey, port),
    })
}

/// Index of a P_Key in the port's table, else of the management partition's, full before limited.
fn pkey_index(wanted: PKey, port: &PortInfo) -> u16 {
    let place = |key: PKey| port.pkeys.iter().position(|held| *held == key.0);
    let found = [wanted, PKey::MGMT_FULL, PKey::MGMT_LIMITED]
        .into_iter()
        .find_map(place);
    found
        .and_then(|index| u16::try_from(index).ok())
        .unwrap_or(MANAGEMENT_INDEX)
}

/// A datagram that came in. A P_Key that the port's table does not tell is 0, which no partition
/// has.
pub(super) fn from_kernel(from: &From, mad: &[u8], port: &PortInfo) -> Packet {
    let (mgmt_class, _) = class_of(mad);
    let directed = mgmt_class == class::SM_DIRECTED_ROUTE && from.lid == PERMISSIVE_16;
    let pkey = port.pkeys.get(usize::from(from.pkey_index)).copied();
    let lid = Lid(port.base_lid | u32::from(from.path_bits));
    Packet {
        slid: match from.lid {
            PERMISSIVE_16 => Lid::PERMISSIVE,
            lid => Lid(u32::from(lid)),
        },
        dlid: if directed { Lid::PERMISSIVE } else { lid },
        sl: Sl(from.sl),
        pkey: PKey(pkey.unwrap_or_default()),
        dest_qp: u32::from(!class::is_sm(mgmt_class)),
        src_qp: from.qp,
        mad: mad.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn port() -> PortInfo {
        PortInfo {
            base_lid: 8,
            port_guid: 1,
            pkeys: vec![0x8001, 0x7FFF, 0xFFFF],
        }
    }

    fn packet(dlid: Lid, dest_qp: u32, pkey: u16) -> Packet {
        Packet {
            slid: Lid(8),
            dlid,
            sl: Sl(2),
            pkey: PKey(pkey),
            dest_qp,
            src_qp: 1,
            mad: vec![0; LEN_MIN],
        }
    }

    #[test]
    fn addresses_go_out_in_the_kernel_s_terms() {
        let cases = [
            (Lid::PERMISSIVE, 0, 0xFFFF, Some((0xFFFF, 0, 0, 2))),
            (Lid(5), 1, 0x8001, Some((5, 1, QP1_Q_KEY, 0))),
            (Lid(5), 1, 0x7FFF, Some((5, 1, QP1_Q_KEY, 1))),
            (Lid(5), 0x123, 0x9999, Some((5, 0x123, QP1_Q_KEY, 2))),
            (Lid(0xC000), 1, 0xFFFF, None),
            (Lid(0x1_0000), 1, 0xFFFF, None),
        ];
        for (dlid, qp, pkey, wanted) in cases {
            let to = to_kernel(&packet(dlid, qp, pkey), &port());
            let got = to.map(|to| (to.lid, to.qp, to.q_key, to.pkey_index));
            assert_eq!(got, wanted, "{dlid} {qp:#x} {pkey:#x}");
        }
        let empty = PortInfo::default();
        let to = to_kernel(&packet(Lid(5), 1, 0xFFFF), &empty).unwrap();
        assert_eq!(to.pkey_index, MANAGEMENT_INDEX);
    }

    #[test]
    fn addresses_come_in_as_the_fabric_has_them() {
        let from = |lid, pkey_index| From {
            lid,
            qp: 1,
            sl: 0,
            path_bits: 1,
            pkey_index,
            status: 0,
        };
        let mad = |mgmt_class| {
            [0x80, mgmt_class, 0x80, 1]
                .into_iter()
                .chain([0; 20])
                .collect::<Vec<u8>>()
        };
        let cases = [
            (0x81, 0xFFFF, 2, Lid::PERMISSIVE, Lid::PERMISSIVE, 0xFFFF, 0),
            (0x81, 4, 2, Lid(4), Lid(9), 0xFFFF, 0),
            (0x01, 4, 1, Lid(4), Lid(9), 0x7FFF, 0),
            (0x03, 4, 7, Lid(4), Lid(9), 0, 1),
        ];
        for (mgmt_class, lid, index, slid, dlid, pkey, qp) in cases {
            let packet = from_kernel(&from(lid, index), &mad(mgmt_class), &port());
            let got = (packet.slid, packet.dlid, packet.pkey.0, packet.dest_qp);
            assert_eq!(got, (slid, dlid, pkey, qp), "class {mgmt_class:#x}");
        }
    }
}
