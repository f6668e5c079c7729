//! Links that are not as the file of PreDefinedTopology has them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{World, fabric, settings};
use crate::flapping::{End, init_reason, unused};
use crate::sa::client::{Ask, Served};
use weft_fabric::export::write_topology;
use weft_fabric::import::import_topology;
use weft_fabric::intended::{Fault, Faults, Look, Rules};
use weft_fabric::{Guid, PortNum, PortRef, SmRecord, Snapshot, Topology};
use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::settings::TopologySettings;
use weft_manager::{Event, SaSettings, Settings, TopologyFault, UnusedReason};
use weft_wire::enums::{LinkInitReason, PortState, SmState};
use weft_wire::header::method;
use weft_wire::sa::{QuarantinedNodeRecord, attribute};
use weft_wire::sm::NodeDescription;

/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";

/// The topology file of a fabric that is managed from its first host.
pub(crate) fn file(topology: &Topology) -> String {
    let (node, host) = topology.hfis().next().unwrap();
    let port = PortNum(1);
    let sm = SmRecord {
        port: PortRef { node, port },
        port_guid: host.port_guid(port).unwrap(),
        state: SmState::MASTER,
        lid: weft_fabric::Lid(1),
        priority: 0,
        sm_key: 0,
        act_count: 0,
    };
    let snapshot = Snapshot {
        topology: Arc::new(topology.clone()),
        sms: vec![sm],
        ..Snapshot::default()
    };
    let mut text = Vec::new();
    write_topology(&snapshot, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The same file with two nodes in each other's place.
pub(crate) fn swapped(topology: &Topology, a: &str, b: &str) -> String {
    let swap = |text: &str, a: &str, b: &str| text.replace(a, "@").replace(b, a).replace('@', b);
    let text = file(topology);
    let text = swap(&text, &format!(">{a}<"), &format!(">{b}<"));
    let [a, b] = [a, b].map(|name| guid(topology, name).to_string());
    swap(&text, &a, &b)
}

fn guid(topology: &Topology, name: &str) -> Guid {
    let mut nodes = topology.nodes().map(|(_, node)| node);
    nodes.find(|node| node.name() == name).unwrap().guid()
}

pub(crate) fn compared(text: &str, look: Look) -> Settings {
    Settings {
        topology: Some(TopologySettings {
            intended: Arc::new(import_topology(text.as_bytes()).unwrap()),
            rules: Rules::all(look),
            messages_max: 0,
        }),
        ..settings()
    }
}

fn world(text: &str, look: Look) -> World {
    let mut world = World::new(TREE, compared(text, look));
    world.sweep();
    world.run_for(5.0);
    world
}

fn put(world: &mut World, settings: Settings) {
    world.events.clear();
    world.manager.reconfigure(world.now, settings);
    world.run_for(5.0);
    world.forced_sweep();
}

pub(crate) fn faults(world: &World) -> Vec<&TopologyFault> {
    let faults = world.events.iter().filter_map(|event| match event {
        Event::TopologyFault(fault) => Some(fault),
        _ => None,
    });
    faults.collect()
}

fn over(world: &World) -> usize {
    let over = |event: &&Event| matches!(event, Event::TopologyFaultOver { .. });
    world.events.iter().filter(over).count()
}

/// The switch's port before a host.
fn before(world: &World, name: &str) -> End {
    let topology = &world.topology;
    let node = topology.find(guid(topology, name)).unwrap();
    let port = PortNum(1);
    let peer = topology.peer(PortRef { node, port }).unwrap();
    (topology.node(peer.node).unwrap().guid(), peer.port)
}

fn all(faults: &[Fault]) -> Faults {
    let mut all = Faults::default();
    faults.iter().for_each(|fault| all.insert(*fault));
    all
}

const HOST: [Fault; 3] = [Fault::NodeGuid, Fault::NodeDesc, Fault::PortGuid];

#[test]
fn a_fabric_as_the_file_has_it_is_managed_as_without_one() {
    let world = world(&file(&fabric(TREE)), Look::Enforce);
    assert_eq!(faults(&world), Vec::<&TopologyFault>::new());
    assert_eq!(unused(&world), []);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn what_is_warned_of_is_told_once_and_stays_in_use() {
    let text = swapped(&fabric(TREE), "node3 hfi1_0", "node4 hfi1_0");
    let mut world = world(&text, Look::Warn);
    let told = faults(&world);
    assert_eq!(told.len(), 2, "{told:?}");
    for fault in told {
        assert_eq!(
            (fault.faults, fault.enforced),
            (all(&HOST), Faults::default())
        );
        let text = fault.to_string();
        let expected = match fault.found.name.as_str() {
            "node3 hfi1_0" => "node4 hfi1_0",
            _ => "node3 hfi1_0",
        };
        assert!(
            text.contains(&format!("the topology file has {expected}")),
            "{text}"
        );
    }
    assert_eq!(unused(&world), []);
    world.assert_all_active();
    world.walk_all();
    world.events.clear();
    world.forced_sweep();
    assert_eq!(faults(&world).len(), 0, "nothing new");
    put(&mut world, compared(&file(&fabric(TREE)), Look::Warn));
    assert_eq!((faults(&world).len(), over(&world)), (0, 2));
}

#[test]
fn swapped_hosts_are_in_quarantine_until_fabric_and_file_agree() {
    let text = swapped(&fabric(TREE), "node3 hfi1_0", "node4 hfi1_0");
    let mut world = world(&text, Look::Enforce);
    let ends = ["node3 hfi1_0", "node4 hfi1_0"].map(|name| before(&world, name));
    let reason = UnusedReason::Unintended { faults: all(&HOST) };
    assert_eq!(unused(&world), [reason, reason]);
    for (node, port) in ends {
        assert_eq!(world.state(node, port), PortState::INIT);
        assert_eq!(
            init_reason(&world, (node, port)),
            LinkInitReason::QUARANTINED
        );
        let evidence = world.manager.explain(world.now, (node, port)).unwrap();
        assert_eq!(evidence.link, LinkUse::LeftOut(reason));
        assert!(evidence.ends[0].bar.is_some());
    }
    assert!(world.has_way("node1 hfi1_0", "node2 hfi1_0"));
    let list = world.manager.quarantine(world.now);
    let listed: Vec<End> = list
        .iter()
        .map(|one| (one.port.node, one.port.port))
        .collect();
    assert_eq!(listed, ends);
    assert_eq!((list[0].reason, list[0].left), (reason, None));
    assert!(
        list[0]
            .comment
            .contains("the topology file has node4 hfi1_0"),
        "{}",
        list[0].comment
    );
    assert!(
        !world.manager.release(world.now, ends[0]),
        "only the file ends it"
    );

    put(&mut world, compared(&file(&fabric(TREE)), Look::Enforce));
    assert_eq!(world.manager.quarantine(world.now), []);
    assert_eq!(unused(&world), []);
    assert_eq!(over(&world), 2);
    world.assert_all_active();
    world.walk_all();
    // And into it, while they carry data.
    put(&mut world, compared(&text, Look::Enforce));
    assert_eq!(unused(&world), [reason, reason]);
    assert!(!world.has_way("node1 hfi1_0", "node3 hfi1_0"));
}

#[test]
fn subnet_administration_lists_the_nodes_in_quarantine() {
    let text = swapped(&fabric(TREE), "node3 hfi1_0", "node4 hfi1_0");
    let world = world(&text, Look::Enforce);
    let mut served = Served::of(world.manager.snapshot(), SaSettings::default());
    let ask = Ask::new(method::GET_TABLE, attribute::QUARANTINED_NODE_RECORD);
    let records: Vec<QuarantinedNodeRecord> = served.ask(&ask).records();
    let text = |name: &NodeDescription| String::from_utf8_lossy(name.bytes()).into_owned();
    let name = |record: &QuarantinedNodeRecord| text(&record.node_desc);
    let names: Vec<String> = records.iter().map(name).collect();
    assert_eq!(names, ["node3 hfi1_0", "node4 hfi1_0"]);
    let topology = &world.topology;
    for (record, other) in records.iter().zip(["node4 hfi1_0", "node3 hfi1_0"]) {
        assert_eq!(record.quarantine_reasons, 0x2 | 0x4 | 0x8);
        let (node, port) = before(&world, &name(record));
        assert_eq!(
            (record.trusted_node_guid, record.trusted_port_num),
            (node, port)
        );
        assert_eq!(
            record.trusted_neighbor_node_guid,
            record.node_info.node_guid
        );
        assert_eq!(record.expected_node_info.node_guid, guid(topology, other));
        assert_eq!(record.expected_node_info.port_guid, guid(topology, other));
        assert_eq!(text(&record.expected_node_info.node_desc), other);
        assert!(record.trusted_lid.0 > 0);
    }
}

#[test]
fn what_lies_behind_a_replaced_switch_is_left_out_with_it() {
    let topology = fabric(TREE);
    let edge = guid(&topology, "edge2");
    let text = file(&topology).replace(&edge.to_string(), "0x00117501020e00ff");
    let mut world = world(&text, Look::Enforce);
    let reason = UnusedReason::Unintended {
        faults: all(&[Fault::NodeGuid]),
    };
    let found = unused(&world);
    let of = |wanted: UnusedReason| found.iter().filter(|one| **one == wanted).count();
    assert_eq!((of(reason), of(UnusedReason::Behind)), (2, 2), "{found:?}");
    assert_eq!(
        world.manager.snapshot().quarantined.len(),
        1,
        "one node, by two links"
    );
    assert!(world.has_way("node1 hfi1_0", "node2 hfi1_0"));
    let (node, port) = before(&world, "node3 hfi1_0");
    assert_eq!(world.state(node, port), PortState::INIT);
    put(&mut world, settings());
    assert_eq!(unused(&world), []);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn the_manager_does_not_cut_itself_off() {
    let text = swapped(&fabric(TREE), "node1 hfi1_0", "node2 hfi1_0");
    let world = world(&text, Look::Enforce);
    // Its own node, its own link, and its neighbour that has the other place.
    let told = faults(&world);
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!(told[0].trusted, None);
    assert_eq!(told[0].faults, all(&[Fault::NodeGuid, Fault::PortGuid]));
    assert!(
        told[0].to_string().contains("is not among the managers"),
        "{}",
        told[0]
    );
    assert_eq!(unused(&world).len(), 1, "the neighbour's");
    assert!(world.has_way("node1 hfi1_0", "node3 hfi1_0"));
    let (node, port) = before(&world, "node2 hfi1_0");
    assert_eq!(world.state(node, port), PortState::INIT);
}

#[test]
fn only_so_many_faults_of_a_sweep_are_told() {
    let text = swapped(&fabric(TREE), "node3 hfi1_0", "node4 hfi1_0");
    let mut settings = compared(&text, Look::Warn);
    settings.topology.as_mut().unwrap().messages_max = 1;
    let mut world = World::new(TREE, settings);
    world.sweep();
    assert_eq!(faults(&world).len(), 1);
    let untold = |event: &Event| matches!(event, Event::TopologyFaultsUntold { count: 1 });
    assert!(world.events.iter().any(untold));
}
