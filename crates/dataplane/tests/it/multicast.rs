//! Multicast packets in the event simulation: copies and counters.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::registers::{program_group, write_group};
use crate::common::{Log, Program, hosts, network, parcel};
use weft_dataplane::packets::{MILLI, Notice, Options, Queueing, Simulation};
use weft_dataplane::{Counter, PortIndex};
use weft_fabric::{Lid, NodeId};

/// All ports of all switches of a ring: copies circulate in both directions until they have crossed too many
/// links.
#[test]
fn copies_in_a_circle_end() {
    let mut network = network("torus:4,hosts=1", Program::default());
    let switches = network.topology().switches().to_vec();
    let all = |id: &NodeId| {
        let ports = network.device_at(*id).ports();
        let cabled = ports.filter(|(_, at)| network.peer(*at).is_some());
        cabled.fold(0, |row, (number, _)| row | 1_u64 << number.0)
    };
    let rows = switches.iter().map(|id| (*id, all(id))).collect();
    write_group(&mut network, 9, &rows);
    let hosts = hosts(&network);
    let mut simulation = Simulation::new(&network, Options::default());
    let mut packet = parcel(&hosts, 0, 0, 0, 0, 256);
    packet.dlid = Lid(Lid::MULTICAST_BASE.0 + 9);
    simulation.send(packet);
    assert!(simulation.drain(&mut Log::default(), MILLI));
    let totals = simulation.totals();
    // Each of the two crosses 64 links, the first of them the host's; the first and the last switch send
    // none to their hosts.
    assert_eq!(totals.lost, 2, "{totals:?}");
    assert_eq!(totals.delivered, 2 * 62, "{totals:?}");
}

#[test]
fn every_member_but_the_sender_gets_one_copy() {
    for spec in [
        "one-switch:6,radix=8",
        "pgft:2;3,4;1,2;1,1",
        "mesh:3x2,hosts=2",
    ] {
        for queueing in [Queueing::Oldest, Queueing::RoundRobin, Queueing::Fifo] {
            let mut network = network(spec, Program::default());
            program_group(&mut network, 9);
            let hosts = hosts(&network);
            let options = Options {
                queueing,
                ..Options::default()
            };
            let mut simulation = Simulation::new(&network, options);
            let mut log = Log::default();
            for number in 0..40 {
                let mut packet = parcel(&hosts, 1, 0, number, 0, 4_096);
                packet.dlid = Lid(Lid::MULTICAST_BASE.0 + 9);
                simulation.send(packet);
            }
            assert!(simulation.drain(&mut log, MILLI), "{spec}");
            let mut received: BTreeMap<PortIndex, u64> = BTreeMap::new();
            for (_, notice) in &log.notices {
                if let Notice::Delivered(delivery) = notice {
                    *received.entry(delivery.at).or_default() += 1;
                }
            }
            let members: Vec<PortIndex> = hosts.iter().map(|(at, _)| *at).collect();
            for (number, at) in members.iter().enumerate() {
                let wanted = if number == 1 || number == members.len() - 1 {
                    0
                } else {
                    40
                };
                assert_eq!(
                    received.get(at).copied().unwrap_or(0),
                    wanted,
                    "{spec}: {number}"
                );
            }
            let totals = simulation.totals();
            assert_eq!(totals.lost, 0);
            assert_eq!(totals.sent + totals.copies, totals.delivered);
            simulation.run(&mut log, 2 * MILLI);
            assert!(
                simulation.balances().iter().all(|lane| lane.used == 0),
                "{spec}"
            );
            simulation.settle(&mut network);
            assert_eq!(network.counter(members[1], Counter::MulticastXmitPkts), 40);
            assert_eq!(network.counter(members[0], Counter::MulticastRcvPkts), 40);
        }
    }
}

#[test]
fn a_group_without_ports_is_an_error_of_forwarding() {
    let mut network = network("one-switch:4,radix=8", Program::default());
    let hosts = hosts(&network);
    let mut simulation = Simulation::new(&network, Options::default());
    let mut packet = parcel(&hosts, 0, 1, 0, 0, 100);
    packet.dlid = Lid(Lid::MULTICAST_BASE.0 + 3);
    simulation.send(packet);
    assert!(simulation.drain(&mut Log::default(), MILLI));
    simulation.settle(&mut network);
    let uplink = network.peer(hosts[0].0).unwrap();
    assert_eq!(network.counter(uplink, Counter::RcvSwitchRelayErrors), 1);
    assert_eq!(simulation.totals().lost, 1);
}
