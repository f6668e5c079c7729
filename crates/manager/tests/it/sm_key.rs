//! Who is told the SM_Key.
#![allow(clippy::unwrap_used)]

use crate::common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};
use weft_manager::sm::settings::Fencing;
use weft_manager::{Input, Settings};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, SmInfo};
use weft_wire::smp::{Smp, SmpView};
use weft_wire::{Block, Layout};

const SM_KEY: u64 = 0x2b7e_1516_28ae_d2a6;
const M_KEY: u64 = 0x9cf4_f3c7_d1e0_8b54;

fn with(m_key: u64, fenced: bool) -> Settings {
    let mut settings = settings();
    settings.m_key = m_key;
    settings.election.sm_key = SM_KEY;
    settings.fencing = fenced.then(|| Fencing::new(&[0x5E; 32], false).unwrap());
    settings
}

/// A host that is not the manager's.
fn stranger(world: &World) -> Guid {
    world.topology.hfis().nth(3).unwrap().1.guid()
}

/// The SM_Keys in the datagrams about SMInfo that the manager sends with a method.
fn told(world: &mut World, method: u8) -> Vec<u64> {
    let sent = world.sent.take().unwrap();
    let views = sent
        .iter()
        .map(|packet| SmpView::parse(&packet.mad).unwrap());
    let wanted = views
        .filter(|view| view.attribute() == AttributeId::SM_INFO && view.header.method == method);
    wanted
        .map(|view| SmInfo::load(view.payload).sm_key)
        .collect()
}

/// The keys in what a host gets whose port says that a subnet manager runs there.
fn told_to_stranger(settings: Settings) -> Vec<u64> {
    let mut world = World::new("one-switch:4", settings);
    let (node, port) = (stranger(&world), PortNum(1));
    world.control(Control::IsSm {
        node,
        port,
        is_sm: true,
    });
    world.sent = Some(Vec::new());
    world.sweep();
    told(&mut world, method::GET)
}

#[test]
fn a_port_that_says_it_has_a_manager_is_not_told_the_key() {
    for fenced in [false, true] {
        let told = told_to_stranger(with(M_KEY, fenced));
        assert!(!told.is_empty(), "it is asked");
        assert!(told.iter().all(|key| *key == 0), "{told:x?}");
    }
    // Without an M_Key managers have nothing else to know each other by.
    let told = told_to_stranger(with(0, false));
    assert!(told.contains(&SM_KEY), "{told:x?}");
}

/// M_Key of a host's port, as its driver has it.
fn m_key(world: &World, node: Guid) -> u64 {
    let network = world.emulator.network();
    let device = network.device_at(network.find(node).unwrap());
    network.port(device.port(PortNum(1)).unwrap()).info().m_key
}

/// Asks the manager with an M_Key and an SM_Key; the SM_Key in the answer.
fn asked(world: &mut World, m_key: u64, sm_key: u64) -> u64 {
    let info = SmInfo {
        sm_key,
        ..SmInfo::default()
    };
    let mut mad = Vec::new();
    Smp::get(AttributeId::SM_INFO, 0, 9, m_key).write_lid_routed(&info.to_bytes(), &mut mad);
    let packet = Packet::lid_routed(Lid(3), Lid(1), mad);
    world.sent = Some(Vec::new());
    world.manager.handle(world.now, Input::Received(packet));
    world.run_for(0.001);
    told(world, method::GET_RESP)[0]
}

#[test]
fn with_fencing_the_key_of_an_own_port_is_no_key_to_the_manager() {
    let mut world = World::new("one-switch:4", with(M_KEY, true));
    world.sweep();
    world.run_for(3.0);
    let own = m_key(&world, world.own.0);
    let other = m_key(&world, stranger(&world));
    assert!(own != 0 && other != 0 && own != other);
    for key in [0, 1, M_KEY, other] {
        assert_eq!(asked(&mut world, key, 0), 0, "{key:x}");
    }
    assert_eq!(asked(&mut world, own, 0), SM_KEY);
    assert_eq!(asked(&mut world, 0, SM_KEY), SM_KEY);
}
