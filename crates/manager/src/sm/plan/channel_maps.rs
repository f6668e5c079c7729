//! Maps of service channels (SCtoSC) that switches should hold, and whether what they hold differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::datelines::ring_port;
use weft_fabric::{Lanes, Node, NodeId, PortNum, RingPort, SwitchIndex, Topology, UNREACHABLE};
use weft_wire::Layout;

use super::super::tables::{is_identity, mapped_ports};
use super::super::wanted::qos::Qos;
use super::input::Held;

/// The maps of one ingress port to all egress ports from 1 on, as on the wire; none where not known.
pub(in super::super) type Row = Option<Arc<[u8]>>;

/// By switch, the rows of its ingress ports from 1 on.
#[derive(Debug, Default)]
pub(super) struct ChannelMaps(BTreeMap<NodeId, Vec<Arc<[u8]>>>);

impl ChannelMaps {
    /// For lanes with halves those of all switches; else those that leave channels as they are, of switches
    /// that do not.
    pub(super) fn new(lanes: &Lanes, topology: &Topology, qos: &Qos, held: &Held) -> Self {
        let switches = topology.switches().iter().enumerate();
        let changed = switches.filter(|(index, _)| {
            let rows = held.channels.get(*index);
            lanes.datelines().is_some() || rows.is_some_and(|rows| changes_channels(rows))
        });
        let maps = changed.filter_map(|(_, id)| Some((*id, rows(topology.node(*id)?, lanes, qos))));
        Self(maps.collect())
    }

    /// Whether no switch needs any.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The row of an ingress port.
    pub(super) fn row(&self, switch: NodeId, ingress: PortNum) -> Option<&Arc<[u8]>> {
        let rows = self.0.get(&switch)?;
        rows.get(usize::from(ingress.0).checked_sub(1)?)
    }

    /// What switches hold that have taken these over.
    pub(super) fn held(&self, topology: &Topology) -> Vec<Vec<Row>> {
        let rows = |id: &NodeId| {
            let rows = self.0.get(id).into_iter().flatten();
            rows.map(|row| Some(Arc::clone(row))).collect()
        };
        topology.switches().iter().map(rows).collect()
    }

    /// Whether some switch that may forward data changes channels otherwise than it should.
    pub(super) fn differ_from(&self, held: &Held, topology: &Topology) -> bool {
        let mut switches = topology.switches().iter().zip(0..);
        switches.any(|(id, index)| {
            let Some(wanted) = self.0.get(id).filter(|_| forwards(held, index)) else {
                return false;
            };
            let rows = held.channels.get(index as usize);
            let mut wanted = wanted.iter().enumerate();
            wanted.any(|(port, wanted)| {
                let row = rows.and_then(|rows| rows.get(port)?.as_ref());
                row != Some(wanted)
            })
        })
    }
}

/// Whether a switch has an entry for any LID, or may have.
fn forwards(held: &Held, switch: u32) -> bool {
    let tables = [&held.linear].into_iter().chain(&held.possible);
    let mut rows = tables.map(|tables| tables.row(SwitchIndex(switch)));
    rows.any(|row| row.iter().any(|port| *port != UNREACHABLE))
}

/// Whether some known row changes a channel.
fn changes_channels(rows: &[Row]) -> bool {
    let mut known = rows.iter().flatten();
    known.any(|row| !is_identity(row))
}

fn rows(node: &Node, lanes: &Lanes, qos: &Qos) -> Vec<Arc<[u8]>> {
    let rings = lanes.datelines();
    let rings = rings.map_or(&[][..], |datelines| datelines.of(node.guid()));
    let ring = |port: u8| ring_port(rings, PortNum(port));
    let egress: Vec<RingPort> = (1..=mapped_ports(node.info.num_ports)).map(ring).collect();
    let mut known: BTreeMap<u8, Arc<[u8]>> = BTreeMap::new();
    let row = |ingress: RingPort| -> Arc<[u8]> {
        let maps = egress.iter();
        let maps = maps.flat_map(|egress| qos.sc_to_sc(lanes, ingress, *egress).to_bytes());
        maps.collect::<Vec<u8>>().into()
    };
    let ports = (1..=node.info.num_ports).map(ring);
    let each = ports.map(|port| Arc::clone(known.entry(port.ring).or_insert_with(|| row(port))));
    each.collect()
}
