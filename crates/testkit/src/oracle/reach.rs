//! Walks packets through the tables: do they arrive (I1), do they go round (I2)?

use std::collections::BTreeMap;

use super::ends::Ends;
use super::{Breach, Invariant};
use crate::view::{FabricView, NodeView};
use weft_fabric::Lid;
use weft_fabric::enums::PortState;

/// End of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At this node, for itself.
    At(usize),
    /// Dropped at this switch, which has no entry or no link for it.
    Dropped(usize),
    /// Came to this switch a second time.
    Loop(usize),
}

/// Follows a LID from a node; `visit` sees each switch with its egress port.
pub fn walk(view: &FabricView, from: usize, lid: Lid, mut visit: impl FnMut(usize, u8)) -> End {
    let mut at = from;
    for _ in 0..=view.nodes.len() {
        let node = &view.nodes[at];
        if let Some(port) = node.end_port()
            && port.lid.0 != 0
            && (port.lid.0..port.lid.0 + port.lmc.lids()).contains(&lid.0)
        {
            return End::At(at);
        }
        let egress = match node.switch {
            true => node.lft.get(lid.0 as usize).copied().unwrap_or(0xFF),
            false if at == from => 1,
            false => return End::Dropped(at),
        };
        let port = node.ports.get(usize::from(egress)).and_then(Option::as_ref);
        let Some((peer, _)) = port.and_then(|port| port.peer) else {
            return End::Dropped(at);
        };
        if node.switch {
            visit(at, egress);
        }
        at = peer;
    }
    End::Loop(at)
}

/// I1: every node that is served from `root` reaches every LID of every other, over ports that
/// are all Active.
pub fn check_reachable(view: &FabricView, root: usize) -> Vec<Breach> {
    let served = view.served(root);
    let mut breaches = check_active(view, &served);
    let members: Vec<usize> = (0..view.nodes.len()).filter(|node| served[*node]).collect();
    let (behind, apart): (Vec<usize>, Vec<usize>) = members
        .iter()
        .partition(|node| entry(view, **node).is_some());
    let mut entries: Vec<usize> = behind
        .iter()
        .filter_map(|node| entry(view, *node))
        .collect();
    entries.sort_unstable();
    entries.dedup();
    let mut holders: BTreeMap<Lid, Vec<usize>> = BTreeMap::new();
    for node in &behind {
        let lids = view.nodes[*node].lids();
        lids.for_each(|lid| holders.entry(lid).or_default().push(*node));
    }
    let mut ends = Ends::of(view);
    for target in &members {
        for lid in held(view, *target) {
            ends.follow(lid);
            let arrives = |entry: &usize| ends.at_switch(*entry) == Some(End::At(*target));
            // Where every entry leads there, only those that hold the LID too, or are apart, may not.
            let mut judge = |from: &usize| {
                breaches.extend(
                    (from != target)
                        .then(|| missed(view, *from, lid, *target))
                        .flatten(),
                );
            };
            match entries.iter().all(arrives) {
                true => {
                    let others = holders.get(&lid).into_iter().flatten();
                    apart.iter().chain(others).for_each(&mut judge);
                }
                false => members.iter().for_each(&mut judge),
            }
        }
    }
    breaches
}

/// The LIDs of a node; 0, which nobody reaches, where it has none.
fn held(view: &FabricView, place: usize) -> impl Iterator<Item = Lid> {
    let end = view.nodes[place].end_port();
    let range = end.map_or(0..0, |port| port.lid.0..port.lid.0 + port.lmc.lids());
    range.map(Lid)
}

/// The switch that packets of a node come to first: itself, or the one at a host's cable.
fn entry(view: &FabricView, place: usize) -> Option<usize> {
    let node = &view.nodes[place];
    if node.switch {
        return Some(place);
    }
    let (peer, _) = node.port(1)?.peer?;
    view.nodes[peer].switch.then_some(peer)
}

/// That packets from a node to a LID do not come to the one that holds it, if they do not.
fn missed(view: &FabricView, from: usize, lid: Lid, target: usize) -> Option<Breach> {
    let end = walk(view, from, lid, |_, _| {});
    let what = || {
        format!(
            "{} to LID {:#x} of {}: {}",
            view.nodes[from].guid,
            lid.0,
            view.nodes[target].guid,
            describe(view, end)
        )
    };
    (end != End::At(target)).then(|| Breach::new(Invariant::Reachable, what()))
}

/// Pairs that could communicate in `before`, are connected with `root` and no longer can, in words; except
/// those in `skipped`.
pub(super) fn lost_ways(
    before: &FabricView,
    after: &FabricView,
    root: usize,
    skipped: impl Fn(usize) -> bool,
) -> Vec<String> {
    let connected = after.connected(root);
    let mut lost = Vec::new();
    let members = || (0..after.nodes.len()).filter(|node| connected[*node] && !skipped(*node));
    for target in members() {
        let Some(old_target) = before.find(after.nodes[target].guid) else {
            continue;
        };
        for lid in after.nodes[target].lids() {
            for from in members().filter(|from| *from != target) {
                let old = before.find(after.nodes[from].guid);
                let came = old.map(|old| walk(before, old, lid, |_, _| {}));
                let comes = walk(after, from, lid, |_, _| {});
                if came == Some(End::At(old_target)) && comes != End::At(target) {
                    lost.push(format!(
                        "{} does not reach LID {lid} of {} any more: {comes:?}",
                        after.nodes[from].guid, after.nodes[target].guid
                    ));
                }
            }
        }
    }
    lost
}

fn check_active(view: &FabricView, served: &[bool]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for node in view.among(served) {
        for (number, port) in node.external() {
            // A cable from a node to itself carries nothing.
            let other = port
                .peer
                .filter(|(peer, _)| view.nodes[*peer].guid != node.guid);
            if other.is_some() && port.permitted && port.state != PortState::ACTIVE {
                let what = format!(
                    "port {number} of {} is {}, its link is up",
                    node.guid, port.state
                );
                breaches.push(Breach::new(Invariant::Reachable, what));
            }
        }
    }
    breaches
}

fn describe(view: &FabricView, end: End) -> String {
    match end {
        End::At(node) => format!("arrives at {}", view.nodes[node].guid),
        End::Dropped(node) => format!("dropped at {}", view.nodes[node].guid),
        End::Loop(node) => format!("goes round through {}", view.nodes[node].guid),
    }
}

/// I2: no LID that anybody holds goes round, from wherever it starts. A table may drop.
pub fn check_loops(view: &FabricView) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut ends = Ends::of(view);
    for lid in view.nodes.iter().flat_map(NodeView::lids) {
        ends.follow(lid);
        if let Some(at) = ends.round() {
            let end = describe(view, End::Loop(at));
            let what = format!("LID {:#x} {end}: {}", lid.0, circle(view, at, lid));
            breaches.push(Breach::new(Invariant::LoopFree, what));
        }
    }
    breaches
}

/// The switches and egress ports of a circle, once round.
fn circle(view: &FabricView, start: usize, lid: Lid) -> String {
    let mut hops: Vec<(usize, u8)> = Vec::new();
    walk(view, start, lid, |node, egress| hops.push((node, egress)));
    let again = hops.iter().skip(1).position(|(node, _)| *node == start);
    hops.truncate(again.map_or(hops.len(), |at| at + 1));
    let named = hops
        .iter()
        .map(|(node, port)| format!("{} port {port}", view.nodes[*node].guid));
    named.collect::<Vec<_>>().join(" -> ")
}
