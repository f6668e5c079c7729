//! Laws that hold in every fabric under every traffic.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::{Program, hosts, network, parcel};
use proptest::prelude::*;
use weft_dataplane::packets::{
    LinkBalance, MICRO, MILLI, Notice, Options, Picos, Queueing, Random, Simulation, Traffic,
};
use weft_dataplane::{Counter, Network, PortIndex};
use weft_fabric::Lid;

const FABRICS: [&str; 7] = [
    "back-to-back",
    "one-switch:6,radix=8",
    "pgft:2;3,4;1,2;1,1",
    "pgft:2;2,4;1,3;1,2",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "mesh:3x2,hosts=2",
    "fattree:32,radix=8",
];

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
}

fn cases() -> impl Strategy<Value = Case> {
    let lanes = 1_u8..=8;
    let life = prop_oneof![Just(31_u8), 0_u8..6];
    let sizes = (0_u16..300, 135_u16..1_000);
    let program = (lanes, sizes, life.clone(), life, 0_u8..8);
    let program = program.prop_map(|(lanes, (dedicated, shared), hoq, switch, stall)| Program {
        lanes,
        dedicated,
        shared,
        hoq_life: hoq,
        switch_life: switch,
        stall_count: stall,
        ..Program::default()
    });
    let cut = proptest::option::of(0_usize..64);
    (
        0..FABRICS.len(),
        any::<u64>(),
        program,
        any::<bool>(),
        1_u32..600,
        cut,
    )
        .prop_map(|(fabric, seed, program, fifo, packets, cut)| Case {
            fabric,
            seed,
            program,
            fifo,
            packets,
            cut,
        })
}

/// Random packets at random moments, and what becomes of them.
struct Storm {
    hosts: Vec<(PortIndex, Lid)>,
    random: Random,
    lanes: u8,
    left: u32,
    /// Highest number that arrived, by tag without its number and service level.
    last: BTreeMap<u64, u32>,
    disorder: u64,
    delivered: u64,
    lost: u64,
}

impl Storm {
    fn send(&mut self, simulation: &mut Simulation) {
        let count = self.hosts.len() as u32;
        let (from, to) = (self.random.below(count), self.random.below(count));
        if from == to {
            return;
        }
        let sl = self.random.below(u32::from(self.lanes)) as u8;
        let bytes = 64 + self.random.below(8_192);
        let number = u32::from(sl) << 24 | self.left;
        let parcel = parcel(&self.hosts, from as usize, to as usize, number, sl, bytes);
        simulation.send(parcel);
    }
}

impl Traffic for Storm {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Timer(_) if self.left > 0 => {
                self.left -= 1;
                self.send(simulation);
                let next = simulation.now() + self.random.exponential(100_000.0);
                simulation.set_timer(next, 0);
            }
            Notice::Delivered(delivery) => {
                self.delivered += 1;
                // Numbers fall; a service level has its own order.
                let (flow, number) = (delivery.tag >> 24, delivery.tag as u32 & 0xFF_FFFF);
                let last = self.last.insert(flow, number).unwrap_or(u32::MAX);
                self.disorder += u64::from(number > last);
            }
            Notice::Lost(_) => self.lost += 1,
            _ => {}
        }
    }
}

/// Nothing appears or disappears on a link, and no credit is below zero or beyond its limit.
fn check(simulation: &Simulation, balances: &[LinkBalance]) {
    let mut flying = 0;
    let mut queued = 0;
    for lane in balances {
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
}

/// No link sends more flits than it has time for.
fn check_rates(simulation: &Simulation, network: &Network, before: &[u64], span: Picos) {
    for (index, at) in ports(network).into_iter().enumerate() {
        let flits = simulation.flits_sent(at) - before[index];
        // A packet that had begun or has begun counts whole.
        let most = span / simulation.flit_time(at).max(1) + 2 * 1_060;
        assert!(flits <= most, "port {index}: {flits} flits in {span} ps");
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
    let mut simulation = Simulation::new(&network, options);
    let mut storm = Storm {
        hosts: hosts(&network),
        random: Random::new(case.seed),
        lanes: case.program.lanes,
        left: case.packets,
        last: BTreeMap::new(),
        disorder: 0,
        delivered: 0,
        lost: 0,
    };
    simulation.set_timer(0, 0);
    for step in 1..=20 {
        let before: Vec<u64> = ports(&network)
            .iter()
            .map(|at| simulation.flits_sent(*at))
            .collect();
        simulation.run(&mut storm, step * 5 * MICRO);
        check(&simulation, &simulation.balances());
        check_rates(&simulation, &network, &before, 5 * MICRO);
        if let Some(cut) = case.cut.filter(|_| step == 6) {
            let host = storm.hosts[cut % storm.hosts.len()].0;
            network.cut_cable(host);
            simulation.configure(&network);
        }
    }
    let idle = simulation.drain(&mut storm, 500 * MILLI);
    assert!(
        idle,
        "up and down routes never stop: {:?}",
        simulation.deadlock()
    );
    simulation.run(&mut storm, 510 * MILLI);
    check(&simulation, &simulation.balances());
    for lane in simulation.balances() {
        assert_eq!(lane.used, 0, "credits are back: {lane:?}");
        assert_eq!(lane.sent, lane.received + lane.lost, "{lane:?}");
    }
    simulation.settle(&mut network);
    assert_eq!(storm.disorder, 0);
    assert_eq!(storm.lost, discards(&network), "every loss is counted");
    let totals = simulation.totals();
    assert_eq!(
        (storm.delivered, storm.lost),
        (totals.delivered, totals.lost)
    );
    (
        totals.delivered,
        totals.lost,
        totals.events,
        simulation.now(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn packets_credits_rates_and_order_are_kept(case in cases()) {
        run(&case);
    }

    #[test]
    fn a_seed_gives_the_same_run_again(case in cases()) {
        prop_assert_eq!(run(&case), run(&case));
    }
}
