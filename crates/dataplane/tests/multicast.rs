//! Multicast packets in the event simulation: who gets copies, what is counted.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Log, Program, hosts, network, parcel};
use weft_dataplane::packets::{MILLI, Notice, Options, Queueing, Simulation};
use weft_dataplane::{Counter, Network, PortIndex};
use weft_fabric::{Lid, NodeId};
use weft_wire::sm::MulticastFdb;

/// Writes the row of a group on each switch: the ports of a spanning tree of switches and of all
/// hosts but the last.
fn program_group(network: &mut Network, group: u32) {
    let members = hosts(network);
    let members = &members[..members.len() - 1];
    let topology = network.topology().clone();
    let mut rows: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut add = |network: &Network, at: PortIndex| {
        let row = rows.entry(network.node_of(at)).or_default();
        *row |= 1 << network.number_of(at).0;
    };
    for (host, _) in members {
        add(network, network.peer(*host).unwrap());
    }
    // The first switch reached joins: breadth first from the first one.
    let mut reached = vec![topology.switches()[0]];
    let mut place = 0;
    while place < reached.len() {
        let node = topology.node(reached[place]).unwrap();
        for (number, port) in node.external_ports() {
            let Some(peer) = port.peer else { continue };
            if topology.switch_index(peer.node).is_some() && !reached.contains(&peer.node) {
                reached.push(peer.node);
                let at = network.device_at(reached[place]).port(number).unwrap();
                add(network, at);
                add(network, network.peer(at).unwrap());
            }
        }
        place += 1;
    }
    prune(network, &mut rows);
    for (id, row) in rows {
        let registers = network.switch_mut(id).unwrap();
        let block = group / MulticastFdb::LIDS;
        let mut content = registers.multicast_block(0, block).unwrap();
        let start = (group % MulticastFdb::LIDS) as usize * 8;
        content[start..start + 8].copy_from_slice(&row.to_be_bytes());
        registers.set_multicast_block(0, block, &content).unwrap();
        let mut info = *registers.info();
        info.multicast_fdb_top = Lid::MULTICAST_BASE.0 + group;
        registers.set_info(&info).unwrap();
    }
}

/// Takes switches out that the packets would only be sent to.
fn prune(network: &Network, rows: &mut BTreeMap<NodeId, u64>) {
    let peer = |id: NodeId, row: u64| {
        let number = weft_fabric::PortNum(row.trailing_zeros() as u8);
        network
            .peer(network.device_at(id).port(number).unwrap())
            .unwrap()
    };
    while let Some((id, other)) = rows.iter().find_map(|(id, row)| {
        let other = peer(*id, *row);
        let leaf = row.is_power_of_two() && network.switch(network.node_of(other)).is_some();
        leaf.then_some((*id, other))
    }) {
        rows.remove(&id);
        let row = rows.get_mut(&network.node_of(other)).unwrap();
        *row &= !(1 << network.number_of(other).0);
    }
}

#[test]
fn every_member_but_the_sender_gets_one_copy() {
    for spec in [
        "one-switch:6,radix=8",
        "pgft:2;3,4;1,2;1,1",
        "mesh:3x2,hosts=2",
    ] {
        for queueing in [Queueing::VirtualOutput, Queueing::Fifo] {
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
