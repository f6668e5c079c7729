#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::{Emulator, Options};
use weft_fabric::enums::Mtu;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{FIRST_MLID, Lid};
use weft_manager::{MulticastLid, Settings};
use weft_routing::{AdaptiveSettings, EngineKind};
use weft_testkit::{NoTap, Wait, World, grid};

use super::*;

/// A fabric that is up, with a multicast group of all hosts.
fn up(spec: &str, settings: Settings) -> (Arc<weft_fabric::Topology>, World) {
    let topology = spec.parse::<FabricSpec>().unwrap().generate().unwrap();
    let topology = Arc::new(topology);
    let fabric = Arc::clone(&topology);
    let mut world = World::new(fabric, Options::default(), settings, NoTap).unwrap();
    assert_eq!(world.bring_up(Duration::from_secs(60)).unwrap(), Wait::Done);
    let receivers = topology.hfis().map(|(_, node)| node.guid()).collect();
    world.multicast(vec![MulticastLid {
        mlid: Lid(FIRST_MLID + 9),
        mtu: Mtu::B2048,
        rate: 0,
        receivers,
        senders: Vec::new(),
    }]);
    let until = world.now() + Duration::from_secs(5);
    world.run_until(until).unwrap();
    (topology, world)
}

/// What a port's registers say, without what others tell it of its link.
fn settings_of(network: &Network, at: PortIndex) -> PortInfo {
    let mut info = *network.port(at).info();
    info.capability_mask.is_sm = false;
    info
}

/// Compares the registers of two networks of one topology, of ports that have a link.
fn compare(a: &Network, b: &Network) {
    for (id, device) in a.devices() {
        let up = |(_, at): &(PortNum, PortIndex)| a.state(*at) != PortState::DOWN;
        for (number, at) in device.ports().filter(up) {
            let name = format!("{id:?} {number}");
            assert_eq!(settings_of(a, at), settings_of(b, at), "{name}");
            for table in [
                PortTable::PKeys,
                PortTable::SlToSc,
                PortTable::ScToSl,
                PortTable::ScToVlr,
                PortTable::ScToVlt,
                PortTable::ScToVlnt,
                PortTable::VlArbLow,
                PortTable::VlArbHigh,
                PortTable::VlArbPreempt,
                PortTable::VlArbMatrix,
                PortTable::BufferControl,
            ] {
                let [of_a, of_b] = [a, b].map(|network| network.port(at).table(table).to_vec());
                assert_eq!(of_a, of_b, "{name} {table:?}");
            }
        }
        let (Some(of_a), Some(of_b)) = (a.switch(id), b.switch(id)) else {
            continue;
        };
        compare_switches(of_a, of_b, device.last_port());
    }
}

fn compare_switches(a: &SwitchRegisters, b: &SwitchRegisters, last: PortNum) {
    assert_eq!(a.info(), b.info());
    let top = a.info().linear_fdb_top / BLOCK as u32;
    for block in 0..=top {
        assert_eq!(a.linear_block(block), b.linear_block(block));
        assert_eq!(a.port_group_fdb_block(block), b.port_group_fdb_block(block));
    }
    for position in 0..POSITIONS {
        for block in 0..4 {
            let [of_a, of_b] = [a, b].map(|of| of.multicast_block(position, block));
            assert_eq!(of_a, of_b);
            let [of_a, of_b] = [a, b].map(|of| of.port_group_block(position, block as u8));
            assert_eq!(of_a, of_b);
        }
    }
    for (from, to) in (1..=last.0).flat_map(|from| (1..=last.0).map(move |to| (from, to))) {
        let [of_a, of_b] = [a, b].map(|of| of.channel_map(PortNum(from), PortNum(to), last.0));
        assert_eq!(of_a, of_b, "{from} to {to}");
    }
}

/// Devices that were just switched on, after what the manager knows of the world's is written to them.
fn written(topology: Arc<weft_fabric::Topology>, world: &World) -> Emulator {
    let mut emulator = Emulator::new(topology, Options::default()).unwrap();
    write(emulator.network_mut(), world.manager().device_registers());
    emulator
}

#[test]
fn devices_that_are_written_have_the_registers_of_those_that_the_manager_wrote() {
    let mut settings = Settings::default();
    settings.routing.adaptive = Some(AdaptiveSettings::default());
    settings.lids.lmc = weft_fabric::Lmc(2);
    settings.m_key = 0x77;
    let (topology, world) = up("fattree:64,radix=8,tiers=3", settings);
    let groups = Arc::clone(&world.snapshot().groups);
    assert!(groups.switches.iter().any(|held| !held.groups.is_empty()));
    let tables = Arc::clone(&world.snapshot().multicast);
    assert!(tables.entries() > 9);
    compare(
        world.emulator.network(),
        written(topology, &world).network(),
    );
}

#[test]
fn maps_of_channels_at_datelines_are_among_them() {
    let spec = "torus:4x3,hosts=1";
    let mut settings = Settings::default();
    settings.routing.engine = EngineKind::Dor;
    settings.routing.mesh.dimensions = grid::dimensions(&spec.parse().unwrap());
    let (topology, world) = up(spec, settings);
    let network = world.emulator.network();
    let mut maps = network.devices().filter_map(|(id, _)| network.switch(id));
    assert!(maps.any(|switch| switch.uniform_channel_map().is_none()));
    compare(network, written(topology, &world).network());
}
