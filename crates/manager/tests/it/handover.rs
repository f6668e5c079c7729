//! Partitions that pass from some ports to others: nobody has more than before or after, at any moment.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use weft_dataplane::{Network, PortIndex};
use weft_emulator::io::Control;
use weft_emulator::observe::{Observer, SetDone};
use weft_fabric::{Guid, PortNum};
use weft_manager::Settings;
use weft_manager::sm::settings::{Members, Partition, Selector};
use weft_wire::sm::AttributeId;

use crate::common::{World, settings};

const FABRIC: &str = "fattree:6,radix=4";
/// Partitions of data besides the default one.
const KEYS: [u16; 3] = [5, 6, 7];

/// Membership of a host in a partition: a full member counts for more than a limited one.
type Rank = u8;
const LIMITED: Rank = 1;
const FULL: Rank = 2;

/// Members of each partition, and whether it is secured.
type Wish = BTreeMap<u16, (bool, Vec<Rank>)>;

/// For each partition the pairs of hosts that may talk to each other in it.
type Pairs = BTreeSet<(u16, usize, usize)>;

/// A sequence of numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    fn wish(&mut self, hosts: usize) -> Wish {
        let member = |dice: &mut Self| [0, 0, LIMITED, FULL, FULL][dice.below(5) as usize];
        // Switches check keys where a partition is secured.
        let checked = self.below(3) > 0;
        let partition = |key: &u16| {
            let secured = checked && self.below(3) > 0;
            (*key, (secured, (0..hosts).map(|_| member(self)).collect()))
        };
        KEYS.iter().map(partition).collect()
    }
}

fn with(wish: &Wish, hosts: &[Guid]) -> Settings {
    let mut settings = settings();
    let is_checked = wish.values().any(|(secured, _)| *secured);
    let management = settings.partitions.iter_mut();
    management.for_each(|partition| partition.secured &= is_checked);
    let partitions = wish.iter().map(|(key, (secured, ranks))| {
        let of = |rank: Rank| {
            let members = hosts
                .iter()
                .zip(ranks)
                .filter(move |(_, own)| **own == rank);
            Members::of(members.map(|(host, _)| Selector::NodeGuid(*host)))
        };
        Partition {
            key: *key,
            secured: *secured,
            full: of(FULL),
            limited: of(LIMITED),
        }
    });
    settings.partitions.extend(partitions);
    settings
}

/// What a host's table is to have of a partition.
fn rank(wish: &Wish, key: u16, host: usize) -> Rank {
    match wish[&key] {
        (false, ref ranks) if ranks[host] > 0 => FULL,
        (_, ref ranks) => ranks[host],
    }
}

fn pairs(hosts: usize, rank: impl Fn(u16, usize) -> Rank) -> Pairs {
    let all = KEYS.iter().flat_map(|key| {
        let pairs = (0..hosts).flat_map(move |a| (0..a).map(move |b| (*key, a, b)));
        pairs.filter(|(key, a, b)| {
            let (a, b) = (rank(*key, *a), rank(*key, *b));
            a.min(b) > 0 && a.max(b) == FULL
        })
    });
    all.collect()
}

/// What a port holds of a partition.
fn held(network: &Network, at: PortIndex, key: u16) -> Rank {
    let own = network.port(at).p_keys().filter(|own| own & 0x7FFF == key);
    own.map(|own| LIMITED + (own >> 15) as u8)
        .max()
        .unwrap_or(0)
}

/// What a host can use of a partition: what its table has, and what the switch's port before it lets pass.
fn usable(network: &Network, host: Guid, key: u16) -> Rank {
    let device = network.device(network.find(host).unwrap()).unwrap();
    let at = device.port(PortNum(1)).unwrap();
    let before = network.peer(at).unwrap();
    match network.port(before).info().partition_enforcement_inbound {
        true => held(network, at, key).min(held(network, before, key)),
        false => held(network, at, key),
    }
}

/// What may be at any moment, and what was and may not have been.
#[derive(Debug, Default)]
struct Rules {
    hosts: Vec<Guid>,
    /// Most that each host may hold of each partition.
    most: BTreeMap<(u16, usize), Rank>,
    pairs: Pairs,
    broken: Vec<String>,
    /// Sets of P_Key tables so far.
    sets: usize,
}

#[derive(Debug, Clone, Default)]
struct Watch(Arc<Mutex<Rules>>);

impl Observer for Watch {
    fn set_done(&mut self, network: &Network, done: SetDone) {
        let mut rules = self.0.lock().unwrap();
        let is_keys = done.attribute == AttributeId::P_KEY_TABLE;
        if !is_keys && done.attribute != AttributeId::PORT_INFO {
            return;
        }
        rules.sets += usize::from(is_keys);
        let hosts = rules.hosts.clone();
        for ((key, host), most) in rules.most.clone() {
            let device = network.device(network.find(hosts[host]).unwrap()).unwrap();
            let at = device.port(PortNum(1)).unwrap();
            for (what, at) in [("", at), ("port before ", network.peer(at).unwrap())] {
                let checks = network.port(at).info().partition_enforcement_inbound;
                let rank = held(network, at, key);
                if rank > most && (what.is_empty() || checks) {
                    rules
                        .broken
                        .push(format!("{what}host {host} holds {rank} of {key}"));
                }
            }
        }
        let now = pairs(hosts.len(), |key, host| usable(network, hosts[host], key));
        let wider: Vec<_> = now.difference(&rules.pairs).copied().collect();
        rules
            .broken
            .extend(wider.iter().map(|pair| format!("{pair:?} can talk")));
    }
}

/// A fabric that is up, with somebody who watches it.
struct Watched {
    world: World,
    watch: Watch,
    hosts: Vec<Guid>,
    wish: Wish,
}

impl Watched {
    fn new(wish: Wish) -> Self {
        let topology = crate::common::fabric(FABRIC);
        let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
        let mut world = World::new(FABRIC, with(&wish, &hosts));
        world.sweep();
        world.run_for(3.0);
        world.assert_all_active();
        let watch = Watch::default();
        world.emulator.observe(Box::new(watch.clone()));
        watch.0.lock().unwrap().hosts = hosts.clone();
        Self {
            world,
            watch,
            hosts,
            wish,
        }
    }

    /// Puts other partitions in force; gives the sweep's report and the number of P_Key tables written.
    fn change(&mut self, wish: Wish) -> (weft_manager::SweepReport, usize) {
        let count = self.hosts.len();
        let both = |key, host| rank(&self.wish, key, host).max(rank(&wish, key, host));
        let allowed =
            [&self.wish, &wish].map(|wish| pairs(count, |key, host| rank(wish, key, host)));
        {
            let mut rules = self.watch.0.lock().unwrap();
            let all = KEYS
                .iter()
                .flat_map(|key| (0..count).map(move |host| (*key, host)));
            rules.most = all
                .map(|(key, host)| ((key, host), both(key, host)))
                .collect();
            rules.pairs = &allowed[0] | &allowed[1];
            rules.sets = 0;
        }
        self.world
            .manager
            .reconfigure(self.world.now, with(&wish, &self.hosts));
        self.wish = wish;
        let report = self.world.sweep();
        let mut rules = self.watch.0.lock().unwrap();
        assert_eq!(std::mem::take(&mut rules.broken), Vec::<String>::new());
        (report, rules.sets)
    }

    fn assert_done(&self) {
        let network = self.world.emulator.network();
        for (host, guid) in self.hosts.iter().enumerate() {
            for key in KEYS {
                let held = usable(network, *guid, key);
                assert_eq!(held, rank(&self.wish, key, host), "host {host}, {key}");
            }
        }
    }
}

fn secured(ranks: &[(u16, [Rank; 6])]) -> Wish {
    let mut wish: Wish = KEYS.iter().map(|key| (*key, (true, vec![0; 6]))).collect();
    wish.extend(
        ranks
            .iter()
            .map(|(key, ranks)| (*key, (true, ranks.to_vec()))),
    );
    wish
}

#[test]
fn no_change_opens_more_than_before_and_after() {
    for seed in 0..60 {
        let mut dice = Dice(seed);
        let mut watched = Watched::new(dice.wish(6));
        for host in watched.hosts.clone() {
            let extra_ns = dice.below(400) * 1_000;
            watched.world.control(Control::Slow {
                node: host,
                extra_ns,
            });
        }
        for _ in 0..4 {
            let (report, _) = watched.change(dice.wish(6));
            assert_eq!(report.unfinished, Vec::<String>::new(), "seed {seed}");
            watched.assert_done();
        }
        assert_eq!(watched.world.forced_sweep().sets, 0, "seed {seed}");
    }
}

/// A host takes the place of another one: two tables of each change, first those of the host that loses, and neither
/// host is asked to register again more than once.
#[test]
fn a_partition_that_passes_on_is_given_up_first() {
    let mut watched = Watched::new(secured(&[(5, [2, 2, 0, 0, 0, 0])]));
    let before: Vec<u32> = watched
        .hosts
        .iter()
        .map(|host| watched.world.reregistrations(*host))
        .collect();
    let (_, sets) = watched.change(secured(&[(5, [2, 0, 0, 0, 0, 2])]));
    watched.assert_done();
    assert_eq!(sets, 4, "of two hosts and the ports before them");
    let asked: Vec<u32> = watched
        .hosts
        .iter()
        .zip(before)
        .map(|(host, before)| watched.world.reregistrations(*host) - before)
        .collect();
    assert_eq!(asked, [0, 1, 0, 0, 0, 1]);
}

#[test]
fn two_hosts_that_change_places_are_written_twice() {
    let mut watched = Watched::new(secured(&[(5, [2, 2, 0, 0, 0, 0]), (6, [0, 0, 2, 2, 0, 0])]));
    let (_, sets) = watched.change(secured(&[(5, [2, 0, 2, 0, 0, 0]), (6, [0, 2, 0, 2, 0, 0])]));
    watched.assert_done();
    assert_eq!(sets, 8);
}

#[test]
fn what_nobody_loses_is_written_at_once() {
    let mut watched = Watched::new(secured(&[(5, [2, 2, 0, 0, 0, 0])]));
    let (_, sets) = watched.change(secured(&[(5, [2, 2, 2, 1, 0, 0]), (6, [0, 0, 0, 2, 2, 0])]));
    watched.assert_done();
    assert_eq!(sets, 6, "three hosts, in one table each");
}

/// A host that does not answer keeps its table; the switch's port before it has given the partition up.
#[test]
fn a_silent_host_is_cut_off_by_its_switch() {
    let mut watched = Watched::new(secured(&[(5, [2, 0, 0, 0, 0, 2])]));
    let node = watched.hosts[5];
    watched
        .world
        .control(Control::Silence { node, silent: true });
    let (report, _) = watched.change(secured(&[(5, [2, 0, 2, 0, 0, 0])]));
    assert!(!report.unfinished.is_empty());
    watched.assert_done();
}

/// Where nothing checks keys, others wait for a host that does not answer.
#[test]
fn others_wait_for_a_silent_host_that_nothing_checks() {
    let open = |ranks: [Rank; 6]| {
        let mut wish = secured(&[(5, ranks)]);
        wish.values_mut().for_each(|(secured, _)| *secured = false);
        wish
    };
    let mut watched = Watched::new(open([2, 0, 0, 0, 0, 2]));
    let node = watched.hosts[5];
    watched
        .world
        .control(Control::Silence { node, silent: true });
    let (report, _) = watched.change(open([2, 0, 2, 0, 0, 0]));
    let waits = "1 P_Key tables wait for ports that have not given up partitions";
    assert!(
        report.unfinished.iter().any(|one| one.starts_with(waits)),
        "{report:?}"
    );
    watched.world.control(Control::Silence {
        node,
        silent: false,
    });
    watched.world.run_for(30.0);
    watched.assert_done();
}

/// A manager that starts anew with another configuration reads what ports hold before it writes.
#[test]
fn a_restart_with_other_partitions_opens_no_more() {
    for seed in 0..20 {
        let mut dice = Dice(1_000 + seed);
        let mut watched = Watched::new(dice.wish(6));
        let stored = watched.world.persisted.clone();
        let wish = dice.wish(6);
        watched
            .world
            .restart(with(&wish, &watched.hosts), stored.as_deref());
        let (report, _) = watched.change(wish);
        assert_eq!(report.unfinished, Vec::<String>::new(), "seed {seed}");
        watched.assert_done();
        assert_eq!(watched.world.forced_sweep().sets, 0, "seed {seed}");
    }
}
