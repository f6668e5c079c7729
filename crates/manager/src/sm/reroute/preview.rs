//! Routes that a change would give, without the way there: for those who ask what would be.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{LinearTables, NodeId, PortGroupTables, PortNum, PortRef, Topology};

use super::super::plan::Routes;
use super::{Basis, RerouteError};

/// Routes as a plan would make them.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Nodes, and the links that may carry data; nodes have the numbers that they have in the fabric.
    pub topology: Arc<Topology>,
    /// Tables of switches.
    pub linear: Arc<LinearTables>,
    /// Ports among which switches choose by themselves.
    pub groups: Arc<PortGroupTables>,
    /// The engine.
    pub engine: String,
    /// Fallbacks and limits met.
    pub notes: Vec<String>,
}

impl Basis {
    /// Takes the nodes and links of another moment in place of the present ones. What is known of single links now, that
    /// they went down too often or are not active, does not count then.
    pub fn of_another_moment(&mut self, topology: &Arc<Topology>) {
        let routes = Arc::make_mut(&mut self.present);
        let end = |node: NodeId| {
            let device = topology.node(node)?;
            let mut ends = device.end_ports();
            let with_lid = ends.find(|(_, port)| port.info.lid.is_unicast());
            with_lid.map(|(port, _)| port)
        };
        let ends = topology
            .nodes()
            .map(|(node, _)| end(node).unwrap_or_default());
        *routes = Routes {
            settings: routes.settings.clone(),
            routable: Arc::clone(topology),
            ..Routes::default()
        };
        routes.fabric.topology = Arc::clone(topology);
        routes.fabric.ends = ends.collect::<Vec<PortNum>>().into();
        self.barred.clear();
    }

    /// Whether the present nodes are those of a fabric, with the same numbers.
    pub fn has_nodes_of(&self, topology: &Topology) -> bool {
        let present = self.present.fabric.topology.nodes();
        let guids = present.map(|(_, node)| node.guid());
        guids.eq(topology.nodes().map(|(_, node)| node.guid()))
    }

    /// Leaves the links at these ports out, as if they were lost.
    pub fn lose(&mut self, ends: &BTreeSet<PortRef>) {
        if ends.is_empty() {
            return;
        }
        let routes = Arc::make_mut(&mut self.present);
        let topology = Arc::make_mut(&mut routes.fabric.topology);
        for end in ends {
            topology.disconnect(*end);
        }
    }

    /// Makes the routes; may take seconds on a fabric of ten thousands of hosts.
    ///
    /// # Errors
    /// [`RerouteError`] when there are no such routes.
    pub fn preview(&self) -> Result<Preview, RerouteError> {
        let planned = self.routes(self.switched().0, |end| end)?;
        let routed = planned.routed.as_ref().ok_or(RerouteError::NoRoutes)?;
        if let Some(drained) = self
            .drained
            .as_ref()
            .filter(|_| planned.leaves_drains_aside())
        {
            return Err(RerouteError::CutsOff(drained.clone()));
        }
        Ok(Preview {
            topology: Arc::clone(&planned.routable),
            linear: Arc::clone(routed.linear()),
            groups: Arc::clone(routed.groups()),
            engine: routed.engine().to_string(),
            notes: routed.notes().iter().map(ToString::to_string).collect(),
        })
    }
}
