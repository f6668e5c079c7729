//! Routing engines: one file each, behind one small trait.

mod dgshortestpath;
mod divisor;
mod dmodc;
mod dor;
mod fattree;
mod hypercube;
mod lanes;
mod layered;
mod levels;
mod neighbours;
mod opa_shortestpath;
mod rows;
mod shortestpath;
mod targets;
mod tiers;
mod updown;

pub(crate) use dgshortestpath::DgShortestPath;
pub(crate) use dmodc::Dmodc;
pub(crate) use dor::Dor;
pub(crate) use fattree::FatTree;
pub(crate) use hypercube::Hypercube;
pub(crate) use layered::Layered;
pub(crate) use levels::is_tree;
pub(crate) use opa_shortestpath::OpaShortestPath;
pub(crate) use shortestpath::ShortestPath;
use std::ops::Range;
use std::sync::Arc;
pub(crate) use updown::UpDown;

use weft_fabric::LinearTables;
use weft_state::State;

use crate::adaptive::PortSets;
use crate::network::Network;
use crate::paths::{Candidates, Paths};
use crate::routed::{EngineUsed, Note};

/// An engine: from the network to tables. The certificate checks its result afterwards,
/// so an engine need not prove anything.
pub trait Engine {
    /// Its name in notes and reports.
    fn name(&self) -> EngineUsed;

    /// Makes the tables.
    ///
    /// # Errors
    /// Why the network does not fit the engine; the next engine is then tried.
    fn plan(&self, network: &Network) -> Result<Plan, String>;

    /// Makes the tables after a change; `_before` is this engine's last plan.
    /// The result must equal that of [`Engine::plan`], which is the default implementation unless an engine
    /// can do it faster.
    ///
    /// # Errors
    /// See [`Engine::plan`].
    fn replan(&self, network: &Network, _before: &Plan) -> Result<Plan, String> {
        self.plan(network)
    }
}

/// Result of an engine.
#[derive(Debug, State)]
pub struct Plan {
    /// Linear tables of all switches, with the lane of each LID.
    pub(crate) linear: Arc<LinearTables>,
    /// Candidates of adaptive groups.
    pub(crate) choices: Choices,
    /// Notes for the administrator.
    pub(crate) notes: Vec<Note>,
    /// Data that speeds up the next plan.
    pub(crate) kept: Option<Box<dmodc::Kept>>,
    /// By switch, whether its choices are those of the plan before; empty where they need not be.
    pub(crate) untouched: Vec<bool>,
}

/// The ports among which a switch may choose.
#[derive(Debug, State)]
pub(crate) enum Choices {
    /// The engine has chosen one port for each LID.
    None,
    /// All legal next hops.
    Paths {
        /// The legal next hops.
        paths: Box<Paths>,
        /// Rules of pruning.
        pruning: Pruning,
    },
    /// Sets of ports that the engine has found, by switch; each holds the linear entry.
    Sets(Vec<PortSets>),
}

impl Plan {
    /// Tables without adaptive groups. Each row holds for each LID the egress port,
    /// [`weft_fabric::UNREACHABLE`] where there is none.
    pub fn new(linear: LinearTables) -> Self {
        Self {
            linear: Arc::new(linear),
            choices: Choices::None,
            notes: Vec::new(),
            kept: None,
            untouched: Vec::new(),
        }
    }

    /// The plan with a note for the administrator.
    pub fn with_note(mut self, note: Note) -> Self {
        self.notes.push(note);
        self
    }

    /// In one lane, on paths.
    fn on_paths(linear: LinearTables, paths: Paths, pruning: Pruning) -> Self {
        Self {
            choices: Choices::Paths {
                paths: Box::new(paths),
                pruning,
            },
            ..Self::new(linear)
        }
    }
}

/// Selects candidates among the legal next hops.
#[derive(Debug, Default, State)]
pub(crate) struct Pruning {
    /// Prefer links inside the chassis, and uplinks where tiers are known.
    pub(crate) spine_first: bool,
    /// Tier of each switch, empty where there are none.
    pub(crate) tier: Vec<u8>,
}

impl Pruning {
    /// Without tiers: `spine_first` prefers links inside the chassis.
    fn without_tiers(spine_first: bool) -> Self {
        Self {
            spine_first,
            ..Self::default()
        }
    }

    /// Fills in a switch's candidates, pruned, in the given order of links.
    pub(crate) fn fill(
        &self,
        candidates: &mut Candidates,
        network: &Network,
        paths: &Paths,
        switch: usize,
        order: &[u16],
    ) {
        let all = 0..paths.words();
        self.fill_words(candidates, (network, paths), (switch, order), &[all]);
    }

    /// Fills in the columns of some words only.
    fn fill_words(
        &self,
        candidates: &mut Candidates,
        (network, paths): (&Network, &Paths),
        (switch, order): (usize, &[u16]),
        words: &[Range<usize>],
    ) {
        let refine = self.refine(network, switch);
        candidates.fill(network, paths, (switch, order), words, refine);
    }

    /// Fills in a switch's candidates after those of another one, see [`Candidates::refill`].
    fn refill(
        &self,
        candidates: &mut Candidates,
        (network, paths): (&Network, &Paths),
        (switch, order): (usize, &[u16]),
        columns: &mut Vec<u64>,
    ) -> bool {
        let refine = self.refine(network, switch);
        candidates.refill(network, paths, (switch, order), columns, refine)
    }

    /// Takes links out that are not wanted where there are better ones.
    fn refine<'a>(
        &self,
        network: &'a Network,
        switch: usize,
    ) -> impl FnMut(&mut Vec<u16>) + use<'a> {
        let egress = network.egress(switch);
        let spine = self.spines(network, switch);
        move |list| {
            if list.iter().any(|link| spine[usize::from(*link)]) {
                list.retain(|link| spine[usize::from(*link)]);
            }
            let rate = |link: &u16| egress[usize::from(*link)].rate;
            let best = list.iter().map(rate).max();
            list.retain(|link| Some(rate(link)) == best);
        }
    }

    /// For each link of a switch whether it leads to a spine: inside its own chassis or upwards.
    fn spines(&self, network: &Network, switch: usize) -> Vec<bool> {
        let system = network.switches[switch].system;
        let on = self.spine_first && (network.has_internal_links || !self.tier.is_empty());
        let is_spine = |to: usize| {
            let inside = system.0 != 0 && network.switches[to].system == system;
            let above = self.tier.get(to) > self.tier.get(switch);
            on && (inside || above)
        };
        let links = network.egress(switch).iter();
        links.map(|link| is_spine(link.to as usize)).collect()
    }
}
