//! `layered`: least-cost paths on any fabric, kept apart in lanes so that no credit cycle closes.
//!
//! LIDs are routed one by one over the links that carry least so far, each in the first lane where
//! its routes close no cycle with those already there; among equal paths one that closes none is
//! preferred. The last lane is for what fits no other: its paths go up first and then down, which
//! always fits. The class of DFSSSP (Domke, Hoefler, Nagel, *Deadlock-Free Oblivious Routing for
//! Arbitrary Topologies*, 2011), with lanes by destination.

use std::collections::BTreeSet;

use super::lanes::{Placing, Ways};
use super::updown::rank;
use super::{Choices, Engine, Plan};
use crate::adaptive::PortSets;
use crate::network::Network;
use crate::routed::{EngineUsed, Note};

/// The engine.
pub(crate) struct Layered {
    /// Lanes that it may use.
    pub(crate) lanes: u8,
    /// Find sets of ports for adaptive groups, too.
    pub(crate) adaptive: bool,
}

impl Engine for Layered {
    fn name(&self) -> EngineUsed {
        EngineUsed::Layered
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let mut placing = Placing::new(network, usize::from(self.lanes.max(1)));
        let mut detours = Detours::new(network, usize::from(self.lanes.max(1)) - 1);
        for target in 0..network.len() {
            let ways = Ways::shortest(network, target);
            detours.switch(&mut placing, &ways, target);
        }
        let ways = |target| Some(Ways::shortest(network, target));
        let choices = match self.adaptive {
            true => Choices::Sets(detours.sets(&mut placing, 0..network.len(), ways)),
            false => Choices::None,
        };
        let notes = detours.notes();
        Ok(Plan {
            notes,
            choices,
            ..Plan::new(placing.finish())
        })
    }
}

/// Places LIDs in lanes, and what fits no other in the last one.
pub(crate) struct Detours<'a> {
    network: &'a Network,
    rank: Vec<u32>,
    last: usize,
    lids: u64,
    detoured: BTreeSet<u32>,
}

impl<'a> Detours<'a> {
    /// `last` is the lane for what fits no other.
    pub(crate) fn new(network: &'a Network, last: usize) -> Self {
        Self {
            network,
            rank: rank(network),
            last,
            lids: 0,
            detoured: BTreeSet::new(),
        }
    }

    /// Routes to a switch and all HFIs on it, over `ways` where they fit a lane.
    pub(crate) fn switch(&mut self, placing: &mut Placing<'_>, ways: &Ways, target: usize) {
        placing.management(ways, target);
        for end in self.network.hfis(target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in (end.lid.0..).take(end.lmc.lids() as usize) {
                self.lids += 1;
                let fits = |lane: &usize| placing.place(ways, target, lid, *lane);
                if (0..self.last).find(fits).is_none() {
                    self.detour(placing, target, lid);
                }
            }
        }
    }

    /// Routes to a switch and all HFIs on it over `ways`, in one of the first `lanes` lanes; false
    /// where that closes a cycle in all of them.
    pub(crate) fn try_switch(
        &mut self,
        placing: &mut Placing<'_>,
        ways: &Ways,
        target: usize,
        lanes: usize,
    ) -> bool {
        placing.management(ways, target);
        for end in self.network.hfis(target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in (end.lid.0..).take(end.lmc.lids() as usize) {
                self.lids += 1;
                let fits = |lane: &usize| placing.place(ways, target, lid, *lane);
                if (0..lanes).find(fits).is_none() {
                    return false;
                }
            }
        }
        true
    }

    /// Routes to a switch and all HFIs on it in the last lane.
    pub(crate) fn all(&mut self, placing: &mut Placing<'_>, target: usize) {
        let ways = Ways::up_down(self.network, &self.rank, target);
        placing.management(&ways, target);
        for end in self.network.hfis(target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in (end.lid.0..).take(end.lmc.lids() as usize) {
                placing.place(&ways, target, lid, self.last);
                self.detoured.insert(lid);
                self.lids += 1;
            }
        }
    }

    /// Routes to a LID in the last lane.
    fn detour(&mut self, placing: &mut Placing<'_>, target: usize, lid: u32) {
        let ways = Ways::up_down(self.network, &self.rank, target);
        placing.place(&ways, target, lid, self.last);
        self.detoured.insert(lid);
    }

    /// By switch, the sets of ports among which it may choose for LIDs of HFIs: out of the
    /// detours to a LID that has one, out of `ways` to its switch otherwise.
    pub(crate) fn sets(
        &self,
        placing: &mut Placing<'_>,
        targets: impl Iterator<Item = usize>,
        ways: impl Fn(usize) -> Option<Ways>,
    ) -> Vec<PortSets> {
        let mut lanes = placing.take_lanes();
        let mut widening = placing.widening(&mut lanes);
        for target in targets.filter(|target| !self.network.hfis(*target).is_empty()) {
            let plain = ways(target).unwrap_or_default();
            let lids = self.network.hfis(target).iter();
            let lids = lids.flat_map(|end| (end.lid.0..).take(end.lmc.lids() as usize));
            let (detoured, own): (Vec<u32>, Vec<u32>) =
                lids.partition(|lid| self.detoured.contains(lid));
            own.iter()
                .for_each(|lid| widening.lid(&plain, *lid, placing.lane(*lid)));
            if !detoured.is_empty() {
                let ways = Ways::up_down(self.network, &self.rank, target);
                let lids = detoured.iter();
                lids.for_each(|lid| widening.lid(&ways, *lid, placing.lane(*lid)));
            }
        }
        widening.finish()
    }

    /// What the administrator should know.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let note = Note::Detours {
            lids: self.detoured.len() as u64,
            of: self.lids,
            lanes: self.last as u8 + 1,
        };
        Vec::from_iter((!self.detoured.is_empty()).then_some(note))
    }
}
