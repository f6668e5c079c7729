//! A tile of classes after a change at a few switches: only steps out of these and into them
//! are followed again.
//!
//! Why that is enough: elsewhere every step is unchanged. A new step must lead to an earlier wave
//! of the last full traversal, as all steps then did; so no route runs in a circle, and each
//! ends. A switch that gets less from a changed one must get it from another one as well, so that
//! data is still where it was, and where the new steps bring it. Then the dependencies that can differ are
//! those on links out of the changed switches, on links into them, and out of switches that have
//! more data. If any of this does not hold the tile is followed as a whole.

use std::sync::Arc;

use weft_state::State;

use super::Tables;
use super::classes::{Class, Spans};
use super::dependency::Dependencies;
use super::tile::{Tile, read, wait};
use super::view::View;

/// Findings of a tile whose routes all end.
#[derive(Debug, Clone, State)]
pub(super) struct Known {
    pub(super) graph: Dependencies,
    /// See [`Tile::carries`].
    carries: Arc<[u64]>,
    /// See [`Tile::waves`].
    waves: Option<Arc<[u64]>>,
}

impl Known {
    /// Findings of the tile that was followed last.
    pub(super) fn new(graph: Dependencies, tile: &Tile<'_>) -> Self {
        Self {
            graph,
            carries: tile.carries().into(),
            waves: tile.waves().map(Arc::from),
        }
    }

    /// These findings with another graph.
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

    /// Adds the data that a changed switch newly sends, and the data that it no longer
    /// sends. `None` if an entry leads nowhere or a new step not to an earlier wave.
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
        // Traffic over a link that is gone.
        for link in &old.0.links[old.0.links_of(switch as usize)] {
            less.push((link.to, before[usize::from(link.port)] & carries));
        }
        Some(())
    }

    /// Reads the entries of a switch, once per tile; returns the classes with an entry that leads nowhere, or
    /// 0 if it was read before.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::ops::Range;

    use weft_fabric::{Lanes, LinearTables, PortGroupTables, SwitchIndex, Topology};

    use super::super::changes::{Kinds, changed_lids};
    use super::super::classes::{TILE, coarse};
    use super::super::dependency::Moves;
    use super::super::samples::{Dice, changed, fabric, grouped};
    use super::super::tile::Shown;
    use super::*;
    use crate::{EngineKind, Settings, route};

    /// A fabric with tables of which each tile is known.
    struct State {
        topology: Topology,
        view: View,
        linear: Arc<LinearTables>,
        groups: Arc<PortGroupTables>,
        tiles: Vec<Known>,
    }

    impl State {
        fn tables(&self) -> Tables<'_> {
            Tables {
                linear: &self.linear,
                groups: &self.groups,
            }
        }

        /// With all tiles followed as a whole; none where some class is not clean.
        fn new(
            topology: Topology,
            linear: Arc<LinearTables>,
            groups: Arc<PortGroupTables>,
        ) -> Option<Self> {
            let mut state = Self {
                view: View::new(&topology, Lanes::SINGLE),
                tiles: Vec::new(),
                topology,
                linear,
                groups,
            };
            let layers = [state.tables()];
            let mut tile = Tile::new(&state.view, &layers);
            let mut tiles = Vec::new();
            for classes in data(&state.view).chunks(TILE) {
                let mut graph = Dependencies::new(&state.view);
                let mut shown = Shown::default();
                tile.follow(classes, &mut graph, &mut shown);
                if !shown.dropped.is_empty() || !shown.looping.is_empty() {
                    return None;
                }
                tiles.push(Known::new(graph, &tile));
            }
            state.tiles = tiles;
            Some(state)
        }
    }

    fn data(view: &View) -> Vec<Class> {
        let mut classes = coarse(view);
        classes.retain(|class| class.is_data);
        classes
    }

    /// Goes from one state to the next one tile by tile; returns how many tiles were followed again
    /// with success, and how many not.
    fn step(
        old: &State,
        new: Option<&State>,
        next: (&View, Tables<'_>),
    ) -> (usize, usize, Vec<Option<Known>>) {
        let states = States {
            old: (&old.view, old.tables()),
            new: next,
        };
        let classes = data(next.0);
        let kinds = Kinds::new(next.0, &classes, &[]);
        let changes = changed_lids(states.old, states.new, &kinds);
        let (mut good, mut bad, mut tiles) = (0, 0, Vec::new());
        let mut again = Again::new(states);
        for (index, (classes, known)) in classes.chunks(TILE).zip(&old.tiles).enumerate() {
            let changed: Vec<u32> = changes.in_tile(index).collect();
            let moves = Moves::new(&known.graph, (&old.view, next.0));
            let graph = known.graph.moved((&old.view, next.0), &moves);
            let made = again.follow(classes, known, &changed, graph);
            let Some(made) = made else {
                bad += 1;
                tiles.push(None);
                continue;
            };
            // A fault anywhere in a tile makes the whole state wrong; another tile's fault
            // means nothing for this one.
            if let Some(new) = new {
                assert_eq!(made.graph, new.tiles[index].graph);
                assert_eq!(made.carries, new.tiles[index].carries);
            } else {
                assert!(old.tiles.len() > 1, "a bad tile is taken for a good one");
            }
            good += usize::from(!changed.is_empty());
            tiles.push(Some(made));
        }
        (good, bad, tiles)
    }

    /// Some entries of a switch that lead up go up elsewhere: one, or all that take some link.
    fn turned(old: &LinearTables, up: Range<u8>, dice: &mut Dice) -> Arc<LinearTables> {
        let switches = 0..old.len() as u32;
        let mut rows: Vec<Arc<[u8]>> = switches
            .map(|switch| Arc::clone(old.row_shared(SwitchIndex(switch)).unwrap()))
            .collect();
        let count = rows.len();
        let row = Arc::make_mut(&mut rows[dice.below(count)]);
        let from = up.start + dice.below(up.len()) as u8;
        let to = up.start + dice.below(up.len()) as u8;
        let one = (dice.below(2) == 0).then(|| dice.below(row.len()));
        for (lid, port) in row.iter_mut().enumerate() {
            let is_due = match one {
                Some(one) => lid == one && up.contains(port),
                None => *port == from,
            };
            *port = if is_due { to } else { *port };
        }
        Arc::new(LinearTables::new(rows))
    }

    /// Two leaves and two cores, two links each; ports 5 and 7 of a leaf lead to the first core.
    #[test]
    fn a_core_that_loses_its_only_sender_with_a_link_has_no_data() {
        let whole = fabric("pgft:2;4,2;1,2;1,2;radix=8");
        let settings = Settings {
            engine: EngineKind::Dmodc,
            ..Settings::default()
        };
        let routed = route(&whole, &settings).unwrap();
        let rows = |leaf: [u8; 2], core: [u8; 2]| {
            let row = |switch: u32| {
                let mut row = routed.linear().row(SwitchIndex(switch)).to_vec();
                let (from, to) = match switch {
                    0 => ([5, 6, 7, 8], leaf),
                    2 => ([1, 2, 3, 4], core),
                    _ => return row.into(),
                };
                let entries = row.iter_mut().filter(|port| from.contains(*port));
                for port in entries {
                    let is_second = from.iter().position(|own| own == port).unwrap() % 2;
                    *port = if switch == 0 { to[0] } else { to[is_second] };
                }
                row.into()
            };
            Arc::new(LinearTables::new((0..4).map(row).collect()))
        };
        let groups: Arc<PortGroupTables> = Arc::default();
        // All of the first leaf goes over port 5; the first core goes down over ports 1 and 2.
        let old = State::new(whole.clone(), rows([5, 5], [1, 2]), Arc::clone(&groups)).unwrap();
        let mut lost = whole.clone();
        let node = whole.switches()[0];
        let port = weft_fabric::PortNum(5);
        assert!(lost.disconnect(weft_fabric::PortRef { node, port }));
        // Now over port 6 to the second core, and down over the first core's other link.
        let linear = rows([6, 6], [3, 2]);
        let anew = State::new(lost, Arc::clone(&linear), groups).unwrap();
        let (_, _, tiles) = step(&old, Some(&anew), (&anew.view, anew.tables()));
        assert_eq!(tiles.len(), 1);
    }

    #[test]
    fn a_tile_followed_again_is_as_when_it_is_followed_as_a_whole() {
        let settings = Settings {
            engine: EngineKind::Dmodc,
            ..Settings::default()
        };
        let mut dice = Dice(11);
        let (mut good, mut bad, mut wrong) = (0, 0, 0);
        for (spec, hosts, up, rounds) in [
            ("fattree:54,radix=6", 54, 4..7, 900),
            ("fattree:432,radix=12", 432, 7..13, 20),
        ] {
            let whole = fabric(spec);
            let cables: Vec<_> = whole.links().skip(hosts).collect();
            for _ in 0..rounds {
                let routed = route(&whole, &settings).unwrap();
                let groups = Arc::clone(routed.groups());
                let linear = Arc::clone(routed.linear());
                let mut state = State::new(whole.clone(), linear, groups).unwrap();
                // The findings of one change are the start of the next one.
                for _ in 0..3 {
                    let mut topology = state.topology.clone();
                    let mut linear = Arc::clone(&state.linear);
                    if dice.below(5) == 0 {
                        topology.disconnect(cables[dice.below(cables.len())].0);
                        linear = Arc::clone(route(&topology, &settings).unwrap().linear());
                    }
                    linear = match dice.below(6) {
                        0 => linear,
                        1 => changed(&linear, &mut dice),
                        _ => turned(&linear, up.clone(), &mut dice),
                    };
                    let groups = match dice.below(8) {
                        0 => grouped(&whole, &mut dice),
                        _ => Arc::clone(&state.groups),
                    };
                    let view = View::new(&topology, Lanes::SINGLE);
                    let tables = Tables {
                        linear: &linear,
                        groups: &groups,
                    };
                    let anew = State::new(topology, Arc::clone(&linear), Arc::clone(&groups));
                    wrong += usize::from(anew.is_none());
                    let (yes, no, tiles) = step(&state, anew.as_ref(), (&view, tables));
                    (good, bad) = (good + yes, bad + no);
                    let Some(mut anew) = anew else { break };
                    for (tile, made) in anew.tiles.iter_mut().zip(tiles) {
                        *tile = made.unwrap_or_else(|| tile.clone());
                    }
                    state = anew;
                }
            }
        }
        assert!(
            good > 300 && bad > 100 && wrong > 50,
            "{good} {bad} {wrong}"
        );
    }
}
