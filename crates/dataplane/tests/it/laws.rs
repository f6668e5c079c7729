//! Laws that hold in every fabric under every traffic.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crate::common::cases::{FABRICS, programs, queueings};
use crate::common::vary::{Variety, varied, varieties};
use crate::common::{Program, hosts, parcel, set_buffers};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use weft_dataplane::constants::ADAPTIVE_PERIOD;
use weft_dataplane::packets::{
    HeadOfQueue, LinkBalance, MICRO, MILLI, Notice, Options, Picos, Queueing, Random, Shard,
    Shards, Simulation, Totals, Traffic,
};
use weft_dataplane::{Counter, Network, PortIndex};
use weft_fabric::Lid;

/// Inputs of one run.
#[derive(Debug, Clone)]
struct Case {
    fabric: usize,
    seed: u64,
    program: Program,
    variety: Variety,
    queueing: (Queueing, HeadOfQueue),
    packets: u32,
    /// A cable to cut in the middle.
    cut: Option<usize>,
    /// Percentage to which the limits of all lanes shrink in the middle.
    squeeze: Option<u16>,
    shards: usize,
}

impl Case {
    fn network(&self) -> Network {
        varied(FABRICS[self.fabric], self.program, &self.variety)
    }

    fn options(&self) -> Options {
        Options {
            seed: self.seed,
            queueing: self.queueing.0,
            head_of_queue: self.queueing.1,
            ..Options::default()
        }
    }

    /// When packets begin to be sent: shortly before a switch looks whether to move routes, which it
    /// first does at a moment of the first period that it draws.
    fn start(&self, network: &Network) -> Picos {
        let switches = network.topology().switches().len() as u64;
        if self.variety.adaptive.is_none() || switches == 0 {
            return 0;
        }
        let look = Random::of(self.seed, self.variety.seed % switches).bits() % ADAPTIVE_PERIOD;
        look.saturating_sub(20 * MICRO)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let cut = proptest::option::of(0_usize..1_000);
    let squeeze = proptest::option::weighted(0.3, 0_u16..100);
    let changes = (cut, squeeze);
    let numbers = (0..FABRICS.len(), any::<u64>(), 1_u32..600, 1_usize..=2);
    (programs(), varieties(), queueings(), numbers, changes).prop_map(
        |(program, variety, queueing, (fabric, seed, packets, shards), (cut, squeeze))| Case {
            fabric,
            seed,
            program,
            variety,
            queueing,
            packets,
            cut,
            squeeze,
            shards,
        },
    )
}

/// Random packets at random moments from each host, and what becomes of them.
struct Storm {
    hosts: Vec<(PortIndex, Lid)>,
    random: Vec<Random>,
    levels: u8,
    start: Picos,
    /// Packets that each host has yet to send.
    left: Vec<u32>,
    /// Highest number that arrived, by tag without its number and service level.
    last: BTreeMap<u64, u32>,
    disorder: u64,
    sent: u64,
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
            levels: case.variety.levels(case.program),
            start: case.start(network),
            left: (0..count).map(share).collect(),
            hosts,
            last: BTreeMap::new(),
            disorder: 0,
            sent: 0,
            delivered: 0,
            lost: 0,
            sojourn: 0,
        }
    }

    /// When a host sends next.
    fn wait(&mut self, simulation: &mut Simulation, from: usize) {
        let mean = 100_000.0 * self.hosts.len() as f64;
        let next = simulation.now().max(self.start) + self.random[from].exponential(mean);
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
        let sl = random.below(u32::from(self.levels)) as u8;
        let bytes = 64 + random.below(8_192);
        let number = u32::from(sl) << 24 | self.left[from];
        simulation.send(parcel(&self.hosts, from, to, number, sl, bytes));
        self.sent += 1;
    }

    /// Packets that it has sent and not heard of again.
    fn open(&self) -> i64 {
        self.sent as i64 - (self.delivered + self.lost) as i64
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

/// Nothing appears or disappears on a link, and credits are kept where the limits have always been
/// those of a program.
fn check(simulation: &Shards<Storm>, limits: Option<Program>) {
    let balances = simulation.balances();
    let (mut flying, mut queued) = (0, 0);
    for lane in &balances {
        let gone = lane.received + lane.lost;
        assert!(gone <= lane.sent, "{lane:?}");
        flying += lane.sent - gone;
        queued += lane.waiting + lane.behind;
    }
    let totals = simulation.totals();
    let in_flight = simulation.in_flight() as u64;
    assert_eq!(flying + queued, in_flight);
    assert_eq!(totals.sent, totals.delivered + totals.lost + in_flight);
    if let Some(program) = limits {
        check_credits(&balances, program);
    }
}

/// No credit is below zero or beyond its limit: that of its lane, and that of what all lanes of a
/// port share.
fn check_credits(balances: &[LinkBalance], program: Program) {
    let mut shared: BTreeMap<PortIndex, u32> = BTreeMap::new();
    for lane in balances {
        let dedicated = u32::from(program.dedicated);
        *shared.entry(lane.port).or_default() += lane.used.saturating_sub(dedicated);
        assert!(lane.used <= lane.limit, "{lane:?}");
    }
    let most = u32::from(program.shared);
    assert!(shared.values().all(|used| *used <= most), "{shared:?}");
}

/// Time of a flit on a lane of 25.78125 Gb/s, of which 64 bits in 66 are data: 64 bits at 25 Gb/s.
const FLIT_ONE_LANE: Picos = 2_560;
/// Flits of the largest packet, with what stands around its payload.
const LARGEST: u64 = 1_060;
/// Flits of the largest packet that can be sent in the middle of another.
const SMALL_MAX: u64 = 64 * 4;

/// No link has sent more flits since the last look than there was time for; what has begun counts
/// whole.
struct Rates {
    ports: Vec<PortIndex>,
    /// Time of a flit and flits sent by port.
    before: Vec<(Picos, u64)>,
    at: Picos,
}

impl Rates {
    fn new(network: &Network, at: Picos) -> Self {
        let ports = ports(network);
        let flit = |at: &PortIndex| {
            let info = network.port(*at).info();
            let lanes = info.link_width_downgrade_tx_active.lanes().max(1);
            (FLIT_ONE_LANE.div_ceil(u64::from(lanes)), 0)
        };
        Self {
            before: ports.iter().map(flit).collect(),
            ports,
            at,
        }
    }

    fn check(&mut self, simulation: &Shards<Storm>) {
        let span = simulation.now() - self.at;
        for (at, (flit, before)) in self.ports.iter().zip(&mut self.before) {
            let flits = simulation.flits_sent(*at);
            let most = span / *flit + LARGEST + SMALL_MAX;
            assert!(
                flits - *before <= most,
                "{at:?}: {flits} flits in {span} ps"
            );
            *before = flits;
        }
        self.at = simulation.now();
    }
}

fn ports(network: &Network) -> Vec<PortIndex> {
    let devices = network.devices();
    devices
        .flat_map(|(_, device)| device.ports().map(|(_, at)| at))
        .collect()
}

fn total<const N: usize>(network: &Network, counters: [Counter; N]) -> u64 {
    let ports = ports(network).into_iter();
    ports
        .flat_map(|at| counters.map(|counter| network.counter(at, counter)))
        .sum()
}

/// The middle of a storm: some steps, and a cable that is cut in one of them.
fn rage(case: &Case, simulation: &mut Shards<Storm>, network: &mut Network) {
    let start = case.start(network);
    simulation.run(start, 1);
    let mut rates = Rates::new(network, start);
    let mut limits = Some(case.program);
    for step in 1..=20 {
        simulation.run(start + step * 5 * MICRO, 1);
        check(simulation, limits);
        rates.check(simulation);
        if let Some(cut) = case.cut.filter(|_| step == 6) {
            let cables = ports(network).into_iter();
            let cables: Vec<_> = cables.filter(|at| network.has_cable(*at)).collect();
            network.cut_cable(cables[cut % cables.len()]);
            simulation.configure(network);
        }
        if let Some(percent) = case.squeeze.filter(|_| step == 9) {
            squeeze(network, case.program, percent);
            simulation.configure(network);
            // Data in flight may exceed the new limits for a while.
            limits = None;
        }
    }
}

fn squeeze(network: &mut Network, program: Program, percent: u16) {
    let part = |units: u16| (u32::from(units) * u32::from(percent) / 100) as u16;
    let less = Program {
        dedicated: part(program.dedicated),
        shared: part(program.shared),
        ..program
    };
    for at in ports(network) {
        set_buffers(network, at, less);
    }
}

fn sum(simulation: &Shards<Storm>, of: impl Fn(&Storm) -> i64) -> i64 {
    let parts = simulation.shards().iter();
    parts.map(|part| of(&part.traffic)).sum()
}

fn begin(case: &Case, network: &Network) -> Shards<Storm> {
    let mut simulation = Shards::new(network, &case.options(), case.shards, |_| {
        Storm::new(case, network)
    });
    for shard in simulation.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    simulation
}

/// Result of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    totals: Totals,
    moved: u64,
    marked: u64,
    ended: Picos,
}

fn run(case: &Case) -> Outcome {
    let mut network = case.network();
    let mut simulation = begin(case, &network);
    rage(case, &mut simulation, &mut network);
    let idle = simulation.drain(simulation.now() + 500 * MILLI, 1);
    assert!(idle, "up and down routes never stop");
    simulation.run(simulation.now() + 10 * MILLI, 1);
    check(&simulation, None);
    for lane in simulation.balances() {
        assert_eq!(lane.used, 0, "credits are back: {lane:?}");
        assert_eq!(lane.sent, lane.received + lane.lost, "{lane:?}");
    }
    simulation.settle(&mut network);
    let totals = simulation.totals();
    let discards = [
        Counter::XmitDiscards,
        Counter::RcvSwitchRelayErrors,
        Counter::RcvErrors,
    ];
    let discards = total(&network, discards);
    assert_eq!(totals.lost, discards, "every loss is counted");
    assert_eq!(sum(&simulation, Storm::open), 0, "every loss is told");
    let told = sum(&simulation, |storm| (storm.delivered + storm.lost) as i64);
    // A packet of congestion control returns for each received mark, without a notice.
    let answers = total(&network, [Counter::RcvFecn]);
    assert_eq!(totals.sent - told as u64, answers);
    let moved = simulation.routes_moved();
    if moved == 0 {
        assert_eq!(sum(&simulation, |storm| storm.disorder as i64), 0);
    }
    Outcome {
        totals,
        moved,
        marked: simulation.packets_marked(),
        ended: simulation.now(),
    }
}

/// Little's law, exactly: from an empty fabric to an empty one, the packets in it at each moment,
/// summed over time, are the times of all packets. Looked at in steps, each packet is seen once too
/// often or too rarely at most.
fn littles_law(case: &Case) {
    const STEP: Picos = MICRO / 5;
    let network = case.network();
    let mut simulation = begin(case, &network);
    let start = case.start(&network);
    simulation.run(start, 1);
    let mut seen = 0;
    // Each part counts down for the hosts that it owns.
    let to_send = |part: &Shard<Storm>| {
        let hosts = part.traffic.hosts.iter().zip(&part.traffic.left);
        let mut own = hosts.filter(|((at, _), _)| part.simulation.owns(*at));
        own.any(|(_, left)| *left > 0)
    };
    for step in 1.. {
        simulation.run(start + step * STEP, 1);
        let open = sum(&simulation, Storm::open) as u64;
        // Packets of congestion control are in the fabric too, without notices of their times.
        if case.variety.control.is_none() {
            assert_eq!(open, simulation.in_flight() as u64);
        }
        seen += open * STEP;
        if open == 0 && !simulation.shards().iter().any(to_send) {
            break;
        }
        assert!(step < 500_000, "up and down routes never stop");
    }
    let sojourn = sum(&simulation, |storm| storm.sojourn as i64) as u64;
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

/// The cases exercise all laws often enough.
#[test]
fn the_cases_drop_mark_and_move() {
    let mut runner = TestRunner::deterministic();
    let mut outcomes = Vec::new();
    for _ in 0..96 {
        let case = cases().new_tree(&mut runner).unwrap().current();
        outcomes.push(run(&case));
    }
    let many = |of: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| of(outcome)).count();
    let delivers = many(|outcome| outcome.totals.delivered > outcome.totals.lost);
    let drops = many(|outcome| outcome.totals.lost > 0);
    let marks = many(|outcome| outcome.marked > 0);
    let moves = many(|outcome| outcome.moved > 0);
    let happened = [delivers, drops, marks, moves];
    assert!(happened.iter().all(|cases| *cases > 3), "{happened:?}");
}
