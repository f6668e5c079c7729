//! Whatever ports adaptive switches choose: packets arrive (I1), and none goes round (I2).

use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::Lid;

/// Progress of following a LID from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    /// Followed now: to come here again is a circle.
    Open,
    Done,
}

/// I1 and I2 over every choice that adaptive switches have, for all LIDs of nodes that are connected with
/// `root`: a port whose link is down is none that a switch would choose.
pub fn check(view: &FabricView, root: usize) -> Vec<Breach> {
    let served = view.served(root);
    if view.among(&served).all(|node| node.adaptive.is_empty()) {
        return Vec::new();
    }
    let targets = (0..view.nodes.len()).filter(|node| served[*node]);
    let lids = targets.flat_map(|node| view.nodes[node].lids().map(move |lid| (node, lid)));
    let breaches = lids.flat_map(|(target, lid)| {
        let mut ways = Ways {
            view,
            target,
            lid,
            seen: vec![Seen::No; view.nodes.len()],
            breaches: Vec::new(),
        };
        let switches = (0..view.nodes.len()).filter(|node| view.nodes[*node].switch);
        switches
            .filter(|node| served[*node])
            .for_each(|node| ways.follow(node));
        ways.breaches
    });
    breaches.collect()
}

/// The paths of a LID.
struct Ways<'a> {
    view: &'a FabricView,
    target: usize,
    lid: Lid,
    seen: Vec<Seen>,
    breaches: Vec<Breach>,
}

impl Ways<'_> {
    /// Follows all choices from a switch.
    fn follow(&mut self, start: usize) {
        // Each node with those to come after it.
        let mut stack = Vec::new();
        if self.enters(start) {
            stack.push((start, self.next(start)));
        }
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            match next.pop() {
                None => {
                    self.seen[node] = Seen::Done;
                    stack.pop();
                }
                Some(next) if self.seen[next] == Seen::Open => {
                    self.breach(Invariant::LoopFree, "goes round through", next);
                }
                Some(next) if self.enters(next) => stack.push((next, self.next(next))),
                Some(_) => {}
            }
        }
    }

    /// Starts to follow a node, unless it was followed, owns the LID, or is an end of the path.
    fn enters(&mut self, node: usize) -> bool {
        if node == self.target || self.seen[node] != Seen::No {
            return false;
        }
        self.seen[node] = Seen::Open;
        let ends = !self.view.nodes[node].switch || self.next(node).is_empty();
        if ends {
            self.seen[node] = Seen::Done;
            self.breach(Invariant::Reachable, "can end at", node);
        }
        !ends
    }

    /// The nodes behind all ports that a switch can choose.
    fn next(&self, node: usize) -> Vec<usize> {
        let switch = &self.view.nodes[node];
        let behind = |egress: u8| {
            let port = switch.ports.get(usize::from(egress))?.as_ref()?;
            port.peer.map(|(peer, _)| peer)
        };
        switch.egress(self.lid).filter_map(behind).collect()
    }

    fn breach(&mut self, invariant: Invariant, how: &str, node: usize) {
        let guid = self.view.nodes[node].guid;
        let what = format!("LID {}, as switches may choose, {how} {guid}", self.lid);
        self.breaches.push(Breach::new(invariant, what));
    }
}
