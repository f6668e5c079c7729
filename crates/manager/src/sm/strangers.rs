//! Multicast rows of strangers: nodes that are not known although links to them are up. They may go on
//! forwarding.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{NodeId, Port, PortMask, PortRef, Topology};
use weft_state::State;
use weft_wire::enums::PortState;

use super::devices::Devices;

/// Multicast rows that led to switches that are not known now. These may hold them as they were, and pass
/// on what their own hosts send: together with new trees it comes to switches twice.
#[derive(Debug, Clone, Default, State)]
pub(super) struct StrangerRows {
    /// By row, the sweep that has found it.
    found: BTreeMap<usize, u64>,
}

/// Whether a port carries data from a switch that is not known.
fn faces_strange_switch(port: &Port) -> bool {
    let info = &port.info;
    port.peer.is_none() && info.port_state >= PortState::ARMED && info.neighbor_node_type == 1
}

impl Devices {
    /// Records the rows that lead to strange switches, now that a sweep knows all links. They are kept
    /// until there are none of these any more, or for as many sweeps as a silent node stays in the fabric.
    pub(super) fn remember_strangers(&mut self, sweep: u64, sweeps_max: u32) {
        let mut are_there = false;
        let mut rows = BTreeSet::new();
        for device in self.iter() {
            let node = device.observed.node.iter().filter(|_| device.is_switch());
            let ports = node.flat_map(|node| node.external_ports());
            let strange = ports.filter(|(_, port)| faces_strange_switch(port));
            let strange: PortMask = strange.map(|(port, _)| port).collect();
            are_there |= !strange.is_empty();
            let held = device.observed.mft.possible().iter().enumerate();
            let leading = held.filter(|(_, row)| !(**row & strange).is_empty());
            rows.extend(leading.map(|(row, _)| row));
        }
        let found = &mut self.stranger_rows.found;
        rows.into_iter().for_each(|row| {
            found.entry(row).or_insert(sweep);
        });
        found.retain(|_, first| are_there && sweep - *first <= u64::from(sweeps_max));
    }

    /// Rows that some switch may send over a link that is up to a node that is not known, and those that
    /// strange switches may hold: what these do with them may lead anywhere.
    pub(super) fn rows_to_strangers(&self, of: &Topology) -> BTreeSet<usize> {
        let switches = of.switches().iter();
        let strangers = |node: NodeId| -> PortMask {
            let device = &self[node];
            let ports = device
                .observed
                .node
                .iter()
                .flat_map(|node| node.external_ports());
            let up = ports.filter(|(_, port)| port.info.port_state >= PortState::INIT);
            let at = up.map(|(port, _)| PortRef { node, port });
            let unknown = at.filter(|at| of.peer(*at).is_none());
            unknown.map(|at| at.port).collect()
        };
        let rows = switches.flat_map(|node| {
            let strangers = strangers(*node);
            let rows = self[*node].observed.mft.possible().iter();
            let rows = rows.enumerate().filter(move |_| !strangers.is_empty());
            rows.filter(move |(_, row)| !(**row & strangers).is_empty())
                .map(|(row, _)| row)
        });
        rows.chain(self.stranger_rows.found.keys().copied())
            .collect()
    }
}
