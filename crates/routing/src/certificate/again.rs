//! A tile of classes after a change at a few switches: only what leads out of these and into them
//! is followed again.
//!
//! Why that is enough: elsewhere every step is as before. A new step must lead to an earlier wave
//! of what was followed last, as all steps then did; so no route runs in a circle, and each comes to
//! an end. A switch that gets less from a changed one must get it from another one as well, so that
//! data is still where it was, and where the new steps bring it. Then the waits that can differ are
//! those for links out of the changed switches, for links into them, and out of switches that have
//! more data. Where any of this does not hold the tile is followed as a whole.

use std::sync::Arc;

use super::Tables;
use super::classes::{Class, Spans};
use super::dependency::Dependencies;
use super::tile::{Tile, read, wait};
use super::view::View;

/// What is known of a tile whose routes all come to an end.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) graph: Dependencies,
    /// As [`Tile::carries`].
    carries: Arc<[u64]>,
    /// As [`Tile::waves`].
    waves: Option<Arc<[u64]>>,
}

impl Known {
    /// Of the tile that was followed last.
    pub(super) fn new(graph: Dependencies, tile: &Tile<'_>) -> Self {
        Self {
            graph,
            carries: tile.carries().into(),
            waves: tile.waves().map(Arc::from),
        }
    }

    /// The same with another graph.
    pub(super) fn with(&self, graph: Dependencies) -> Self {
        Self {
            graph,
            carries: Arc::clone(&self.carries),
            waves: self.waves.clone(),
        }
    }

    /// Whether a step leads all of these classes to an earlier wave.
    fn descends(&self, classes: u64, from: u32, to: u32) -> bool {
        let waves = self.waves.iter();
        let mut waves = waves.flat_map(|waves| waves.chunks(self.carries.len()));
        let mut open = classes;
        while open != 0 {
            let Some(ends) = waves.next() else {
                return false;
            };
            open &= !(ends[to as usize] & !ends[from as usize]);
        }
        true
    }
}

/// Fabric and tables before and after.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) old: (&'a View, Tables<'a>),
    pub(super) new: (&'a View, Tables<'a>),
}

/// Memory of one thread.
pub(super) struct Again<'a> {
    states: States<'a>,
    /// Classes that use a link out of a switch that was read.
    uses: Vec<u64>,
    is_read: Vec<bool>,
    read: Vec<usize>,
    carries: Vec<u64>,
    /// Links whose row is made again.
    due: Vec<usize>,
}

/// Switches to which steps lead, with classes.
type Steps = Vec<(u32, u64)>;

impl<'a> Again<'a> {
    pub(super) fn new(states: States<'a>) -> Self {
        let view = states.new.0;
        Self {
            states,
            uses: vec![0; view.links.len()],
            is_read: vec![false; view.len()],
            read: Vec::new(),
            carries: Vec::new(),
            due: Vec::new(),
        }
    }

    /// Follows the classes of a tile; `changed` are all switches with other entries or links for
    /// them, `graph` what was known, of the new links. None where this does not show that the
    /// tables are good.
    pub(super) fn follow(
        &mut self,
        classes: &[Class],
        known: &Known,
        changed: &[u32],
        mut graph: Dependencies,
    ) -> Option<Known> {
        for switch in self.read.drain(..) {
            self.is_read[switch] = false;
        }
        self.due.clear();
        self.carries.clear();
        self.carries.extend_from_slice(&known.carries);
        let spans = Spans::new(self.states.new.0, classes);
        let (mut more, mut less) = (Steps::new(), Steps::new());
        for &switch in changed {
            self.compare(switch, &spans, known, (&mut more, &mut less))?;
        }
        self.carry(&spans, more);
        let has_all = less
            .into_iter()
            .all(|(switch, classes)| self.is_carried(switch as usize, classes, &spans));
        if !has_all {
            return None;
        }
        self.depend(&spans, &mut graph);
        Some(Known {
            graph,
            carries: self.carries.as_slice().into(),
            waves: known.waves.clone(),
        })
    }

    /// Adds the data that a changed switch sends where it did not, and what it does not send any
    /// more. None where an entry leads nowhere or a new step not to an earlier wave.
    fn compare(
        &mut self,
        switch: u32,
        spans: &Spans,
        known: &Known,
        (more, less): (&mut Steps, &mut Steps),
    ) -> Option<()> {
        let States { old, new } = self.states;
        let mut before = [0; 256];
        read(&old.1, spans, switch as usize, &mut before);
        if self.visit(switch as usize, spans) != 0 {
            return None;
        }
        let carries = known.carries[switch as usize];
        for link in new.0.links_of(switch as usize) {
            let step = &new.0.links[link];
            if step.back == View::NO_LINK {
                return None;
            }
            let port = usize::from(step.port);
            let stays = old.0.link_like(step).is_some();
            let was = if stays {
                std::mem::take(&mut before[port])
            } else {
                0
            };
            let added = self.uses[link] & !was;
            if !known.descends(added, switch, step.to) {
                return None;
            }
            more.push((step.to, added & carries));
            less.push((step.to, was & !self.uses[link] & carries));
            self.due.push(link);
            self.due.push(step.back as usize);
        }
        // What went over a link that is gone.
        for link in &old.0.links[old.0.links_of(switch as usize)] {
            less.push((link.to, before[usize::from(link.port)] & carries));
        }
        Some(())
    }

    /// Reads what a switch does, once a tile; gives the classes of which an entry leads nowhere, or
    /// 0 where it was read before.
    fn visit(&mut self, switch: usize, spans: &Spans) -> u64 {
        if std::mem::replace(&mut self.is_read[switch], true) {
            return 0;
        }
        self.read.push(switch);
        let (view, tables) = self.states.new;
        let mut by_port = [0; 256];
        read(&tables, spans, switch, &mut by_port);
        for link in view.links_of(switch) {
            let port = usize::from(view.links[link].port);
            self.uses[link] = std::mem::take(&mut by_port[port]);
        }
        by_port.iter().fold(0, |bits, word| bits | word)
    }

    /// Takes data onward from where it is new.
    fn carry(&mut self, spans: &Spans, mut more: Steps) {
        let view = self.states.new.0;
        while let Some((switch, classes)) = more.pop() {
            let switch = switch as usize;
            let fresh = classes & !self.carries[switch];
            if fresh == 0 {
                continue;
            }
            self.carries[switch] |= fresh;
            self.visit(switch, spans);
            for link in view.links_of(switch) {
                self.due.push(link);
                more.push((view.links[link].to, self.uses[link] & fresh));
            }
        }
    }

    /// Whether a switch still has data of these classes: of its own or from another switch.
    fn is_carried(&mut self, switch: usize, classes: u64, spans: &Spans) -> bool {
        let view = self.states.new.0;
        if classes == 0 || view.sends[switch] {
            return true;
        }
        let mut open = classes;
        for link in &view.links[view.links_of(switch)] {
            self.visit(link.to as usize, spans);
            let uses = self.uses.get(link.back as usize).copied().unwrap_or(0);
            open &= !(uses & self.carries[link.to as usize]);
            if open == 0 {
                return true;
            }
        }
        false
    }

    /// Makes the rows again that can differ.
    fn depend(&mut self, spans: &Spans, graph: &mut Dependencies) {
        let view = self.states.new.0;
        let mut due = std::mem::take(&mut self.due);
        due.sort_unstable();
        due.dedup();
        for &index in &due {
            let link = &view.links[index];
            self.visit(link.from as usize, spans);
            let via = self.uses[index] & self.carries[link.from as usize];
            let row = graph.row_mut(index);
            row.fill(0);
            if via != 0 {
                self.visit(link.to as usize, spans);
                wait(row, via, &self.uses[view.links_of(link.to as usize)]);
            }
        }
        self.due = due;
    }
}
