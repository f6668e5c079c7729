//! Input and result of a plan, as values: a plan is computed in parallel with the
//! manager, which serves others meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{
    Guid, Lanes, Lid, LinearTables, Lmc, MulticastTables, NodeId, PortGroupTables, PortNum,
    PortRef, SwitchIndex, Topology,
};
use weft_routing::{LoopSettings, Routed, changed_blocks};
use weft_state::State;

use super::super::settings::Settings;
use super::super::wanted::qos::Qos;
use super::Plan;
use super::channel_maps::{ChannelMaps, Row};
use super::groups::{self, Members};
use super::loops;
use super::port_tables;
use super::routes::{RouteInput, Routes};
use super::steps;
use crate::io::{Certified, Event};

/// Nodes, links and LIDs as they are to be.
#[derive(Debug, Clone, Default, State)]
pub(in super::super) struct Fabric {
    /// Nodes and links, with the LIDs that end ports should have.
    pub(in super::super) topology: Arc<Topology>,
    /// For each node the port that has its LID.
    pub(in super::super) ends: Arc<[PortNum]>,
}

impl Fabric {
    /// The port of a node that has its LID.
    pub(super) fn end(&self, node: NodeId) -> PortNum {
        self.ends.get(node.0 as usize).copied().unwrap_or_default()
    }
}

/// Ports on whose links datelines are, see [`weft_fabric::datelines`].
pub(in super::super) type Crossings = BTreeSet<(Guid, PortNum)>;

/// Links that both ends see and that are not active.
#[derive(Debug, Clone, Default, State)]
pub(in super::super) struct Inactive {
    /// Ends of those that were not active after two sweeps.
    pub(in super::super) twice: BTreeSet<PortRef>,
    /// A link that is not active yet has to prove itself before routes use it, where nothing is cut off
    /// meanwhile.
    pub(in super::super) must_prove: bool,
}

/// Tables held by switches.
#[derive(Debug, Clone, Default, State)]
pub(in super::super) struct Held {
    /// Confirmed linear tables; unknown entries drop.
    pub(in super::super) linear: LinearTables,
    /// Linear tables with what was sent last in place of what is confirmed; none where all that was sent
    /// is confirmed.
    pub(in super::super) possible: Option<LinearTables>,
    /// For each switch, whether all of its linear table is confirmed.
    pub(super) whole: Vec<bool>,
    /// By switch, the maps of service channels of its ingress ports from 1 on.
    pub(super) channels: Vec<Vec<Row>>,
    /// Nodes whose end ports hold other LIDs than planned, or none.
    pub(super) moving: BTreeSet<NodeId>,
    /// A switch that may hold any table: it could not be read.
    pub(super) unread: Option<Guid>,
    /// Something is known of the table of some switch.
    pub(super) any: bool,
    /// Adaptive routing is suspended on some switch: an earlier change of tables has not ended.
    pub(super) paused: bool,
    /// Adaptive routing goes on at some switch by groups that are not known.
    pub(super) unknown_groups: bool,
    /// Links between switches that were there and are not.
    pub(in super::super) lost_links: Vec<(PortRef, PortRef)>,
    /// The topology with them: what switches hold may lead over them, and they may come back while it is
    /// replaced.
    pub(in super::super) links: Arc<Topology>,
    /// Confirmed adaptive groups.
    pub(super) groups: PortGroupTables,
    /// All that multicast tables may hold.
    pub(super) multicast: MulticastTables,
    /// Rows of these that may lead to nodes that are not known.
    pub(super) to_strangers: BTreeSet<usize>,
}

impl Held {
    /// By switches that have confirmed these routes of a fabric.
    pub(super) fn of(routes: &Routes, routed: &Routed, settings: &Settings) -> Self {
        let fabric = &routes.fabric;
        let (_, maps) = maps(routes, settings, &Self::default());
        Self {
            channels: maps.held(&fabric.topology),
            linear: (**routed.linear()).clone(),
            whole: vec![true; routed.linear().len()],
            any: true,
            links: Arc::clone(&fabric.topology),
            groups: (**routed.groups()).clone(),
            ..Self::default()
        }
    }

    /// Whether linear tables that switches hold lead over lost links.
    pub(super) fn uses_lost_links(&self) -> bool {
        let is_used = |end: &PortRef| {
            let switch = self.links.switch_index(end.node);
            let tables = [&self.linear].into_iter().chain(&self.possible);
            let mut rows = tables.filter_map(|tables| Some(tables.row(switch?)));
            rows.any(|row| row.contains(&end.port.0))
        };
        let mut links = self.lost_links.iter();
        links.any(|(a, b)| is_used(a) || is_used(b))
    }

    /// Whether new tables have entries that switches do not hold, or may not, as far as is known.
    pub(super) fn changes(&self, new: &LinearTables) -> bool {
        self.possible.is_some() || !changed_blocks(&self.linear, new).is_empty()
    }

    /// Whether some switch holds another linear table than the new one, or may.
    pub(super) fn differs(&self, new: &LinearTables) -> bool {
        let differs = |(index, whole): (usize, &bool)| {
            let switch = SwitchIndex(index as u32);
            match (self.linear.row_shared(switch), new.row_shared(switch)) {
                (Some(held), Some(wanted)) if *whole => {
                    !Arc::ptr_eq(held, wanted) && held != wanted
                }
                _ => true,
            }
        };
        self.possible.is_some() || self.whole.iter().enumerate().any(differs)
    }
}

/// All that a plan depends on, to be computed by [`PlanInput::make`]; the result goes to the manager as
/// [`crate::Input::Planned`].
#[derive(Debug, Clone, State)]
pub struct PlanInput {
    pub(super) id: u64,
    pub(super) routes: RouteInput,
    /// The routes that are in force.
    pub(super) before: Arc<Routes>,
    pub(super) lids: Vec<(Lid, Lmc)>,
    pub(super) top: Lid,
    /// The loops that are wanted; none while links are not tested.
    pub(super) loops: Option<LoopSettings>,
    pub(super) held: Held,
    pub(super) members: Members,
}

/// Messages of the plan's computation.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Told {
    /// The engine and its notes, or why there are no routes; none where routes stay.
    pub(super) routing: Option<String>,
    /// What is proved of the routes that are to be in force.
    pub(super) certificate: Option<Certified>,
    /// Work that failed.
    pub(super) unfinished: Vec<String>,
    /// Faults of devices.
    pub(super) faults: Vec<(Option<Guid>, String)>,
    pub(super) events: Vec<Event>,
}

/// A plan that was made.
#[derive(Debug, Clone)]
pub struct Planned {
    pub(super) id: u64,
    /// Its tables of ports have the names under which they are in `contents`, from 1 on.
    pub(super) plan: Plan,
    pub(super) contents: Vec<Arc<[u8]>>,
    /// Routes were made anew.
    pub(super) are_routes_new: bool,
    pub(super) told: Told,
}

impl Planned {
    /// The number of its input.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl PlanInput {
    /// Its number: a manager's later plans have higher ones.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Makes the plan, the same each time. Takes up to seconds on a fabric of ten thousands of hosts.
    pub fn make(&self) -> Planned {
        let mut told = Told::default();
        let made = self.routes.make(&self.before);
        made.tell(&self.before, &mut told);
        let fabric = &self.routes.fabric;
        let mut plan = Plan {
            topology: Arc::clone(&fabric.topology),
            lids: self.lids.clone(),
            top: self.top,
            routes: Arc::new(made.routes),
            ..Plan::default()
        };
        let settings = &*self.routes.settings;
        let (qos, maps) = maps(&plan.routes, settings, &self.held);
        let moves_halves = maps.differ_from(&self.held, &plan.topology);
        let highest = settings.lids.highest;
        if let Some(new) = loops::plan(&mut plan, self.loops, highest, &mut told) {
            steps::plan(&mut plan, &self.held, (new, moves_halves), &mut told);
        }
        plan.multicast = self
            .members
            .plan(&plan.routes, settings, made.same_links, &mut told);
        let step = groups::Step {
            links: &self.held.links,
            held: &self.held.multicast,
            to_strangers: &self.held.to_strangers,
        };
        plan.multicast.take_step(&step);
        let contents = port_tables::plan(&mut plan, settings, (qos, &maps), &mut told);
        Planned {
            id: self.id,
            plan,
            contents,
            are_routes_new: made.is_new,
            told,
        }
    }
}

/// Levels and channels for routes, and the maps of channels.
fn maps(routes: &Routes, settings: &Settings, held: &Held) -> (Qos, ChannelMaps) {
    let qos = Qos::new(settings, routes.settings.lanes);
    let lanes = routes.routed.as_ref();
    let lanes = lanes.map_or(Lanes::SINGLE, |routed| routed.lanes());
    let maps = ChannelMaps::new(lanes, &routes.fabric.topology, &qos, held);
    (qos, maps)
}

/// Whether switches that forward data change lanes' halves otherwise than these routes need it.
pub(in super::super) fn moves_halves(routes: &Routes, settings: &Settings, held: &Held) -> bool {
    let (_, maps) = maps(routes, settings, held);
    maps.differ_from(held, &routes.fabric.topology)
}
