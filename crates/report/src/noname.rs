//! Fabrics without the names of nodes, as `opareport -N` shows them.

use std::sync::Arc;

use weft_fabric::{NodeId, Snapshot};
use weft_wire::sm::NodeDescription;

/// What stands in text in place of each name.
const MARKER: &str = "xxxxxxxxxx";
/// Elements of XML that hold names; they are left out.
const ELEMENTS: [&str; 2] = ["<NodeDesc>", "<ExpectedNodeDesc>"];

/// The fabric in which all nodes have the same name.
pub fn without_names(snapshot: &Snapshot) -> Snapshot {
    let marker = NodeDescription::from_text(MARKER);
    let mut hidden = snapshot.clone();
    let topology = Arc::make_mut(&mut hidden.topology);
    for id in (0..topology.len() as u32).map(NodeId) {
        if let Some(node) = topology.node_mut(id) {
            node.description = marker;
        }
    }
    let administration = Arc::make_mut(&mut hidden.administration);
    for group in administration.device_groups.iter_mut().flatten() {
        for member in &mut group.members {
            member.node_description = marker;
        }
    }
    for node in administration.quarantined.iter_mut().flatten() {
        node.node_desc = marker;
        node.expected_node_info.node_desc = marker;
    }
    hidden
}

/// XML of a report without the elements that hold names.
pub fn xml_without_names(xml: &str) -> String {
    let has_name = |line: &&str| {
        let line = line.trim_start();
        ELEMENTS.iter().any(|element| line.starts_with(element))
    };
    let lines = xml.split_inclusive('\n');
    lines.filter(|line| !has_name(line)).collect()
}
