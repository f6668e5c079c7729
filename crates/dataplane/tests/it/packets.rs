//! Packets in small fabrics, where every moment and counter is known beforehand.
#![allow(clippy::unwrap_used)]

use crate::common::{Log, Program, hosts, network, parcel, programmed, topology};
use weft_dataplane::packets::{
    MICRO, MILLI, NANO, Notice, Options, Picos, Random, Shards, Simulation, Traffic,
};
use weft_dataplane::{Counter, Network, PortIndex, PortTable, VlCounter};
use weft_fabric::enums::{Mtu, PhysState, PortState};
use weft_fabric::{Lid, Vl};
use weft_wire::sm::PortInfo;

/// A flit on four lanes.
const FLIT: Picos = 640;

fn simulation(network: &Network) -> Simulation {
    Simulation::new(network, Options::default())
}

/// When each packet arrived, with its tag.
fn arrivals(log: &Log) -> Vec<(Picos, u64)> {
    let delivered = |(at, notice): &(Picos, Notice)| match notice {
        Notice::Delivered(delivery) => Some((*at, delivery.tag & 0xFFFF_FFFF)),
        _ => None,
    };
    log.notices.iter().filter_map(delivered).collect()
}

#[test]
fn a_packet_takes_two_cables_a_switch_and_its_length() {
    let network = network("one-switch:48,radix=48", Program::default());
    let hosts = hosts(&network);
    for (to, switch) in [(1, 100), (3, 100), (4, 110), (47, 110)] {
        let mut simulation = simulation(&network);
        let mut log = Log::default();
        assert!(simulation.send(parcel(&hosts, 0, to, 0, 0, 800)));
        assert!(simulation.drain(&mut log, MILLI));
        let wanted = (10 + switch + 10) * NANO + 100 * FLIT;
        assert_eq!(arrivals(&log), [(wanted, 0)], "to host {to}");
    }
}

#[test]
fn a_link_that_lost_lanes_is_slower_and_starves_a_faster_one_behind_it() {
    let mut topology = topology("one-switch:3,radix=8");
    let (host, _) = topology.hfis().next().unwrap();
    let port = topology
        .node_mut(host)
        .unwrap()
        .port_mut(weft_fabric::PortNum(1));
    port.unwrap().info.link_width_active = weft_fabric::enums::LinkWidth::X2;
    let rows = [vec![0xFF; 64]];
    let mut network = programmed(topology, &rows, Program::default());
    route_by_cables(&mut network);
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    let mut log = Log::default();
    simulation.send(parcel(&hosts, 0, 1, 0, 0, 8_000));
    assert!(simulation.drain(&mut log, MILLI));
    assert_eq!(arrivals(&log), [(120 * NANO + 1_000 * 2 * FLIT, 0)]);
    simulation.settle(&mut network);
    let egress = network.peer(hosts[1].0).unwrap();
    assert_eq!(network.counter(egress, Counter::XmitWaitData), 1_000);
    let received = [egress, hosts[1].0].map(|at| network.counter(at, Counter::RcvBubble));
    assert_eq!(received, [0, 1_000]);
}

/// Changes PortInfo of all ports.
fn write_ports(network: &mut Network, change: impl Fn(&mut PortInfo)) {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports().map(|(_, at)| at));
    for at in ports.collect::<Vec<_>>() {
        let mut info = *network.port(at).info();
        (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
        change(&mut info);
        network.set_port_info(at, &info).unwrap();
    }
}

#[test]
fn a_lane_that_does_not_operate_carries_nothing() {
    let program = Program {
        lanes: 4,
        ..Program::default()
    };
    let mut network = network("one-switch:3,radix=8", program);
    write_ports(&mut network, |info| info.operational_vl = 3);
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    let mut log = Log::default();
    let sent = [2, 3].map(|sl| simulation.send(parcel(&hosts, 0, 1, 0, sl, 1_024)));
    assert_eq!(sent, [true, false]);
    simulation.run(&mut log, MILLI);
    assert_eq!(arrivals(&log).len(), 1);
    simulation.settle(&mut network);
    assert_eq!(network.counter(hosts[0].0, Counter::XmitDiscards), 1);
}

/// With room for one packet, those behind it find no credits when the link is free.
#[test]
fn a_lane_without_flow_control_drops_what_finds_no_credits() {
    let program = Program {
        lanes: 2,
        dedicated: 16,
        shared: 0,
        ..Program::default()
    };
    let mut network = network("one-switch:3,radix=8", program);
    write_ports(&mut network, |info| info.flow_control_mask = 0b01);
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    for sl in [0, 1] {
        for number in 0..8 {
            simulation.send(parcel(&hosts, usize::from(sl), 2, number, sl, 1_024));
        }
    }
    let mut log = Log::default();
    simulation.run(&mut log, MILLI);
    assert_eq!(simulation.in_flight(), 0);
    simulation.settle(&mut network);
    let discards = |at, vl| network.lane_counter(at, Vl(vl), VlCounter::XmitDiscards);
    assert_eq!([0, 1].map(|host| discards(hosts[host].0, 0)), [7, 0]);
    assert_eq!([0, 1].map(|host| discards(hosts[host].0, 1)), [0, 0]);
    assert_eq!(network.counter(hosts[0].0, Counter::SwPortCongestion), 0);
    assert_eq!(arrivals(&log).len(), 1 + 8);
}

/// Packets that wait when the manager makes their buffer smaller than they are.
#[test]
fn what_no_longer_fits_is_dropped_and_what_is_behind_it_goes() {
    let small = Program {
        dedicated: 16,
        shared: 0,
        ..Program::default()
    };
    let mut network = network("one-switch:3,radix=8", Program::default());
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    let mut log = Log::default();
    for (number, bytes) in [(0, 8_192), (1, 8_192), (2, 1_024), (3, 1_025)] {
        for from in [0, 1] {
            simulation.send(parcel(&hosts, from, 2, number, 0, bytes));
        }
    }
    simulation.run(&mut log, MICRO);
    let ports: Vec<_> = network
        .devices()
        .flat_map(|(_, device)| device.ports())
        .collect();
    for (_, at) in ports.iter().copied() {
        crate::common::set_buffers(&mut network, at, small);
    }
    simulation.configure(&network);
    simulation.run(&mut log, MILLI);
    let numbers = arrivals(&log).into_iter().map(|(_, tag)| tag as u32);
    let numbers: Vec<u32> = numbers.collect();
    assert_eq!(numbers, [0, 0, 2, 2]);
    simulation.settle(&mut network);
    let sum = |counter: Counter| -> u64 {
        let ports = ports.iter();
        ports.map(|(_, at)| network.counter(*at, counter)).sum()
    };
    assert_eq!(sum(Counter::XmitDiscards), 4);
    assert_eq!(sum(Counter::SwPortCongestion), 0);
    for lane in simulation.balances() {
        assert_eq!((lane.used, lane.waiting), (0, 0), "{lane:?}");
    }
}

/// Writes a one-switch table that sends each host's LID to its port.
fn route_by_cables(network: &mut Network) {
    let mut row = vec![0xFF; 64];
    for (host, lid) in hosts(network) {
        let uplink = network.peer(host).unwrap();
        row[lid.0 as usize] = network.number_of(uplink).0;
    }
    let switch = network.topology().switches()[0];
    crate::common::set_routes(network, switch, &row, Program::default());
}

#[test]
fn counters_go_into_the_registers_once() {
    let mut network = network(
        "one-switch:4,radix=8",
        Program {
            lanes: 4,
            ..Program::default()
        },
    );
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    for number in 0..10 {
        simulation.send(parcel(&hosts, 0, 1, number, 3, 4_096));
    }
    assert!(simulation.drain(&mut Log::default(), MILLI));
    for _ in 0..2 {
        simulation.settle(&mut network);
    }
    let uplink = network.peer(hosts[0].0).unwrap();
    let lane = |at, counter| network.lane_counter(at, Vl(3), counter);
    for (at, counter, wanted) in [
        (hosts[0].0, VlCounter::XmitPkts, 10),
        (hosts[0].0, VlCounter::XmitData, 5_120),
        (uplink, VlCounter::RcvPkts, 10),
        (uplink, VlCounter::RcvData, 5_120),
        (hosts[1].0, VlCounter::RcvPkts, 10),
        (hosts[1].0, VlCounter::XmitPkts, 0),
    ] {
        assert_eq!(lane(at, counter), wanted, "{counter:?}");
    }
    assert_eq!(network.counter(hosts[1].0, Counter::RcvPkts), 10);
    assert_eq!(
        network.lane_counter(hosts[0].0, Vl(0), VlCounter::XmitPkts),
        0
    );
}

#[test]
fn what_cannot_go_is_dropped_and_counted_where_it_happens() {
    let mut network = network("one-switch:4,radix=8", Program::default());
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    // Larger than the MTU; to an unassigned LID; to a host whose link goes down.
    assert!(!simulation.send(parcel(&hosts, 0, 1, 0, 0, 10_000)));
    let mut lost = parcel(&hosts, 0, 1, 1, 0, 100);
    lost.dlid = Lid(4_000);
    assert!(simulation.send(lost));
    simulation.run(&mut Log::default(), MICRO);
    let egress = network.peer(hosts[2].0).unwrap();
    network
        .request_state(egress, PortState::NOP, PhysState::DISABLED)
        .unwrap();
    simulation.configure(&network);
    assert!(simulation.send(parcel(&hosts, 0, 2, 2, 0, 100)));
    assert!(simulation.drain(&mut Log::default(), MILLI));
    simulation.settle(&mut network);
    let uplink = network.peer(hosts[0].0).unwrap();
    assert_eq!(network.counter(hosts[0].0, Counter::XmitDiscards), 1);
    assert_eq!(network.counter(uplink, Counter::RcvSwitchRelayErrors), 1);
    assert_eq!(network.counter(egress, Counter::XmitDiscards), 1);
    assert_eq!(simulation.totals().lost, 3);
}

#[test]
fn a_packet_on_a_link_that_goes_down_is_its_senders_discard() {
    let mut network = network("one-switch:4,radix=8", Program::default());
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    simulation.send(parcel(&hosts, 0, 1, 0, 0, 8_192));
    simulation.run(&mut Log::default(), 200 * NANO);
    network.cut_cable(hosts[1].0);
    simulation.configure(&network);
    assert!(simulation.drain(&mut Log::default(), MILLI));
    simulation.settle(&mut network);
    let egress = network.peer(hosts[1].0).unwrap();
    assert_eq!(network.counter(egress, Counter::XmitDiscards), 1);
    assert_eq!(simulation.totals().delivered, 0);
}

#[test]
fn lanes_share_a_link_by_their_weights() {
    let mut network = network(
        "one-switch:3,radix=8",
        Program {
            lanes: 2,
            ..Program::default()
        },
    );
    let hosts = hosts(&network);
    let egress = network.peer(hosts[2].0).unwrap();
    // Lane 1 may send three times as much as lane 0.
    network.write_table(egress, PortTable::VlArbLow, 0, &[0, 32, 1, 96]);
    let mut simulation = simulation(&network);
    for number in 0..400 {
        simulation.send(parcel(&hosts, 0, 2, number, 0, 2_048));
        simulation.send(parcel(&hosts, 1, 2, number, 1, 2_048));
    }
    simulation.run(&mut Log::default(), 30 * MICRO);
    simulation.settle(&mut network);
    let sent = |vl| network.lane_counter(egress, Vl(vl), VlCounter::XmitPkts);
    let (few, many) = (sent(0), sent(1));
    assert!(few > 30 && many.abs_diff(3 * few) <= 6, "{few} and {many}");
}

#[test]
fn a_head_of_queue_that_waits_too_long_is_discarded_and_its_lane_stalls() {
    // Host 2 takes nothing: its buffer is full and never emptied, as it takes a second to receive.
    let program = Program {
        hoq_life: 1,
        stall_count: 3,
        ..Program::default()
    };
    let mut network = network("one-switch:3,radix=8", program);
    let hosts = hosts(&network);
    let options = Options {
        receive: 1_000 * MILLI,
        ..Options::default()
    };
    let mut simulation = Simulation::new(&network, options);
    // 1,400 units hold ten packets of 8,192 bytes at host 2, as many in the switch.
    for number in 0..17 {
        simulation.send(parcel(&hosts, 0, 2, number, 0, 8_192));
    }
    simulation.run(&mut Log::default(), 10 * MICRO);
    assert_eq!(simulation.totals().lost, 0);
    // 8.192 µs each for the first three, then the rest at once.
    simulation.run(&mut Log::default(), 25 * MICRO);
    assert_eq!(simulation.totals().lost, 2);
    simulation.run(&mut Log::default(), 35 * MICRO);
    assert_eq!(simulation.totals().lost, 7);
    simulation.send(parcel(&hosts, 0, 2, 99, 0, 64));
    simulation.run(&mut Log::default(), 40 * MICRO);
    assert_eq!(
        simulation.totals().lost,
        8,
        "the stalled lane drops what comes"
    );
    simulation.settle(&mut network);
    let egress = network.peer(hosts[2].0).unwrap();
    assert_eq!(network.counter(egress, Counter::XmitDiscards), 8);
    assert_eq!(network.counter(egress, Counter::SwPortCongestion), 8);
    // In cycles of two flit times.
    let waited = network.counter(egress, Counter::XmitWait);
    assert!(waited > 15_000);
    simulation.run(&mut Log::default(), 10 * MILLI);
    simulation.settle(&mut network);
    let later = network.counter(egress, Counter::XmitWait);
    assert_eq!(later, waited, "nothing waits any more");
}

#[test]
fn a_host_sends_on_after_a_packet_that_its_link_does_not_take() {
    let program = Program {
        mtu: Mtu::B2048,
        ..Program::default()
    };
    let network = network("one-switch:2,radix=8", program);
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    let mut log = Log::default();
    simulation.send(parcel(&hosts, 0, 1, 0, 0, 8_192));
    assert!(simulation.drain(&mut log, MILLI));
    simulation.run(&mut log, MILLI);
    let told: Vec<Picos> = log
        .notices
        .iter()
        .filter(|(_, notice)| matches!(notice, Notice::Room(at) if *at == hosts[0].0))
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(simulation.totals().lost, 1);
    assert_eq!(
        told,
        [Simulation::wire_time(8_192)],
        "once, when it would have gone"
    );
}

#[test]
fn a_packet_that_is_too_long_in_a_switch_is_discarded_and_its_lane_does_not_stall() {
    let program = Program {
        switch_life: 0,
        stall_count: 1,
        ..Program::default()
    };
    let network = network("one-switch:4,radix=8", program);
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    // Three senders to one receiver: after 4.096 µs in the switch a packet is too old.
    for number in 0..12 {
        for from in 0..3 {
            simulation.send(parcel(&hosts, from, 3, number, 0, 8_192));
        }
    }
    assert!(simulation.drain(&mut Log::default(), MILLI));
    let totals = simulation.totals();
    assert!(totals.lost > 10 && totals.delivered > 10, "{totals:?}");
}

/// Four switches in a ring, one host each, everything goes round clockwise to the host three
/// switches on.
fn ring() -> Network {
    let topology = topology("torus:4,hosts=1");
    let switches = topology.switches().to_vec();
    let next: Vec<(u8, usize)> = (0..4).map(|index| clockwise(&topology, index)).collect();
    let mut rows = vec![vec![0xFF; 64]; switches.len()];
    for (end, lid, _) in topology
        .end_ports()
        .filter(|(end, _, _)| !switches.contains(&end.node))
    {
        let uplink = topology.peer(end).unwrap();
        for (index, row) in rows.iter_mut().enumerate() {
            let here = switches[index] == uplink.node;
            row[lid.0 as usize] = if here { uplink.port.0 } else { next[index].0 };
        }
    }
    let small = Program {
        dedicated: 140,
        shared: 0,
        ..Program::default()
    };
    programmed(topology, &rows, small)
}

/// The port of a ring's switch to the next one.
fn clockwise(topology: &weft_fabric::Topology, index: usize) -> (u8, usize) {
    let switches = topology.switches();
    let next = (index + 1) % switches.len();
    let node = topology.node(switches[index]).unwrap();
    let port = node
        .external_ports()
        .find(|(_, port)| port.peer.is_some_and(|peer| peer.node == switches[next]));
    (port.unwrap().0.0, next)
}

#[test]
fn a_credit_loop_is_found_with_its_links() {
    let network = ring();
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    for number in 0..20 {
        for from in 0..4 {
            simulation.send(parcel(&hosts, from, (from + 3) % 4, number, 0, 8_192));
        }
    }
    assert_eq!(simulation.deadlock(), None);
    assert!(!simulation.drain(&mut Log::default(), MILLI));
    let circle = simulation.deadlock().unwrap();
    assert_eq!(circle.len(), 4, "{circle:?}");
    assert_eq!(deadlock_of_shards(&network), Some(circle.clone()));
    let ends: Vec<_> = circle
        .iter()
        .map(|(at, _)| network.node_of(network.peer(*at).unwrap()))
        .collect();
    let starts: Vec<_> = circle.iter().map(|(at, _)| network.node_of(*at)).collect();
    for (place, end) in ends.iter().enumerate() {
        assert_eq!(*end, starts[(place + 1) % 4], "the links follow each other");
    }
}

/// Deadlock of the ring in two shards.
fn deadlock_of_shards(network: &Network) -> Option<Vec<(PortIndex, Vl)>> {
    let hosts = hosts(network);
    let mut shards = Shards::new(network, &Options::default(), 2, |_| Log::default());
    assert_eq!(shards.shards().len(), 2);
    for shard in shards.shards_mut() {
        for number in 0..20 {
            for from in 0..4 {
                if shard.simulation.owns(hosts[from].0) {
                    let packet = parcel(&hosts, from, (from + 3) % 4, number, 0, 8_192);
                    shard.simulation.send(packet);
                }
            }
        }
    }
    assert!(!shards.drain(MILLI, 1));
    shards.deadlock()
}

#[test]
fn lifetimes_break_a_credit_loop() {
    for written_before in [true, false] {
        break_a_loop(written_before);
    }
}

/// Lifetimes are written before the packets come, or when they stand already.
fn break_a_loop(written_before: bool) {
    let mut network = ring();
    let hosts = hosts(&network);
    let mut simulation = simulation(&network);
    if written_before {
        write_lifetimes(&mut network);
        simulation.configure(&network);
    }
    for number in 0..20 {
        for from in 0..4 {
            simulation.send(parcel(&hosts, from, (from + 3) % 4, number, 0, 8_192));
        }
    }
    if !written_before {
        assert!(!simulation.drain(&mut Log::default(), MILLI));
        write_lifetimes(&mut network);
        simulation.configure(&network);
    }
    assert!(simulation.drain(&mut Log::default(), 10 * MILLI));
    assert!(simulation.totals().lost > 0);
    assert_eq!(simulation.deadlock(), None);
    let before = simulation.totals().delivered;
    simulation.send(parcel(&hosts, 0, 3, 0, 0, 8_192));
    assert!(simulation.drain(&mut Log::default(), 20 * MILLI));
    assert_eq!(simulation.totals().delivered, before + 1);
}

fn write_lifetimes(network: &mut Network) {
    let ports: Vec<PortIndex> = network
        .topology()
        .switches()
        .to_vec()
        .iter()
        .flat_map(|id| {
            network
                .device_at(*id)
                .ports()
                .map(|(_, at)| at)
                .collect::<Vec<_>>()
        })
        .collect();
    for at in ports {
        let mut info = *network.port(at).info();
        info.xmit_q.iter_mut().for_each(|queue| queue.hoq_life = 1);
        (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
        network.set_port_info(at, &info).unwrap();
    }
}

/// Many hosts that send to the last one, each at random moments.
struct Poisson {
    hosts: Vec<(PortIndex, Lid)>,
    random: Random,
    mean: f64,
    waited: u64,
    delivered: u64,
    bytes: u32,
    /// Time of a packet without contention.
    alone: Picos,
}

impl Poisson {
    fn next(&mut self, simulation: &mut Simulation, from: u64) {
        let at = simulation.now() + self.random.exponential(self.mean);
        simulation.set_timer(at, from);
    }
}

impl Traffic for Poisson {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Timer(from) => {
                let to = self.hosts.len() - 1;
                simulation.send(parcel(&self.hosts, from as usize, to, 0, 0, self.bytes));
                self.next(simulation, from);
            }
            Notice::Delivered(delivery) => {
                self.waited += simulation.now() - delivery.born - self.alone;
                self.delivered += 1;
            }
            _ => {}
        }
    }
}

/// Pollaczek and Khinchine: the mean wait in M/D/1 is ρ / 2(1 - ρ) services. The packets of one
/// host, which its link keeps apart, are few among those of 47.
#[test]
fn random_arrivals_wait_as_long_as_theory_says() {
    let program = Program {
        dedicated: 1_000,
        shared: 0,
        ..Program::default()
    };
    let network = network("one-switch:48,radix=48", program);
    let service = Simulation::wire_time(1_024);
    for load in [0.3, 0.5, 0.7, 0.8] {
        let options = Options {
            block_latency: 110 * NANO,
            ..Options::default()
        };
        let mut simulation = Simulation::new(&network, options);
        let mut traffic = Poisson {
            hosts: hosts(&network),
            random: Random::new(3),
            mean: service as f64 * 47.0 / load,
            waited: 0,
            delivered: 0,
            bytes: 1_024,
            alone: 130 * NANO + service,
        };
        (0..47).for_each(|from| traffic.next(&mut simulation, from));
        simulation.run(&mut traffic, 20 * MILLI);
        let wait = traffic.waited as f64 / traffic.delivered as f64 / service as f64;
        let theory = load / (2.0 * (1.0 - load));
        assert!(
            (wait / theory - 1.0).abs() < 0.06,
            "load {load}: {wait}, not {theory}"
        );
    }
}
