//! Near sweeps: limited to reported changes.
//!
//! A switch reports in a trap that a link of one of its ports came up or went down. Such a sweep reads that
//! switch, the node before it on the path, and the nodes at ports that have changed; all other nodes
//! keep the state of the last sweep. Routes thus avoid a lost link long before a large fabric could
//! be read as a whole. A full sweep follows, and replaces a near sweep that finds something that it
//! cannot explain.

use std::collections::{BTreeSet, VecDeque};

use weft_fabric::{Guid, Lid, Lmc, NodeId, PortNum, PortRef};
use weft_state::State;
use weft_wire::sm::PortInfo;

use super::Manager;
use super::devices::is_up;
use super::devices::{Device, Devices};
use super::discover::HOPS_MAX;
use super::plan::Plan;
use crate::io::SweepReason;

/// Maximum number of reporting switches; above it the whole fabric is examined.
const REPORTS_MAX: usize = 16;
/// Neighbours through which a switch is tried after its path was lost.
const DETOURS_MAX: usize = 4;

/// Requests for the next sweep.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Reports {
    /// Switches that report changes.
    switches: BTreeSet<Guid>,
    /// Whether the whole fabric has to be examined.
    whole: bool,
}

impl Reports {
    /// The next sweep looks at the whole fabric.
    pub(super) fn ask_for_all(&mut self) {
        self.whole = true;
        self.switches.clear();
    }

    fn add(&mut self, switch: Guid) {
        if self.whole {
            return;
        }
        self.switches.insert(switch);
        if self.switches.len() > REPORTS_MAX {
            self.ask_for_all();
        }
    }
}

/// A sweep that looks only where something was reported.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Near {
    /// Switches that were looked for over other neighbours.
    searched: BTreeSet<u32>,
    /// A link has gone: routes to nodes may lead over it.
    lost_link: bool,
}

impl Manager {
    /// A device reports that the link of one of its ports has come or gone.
    pub(super) fn links_reported(&mut self, lid: Lid) {
        if self.sweep.next.reports.whole {
            return;
        }
        self.ports_changed(self.switch_with(lid));
    }

    /// The ports of a switch have changed; of which one is not known, if none is given.
    pub(super) fn ports_changed(&mut self, switch: Option<u32>) {
        let reports = &mut self.sweep.next.reports;
        match switch.and_then(|node| self.devices.get(node)) {
            Some(device) => reports.add(device.identity.guid),
            None => reports.ask_for_all(),
        }
    }

    /// The switch with a LID.
    pub(super) fn switch_with(&self, lid: Lid) -> Option<u32> {
        let node = self.node_with(lid)?;
        self.devices[node].is_switch().then_some(node)
    }

    /// The node with a LID.
    pub(super) fn node_with(&self, lid: Lid) -> Option<u32> {
        let has_it = |(base, lmc): &(Lid, Lmc)| {
            base.0 != 0 && (base.0..base.0.saturating_add(lmc.lids())).contains(&lid.0)
        };
        let node = self.planning.plan.lids.iter().position(has_it)? as u32;
        self.devices.get(node).is_some().then_some(node)
    }

    /// The switches at which the sweep that begins is to look, none where it is to look at all.
    pub(super) fn reported_switches(&mut self, reason: SweepReason) -> Option<Vec<u32>> {
        let reports = std::mem::take(&mut self.sweep.next.reports);
        let settled = self.sweep.settled
            && self.election.is_master()
            && self.devices.iter().all(|device| !device.health.doubtful);
        if reason != SweepReason::Trap || reports.whole || !settled {
            return None;
        }
        let known = |guid: &Guid| self.devices.find(*guid);
        let switches: Option<Vec<u32>> = reports.switches.iter().map(known).collect();
        switches.filter(|switches| !switches.is_empty())
    }

    /// Starts with the manager's own port and the nodes before those that report; these and new
    /// ones come next.
    pub(super) fn begin_near_discovery(&mut self, reported: &[u32]) {
        self.sweep.near = Some(Near::default());
        self.reset_discovery();
        let number = self.sweep.number;
        for device in self.devices.iter_mut() {
            (device.health.seen, device.health.answered, device.work.kept) = (number, number, true);
        }
        for node in reported {
            self.devices.suspect(*node);
        }
        self.identify(0);
        for node in reported {
            let before = self.devices.node_before(*node, &self.planning.plan);
            if let Some(before) = before.filter(|node| self.devices[*node].work.kept) {
                self.identify(before);
            }
        }
    }

    /// Handles a link loss during a near sweep: marks the old peer for
    /// rediscovery.
    pub(super) fn near_link_is_lost(&mut self, node: u32, port: PortNum) {
        let Some(near) = &mut self.sweep.near else {
            return;
        };
        let peer = self.planning.plan.topology.peer(PortRef {
            node: NodeId(node),
            port,
        });
        if let Some(peer) = peer {
            near.lost_link = true;
            self.devices.suspect(peer.node.0);
        }
    }

    /// Handles a new or changed link during a near sweep: marks both the old and
    /// the new peer for rediscovery.
    pub(super) fn near_link_changed(&mut self, node: u32, port: PortNum) {
        if self.sweep.near.is_none() {
            return;
        }
        self.near_link_is_lost(node, port);
        let now = self.devices[node].observed.port(port);
        let now = now.and_then(|info| self.devices.find(info.neighbor_node_guid));
        now.into_iter().for_each(|node| self.devices.suspect(node));
    }

    /// Continues discovery if a near sweep has open ends; returns whether
    /// there is more to read.
    pub(super) fn go_on_near(&mut self) -> bool {
        if self.sweep.near.is_none() {
            return false;
        }
        let near = self.sweep.near.as_mut();
        if near.is_some_and(|near| std::mem::take(&mut near.lost_link)) {
            self.devices.renew_paths(&self.planning.plan);
        }
        let number = self.sweep.number;
        let failed = self.devices.iter().any(|device| device.health.failed);
        let lost = |(_, device): &(usize, &Device)| {
            device.health.seen != number && device.is_switch() && device.observed.node.is_some()
        };
        let lost: Vec<u32> = (self.devices.iter().enumerate())
            .filter(lost)
            .map(|(node, _)| node as u32)
            .collect();
        if lost.is_empty() && !failed && self.sweep.report.unfinished.is_empty() {
            return false;
        }
        if failed || !self.look_for(&lost) {
            self.look_everywhere();
        }
        true
    }

    /// Looks for switches over other neighbours, once each; returns whether there were any for each.
    fn look_for(&mut self, lost: &[u32]) -> bool {
        let Some(near) = &mut self.sweep.near else {
            return false;
        };
        if lost.is_empty() || !lost.iter().all(|node| near.searched.insert(*node)) {
            return false;
        }
        lost.iter().all(|node| {
            let around = self.devices.kept_neighbours(*node, &self.planning.plan);
            around.iter().for_each(|node| self.identify(*node));
            !around.is_empty()
        })
    }

    /// Starts discovery over, everywhere.
    fn look_everywhere(&mut self) {
        self.sweep.near = None;
        self.sweep.forget_unfinished();
        for device in self.devices.iter_mut() {
            device.health.seen = 0;
        }
        self.begin_discovery();
    }
}

impl Devices {
    /// The last node on the path to another.
    fn node_before(&self, node: u32, plan: &Plan) -> Option<u32> {
        let (_, path) = self[node].identity.path.split_last()?;
        path.iter()
            .try_fold(0, |at, port| plan.peer(at, *port).map(|peer| peer.node.0))
    }

    /// A node is not to be taken as it was; it counts as found only when it is met again.
    fn suspect(&mut self, node: u32) {
        let device = &mut self[node];
        if device.work.kept {
            (device.work.kept, device.health.seen) = (false, 0);
        }
    }

    /// Neighbouring switches of a node that were not examined.
    fn kept_neighbours(&self, node: u32, plan: &Plan) -> Vec<u32> {
        let ports = self[node].observed.good_ports.iter();
        let peers = ports.filter_map(|port| plan.peer(node, port));
        let mut around = Vec::new();
        for peer in peers.map(|peer| peer.node.0) {
            let device = &self[peer];
            if around.len() < DETOURS_MAX
                && device.work.kept
                && device.is_switch()
                && !around.contains(&peer)
            {
                around.push(peer);
            }
        }
        around
    }

    /// Finds directed routes to all nodes anew, over links that are up as far as is known.
    fn renew_paths(&mut self, plan: &Plan) {
        let mut paths: Vec<Option<Box<[PortNum]>>> = vec![None; self.len()];
        paths[0] = Some(Box::default());
        let mut queue = VecDeque::from([0_u32]);
        while let Some(at) = queue.pop_front() {
            let path = paths[at as usize].clone().unwrap_or_default();
            if path.len() == HOPS_MAX {
                continue;
            }
            for (port, peer) in self.ways_on(at, plan) {
                let to = &mut paths[peer as usize];
                if to.is_none() {
                    *to = Some(path.iter().copied().chain([port]).collect());
                    queue.push_back(peer);
                }
            }
        }
        for (device, path) in self.iter_mut().zip(paths) {
            if let Some(path) = path {
                device.identity.path = path;
            }
        }
    }

    /// The ports by which datagrams leave a node, and where they get to: a cable that was plugged in elsewhere since the
    /// plan leads to another node, whose Sets would go astray.
    fn ways_on(&self, node: u32, plan: &Plan) -> impl Iterator<Item = (PortNum, u32)> {
        let device = &self[node];
        let forwards = node == 0 || device.is_switch();
        let ports = device.observed.good_ports.iter().filter(move |_| forwards);
        ports.filter_map(move |port| {
            let near = device.observed.port(port).filter(|info| is_up(info))?;
            let peer = plan.peer(node, port)?;
            let other = self.get(peer.node.0)?;
            let far = other.observed.port(peer.port).filter(|info| is_up(info))?;
            let names = |info: &PortInfo, end: &Device, port: PortNum| {
                (info.neighbor_node_guid, info.neighbor_port_num) == (end.identity.guid, port)
            };
            (names(near, other, peer.port) && names(far, device, port))
                .then_some((port, peer.node.0))
        })
    }
}
