//! Switches check the P_Keys of what HFIs send and receive.
#![allow(clippy::unwrap_used)]

use crate::common::{World, fabric, latency, settings};
use weft_dataplane::PortTable;
use weft_fabric::{Guid, PortNum, PortRef, Topology};
use weft_manager::Settings;
use weft_manager::sm::settings::{Members, Partition, Selector};

const FABRIC: &str = "fattree:16,radix=8";

/// One secured partition of data: the first HFI is a full member, the second a limited one.
fn secured(topology: &Topology) -> Settings {
    let mut hfis = topology.hfis().map(|(_, node)| node.guid());
    let mut settings = settings();
    settings.partitions.push(Partition {
        key: 5,
        secured: true,
        full: Members::of(hfis.next().map(Selector::NodeGuid)),
        limited: Members::of(hfis.next().map(Selector::NodeGuid)),
    });
    settings
}

/// For each port of a switch with a cable: its peer, whether it checks keys in both
/// directions, and its keys.
fn switch_ports(world: &World) -> Vec<(Option<Guid>, bool, Vec<u16>)> {
    let network = world.emulator.network();
    let topology = &world.topology;
    let mut found = Vec::new();
    for (id, node) in topology.nodes().filter(|(_, node)| node.is_switch()) {
        for (port, _) in node.external_ports() {
            let Some(peer) = topology.peer(PortRef { node: id, port }) else {
                continue;
            };
            let device = network.device(network.find(node.guid()).unwrap()).unwrap();
            let held = network.port(device.port(port).unwrap());
            let info = held.info();
            assert_eq!(
                info.partition_enforcement_inbound,
                info.partition_enforcement_outbound
            );
            let keys = held.table(PortTable::PKeys).chunks_exact(2).take(4);
            let keys = keys.map(|key| u16::from_be_bytes([key[0], key[1]]));
            let peer = topology.node(peer.node).unwrap();
            let hfi = (!peer.is_switch()).then(|| peer.guid());
            found.push((hfi, info.partition_enforcement_inbound, keys.collect()));
        }
    }
    found
}

#[test]
fn a_port_that_faces_an_hfi_lets_through_what_the_hfi_may_use() {
    let topology = fabric(FABRIC);
    let mut world = World::new(FABRIC, secured(&topology));
    world.sweep();
    world.run_for(3.0);
    world.assert_all_active();
    let hfis: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let network = world.emulator.network();
    for (hfi, checks, keys) in switch_ports(&world) {
        assert_eq!(checks, hfi.is_some());
        let Some(hfi) = hfi else { continue };
        let device = network.device(network.find(hfi).unwrap()).unwrap();
        let own = network.port(device.port(PortNum(1)).unwrap());
        let own: Vec<u16> = own
            .table(PortTable::PKeys)
            .chunks_exact(2)
            .take(4)
            .map(|key| u16::from_be_bytes([key[0], key[1]]))
            .collect();
        assert_eq!(keys, own, "{hfi}");
        assert!(keys.contains(&0x7FFF), "{hfi} {keys:x?}");
        let secured: Vec<u16> = keys.into_iter().filter(|key| key & 0x7FFF == 5).collect();
        let expected = match hfis.iter().position(|other| *other == hfi) {
            Some(0) => vec![0x8005],
            Some(1) => vec![0x0005],
            _ => vec![],
        };
        assert_eq!(secured, expected, "{hfi}");
    }
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn nothing_is_checked_where_no_partition_is_secured() {
    let mut settings = secured(&fabric(FABRIC));
    let mut world = World::new(FABRIC, settings.clone());
    world.sweep();
    world.run_for(3.0);
    for partition in &mut settings.partitions {
        partition.secured = false;
    }
    world.manager.reconfigure(world.now, settings);
    world.sweep();
    assert!(switch_ports(&world).iter().all(|(_, checks, _)| !checks));
    assert_eq!(world.faults(), Vec::<String>::new());
}

#[test]
fn a_switch_whose_tables_are_too_small_checks_nothing_and_is_named() {
    let mut topology = fabric(FABRIC);
    let switches = topology.switches().to_vec();
    for id in &switches {
        let node = topology.node_mut(*id).unwrap();
        node.switch.as_mut().unwrap().partition_enforcement_cap = 1;
    }
    let settings = secured(&topology);
    let mut world = World::with(topology, settings, latency(), None);
    world.sweep();
    world.assert_all_active();
    assert!(switch_ports(&world).iter().all(|(_, checks, _)| !checks));
    let named = world.faults();
    assert!(
        named
            .iter()
            .all(|fault| fault.contains("does not check P_Keys"))
            && !named.is_empty(),
        "{named:?}"
    );
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn tables_that_no_port_has_any_more_are_dropped() {
    let mut world = World::new("one-switch:4", settings());
    world.sweep();
    for key in 2..800 {
        let mut other = settings();
        other.partitions.push(Partition {
            key,
            secured: false,
            full: Members::of([Selector::All]),
            limited: Members::default(),
        });
        let now = world.now;
        world.manager.reconfigure(now, other);
        world.sweep();
    }
    let tables = &world.manager.snapshot().port_tables;
    let held = (1..10_000)
        .take_while(|id| tables.content(weft_fabric::TableId(*id)).is_some())
        .count();
    assert!(held < 600, "{held} tables for 5 nodes");
    assert_eq!(world.forced_sweep().sets, 0);
}
