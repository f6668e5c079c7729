//! The published snapshot: nodes and links as both ends confirmed them, tables as the switches did.

use std::sync::Arc;

use weft_fabric::admission::RefusedNode;
use weft_fabric::{Guid, LinearTables, Node, NodeId, PortRef, SmRecord, Snapshot, Topology};

use super::Manager;
use super::devices::Devices;
use super::election::Election;
use super::outbox::Outbox;
use super::settings::ElectionSettings;
use crate::io::{Event, Output};

/// Events of one kind that one change of the fabric causes; a reader of snapshots sees the rest.
const EVENTS_MAX: usize = 4_096;

impl Manager {
    /// Publishes the fabric before its tables are written anew, where nodes or links are gone: readers
    /// need not wait for the sweep to learn that.
    pub(super) fn publish_loss(&mut self) {
        let (before, after) = (&self.out.published.topology, &self.planning.plan.topology);
        let numbers = numbers(before, after);
        let lost = missing_nodes(before, &numbers).next().is_some()
            || missing_links(before, after, &numbers).next().is_some();
        if lost {
            self.publish();
        }
    }

    /// Publishes the fabric as it is now, unless it is as it was.
    pub(super) fn publish(&mut self) {
        let topology = self.devices.topology();
        let lanes = self.planning.plan.routes.routed.as_ref();
        let lanes = lanes.map(|routed| Arc::clone(routed.lanes()));
        let planned = &self.planning.plan.topology;
        let linear = self.devices.linear_tables(planned);
        let linear = linear.with_lanes(lanes.unwrap_or_default());
        let groups = self.devices.port_groups(planned);
        let port_tables = self
            .devices
            .all_port_tables(&self.out.published.port_tables);
        let multicast = self.devices.multicast_tables(planned);
        let sms = sm_records(
            &self.devices,
            &self.election,
            &self.settings.election,
            self.out.totals.act_count(),
        );
        let unintended = &self.planning.plan.routes.unintended;
        let quarantined = unintended.nodes().to_vec();
        let refused: Vec<RefusedNode> = self.devices.refusals.nodes().collect();
        let before = &self.out.published;
        let same = before.generation > 0
            && same_topology(&before.topology, &topology)
            && same_tables(&before.linear, &linear)
            && *before.groups == groups
            && Arc::ptr_eq(&before.port_tables, &port_tables)
            && *before.multicast == multicast
            && before.quarantined == quarantined
            && before.refused == refused
            && same_sms(&before.sms, &sms);
        if same {
            return;
        }
        let snapshot = Arc::new(Snapshot {
            generation: before.generation + 1,
            unix_time: 0,
            topology: Arc::new(topology),
            linear: Arc::new(linear),
            groups: Arc::new(groups),
            port_tables,
            multicast: Arc::new(multicast),
            sms,
            quarantined,
            refused,
            ..Snapshot::default()
        });
        let before = std::mem::replace(&mut self.out.published, Arc::clone(&snapshot));
        // A reader that sees the event of a change then finds it in the snapshot.
        self.out.push(Output::Publish(Arc::clone(&snapshot)));
        let (before, after) = (&*before.topology, &*snapshot.topology);
        let (there, back) = (numbers(before, after), numbers(after, before));
        let changes = ((before, &*there), (after, &*back));
        self.out.tell_changes(changes.0, changes.1);
        let (prefix, own) = (self.settings.subnet_prefix, self.planning.plan.sm_lid());
        self.out.tell_services(changes, prefix, own);
    }
}

impl Outbox {
    /// Tells which nodes and links have gone and come.
    fn tell_changes(&mut self, before: Numbered<'_>, after: Numbered<'_>) {
        let gone = missing_nodes(before.0, before.1);
        let come = missing_nodes(after.0, after.1);
        let vanished = gone.map(|(node, name)| Event::NodeVanished { node, name });
        let appeared = come.map(|(node, name)| Event::NodeAppeared { node, name });
        let nodes: Vec<Event> = vanished.chain(appeared).collect();
        let gone = missing_links(before.0, after.0, before.1);
        let come = missing_links(after.0, before.0, after.1);
        let gone = gone.map(|(a, b)| Event::LinkVanished { a, b });
        let come = come.map(|(a, b)| Event::LinkAppeared { a, b });
        let links: Vec<Event> = gone.chain(come).collect();
        nodes
            .into_iter()
            .chain(links)
            .for_each(|event| self.event(event));
    }
}

/// The managers of the fabric, this one first.
fn sm_records(
    devices: &Devices,
    election: &Election,
    settings: &ElectionSettings,
    act_count: u32,
) -> Vec<SmRecord> {
    let place = |node: u32| {
        let device = devices.get(node)?;
        let port = device.end_port();
        let lid = device.observed.port(port).map(|info| info.lid);
        let node = NodeId(node);
        Some((PortRef { node, port }, lid.unwrap_or_default()))
    };
    let own = devices.own().filter(|own| own.observed.node.is_some());
    let own = own.and_then(|_| place(0)).map(|(port, lid)| SmRecord {
        port,
        lid,
        port_guid: devices.own_port_guid(),
        state: election.role(),
        priority: election.priority(settings),
        sm_key: settings.sm_key,
        act_count,
    });
    let others = election.peers().filter_map(|peer| {
        let (port, lid) = place(devices.find(peer.node)?)?;
        Some(SmRecord {
            port,
            lid,
            port_guid: peer.info.port_guid,
            state: peer.info.sm_state_current,
            priority: peer.info.priority,
            sm_key: peer.info.sm_key,
            act_count: peer.info.act_count,
        })
    });
    own.into_iter().chain(others).collect()
}

type End = (Guid, weft_fabric::PortNum);

/// A topology, and for each of its nodes the number in another one.
pub(super) type Numbered<'a> = (&'a Topology, &'a [Option<NodeId>]);

/// For each node of `a` its number in `b`, none where it is not there.
fn numbers(a: &Topology, b: &Topology) -> Vec<Option<NodeId>> {
    let number = |(id, node): (NodeId, &Node)| {
        let same = b.node(id).filter(|other| other.guid() == node.guid());
        same.map(|_| id).or_else(|| b.find(node.guid()))
    };
    a.nodes().map(number).collect()
}

/// Nodes of `a` that another topology lacks, in which they have these numbers.
fn missing_nodes(a: &Topology, numbers: &[Option<NodeId>]) -> impl Iterator<Item = (Guid, String)> {
    let missing = a.nodes().zip(numbers).filter(|(_, there)| there.is_none());
    missing
        .take(EVENTS_MAX)
        .map(|((_, node), _)| (node.guid(), node.name().to_string()))
}

/// Links of `a` that `b` lacks, in which the nodes of `a` have these numbers.
fn missing_links(
    a: &Topology,
    b: &Topology,
    numbers: &[Option<NodeId>],
) -> impl Iterator<Item = (End, End)> {
    let end = |at: PortRef| a.node(at.node).map(|node| (node.guid(), at.port));
    let there = |at: PortRef| {
        let node = numbers.get(at.node.0 as usize).copied().flatten()?;
        Some(PortRef { node, ..at })
    };
    let is_there = move |from: PortRef, to: PortRef| {
        let peer = there(from).and_then(|from| b.peer(from));
        peer.is_some() && peer == there(to)
    };
    let gone = a.links().filter(move |(from, to)| !is_there(*from, *to));
    gone.filter_map(move |(from, to)| Some((end(from)?, end(to)?)))
        .take(EVENTS_MAX)
}

fn same_topology(a: &Topology, b: &Topology) -> bool {
    a.len() == b.len()
        && (0..a.len() as u32)
            .map(NodeId)
            .all(|id| match (a.node_shared(id), b.node_shared(id)) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                _ => false,
            })
}

fn same_tables(a: &LinearTables, b: &LinearTables) -> bool {
    let rows = (0..a.len() as u32).map(weft_fabric::SwitchIndex);
    a.len() == b.len()
        && a.lanes() == b.lanes()
        && rows.into_iter().all(
            |switch| match (a.row_shared(switch), b.row_shared(switch)) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
                _ => false,
            },
        )
}

/// Whether two lists agree but for the activity counters.
fn same_sms(a: &[SmRecord], b: &[SmRecord]) -> bool {
    let plain = |record: &SmRecord| SmRecord {
        act_count: 0,
        ..record.clone()
    };
    a.iter().map(plain).eq(b.iter().map(plain))
}
