//! Whether anything leads over a part to be pulled (D1), whether pulling it loses a route (D2), and whether the
//! fabric can spare it (D3).

use super::reach::lost_ways;
use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::Guid;

/// A part to be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A switch.
    Switch(Guid),
    /// The link at a port of a switch.
    Link(Guid, u8),
}

/// Whether a fabric could do without something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spare {
    /// Everything else stays connected.
    Yes,
    /// Something else is cut off.
    No,
    /// Only drained switches are cut off, from their managers.
    Unmanaged,
}

/// Whether a port of a node leads over a part.
fn leads_over(view: &FabricView, part: Part, node: usize, port: u8) -> bool {
    let end = view.nodes[node].ports.get(usize::from(port));
    let Some((peer, far)) = end.and_then(|end| end.as_ref()?.peer) else {
        return false;
    };
    match part {
        Part::Switch(guid) => view.nodes[peer].guid == guid,
        Part::Link(guid, at) => {
            (view.nodes[node].guid, port) == (guid, at)
                || (view.nodes[peer].guid, far) == (guid, at)
        }
    }
}

fn is_part(view: &FabricView, part: Part, node: usize) -> bool {
    part == Part::Switch(view.nodes[node].guid)
}

/// D1: no switch that is connected with `root`, and that the manager knows to be there, sends anything over a
/// part, except to a drained switch itself.
pub fn check(
    view: &FabricView,
    root: usize,
    part: Part,
    is_known: impl Fn(Guid) -> bool,
) -> Vec<Breach> {
    let connected = view.connected(root);
    let others =
        || (0..view.nodes.len()).filter(|node| connected[*node] && !is_part(view, part, *node));
    let mut breaches = Vec::new();
    let is_judged = |node: &usize| view.nodes[*node].switch && is_known(view.nodes[*node].guid);
    for node in others().filter(is_judged) {
        let own = &view.nodes[node];
        let mut say = |what: String| breaches.push(Breach::new(Invariant::Drained, what));
        for target in others() {
            for lid in view.nodes[target].lids() {
                let over = own
                    .egress(lid)
                    .find(|port| leads_over(view, part, node, *port));
                if let Some(port) = over {
                    say(format!(
                        "{} sends LID {lid} to port {port}, over {part:?}",
                        own.guid
                    ));
                }
            }
        }
        for (row, ports) in own.mft.iter().enumerate() {
            if let Some(port) = ports
                .iter()
                .find(|port| leads_over(view, part, node, **port))
            {
                say(format!(
                    "{} sends multicast row {row} to port {port}, over {part:?}",
                    own.guid
                ));
            }
        }
    }
    breaches
}

/// D2: every pair that could communicate before, and is still connected, still can; except `pulled`, a switch that
/// may have come back without its tables.
pub fn check_pulled(
    before: &FabricView,
    after: &FabricView,
    root: usize,
    pulled: Option<Part>,
) -> Vec<Breach> {
    let is_pulled = |node: usize| pulled.is_some_and(|part| is_part(after, part, node));
    let lost = lost_ways(before, after, root, is_pulled);
    let breach = |what| Breach::new(Invariant::Pulled, what);
    lost.into_iter().map(breach).collect()
}

/// Whether the fabric around `root` could do without all of these.
pub fn can_spare(view: &FabricView, root: usize, parts: &[Part]) -> Spare {
    let connected = view.connected(root);
    let drained = |node: usize| parts.iter().any(|part| is_part(view, *part, node));
    let mut seen = vec![false; view.nodes.len()];
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let own = &view.nodes[node];
        if std::mem::replace(&mut seen[node], true)
            || drained(node)
            || !(own.switch || node == root)
        {
            continue;
        }
        for (port, end) in own.external() {
            let link =
                |part: &Part| matches!(part, Part::Link(..)) && leads_over(view, *part, node, port);
            let usable = !parts.iter().any(link);
            open.extend(end.peer.filter(|_| usable).map(|(peer, _)| peer));
        }
    }
    let missed = |node: &usize| connected[*node] && !seen[*node];
    let missed: Vec<usize> = (0..view.nodes.len()).filter(missed).collect();
    match missed.is_empty() {
        true => Spare::Yes,
        false if missed.into_iter().all(drained) => Spare::Unmanaged,
        false => Spare::No,
    }
}
