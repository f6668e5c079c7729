//! Which links of a sweep lead to devices that are let in, and what follows for the others.

use std::cmp::Ordering;

use weft_fabric::admission::RefusedNode;
use weft_fabric::enums::PortState;
use weft_fabric::{NodeId, PortNum, PortRef, Tick};
use weft_wire::sm::{NodeInfo, PortInfo};

use super::link::Far;
use super::{Findings, Needs, Refusal, Refusals, Rejection};
use crate::io::{BarredPort, Event, PortAction};
use crate::sm::Manager;
use crate::sm::devices::is_up;
use crate::sm::devices::{Device, Devices};
use crate::sm::port_change::End;

/// Most events of one kind that a sweep causes.
const EVENTS_MAX: usize = 4_096;

impl Devices {
    /// Judges a link on which both ends agree; returns whether it may be used. The end nearer to the manager is
    /// trusted, of two that are equally near both are. The manager's own link is not judged: without it there is no
    /// fabric.
    pub(in crate::sm) fn admits(
        &self,
        refusals: &mut Refusals,
        needs: &Needs<'_>,
        (a, b): (PortRef, PortRef),
    ) -> bool {
        if a.node == NodeId(0) || b.node == NodeId(0) {
            return true;
        }
        let hops = |end: PortRef| self[end.node].identity.path.len();
        let mut judge = |near, far| self.admits_behind(refusals, needs, (near, far));
        match hops(a).cmp(&hops(b)) {
            Ordering::Less => judge(a, b),
            Ordering::Greater => judge(b, a),
            Ordering::Equal => judge(a, b) & judge(b, a),
        }
    }

    fn admits_behind(
        &self,
        refusals: &mut Refusals,
        needs: &Needs<'_>,
        (near, far): (PortRef, PortRef),
    ) -> bool {
        let (trusted, device) = (&self[near.node], &self[far.node]);
        let before = trusted.observed.port(near.port);
        let Some((before, port)) = before.zip(device.observed.port(far.port)) else {
            return true;
        };
        let found = needs.judge(before, Far { device, port });
        let end = (trusted.identity.guid, near.port);
        match refused(end, device, far.port, &found) {
            Some(refusal) => refusals.find(refusal),
            None => refusals.withdraw(end),
        }
        found.is_empty()
    }

    /// Whether the port before a device that is not let in still has its link, and reports the same device there.
    fn still_names(&self, refusal: &Refusal) -> bool {
        let info = self
            .trusted_port(refusal.node.trusted)
            .filter(|info| is_up(info));
        info.is_some_and(|info| info.neighbor_node_guid == refusal.node.neighbour)
    }

    fn carries_data(&self, trusted: End) -> bool {
        let info = self.trusted_port(trusted);
        info.is_some_and(|info| info.port_state > PortState::INIT)
    }

    fn trusted_port(&self, (guid, port): End) -> Option<&PortInfo> {
        self[self.find(guid)?].observed.port(port)
    }

    /// The ports before devices that are not let in.
    pub(in crate::sm) fn refused_ports(&self, now: Tick) -> impl Iterator<Item = BarredPort> {
        let ends = self.refusals.kept.keys();
        ends.filter_map(move |end| self.refused_port(now, *end))
    }

    /// The entry of one such port in the list of quarantine.
    pub(in crate::sm) fn refused_port(&self, now: Tick, end: End) -> Option<BarredPort> {
        let (refusal, since) = self.refusals.kept.get(&end)?;
        let port = self.link_end(end);
        Some(BarredPort {
            comment: refusal.told(port.clone()).to_string(),
            port,
            reason: self.refusals.reason(end)?,
            losses: 0,
            since: now.since(*since),
            left: None,
            errors: None,
        })
    }
}

/// The refusal of a device for what was found; none where that is nothing.
fn refused(trusted: End, device: &Device, port: PortNum, found: &Findings) -> Option<Refusal> {
    let node = device
        .observed
        .node
        .as_ref()
        .filter(|_| !found.is_empty())?;
    Some(Refusal {
        node: RefusedNode {
            trusted,
            neighbour: device.identity.guid,
            info: NodeInfo {
                local_port_num: port,
                ..node.info
            },
            description: node.description,
            defects: found.defects(),
        },
        evidence: found.evidence(),
    })
}

impl Manager {
    /// A device has said something about itself that does not fit.
    pub(in crate::sm) fn reject(&mut self, now: Tick, node: u32, why: Rejection) {
        match why {
            Rejection::Fault(what) => {
                let guid = self.devices[node].identity.guid;
                self.out.fault(Some(guid), what);
                self.give_up(now, node);
            }
            Rejection::Refused(refusal) => {
                self.devices.refusals.find(*refusal);
                let device = &mut self.devices[node];
                (device.health.failed, device.health.seen) = (true, 0);
                device.work.stop();
            }
        }
    }

    /// Tells which devices are not let in, and where that is over; takes links down that carry data to such devices.
    pub(in crate::sm) fn settle_refusals(&mut self, now: Tick) {
        let mut refusals = std::mem::take(&mut self.devices.refusals);
        refusals.retain(|refusal| self.devices.still_names(refusal));
        let (new, over) = refusals.settle(now);
        self.devices.refusals = refusals;
        for refusal in new.into_iter().take(EVENTS_MAX) {
            let port = self.devices.link_end(refusal.node.trusted);
            self.out.event(Event::DeviceRefused(refusal.told(port)));
        }
        for end in over.into_iter().take(EVENTS_MAX) {
            let port = self.devices.link_end(end);
            self.out.event(Event::RefusalOver { port });
        }
        let ends = self.devices.refusals.kept.keys();
        let ends = ends.filter(|end| self.devices.carries_data(**end));
        for end in ends.copied().collect::<Vec<End>>() {
            self.change_unasked(now, end, PortAction::Bounce, "its device is not let in");
        }
    }
}
