//! Loops for a test of the links between switches.
//!
//! A loop leads from a switch over two to four links back to it, through no switch twice. Its LID is nobody's: a
//! packet with that DLID circles until the entries are gone or a link drops it, so that a few packets load every link
//! of the loop. [`LoopPaths::find`] finds the loops and gives them LIDs, [`LoopPaths::written_into`] adds their
//! entries to tables, and [`certify_loops`], which shares no code with either, judges the result.
//!
//! A search over all loops takes them all, each direction with a LID of its own; a fast one takes as few as give
//! each link its share, each with a LID for either direction.

mod certify;
mod entries;
mod fast;
mod links;

use std::ops::Range;

use weft_fabric::{Lid, NodeId, PortRef, Topology};
use weft_state::State;

pub use certify::{LoopCoverage, LoopFault, certify_loops};
use links::{Links, Walk};

/// Links of a loop, least and most.
pub const LOOP_LENGTH: (u8, u8) = (2, 4);

/// Steps of a search; a fabric that takes more gets the loops found up to then.
const STEPS_MAX: u64 = 50_000_000;

/// The loops that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct LoopSettings {
    /// Most links of a loop; values outside [`LOOP_LENGTH`] count as the nearest one inside.
    pub length_max: u8,
    /// As few loops as give each link `redundancy` of them.
    pub fast: bool,
    /// Loops that each link is in where there are as many; only of a fast search.
    pub redundancy: u32,
}

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct LoopPath {
    /// The port by which a packet leaves each of its switches, from its first switch on.
    pub hops: Vec<PortRef>,
    /// The DLID of packets that take these ports.
    pub lid: Lid,
    /// The DLID of packets that circle in the other direction.
    pub reverse: Option<Lid>,
}

impl LoopPath {
    /// Its LIDs.
    pub fn lids(&self) -> impl Iterator<Item = Lid> {
        [self.lid].into_iter().chain(self.reverse)
    }

    /// Whether it leads through a node.
    pub fn leads_through(&self, node: NodeId) -> bool {
        self.hops.iter().any(|hop| hop.node == node)
    }
}

/// The loops of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct LoopPaths {
    /// In the order in which they were found.
    pub paths: Vec<LoopPath>,
    /// There are more that were wanted: LIDs or the steps of the search were used up.
    pub is_cut_short: bool,
}

impl LoopPaths {
    /// Finds the loops that packets from a switch can reach, with LIDs of `lids`, of which none may be a port's.
    /// Links between the same two switches are links of their own; a cable from a switch to itself is in no loop.
    /// None are found where `from` is no switch.
    pub fn find(
        topology: &Topology,
        settings: LoopSettings,
        from: NodeId,
        lids: Range<u32>,
    ) -> Self {
        let links = Links::read(topology, from);
        let length = settings.length_max.clamp(LOOP_LENGTH.0, LOOP_LENGTH.1);
        let length = usize::from(length);
        let per_loop = 1 + usize::from(settings.fast);
        let loops_max = lids.len() / per_loop;
        let mut search = Search {
            links: &links,
            length,
            loops_max,
            steps: 0,
            found: Vec::new(),
            is_cut_short: false,
        };
        match settings.fast {
            true => search.find_few(settings.redundancy),
            false => search.find_all(),
        }
        let Search {
            found,
            is_cut_short,
            ..
        } = search;
        let mut lids = lids.map(Lid);
        let paths = found.iter().map_while(|walk| {
            let lid = lids.next()?;
            let reverse = if settings.fast {
                Some(lids.next()?)
            } else {
                None
            };
            Some(LoopPath {
                hops: links.ports(walk),
                lid,
                reverse,
            })
        });
        Self {
            paths: paths.collect(),
            is_cut_short,
        }
    }

    /// All LIDs, in order of loops.
    pub fn lids(&self) -> impl Iterator<Item = Lid> {
        self.paths.iter().flat_map(LoopPath::lids)
    }

    /// The highest LID; none without loops.
    pub fn top(&self) -> Option<Lid> {
        self.lids().max()
    }
}

/// A search for loops.
struct Search<'a> {
    links: &'a Links,
    length: usize,
    loops_max: usize,
    steps: u64,
    found: Vec<Walk>,
    is_cut_short: bool,
}

impl Search<'_> {
    /// Each loop once, from its first switch on, in the order of switches and ports.
    fn find_all(&mut self) {
        for start in 0..self.links.len() {
            for first in self.links.of(start) {
                let mut walk = vec![*first];
                let loops = self.loops_from(start, &mut walk, true);
                for found in loops {
                    self.take(found);
                }
                if self.is_cut_short {
                    return;
                }
            }
        }
    }

    /// Keeps a loop, if there is room.
    fn take(&mut self, walk: Walk) -> bool {
        let has_room = self.found.len() < self.loops_max;
        match has_room {
            true => self.found.push(walk),
            false => self.is_cut_short = true,
        }
        has_room
    }

    /// The loops that begin with a walk from `start`; `as_first` leaves out those with a switch before `start`.
    fn loops_from(&mut self, start: usize, walk: &mut Walk, as_first: bool) -> Vec<Walk> {
        let mut loops = Vec::new();
        self.extend(start, walk, as_first, &mut loops);
        loops
    }

    fn extend(&mut self, start: usize, walk: &mut Walk, as_first: bool, loops: &mut Vec<Walk>) {
        let Some(last) = walk.last().copied() else {
            return;
        };
        if last.to == start || (as_first && last.to < start) {
            return;
        }
        let is_end = walk.len() + 1 == self.length;
        let next = match is_end {
            true => self.links.between(last.to, start),
            false => self.links.of(last.to),
        };
        for link in next {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                self.is_cut_short = true;
                return;
            }
            if link.cable == last.cable {
                continue;
            }
            let is_seen = walk.iter().any(|step| step.to == link.to);
            walk.push(*link);
            if link.to == start {
                loops.push(walk.clone());
            } else if !is_end && !is_seen {
                self.extend(start, walk, as_first, loops);
            }
            walk.pop();
        }
    }
}
