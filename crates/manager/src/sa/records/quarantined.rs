//! Nodes in quarantine.

use weft_fabric::admission::{Defect, Defects, RefusedNode};
use weft_fabric::intended::{Fault, Faults};
use weft_fabric::{Lid, PortRef, QuarantinedNode, Snapshot, Topology};
use weft_wire::sa::{ExpectedNodeInfo, QuarantinedNodeRecord};
use weft_wire::sm::NodeInfo;

use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::view::View;

type Answered = Result<Found, Refusal>;

/// The records of a snapshot's quarantined nodes.
pub(crate) fn quarantined(view: &View, query: &Query<'_>) -> Answered {
    let mut records = Records::new::<QuarantinedNodeRecord>(query);
    for record in quarantined_nodes(&view.snapshot) {
        records.push(&record);
    }
    records.finish()
}

/// Devices that are not let into the fabric, then nodes that are not as the topology file has them.
pub fn quarantined_nodes(snapshot: &Snapshot) -> Vec<QuarantinedNodeRecord> {
    let topology = &snapshot.topology;
    let refused = snapshot.refused.iter();
    let refused = refused.map(|refused| refused_record(topology, refused));
    let unintended = snapshot.quarantined.iter();
    let unintended = unintended.filter_map(|node| unintended_record(topology, node));
    refused.chain(unintended).collect()
}

fn unintended_record(topology: &Topology, node: &QuarantinedNode) -> Option<QuarantinedNodeRecord> {
    let (trusted, port) = node.trusted;
    let id = topology.find(trusted)?;
    let at = topology.peer(PortRef { node: id, port })?;
    let (before, found) = (topology.node(id)?, topology.node(at.node)?);
    let end = before.port(before.first_port());
    Some(QuarantinedNodeRecord {
        trusted_lid: end.map_or_else(Lid::default, |end| end.info.lid),
        trusted_port_num: port,
        trusted_node_guid: trusted,
        trusted_neighbor_node_guid: node.node,
        node_desc: found.description,
        node_info: NodeInfo {
            local_port_num: at.port,
            ..found.info
        },
        quarantine_reasons: reasons(node.faults),
        expected_node_info: ExpectedNodeInfo {
            node_desc: node.expected_description.unwrap_or_default(),
            node_guid: node.expected_guid.unwrap_or_default(),
            port_guid: node.expected_port_guid.unwrap_or_default(),
        },
    })
}

fn refused_record(topology: &Topology, refused: &RefusedNode) -> QuarantinedNodeRecord {
    let (trusted, port) = refused.trusted;
    let before = topology.find(trusted).and_then(|id| topology.node(id));
    let end = before.and_then(|before| before.port(before.first_port()));
    QuarantinedNodeRecord {
        trusted_lid: end.map_or_else(Lid::default, |end| end.info.lid),
        trusted_port_num: port,
        trusted_node_guid: trusted,
        trusted_neighbor_node_guid: refused.neighbour,
        node_desc: refused.description,
        node_info: refused.info,
        quarantine_reasons: defect_reasons(refused.defects),
        expected_node_info: ExpectedNodeInfo::default(),
    }
}

/// Reasons as a record has them (`STL_QUARANTINE_REASON_*`): all false statements share the first one.
fn defect_reasons(defects: Defects) -> u32 {
    let bits = [
        (Defect::Lanes, 0x20),
        (Defect::Mtu, 0x40),
        (Defect::PacketFormats, 0x80),
        (Defect::TableSize, 0x100),
    ];
    let set = bits
        .into_iter()
        .filter(|(defect, _)| defects.contains(*defect));
    u32::from(defects.is_of_statements()) + set.map(|(_, bit)| bit).sum::<u32>()
}

/// Reasons of a quarantine as a record has them (`STL_QUARANTINE_REASON_TOPO_*`).
fn reasons(faults: Faults) -> u32 {
    let bits = [
        (Fault::NodeGuid, 0x2),
        (Fault::NodeDesc, 0x4),
        (Fault::PortGuid, 0x8),
        (Fault::UndefinedLink, 0x10),
    ];
    let set = bits
        .into_iter()
        .filter(|(fault, _)| faults.contains(*fault));
    set.map(|(_, bit)| bit).sum()
}
