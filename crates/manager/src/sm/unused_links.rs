//! Links that carry no data although both ends see them: refused by the link policy, not active after two
//! sweeps, down too often, in quarantine by hand, not as the topology file has them, or of a node for which it
//! has no LID.
//!
//! Routes, their certificate, multicast trees and quality figures are made without these links. The
//! published topology keeps them, since directed-route datagrams still cross them. opa-fm does the
//! same: a port outside its policy counts as down (`sm_verifyPortSpeedAndWidth`), and its
//! LinkInitReason says why.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Guid, Node, NodeId, PortMask, PortNum, PortRef, Topology};
use weft_state::State;
use weft_wire::enums::{LinkInitReason, LinkSpeed, LinkWidth, PortState};
use weft_wire::sm::PortInfo;

use super::barred_links::{Barred, left_out, parts};
use super::devices::Devices;
use super::drains::Drains;
use super::plan::{Inactive, Plan};
use super::settings::{Least, LinkPolicy, Settings};
use super::sweep::Sweep;
use super::unintended::Unintended;
use crate::io::{Event, LinkEnd, UnusedLink, UnusedReason};

/// Unused links that a report lists and that get an event each; the rest is counted.
const LISTED_MAX: usize = 256;

/// Ports of a node whose links should be active and are not.
#[derive(Debug, Clone, Copy, Default, State)]
pub(super) struct InactivePorts {
    /// At the end of the last sweep.
    once: PortMask,
    /// At the end of the last two sweeps.
    twice: PortMask,
}

impl InactivePorts {
    /// Records whether the link at `port` is active at the end of a sweep. One that was planned around
    /// stays so until it is active.
    fn record(&mut self, port: PortNum, active: bool, planned_around: bool) {
        if active {
            self.forget(port);
        } else if planned_around || self.once.contains(port) {
            self.twice.insert(port);
        } else {
            self.once.insert(port);
        }
    }

    /// Forgets a port: its link went down, or is active.
    pub(super) fn forget(&mut self, port: PortNum) {
        self.once.remove(port);
        self.twice.remove(port);
    }
}

/// The links of a topology that carry no data.
#[derive(Debug, Clone, Default, State)]
pub(super) struct UnusedLinks {
    /// The reason by each of a link's two ends.
    reasons: BTreeMap<PortRef, UnusedReason>,
    /// All of them under the names of their ends, which outlast numbers of nodes.
    named: BTreeMap<NamedEnd, (NamedEnd, UnusedReason)>,
    /// The first [`LISTED_MAX`] of them.
    listed: Vec<UnusedLink>,
}

/// A port of a node.
type NamedEnd = (Guid, PortNum);

impl UnusedLinks {
    /// All links that `settings` refuse, or leave without a LID, those that have to be taken for inactive, those that are not as the
    /// topology file has them, and those of `barred` that the rest can do without, `drains` in force.
    pub(super) fn find(
        topology: &Topology,
        settings: &Settings,
        inactive: &Inactive,
        barred: &Barred,
        unintended: &Unintended,
        drains: &Drains,
    ) -> Self {
        let rest_is_whole = || {
            let all = find_where(topology, settings, |_| true);
            parts(&removed(topology, &all)) == 1
        };
        let all = inactive.must_prove && rest_is_whole();
        let mut found = find_where(topology, settings, |end| {
            all || inactive.twice.contains(&end)
        });
        found.extend(unintended.reasons());
        if !barred.is_empty() {
            let mut reasons = left_out(&removed(topology, &found), barred, drains);
            reasons.extend(found);
            found = reasons;
        }
        Self::of(topology, found)
    }

    /// Links by both their ends.
    fn of(topology: &Topology, reasons: BTreeMap<PortRef, UnusedReason>) -> Self {
        Self {
            named: named(topology, &reasons),
            listed: listed(topology, &reasons),
            reasons,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Number of these links.
    pub(super) fn count(&self) -> usize {
        self.reasons.len() / 2
    }

    /// The first of them.
    pub(super) fn listed(&self) -> &[UnusedLink] {
        &self.listed
    }

    /// Ends of those that are unused because they are not active.
    pub(super) fn inactive(&self) -> BTreeSet<PortRef> {
        let inactive = |reason: &UnusedReason| matches!(reason, UnusedReason::Inactive { .. });
        let ends = self.reasons.iter().filter(|(_, reason)| inactive(reason));
        ends.map(|(end, _)| *end).collect()
    }

    /// Those that are new and those that are used again, as events, as far as they are listed.
    pub(super) fn changes_since(&self, before: &Self, topology: &Topology) -> Vec<Event> {
        let is_new = |link: &&UnusedLink| {
            let there = before.named.get(&name(&link.a));
            there != Some(&(name(&link.b), link.reason))
        };
        let new = self.listed.iter().filter(is_new).cloned();
        let is_used = |link: &&UnusedLink| {
            let there = self.named.get(&name(&link.a));
            let is_unused = there.is_some_and(|(peer, _)| *peer == name(&link.b));
            !is_unused && is_up(topology, link)
        };
        let again = before.listed.iter().filter(is_used);
        let again = again.cloned().map(|link| Event::LinkUsedAgain {
            a: link.a,
            b: link.b,
        });
        new.map(Event::LinkUnused).chain(again).collect()
    }

    /// Ends of all of them, in order.
    pub(super) fn ends(&self) -> impl Iterator<Item = PortRef> {
        self.reasons.keys().copied()
    }

    /// Why the manager leaves a port in state Init, none where it does not.
    pub(super) fn init_reason(&self, end: PortRef) -> Option<LinkInitReason> {
        match self.reason(end)? {
            UnusedReason::Inactive { .. } => None,
            UnusedReason::QuarantinedByHand
            | UnusedReason::Errors { .. }
            | UnusedReason::Unintended { .. }
            | UnusedReason::Refused { .. }
            | UnusedReason::Behind => Some(LinkInitReason::QUARANTINED),
            reason if is_barred(&reason) => Some(LinkInitReason::FLAPPING),
            _ => Some(LinkInitReason::OUTSIDE_POLICY),
        }
    }

    /// Why the link at a port carries no data, none where it may.
    pub(super) fn reason(&self, end: PortRef) -> Option<UnusedReason> {
        self.reasons.get(&end).copied()
    }

    /// Why the link at a port carries no data, by the node's GUID.
    pub(super) fn reason_of(&self, end: NamedEnd) -> Option<UnusedReason> {
        self.named.get(&end).map(|(_, reason)| *reason)
    }

    /// Whether the manager leaves a port in state Init.
    pub(super) fn is_refused(&self, end: PortRef) -> bool {
        self.init_reason(end).is_some()
    }

    /// `topology` without these links.
    pub(super) fn removed_from(&self, topology: &Topology) -> Topology {
        removed(topology, &self.reasons)
    }
}

/// All links that `settings` refuse, or that have an end for which `inactive` holds.
fn find_where(
    topology: &Topology,
    settings: &Settings,
    inactive: impl Fn(PortRef) -> bool,
) -> Barred {
    let mut reasons = Barred::new();
    for (a, b) in topology.links() {
        let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
        let policy = settings.link_policy(is_switch(a) && is_switch(b));
        let Some((near, far)) = topology.port(a).zip(topology.port(b)) else {
            continue;
        };
        let (near, far) = (&near.info, &far.info);
        let reason = (settings.lids.by_topology && !(has_lid(topology, a) && has_lid(topology, b)))
            .then_some(UnusedReason::NoLid)
            .or_else(|| refusal(policy, near, far))
            .or_else(|| refusal(policy, far, near))
            .or_else(|| still_inactive(near, far).filter(|_| inactive(a) || inactive(b)));
        if let Some(reason) = reason {
            reasons.extend([(a, reason), (b, reason)]);
        }
    }
    reasons
}

/// Whether the node at the end of a link is to have a LID.
fn has_lid(topology: &Topology, end: PortRef) -> bool {
    let node = topology.node(end.node);
    let mut ports = node.into_iter().flat_map(Node::end_ports);
    ports.any(|(_, port)| port.info.lid.0 != 0)
}

/// `topology` without links.
fn removed(topology: &Topology, links: &Barred) -> Topology {
    let mut rest = topology.clone();
    for end in links.keys() {
        rest.disconnect(*end);
    }
    rest
}

/// Whether a link is unused because it went down too often, has too many errors, or by hand.
pub(super) fn is_barred(reason: &UnusedReason) -> bool {
    matches!(
        reason,
        UnusedReason::Quarantined { .. }
            | UnusedReason::QuarantinedByHand
            | UnusedReason::Errors { .. }
            | UnusedReason::HeldBack { .. }
    )
}

/// Each link by each of its ends.
fn named(
    topology: &Topology,
    reasons: &BTreeMap<PortRef, UnusedReason>,
) -> BTreeMap<NamedEnd, (NamedEnd, UnusedReason)> {
    let name = |end: PortRef| Some((topology.node(end.node)?.guid(), end.port));
    let links = reasons.iter().filter_map(|(end, reason)| {
        let peer = topology.peer(*end)?;
        Some((name(*end)?, (name(peer)?, *reason)))
    });
    links.collect()
}

fn name(end: &LinkEnd) -> NamedEnd {
    (end.node, end.port)
}

/// Each link once, with the names of its ends.
fn listed(topology: &Topology, reasons: &BTreeMap<PortRef, UnusedReason>) -> Vec<UnusedLink> {
    let links = reasons.iter().filter_map(|(a, reason)| {
        let b = topology.peer(*a).filter(|b| a < b)?;
        Some(UnusedLink {
            a: link_end(topology, *a)?,
            b: link_end(topology, b)?,
            reason: *reason,
        })
    });
    links.take(LISTED_MAX).collect()
}

pub(super) fn link_end(topology: &Topology, end: PortRef) -> Option<LinkEnd> {
    let node = topology.node(end.node)?;
    Some(LinkEnd {
        node: node.guid(),
        name: node.name().to_string(),
        port: end.port,
    })
}

/// Whether a link is there.
fn is_up(topology: &Topology, link: &UnusedLink) -> bool {
    let at = |end: &LinkEnd| {
        let node = topology.find(end.node)?;
        let port = end.port;
        Some(PortRef { node, port })
    };
    let peer = at(&link.a).and_then(|a| topology.peer(a));
    peer.is_some() && peer == at(&link.b)
}

/// Why `policy` refuses what `near` sends to `far`, none where it allows it.
pub(super) fn refusal(
    policy: &LinkPolicy,
    near: &PortInfo,
    far: &PortInfo,
) -> Option<UnusedReason> {
    let widest = LinkWidth(near.link_width_supported.0 & far.link_width_supported.0).lanes();
    let least = match policy.width {
        Least::Any => 0,
        Least::Supported => widest,
        Least::Of(width) => widest.max(width.lanes()),
    };
    let lanes = near.link_width_active.lanes();
    if lanes < least {
        return Some(UnusedReason::Width { lanes, least });
    }
    let fastest = best(near.link_speed_supported.0 & far.link_speed_supported.0);
    let least = match policy.speed {
        Least::Any => 0,
        Least::Supported => fastest,
        Least::Of(speed) => fastest.max(speed.lane_mbps()),
    };
    let mbps = near.link_speed_active.lane_mbps();
    if mbps < least {
        return Some(UnusedReason::Speed { mbps, least });
    }
    let lost = lanes.saturating_sub(near.link_width_downgrade_tx_active.lanes());
    let most = u32::from(policy.max_dropped_lanes);
    (lost > most).then_some(UnusedReason::LostLanes { lost, most })
}

/// The rate of a lane, Mb/s, at the best speed of a set.
fn best(speeds: u16) -> u32 {
    let each = (0..16)
        .map(|bit| speeds & 1 << bit)
        .filter(|speed| *speed != 0);
    each.map(|speed| LinkSpeed(speed).lane_mbps())
        .max()
        .unwrap_or(0)
}

/// The state of a link that is not active at both ends.
fn still_inactive(near: &PortInfo, far: &PortInfo) -> Option<UnusedReason> {
    let state = near.port_state.min(far.port_state);
    (state < PortState::ACTIVE).then_some(UnusedReason::Inactive { state })
}

impl Devices {
    /// Ends of links that were not active after two sweeps.
    pub(super) fn inactive_twice(&self) -> BTreeSet<PortRef> {
        let all = self.iter().zip(0..).flat_map(|(device, node)| {
            let ports = device.observed.inactive_ports.twice.iter();
            let node = NodeId(node);
            ports.map(move |port| PortRef { node, port })
        });
        all.collect()
    }

    /// Records which links of a plan are active, now that a sweep has tried to activate all. A link that
    /// was not active after two sweeps is planned around; a further sweep follows at once for that, and
    /// for one that has become active after all. Returns whether one follows.
    pub(super) fn judge_activation(&mut self, plan: &Plan, sweep: &mut Sweep) -> bool {
        let (topology, unused) = (&*plan.topology, &plan.routes.unused);
        let mut replan = false;
        for (a, b) in topology.links() {
            let reason = unused.reason(a);
            if unused.is_refused(a) {
                continue;
            }
            let active = self.is_active(a) && self.is_active(b);
            for end in [a, b] {
                let ports = &mut self[end.node].observed.inactive_ports;
                ports.record(end.port, active, reason.is_some());
            }
            if !active && let Some((a, b)) = link_end(topology, a).zip(link_end(topology, b)) {
                sweep.unfinished_link(format!("the link from {a} to {b} is not active"));
            }
            let twice = self[a.node].observed.inactive_ports.twice.contains(a.port);
            replan |= match reason {
                Some(_) => active,
                None => !active && twice,
            };
        }
        replan
    }

    fn is_active(&self, end: PortRef) -> bool {
        let info = self[end.node].observed.port(end.port);
        info.is_some_and(|info| info.port_state == PortState::ACTIVE)
    }
}

#[cfg(test)]
#[path = "unused_links_tests.rs"]
mod tests;
