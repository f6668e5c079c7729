//! `layered`: least-cost paths on any fabric, kept apart in lanes so that no credit cycle closes.
//!
//! LIDs are routed one by one over the least loaded paths, each in the first lane in which
//! its routes close no cycle with those already there; among equal paths one that closes none is
//! preferred. All are drafted once before, so that the first ones know of the last ones. The last
//! lane is for LIDs that fit no other: their paths go up first and then down, which always fits. With one
//! lane all paths do; in a tree that costs nothing. The class of DFSSSP (Domke, Hoefler, Nagel,
//! *Deadlock-Free Oblivious Routing for Arbitrary Topologies*, 2011), with lanes by destination.

use super::lanes::{Detours, Placing, Ways};
use super::levels::{is_mostly_tree, levels, rank};
use super::{Choices, Engine, Plan};
use crate::network::Network;
use crate::routed::EngineUsed;

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
        let (mut placing, mut detours) = self.draft(network);
        let ways = |target| Ways::shortest(network, target);
        for target in 0..network.len() {
            detours.switch(&mut placing, &ways(target), target);
        }
        placing.cover_answers();
        let choices = match self.adaptive {
            true => {
                let ways = |target| Some(ways(target));
                Choices::Sets(detours.sets(&mut placing, 0..network.len(), ways))
            }
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

impl Layered {
    /// Routes of LIDs without regard to dependencies. With one lane, up and down by the levels
    /// of a tree if that leads everywhere.
    fn draft<'a>(&self, network: &'a Network) -> (Placing<'a>, Detours<'a>) {
        let lanes = usize::from(self.lanes.max(1));
        let mut placing = Placing::new(network, lanes);
        if lanes == 1
            && let Some(level) = levels(network).ok()
            && is_mostly_tree(network, &level)
        {
            let detours = Detours::by_rank(network, 0, rank(&level));
            if detours.draft(&mut placing) {
                return (placing, detours);
            }
            placing = Placing::new(network, lanes);
        }
        let detours = Detours::new(network, lanes - 1);
        detours.draft(&mut placing);
        (placing, detours)
    }
}
