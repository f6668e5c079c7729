//! Previews of route changes.
//!
//! [`Manager::basis`] returns the inputs of a plan, [`Basis::plan`] computes it without the
//! manager, and [`Manager::adopt`] puts it in force unless something has changed in between. [`Basis::preview`] only
//! makes the routes, also of a fabric that lacks links or is that of another moment.

mod flows;
mod preview;

use std::cmp::Ordering;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::{LinearTables, NodeId, PortNum, PortRef, SwitchIndex, Tick, UNREACHABLE};
use weft_routing::quality::{Effort, Quality, assess_with_flows};
use weft_routing::{AdaptiveSettings, EngineKind, RouteError};
use weft_wire::enums::SmState;

use super::Manager;
use super::back::{Back, RoutingState, Then, in_order_of, switch, unlike};
use super::barred_links::Barred;
use super::drains::{Drain, DrainError, Drains, LEFT_ASIDE};
use super::plan::{Fabric, Held, Inactive, RouteInput, Routes, moves_halves, transition};
use super::settings::Settings;
pub use flows::{FlowEnd, PlannedFlow, PlannedFlows};
pub use preview::Preview;

/// Flows that the analysis of a plan follows in shifts, and in each kind of random patterns.
const FLOWS_MAX: u64 = 8_000_000;

/// Note on tables that the last sweep could not write.
const NOT_WRITTEN: &str = "switches do not hold all of the present routes yet: what sweeps have still to \
                           write counts as changed";

/// Inputs of routes besides the fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrangement {
    /// The settings.
    pub settings: Settings,
    /// Drained parts.
    pub drains: Drains,
}

/// Changes that can be planned.
#[derive(Debug, Clone)]
pub enum Change {
    /// Another engine.
    Engine(EngineKind),
    /// Adaptive routing on or off.
    Adaptive {
        /// Whether it is on.
        enabled: bool,
        /// Congestion that moves a route, as in [`AdaptiveSettings`]; none leaves it as it is.
        threshold: Option<u8>,
    },
    /// Other settings.
    Settings(Box<Settings>),
    /// Take data off a switch or link.
    Drain(Drain),
    /// Let data go there again.
    Undrain(Drain),
    /// Nothing: routes as a sweep would make them now.
    Keep,
    /// Back to a moment.
    Back(Box<Then>),
}

/// Under which condition an arrangement is put in force.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Condition {
    /// Neither routes, settings nor drains have changed since a plan was begun, see [`Basis::epoch`].
    Epoch(u64),
    /// This one is in force.
    InForce(Box<Arrangement>),
}

/// Why there is no plan, or why it is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RerouteError {
    /// Another manager runs the fabric.
    #[error("this manager does not run the fabric, it is {role}")]
    NotMaster {
        /// Role of this manager.
        role: SmState,
    },
    /// No sweep has made routes yet.
    #[error("the fabric has no routes yet; wait for the first sweep")]
    NoRoutes,
    /// LIDs would be given anew.
    #[error(
        "the configuration gives other LIDs (Lmc, LmcE0, LID); that cannot be planned, \
         `weft config reload` puts it in force"
    )]
    OtherLids,
    /// It cannot be drained, or is not.
    #[error(transparent)]
    Drain(#[from] DrainError),
    /// Without it, something is not reached any more.
    #[error("without {0}, parts of the fabric would be cut off; nothing else leads there")]
    CutsOff(String),
    /// There are no routes.
    #[error(transparent)]
    Routes(#[from] RouteError),
    /// There is no transition from the current routes.
    #[error("no certified transition from the current routes: {0}")]
    Way(String),
    /// Something has changed.
    #[error("the fabric or its configuration has changed since; plan again")]
    Stale,
}

/// Inputs of a plan, all of them shared, so that it is computed in parallel with the manager.
#[derive(Debug, Clone)]
pub struct Basis {
    /// Counts changes of routes, settings and drains.
    pub epoch: u64,
    /// The arrangement to put in force.
    pub wanted: Arrangement,
    /// Description of an additional drain.
    drained: Option<String>,
    /// Links that are not to be used as they went down too often, or by hand.
    barred: Barred,
    /// The routes that are in force.
    present: Arc<Routes>,
    /// What switches hold: not all of these routes where a sweep could not write them.
    held: Arc<Held>,
    /// What a way back to a moment changes besides; none for another change.
    pub back: Option<Back>,
    /// That moment.
    then: Option<Box<Then>>,
}

/// Effect of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutePlan {
    /// Engine of the present routes.
    pub engine_before: String,
    /// Engine of the planned ones.
    pub engine: String,
    /// Fallbacks and limits met during planning.
    pub notes: Vec<String>,
    /// Switches whose tables change: from what they hold, which is not all of the present routes while a sweep
    /// has left something to write.
    pub switches: u32,
    /// Blocks of 64 entries that change.
    pub blocks: u32,
    /// Pairs of a switch and a LID whose next hop changes.
    pub routes: u64,
    /// Entries that drop for a while, because old and new routes together would close a loop or a
    /// credit cycle.
    pub dropping: u64,
    /// LIDs that change their service level. Programs that keep a path record from before send on the old
    /// one, which no certificate covers.
    pub changed_levels: u32,
    /// Adaptive routing is suspended while tables change.
    pub suspends_adaptive: bool,
    /// Number of certified pairs of a switch and a LID with complete routes.
    pub certified_routes: u64,
    /// And pairs that no cables join.
    pub disconnected: u64,
    /// And pairs of successive links without a cycle.
    pub dependencies: u64,
    /// Of a way back to a moment: routes of a switch to a LID that are not as they were then, of switches and LIDs that are
    /// still there.
    pub unlike_then: Option<u64>,
    /// Congestion at present.
    pub before: Quality,
    /// Congestion of the planned routes.
    pub after: Quality,
    /// What links carry before and after it.
    pub flows: PlannedFlows,
}

impl Basis {
    /// Computes the plan; may take seconds on a fabric of ten thousands of hosts.
    ///
    /// # Errors
    /// [`RerouteError`] when there are no such routes.
    pub fn plan(&self) -> Result<RoutePlan, RerouteError> {
        let present = &*self.present;
        let before = present.routed.as_ref().ok_or(RerouteError::NoRoutes)?;
        let (fabric, held) = self.switched();
        let planned = self.routes(fabric, |end| end)?;
        let routed = planned.routed.as_ref().ok_or(RerouteError::NoRoutes)?;
        let left_aside = planned.leaves_drains_aside();
        if let Some(drained) = self.drained.as_ref().filter(|_| left_aside) {
            return Err(RerouteError::CutsOff(drained.clone()));
        }
        let notes = routed.notes().iter().map(ToString::to_string);
        let (old, new) = (&**before.linear(), &**routed.linear());
        let notes = notes.chain(left_aside.then(|| LEFT_ASIDE.to_owned()));
        let notes = notes.chain(other_lanes(old, new));
        let notes = notes.chain(self.is_unwritten(old).then(|| NOT_WRITTEN.to_owned()));
        let moves_halves = moves_halves(&planned, &self.wanted.settings, &held);
        let way = transition(&held, &planned, routed, moves_halves);
        let way = way.map_err(|refusal| RerouteError::Way(refusal.to_string()))?;
        let unlike_then = self.unlike_then(&planned, new)?;
        let held = &held.linear;
        let changed = changed_switches(held, new);
        let effort = self.effort();
        let (quality, old_flows) = assess_with_flows(&present.routable, old, &effort);
        let (quality_after, new_flows) = assess_with_flows(&planned.routable, new, &effort);
        let before_flows = flows::Carried {
            topology: &present.routable,
            flows: &old_flows,
        };
        let after_flows = flows::Carried {
            topology: &planned.routable,
            flows: &new_flows,
        };
        Ok(RoutePlan {
            engine_before: before.engine().to_string(),
            engine: routed.engine().to_string(),
            notes: notes.collect(),
            switches: changed.len() as u32,
            blocks: weft_routing::changed_blocks(held, new).len() as u32,
            routes: changed.iter().sum(),
            dropping: way.plan.drained,
            changed_levels: new.lanes().moved(old.lanes()).count() as u32,
            suspends_adaptive: way.plan.pause_adaptive,
            certified_routes: way.certificate.routes(),
            disconnected: way.certificate.disconnected(),
            dependencies: way.certificate.dependencies(),
            unlike_then,
            before: quality,
            after: quality_after,
            flows: flows::planned(&before_flows, &after_flows),
        })
    }

    /// Whether switches lack some of the tables of the routes in force, or may lack them.
    fn is_unwritten(&self, in_force: &LinearTables) -> bool {
        let held = &*self.held;
        held.possible.is_some() || !changed_switches(&held.linear, in_force).is_empty()
    }

    /// The fabric as it is when ports are switched, and what switches hold, which may lead over links that go down.
    fn switched(&self) -> (Fabric, Arc<Held>) {
        let mut fabric = self.present.fabric.clone();
        let (Some(back), Some(then)) = (&self.back, &self.then) else {
            return (fabric, Arc::clone(&self.held));
        };
        let topology = Arc::make_mut(&mut fabric.topology);
        let (down, up) = switch(topology, &back.ports, &then.fabric.topology);
        if down.is_empty() && up.is_empty() {
            return (self.present.fabric.clone(), Arc::clone(&self.held));
        }
        let mut held = (*self.held).clone();
        switch(
            Arc::make_mut(&mut held.links),
            &back.enabled(),
            &then.fabric.topology,
        );
        held.lost_links.extend(down);
        (fabric, Arc::new(held))
    }

    /// Routes that will not be as they were then. A link that comes up lets a sweep find nodes in another order than the
    /// last one, which decides between routes that are equally good: it is that of then.
    fn unlike_then(
        &self,
        planned: &Routes,
        new: &LinearTables,
    ) -> Result<Option<u64>, RerouteError> {
        let Some(then) = &self.then else {
            return Ok(None);
        };
        let topology = &planned.fabric.topology;
        let Some((found, numbers)) = in_order_of(topology, &then.fabric.topology) else {
            return Ok(Some(unlike(&then.fabric, topology, new)));
        };
        let number = |node: NodeId| numbers.get(node.0 as usize).copied().unwrap_or(node);
        let mut ends = vec![PortNum::default(); numbers.len()];
        for (place, end) in (0..).map(NodeId).zip(planned.fabric.ends.iter()) {
            if let Some(to) = ends.get_mut(number(place).0 as usize) {
                *to = *end;
            }
        }
        let fabric = Fabric {
            topology: Arc::new(found),
            ends: ends.into(),
        };
        let routes = self.routes(fabric, |end| PortRef {
            node: number(end.node),
            ..end
        })?;
        let routed = routes.routed.as_ref().ok_or(RerouteError::NoRoutes)?;
        let topology = &routes.fabric.topology;
        Ok(Some(unlike(&then.fabric, topology, routed.linear())))
    }

    /// Makes the routes as a sweep would, with ports by their numbers in `fabric`.
    fn routes(
        &self,
        fabric: Fabric,
        number: impl Fn(PortRef) -> PortRef,
    ) -> Result<Routes, RerouteError> {
        let barred = self.barred.iter();
        let inactive = self.present.unused.inactive().into_iter();
        let input = RouteInput {
            settings: Arc::new(self.wanted.settings.clone()),
            drains: self.wanted.drains.clone(),
            fabric,
            barred: barred.map(|(end, why)| (number(*end), *why)).collect(),
            crossings: self.present.settings.dor.crossings.clone(),
            inactive: Inactive {
                twice: inactive.map(number).collect(),
                must_prove: false,
            },
        };
        let made = input.make(&Routes::default());
        match made.error {
            Some(error) => Err(error.into()),
            None => Ok(made.routes),
        }
    }

    /// The usual number of patterns, limited by the bound on work.
    fn effort(&self) -> Effort {
        let topology = &self.present.routable;
        let ends = topology.end_ports();
        let hfis = ends.filter(|(at, ..)| topology.switch_index(at.node).is_none());
        let flows: u64 = hfis.map(|(_, _, lmc)| u64::from(lmc.lids())).sum();
        let most = u32::try_from(FLOWS_MAX / flows.max(1))
            .unwrap_or(u32::MAX)
            .max(1);
        let usual = Effort::default();
        Effort {
            shifts: most,
            permutations: usual.permutations.min(most),
            bisections: usual.bisections.min(most),
            ..usual
        }
    }
}

/// Says so where routes need another number of lanes. Agents refuse other maps of channels to lanes
/// for a port that is armed or active.
fn other_lanes(old: &LinearTables, new: &LinearTables) -> Option<String> {
    let (before, after) = (old.lanes().count(), new.lanes().count());
    let keep = match after.cmp(&before) {
        Ordering::Equal => return None,
        Ordering::Less => "keep their maps of lanes",
        Ordering::Greater => {
            "have no maps and no buffers for the others, and drop what comes in them,"
        }
    };
    Some(format!(
        "routes are spread over {after} virtual lane(s), {before} at present: ports that carry data \
         {keep} until their links go down; sweeps say which"
    ))
}

/// Entries that differ, of each switch that has some.
fn changed_switches(old: &LinearTables, new: &LinearTables) -> Vec<u64> {
    let entry = |row: &[u8], lid: usize| row.get(lid).copied().unwrap_or(UNREACHABLE);
    let changed = (0..new.len() as u32).map(SwitchIndex).map(|switch| {
        let (before, after) = (old.row(switch), new.row(switch));
        let lids = 0..before.len().max(after.len());
        lids.filter(|lid| entry(before, *lid) != entry(after, *lid))
            .count() as u64
    });
    changed.filter(|entries| *entries > 0).collect()
}

impl Manager {
    /// The arrangement in force.
    pub fn arrangement(&self) -> Arrangement {
        Arrangement {
            settings: self.settings.clone(),
            drains: self.planning.drains.clone(),
        }
    }

    /// Inputs of a plan of this change.
    ///
    /// # Errors
    /// [`RerouteError`] when it is not possible here.
    pub fn basis(&self, change: Change) -> Result<Basis, RerouteError> {
        self.must_run_the_fabric()?;
        let present = Arc::clone(&self.planning.plan.routes);
        let drained = match &change {
            Change::Drain(drain) => Some(drain.describe(&present.fabric.topology)),
            _ => None,
        };
        let then = match &change {
            Change::Back(then) => Some(then.clone()),
            _ => None,
        };
        let back = then.as_ref().map(|then| self.back(then));
        let wanted = self.changed(change)?;
        let held = self.held_next().ok_or(RerouteError::NoRoutes)?;
        let topology = &present.fabric.topology;
        let barred = self.devices.barred_among(|guid| topology.find(guid));
        Ok(Basis {
            epoch: self.planning.epoch,
            wanted,
            drained,
            barred,
            present,
            held: Arc::new(held),
            back,
            then,
        })
    }

    fn changed(&self, change: Change) -> Result<Arrangement, RerouteError> {
        let mut wanted = self.arrangement();
        let topology = &*self.planning.plan.topology;
        match change {
            Change::Keep => {}
            Change::Engine(engine) => wanted.settings.routing.engine = engine,
            Change::Adaptive { enabled, threshold } => {
                let adaptive = &mut wanted.settings.routing.adaptive;
                let present = adaptive.unwrap_or_default();
                *adaptive = enabled.then_some(AdaptiveSettings {
                    threshold: threshold.unwrap_or(present.threshold),
                    ..present
                });
            }
            Change::Settings(settings) => {
                if settings.lids != self.settings.lids {
                    return Err(RerouteError::OtherLids);
                }
                wanted.settings = *settings;
            }
            Change::Drain(drain) => {
                wanted.drains.insert(drain.checked(topology)?);
            }
            Change::Undrain(drain) => {
                let kept = drain.found(topology, &wanted.drains)?;
                wanted.drains.remove(&kept);
            }
            Change::Back(then) => {
                let RoutingState {
                    routing,
                    multicast,
                    drains,
                    ..
                } = then.state;
                (wanted.settings.routing, wanted.settings.multicast) = (routing, multicast);
                wanted.drains = drains;
            }
        }
        Ok(wanted)
    }

    fn must_run_the_fabric(&self) -> Result<(), RerouteError> {
        match self.election.role() {
            role @ (SmState::STANDBY | SmState::NOT_ACTIVE) => {
                Err(RerouteError::NotMaster { role })
            }
            _ => Ok(()),
        }
    }

    /// Counts changes of routes, settings and drains, see [`Basis::epoch`].
    pub fn route_epoch(&self) -> u64 {
        self.planning.epoch
    }

    /// Puts an arrangement in force; a sweep brings the fabric in line with it. Gives the one that
    /// was in force, and the number of the sweep that will have done it.
    ///
    /// # Errors
    /// [`RerouteError::Stale`] when the condition does not hold, [`RerouteError::NotMaster`].
    pub fn adopt(
        &mut self,
        now: Tick,
        condition: &Condition,
        wanted: Arrangement,
    ) -> Result<(Arrangement, u64), RerouteError> {
        self.must_run_the_fabric()?;
        let before = self.arrangement();
        let holds = match condition {
            Condition::Epoch(epoch) => *epoch == self.planning.epoch,
            Condition::InForce(expected) => **expected == before,
        };
        if !holds {
            return Err(RerouteError::Stale);
        }
        let number = self.sweep.number + 1;
        // A plan that was made before does not know of this one.
        self.planning.epoch += 1;
        self.planning.drains = wanted.drains;
        self.persist();
        self.put_in_force(now, wanted.settings);
        Ok((before, number))
    }
}
