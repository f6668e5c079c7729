//! Walks packets through the tables: do they arrive (I1), do they go round (I2)?

use super::{Breach, Invariant};
use crate::view::FabricView;
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
    let members = || (0..view.nodes.len()).filter(|node| served[*node]);
    for target in members() {
        let Some(port) = view.nodes[target].end_port() else {
            continue;
        };
        for lid in port.lid.0..port.lid.0 + port.lmc.lids() {
            for from in members().filter(|from| *from != target) {
                let end = walk(view, from, Lid(lid), |_, _| {});
                if end != End::At(target) {
                    let what = format!(
                        "{} to LID {lid:#x} of {}: {}",
                        view.nodes[from].guid,
                        view.nodes[target].guid,
                        describe(view, end)
                    );
                    breaches.push(Breach::new(Invariant::Reachable, what));
                }
            }
        }
    }
    breaches
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
    for node in &view.nodes {
        let Some(port) = node.end_port().filter(|port| port.lid.0 != 0) else {
            continue;
        };
        for lid in port.lid.0..port.lid.0 + port.lmc.lids() {
            for from in 0..view.nodes.len() {
                if let End::Loop(at) = walk(view, from, Lid(lid), |_, _| {}) {
                    let end = describe(view, End::Loop(at));
                    let what = format!("LID {lid:#x} {end}: {}", circle(view, at, Lid(lid)));
                    breaches.push(Breach::new(Invariant::LoopFree, what));
                    break;
                }
            }
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
