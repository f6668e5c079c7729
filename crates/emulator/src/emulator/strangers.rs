//! Programs on hosts that send what they must not: datagrams with keys that are not theirs.

use weft_fabric::{Guid, Lid, PKey, PortNum, Sl};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, method, version};
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::Smp;

use super::Emulator;
use crate::io::ControlError;
use crate::offence::Offence;
use crate::trap::News;

/// Most datagrams of a control.
const COUNT_MAX: u32 = 100_000;
/// A vendor's class of datagrams, which no agent and no manager serves.
const VENDOR_CLASS: u8 = 0x30;
/// Queue pair of general services.
const GENERAL_QP: u32 = 1;
/// The Q_Key of that queue pair, which a program without rights cannot set.
const GENERAL_Q_KEY: u32 = 0x8001_0000;
/// Bytes of such a datagram, as InfiniBand has them.
const LEN: usize = 256;

/// What a program claims to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claimed {
    PKey(u16),
    MKey(u64),
}

impl Emulator {
    /// A program on a host sends datagrams to a node with a key. Those with an M_Key would clear the node's beacon.
    pub(super) fn send_claiming(
        &mut self,
        (node, port): (Guid, PortNum),
        to: Guid,
        claimed: Claimed,
        count: u32,
    ) -> Result<(), ControlError> {
        check_count(count)?;
        let from = self.hfi_port(node, port)?;
        let target = self.network.device_at(self.node(to)?).first_port_index();
        let (slid, dlid) = (self.lid(from), self.lid(target));
        for number in 0..count {
            let packet = match claimed {
                Claimed::PKey(key) => general(slid, dlid, PKey(key)),
                Claimed::MKey(key) => management(slid, dlid, key, number),
            };
            self.send_from_program(node, port, packet)?;
        }
        Ok(())
    }

    /// A program on a host sends datagrams with a Q_Key to the queue pair of general services of another host. Where it is
    /// not that one's, the host counts each, and tells of them. Nothing is asked of the way: Q_Keys are no switch's.
    pub(super) fn send_to_queue_pair(
        &mut self,
        (node, port): (Guid, PortNum),
        to: Guid,
        key: u32,
        count: u32,
    ) -> Result<(), ControlError> {
        check_count(count)?;
        let from = self.hfi_port(node, port)?;
        let target = self.hfi_port(to, PortNum(1))?;
        let packet = general(self.lid(from), self.lid(target), PKey::MGMT_LIMITED);
        if key == GENERAL_Q_KEY {
            return Ok(());
        }
        self.network.count_q_key_violations(target, count);
        let port = self.network.number_of(target);
        self.tell_offence(News::QKey, target, Offence::of_q_key(&packet, port, key));
        Ok(())
    }

    fn lid(&self, at: weft_dataplane::PortIndex) -> Lid {
        self.network.port(at).info().lid
    }
}

fn check_count(count: u32) -> Result<(), ControlError> {
    match (1..=COUNT_MAX).contains(&count) {
        true => Ok(()),
        false => Err(ControlError::Range {
            what: "count",
            value: f64::from(count),
            allowed: "1 to 100000",
        }),
    }
}

fn general(slid: Lid, dlid: Lid, pkey: PKey) -> Packet {
    let header = MadHeader {
        base_version: version::OPA,
        mgmt_class: VENDOR_CLASS,
        class_version: version::OPA,
        method: method::TRAP,
        ..MadHeader::default()
    };
    let mut mad = vec![0; LEN];
    header.encode(&mut mad);
    Packet {
        slid,
        dlid,
        sl: Sl(0),
        pkey,
        dest_qp: GENERAL_QP,
        src_qp: GENERAL_QP,
        mad,
    }
}

fn management(slid: Lid, dlid: Lid, key: u64, number: u32) -> Packet {
    let smp = Smp {
        method: method::SET,
        ..Smp::get(AttributeId::LED_INFO, 1 << 24, u64::from(number), key)
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(&[0; 8], &mut mad);
    Packet {
        slid,
        dlid,
        sl: Sl(0),
        pkey: PKey::MGMT_LIMITED,
        dest_qp: 0,
        src_qp: 0,
        mad,
    }
}
