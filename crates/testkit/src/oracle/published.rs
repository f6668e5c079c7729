//! What the manager publishes: a snapshot is of one moment (I14), and what changes from one to the next has
//! been told as an event of a sweep (I12).

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

/// I12: each node and cable that one snapshot has and the next has not, or the other way round, has been
/// told by one of `events`, which are those from the one to the next.
pub fn check_events(before: &Snapshot, now: &Snapshot, events: &[(Tick, Event)]) -> Vec<Breach> {
    let told = |wanted: &Event| events.iter().any(|(_, event)| is_same(event, wanted));
    let missing = changes(&before.topology, &now.topology);
    let missing = missing.into_iter().filter(|event| !told(event));
    let breach = |event| {
        let what = format!("generation {} without an event: {event:?}", now.generation);
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

/// The events that the way from one topology to another needs.
fn changes(before: &Topology, now: &Topology) -> Vec<Event> {
    let (old, new) = (nodes(before), nodes(now));
    let (cut, made) = (cables(before), cables(now));
    let name = String::new;
    let appeared = new.difference(&old).map(|node| Event::NodeAppeared {
        node: *node,
        name: name(),
    });
    let vanished = old.difference(&new).map(|node| Event::NodeVanished {
        node: *node,
        name: name(),
    });
    let linked = made
        .difference(&cut)
        .map(|(a, b)| Event::LinkAppeared { a: *a, b: *b });
    let unlinked = cut
        .difference(&made)
        .map(|(a, b)| Event::LinkVanished { a: *a, b: *b });
    appeared
        .chain(vanished)
        .chain(linked)
        .chain(unlinked)
        .collect()
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

/// Whether an event tells of the same node or cable.
fn is_same(event: &Event, wanted: &Event) -> bool {
    match (event, wanted) {
        (Event::NodeAppeared { node: a, .. }, Event::NodeAppeared { node: b, .. })
        | (Event::NodeVanished { node: a, .. }, Event::NodeVanished { node: b, .. }) => a == b,
        (Event::LinkAppeared { a, b }, Event::LinkAppeared { a: c, b: d })
        | (Event::LinkVanished { a, b }, Event::LinkVanished { a: c, b: d }) => {
            ordered(*a, *b) == ordered(*c, *d)
        }
        _ => false,
    }
}
