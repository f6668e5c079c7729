use std::sync::Arc;

use weft_fabric::intended::{EndSelector, Intended, IntendedBuilder, IntendedNode, Look, Rules};
use weft_fabric::{Lid, Lmc};
use weft_manager::sm::settings::TopologySettings;
use weft_wire::enums::NodeType;
use weft_wire::sm::NodeDescription;

use super::*;

/// An HFI with a LID, and its switch.
fn intended() -> Intended {
    let mut builder = IntendedBuilder::new();
    for (guid, name, node_type) in [(1, "host é", NodeType::HFI), (2, "edge", NodeType::SWITCH)] {
        builder.node(IntendedNode {
            guid: Some(Guid(guid)),
            description: Some(NodeDescription::from_text(name)),
            node_type,
            line: guid,
        });
        if node_type == NodeType::HFI {
            builder.lids(PortNum(1), Lid(8), Lmc(1)).unwrap();
        }
    }
    builder.end_nodes().unwrap();
    let end = |guid, port| EndSelector {
        guid: Some(Guid(guid)),
        port: PortNum(port),
        ..EndSelector::default()
    };
    builder.link([end(1, 1), end(2, 3)], 5).unwrap();
    builder.build().unwrap()
}

#[test]
fn settings_come_back_as_they_were() {
    let settings = Settings {
        topology: Some(TopologySettings {
            intended: Arc::new(intended()),
            rules: Rules {
                node_guid: Look::Enforce,
                ..Rules::default()
            },
            messages_max: 7,
        }),
        ..Settings::default()
    };
    let written = serde_json::to_vec(&Call::Reconfigure(settings.clone())).unwrap();
    let Call::Reconfigure(read) = serde_json::from_slice(&written).unwrap() else {
        panic!("it is another call");
    };
    assert_eq!(read, settings);
}

#[test]
fn a_topology_that_no_file_can_have_is_refused() {
    let written = serde_json::to_string(&intended()).unwrap();
    for (from, to) in [
        ("\"node\":1,", "\"node\":9,"),
        ("[[0,1,8,1]]", "[[7,1,8,1]]"),
        ("\"links\":[", "\"links\":[],\"_\":["),
    ] {
        let changed = written.replacen(from, to, 1);
        assert_ne!(changed, written, "{from}");
        let read = serde_json::from_str::<Intended>(&changed);
        assert!(read.is_err(), "{changed}");
    }
}
