//! Congestion control by the registers: marking, reports, throttling.
#![allow(clippy::unwrap_used)]

use crate::common::registers::control;
use crate::common::{Log, Program, hosts, network, parcel};
use weft_dataplane::packets::{MICRO, MILLI, Notice, Options, Simulation, Traffic};
use weft_dataplane::{Counter, Network, PortIndex, PortTable, VlCounter};
use weft_fabric::{Lid, Vl};

/// The first hosts always send to the last one.
struct Incast {
    hosts: Vec<(PortIndex, Lid)>,
    sl: u8,
    waited: u64,
    delivered: u64,
}

impl Traffic for Incast {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Room(at) => {
                let from = self.hosts.iter().position(|(host, _)| *host == at);
                let to = self.hosts.len() - 1;
                if let Some(from) = from.filter(|from| *from != to) {
                    simulation.send(parcel(&self.hosts, from, to, 0, self.sl, 2_048));
                }
            }
            Notice::Delivered(delivery) => {
                self.waited += simulation.now() - delivery.born;
                self.delivered += 1;
            }
            _ => {}
        }
    }
}

/// Mean latency, microseconds, and packets received, of three hosts that all send to a fourth.
fn incast(network: &mut Network) -> (f64, u64, Simulation) {
    incast_on(network, 0)
}

fn incast_on(network: &mut Network, sl: u8) -> (f64, u64, Simulation) {
    let mut simulation = Simulation::new(network, Options::default());
    let mut traffic = Incast {
        hosts: hosts(network),
        sl,
        waited: 0,
        delivered: 0,
    };
    for from in 0..3 {
        simulation.send(parcel(&traffic.hosts, from, 3, 0, sl, 2_048));
    }
    simulation.run(&mut traffic, MILLI);
    (traffic.waited, traffic.delivered) = (0, 0);
    simulation.run(&mut traffic, 2 * MILLI);
    simulation.settle(network);
    let latency = traffic.waited as f64 / traffic.delivered as f64 / MICRO as f64;
    (latency, traffic.delivered, simulation)
}

fn sum(network: &Network, counter: Counter) -> u64 {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports().map(|(_, at)| at));
    ports.map(|at| network.counter(at, counter)).sum()
}

#[test]
fn senders_that_heed_marks_keep_queues_short_and_the_link_busy() {
    let spec = "one-switch:4,radix=8";
    let mut without = network(spec, Program::default());
    let (long, most, _) = incast(&mut without);
    assert_eq!(sum(&without, Counter::MarkFecn), 0);
    let mut with = network(spec, Program::default());
    control(&mut with, 15, 1);
    let (short, received, simulation) = incast(&mut with);
    let [marked, forward, backward] =
        [Counter::MarkFecn, Counter::RcvFecn, Counter::RcvBecn].map(|one| sum(&with, one));
    assert!(marked > 50, "{marked}");
    // Packets in flight have been marked and not received.
    assert!(
        marked - forward < 200 && forward - backward < 20,
        "{marked} {forward} {backward}"
    );
    assert!(short < 0.7 * long, "{short} of {long}");
    assert!(received as f64 > 0.85 * most as f64, "{received} of {most}");
    let totals = simulation.totals();
    let in_flight = simulation.in_flight() as u64;
    assert_eq!(totals.sent, totals.delivered + totals.lost + in_flight);
}

#[test]
fn only_what_registers_say_is_marked_and_heeded() {
    let spec = "one-switch:4,radix=8";
    // A threshold of 0 never marks; a table of zeros throttles nobody.
    for (threshold, multiplier, marks) in [(0, 1, false), (15, 0, true)] {
        let mut network = network(spec, Program::default());
        control(&mut network, threshold, multiplier);
        let (_, received, _) = incast(&mut network);
        assert_eq!(sum(&network, Counter::RcvBecn) > 0, marks);
        let full = MILLI / (256 * 640);
        assert!(received.abs_diff(full) < 5, "{received} of {full}");
    }
}

/// Three packets of 128 units come at once where 94 units are congestion: the second and the third one
/// wait for those before them. A switch counts in cycles of two flits.
#[test]
fn time_in_congestion_is_counted_while_as_much_waits_as_the_threshold_says() {
    for (threshold, cycles) in [(15, 2 * 1_024 / 2), (14, 1_024 / 2), (12, 0), (0, 0)] {
        let mut network = network("one-switch:4,radix=8", Program::default());
        control(&mut network, threshold, 0);
        let hosts = hosts(&network);
        let mut simulation = Simulation::new(&network, Options::default());
        for from in 0..3 {
            simulation.send(parcel(&hosts, from, 3, 0, 0, 8_192));
        }
        simulation.run(&mut Log::default(), MILLI);
        simulation.settle(&mut network);
        let egress = network.peer(hosts[3].0).unwrap();
        let lane = network.lane_counter(egress, Vl(0), VlCounter::XmitTimeCong);
        let counted = (network.counter(egress, Counter::XmitTimeCong), lane);
        assert_eq!(counted, (cycles, cycles), "threshold {threshold}");
        assert_eq!(sum(&network, Counter::XmitTimeCong), cycles);
    }
}

/// Levels 0 and 3 share their channel; only level 0 heeds marks.
#[test]
fn the_level_that_sent_a_marked_packet_is_told_where_levels_share_a_channel() {
    let full = MILLI / (256 * 640);
    for (sl, heeds) in [(0, true), (3, false)] {
        let mut network = network("one-switch:4,radix=8", Program::default());
        control(&mut network, 15, 1_000);
        for (host, _) in hosts(&network) {
            network.write_table(host, PortTable::SlToSc, 0, &[0; 32]);
        }
        let (_, received, _) = incast_on(&mut network, sl);
        assert!(sum(&network, Counter::RcvBecn) > 0);
        assert_eq!(received + 5 < full, heeds, "{received} of {full}");
    }
}
