//! Walks multicast packets through the tables: do they arrive, once, and nowhere else (I1)? Do they
//! come to a switch a second time (I2)?

use std::collections::BTreeMap;

use super::{Breach, Invariant, floods};
use crate::view::FabricView;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Snapshot, SwitchIndex};

/// First multicast LID; row 0 of the tables is for it.
const FIRST: u32 = 0xF000_0000;

/// Members of a group, by GUIDs of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its row in the tables.
    pub row: u32,
    /// Hosts that receive and send.
    pub receivers: Vec<Guid>,
    /// Hosts that only send.
    pub senders: Vec<Guid>,
}

/// Result of a packet.
#[derive(Debug, Default)]
struct Flood {
    /// Number of copies at each node that does not forward, and at each switch's own port.
    got: BTreeMap<usize, u32>,
    /// A switch to which it came twice.
    twice: Option<usize>,
}

/// Follows a packet for a row from a host, over links that carry data, in all directions.
fn flood(view: &FabricView, row: u32, from: usize) -> Flood {
    let mut flood = Flood::default();
    let mut visited = vec![false; view.nodes.len()];
    let mut under_way = Vec::new();
    let cross = |node: usize, port: u8, under_way: &mut Vec<(usize, u8)>| {
        let end = view.nodes[node]
            .ports
            .get(usize::from(port))
            .and_then(Option::as_ref);
        let live = end.filter(|end| end.state == PortState::ACTIVE);
        under_way.extend(live.and_then(|end| end.peer));
    };
    cross(from, 1, &mut under_way);
    while let Some((node, ingress)) = under_way.pop() {
        if !view.nodes[node].switch {
            *flood.got.entry(node).or_default() += 1;
            continue;
        }
        if std::mem::replace(&mut visited[node], true) {
            flood.twice = Some(node);
            return flood;
        }
        let ports = view.nodes[node].mft.get(row as usize);
        for port in ports.into_iter().flatten().filter(|port| **port != ingress) {
            match port {
                0 => *flood.got.entry(node).or_default() += 1,
                port => cross(node, *port, &mut under_way),
            }
        }
    }
    flood
}

fn hosts(view: &FabricView) -> impl Iterator<Item = usize> + '_ {
    (0..view.nodes.len()).filter(|node| !view.nodes[*node].switch)
}

/// I2: no packet of any host, for any row, comes to a switch twice.
pub fn check_loops(view: &FabricView) -> Vec<Breach> {
    let rows = view
        .nodes
        .iter()
        .map(|node| node.mft.len())
        .max()
        .unwrap_or(0);
    // Packets of all hosts of a switch go the same ways between switches.
    let hosts = hosts(view).filter_map(|host| {
        let port = view.nodes[host].port(1)?;
        let live = (port.state == PortState::ACTIVE).then_some(port)?;
        Some((live.peer?.0, host))
    });
    let leaves: BTreeMap<usize, usize> = hosts.collect();
    let mut breaches = Vec::new();
    for row in 0..rows as u32 {
        let mut starts = leaves.iter().filter(|(switch, _)| {
            view.nodes[**switch]
                .mft
                .get(row as usize)
                .is_some_and(|row| !row.is_empty())
        });
        let twice = starts.find_map(|(_, from)| flood(view, row, *from).twice);
        breaches.extend(twice.map(|at| floods::breach(row, view.nodes[at].guid)));
    }
    breaches
}

/// I1: every member that is served from `root` reaches every other receiver that is, exactly once,
/// and nobody else; rows without a group reach nobody.
pub fn check_delivery(view: &FabricView, root: usize, groups: &[Group]) -> Vec<Breach> {
    let served = view.served(root);
    let places = |guids: &[Guid]| -> Vec<usize> {
        let found = guids.iter().filter_map(|guid| view.find(*guid));
        found.filter(|node| served[*node]).collect()
    };
    let mut breaches = Vec::new();
    for group in groups {
        let receivers = places(&group.receivers);
        let senders = places(&group.senders);
        // Two hosts on one cable have no switch between them: packets simply arrive.
        let behind_switch = |from: &&usize| {
            let peer = view.nodes[**from]
                .ports
                .get(1)
                .and_then(|port| port.as_ref()?.peer);
            peer.is_some_and(|(peer, _)| view.nodes[peer].switch)
        };
        for from in receivers.iter().chain(&senders).filter(behind_switch) {
            let others = receivers.iter().filter(|to| *to != from);
            let expected: BTreeMap<usize, u32> = others.map(|to| (*to, 1)).collect();
            let got = flood(view, group.row, *from).got;
            if got != expected {
                breaches.push(Breach::new(
                    Invariant::Reachable,
                    differs(view, group.row, *from, &got, &expected),
                ));
            }
        }
    }
    breaches.extend(without_group(view, &served, groups));
    breaches
}

fn without_group(view: &FabricView, served: &[bool], groups: &[Group]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for node in view.among(served) {
        for (row, ports) in node.mft.iter().enumerate() {
            let asked = groups.iter().any(|group| group.row as usize == row);
            if !asked && !ports.is_empty() {
                let what = format!(
                    "{} sends multicast row {row} to ports {ports:?}, which has no group",
                    node.guid
                );
                breaches.push(Breach::new(Invariant::TablesAsIntended, what));
            }
        }
    }
    breaches
}

fn differs(
    view: &FabricView,
    row: u32,
    from: usize,
    got: &BTreeMap<usize, u32>,
    expected: &BTreeMap<usize, u32>,
) -> String {
    let from = view.nodes[from].guid;
    let times = |map: &BTreeMap<usize, u32>, node: &usize| map.get(node).copied().unwrap_or(0);
    let nodes = got.keys().chain(expected.keys());
    let mut wrong = nodes.filter(|node| times(got, node) != times(expected, node));
    let first = wrong.next().map_or(String::new(), |node| {
        let (got, wanted) = (times(got, node), times(expected, node));
        format!("{} gets {got} of it, not {wanted}", view.nodes[*node].guid)
    });
    format!("multicast row {row} from {from}: {first}")
}

/// I4: the published tables are those that the devices have.
pub fn check_published(view: &FabricView, root: usize, snapshot: &Snapshot) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let served = view.served(root);
    for node in view.among(&served) {
        let index = snapshot
            .topology
            .find(node.guid)
            .and_then(|id| snapshot.topology.switch_index(id));
        let Some(SwitchIndex(index)) = index else {
            continue;
        };
        for (row, has) in node.mft.iter().enumerate() {
            let lid = Lid(FIRST + row as u32);
            let told = snapshot.multicast.ports(SwitchIndex(index), lid);
            if told.iter().map(|port| port.0).ne(has.iter().copied()) {
                let what = format!(
                    "{} sends multicast LID {lid} to {has:?}, published otherwise",
                    node.guid
                );
                breaches.push(Breach::new(Invariant::TablesAsIntended, what));
            }
        }
    }
    breaches
}
