//! Laws that hold in every fabric under every traffic.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::cases::{FABRICS, programs};
use common::{Program, hosts, network, parcel};
use proptest::prelude::*;
use weft_dataplane::packets::{
    LinkBalance, MICRO, MILLI, Notice, Options, Picos, Queueing, Random, Shard, Shards, Simulation,
    Traffic,
};
use weft_dataplane::{Counter, Network, PortIndex};
use weft_fabric::Lid;

/// What one run depends on.
#[derive(Debug, Clone)]
struct Case {
    fabric: usize,
    seed: u64,
    program: Program,
    fifo: bool,
    packets: u32,
    /// A cable to cut in the middle, by number of host.
    cut: Option<usize>,
    shards: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    let program = programs();
    let cut = proptest::option::of(0_usize..64);
    (
        0..FABRICS.len(),
        any::<u64>(),
        program,
        any::<bool>(),
        1_u32..600,
        cut,
        1_usize..=2,
    )
        .prop_map(|(fabric, seed, program, fifo, packets, cut, shards)| Case {
            fabric,
            seed,
            program,
            fifo,
            packets,
            cut,
            shards,
        })
}

/// Random packets at random moments from each host, and what becomes of them.
struct Storm {
    hosts: Vec<(PortIndex, Lid)>,
    random: Vec<Random>,
    lanes: u8,
    /// Packets that each host has yet to send.
    left: Vec<u32>,
    /// Highest number that arrived, by tag without its number and service level.
    last: BTreeMap<u64, u32>,
    disorder: u64,
    delivered: u64,
    lost: u64,
    /// Time that packets were in the fabric, summed.
    sojourn: Picos,
}

impl Storm {
    fn new(case: &Case, network: &Network) -> Self {
        let hosts = hosts(network);
        let count = hosts.len() as u32;
        let share = |host: u32| case.packets / count + u32::from(host < case.packets % count);
        let seeds = 0..u64::from(count);
        Self {
            random: seeds.map(|host| Random::of(case.seed, host)).collect(),
            lanes: case.program.lanes,
            left: (0..count).map(share).collect(),
            hosts,
            last: BTreeMap::new(),
            disorder: 0,
            delivered: 0,
            lost: 0,
            sojourn: 0,
        }
    }

    /// When a host sends next.
    fn wait(&mut self, simulation: &mut Simulation, from: usize) {
        let mean = 100_000.0 * self.hosts.len() as f64;
        let next = simulation.now() + self.random[from].exponential(mean);
        simulation.set_timer(next, from as u64);
    }

    fn start(&mut self, simulation: &mut Simulation) {
        for from in 0..self.hosts.len() {
            if simulation.owns(self.hosts[from].0) {
                self.wait(simulation, from);
            }
        }
    }

    fn send(&mut self, simulation: &mut Simulation, from: usize) {
        let random = &mut self.random[from];
        let to = random.below(self.hosts.len() as u32) as usize;
        if from == to {
            return;
        }
        let sl = random.below(u32::from(self.lanes)) as u8;
        let bytes = 64 + random.below(8_192);
        let number = u32::from(sl) << 24 | self.left[from];
        simulation.send(parcel(&self.hosts, from, to, number, sl, bytes));
    }
}

impl Traffic for Storm {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Timer(from) if self.left[from as usize] > 0 => {
                let from = from as usize;
                self.left[from] -= 1;
                self.send(simulation, from);
                self.wait(simulation, from);
            }
            Notice::Delivered(delivery) => {
                self.delivered += 1;
                self.sojourn += simulation.now() - delivery.born;
                // Numbers fall; a service level has its own order.
                let (flow, number) = (delivery.tag >> 24, delivery.tag as u32 & 0xFF_FFFF);
                let last = self.last.insert(flow, number).unwrap_or(u32::MAX);
                self.disorder += u64::from(number > last);
            }
            Notice::Lost(loss) => {
                self.lost += 1;
                self.sojourn += simulation.now() - loss.born;
            }
            _ => {}
        }
    }
}

/// Nothing appears or disappears on a link, and no credit is below zero or beyond its limit: that of
/// its lane, and that of what all lanes of a port share.
fn check(simulation: &Shards<Storm>, balances: &[LinkBalance], program: &Program) {
    let mut flying = 0;
    let mut queued = 0;
    let mut shared: BTreeMap<PortIndex, u32> = BTreeMap::new();
    for lane in balances {
        let dedicated = u32::from(program.dedicated);
        *shared.entry(lane.port).or_default() += lane.used.saturating_sub(dedicated);
        let gone = lane.received + lane.lost;
        assert!(gone <= lane.sent, "{lane:?}");
        assert!(lane.used <= lane.limit, "{lane:?}");
        flying += lane.sent - gone;
        queued += lane.waiting + lane.behind;
    }
    let totals = simulation.totals();
    let in_flight = simulation.in_flight() as u64;
    assert_eq!(flying + queued, in_flight);
    assert_eq!(totals.sent, totals.delivered + totals.lost + in_flight);
    let most = u32::from(program.shared);
    assert!(shared.values().all(|used| *used <= most), "{shared:?}");
}

/// A flit on four lanes of 25.78125 Gb/s, of which 64 bits in 66 are data: 64 bits at 100 Gb/s.
const FLIT: Picos = 640;
/// Flits of the largest packet, with what stands around its payload.
const LARGEST: u64 = 1_060;

/// No link has sent more flits than there was time for; what has begun counts whole.
fn check_rates(simulation: &Shards<Storm>, network: &Network) {
    let now = simulation.now();
    for (index, at) in ports(network).into_iter().enumerate() {
        let flits = simulation.flits_sent(at);
        let most = now / FLIT + LARGEST;
        assert!(flits <= most, "port {index}: {flits} flits in {now} ps");
    }
}

fn ports(network: &Network) -> Vec<PortIndex> {
    let devices = network.devices();
    devices
        .flat_map(|(_, device)| device.ports().map(|(_, at)| at))
        .collect()
}

fn discards(network: &Network) -> u64 {
    let counters = [
        Counter::XmitDiscards,
        Counter::RcvSwitchRelayErrors,
        Counter::RcvErrors,
    ];
    let ports = ports(network);
    ports
        .iter()
        .flat_map(|at| counters.map(|counter| network.counter(*at, counter)))
        .sum()
}

fn run(case: &Case) -> (u64, u64, u64, Picos) {
    let mut network = network(FABRICS[case.fabric], case.program);
    let queueing = if case.fifo {
        Queueing::Fifo
    } else {
        Queueing::VirtualOutput
    };
    let options = Options {
        seed: case.seed,
        queueing,
        ..Options::default()
    };
    let mut simulation = Shards::new(&network, &options, case.shards, |_| {
        Storm::new(case, &network)
    });
    for shard in simulation.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    for step in 1..=20 {
        simulation.run(step * 5 * MICRO, 1);
        check(&simulation, &simulation.balances(), &case.program);
        check_rates(&simulation, &network);
        if let Some(cut) = case.cut.filter(|_| step == 6) {
            let hosts = hosts(&network);
            network.cut_cable(hosts[cut % hosts.len()].0);
            simulation.configure(&network);
        }
    }
    let idle = simulation.drain(500 * MILLI, 1);
    assert!(idle, "up and down routes never stop");
    simulation.run(510 * MILLI, 1);
    check(&simulation, &simulation.balances(), &case.program);
    for lane in simulation.balances() {
        assert_eq!(lane.used, 0, "credits are back: {lane:?}");
        assert_eq!(lane.sent, lane.received + lane.lost, "{lane:?}");
    }
    simulation.settle(&mut network);
    let sum = |of: fn(&Storm) -> u64| -> u64 {
        let parts = simulation.shards().iter();
        parts.map(|part| of(&part.traffic)).sum()
    };
    assert_eq!(sum(|storm| storm.disorder), 0);
    let (delivered, lost) = (sum(|storm| storm.delivered), sum(|storm| storm.lost));
    assert_eq!(lost, discards(&network), "every loss is counted");
    let totals = simulation.totals();
    assert_eq!((delivered, lost), (totals.delivered, totals.lost));
    (
        totals.delivered,
        totals.lost,
        totals.events,
        simulation.now(),
    )
}

/// Little's law, exactly: from an empty fabric to an empty one, the packets in it at each moment,
/// summed over time, are the times of all packets. Looked at in steps, each packet is seen once too
/// often or too rarely at most.
fn littles_law(case: &Case) {
    const STEP: Picos = MICRO / 5;
    let network = network(FABRICS[case.fabric], case.program);
    let options = Options {
        seed: case.seed,
        ..Options::default()
    };
    let mut simulation = Shards::new(&network, &options, case.shards, |_| {
        Storm::new(case, &network)
    });
    for shard in simulation.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    let mut seen = 0;
    // Each part counts down for the hosts that it owns.
    let to_send = |part: &Shard<Storm>| {
        let hosts = part.traffic.hosts.iter().zip(&part.traffic.left);
        let mut own = hosts.filter(|((at, _), _)| part.simulation.owns(*at));
        own.any(|(_, left)| *left > 0)
    };
    for step in 1.. {
        simulation.run(step * STEP, 1);
        seen += simulation.in_flight() as u64 * STEP;
        if simulation.in_flight() == 0 && !simulation.shards().iter().any(to_send) {
            break;
        }
        assert!(step < 500_000, "up and down routes never stop");
    }
    let sojourn: Picos = simulation
        .shards()
        .iter()
        .map(|part| part.traffic.sojourn)
        .sum();
    let bound = simulation.totals().sent * STEP;
    assert!(
        seen.abs_diff(sojourn) <= bound,
        "{seen} and {sojourn} ps, {bound}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn packets_credits_rates_and_order_are_kept(case in cases()) {
        run(&case);
    }

    #[test]
    fn packets_in_the_fabric_are_their_rate_times_their_time(case in cases()) {
        littles_law(&case);
    }

    #[test]
    fn a_seed_gives_the_same_run_again(case in cases()) {
        prop_assert_eq!(run(&case), run(&case));
    }
}
