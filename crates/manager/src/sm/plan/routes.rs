//! Routes and their inputs.

use std::sync::Arc;

use weft_fabric::{Node, PortNum, Topology};
use weft_routing::{RouteError, Routed};
use weft_state::State;
use weft_wire::sm::PortInfo;

use super::super::barred_links::Barred;
use super::super::drains::{Drains, LEFT_ASIDE, route_around};
use super::super::settings::Settings;
use super::super::unintended::Unintended;
use super::super::unused_links::UnusedLinks;
use super::engine_settings::engine_settings;
use super::input::{Crossings, Fabric, Inactive, Told};

/// Note on routes in several lanes, see [`Routed::covers_answers`].
const ANSWERS_NOT_COVERED: &str =
    "; answers on the service level of the question may close a credit cycle";

/// Inputs of routes.
#[derive(Debug, Clone, State)]
pub(in super::super) struct RouteInput {
    pub(in super::super) settings: Arc<Settings>,
    pub(in super::super) drains: Drains,
    pub(in super::super) fabric: Fabric,
    pub(in super::super) inactive: Inactive,
    /// Ends of links that went down too often, or are in quarantine by hand.
    pub(in super::super) barred: Barred,
    /// Where datelines were last.
    pub(in super::super) crossings: Crossings,
}

/// Routes with their inputs.
#[derive(Debug, Clone, Default, State)]
pub(in super::super) struct Routes {
    pub(in super::super) fabric: Fabric,
    /// What is not as the topology file has it.
    pub(in super::super) unintended: Arc<Unintended>,
    /// Links of the fabric that carry no data.
    pub(in super::super) unused: UnusedLinks,
    /// The topology without them: what routes, their certificate and multicast trees are made for.
    /// Nodes have the same numbers.
    pub(in super::super) routable: Arc<Topology>,
    /// Settings of the engines.
    pub(in super::super) settings: weft_routing::Settings,
    pub(in super::super) drains: Drains,
    /// None when there are none that may be published.
    pub(in super::super) routed: Option<Routed>,
    /// Whether they avoid drained parts.
    pub(in super::super) around: bool,
}

/// Result of making routes.
#[derive(Debug)]
pub(in super::super) struct Made {
    pub(in super::super) routes: Routes,
    /// Why there are none.
    pub(in super::super) error: Option<RouteError>,
    /// Those from before do not stay.
    pub(super) is_new: bool,
    /// Nodes and links are as they were.
    pub(super) same_links: bool,
    /// Most faults against the topology file that are reported, 0 for all.
    messages_max: u32,
}

impl RouteInput {
    /// Makes routes, unless those from before were made for the same.
    pub(in super::super) fn make(&self, before: &Routes) -> Made {
        let topology = &self.fabric.topology;
        let settings = engine_settings(&self.settings, &self.fabric, &self.crossings);
        let unintended = Unintended::find(topology, self.settings.topology.as_ref());
        let unused = UnusedLinks::find(
            topology,
            &self.settings,
            &self.inactive,
            &self.barred,
            &unintended,
            &self.drains,
        );
        let routable = match unused.is_empty() {
            true => Arc::clone(topology),
            false => Arc::new(unused.removed_from(topology)),
        };
        let same_links = before.drains == self.drains && routes_alike(&before.routable, &routable);
        let stay = same_links && before.routed.is_some() && before.settings == settings;
        let mut routes = Routes {
            fabric: self.fabric.clone(),
            unintended: Arc::new(unintended),
            unused,
            routable,
            settings,
            drains: self.drains.clone(),
            routed: None,
            around: before.around,
        };
        let mut error = None;
        if stay {
            routes.routed.clone_from(&before.routed);
        } else {
            error = routes.route(before).err();
            // They stay where they are.
            if let Some(crossings) = routes.crossings() {
                routes.settings.dor.crossings = crossings;
            }
        }
        Made {
            routes,
            error,
            is_new: !stay,
            same_links,
            messages_max: self
                .settings
                .topology
                .as_ref()
                .map_or(0, |it| it.messages_max),
        }
    }
}

impl Routes {
    fn route(&mut self, before: &Self) -> Result<(), RouteError> {
        self.around = false;
        // Routes around a drain are of a fabric that lacks links.
        let from = before.routed.as_ref().filter(|_| !before.around);
        let around = route_around(&self.routable, &self.drains, &self.settings, from)?;
        self.around = around.spares_drained;
        self.routed = Some(around.routed);
        Ok(())
    }

    /// Where datelines are; none where lanes have no halves.
    pub(super) fn crossings(&self) -> Option<Crossings> {
        let lanes = self.routed.as_ref()?.lanes();
        Some(lanes.datelines()?.crossings().collect())
    }

    /// Whether drained parts still carry data.
    pub(in super::super) fn leaves_drains_aside(&self) -> bool {
        !self.around && !self.drains.is_empty()
    }

    /// The engine and its notes.
    fn described(&self) -> Option<String> {
        let routed = self.routed.as_ref()?;
        let mut text = routed.engine().to_string();
        for note in routed.notes() {
            text += &format!("; {note}");
        }
        if !routed.covers_answers() {
            text += ANSWERS_NOT_COVERED;
        }
        if self.leaves_drains_aside() {
            text += &format!("; {LEFT_ASIDE}");
        }
        Some(text)
    }
}

impl Made {
    /// Reports news about routes and unused links.
    pub(super) fn tell(&self, before: &Routes, told: &mut Told) {
        let (unused, topology) = (&self.routes.unused, &self.routes.fabric.topology);
        let unintended = &self.routes.unintended;
        told.events = unintended.changes_since(&before.unintended, self.messages_max);
        told.events
            .extend(unused.changes_since(&before.unused, topology));
        if let Some(error) = &self.error {
            told.routing = Some(error.to_string());
            told.unfinished.push(error.to_string());
        } else if self.is_new {
            told.routing = self.routes.described();
        }
    }
}

/// Whether two topologies get the same routes: the same nodes, links, LIDs and senders.
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
                && a.hears_unlinked_hfi() == b.hears_unlinked_hfi()
                && (!is_end(port) || (a.info.lid, a.info.lmc) == (b.info.lid, b.info.lmc))
                && (a.peer.is_none() || rate(&a.info) == rate(&b.info))
        })
}
