//! A fabric in shards: the same packets, moments and counters wherever it is cut.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::cases::{FABRICS, programs, queueings};
use crate::common::vary::{Variety, varied, varieties};
use crate::common::{Program, hosts, network, parcel, registers};
use proptest::prelude::*;
use weft_dataplane::packets::{
    HeadOfQueue, LinkBalance, MICRO, MILLI, Notice, Options, Order, Picos, Queueing, Random,
    Shards, Simulation, Totals, Traffic,
};
use weft_dataplane::traffic::{Hosts, Pattern, Streams, StreamsOptions};
use weft_dataplane::{Counter, Network, PortIndex, VlCounter};
use weft_fabric::{Lid, Sl, Vl};

const GROUP: u32 = 9;

/// Inputs of a run.
#[derive(Debug, Clone)]
struct Case {
    fabric: usize,
    seed: u64,
    program: Program,
    variety: Variety,
    queueing: (Queueing, HeadOfQueue),
    adaptive: bool,
    control: bool,
    group: bool,
    /// Each host sends whenever there is room, not only now and then.
    eager: bool,
    packets: u32,
    /// A cable to cut in the middle.
    cut: Option<usize>,
}

fn cases() -> impl Strategy<Value = Case> {
    let flags = (
        queueings(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    let cut = proptest::option::of(0_usize..1_000);
    let numbers = (0..FABRICS.len(), any::<u64>(), 1_u32..60, cut);
    let strategy = (programs(), varieties(), flags, numbers);
    strategy.prop_map(
        |(program, variety, flags, (fabric, seed, packets, cut))| Case {
            fabric,
            seed,
            program,
            variety,
            queueing: flags.0,
            adaptive: flags.1,
            control: flags.2,
            group: flags.3,
            eager: flags.4,
            packets,
            cut,
        },
    )
}

/// Hosts that send to random others, each by itself, and all their notices.
struct Crowd {
    case: Case,
    hosts: Arc<Vec<(PortIndex, Lid)>>,
    random: Vec<Random>,
    /// Packets that each has yet to send.
    left: Vec<u32>,
    log: Vec<(Picos, Notice)>,
}

impl Crowd {
    fn new(case: &Case, hosts: &Arc<Vec<(PortIndex, Lid)>>) -> Self {
        let random = 0..hosts.len() as u64;
        Self {
            case: case.clone(),
            random: random.map(|host| Random::of(case.seed, host)).collect(),
            left: vec![case.packets; hosts.len()],
            hosts: hosts.clone(),
            log: Vec::new(),
        }
    }

    fn start(&mut self, simulation: &mut Simulation) {
        for host in 0..self.hosts.len() {
            if simulation.owns(self.hosts[host].0) {
                simulation.set_timer(0, host as u64);
            }
        }
    }

    fn send(&mut self, simulation: &mut Simulation, from: usize) {
        if self.left[from] == 0 {
            return;
        }
        self.left[from] -= 1;
        let random = &mut self.random[from];
        let others = self.hosts.len() as u32 - 1;
        let to = (from + 1 + random.below(others) as usize) % self.hosts.len();
        let sl = random.below(u32::from(self.case.variety.levels(self.case.program))) as u8;
        // Packets of equal length from many hosts at once: many things happen at one moment.
        let bytes = [256, 2_048, 2_048, 8_192][random.below(4) as usize];
        let mut packet = parcel(&self.hosts, from, to, self.left[from], sl, bytes);
        if self.case.group && random.below(8) == 0 {
            packet.dlid = Lid(Lid::MULTICAST_BASE.0 + GROUP);
        }
        simulation.send(packet);
    }
}

impl Traffic for Crowd {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        self.log.push((simulation.now(), notice));
        match notice {
            Notice::Timer(from) if self.left[from as usize] > 0 => {
                self.send(simulation, from as usize);
                let span = if self.case.eager { 1 } else { 100 };
                let next = u64::from(self.random[from as usize].below(8)) * span * 10_240;
                simulation.set_timer(simulation.now() + next, from);
            }
            Notice::Room(at) if self.case.eager => {
                let from = self.hosts.iter().position(|(host, _)| *host == at);
                self.send(simulation, from.unwrap());
            }
            _ => {}
        }
    }
}

/// All that can be seen of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    log: Vec<(Picos, String)>,
    halfway: (Totals, usize, Vec<LinkBalance>),
    drained: bool,
    end: (Totals, usize, Picos, u64),
    counters: Vec<Vec<u64>>,
}

const LANE: [VlCounter; 13] = [
    VlCounter::XmitData,
    VlCounter::RcvData,
    VlCounter::XmitPkts,
    VlCounter::RcvPkts,
    VlCounter::XmitWait,
    VlCounter::SwPortCongestion,
    VlCounter::RcvFecn,
    VlCounter::RcvBecn,
    VlCounter::XmitWaitData,
    VlCounter::RcvBubble,
    VlCounter::XmitTimeCong,
    VlCounter::MarkFecn,
    VlCounter::XmitDiscards,
];

fn counters(network: &Network) -> Vec<Vec<u64>> {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports());
    ports
        .map(|(_, at)| {
            let port = Counter::ALL.map(|counter| network.counter(at, counter));
            let lane = |vl: u8| LANE.map(|counter| network.lane_counter(at, Vl(vl), counter));
            port.into_iter().chain((0..8).flat_map(lane)).collect()
        })
        .collect()
}

fn stage(case: &Case) -> Network {
    let mut network = varied(FABRICS[case.fabric], case.program, &case.variety);
    if case.adaptive {
        registers::adapt(&mut network);
    }
    if case.control {
        registers::control(&mut network, 15, 1);
    }
    if case.group && !network.topology().switches().is_empty() {
        registers::program_group(&mut network, GROUP);
    }
    network
}

fn run(case: &Case, shards: usize, threads: usize) -> Seen {
    let mut network = stage(case);
    let options = Options {
        seed: case.seed,
        queueing: case.queueing.0,
        head_of_queue: case.queueing.1,
        order: Order::Place,
        ..Options::default()
    };
    let hosts = Arc::new(hosts(&network));
    let mut shards = Shards::new(&network, &options, shards, |_| Crowd::new(case, &hosts));
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    shards.run(10 * MICRO, threads);
    if let Some(cut) = case.cut {
        let cables: Vec<PortIndex> = all_ports(&network)
            .filter(|at| network.has_cable(*at))
            .collect();
        network.cut_cable(cables[cut % cables.len()]);
        shards.configure(&network);
    }
    shards.run(15 * MICRO, threads);
    let halfway = (shards.totals(), shards.in_flight(), shards.balances());
    let drained = shards.drain(200 * MICRO, threads);
    let end = (
        shards.totals(),
        shards.in_flight(),
        shards.now(),
        shards.routes_moved(),
    );
    shards.settle(&mut network);
    let notices = shards.shards().iter().flat_map(|shard| &shard.traffic.log);
    let mut log: Vec<_> = notices
        .map(|(at, notice)| (*at, format!("{notice:?}")))
        .collect();
    log.sort();
    Seen {
        log,
        halfway,
        drained,
        end,
        counters: counters(&network),
    }
}

fn all_ports(network: &Network) -> impl Iterator<Item = PortIndex> {
    let devices = network.devices();
    devices.flat_map(|(_, device)| device.ports().map(|(_, at)| at))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_shards_and_threads_gives_the_same_run(case in cases()) {
        let alone = run(&case, 1, 1);
        for (shards, threads) in [(2, 2), (3, 1), (5, 2)] {
            let seen = run(&case, shards, threads);
            prop_assert_eq!(&alone, &seen, "{} shards, {} threads", shards, threads);
        }
    }
}

/// The patterns of whole fabrics, with much that happens at the same moment.
#[test]
fn streams_receive_the_same_in_any_number_of_shards() {
    let network = network(
        "fattree:32,radix=8",
        Program {
            lanes: 4,
            ..Program::default()
        },
    );
    let hosts = Hosts::all(&network);
    let permutation = Pattern::random_permutation(hosts.len() as u32, &mut Random::new(3));
    let hotspot = Pattern::Hotspot { to: 5, percent: 20 };
    for (pattern, load) in [
        (Pattern::Uniform, None),
        (Pattern::Uniform, Some(0.4)),
        (permutation, None),
        (Pattern::Shift(16), None),
        (hotspot, Some(0.3)),
    ] {
        let options = StreamsOptions {
            pattern: pattern.clone(),
            bytes: 2_112,
            levels: (0..4).map(Sl).collect(),
            load,
            begin: 0,
            seed: 11,
        };
        let received = |count: usize| {
            let hardware = Options {
                order: Order::Place,
                ..Options::default()
            };
            let streams = |_: &Simulation| Streams::new(hosts.clone(), options.clone());
            let mut shards = Shards::new(&network, &hardware, count, streams);
            assert_eq!(shards.shards().len(), count);
            for shard in shards.shards_mut() {
                shard.traffic.start(&mut shard.simulation);
            }
            shards.run(MILLI / 20, 2);
            let of = |host: usize| {
                let parts = shards.shards().iter();
                parts.map(|part| part.traffic.received()[host]).sum()
            };
            let all: Vec<weft_dataplane::traffic::Received> = (0..hosts.len()).map(of).collect();
            (all, shards.totals())
        };
        let (alone, totals) = received(1);
        assert!(totals.delivered > 1_000, "{pattern:?}: {totals:?}");
        for count in [2, 3, 5] {
            assert_eq!(
                (&alone, &totals),
                (&received(count).0, &received(count).1),
                "{pattern:?}"
            );
        }
    }
}

/// Shards of a fat tree have about as many events each.
#[test]
fn a_fat_tree_is_cut_into_equal_parts() {
    let network = network("fattree:128,radix=16", Program::default());
    let hosts = Hosts::all(&network);
    let options = StreamsOptions {
        pattern: Pattern::Uniform,
        bytes: 2_112,
        levels: Vec::new(),
        load: Some(0.5),
        begin: 0,
        seed: 1,
    };
    for count in [2, 4] {
        let streams = |_: &Simulation| Streams::new(hosts.clone(), options.clone());
        let mut shards = Shards::new(&network, &Options::default(), count, streams);
        for shard in shards.shards_mut() {
            shard.traffic.start(&mut shard.simulation);
        }
        shards.run(20 * MICRO, 2);
        let mean = shards.totals().events / count as u64;
        for shard in shards.shards() {
            let events = shard.simulation.totals().events;
            assert!(events.abs_diff(mean) * 20 < mean, "{events} of {mean}");
        }
    }
}
