//! A stream of multicast packets while the manager restarts, in the packet model.
#![allow(clippy::unwrap_used)]

use crate::common::{World, settings};
use weft_dataplane::packets::{MICRO, Notice, Options, Parcel, Picos, Simulation, Totals, Traffic};
use weft_fabric::enums::Mtu;
use weft_fabric::{Guid, Lid, PortNum, Sl};
use weft_manager::{Input, MulticastLid, Settings};

/// Interval at which registers are read.
const STRIDE: Picos = 5 * MICRO;
/// Long enough for a sweep of all, then some more.
const STRIDES: u64 = 400;

/// A traffic without reactions: packets are handed over from outside.
struct Silent;

impl Traffic for Silent {
    fn handle(&mut self, _: &mut Simulation, _: Notice) {}
}

fn hosts(world: &World) -> Vec<Guid> {
    world.topology.hfis().map(|(_, node)| node.guid()).collect()
}

fn everybody(world: &World) -> Vec<MulticastLid> {
    vec![MulticastLid {
        mlid: Lid::MULTICAST_BASE,
        mtu: Mtu::B2048,
        rate: 15,
        receivers: hosts(world),
        senders: Vec::new(),
    }]
}

/// Trees end at members: a switch without any drops what comes there, and counts it.
fn pruned() -> Settings {
    let mut settings = settings();
    settings.multicast.pruning = true;
    settings
}

/// A fabric that is up, all of whose hosts are in one group.
fn up() -> World {
    let mut world = World::new("fattree:32,radix=8", pruned());
    let groups = everybody(&world);
    world.manager.handle(world.now, Input::Multicast(groups));
    world.sweep();
    world.run_for(3.0);
    world
}

/// Restarts the manager in the middle of a stream from one host; `told` is its knowledge of members
/// before its first sweep.
fn streamed(told: Option<Vec<MulticastLid>>) -> Totals {
    let mut world = up();
    let sender = hosts(&world)[0];
    let mut simulation = Simulation::new(world.emulator.network(), Options::default());
    let mut told = Some(told);
    for stride in 1..=STRIDES {
        if stride == STRIDES / 4 {
            let bytes = world.persisted.clone();
            world.restart(pruned(), bytes.as_deref());
            if let Some(groups) = told.take().flatten() {
                world.manager.handle(world.now, Input::Multicast(groups));
            }
        }
        let network = world.emulator.network();
        let device = network.device(network.find(sender).unwrap()).unwrap();
        simulation.send(Parcel {
            from: device.port(PortNum(1)).unwrap(),
            dlid: Lid::MULTICAST_BASE,
            sl: Sl(0),
            bytes: 1_024,
            tag: stride,
        });
        simulation.run(&mut Silent, stride * STRIDE);
        world.run_for(STRIDE as f64 / 1e12);
        simulation.configure(world.emulator.network());
    }
    assert!(simulation.drain(&mut Silent, 2 * STRIDES * STRIDE));
    assert_eq!(world.reports().len(), 1, "the restarted manager has swept");
    simulation.totals()
}

#[test]
fn a_restart_loses_no_packet_of_a_multicast_stream() {
    let world = World::new("fattree:32,radix=8", settings());
    for told in [None, Some(everybody(&world))] {
        let totals = streamed(told);
        assert_eq!(totals.sent, STRIDES);
        assert_eq!(totals.delivered, STRIDES * 31, "{totals:?}");
        assert_eq!(totals.lost, 0, "{totals:?}");
    }
}

#[test]
fn a_manager_that_is_told_of_empty_groups_too_early_loses_them() {
    let totals = streamed(Some(Vec::new()));
    assert!(totals.delivered < STRIDES * 31, "{totals:?}");
}
