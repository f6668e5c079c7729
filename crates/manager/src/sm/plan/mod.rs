//! The intended state of the fabric: LIDs, routes, and the tables of every port.
//!
//! The manager assigns LIDs and collects the other inputs of a plan ([`PlanInput`]); the caller computes
//! the plan in parallel ([`PlanInput::make`]) and passes it in ([`Planned`]). Meanwhile the manager serves
//! requests. The next sweep examines traps that arrive then.
//!
//! | module | contents |
//! |---|---|
//! | `input` | input and result of a plan |
//! | `engine_settings`, `routes` | routes and their inputs |
//! | `steps` | the transition from the switches' tables to the new ones |
//! | `loops` | loops of the loop test |
//! | `groups` | multicast tables |
//! | `port_tables` | the tables of every port |
//! | `channel_maps` | maps of service channels of every switch |
//! | `planner` | plans under a virtual clock |

mod channel_maps;
mod engine_settings;
mod groups;
mod input;
mod lids;
mod loops;
mod planner;
mod port_tables;
mod routes;
mod steps;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{
    Lanes, Lid, LinearTables, Lmc, NodeId, PortNum, PortRef, Sl, Tick, Topology, TopologyBuilder,
};
use weft_state::State;

use super::Manager;
use super::devices::{Device, Devices, Lft, TABLE_KINDS};
use super::drains::Drains;
use super::handover::Handover;
use super::lids::LidMap;
use super::loop_test::LoopTest;
use super::lost_links::with_links;
use super::outbox::Outbox;
use super::settings::Settings;
use super::store;
use super::sweep::Sweep;
use super::tables::{TableId, TableStore};
use super::unintended::UnintendedSince;
use super::wanted::qos::Qos;
use crate::io::Output;
use crate::settings::lane_levels::LaneLevels;

pub(super) use channel_maps::Row;
pub(super) use groups::{Members, MulticastPlan, Step};
pub(super) use input::{Crossings, Fabric, Held, Inactive, Told, moves_halves};
pub use input::{PlanInput, Planned};
pub use loops::LoopPlan;
pub use planner::Planner;
pub(super) use routes::{RouteInput, Routes};
pub(super) use steps::transition;

/// A manager that waits for a plan is called this often, so that it notices when it was stopped.
const LOOK: Duration = Duration::from_secs(1);

/// The intended state of the fabric.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Plan {
    /// Nodes and links, with the LIDs that end ports should have.
    pub topology: Arc<Topology>,
    /// Base LID and LMC of each node's end port.
    pub lids: Vec<(Lid, Lmc)>,
    /// Highest LID in use, those of loops included once they are planned.
    pub top: Lid,
    /// While a plan is being made, those of the last one: they have their own numbers of nodes.
    pub routes: Arc<Routes>,
    /// Nodes that get their LIDs in the next sweep: what switches hold would lead packets to these round.
    pub late_lids: BTreeSet<NodeId>,
    /// The loops whose entries the last of these tables has, while links are tested.
    pub loops: Option<Arc<LoopPlan>>,
    /// The tables to write one after the other; all switches have one before the next is written.
    pub steps: Vec<Arc<LinearTables>>,
    /// Adaptive routing is suspended while tables change.
    pub pause: bool,
    /// It stays suspended: some switch has not confirmed its tables.
    pub stays_paused: bool,
    /// Packets in flight must leave the switches when that begins and before it ends.
    pub settle: bool,
    /// And between two steps.
    pub settle_drained: bool,
    /// Tables come into use when they are written, not before: some switch forwards already, and what
    /// another one holds beyond its LinearFDBTop may be of any time.
    pub late_tops: bool,
    /// Maps of service channels may have to change: that happens between two steps, before the last one.
    pub maps_channels: bool,
    /// The tables of each port of each node, in the node's order of ports.
    pub tables: Vec<Vec<[TableId; TABLE_KINDS]>>,
    /// Which of these tables wait for others.
    pub handover: Handover,
    pub qos: Option<Qos>,
    pub multicast: MulticastPlan,
}

impl Plan {
    /// The port at the other end of a good link.
    pub(super) fn peer(&self, node: u32, port: PortNum) -> Option<PortRef> {
        self.topology.peer(PortRef {
            node: NodeId(node),
            port,
        })
    }

    /// Whether the manager leaves a port in state Init.
    pub(super) fn is_refused(&self, node: u32, port: PortNum) -> bool {
        let node = NodeId(node);
        self.routes.unused.is_refused(PortRef { node, port })
    }

    /// LID of the manager's own port.
    pub(super) fn sm_lid(&self) -> Lid {
        self.lids.first().map_or(Lid(0), |(lid, _)| *lid)
    }

    /// Service level of what goes to the manager's own port.
    pub(super) fn sm_sl(&self, settings: &Settings) -> Sl {
        let lane = self.routes.routed.as_ref();
        let lane = lane.map_or(0, |routed| routed.lanes().of(self.sm_lid()));
        LaneLevels::of(&settings.levels).in_lane(Sl(0), lane)
    }

    /// Gives the tables of ports the names that the manager has for their contents.
    fn name_tables(&mut self, contents: &[Arc<[u8]>], tables: &mut TableStore) {
        let names = contents.iter().map(|content| tables.intern(content));
        let names: Vec<TableId> = names.collect();
        for id in self.tables.iter_mut().flatten().flatten() {
            let place = (id.0 as usize).wrapping_sub(1);
            *id = names.get(place).copied().unwrap_or(TableId::UNKNOWN);
        }
    }

    /// Blocks of a table that are written: beyond the end of its row nothing is routed, up to the top of
    /// what is in use.
    pub(super) fn blocks(&self, row: &[u8]) -> usize {
        let used = row.len().max(self.top.0 as usize + 1);
        used.div_ceil(LFT_BLOCK)
    }

    /// The table of a switch in a step.
    pub(super) fn row(&self, step: usize, node: u32) -> Option<&Arc<[u8]>> {
        let switch = self.topology.switch_index(NodeId(node))?;
        self.steps.get(step)?.row_shared(switch)
    }
}

/// The intended state of the fabric, and progress of a new plan.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Planning {
    pub plan: Plan,
    /// The LIDs that were given; they outlast a restart.
    pub lids: LidMap,
    /// Drained parts.
    pub drains: Drains,
    pub loop_test: LoopTest,
    /// Since when links are in quarantine because they are not as the topology file has them.
    pub unintended_since: UnintendedSince,
    /// Number of plans requested so far.
    asked: u64,
    /// Fabric of the next plan, or of the one being made.
    fabric: Fabric,
    /// Counts changes of what plans depend on: routes, settings, drains.
    pub epoch: u64,
    state: PlanningState,
    /// Sweeps in a row in which tables waited for a switch whose table could not be read.
    waited: u32,
}

/// Progress of a sweep's plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
enum PlanningState {
    /// There is none to wait for.
    #[default]
    Idle,
    /// Nodes have their numbers and LIDs; the plan has to be requested.
    Due,
    /// It is being made.
    UnderWay,
}

impl Planning {
    /// Nothing is planned yet.
    pub(super) fn new(loop_test: LoopTest) -> Self {
        Self {
            loop_test,
            ..Self::default()
        }
    }

    /// Whether the manager waits for a plan.
    pub(super) fn is_under_way(&self) -> bool {
        self.state == PlanningState::UnderWay
    }

    /// Whether a plan has to be requested.
    pub(super) fn is_due(&self) -> bool {
        self.state == PlanningState::Due
    }

    /// When a manager that waits and was called at `now` is to be called again.
    pub(super) fn look_at(&self, now: Tick) -> Option<Tick> {
        self.is_under_way().then(|| now + LOOK)
    }
}

impl Told {
    /// Adds the messages of the plan's computation to events and to the report of the sweep.
    pub(super) fn tell(self, out: &mut Outbox, sweep: &mut Sweep) {
        let Told {
            routing,
            certificate,
            unfinished,
            faults,
            events,
        } = self;
        sweep.report.tables.certificate = certificate;
        events.into_iter().for_each(|event| out.event(event));
        if let Some(routing) = routing {
            sweep.report.routing = routing;
        }
        for what in unfinished {
            sweep.unfinished(what);
        }
        for (node, what) in faults {
            out.fault(node, what);
        }
    }
}

impl Planning {
    /// The plan equals the current state: nothing is to be written.
    pub(super) fn hold_what_is(&mut self, devices: &Devices) {
        let held = |device: &Device| {
            let port = device.observed.port(device.end_port());
            port.map_or((Lid(0), Lmc(0)), |info| (info.lid, info.lmc))
        };
        self.plan = Plan {
            topology: Arc::new(devices.topology()),
            lids: devices.iter().map(held).collect(),
            ..Plan::default()
        };
    }

    /// Does not wait for a plan any more. Nodes have new numbers: what was planned for the old ones must
    /// not be taken for theirs.
    pub(super) fn give_up(&mut self, devices: &Devices) {
        if std::mem::take(&mut self.state) != PlanningState::Idle {
            self.hold_what_is(devices);
        }
    }

    /// Nodes have their new numbers in the plan from here on, and LIDs; nothing else is planned yet.
    fn take_fabric(&mut self, devices: &Devices) {
        self.fabric = planned_fabric(devices, &self.plan.lids);
        let last = std::mem::take(&mut self.plan);
        self.plan = Plan {
            topology: Arc::clone(&self.fabric.topology),
            lids: last.lids,
            top: last.top,
            routes: last.routes,
            multicast: last.multicast,
            ..Plan::default()
        };
    }
}

impl Manager {
    /// Prepares a plan for what was found; [`Self::ask_for_plan`] follows.
    pub(super) fn begin_plan(&mut self) {
        self.give_lids();
        self.find_unregistered();
        self.planning.take_fabric(&self.devices);
        self.planning.state = PlanningState::Due;
    }

    /// Requests another plan in place of the one being made, if there is one: settings have changed.
    pub(super) fn plan_again(&mut self) {
        if self.planning.state != PlanningState::Idle {
            self.give_lids();
            self.planning.take_fabric(&self.devices);
        }
        if self.planning.is_under_way() {
            self.ask_for_plan();
        }
    }

    /// Has what outlasts a restart written, if that has changed.
    pub(super) fn persist(&mut self) {
        let keep = store::Keep {
            lids: &self.planning.lids,
            drains: &self.planning.drains,
            disabled: &self.commands.disabled,
            notes: &self.commands.notes,
            quarantine: &self.devices.flapping.sentences(),
            by_hand: &self.devices.by_hand,
            successors: &self.devices.replacements.successors,
            isolation: &self.devices.isolation.kept(),
            term: self.devices.keys.term(),
        };
        let bytes = store::encode(keep, self.settings.subnet_prefix);
        self.out.persist(bytes);
    }

    /// Requests the plan that [`Self::begin_plan`] has prepared.
    pub(super) fn ask_for_plan(&mut self) {
        self.registrations.members_planned();
        let members = self.members();
        let planning = &mut self.planning;
        planning.asked += 1;
        planning.state = PlanningState::UnderWay;
        let unread = self.devices.unread(&planning.plan.topology);
        planning.waited = unread.map_or(0, |_| planning.waited.saturating_add(1));
        // One that never tells its table is no reason to leave all others as they are.
        let patience = self.settings.sweeps.silent_sweeps_max;
        let unread = unread.filter(|_| planning.waited <= patience);
        let plan = &planning.plan;
        let no_routes = plan.routes.routed.is_none();
        let input = PlanInput {
            id: planning.asked,
            routes: RouteInput {
                settings: Arc::new(self.settings.clone()),
                drains: planning.drains.clone(),
                fabric: planning.fabric.clone(),
                barred: self.devices.barred(),
                crossings: plan
                    .routes
                    .crossings()
                    .unwrap_or_else(|| self.devices.crossings()),
                inactive: Inactive {
                    twice: self.devices.inactive_twice(),
                    // No routes were made yet and switches forward already: a link may have been
                    // inactive for long before this manager started.
                    must_prove: no_routes && self.devices.holds_tables(),
                },
            },
            before: Arc::clone(&plan.routes),
            lids: plan.lids.clone(),
            top: plan.top,
            loops: planning.loop_test.wanted(),
            held: Held {
                unread,
                ..self.held()
            },
            members,
        };
        self.out.push(Output::Plan(Arc::new(input)));
    }

    /// Tables that the next sweep finds in switches, if nothing comes between; none where there are no routes.
    pub(super) fn held_next(&self) -> Option<Held> {
        let plan = &self.planning.plan;
        let routed = plan.routes.routed.as_ref()?;
        // A sweep that is under way writes these. Nodes may have other numbers by now than in them.
        if self.sweep.phase().is_some() {
            return Some(Held::of(&plan.routes, routed, &self.settings));
        }
        let held = self.held();
        Some(match &plan.loops {
            None => held,
            Some(loops) => Held {
                linear: loops.removed_from(&held.linear),
                ..held
            },
        })
    }

    /// Tables that switches hold.
    fn held(&self) -> Held {
        let lanes = self.out.published.linear.lanes();
        held(&self.devices, &self.planning.plan.topology, lanes)
    }

    /// Takes a plan, unless the manager does not wait for it any more.
    pub(super) fn planned(&mut self, now: Tick, planned: Planned) {
        if !self.planning.is_under_way() || planned.id != self.planning.asked {
            return;
        }
        self.planning.state = PlanningState::Idle;
        let Planned {
            plan,
            contents,
            are_routes_new,
            told,
            ..
        } = planned;
        self.planning.plan = plan;
        let plan = &mut self.planning.plan;
        let unintended = &plan.routes.unintended;
        self.planning.unintended_since.update(now, unintended);
        let unused = &plan.routes.unused;
        self.sweep.report.unused_links = unused.count() as u32;
        self.sweep.report.unused = unused.listed().to_vec();
        self.planning.epoch += u64::from(are_routes_new);
        told.tell(&mut self.out, &mut self.sweep);
        plan.name_tables(&contents, &mut self.devices.tables);
        let published = &self.out.published.port_tables;
        self.devices.drop_unused_tables(&plan.tables, published);
        self.tell_loops();
    }
}

/// The discovered fabric, with the planned LIDs.
fn planned_fabric(devices: &Devices, lids: &[(Lid, Lmc)]) -> Fabric {
    let mut builder = TopologyBuilder::new();
    let mut ends = Vec::with_capacity(devices.len());
    for (device, (lid, lmc)) in devices.iter().zip(lids) {
        let Some(node) = device.observed.node.as_ref() else {
            continue;
        };
        let mut node = Arc::clone(node);
        let port = device.end_port();
        let held = node.port(port).map(|port| (port.info.lid, port.info.lmc));
        if held != Some((*lid, *lmc))
            && let Some(port) = Arc::make_mut(&mut node).port_mut(port)
        {
            (port.info.lid, port.info.lmc) = (*lid, *lmc);
        }
        // GUIDs are distinct: each node was found by its GUID.
        let _ = builder.add(node);
        ends.push(port);
    }
    // Both ends of each link agreed, so that nothing is one-sided.
    Fabric {
        topology: Arc::new(builder.build().unwrap_or_default()),
        ends: ends.into(),
    }
}

/// Tables held by the switches of a topology.
fn held(devices: &Devices, of: &Arc<Topology>, lanes: &Arc<Lanes>) -> Held {
    let lost_links = devices.lost_links(of);
    let switches = of.switches().iter();
    let whole = switches.map(|node| matches!(devices[*node].observed.lft, Lft::Whole { .. }));
    Held {
        linear: devices.linear_tables(of).with_lanes(Arc::clone(lanes)),
        possible: devices.possible_tables(of),
        whole: whole.collect(),
        channels: devices.channel_maps(of),
        moving: devices.moving_ends(of),
        unread: None,
        any: devices.holds_tables(),
        paused: devices.is_any_suspended(),
        unknown_groups: devices.routes_by_unknown_groups(),
        links: with_links(of, &lost_links),
        lost_links,
        groups: devices.port_groups(of),
        multicast: devices.possible_multicast(of),
        to_strangers: devices.rows_to_strangers(of),
    }
}
