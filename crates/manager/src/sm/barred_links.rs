//! Links that went down too often, or were put into quarantine by hand: which of them a fabric can do without.
//!
//! A link stays in use while a part of the fabric would be cut off without it, drained parts aside. A host whose
//! port is in quarantine is cut off, as with opa-fm, except the manager's own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Guid, NodeId, PortNum, PortRef, Tick, Topology};
use weft_state::State;

use super::Manager;
use super::devices::Devices;
use super::drains::{self, Drains};
use super::flapping::News;
use crate::io::{Event, LinkEnd, SweepReason, UnusedReason};

/// Links that are judged one by one; of more, all that remain stay in use.
const JUDGED_MAX: usize = 64;

/// Ends of links that are not to be used, with reasons.
pub(super) type Barred = BTreeMap<PortRef, UnusedReason>;

impl Devices {
    /// The ends of links that are not to be used.
    pub(super) fn barred(&self) -> Barred {
        self.barred_among(|guid| self.find(guid).map(NodeId))
    }

    /// The same, under other numbers of nodes.
    pub(super) fn barred_among(&self, find: impl Fn(Guid) -> Option<NodeId>) -> Barred {
        let ends = self.barred_ends().into_iter().filter_map(|end| {
            let (guid, port) = end;
            let node = find(guid)?;
            Some((PortRef { node, port }, self.bar(end)?))
        });
        ends.collect()
    }

    /// The ends of links that are not to be used, by GUID and port.
    pub(super) fn barred_ends(&self) -> BTreeSet<(Guid, PortNum)> {
        let isolated = self.isolation.out().map(|one| one.excess.port);
        let ends = self.flapping.barred().chain(self.by_hand.ends());
        ends.chain(isolated).collect()
    }

    /// Why a port's link is not to be used, none where it may.
    pub(super) fn bar(&self, end: (Guid, PortNum)) -> Option<UnusedReason> {
        let by_hand = self.by_hand.contains(end);
        let by_hand = by_hand.then_some(UnusedReason::QuarantinedByHand);
        let errors = self
            .isolation
            .out_at(end)
            .filter(|one| one.excess.port == end);
        let errors = errors.map(|one| UnusedReason::Errors {
            rule: one.excess.rule,
        });
        by_hand.or(errors).or_else(|| self.flapping.reason(end))
    }

    /// A port by the number of its node.
    pub(super) fn port_ref(&self, (guid, port): (Guid, PortNum)) -> Option<PortRef> {
        let node = NodeId(self.find(guid)?);
        Some(PortRef { node, port })
    }
}

impl Manager {
    /// Ends the time for which links are not used; a sweep uses those that are up. Reports verdicts.
    pub(super) fn release_links(&mut self, now: Tick) {
        if let Some(settings) = &self.settings.links.flapping {
            self.devices.flapping.settle(now, settings.window);
        }
        let released = self.devices.flapping.release(now).into_iter();
        let changes = released.filter(|(end, is_up)| self.release_changes(*end, *is_up));
        let changes = changes.count() > 0;
        self.tell_verdicts();
        if changes {
            self.sweep
                .request(now, SweepReason::Unquarantine, &self.settings.sweeps);
        }
    }

    /// Whether the end of a bar changes something: a link that is up may be used, or one that has gone is still
    /// taken for up.
    fn release_changes(&self, (guid, port): (Guid, PortNum), is_up: bool) -> bool {
        let Some(number) = self.devices.find(guid) else {
            return false;
        };
        let plan = &self.planning.plan;
        let is_known = plan.peer(number, port).is_some();
        let is_used = is_known && !plan.is_refused(number, port);
        let far = self.devices.far_end((guid, port));
        let ends = [Some((guid, port)), far];
        let waits = ends.into_iter().flatten();
        let waits = waits.filter_map(|end| self.devices.bar(end)).count() > 0;
        match is_up {
            true => !is_used && !waits,
            false => is_known,
        }
    }

    fn tell_verdicts(&mut self) {
        let all = self.devices.flapping.take_news();
        if !all.is_empty() {
            self.persist();
        }
        for news in all {
            let event = match news {
                News::Quarantined(end, losses) => Event::PortQuarantined {
                    port: self.devices.link_end(end),
                    losses,
                    by_hand: None,
                },
                News::Released(end) if self.devices.by_hand.contains(end) => continue,
                News::Released(end) => Event::PortReleased(self.devices.link_end(end)),
            };
            self.out.event(event);
        }
    }
}

impl Devices {
    /// A port, with the name of its node where that is known.
    pub(super) fn link_end(&self, (node, port): (Guid, PortNum)) -> LinkEnd {
        let known = self.find(node).map(|number| &self[number].observed);
        let known = known.and_then(|observed| observed.node.as_ref());
        LinkEnd {
            node,
            name: known
                .map(|node| node.name().to_string())
                .unwrap_or_default(),
            port,
        }
    }

    /// The other end of a port's link, or of the last one that it had.
    pub(super) fn far_end(&self, (node, port): (Guid, PortNum)) -> Option<(Guid, PortNum)> {
        self[self.find(node)?].observed.last_neighbour(port)
    }
}

/// A link that is not to be used.
#[derive(Debug, Clone, Copy, State)]
struct Link {
    ends: (PortRef, PortRef),
    reason: UnusedReason,
}

/// The links that `topology`, in which unused links are not there, can do without: both ends of each. An operator's
/// drains go before them: a link is used if nothing else would lead around what is drained.
pub(super) fn left_out(topology: &Topology, barred: &Barred, drains: &Drains) -> Barred {
    if barred.is_empty() {
        return Barred::new();
    }
    // Drains that cut parts off have no effect: then links count that these would have left out.
    let parts = |topology: &Topology| match drains.is_empty() {
        true => (parts(topology), 0),
        false => {
            let spared = drains::without(topology, drains, true);
            (parts(topology), parts(&spared))
        }
    };
    let (hosts, links) = candidates(topology, barred);
    let mut rest = without(topology, &hosts);
    let least = parts(&rest);
    let mut out = hosts;
    let all = without(&rest, &links);
    if parts(&all) == least {
        out.extend(links);
    } else {
        for link in links.into_iter().take(JUDGED_MAX) {
            let less = without(&rest, &[link]);
            if parts(&less) == least {
                rest = less;
                out.push(link);
            }
        }
    }
    let ends = out
        .iter()
        .flat_map(|link| [(link.ends.0, link.reason), (link.ends.1, link.reason)]);
    ends.collect()
}

/// Links of hosts in quarantine, and those between switches: by hand before others, those that went down most often
/// first. A host's link is never held back: it is its only one.
fn candidates(topology: &Topology, barred: &Barred) -> (Vec<Link>, Vec<Link>) {
    let links = topology.links().filter_map(|(a, b)| {
        let reasons = [barred.get(&a), barred.get(&b)];
        let reason = reasons
            .into_iter()
            .flatten()
            .max_by_key(|reason| rank(reason));
        let is_own = a.node == NodeId(0) || b.node == NodeId(0);
        let reason = *reason.filter(|_| !is_own)?;
        Some(Link {
            ends: (a, b),
            reason,
        })
    });
    let of_host = |link: &Link| {
        let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
        !(is_switch(link.ends.0) && is_switch(link.ends.1))
    };
    let (mut hosts, mut others): (Vec<Link>, Vec<Link>) = links.partition(of_host);
    hosts.retain(|link| link.reason.is_quarantine());
    others.sort_by_key(|link| (Reverse(rank(&link.reason)), link.ends));
    (hosts, others)
}

/// Quarantine by hand before that of links that went down too often, that before that of links with errors, then links
/// that are held back, and more losses before fewer.
pub(super) fn rank(reason: &UnusedReason) -> (u8, u32) {
    match reason {
        UnusedReason::QuarantinedByHand => (2, 0),
        UnusedReason::Quarantined { losses } => (1, *losses),
        UnusedReason::Errors { .. } => (1, 0),
        UnusedReason::HeldBack { losses } => (0, *losses),
        _ => (0, 0),
    }
}

fn without(topology: &Topology, links: &[Link]) -> Topology {
    let mut rest = topology.clone();
    for link in links {
        rest.disconnect(link.ends.0);
        rest.disconnect(link.ends.1);
    }
    rest
}

/// Number of parts of a fabric that no link joins.
pub(super) fn parts(topology: &Topology) -> usize {
    let mut found = vec![false; topology.len()];
    let mut count = 0;
    for (start, _) in topology.nodes() {
        if found[start.0 as usize] {
            continue;
        }
        count += 1;
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut found[id.0 as usize], true) {
                continue;
            }
            let node = topology.node(id).into_iter();
            let ports = node.flat_map(|node| node.external_ports());
            open.extend(ports.filter_map(|(_, port)| Some(port.peer?.node)));
        }
    }
    count
}

#[cfg(test)]
#[path = "barred_links_tests.rs"]
mod tests;
