//! Notices for subscribers: each trap once, and end ports that come into
//! service or go out of it.

use std::collections::VecDeque;

use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Node, Tick, Topology};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::id::Gid;
use weft_wire::sm::{Notice, Trap, TrapGid};

use super::outbox::Outbox;
use super::publish::Numbered;
use crate::io::Output;

/// Traps that are remembered, to know those that come again.
const REMEMBERED: usize = 256;
/// Traps that are passed on in one second; what comes beyond them is counted and left.
const PER_SECOND_MAX: u32 = 1_024;
const SECOND_NS: u64 = 1_000_000_000;
/// An agent that is not answered repeats its trap sooner than this.
const REPEATED_WITHIN_NS: u64 = 5 * SECOND_NS;
/// Notices about end ports that one change of the fabric causes; a reader of snapshots sees the
/// rest.
const SERVICES_MAX: usize = 65_536;

/// Traps that came lately.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Lately {
    seen: VecDeque<(Lid, u16, u64, Tick)>,
    second: u64,
    passed: u32,
}

impl Lately {
    /// Whether a trap has come before: an agent repeats it until it is answered.
    pub(super) fn has_come(&mut self, now: Tick, notice: &Notice, transaction_id: u64) -> bool {
        let key = (notice.issuer_lid, notice.trap_number, transaction_id);
        let known = self
            .seen
            .iter_mut()
            .find(|(lid, trap, id, _)| (*lid, *trap, *id) == key);
        if let Some((.., last)) = known {
            let last = std::mem::replace(last, now);
            return now.0.saturating_sub(last.0) <= REPEATED_WITHIN_NS;
        }
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        let (issuer, number, _) = key;
        self.seen.push_back((issuer, number, transaction_id, now));
        false
    }

    /// Whether this second has not had too many traps that are passed on.
    fn has_room(&mut self, now: Tick) -> bool {
        let second = now.0 / SECOND_NS;
        if second != self.second {
            (self.second, self.passed) = (second, 0);
        }
        self.passed += 1;
        self.passed <= PER_SECOND_MAX
    }
}

impl Outbox {
    /// Passes a trap on as it came, unless it has come before.
    pub(super) fn pass_on(&mut self, now: Tick, bytes: &[u8], repeated: bool) {
        if !repeated && self.lately.has_room(now) {
            self.push(Output::Notice(bytes.to_vec()));
        } else {
            self.totals.traps_left += 1;
        }
    }

    /// Reports end ports that have come into service or gone out of it, in
    /// notices of the manager at `own`.
    pub(super) fn tell_services(
        &mut self,
        (before, after): (Numbered<'_>, Numbered<'_>),
        prefix: u64,
        own: Lid,
    ) {
        let gone = news(after.0, before).map(|guid| (guid, false));
        let come = news(before.0, after).map(|guid| (guid, true));
        let changes: Vec<(Guid, bool)> = gone.chain(come).take(SERVICES_MAX).collect();
        for (interface, in_service) in changes {
            let gid = Gid { prefix, interface };
            let data = TrapGid { gid };
            let trap = match in_service {
                true => Trap::GidNowInService(data),
                false => Trap::GidOutOfService(data),
            };
            let notice = Notice::of(&trap, Notice::PRODUCER_SM, own);
            self.push(Output::Notice(notice.to_bytes().to_vec()));
        }
    }
}

/// GUIDs of the end ports that are in service in `b` and not in `a`.
fn news<'a>(a: &'a Topology, b: Numbered<'a>) -> impl Iterator<Item = Guid> + 'a {
    let (b, numbers) = b;
    b.nodes().zip(numbers).flat_map(move |((_, node), number)| {
        let was = number.and_then(|number| a.node(number));
        in_service(node)
            .filter(move |guid| !was.is_some_and(|was| in_service(was).any(|other| other == *guid)))
    })
}

/// GUIDs of a node's end ports that data can reach.
fn in_service(node: &Node) -> impl Iterator<Item = Guid> + '_ {
    let ports = node
        .end_ports()
        .filter(|(_, port)| port.info.lid.0 != 0 && port.info.port_state == PortState::ACTIVE);
    ports.filter_map(|(number, _)| node.port_guid(number))
}
