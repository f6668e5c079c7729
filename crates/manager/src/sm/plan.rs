//! What the fabric should be: LIDs, routes, and the tables of every port.

use std::sync::Arc;

use weft_fabric::{
    Lid, LinearTables, Lmc, Node, NodeId, PortNum, PortRef, Sl, SwitchIndex, Topology,
    TopologyBuilder,
};
use weft_routing::{Routed, Tables, Transition, certify_transition_over};
use weft_wire::sm::PortInfo;

use super::Manager;
use super::devices::{Device, Lft, TABLE_KINDS};
use super::drains::{Drains, LEFT_ASIDE, route_around};
use super::lids::EndPort;
use super::multicast::MulticastPlan;
use super::settings::Settings;
use super::settings::members::{Candidate, Members};
use super::store;
use super::tables::TableId;
use super::unused_links::UnusedLinks;
use super::wanted::qos::Qos;
use crate::io::Output;
use crate::lanes::LaneLevels;

/// What is said of routes in several lanes, see [`Routed::covers_answers`].
const ANSWERS_NOT_COVERED: &str =
    "; answers on the service level of the question may close a credit cycle";

/// What the fabric should be.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Nodes and links, with the LIDs that end ports should have.
    pub topology: Arc<Topology>,
    /// Those of its links that carry no data.
    pub unused: UnusedLinks,
    /// The topology without them: what routes, their certificate and multicast trees are made for.
    /// Nodes have the same numbers.
    pub routable: Arc<Topology>,
    /// Base LID and LMC of each node's end port.
    pub lids: Vec<(Lid, Lmc)>,
    /// Highest LID in use.
    pub top: Lid,
    /// Routes, none when there are none that may be published.
    pub routed: Option<Routed>,
    /// With what settings they were made.
    pub routing: weft_routing::Settings,
    /// And around what.
    pub drains: Drains,
    /// They leave out what is drained.
    pub around: bool,
    /// The tables to write one after the other; all switches have one before the next is written.
    pub steps: Vec<Arc<LinearTables>>,
    /// Adaptive routing is suspended while tables change.
    pub pause: bool,
    /// Packets under way must leave the switches when that begins and before it ends.
    pub settle: bool,
    /// And between two steps.
    pub settle_drained: bool,
    /// Tables come into use when they are written, not before: some switch forwards already, and what
    /// another one holds beyond its LinearFDBTop may be of any time.
    pub late_tops: bool,
    /// The tables of each port of each node, in the node's order of ports.
    pub tables: Vec<Vec<[TableId; TABLE_KINDS]>>,
    pub qos: Option<Qos>,
    pub multicast: MulticastPlan,
}

impl Plan {
    /// LID of the manager's own port.
    pub(super) fn sm_lid(&self) -> Lid {
        self.lids.first().map_or(Lid(0), |(lid, _)| *lid)
    }

    /// Service level of what goes to the manager's own port.
    pub(super) fn sm_sl(&self, settings: &Settings) -> Sl {
        let lane = self.routed.as_ref();
        let lane = lane.map_or(0, |routed| routed.lanes().of(self.sm_lid()));
        LaneLevels::of(&settings.levels).in_lane(Sl(0), lane)
    }

    /// The table of a switch in a step.
    pub(super) fn row(&self, step: usize, node: u32) -> Option<&Arc<[u8]>> {
        let switch = self.topology.switch_index(NodeId(node))?;
        self.steps.get(step)?.row_shared(switch)
    }
}

impl Manager {
    /// Makes the plan for what was found.
    pub(super) fn make_plan(&mut self) {
        self.give_lids();
        self.find_unregistered();
        let topology = self.planned_topology();
        let same_links = self.plan_routes(topology);
        self.plan_steps();
        self.plan_multicast(same_links);
        self.plan_tables();
    }

    fn give_lids(&mut self) {
        let settings = self.settings.lids;
        let ports: Vec<EndPort> = self
            .devices
            .iter()
            .enumerate()
            .map(|(index, state)| {
                let port = state.end_port();
                let enhanced = state.observed.switch();
                let lmc = match enhanced {
                    None => settings.lmc,
                    Some(switch) if switch.enhanced_port0 => settings.lmc_e0.min(settings.lmc),
                    Some(_) => Lmc(0),
                };
                EndPort {
                    owner: (state.identity.guid, port),
                    lmc,
                    reported: state.observed.port(port).map_or(Lid(0), |info| info.lid),
                    prescribed: settings.own.filter(|_| index == 0),
                }
            })
            .collect();
        let given = self.lids.assign(&ports, settings.highest);
        let without = given.iter().filter(|lid| lid.0 == 0).count();
        if without > 0 {
            self.sweep
                .unfinished(format!("no LID is left for {without} ports"));
        }
        let ends = given
            .iter()
            .zip(&ports)
            .map(|(lid, port)| Lid(lid.0 + port.lmc.lids() - 1));
        self.plan.top = ends.max().unwrap_or_default();
        self.plan.lids = given
            .into_iter()
            .zip(ports.iter().map(|port| port.lmc))
            .collect();
        self.persist();
    }

    /// Has what outlasts a restart written, if that has changed.
    pub(super) fn persist(&mut self) {
        let disabled = &self.commands.disabled;
        let kept = (&self.lids, &self.drains, disabled);
        let bytes = store::encode(kept, self.settings.subnet_prefix);
        if bytes != self.persisted {
            self.persisted.clone_from(&bytes);
            self.outputs.push_back(Output::Persist(bytes));
        }
    }

    /// What was found, with the LIDs that are to be.
    fn planned_topology(&mut self) -> Topology {
        let mut builder = TopologyBuilder::new();
        for (state, (lid, lmc)) in self.devices.iter().zip(&self.plan.lids) {
            let Some(node) = state.observed.node.as_ref() else {
                continue;
            };
            let mut node = Arc::clone(node);
            let port = state.end_port();
            let held = node.port(port).map(|port| (port.info.lid, port.info.lmc));
            if held != Some((*lid, *lmc))
                && let Some(port) = Arc::make_mut(&mut node).port_mut(port)
            {
                (port.info.lid, port.info.lmc) = (*lid, *lmc);
            }
            // GUIDs are distinct: each node was found by its GUID.
            let _ = builder.add(node);
        }
        // Both ends of each link agreed, so that nothing is one-sided.
        builder.build().unwrap_or_default()
    }

    /// Routes, unless nothing has changed that routes depend on; says whether nodes and links are
    /// as they were.
    fn plan_routes(&mut self, topology: Topology) -> bool {
        let settings = self.routing_settings(&topology);
        self.find_unused_links(&topology);
        let topology = Arc::new(topology);
        let routable = match self.plan.unused.is_empty() {
            true => Arc::clone(&topology),
            false => Arc::new(self.plan.unused.removed_from(&topology)),
        };
        let alike = routes_alike(&self.plan.routable, &routable);
        let alike = alike && self.plan.drains == self.drains;
        let same = alike && self.plan.routed.is_some() && self.plan.routing == settings;
        (self.plan.topology, self.plan.routable) = (topology, routable);
        if same {
            return true;
        }
        self.epoch += 1;
        self.plan.drains.clone_from(&self.drains);
        // Routes around a drain are of a fabric that lacks links.
        let around = std::mem::take(&mut self.plan.around);
        let before = self.plan.routed.take().filter(|_| !around);
        match route_around(
            &self.plan.routable,
            &self.drains,
            &settings,
            before.as_ref(),
        ) {
            Ok(around) => {
                let routed = around.routed;
                let notes = routed.notes().iter().map(|note| format!("; {note}"));
                self.sweep.report.routing =
                    format!("{}{}", routed.engine(), notes.collect::<String>());
                if !routed.covers_answers() {
                    self.sweep.report.routing += ANSWERS_NOT_COVERED;
                }
                if !around.spares_drained && !self.drains.is_empty() {
                    self.sweep.report.routing += &format!("; {LEFT_ASIDE}");
                }
                self.plan.around = around.spares_drained;
                self.plan.routed = Some(routed);
            }
            Err(error) => {
                self.sweep.report.routing = error.to_string();
                self.sweep.unfinished(error.to_string());
            }
        }
        self.plan.routing = settings;
        alike
    }

    /// The end ports that a set names.
    pub(super) fn members<'a>(
        &'a self,
        topology: &'a Topology,
        members: &'a Members,
    ) -> impl Iterator<Item = (NodeId, PortNum)> + 'a {
        let none = members.is_empty();
        let nodes = topology.nodes().filter(move |_| !none);
        nodes.filter_map(move |(id, node)| {
            let port = self.devices[id].end_port();
            let candidate = candidate(topology, id, node, port);
            members.contains(&candidate).then_some((id, port))
        })
    }

    /// The tables to write, in the order in which that is safe.
    fn plan_steps(&mut self) {
        self.plan.steps.clear();
        (self.plan.pause, self.plan.settle) = (false, false);
        self.plan.settle_drained = false;
        self.plan.late_tops = self.holds_tables();
        let Some(routed) = &self.plan.routed else {
            return;
        };
        let new = Arc::clone(routed.linear());
        let groups = Arc::clone(routed.groups());
        if self.holds_tables() && self.differs(&new) {
            let lanes = Arc::clone(self.snapshot.linear.lanes());
            let old = self.confirmed_tables().with_lanes(lanes);
            let held = Tables {
                linear: &old,
                groups: &self.confirmed_groups(),
            };
            let wanted = Tables {
                linear: &new,
                groups: &groups,
            };
            // Old entries lead over links that the new routes are made without, too.
            let all = !self.plan.around && self.plan.unused.is_empty();
            let way = match all {
                true => Ok(routed.transition(held)),
                false => {
                    let (links, routable) = (&self.plan.topology, &self.plan.routable);
                    certify_transition_over(links, routable, held, wanted)
                }
            };
            match way {
                Ok(Transition { plan, middle, .. }) => {
                    self.plan.pause = plan.pause_adaptive;
                    self.plan.settle = plan.settle_adaptive;
                    self.plan.settle_drained = plan.settle_drained;
                    self.plan.steps.extend(middle.map(Arc::new));
                }
                Err(refusal) => {
                    self.sweep.report.routing = refusal.to_string();
                    self.sweep.unfinished(refusal.to_string());
                    return;
                }
            }
        }
        self.plan.steps.push(new);
    }

    /// Whether any switch holds a table; one of which nothing is known counts as having none in use.
    /// Links need not carry data yet: traps are routed by LID over links that are up.
    pub(super) fn holds_tables(&self) -> bool {
        let held = |state: &Device| !matches!(state.observed.lft, Lft::Unknown);
        self.devices
            .iter()
            .any(|state| state.is_switch() && held(state))
    }

    fn differs(&self, new: &LinearTables) -> bool {
        let switches = self.plan.topology.switches().iter().enumerate();
        switches.clone().any(|(index, node)| {
            let held = &self.devices[*node].observed.lft;
            match (held, new.row_shared(SwitchIndex(index as u32))) {
                (Lft::Whole(row), Some(wanted)) => !Arc::ptr_eq(row, wanted) && row != wanted,
                _ => true,
            }
        })
    }

    /// The tables as the switches have confirmed them.
    pub(super) fn confirmed_tables(&self) -> LinearTables {
        let switches = self.plan.topology.switches().iter();
        LinearTables::new(
            switches
                .map(|node| self.devices[*node].observed.lft.row())
                .collect(),
        )
    }
}

/// A port with what decides on its membership in sets.
pub(super) fn candidate<'a>(
    topology: &Topology,
    id: NodeId,
    node: &'a Node,
    port: PortNum,
) -> Candidate<'a> {
    let peer = topology.peer(PortRef { node: id, port });
    let faces_hfi = peer
        .and_then(|peer| topology.node(peer.node))
        .is_some_and(|peer| !peer.is_switch());
    Candidate {
        node,
        port,
        is_this: id == NodeId(0),
        faces_hfi,
    }
}

/// Whether two topologies get the same routes: the same nodes, links and LIDs.
fn routes_alike(a: &Topology, b: &Topology) -> bool {
    a.len() == b.len()
        && a.nodes().zip(b.nodes()).all(|((id, a_node), (_, b_node))| {
            let shared = a.node_shared(id).zip(b.node_shared(id));
            shared.is_some_and(|(a, b)| Arc::ptr_eq(a, b)) || nodes_alike(a_node, b_node)
        })
}

fn nodes_alike(a: &Node, b: &Node) -> bool {
    let switches = match (&a.switch, &b.switch) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            (
                a.linear_fdb_cap,
                a.port_group_fdb_cap,
                a.port_group_cap,
                a.multicast_fdb_cap,
                a.is_adaptive_routing_supported,
            ) == (
                b.linear_fdb_cap,
                b.port_group_fdb_cap,
                b.port_group_cap,
                b.multicast_fdb_cap,
                b.is_adaptive_routing_supported,
            )
        }
        _ => false,
    };
    let ids = |node: &Node| {
        (
            node.info.node_guid,
            node.info.system_image_guid,
            node.description,
        )
    };
    // External ports of a switch hold the LIDs of their neighbours.
    let is_end = |port: PortNum| port == PortNum(0) || a.switch.is_none();
    switches
        && ids(a) == ids(b)
        && a.ports().len() == b.ports().len()
        && a.ports().zip(b.ports()).all(|((port, a), (_, b))| {
            let rate = |info: &PortInfo| {
                (
                    info.link_width_active,
                    info.link_speed_active,
                    info.link_width_downgrade_tx_active,
                    info.mtu_cap,
                )
            };
            a.peer == b.peer
                && (!is_end(port) || (a.info.lid, a.info.lmc) == (b.info.lid, b.info.lmc))
                && (a.peer.is_none() || rate(&a.info) == rate(&b.info))
        })
}
