//! Sets that arrive a second time, after all that was to be written is written.

#![allow(clippy::unwrap_used)]

use crate::common::{World, far_link, settings};
use weft_emulator::io::{Control, Input as ToFabric};
use weft_manager::Settings;
use weft_manager::sm::settings::{Members, Partition};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::aggregate::segments;
use weft_wire::sm::{AttributeId, PortModifier};
use weft_wire::smp::SmpView;

/// Whether a datagram writes parts of a linear table.
fn writes_routes(packet: &Packet) -> bool {
    writes(packet, |attribute, _| attribute == AttributeId::LINEAR_FDB)
}

/// Whether a datagram writes PortInfo to all external ports of a switch.
fn writes_all_ports(packet: &Packet) -> bool {
    writes(packet, |attribute, modifier| {
        attribute == AttributeId::PORT_INFO && PortModifier::from_bits(modifier).all_ports
    })
}

/// Whether a datagram writes an attribute with a modifier like this.
fn writes(packet: &Packet, is_it: impl Fn(AttributeId, u32) -> bool) -> bool {
    let view = SmpView::parse(&packet.mad).unwrap();
    let modifier = view.header.attribute_modifier;
    let inside = || segments(view.payload, modifier as usize).flatten();
    view.header.method == method::SET
        && match view.attribute() {
            AttributeId::AGGREGATE => inside().any(|part| is_it(part.attribute, part.modifier)),
            attribute => is_it(attribute, modifier),
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
    settled_with(settings())
}

fn settled_with(settings: Settings) -> World {
    let mut world = World::new("fattree:32,radix=8", settings);
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
    let (sweeps, stray) = (world.reports().len(), world.manager.status().totals.stray);
    let repeated = written.len() as u64;
    world.repeat(written);
    assert_eq!(world.manager.status().totals.stray, stray + repeated);
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

/// A write to all ports of each switch arrives again after those to single ports, without an answer. Another
/// answer shows that datagrams arrive twice.
#[test]
fn what_was_written_is_read_again_once_datagrams_come_twice() {
    let mut settings = settings();
    settings.requests.aggregates = false;
    settings.partitions.push(Partition {
        key: 5,
        secured: true,
        full: Members::default(),
        limited: Members::default(),
    });
    let mut world = settled_with(settings);
    let checks = checking_ports(&world);
    assert_eq!(checks, world.topology.hfis().count());
    let sent = world.sent.take().unwrap();
    world.port_is_gone = true;
    let shared = sent.iter().filter(|sent| writes_all_ports(sent));
    world.repeat(shared.cloned().collect());
    world.port_is_gone = false;
    assert!(checking_ports(&world) < checks, "nothing was undone");
    // From another node than the manager's own, of which answers are due.
    let is_read = |sent: &&Packet| {
        let header = SmpView::parse(&sent.mad).unwrap().header;
        header.method == method::GET && header.hop_count > 0
    };
    world.repeat(sent.iter().find(is_read).cloned().into_iter().collect());
    world.forced_sweep();
    assert_eq!(checking_ports(&world), checks);
    assert_eq!(world.forced_sweep().sets, 0);
}

/// Ports of switches that check P_Keys.
fn checking_ports(world: &World) -> usize {
    let network = world.emulator.network();
    let switches = world.topology.switches().iter();
    let ports = switches.flat_map(|switch| network.device_at(*switch).ports());
    ports
        .filter(|(_, at)| network.port(*at).info().partition_enforcement_inbound)
        .count()
}
