//! Traps: notices that an agent sends unasked and repeats until the subnet manager has seen them.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Lid, PKey, PortNum, Sl, Tick};
use weft_wire::Layout;
use weft_wire::bits::load;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::trap::{
    Trap, TrapChangeCapability, TrapLink, TrapLinkWidth, TrapPortChangeState, TrapSysGuidChange,
};
use weft_wire::sm::{AttributeId, Notice, PortInfo};
use weft_wire::smp::{LID_ROUTED_HEADER_LEN, Smp};

use crate::agent::sma::at;
use crate::offence::Offence;

/// Maximum number of times that a trap is sent.
pub const SENDS_MAX: u32 = 16;
/// Minimum time between two traps of a node, nanoseconds, even if `SubnetTimeout` is shorter.
pub const INTERVAL_MIN_NS: u64 = 1_000_000;
/// Largest `SubnetTimeout`: 2^31 × 4.096 µs.
const TIMEOUT_MAX: u8 = 31;

/// Conditions that a node reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Ports of a switch went up or down: trap 128.
    Ports,
    /// A port's capabilities have changed: trap 144.
    Capability,
    /// A link of a switch continues with fewer lanes: trap 2048.
    Width,
    /// A port's link has too many errors: trap 129.
    Errors,
    /// A port's buffer overran: trap 130.
    Overruns,
    /// A port waited too long for credits: trap 131.
    Watchdog,
    /// The node is part of another system: trap 145.
    System,
    /// The node has another description: trap 144 too.
    Description,
    /// A datagram had a wrong M_Key: trap 256.
    MKey,
    /// A packet had a P_Key that a port does not let through: trap 257 of an HFI, 259 of a switch.
    PKey,
    /// A packet had a Q_Key that its queue pair does not have: trap 258.
    QKey,
}

impl News {
    /// All of them.
    pub(crate) const ALL: [Self; 11] = [
        Self::Ports,
        Self::Capability,
        Self::Width,
        Self::Errors,
        Self::Overruns,
        Self::Watchdog,
        Self::System,
        Self::Description,
        Self::MKey,
        Self::PKey,
        Self::QKey,
    ];

    /// Whether a notice is of its trap.
    fn is_told_by(self, notice: &Notice) -> bool {
        let number = notice.trap_number;
        let is_description = match notice.trap() {
            Some(Trap::ChangeCapability(data)) => data.node_description_change,
            _ => false,
        };
        match self {
            Self::Ports => number == 128,
            Self::Capability => number == 144 && !is_description,
            Self::Description => number == 144 && is_description,
            Self::Width => number == 2048,
            Self::Errors => number == 129,
            Self::Overruns => number == 130,
            Self::Watchdog => number == 131,
            Self::System => number == 145,
            Self::MKey => number == 256,
            Self::PKey => matches!(number, 257 | 259),
            Self::QKey => number == 258,
        }
    }
}

/// The trap that a node is about to send or repeats.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TrapState {
    /// It waits for its TrapRepress.
    pub(crate) waiting: bool,
    /// Something else happened since it was first sent.
    again: bool,
    sends_left: u32,
    /// Counts the node's traps; the lower half of their transaction ids.
    number: u32,
    /// Not sent again before.
    pub(crate) next: Tick,
    /// The port that it is about, where it is about one.
    pub(crate) port: PortNum,
    /// The datagram that it is about, where it is about one: the first one.
    pub(crate) offence: Offence,
}

/// Next action for a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Rest,
    /// Send it, and look again at `next`.
    Send,
    /// Look again at `next`.
    Wait,
}

impl TrapState {
    /// Something happened.
    pub(crate) fn raise(&mut self, now: Tick, interval_ns: u64) -> Step {
        if self.waiting {
            self.again = true;
            return Step::Rest;
        }
        self.begin();
        if now < self.next {
            return Step::Wait;
        }
        self.sent(now, interval_ns)
    }

    fn begin(&mut self) {
        self.waiting = true;
        self.again = false;
        self.number = self.number.wrapping_add(1);
        self.sends_left = SENDS_MAX;
    }

    fn sent(&mut self, now: Tick, interval_ns: u64) -> Step {
        self.sends_left -= 1;
        self.next = Tick(now.0.saturating_add(interval_ns));
        Step::Send
    }

    /// The time has come that `next` named.
    pub(crate) fn due(&mut self, now: Tick, interval_ns: u64) -> Step {
        if !self.waiting {
            return Step::Rest;
        }
        if now < self.next {
            return Step::Wait;
        }
        if self.again {
            self.begin();
        }
        if self.sends_left == 0 {
            self.waiting = false;
            return Step::Rest;
        }
        self.sent(now, interval_ns)
    }

    /// The subnet manager has seen the trap with this number.
    pub(crate) fn repress(&mut self, number: u32) -> Step {
        if !self.waiting || number != self.number {
            return Step::Rest;
        }
        self.waiting = false;
        if !self.again {
            return Step::Rest;
        }
        self.begin();
        Step::Wait
    }
}

/// Nanoseconds between two traps, by the port's `SubnetTimeout`.
pub(crate) fn interval_ns(info: &PortInfo) -> u64 {
    let wanted = 4096u64 << info.subnet_timeout.min(TIMEOUT_MAX);
    wanted.max(INTERVAL_MIN_NS)
}

/// The trap as it leaves a node's end port; none while the port does not know its own LID or the
/// manager's.
pub(crate) fn packet(
    network: &Network,
    end: PortIndex,
    news: News,
    state: &TrapState,
) -> Option<Packet> {
    let info = network.port(end).info();
    if info.lid == Lid(0) || info.master_sm_lid == Lid(0) {
        return None;
    }
    let lid = info.lid;
    let is_switch = network.device_at(network.node_of(end)).is_switch();
    let link = TrapLink {
        lid,
        port: state.port,
    };
    let trap = match news {
        News::Ports => Trap::PortChangeState(TrapPortChangeState { lid }),
        News::Capability | News::Description => Trap::ChangeCapability(TrapChangeCapability {
            lid,
            capability_mask: info.capability_mask,
            capability_mask3: info.capability_mask3,
            node_description_change: news == News::Description,
            ..TrapChangeCapability::default()
        }),
        News::Width => Trap::LinkWidth(TrapLinkWidth { reporting_lid: lid }),
        News::Errors => Trap::LinkIntegrity(link),
        News::Overruns => Trap::BufferOverrun(link),
        News::Watchdog => Trap::FlowWatchdog(link),
        News::System => Trap::ChangeSysGuid(TrapSysGuidChange {
            system_image_guid: network
                .device_at(network.node_of(end))
                .info
                .system_image_guid,
            lid,
        }),
        News::MKey => state.offence.bad_m_key(),
        News::PKey if is_switch => state.offence.bad_p_key_at_switch(),
        News::PKey => state.offence.bad_p_key(),
        News::QKey => state.offence.bad_q_key(),
    };
    let producer = match is_switch {
        true => Notice::PRODUCER_SWITCH,
        false => Notice::PRODUCER_HFI,
    };
    let notice = Notice::of(&trap, producer, info.lid);
    let smp = Smp {
        method: method::TRAP,
        ..Smp::get(AttributeId::NOTICE, 0, u64::from(state.number), info.m_key)
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(&notice.to_bytes(), &mut mad);
    Some(Packet {
        slid: info.lid,
        dlid: info.master_sm_lid,
        sl: Sl(info.master_sm_sl.0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 0,
        src_qp: 0,
        mad,
    })
}

/// The number of the trap that a TrapRepress answers.
pub(crate) fn repressed(mad: &[u8]) -> u32 {
    load(mad, at::TRANSACTION, 8) as u32
}

/// Whether a TrapRepress, which repeats the notice, is about such news.
pub(crate) fn is_about(mad: &[u8], news: News) -> bool {
    let notice = mad.get(LID_ROUTED_HEADER_LEN..);
    let notice = notice.and_then(|bytes| Notice::decode(bytes).ok());
    // One without its notice is taken for whatever trap has its number.
    notice.is_none_or(|notice| news.is_told_by(&notice))
}
