//! `dmodc`: the route to a destination follows from its number in the tree, in closed form.
//!
//! After Gliksberg et al., *High-Quality Fault-Resilient Routing in Fat Trees* (IEEE Micro 40(1),
//! 2020). A switch divides the destination's number by the number of upward paths below it, and takes
//! the result modulo its candidates. No entry depends on another one, so that a lost link moves
//! only the routes of the switches that lose a candidate.

mod again;
mod alike;
mod form;
mod numbers;
mod slots;
mod turns;

use weft_fabric::Topology;

pub(crate) use self::again::Kept;
use self::again::again;
use self::alike::Alike;
use self::form::Form;
use self::numbers::{Numbers, columns, leaves};
pub(super) use self::{form::turn, numbers::dividers};
use super::levels::{is_mostly_tree, levels, rank};
use super::neighbours::by_neighbour;
use super::tiers::Tiers;
use super::{Engine, Plan, Pruning};
use crate::network::Network;
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;
use crate::settings::FatTreeSettings;

/// The engine.
pub(crate) struct Dmodc<'a> {
    pub(crate) topology: &'a Topology,
    /// Read where HFIs are on several tiers: levels are then counted down from the core switches.
    pub(crate) settings: &'a FatTreeSettings,
}

impl Engine for Dmodc<'_> {
    fn name(&self) -> EngineUsed {
        EngineUsed::Dmodc
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let level = self.levels(network)?;
        if !is_mostly_tree(network, &level) {
            return Err("most links join switches of one level, as in no tree".to_owned());
        }
        let leaves = leaves(network);
        let rank = rank(&level);
        let columns = columns(network, &leaves, &level);
        let paths = Paths::up_down(network, columns, rank);
        let numbers = Numbers::new(network, &leaves, &paths, &level);
        let linear = Alike {
            network,
            paths: &paths,
            numbers: &numbers,
            switch_of: paths.switches(),
        };
        let linear = linear.tables();
        let mut plan = Plan::on_paths(linear, paths, Pruning::default());
        plan.kept = Some(Box::new(Kept::new(network, level, numbers)));
        Ok(plan)
    }

    fn replan(&self, network: &Network, before: &Plan) -> Result<Plan, String> {
        match again(self, network, before) {
            Some(plan) => Ok(plan),
            None => self.plan(network),
        }
    }
}

impl Dmodc<'_> {
    fn levels(&self, network: &Network) -> Result<Vec<u8>, String> {
        let settings = self.settings;
        if settings.fis_on_same_tier || settings.core_switches.is_empty() {
            return levels(network);
        }
        Tiers::find(self.topology, network, settings).map(|tiers| tiers.tier)
    }
}

/// Writes the row of a switch.
fn fill(
    (network, paths, numbers): (&Network, &Paths, &Numbers),
    candidates: &mut Candidates,
    switch: usize,
    row: &mut [u8],
) {
    let order = by_neighbour(network, switch);
    Pruning::default().fill(candidates, network, paths, switch, &order);
    let form = Form::new((network, numbers), candidates, switch);
    form.hfis(row);
    form.switches(row);
}
