//! Publications of the manager: a snapshot is consistent (I14), and an event of a sweep reports each change from
//! one to the next (I12).

use std::collections::BTreeSet;

use super::{Breach, Invariant};
use weft_fabric::{Guid, PortNum, Snapshot, SwitchIndex, Tick, Topology, UNREACHABLE};
use weft_manager::io::Event;

/// An end of a cable.
type End = (Guid, PortNum);

/// I14: a snapshot follows the one before it, and its parts are of one fabric: a row of tables for each switch
/// and no other, entries that name ports of that switch, managers on ports that there are, LIDs that one
/// port has.
pub fn check_snapshot(before: &Snapshot, now: &Snapshot) -> Vec<Breach> {
    let mut wrong: Vec<String> = Vec::new();
    if now.generation != before.generation + 1 {
        wrong.push(format!(
            "generation {} follows generation {}",
            now.generation, before.generation
        ));
    }
    let switches = now.topology.switches().len();
    if now.linear.len() != switches {
        let rows = now.linear.len();
        wrong.push(format!("{rows} linear tables of {switches} switches"));
    }
    wrong.extend(strange_entry(now));
    let stray = now
        .sms
        .iter()
        .filter(|sm| now.topology.port(sm.port).is_none());
    wrong.extend(stray.map(|sm| format!("a manager on {:?}, which is not there", sm.port)));
    let mut taken = BTreeSet::new();
    for (at, lid, lmc) in now.topology.end_ports().filter(|(_, lid, _)| lid.0 != 0) {
        let mut lids = lid.0..lid.0 + lmc.lids();
        if lids.any(|lid| !taken.insert(lid)) {
            wrong.push(format!("LIDs from {lid} of {at:?} are another port's too"));
        }
    }
    let breach = |what| Breach::new(Invariant::ConsistentSnapshot, what);
    wrong.into_iter().map(breach).collect()
}

/// An entry of a linear table that names no port of its switch.
fn strange_entry(now: &Snapshot) -> Option<String> {
    let switches = now.topology.switches().iter().enumerate();
    let mut rows = switches.flat_map(|(index, id)| {
        let row = now.linear.row(SwitchIndex(index as u32));
        row.iter()
            .enumerate()
            .map(move |(lid, port)| (*id, lid, *port))
    });
    let (id, lid, port) = rows.find(|(id, _, port)| {
        let node = now.topology.node(*id);
        *port != UNREACHABLE && node.and_then(|node| node.port(PortNum(*port))).is_none()
    })?;
    let guid = now.topology.node(id).map(weft_fabric::Node::guid);
    Some(format!(
        "LID {lid} leads to port {port} of {guid:?}, which it does not have"
    ))
}

/// I12: one of `events`, those between the snapshots, reports each node and cable that only one of them
/// has.
pub fn check_events(before: &Snapshot, now: &Snapshot, events: &[(Tick, Event)]) -> Vec<Breach> {
    let told: BTreeSet<Change> = events
        .iter()
        .filter_map(|(_, event)| change(event))
        .collect();
    let missing = changes(&before.topology, &now.topology).into_iter();
    let missing = missing.filter(|change| !told.contains(change));
    let breach = |change| {
        let what = format!("generation {} without an event: {change:?}", now.generation);
        Breach::new(Invariant::EventWithCause, what)
    };
    missing.map(breach).collect()
}

/// I12: nodes and cables come and go in sweeps, which say why they began.
pub fn check_causes(events: &[(Tick, Event)]) -> Vec<Breach> {
    let mut sweeping = false;
    let mut breaches = Vec::new();
    for (at, event) in events {
        match event {
            Event::SweepStarted { .. } => sweeping = true,
            Event::SweepEnded(_) => sweeping = false,
            Event::NodeAppeared { .. }
            | Event::NodeVanished { .. }
            | Event::LinkAppeared { .. }
            | Event::LinkVanished { .. }
                if !sweeping =>
            {
                let what = format!("at {} ns, outside of any sweep: {event:?}", at.0);
                breaches.push(Breach::new(Invariant::EventWithCause, what));
            }
            _ => {}
        }
    }
    breaches
}

/// A node or cable that is new or gone; the ends of a cable in order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    NodeAppeared(Guid),
    NodeVanished(Guid),
    LinkAppeared(End, End),
    LinkVanished(End, End),
}

/// The change that an event reports.
fn change(event: &Event) -> Option<Change> {
    Some(match event {
        Event::NodeAppeared { node, .. } => Change::NodeAppeared(*node),
        Event::NodeVanished { node, .. } => Change::NodeVanished(*node),
        Event::LinkAppeared { a, b } => {
            let (a, b) = ordered(*a, *b);
            Change::LinkAppeared(a, b)
        }
        Event::LinkVanished { a, b } => {
            let (a, b) = ordered(*a, *b);
            Change::LinkVanished(a, b)
        }
        _ => return None,
    })
}

/// All changes from one topology to another.
fn changes(before: &Topology, now: &Topology) -> Vec<Change> {
    let (old, new) = (nodes(before), nodes(now));
    let (cut, made) = (cables(before), cables(now));
    let appeared = new.difference(&old).map(|node| Change::NodeAppeared(*node));
    let vanished = old.difference(&new).map(|node| Change::NodeVanished(*node));
    let linked = made.difference(&cut);
    let linked = linked.map(|(a, b)| Change::LinkAppeared(*a, *b));
    let unlinked = cut.difference(&made);
    let unlinked = unlinked.map(|(a, b)| Change::LinkVanished(*a, *b));
    let nodes = appeared.chain(vanished);
    nodes.chain(linked).chain(unlinked).collect()
}

fn nodes(topology: &Topology) -> BTreeSet<Guid> {
    topology.nodes().map(|(_, node)| node.guid()).collect()
}

fn cables(topology: &Topology) -> BTreeSet<(End, End)> {
    let end = |at: weft_fabric::PortRef| {
        let guid = topology
            .node(at.node)
            .map_or(Guid(0), weft_fabric::Node::guid);
        (guid, at.port)
    };
    let cables = topology.links().map(|(a, b)| ordered(end(a), end(b)));
    cables.collect()
}

fn ordered(a: End, b: End) -> (End, End) {
    (a.min(b), a.max(b))
}
