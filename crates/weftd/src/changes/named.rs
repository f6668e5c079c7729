//! The ports and nodes that a message names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use weft_api::v1;
use weft_history::PortKey;

/// Fields that have the GUID of a node as a whole.
const NODES: [&str; 4] = ["guid", "switch_guid", "old_guid", "new_guid"];
/// Fields with a port, and those beside them with the name of its node.
const ENDS: [(&str, &str); 4] = [
    ("a", "a_name"),
    ("b", "b_name"),
    ("neighbor", "neighbor_name"),
    ("port", "node_name"),
];

/// A port, or a node as a whole, which is port 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) key: PortKey,
    /// Name of the node; empty where the message has none.
    pub(crate) name: String,
}

impl Named {
    /// `edge1:3`, or `edge1` for the node; its GUID where it has no name.
    pub(super) fn words(&self) -> String {
        let Self { key, name } = self;
        let name = match name.as_str() {
            "" => format!("{:#018x}", key.guid),
            name => name.to_owned(),
        };
        match key.port {
            0 => name,
            port => format!("{name}:{port}"),
        }
    }

    pub(crate) fn message(&self) -> v1::NamedPort {
        v1::NamedPort {
            port: Some(v1::PortId {
                node_guid: self.key.guid,
                port: self.key.port.into(),
            }),
            node_name: self.name.clone(),
        }
    }
}

/// Nodes whose names are remembered.
const NAMES_MAX: usize = 65_536;

/// Names of nodes that events tell of: they may be gone since.
#[derive(Debug, Default)]
pub(super) struct KnownNames(BTreeMap<u64, String>);

impl KnownNames {
    pub(super) fn note(&mut self, named: &[Named]) {
        for Named { key, name } in named {
            if !name.is_empty() && (self.0.len() < NAMES_MAX || self.0.contains_key(&key.guid)) {
                self.0.insert(key.guid, name.clone());
            }
        }
    }

    /// The name of a node; empty where no event has told it.
    pub(super) fn of(&self, guid: u64) -> String {
        self.0.get(&guid).cloned().unwrap_or_default()
    }
}

/// All that a message as JSON names, each once, in the order in which it has them. `name_of` names what the message does not.
pub(crate) fn named(message: &Value, name_of: &dyn Fn(u64) -> String) -> Vec<Named> {
    let mut found = Found::default();
    found.visit(message, "");
    for named in &mut found.all {
        if named.name.is_empty() {
            named.name = name_of(named.key.guid);
        }
    }
    found.all
}

/// A number: those of 64 bits are texts in the JSON of protobuf.
pub(super) fn number(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// A text of a message; empty where it has none.
pub(super) fn text<'a>(message: &'a Value, field: &str) -> &'a str {
    message
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// What a message names, in its order: a request may name many.
#[derive(Default)]
struct Found {
    all: Vec<Named>,
    keys: BTreeSet<PortKey>,
}

impl Found {
    fn visit(&mut self, value: &Value, name: &str) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.visit(value, "")),
            Value::Object(fields) => {
                if let Some(guid) = number(fields.get("node_guid")) {
                    let port = number(fields.get("port")).and_then(|port| port.try_into().ok());
                    let own = match text(value, "node_name") {
                        "" => name,
                        own => own,
                    };
                    self.push(guid, port.unwrap_or(0), own);
                }
                for field in NODES {
                    if let Some(guid) = number(fields.get(field)) {
                        self.push(guid, 0, text(value, "name"));
                    }
                }
                for (field, part) in fields {
                    let end = ENDS.iter().find(|(end, _)| end == field);
                    let name = end.map_or("", |(_, name)| text(value, name));
                    self.visit(part, name);
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, guid: u64, port: u8, name: &str) {
        let key = PortKey { guid, port };
        if guid != 0 && self.keys.insert(key) {
            let name = name.to_owned();
            self.all.push(Named { key, name });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ports_are_found_with_their_names_in_every_shape() {
        let of_link = json!({
            "a": { "node_guid": "17", "port": 3 }, "a_name": "edge1",
            "b": { "node_guid": "18", "port": 1 }, "b_name": "core1", "sweep": "4"
        });
        let of_port = json!({ "port": { "port": { "node_guid": "17", "port": 3 }, "node_name": "edge1" }, "losses": 2 });
        let changed = json!({ "port": { "node_guid": "17", "port": 3 }, "node_name": "edge1" });
        let drain = json!({ "drain": { "switch_guid": "18" } });
        let node = json!({ "guid": "18", "name": "core1" });
        let list = json!({ "ports": [{ "port": { "node_guid": "17", "port": 3 } }, { "port": { "node_guid": "17", "port": 3 } }] });
        for (message, expected) in [
            (of_link, vec!["edge1:3", "core1:1"]),
            (of_port, vec!["edge1:3"]),
            (changed, vec!["edge1:3"]),
            (drain, vec!["node 18"]),
            (node, vec!["core1"]),
            (list, vec!["node 17:3"]),
            (json!({ "node_guid": "x" }), vec![]),
            (json!(7), vec![]),
        ] {
            let found = named(&message, &|guid| format!("node {guid}"));
            let words: Vec<String> = found.iter().map(Named::words).collect();
            assert_eq!(words, expected, "{message}");
        }
    }
}
