//! The fabric as its devices have confirmed it.

use std::sync::Arc;

use weft_fabric::{LinearTables, MulticastTables, PortGroupTables, Topology, TopologyBuilder};

use super::Manager;
use super::devices::{Device, Lft};

impl Manager {
    /// Nodes, with the links on which both ends agree.
    pub(super) fn confirmed_topology(&self) -> Topology {
        let mut builder = TopologyBuilder::new();
        for node in self
            .devices
            .iter()
            .filter_map(|device| device.observed.node.as_ref())
        {
            // GUIDs are distinct: each node was found by its GUID.
            let _ = builder.add(Arc::clone(node));
        }
        // Both ends of each link agreed, so that nothing is one-sided.
        builder.build().unwrap_or_default()
    }

    /// Whether any switch holds a table; one of which nothing is known counts as having none in use.
    /// Links need not carry data yet: traps are routed by LID over links that are up.
    pub(super) fn holds_tables(&self) -> bool {
        let held = |state: &Device| !matches!(state.observed.lft, Lft::Unknown);
        self.devices
            .iter()
            .any(|state| state.is_switch() && held(state))
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

    /// The adaptive groups as the switches have confirmed them.
    pub(super) fn confirmed_groups(&self) -> PortGroupTables {
        let switches = self.plan.topology.switches();
        let held = switches
            .iter()
            .map(|node| self.devices[*node].observed.groups.clone());
        let held: Vec<_> = held.collect();
        if held.iter().all(Option::is_none) {
            return PortGroupTables::default();
        }
        PortGroupTables {
            switches: held.into_iter().map(Option::unwrap_or_default).collect(),
        }
    }

    /// The tables as the switches have confirmed them.
    pub(super) fn confirmed_multicast(&self) -> MulticastTables {
        let switches = self.plan.topology.switches().iter();
        let rows = switches.map(|node| Arc::from(self.devices[*node].observed.mft.confirmed()));
        MulticastTables::new(rows.collect())
    }
}
