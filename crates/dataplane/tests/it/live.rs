//! Traffic without packets: loads of links over time, compared with packets.
#![allow(clippy::unwrap_used)]

use crate::common::parcel;
use crate::common::stage::{Stage, stage};
use weft_dataplane::fluid::live::goodput;
use weft_dataplane::fluid::{Demand, Live, Receivers};
use weft_dataplane::packets::{MICRO, Notice, Options, Simulation, Traffic};
use weft_dataplane::{Counter, Network, PortIndex, PortTable};
use weft_fabric::enums::{LinkWidth, PhysState, PortState};
use weft_fabric::{Lid, PortNum, Tick};

/// Flits of a packet of these tests.
const FLITS: u32 = 1_032;
/// Flits that a link carries in a millisecond.
const FULL: f64 = 1_562_500.0;
const MILLISECOND: u64 = 1_000_000;

fn pair(stage: &Stage, from: usize, to: usize, limit: f64) -> Demand {
    Demand {
        from: stage.hosts[from].0,
        to: Receivers::One(stage.hosts[to].0),
        limit,
        flits: FLITS,
    }
}

/// Hosts of the first edge, each sending to one of the second.
fn pairs(stage: &Stage, count: usize, limit: f64) -> Vec<Demand> {
    let far = stage.far();
    let near = (0..stage.hosts.len()).filter(|host| !far.contains(host));
    let pairs = near.zip(&far).take(count);
    pairs
        .map(|(from, to)| pair(stage, from, *to, limit))
        .collect()
}

/// A port of the first edge.
fn edge_port(stage: &Stage, number: u8) -> PortIndex {
    let device = stage.network.device(stage.edge).unwrap();
    device.port(PortNum(number)).unwrap()
}

/// Increments of port counters over a millisecond, as fractions of a link's capacity.
fn shares(live: &mut Live, stage: &mut Stage, now: &mut u64, ports: &[PortIndex]) -> Vec<f64> {
    let read = |network: &Network| -> Vec<u64> {
        let data = |at: &PortIndex| network.counter(*at, Counter::XmitData);
        ports.iter().map(data).collect()
    };
    live.settle_all(&mut stage.network, Tick(*now));
    let before = read(&stage.network);
    *now += MILLISECOND;
    live.settle_all(&mut stage.network, Tick(*now));
    let after = read(&stage.network);
    let counted = after.iter().zip(before);
    counted
        .map(|(after, before)| (after - before) as f64 / FULL)
        .collect()
}

fn assert_near(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    for (got_one, wanted_one) in got.iter().zip(wanted) {
        assert!(
            (got_one - wanted_one).abs() < 1e-3,
            "{got:?}, not {wanted:?}"
        );
    }
}

/// Lets all looks happen that are due within a second.
fn look_for_a_second(live: &mut Live, stage: &mut Stage, now: &mut u64) {
    let end = *now + 1_000 * MILLISECOND;
    while let Some(Tick(next)) = live.next_look().filter(|next| next.0 <= end) {
        *now = next.max(*now);
        live.look(&mut stage.network, Tick(*now));
    }
    *now = end;
}

#[test]
fn two_pairs_share_one_uplink_until_routes_are_moved() {
    for (lost_only, uplinks, rate) in [(true, [1.0, 0.0], 0.5), (false, [1.0, 1.0], 1.0)] {
        let mut stage = stage(7, lost_only);
        let (mut live, mut now) = (Live::new(1), 0);
        let demands = pairs(&stage, 2, 1.0);
        live.set_demands(&mut stage.network, Tick(0), demands);
        assert_near(live.rates(), &[0.5, 0.5]);
        look_for_a_second(&mut live, &mut stage, &mut now);
        assert_near(live.rates(), &[rate, rate]);
        assert_eq!(
            live.next_look(),
            None,
            "nothing is congested, or nobody looks"
        );
        let links = stage.uplinks.map(|port| edge_port(&stage, port));
        assert_near(&shares(&mut live, &mut stage, &mut now, &links), &uplinks);
        assert_eq!(live.routes_moved(), u64::from(!lost_only));
    }
}

#[test]
fn a_lost_link_is_left_at_once_and_adaptive_switches_find_another() {
    let mut stage = stage(7, true);
    let (mut live, mut now) = (Live::new(1), 0);
    let demands = pairs(&stage, 2, 1.0);
    live.set_demands(&mut stage.network, Tick(0), demands);
    let links = stage.uplinks.map(|port| edge_port(&stage, port));
    stage.network.cut_cable(links[0]);
    live.refresh(&mut stage.network, Tick(0));
    assert_near(
        &shares(&mut live, &mut stage, &mut now, &links),
        &[0.0, 1.0],
    );
    stage.network.cut_cable(links[1]);
    live.refresh(&mut stage.network, Tick(now));
    assert_near(live.rates(), &[0.0, 0.0]);
    assert_near(
        &shares(&mut live, &mut stage, &mut now, &links),
        &[0.0, 0.0],
    );
}

#[test]
fn pairs_that_share_no_partition_get_nothing() {
    let mut stage = stage(7, true);
    let mut live = Live::new(1);
    let demands = pairs(&stage, 2, 0.2);
    live.set_demands(&mut stage.network, Tick(0), demands.clone());
    assert_near(live.rates(), &[0.2, 0.2]);
    // The second receiver leaves the partition, and takes another.
    let far = stage.far();
    let receiver = stage.hosts[far[1]].0;
    let keys = [0x00, 0x05, 0x7F, 0xFF];
    let table = PortTable::PKeys;
    stage.network.write_table(receiver, table, 0, &keys);
    live.refresh(&mut stage.network, Tick(0));
    assert_near(live.rates(), &[0.2, 0.0]);
    // Both are limited members of the other one, then the sender is a full one.
    let sender = demands[1].from;
    stage.network.write_table(sender, table, 0, &keys);
    live.refresh(&mut stage.network, Tick(0));
    assert_near(live.rates(), &[0.2, 0.0]);
    stage.network.write_table(sender, table, 0, &[0x80, 0x05]);
    live.refresh(&mut stage.network, Tick(0));
    assert_near(live.rates(), &[0.2, 0.2]);
    // The switch before the sender checks, and knows nothing of it.
    let near = stage.network.peer(sender).unwrap();
    let mut info = *stage.network.port(near).info();
    info.partition_enforcement_inbound = true;
    (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
    stage.network.set_port_info(near, &info).unwrap();
    live.refresh(&mut stage.network, Tick(0));
    assert_near(live.rates(), &[0.2, 0.0]);
}

#[test]
fn senders_keep_to_their_limits_and_links_to_theirs() {
    let mut stage = stage(7, true);
    let mut live = Live::new(1);
    let mut demands = pairs(&stage, 3, 0.2);
    demands[0].limit = 1.0;
    live.set_demands(&mut stage.network, Tick(0), demands.clone());
    assert_near(live.rates(), &[0.6, 0.2, 0.2]);
    // One host to all others, a half of it to one of them.
    demands.truncate(1);
    let far = stage.far();
    demands[0].to = Receivers::Hotspot {
        hot: stage.hosts[far[0]].0,
        part: 0.5,
        hosts: stage.hosts.iter().map(|(at, _)| *at).collect(),
    };
    live.set_demands(&mut stage.network, Tick(0), demands);
    assert_near(live.rates(), &[1.0]);
    let down = stage.network.peer(stage.hosts[far[0]].0).unwrap();
    let got = shares(&mut live, &mut stage, &mut 0, &[down]);
    assert_near(&got, &[0.5 + 0.5 / 7.0]);
    live.set_demands(&mut stage.network, Tick(MILLISECOND), Vec::new());
    assert_near(
        &shares(&mut live, &mut stage, &mut { MILLISECOND }, &[down]),
        &[0.0],
    );
}

#[test]
fn a_narrow_link_carries_less() {
    let mut topology = crate::common::topology("one-switch:3");
    let id = topology.hfis().next().unwrap().0;
    let port = topology.node_mut(id).unwrap().port_mut(PortNum(1)).unwrap();
    port.info.link_width_active = LinkWidth::X1;
    let row: Vec<u8> = vec![0xFF, 1, 2, 3];
    let mut network =
        crate::common::programmed(topology, &[row], crate::common::Program::default());
    let hosts = crate::common::hosts(&network);
    let mut live = Live::new(1);
    let demand = |from: usize, to: usize| Demand {
        from: hosts[from].0,
        to: Receivers::One(hosts[to].0),
        limit: 1.0,
        flits: FLITS,
    };
    live.set_demands(&mut network, Tick(0), vec![demand(0, 1), demand(2, 1)]);
    assert_near(live.rates(), &[0.25, 0.75]);
    assert_eq!(goodput(0.25, 8_192, FLITS) as u64, 3_100_775_193);
}

/// Pairs that always have a packet to send.
struct Saturated {
    hosts: Vec<(PortIndex, Lid)>,
    to: Vec<(usize, usize)>,
}

impl Traffic for Saturated {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Room(at) = notice {
            let pair = self.to.iter().find(|(from, _)| self.hosts[*from].0 == at);
            let (from, to) = *pair.unwrap();
            simulation.send(parcel(&self.hosts, from, to, 0, 0, FLITS * 8));
        }
    }
}

/// Data and waiting of all ports in a millisecond: the same, to a few percent of a link, by rates
/// and by packets.
#[test]
fn counters_advance_as_packets_move_them() {
    let mut fluid = stage(7, true);
    let mut packets = stage(7, true);
    let mut live = Live::new(1);
    let demands = pairs(&fluid, 3, 1.0);
    live.set_demands(&mut fluid.network, Tick(0), demands.clone());
    live.settle_all(&mut fluid.network, Tick(MILLISECOND));

    let number = |at: PortIndex| packets.hosts.iter().position(|host| host.0 == at).unwrap();
    let to = demands.iter().map(|demand| match &demand.to {
        Receivers::One(to) => (number(demand.from), number(*to)),
        other => panic!("{other:?}"),
    });
    let mut traffic = Saturated {
        to: to.collect(),
        hosts: packets.hosts.clone(),
    };
    let mut simulation = Simulation::new(&packets.network, Options::default());
    for (from, to) in traffic.to.clone() {
        simulation.send(parcel(&traffic.hosts, from, to, 0, 0, FLITS * 8));
    }
    // Buffers fill first.
    simulation.run(&mut traffic, 1_000 * MICRO);
    simulation.settle(&mut packets.network);
    let count = |network: &Network, counter: Counter| -> Vec<f64> {
        let ports = network.devices().flat_map(|(_, device)| device.ports());
        let values = ports.map(|(_, at)| network.counter(at, counter) as f64 / FULL);
        values.collect()
    };
    for counter in [Counter::XmitData, Counter::RcvData, Counter::XmitWait] {
        let (flow, moved) = (
            count(&fluid.network, counter),
            count(&packets.network, counter),
        );
        assert!(
            flow.iter().any(|share| *share > 0.3),
            "{counter:?}: {flow:?}"
        );
        for (flow, moved) in flow.iter().zip(&moved) {
            assert!(
                (flow - moved).abs() < 0.08,
                "{counter:?}: {flow} and {moved}"
            );
        }
    }
}
