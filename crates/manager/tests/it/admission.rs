//! Devices that are not let into the fabric.

#![allow(clippy::unwrap_used)]

use crate::common::{World, fabric, settings};
use crate::flapping::{End, init_reason};
use crate::sa::client::{Ask, Served};
use weft_dataplane::PortTable;
use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::admission::{Defect, Defects};
use weft_fabric::{Guid, Lid, PortNum, PortRef, Sl};
use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::settings::{AdmissionSettings, Level};
use weft_manager::{Event, RefusedDevice, SaSettings, Settings, UnusedReason};
use weft_wire::enums::{LinkInitReason, PortState};
use weft_wire::header::method;
use weft_wire::sa::{QuarantinedNodeRecord, attribute};

/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
const HOST: &str = "node3 hfi1_0";
const SWITCH: &str = "edge2";
const OTHER: Guid = Guid(0x0011_7501_01EE_0000);

fn guid(world: &World, name: &str) -> Guid {
    let mut nodes = world.topology.nodes().map(|(_, node)| node);
    nodes.find(|node| node.name() == name).unwrap().guid()
}

/// The switch's port before a host.
fn before(world: &World, name: &str) -> End {
    let topology = &world.topology;
    let node = topology.find(guid(world, name)).unwrap();
    let port = PortNum(1);
    let peer = topology.peer(PortRef { node, port }).unwrap();
    (topology.node(peer.node).unwrap().guid(), peer.port)
}

fn claim(world: &mut World, name: &str, claims: Claims) {
    let node = guid(world, name);
    world.control(Control::Claim { node, claims });
}

fn refused(world: &World) -> Vec<RefusedDevice> {
    let refused = world.events.iter().filter_map(|event| match event {
        Event::DeviceRefused(refused) => Some(refused.clone()),
        _ => None,
    });
    refused.collect()
}

fn over(world: &World) -> usize {
    let over = |event: &&Event| matches!(event, Event::RefusalOver { .. });
    world.events.iter().filter(over).count()
}

fn listed(world: &World) -> Vec<End> {
    let list = world.manager.quarantine(world.now).into_iter();
    list.map(|one| (one.port.node, one.port.port)).collect()
}

fn reasons(world: &World) -> Vec<u32> {
    let mut served = Served::of(world.manager.snapshot(), SaSettings::default());
    let ask = Ask::new(method::GET_TABLE, attribute::QUARANTINED_NODE_RECORD);
    let records: Vec<QuarantinedNodeRecord> = served.ask(&ask).records();
    records
        .iter()
        .map(|record| record.quarantine_reasons)
        .collect()
}

/// Claims of a host, with the defects that they are and the reason in a record.
fn lies() -> Vec<(Claims, Vec<Defect>, u32)> {
    let none = Claims::default();
    vec![
        (
            Claims {
                node_guid: Some(OTHER),
                ..none
            },
            vec![Defect::NodeGuid],
            0x1,
        ),
        (
            Claims {
                port_guid: Some(OTHER),
                ..none
            },
            vec![Defect::PortGuid],
            0x1,
        ),
        (
            Claims {
                mtu: Some(3),
                ..none
            },
            vec![Defect::Mtu],
            0x40,
        ),
        (
            Claims {
                packet_formats: Some(1),
                ..none
            },
            vec![Defect::PacketFormats],
            0x80,
        ),
    ]
}

#[test]
fn a_host_that_is_not_as_it_should_be_is_left_out_until_it_is() {
    for (claims, defects, bits) in lies() {
        let defects: Defects = defects.into_iter().collect();
        let mut world = World::new(TREE, settings());
        claim(&mut world, HOST, claims);
        world.sweep();
        world.run_for(5.0);
        let told = refused(&world);
        assert_eq!(told.len(), 1, "{told:?}");
        let (neighbour, end) = (guid(&world, HOST), before(&world, HOST));
        assert_eq!(told[0].neighbour, neighbour);
        assert_eq!((told[0].trusted.node, told[0].trusted.port), end);
        assert_eq!(told[0].found.name, HOST);
        assert_eq!(told[0].defects, defects, "{}", told[0]);

        assert_eq!(world.state(end.0, end.1), PortState::INIT);
        let init = match bits {
            0x1 => LinkInitReason::QUARANTINED,
            _ => LinkInitReason::INSUFFICIENT_CAPABILITY,
        };
        assert_eq!(init_reason(&world, end), init);
        assert!(world.has_way("node1 hfi1_0", "node2 hfi1_0"));
        assert_eq!(world.manager.snapshot().topology.find(neighbour), None);
        let list = world.manager.quarantine(world.now);
        let reason = UnusedReason::Refused { defects };
        assert_eq!((list.len(), list[0].reason), (1, reason));
        assert_eq!(list[0].comment, told[0].to_string());
        let evidence = world.manager.explain(world.now, end).unwrap();
        assert_eq!(evidence.link, LinkUse::LeftOut(reason));
        assert!(evidence.ends[0].bar.is_some());
        assert_eq!(reasons(&world), [bits]);
        let report = world.reports().pop().unwrap();
        assert_eq!(report.unfinished, Vec::<String>::new());

        world.forced_sweep();
        assert_eq!(refused(&world).len(), 1, "it is told once");
        claim(&mut world, HOST, Claims::default());
        world.forced_sweep();
        assert_eq!((listed(&world), over(&world)), (vec![], 1));
        assert_eq!(reasons(&world), Vec::<u32>::new());
        world.run_for(5.0);
        world.assert_all_active();
        world.walk_all();
    }
}

#[test]
fn a_link_that_carries_data_goes_down_when_its_device_is_refused() {
    for (claims, ..) in lies() {
        let mut world = World::new(TREE, settings());
        world.sweep();
        world.run_for(5.0);
        world.assert_all_active();
        claim(&mut world, HOST, claims);
        world.forced_sweep();
        world.run_for(10.0);
        let (node, port) = before(&world, HOST);
        assert_eq!(world.state(node, port), PortState::INIT, "{claims:?}");
        assert_eq!((refused(&world).len(), over(&world)), (1, 0));
        assert_eq!(listed(&world), [(node, port)]);
        claim(&mut world, HOST, Claims::default());
        world.forced_sweep();
        world.run_for(5.0);
        world.assert_all_active();
        world.walk_all();
    }
}

#[test]
fn a_host_that_changes_its_lid_is_taken_off_once_and_gets_its_own_again() {
    let mut world = World::new(TREE, settings());
    world.sweep();
    world.run_for(5.0);
    let (node, end) = (guid(&world, HOST), before(&world, HOST));
    let change = Control::TakeLid {
        node,
        port: PortNum(1),
        lid: Lid(0x77),
    };
    world.control(change.clone());
    world.forced_sweep();
    let told = refused(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].defects, [Defect::Lid].into_iter().collect());
    assert_eq!((told[0].trusted.node, told[0].trusted.port), end);
    world.run_for(10.0);
    assert_eq!((listed(&world), over(&world)), (vec![], 1));
    world.assert_all_active();
    world.walk_all();

    // A manager that has just started sees the same.
    world.restart(settings(), None);
    world.control(change);
    world.sweep();
    assert_eq!(refused(&world).len(), 1);
    world.run_for(10.0);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn what_lies_behind_a_refused_switch_is_left_out_with_it() {
    for claims in [
        Claims {
            mtu: Some(3),
            ..Claims::default()
        },
        Claims {
            table_size: Some(1024),
            ..Claims::default()
        },
    ] {
        let mut world = World::new(TREE, settings());
        claim(&mut world, SWITCH, claims);
        world.sweep();
        world.run_for(5.0);
        let neighbour = guid(&world, SWITCH);
        let told = refused(&world);
        assert_eq!(told.len(), 2, "one by each of its links to cores: {told:?}");
        assert!(told.iter().all(|one| one.neighbour == neighbour));
        let report = world.reports().pop().unwrap();
        assert_eq!((report.switches, report.hfis), (3, 2), "{report:?}");
        assert!(world.has_way("node1 hfi1_0", "node2 hfi1_0"));
        claim(&mut world, SWITCH, Claims::default());
        world.forced_sweep();
        world.run_for(5.0);
        assert_eq!(over(&world), 2);
        world.assert_all_active();
        world.walk_all();
    }
}

#[test]
fn a_sweep_that_looks_elsewhere_keeps_what_is_refused() {
    let mut world = World::new(TREE, settings());
    claim(&mut world, HOST, lies()[0].0);
    world.sweep();
    world.run_for(5.0);
    let list = listed(&world);
    let node = guid(&world, "node2 hfi1_0");
    let port = PortNum(1);
    world.control(Control::LinkDown { node, port });
    world.run_for(10.0);
    world.control(Control::LinkUp { node, port });
    world.run_for(10.0);
    assert_eq!(listed(&world), list);
    assert_eq!((refused(&world).len(), over(&world)), (1, 0));
}

#[test]
fn a_device_that_goes_away_is_not_refused_any_more() {
    let mut world = World::new(TREE, settings());
    claim(&mut world, HOST, lies()[0].0);
    world.sweep();
    let node = guid(&world, HOST);
    world.control(Control::NodeDown { node });
    world.run_for(10.0);
    assert_eq!((listed(&world), over(&world)), (vec![], 1));
}

#[test]
fn the_managers_own_switch_is_not_refused() {
    let mut world = World::new(TREE, settings());
    let mtu = Some(3);
    claim(
        &mut world,
        "edge1",
        Claims {
            mtu,
            ..Claims::default()
        },
    );
    world.sweep();
    let report = world.reports().pop().unwrap();
    assert!(report.switches >= 1, "{report:?}");
    assert!(world.manager.snapshot().topology.len() > 1);
}

/// A fabric that lets a host in although its PortGUID is not the one of its NodeGUID.
fn let_in_with_another_port_guid(settings: Settings) -> World {
    let mut world = World::new(TREE, settings);
    let port_guid = Some(OTHER);
    let claims = Claims {
        port_guid,
        ..Claims::default()
    };
    claim(&mut world, HOST, claims);
    world.sweep();
    world.run_for(5.0);
    assert_eq!(refused(&world), []);
    world.assert_all_active();
    world
}

#[test]
fn nothing_is_compared_where_that_is_off() {
    let off = || Settings {
        admission: AdmissionSettings {
            compares: false,
            ..AdmissionSettings::default()
        },
        ..settings()
    };
    let mut world = let_in_with_another_port_guid(off());
    world.walk_all();
    let (node, port) = before(&world, HOST);
    let network = world.emulator.network();
    let device = network.device(network.find(node).unwrap()).unwrap();
    let info = network.port(device.port(port).unwrap()).info();
    assert_eq!(
        info.lid,
        Lid::PERMISSIVE,
        "packets with any source LID pass"
    );
    let sets = world.forced_sweep().sets;
    assert_eq!(sets, 0, "it is written once");
}

/// Two service levels, which need two data lanes.
fn two_levels(mixes_lanes: bool) -> Settings {
    let level = |sl| Level {
        sl: Sl(sl),
        bandwidth: 50,
        ..Level::default()
    };
    Settings {
        admission: AdmissionSettings {
            mixes_lanes,
            ..AdmissionSettings::default()
        },
        levels: vec![level(0), level(1)],
        ..settings()
    }
}

#[test]
fn a_port_with_too_few_lanes_is_refused_or_used_with_those_that_it_has() {
    let one = Claims {
        lanes: Some(1),
        ..Claims::default()
    };
    let mut world = World::new(TREE, two_levels(false));
    claim(&mut world, HOST, one);
    world.sweep();
    let told = refused(&world);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].defects, [Defect::Lanes].into_iter().collect());
    assert_eq!(reasons(&world), [0x20]);

    let mut world = World::new(TREE, two_levels(true));
    claim(&mut world, HOST, one);
    world.sweep();
    world.run_for(5.0);
    assert_eq!(refused(&world), []);
    world.assert_all_active();
    let lanes = |(node, port): End| {
        let network = world.emulator.network();
        let device = network.device(network.find(node).unwrap()).unwrap();
        let table = network.port(device.port(port).unwrap());
        table.table(PortTable::ScToVlt)[..2].to_vec()
    };
    let (narrow, other) = (before(&world, HOST), before(&world, "node4 hfi1_0"));
    assert_eq!((lanes(narrow), lanes(other)), (vec![0, 0], vec![0, 1]));
    assert_eq!(lanes((guid(&world, HOST), PortNum(1))), [0, 0]);
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn no_more_lanes_are_needed_than_are_handed_out() {
    let mut few = two_levels(false);
    few.traffic.lanes_max = 1;
    let mut world = World::new(TREE, few);
    let lanes = Some(1);
    let claims = Claims {
        lanes,
        ..Claims::default()
    };
    claim(&mut world, HOST, claims);
    world.sweep();
    world.run_for(5.0);
    assert_eq!(refused(&world), []);
    world.assert_all_active();
}

#[test]
fn a_switch_with_unchecked_firmware_is_refused_where_that_is_asked_for() {
    for asked in [false, true] {
        let settings = Settings {
            admission: AdmissionSettings {
                needs_checked_firmware: asked,
                ..AdmissionSettings::default()
            },
            ..settings()
        };
        let mut world = World::new(TREE, settings);
        let node = guid(&world, SWITCH);
        let unchecked = true;
        world.control(Control::UncheckedFirmware { node, unchecked });
        world.sweep();
        world.run_for(5.0);
        let told = refused(&world);
        assert_eq!(told.len(), if asked { 2 } else { 0 }, "{told:?}");
        let firmware = [Defect::Firmware].into_iter().collect();
        assert!(told.iter().all(|one| one.defects == firmware));
        let unchecked = false;
        world.control(Control::UncheckedFirmware { node, unchecked });
        world.forced_sweep();
        world.run_for(5.0);
        world.assert_all_active();
        world.walk_all();
    }
}

#[test]
fn an_appliance_may_claim_what_it_likes_about_its_port() {
    let topology = fabric(TREE);
    let mut hosts = topology.hfis().map(|(_, node)| node);
    let host = hosts.find(|node| node.name() == HOST).unwrap().guid();
    let settings = Settings {
        admission: AdmissionSettings {
            appliances: vec![host],
            ..AdmissionSettings::default()
        },
        ..settings()
    };
    let world = let_in_with_another_port_guid(settings);
    let lid = |(node, port): End| {
        let network = world.emulator.network();
        let device = network.device(network.find(node).unwrap()).unwrap();
        network.port(device.port(port).unwrap()).info().lid
    };
    assert_eq!(lid(before(&world, HOST)), Lid::PERMISSIVE);
    assert_ne!(lid(before(&world, "node4 hfi1_0")), Lid::PERMISSIVE);
}

#[test]
fn every_fabric_of_the_generator_is_let_in() {
    for spec in [
        "one-switch:3",
        "fattree:8,radix=4",
        "torus:3x3,hosts=1",
        "hypercube:3",
    ] {
        let mut world = World::with(fabric(spec), settings(), crate::common::latency(), None);
        world.sweep();
        assert_eq!(refused(&world), [], "{spec}");
    }
}
