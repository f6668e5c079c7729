//! The fabric as its devices have confirmed it.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{
    Guid, LinearTables, MulticastTables, NodeId, NodeTables, PortGroupTables, PortNum, PortTables,
    Topology, TopologyBuilder,
};

use super::devices::{Device, Devices, Lft, Observed, TABLE_KINDS};
use super::plan::{Crossings, Row};
use super::tables::{Kind, MAP, TableId};

impl Devices {
    /// Nodes, with the links on which both ends agree.
    pub(super) fn topology(&self) -> Topology {
        let mut builder = TopologyBuilder::new();
        for node in self
            .iter()
            .filter_map(|device| device.observed.node.as_ref())
        {
            // GUIDs are distinct: each node was found by its GUID.
            let _ = builder.add(Arc::clone(node));
        }
        // Both ends of each link agreed, so that nothing is one-sided.
        builder.build().unwrap_or_default()
    }

    /// Whether any switch holds a table, or may; one of which nothing is known counts as having none in use.
    /// Links need not carry data yet: traps are routed by LID over links that are up.
    pub(super) fn holds_tables(&self) -> bool {
        let held = |observed: &Observed| {
            !matches!(observed.lft, Lft::Unknown) || observed.sent_row.is_some()
        };
        self.iter()
            .any(|state| state.is_switch() && held(&state.observed))
    }

    /// A switch whose table is in use and may be any, as it could not be read.
    pub(super) fn unread(&self, of: &Topology) -> Option<Guid> {
        let is_unread = |device: &&Device| {
            let observed = &device.observed;
            let in_use = observed
                .switch()
                .is_some_and(|switch| switch.linear_fdb_top > 0);
            let is_unknown = matches!(observed.lft, Lft::Unknown) && observed.sent_row.is_none();
            in_use && (is_unknown || device.health.foreign)
        };
        let switches = of.switches().iter().map(|node| &self[*node]);
        let mut unread = switches.filter(is_unread);
        unread.next().map(|device| device.identity.guid)
    }

    /// Whether adaptive routing is suspended on all switches. If one does not suspend it, tables stay
    /// unchanged until the next sweep.
    pub(super) fn are_suspended(&self) -> bool {
        self.iter().all(|device| {
            let switch = device.observed.switch();
            switch.is_none_or(|switch| !switch.ar_enable || switch.ar_pause)
        })
    }

    /// Whether some switch routes adaptively by groups that are not known: those of an earlier manager, or
    /// of both the old and the new ones.
    pub(super) fn routes_by_unknown_groups(&self) -> bool {
        self.iter().any(|device| {
            let switch = device.observed.switch();
            let routes = switch.is_some_and(|switch| switch.ar_enable && !switch.ar_pause);
            routes && device.observed.groups.is_none()
        })
    }

    /// Whether adaptive routing is suspended on some switch.
    pub(super) fn is_any_suspended(&self) -> bool {
        self.iter().any(|device| {
            let switch = device.observed.switch();
            switch.is_some_and(|switch| switch.ar_enable && switch.ar_pause)
        })
    }

    /// The tables as the switches have confirmed them.
    pub(super) fn linear_tables(&self, of: &Topology) -> LinearTables {
        let switches = of.switches().iter();
        LinearTables::new(
            switches
                .map(|node| self[*node].observed.lft.row())
                .collect(),
        )
    }

    /// The tables with what was sent last in place of what is confirmed; none where all that was sent is
    /// confirmed.
    pub(super) fn possible_tables(&self, of: &Topology) -> Option<LinearTables> {
        let switches = of.switches().iter();
        let observed = switches.map(|node| &self[*node].observed);
        let is_certain = observed.clone().all(|switch| switch.sent_row.is_none());
        let row = |switch: &Observed| match &switch.sent_row {
            Some(row) => Arc::clone(row),
            None => switch.lft.row(),
        };
        (!is_certain).then(|| LinearTables::new(observed.map(row).collect()))
    }

    /// Nodes whose end ports hold other LIDs than those in `of`, or none.
    pub(super) fn moving_ends(&self, of: &Topology) -> BTreeSet<NodeId> {
        let moves = |node: &NodeId| {
            let device = self.get(node.0)?;
            let port = device.end_port();
            let planned = &of.node(*node)?.port(port)?.info;
            let held = device.observed.port(port)?;
            Some((held.lid, held.lmc) != (planned.lid, planned.lmc))
        };
        let nodes = of.nodes().map(|(node, _)| node);
        nodes.filter(|node| moves(node) == Some(true)).collect()
    }

    /// By switch, the maps of service channels of its ingress ports from 1 on, as far as known.
    pub(super) fn channel_maps(&self, of: &Topology) -> Vec<Vec<Row>> {
        let rows = |node: &NodeId| {
            let observed = &self[*node].observed;
            let ports = (1..=observed.num_ports()).map(PortNum);
            let ids = ports.map(|port| observed.table(port, Kind::ScToSc));
            ids.map(|id| self.tables.shared(id)).collect()
        };
        of.switches().iter().map(rows).collect()
    }

    /// Ports on whose links datelines are by the maps of service channels: there a packet in the first
    /// channel goes on in another one, whatever port it came in by.
    pub(super) fn crossings(&self) -> Crossings {
        let switches = self.iter().filter(|device| device.is_switch());
        let crossings = switches.flat_map(|device| {
            let ports = (1..=device.observed.num_ports()).map(PortNum);
            let rows = ports.map(|port| device.observed.table(port, Kind::ScToSc));
            let first = rows
                .map(|row| self.tables.content(row))
                .find(|row| !row.is_empty());
            let maps = first.unwrap_or_default().chunks(MAP).zip(1_u8..);
            let crossing = maps.filter(|(map, _)| map.first().is_some_and(|sc| *sc != 0));
            crossing.map(|(_, port)| (device.identity.guid, PortNum(port)))
        });
        crossings.collect()
    }

    /// The adaptive groups as the switches have confirmed them.
    pub(super) fn port_groups(&self, of: &Topology) -> PortGroupTables {
        let switches = of.switches();
        let held = switches
            .iter()
            .map(|node| self[*node].observed.groups.clone());
        let held: Vec<_> = held.collect();
        if held.iter().all(Option::is_none) {
            return PortGroupTables::default();
        }
        PortGroupTables {
            switches: held.into_iter().map(Option::unwrap_or_default).collect(),
        }
    }

    /// The tables as the switches have confirmed them.
    pub(super) fn multicast_tables(&self, of: &Topology) -> MulticastTables {
        let switches = of.switches().iter();
        let rows = switches.map(|node| Arc::from(self[*node].observed.mft.confirmed()));
        MulticastTables::new(rows.collect())
    }

    /// Multicast tables that switches may hold, as far as known.
    pub(super) fn possible_multicast(&self, of: &Topology) -> MulticastTables {
        let switches = of.switches().iter();
        let rows = switches.map(|node| Arc::from(self[*node].observed.mft.possible()));
        MulticastTables::new(rows.collect())
    }

    /// The tables of all ports; the same as published before where nothing changed, node by node.
    pub(super) fn all_port_tables(&self, before: &Arc<PortTables>) -> Arc<PortTables> {
        let known = self.iter().filter(|device| device.observed.node.is_some());
        let nodes = known.zip(0..).map(|(device, index)| {
            let held = before.node(NodeId(index));
            held.filter(|held| holds_same_tables(device, held))
                .map_or_else(|| Arc::new(node_tables(device)), Arc::clone)
        });
        let tables = PortTables::new(self.tables.contents().to_vec(), nodes.collect());
        match tables.is_same(before) {
            true => Arc::clone(before),
            false => Arc::new(tables),
        }
    }

    /// Drops contents of tables that no port has, is to have by the plan, or is published with.
    pub(super) fn drop_unused_tables(
        &mut self,
        planned: &[Vec<[TableId; TABLE_KINDS]>],
        published: &PortTables,
    ) {
        if !self.tables.is_crowded() {
            return;
        }
        let mut used = BTreeSet::new();
        for device in self.iter() {
            let ports = device.observed.port_tables.iter();
            used.extend(ports.flat_map(|tables| tables.ids));
        }
        used.extend(planned.iter().flatten().flatten());
        let nodes = (0..published.len() as u32).map(NodeId);
        for node in nodes.filter_map(|node| published.node(node)) {
            used.extend(node.ports.iter().flatten());
        }
        self.tables.keep(&used);
    }
}

fn first_port(device: &Device) -> PortNum {
    PortNum(u8::from(!device.is_switch()))
}

fn node_tables(device: &Device) -> NodeTables {
    NodeTables {
        first: first_port(device),
        ports: device
            .observed
            .port_tables
            .iter()
            .map(|tables| tables.ids)
            .collect(),
    }
}

fn holds_same_tables(device: &Device, held: &NodeTables) -> bool {
    let ids = device.observed.port_tables.iter().map(|tables| &tables.ids);
    held.first == first_port(device) && held.ports.iter().eq(ids)
}
