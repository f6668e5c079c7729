//! Sets that arrive a second time, after all that was to be written is written.

#![allow(clippy::unwrap_used)]

use crate::common::{World, far_link, settings};
use weft_emulator::io::{Control, Input as ToFabric};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::sm::aggregate::segments;
use weft_wire::smp::SmpView;

/// Whether a datagram writes parts of a linear table.
fn writes_routes(packet: &Packet) -> bool {
    let view = SmpView::parse(&packet.mad).unwrap();
    let modifier = view.header.attribute_modifier;
    let is_table = |attribute| attribute == AttributeId::LINEAR_FDB;
    let inside = || segments(view.payload, modifier as usize).flatten();
    view.header.method == method::SET
        && match view.attribute() {
            AttributeId::AGGREGATE => inside().any(|segment| is_table(segment.attribute)),
            attribute => is_table(attribute),
        }
}

impl World {
    /// All that was written into linear tables since recording began.
    fn written_routes(&mut self) -> Vec<Packet> {
        let sent = self.sent.replace(Vec::new()).unwrap();
        sent.into_iter().filter(writes_routes).collect()
    }

    /// Lets datagrams of the manager arrive once more, and what comes of that settle.
    fn repeat(&mut self, packets: Vec<Packet>) {
        let (node, port) = self.own;
        for packet in packets {
            let again = ToFabric::Send { node, port, packet };
            self.emulator.handle(self.now, again).unwrap();
        }
        self.run_for(10.0);
    }
}

fn settled() -> World {
    let mut world = World::new("fattree:32,radix=8", settings());
    world.sent = Some(Vec::new());
    world.sweep();
    world.run_for(3.0);
    world
}

#[test]
fn a_write_that_changes_nothing_the_second_time_starts_no_sweep() {
    let mut world = settled();
    let written = world.written_routes();
    assert!(written.len() >= 12, "{} writes", written.len());
    let (sweeps, stray) = (world.reports().len(), world.manager.status().stray);
    let repeated = written.len() as u64;
    world.repeat(written);
    assert_eq!(world.manager.status().stray, stray + repeated);
    assert_eq!(world.reports().len(), sweeps);
    world.walk_all();
}

#[test]
fn a_write_that_undoes_a_later_one_is_found_and_mended() {
    let mut world = settled();
    let written = world.written_routes();
    let (node, port) = far_link(&world);
    world.control(Control::LinkDown { node, port });
    world.run_for(10.0);
    assert!(!world.written_routes().is_empty(), "routes have moved");
    let sweeps = world.reports().len();
    world.repeat(written);
    assert!(world.reports().len() > sweeps, "{node} port {port}");
    assert!(!world.written_routes().is_empty(), "mended");
    world.assert_tables_published();
    world.walk_all();
}
