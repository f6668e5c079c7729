//! Tables that are not what their switches have confirmed are found between sweeps, told once, and written again. The registers of the
//! emulated switches decide.

use weft_emulator::Claims;
use weft_emulator::io::Control;
use weft_fabric::Guid;
use weft_manager::Event;
use weft_wire::sm::AttributeId;

use crate::common::{World, far_link};

const FABRIC: &str = "fattree:32,radix=8";
/// The entry of a LID to which no port leads.
const NO_PORT: u8 = 0xFF;
/// Sweeps after which every table has been read again.
const ROUND: usize = 60;

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

#[test]
fn tables_are_read_again_for_at_most_a_hundredth_of_the_requests_of_quiet_sweeps() {
    let mut world = World::settled(FABRIC);
    let reads = |world: &World| {
        let counts = world.manager.status().totals.by_attribute;
        let mut counts = counts.iter();
        let tables = counts.find(|count| count.attribute == AttributeId::LINEAR_FDB);
        tables.map_or(0, |count| count.gets)
    };
    let before = reads(&world);
    for _ in 0..ROUND {
        assert_eq!(world.forced_sweep().sets, 0);
        world.run_for(0.1);
    }
    let read = reads(&world) - before;
    let sent = world.manager.status().totals.sent;
    let switches = world.topology.switches().len() as u64;
    assert!(read > switches, "{read} requests of {sent}");
    assert!(100 * read <= sent, "{read} requests of {sent}");
}
