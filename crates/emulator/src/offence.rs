//! Datagrams with keys that a node does not take, as its traps tell of them.

use weft_fabric::{Lid, PortNum, Sl};
use weft_wire::bits::load;
use weft_wire::header::class;
use weft_wire::packet::Packet;
use weft_wire::sm::trap::{Trap, TrapBadKey, TrapBadMKey, TrapSwitchBadPKey};

use crate::agent::sma::at;

/// A datagram with a wrong key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offence {
    from: Lid,
    to: Lid,
    p_key: u16,
    sl: Sl,
    /// Queue pairs: of its source and of its destination.
    qps: (u32, u32),
    q_key: u32,
    m_key: u64,
    method: u8,
    attribute: u16,
    modifier: u32,
    is_directed: bool,
    /// The port that did not take it.
    pub(crate) port: PortNum,
}

impl Offence {
    pub(crate) fn of(packet: &Packet, port: PortNum) -> Self {
        let mad = &packet.mad;
        Self {
            from: packet.slid,
            to: packet.dlid,
            p_key: packet.pkey.0,
            sl: packet.sl,
            qps: (packet.src_qp, packet.dest_qp),
            q_key: 0,
            m_key: load(mad, at::M_KEY, 8),
            method: load(mad, at::METHOD, 1) as u8,
            attribute: load(mad, at::ATTRIBUTE, 2) as u16,
            modifier: load(mad, at::MODIFIER, 4) as u32,
            is_directed: mad.get(at::CLASS) == Some(&class::SM_DIRECTED_ROUTE),
            port,
        }
    }

    /// A datagram with a Q_Key that its queue pair does not have.
    pub(crate) fn of_q_key(packet: &Packet, port: PortNum, q_key: u32) -> Self {
        Self {
            q_key,
            ..Self::of(packet, port)
        }
    }

    /// Trap 256.
    pub(crate) fn bad_m_key(&self) -> Trap {
        Trap::BadMKey(TrapBadMKey {
            lid: self.from,
            dr_slid: Lid::PERMISSIVE,
            method: self.method,
            dr_notice: self.is_directed,
            attribute_id: self.attribute,
            attribute_modifier: self.modifier,
            m_key: self.m_key,
            ..TrapBadMKey::default()
        })
    }

    /// Trap 257.
    pub(crate) fn bad_p_key(&self) -> Trap {
        Trap::BadPKey(self.bad_key(u32::from(self.p_key)))
    }

    /// Trap 258.
    pub(crate) fn bad_q_key(&self) -> Trap {
        Trap::BadQKey(self.bad_key(self.q_key))
    }

    fn bad_key(&self, key: u32) -> TrapBadKey {
        TrapBadKey {
            lid1: self.from,
            lid2: self.to,
            key,
            sl: self.sl,
            qp1: self.qps.0,
            qp2: self.qps.1,
            ..TrapBadKey::default()
        }
    }

    /// Trap 259.
    pub(crate) fn bad_p_key_at_switch(&self) -> Trap {
        Trap::SwitchBadPKey(TrapSwitchBadPKey {
            has_lid1: true,
            has_lid2: true,
            has_p_key: true,
            has_sl: true,
            has_qp1: true,
            has_qp2: true,
            p_key: self.p_key,
            lid1: self.from,
            lid2: self.to,
            sl: self.sl,
            qp1: self.qps.0,
            qp2: self.qps.1,
            ..TrapSwitchBadPKey::default()
        })
    }
}
