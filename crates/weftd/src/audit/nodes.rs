//! Names of the nodes that a request tells by their GUIDs.

use std::collections::BTreeMap;

use serde_json::Value;
use weft_fabric::{Guid, Topology};

use crate::changes;

/// Most nodes that are named: their names fit into a line of the record.
const NODES_MAX: usize = 32;

/// The name of each node of the fabric that a request names, by its GUID as `0x…`.
pub(super) fn named(request: &Value, topology: &Topology) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for named in changes::named(request, &|_| String::new()) {
        let guid = Guid(named.key.guid);
        let node = topology.find(guid).and_then(|id| topology.node(id));
        if let Some(node) = node.filter(|_| names.len() < NODES_MAX) {
            names.insert(format!("{:#018x}", guid.0), node.name());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weft_fabric::generate::FabricSpec;

    use super::*;

    #[test]
    fn nodes_that_are_there_are_named_at_any_depth() {
        let spec: FabricSpec = "fattree:128,radix=16,tiers=2".parse().expect("a fabric");
        let topology = spec.generate().expect("a fabric");
        let all: Vec<Guid> = topology.nodes().map(|(_, node)| node.guid()).collect();
        let port = |guid: Guid| json!({ "port": { "node_guid": guid.0.to_string(), "port": 3 } });
        let gone = json!({ "node_guid": "7", "switch_guid": 8, "guid": "edge1" });
        let request = json!({ "ports": [port(all[0]), port(all[1])], "gone": gone });
        let names = named(&request, &topology);
        assert_eq!(names.len(), 2);
        let first = topology.find(all[0]).and_then(|id| topology.node(id));
        let key = format!("{:#018x}", all[0].0);
        assert_eq!(names[&key], first.expect("a node").name());
        let many: Vec<Value> = all.iter().map(|guid| port(*guid)).collect();
        assert_eq!(named(&json!(many), &topology).len(), NODES_MAX);
    }
}
