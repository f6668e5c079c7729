//! Where packets to one LID end, from every node at once: each switch is followed once.

use super::reach::End;
use crate::view::FabricView;
use weft_fabric::Lid;

/// The nodes of a fabric by what a walk needs of them.
#[derive(Debug)]
pub(super) struct Ends<'a> {
    view: &'a FabricView,
    /// Places of the switches.
    switches: Vec<usize>,
    /// Where a packet ends that is at a switch, by place; none while it is not known.
    known: Vec<Option<End>>,
    /// Switches on the way that is followed now, in order, and whether each is.
    way: Vec<usize>,
    is_on_way: Vec<bool>,
}

impl<'a> Ends<'a> {
    /// For the LIDs of a fabric.
    pub(super) fn of(view: &'a FabricView) -> Self {
        let places = 0..view.nodes.len();
        Self {
            view,
            switches: places.filter(|place| view.nodes[*place].switch).collect(),
            known: vec![None; view.nodes.len()],
            way: Vec::new(),
            is_on_way: vec![false; view.nodes.len()],
        }
    }

    /// Follows a LID from every switch.
    pub(super) fn follow(&mut self, lid: Lid) {
        for index in 0..self.switches.len() {
            self.known[self.switches[index]] = None;
        }
        for index in 0..self.switches.len() {
            self.follow_from(self.switches[index], lid);
        }
    }

    /// Where the LID that was followed last ends from a switch.
    pub(super) fn at_switch(&self, place: usize) -> Option<End> {
        self.known[place]
    }

    /// A switch from which that LID goes round, if any.
    pub(super) fn round(&self) -> Option<usize> {
        let mut ends = self.switches.iter().map(|place| self.known[*place]);
        ends.find_map(|end| match end {
            Some(End::Loop(at)) => Some(at),
            _ => None,
        })
    }

    fn follow_from(&mut self, start: usize, lid: Lid) {
        let mut at = start;
        let end = loop {
            if let Some(end) = self.known[at] {
                break end;
            }
            if self.is_on_way[at] {
                break End::Loop(at);
            }
            let node = &self.view.nodes[at];
            if holds(self.view, at, lid) {
                break End::At(at);
            }
            if !node.switch {
                break End::Dropped(at);
            }
            self.is_on_way[at] = true;
            self.way.push(at);
            let egress = node.lft.get(lid.0 as usize).copied().unwrap_or(0xFF);
            match node.port(egress).and_then(|port| port.peer) {
                Some((peer, _)) => at = peer,
                None => break End::Dropped(at),
            }
        };
        for place in self.way.drain(..) {
            self.is_on_way[place] = false;
            self.known[place] = Some(end);
        }
        if self.view.nodes[start].switch {
            self.known[start] = Some(end);
        }
    }
}

/// Whether a node holds a LID.
fn holds(view: &FabricView, place: usize, lid: Lid) -> bool {
    let end = view.nodes[place].end_port();
    end.is_some_and(|port| {
        port.lid.0 != 0 && (port.lid.0..port.lid.0 + port.lmc.lids()).contains(&lid.0)
    })
}
