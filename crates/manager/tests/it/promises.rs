//! Tables that are not what their switches have confirmed are found between sweeps, told once, and written again. The registers of the
//! emulated switches decide.

use weft_dataplane::{Network, PortTable};
use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortMask, PortNum};
use weft_manager::Event;
use weft_wire::sm::AttributeId;

use crate::common::{World, far_link};
use crate::multicast::{group, hosts, tell};

const FABRIC: &str = "fattree:32,radix=8";
/// The entry of a LID to which no port leads.
const NO_PORT: u8 = 0xFF;
/// Sweeps after which every forwarding table has been read again.
const ROUND: usize = 120;
/// What was told of tables that are not as they were confirmed.
fn broken(world: &World) -> Vec<(Guid, String)> {
    let told = world.events.iter().filter_map(|event| match event {
        Event::PromiseBroken { node, what } => Some((*node, what.clone())),
        _ => None,
    });
    told.collect()
}

/// Sweeps until something is told; returns what.
fn found(world: &mut World) -> (Guid, String) {
    for _ in 0..ROUND {
        world.forced_sweep();
        world.run_for(0.1);
        if let Some(one) = broken(world).pop() {
            return one;
        }
    }
    panic!("nothing is found in {ROUND} sweeps");
}

/// Takes an entry out of the table of the last switch, as somebody who is not the manager.
fn take_out(world: &mut World) -> (Guid, usize) {
    let topology = &world.topology;
    let node = *topology.switches().last().unwrap();
    let guid = topology.node(node).unwrap().guid();
    let network = world.emulator.network_mut();
    let node = network.find(guid).unwrap();
    let switch = network.switch_mut(node).unwrap();
    let mut block = switch.linear_block(0).unwrap();
    let lid = block.iter().rposition(|entry| *entry != NO_PORT).unwrap();
    block[lid] = NO_PORT;
    switch.set_linear_block(0, &block).unwrap();
    (guid, lid)
}

#[test]
fn a_table_that_somebody_else_changed_is_found_told_and_written_again() {
    let mut world = World::settled(FABRIC);
    let (guid, lid) = take_out(&mut world);
    let (node, what) = found(&mut world);
    assert_eq!(node, guid);
    let told = format!(" for LID {lid:#x} and holds no port");
    assert!(
        what.starts_with("it had confirmed port ") && what.ends_with(&told),
        "{what}"
    );
    assert_eq!(world.manager.status().totals.promises_broken, 1);
    // The sweep that follows repairs it.
    world.run_for(10.0);
    assert!(world.reports().iter().any(|report| report.sets > 0));
    world.assert_tables_published();
    assert_eq!(world.no_way(), None);
    world.events.clear();
    for _ in 0..ROUND {
        assert_eq!(world.forced_sweep().sets, 0);
        world.run_for(0.1);
    }
    assert_eq!(broken(&world), []);
}

#[test]
fn a_switch_that_says_that_it_wrote_its_table_and_did_not_is_found() {
    let mut world = World::settled(FABRIC);
    let (node, port) = far_link(&world);
    let lies = Claims {
        pretends: Some(AttributeId::LINEAR_FDB),
        ..Claims::default()
    };
    world.control(Control::Claim { node, claims: lies });
    world.control(Control::LinkDown { node, port });
    world.sweep();
    assert_eq!(found(&mut world).0, node);
    let truth = Claims::default();
    world.control(Control::Claim {
        node,
        claims: truth,
    });
    for _ in 0..ROUND {
        world.forced_sweep();
        world.run_for(0.1);
    }
    world.run_for(10.0);
    world.assert_tables_published();
    assert_eq!(world.no_way(), None);
}

fn named(world: &World, name: &str) -> Guid {
    let mut nodes = world.topology.nodes();
    nodes
        .find(|(_, node)| node.name() == name)
        .unwrap()
        .1
        .guid()
}

/// A table was changed by somebody who is not the manager: it is found, told as `words`, once, and `is_back` after the next sweep.
fn is_found_and_repaired(world: &mut World, words: &str, is_back: impl Fn(&World) -> bool) {
    assert!(!is_back(world), "nothing was changed");
    let (_, what) = found(world);
    assert_eq!(what, words);
    world.run_for(10.0);
    assert!(is_back(world), "it is not repaired");
    world.events.clear();
    for _ in 0..ROUND {
        assert_eq!(world.forced_sweep().sets, 0);
        world.run_for(0.1);
    }
    assert_eq!(broken(world), []);
}

#[test]
fn a_multicast_table_that_somebody_else_changed_is_found_and_written_again() {
    let mut world = World::settled(FABRIC);
    let all = hosts(&world);
    tell(&mut world, &[group(9, &all)]);
    world.run_for(5.0);
    let guid = named(&world, "edge1");
    // Row 9 is the second of block 1; bit n of its word is port n.
    let row = move |world: &World| {
        let network = world.emulator.network();
        let switch = network.switch(network.find(guid).unwrap()).unwrap();
        let block = switch.multicast_block(0, 1).unwrap();
        u64::from_be_bytes(block[8..16].try_into().unwrap())
    };
    let before = row(&world);
    assert!(before.count_ones() > 2, "{before:#b}");
    let lost = before.trailing_zeros();
    let network = world.emulator.network_mut();
    let switch = network.find(guid).unwrap();
    let switch = network.switch_mut(switch).unwrap();
    let mut block = switch.multicast_block(0, 1).unwrap();
    block[8..16].copy_from_slice(&(before & !(1 << lost)).to_be_bytes());
    switch.set_multicast_block(0, 1, &block).unwrap();
    let ports = |bits: u64| -> PortMask {
        let set = (0..64).filter(|bit| bits >> bit & 1 == 1);
        set.map(PortNum).collect()
    };
    let words = format!(
        "it had confirmed ports {} for multicast LID 0xf0000009 and holds ports {}",
        ports(before).ranges(),
        ports(before & !(1 << lost)).ranges()
    );
    is_found_and_repaired(&mut world, &words, |world| row(world) == before);
    assert_eq!(world.manager.status().totals.promises_broken, 1);
}

#[test]
fn a_map_of_a_port_that_somebody_else_changed_is_found_and_written_again() {
    for (name, port, table, attribute) in [
        ("edge1", 2, PortTable::ScToVlr, "SCtoVLrMap"),
        ("node3 hfi1_0", 1, PortTable::SlToSc, "SLtoSCMap"),
    ] {
        let mut world = World::settled(FABRIC);
        let guid = named(&world, name);
        let at = move |network: &Network| {
            let device = network.device(network.find(guid).unwrap()).unwrap();
            device.port(PortNum(port)).unwrap()
        };
        let held = move |world: &World| {
            let network = world.emulator.network();
            network.port(at(network)).table(table).to_vec()
        };
        let before = held(&world);
        let network = world.emulator.network_mut();
        let at = at(network);
        let mut other = before.clone();
        other[4] = 5;
        network.write_table(at, table, 0, &other);
        let words = format!(
            "it had confirmed {:#04x} for byte 4 of {attribute} of port {port} and holds 0x05",
            before[4]
        );
        is_found_and_repaired(&mut world, &words, |world| held(world) == before);
    }
}

#[test]
fn tables_are_read_again_for_at_most_a_hundredth_of_the_requests_of_quiet_sweeps() {
    let mut world = World::settled(FABRIC);
    let sent = |world: &World| world.manager.status().totals.sent;
    let before = sent(&world);
    let mut of_sweeps = 0;
    for _ in 0..ROUND {
        let report = world.forced_sweep();
        assert_eq!(report.sets, 0);
        of_sweeps += report.sent;
        world.run_for(0.1);
    }
    // Nothing else is sent between sweeps.
    let read = sent(&world) - before - of_sweeps;
    let switches = world.topology.switches().len() as u64;
    assert!(read > 2 * switches, "{read} requests of {of_sweeps}");
    // What the sweeps before this sent counts too.
    let sent = before + of_sweeps;
    assert!(100 * read <= sent, "{read} requests of {sent}");
}
