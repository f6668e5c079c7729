//! Oracles that follow many packets at once find what one walk for each pair of hosts finds.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_fabric::enums::PortState;
use weft_fabric::{Lid, Lmc, Sl};
use weft_testkit::oracle::partitions::Secured;
use weft_testkit::oracle::reach::{End, walk};
use weft_testkit::oracle::{Breach, Invariant, levels, pairs, reach};
use weft_testkit::view::FabricView;
use weft_testkit::view::channels::{CHANNELS, Crossings, LANE_15};

use crate::oracles::ring;

const CASES: u64 = 400;
/// Key of a partition.
const KEY: u16 = 0x0005;
const FULL: u16 = 0x8000;

/// A ring with some damage: routes, links, LIDs, lanes and keys.
fn damaged(rng: &mut ChaCha8Rng) -> FabricView {
    let switches = rng.random_range(2..6);
    let mut view = ring(switches);
    let nodes = view.nodes.len();
    for node in &mut view.nodes {
        for keys in 0..node.ports.len() {
            let held = [FULL | KEY, KEY, 0x7FFF];
            let held = held.into_iter().filter(|_| rng.random_bool(0.6));
            node.keys.resize(keys, Vec::new());
            node.keys.push(held.collect());
        }
        for port in node.ports.iter_mut().flatten() {
            port.checks = (rng.random_bool(0.3), rng.random_bool(0.3));
        }
    }
    for _ in 0..rng.random_range(0..6) {
        let at = rng.random_range(0..nodes);
        let node = &mut view.nodes[at];
        let number = rng.random_range(0..node.ports.len());
        let port = rng.random_range(0..5);
        match rng.random_range(0..8) {
            0..3 if node.switch => {
                let lid = rng.random_range(0..node.lft.len());
                node.lft[lid] = port;
            }
            3 => node.ports[number]
                .iter_mut()
                .for_each(|end| end.state = PortState::ARMED),
            4 => node.ports[number]
                .iter_mut()
                .for_each(|end| end.peer = None),
            5 => node.ports[number]
                .iter_mut()
                .for_each(|end| end.lid = Lid(u32::from(port))),
            6 => {
                let channel = rng.random_range(0..usize::from(CHANNELS));
                node.channels.sc_to_vl[number][channel] = LANE_15;
            }
            _ => {
                let channel = rng.random_range(0..usize::from(CHANNELS));
                let mut map = node.channels.sl_to_sc;
                map[channel] = port;
                match rng.random_bool(0.5) {
                    true => node.channels.sl_to_sc = map,
                    false => node.channels.sc_to_sc = Crossings::Uniform(map),
                }
            }
        }
    }
    if rng.random_bool(0.2) {
        let host = rng.random_range(switches..nodes);
        view.nodes[host].ports[1]
            .iter_mut()
            .for_each(|end| end.lmc = Lmc(1));
    }
    view
}

/// Runs a check on damaged fabrics and compares; at least some of them must have breaches.
fn compare(check: impl Fn(&FabricView) -> [BTreeSet<String>; 2]) {
    let mut broken = 0;
    for seed in 0..CASES {
        let view = damaged(&mut ChaCha8Rng::seed_from_u64(seed));
        let [found, wanted] = check(&view);
        assert_eq!(found, wanted, "seed {seed}");
        broken += u64::from(!wanted.is_empty());
    }
    assert!((CASES / 50..CASES).contains(&broken), "{broken} of {CASES}");
}

fn texts(breaches: Vec<Breach>, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let texts = breaches.into_iter().map(|breach| breach.what);
    texts.filter(|what| wanted(what)).collect()
}

#[test]
fn nodes_that_are_not_reached_are_those_of_single_walks() {
    compare(|view| {
        let served = view.served(0);
        let members = || (0..view.nodes.len()).filter(|node| served[*node]);
        let mut missed = BTreeSet::new();
        for target in members() {
            let end = view.nodes[target].end_port().unwrap();
            for lid in end.lid.0..end.lid.0 + end.lmc.lids() {
                for from in members().filter(|from| *from != target) {
                    if walk(view, from, Lid(lid), |_, _| {}) != End::At(target) {
                        let (from, to) = (view.nodes[from].guid, view.nodes[target].guid);
                        missed.insert(format!("{from} to LID {lid:#x} of {to}"));
                    }
                }
            }
        }
        let found = texts(reach::check_reachable(view, 0), |what| {
            what.contains(" to LID ")
        });
        let shortened = found
            .iter()
            .map(|what| what.rsplit_once(": ").unwrap().0.to_owned());
        [shortened.collect(), missed]
    });
}

#[test]
fn lids_that_go_round_are_those_of_single_walks() {
    compare(|view| {
        let goes_round = |lid: &Lid| {
            // What comes back to a host has come to its end there, and is no circle.
            let mut switches = (0..view.nodes.len()).filter(|at| view.nodes[*at].switch);
            switches.any(|from| matches!(walk(view, from, *lid, |_, _| {}), End::Loop(_)))
        };
        let lids = view.nodes.iter().flat_map(|node| node.lids());
        let round = lids
            .filter(goes_round)
            .map(|lid| format!("LID {:#x}", lid.0));
        let found = texts(reach::check_loops(view), |_| true);
        let shortened = found
            .iter()
            .map(|what| what.split(" goes").next().unwrap().to_owned());
        [shortened.collect(), round.collect()]
    });
}

/// Whether a packet of a host arrives, hop by hop through the registers.
fn arrives(view: &FabricView, from: usize, target: usize, lid: Lid, level: Sl) -> bool {
    let mut channel = view.nodes[from].channels.of_level(level);
    let (mut at, mut egress, mut ingress) = (from, 1, 0);
    for _ in 0..=view.nodes.len() * usize::from(CHANNELS) {
        let node = &view.nodes[at];
        if at != from || node.switch {
            if !node.switch {
                return at == target;
            }
            egress = node.lft.get(lid.0 as usize).copied().unwrap_or(0xFF);
            channel = node.channels.across(ingress, egress, channel);
        }
        let live = node
            .port(egress)
            .filter(|end| end.state == PortState::ACTIVE);
        let lane = node.channels.lane(egress, channel);
        let Some((peer, port)) = live.and_then(|end| end.peer).filter(|_| lane.is_some()) else {
            return false;
        };
        let far = view.nodes[peer].port(port).unwrap();
        if far.state < PortState::ARMED || peer == from {
            return peer == target && far.state >= PortState::ARMED;
        }
        (at, ingress) = (peer, port);
    }
    false
}

#[test]
fn levels_that_do_not_arrive_are_those_of_single_walks() {
    let used: BTreeSet<Sl> = (0..CHANNELS).map(Sl).collect();
    compare(|view| {
        let served = view.served(0);
        let hosts = || (0..view.nodes.len()).filter(|at| served[*at] && !view.nodes[*at].switch);
        let mut dropped = BTreeSet::new();
        for target in hosts() {
            for lid in view.nodes[target].lids() {
                for from in hosts().filter(|from| *from != target) {
                    let mut levels = used.iter();
                    let first = levels.find(|level| !arrives(view, from, target, lid, **level));
                    dropped.extend(first.map(|Sl(level)| {
                        let (from, to) = (view.nodes[from].guid, view.nodes[target].guid);
                        format!("{from} to LID {lid} of {to} at SL {level}: dropped on the way")
                    }));
                }
            }
        }
        [texts(levels::check(view, 0, &used), |_| true), dropped]
    });
}

/// Whether packets with a claim come from one host to another.
fn passes(view: &FabricView, from: usize, to: usize, claim: u16) -> bool {
    let may_send =
        |entry: u16| claim & !FULL == entry & !FULL && (claim & FULL == 0 || entry & FULL != 0);
    let may_receive = |entry: u16| claim & !FULL == entry & !FULL && (claim | entry) & FULL != 0;
    let keys = |(node, port): (usize, u8)| view.nodes[node].keys[usize::from(port)].clone();
    let at_switch = |host: usize| view.nodes[host].port(1).unwrap().peer;
    let checks = |(node, port): (usize, u8)| view.nodes[node].port(port).unwrap().checks;
    let leaves = match at_switch(from) {
        Some(at) => !checks(at).0 || keys(at).into_iter().any(may_send),
        None => keys((from, 1)).into_iter().any(may_send),
    };
    let last = at_switch(to);
    let enters = last.is_none_or(|at| !checks(at).1 || keys(at).into_iter().any(may_receive));
    leaves && enters && keys((to, 1)).into_iter().any(may_receive)
}

#[test]
fn pairs_whose_keys_are_wrong_are_those_of_single_packets() {
    compare(|view| {
        let served = view.served(0);
        let hosts = || (0..view.nodes.len()).filter(|at| served[*at] && !view.nodes[*at].switch);
        let full: BTreeSet<_> = hosts()
            .step_by(2)
            .map(|host| view.nodes[host].guid)
            .collect();
        let limited: BTreeSet<_> = hosts()
            .skip(1)
            .step_by(2)
            .map(|host| view.nodes[host].guid)
            .collect();
        let is_full = |host: usize| full.contains(&view.nodes[host].guid);
        let mut wrong = BTreeSet::new();
        for from in hosts() {
            for to in hosts().filter(|to| *to != from) {
                // All hosts are members.
                let permitted = |claim: u16| match claim & FULL != 0 {
                    true => is_full(from),
                    false => is_full(to),
                };
                let mut claims = [FULL | KEY, KEY].into_iter();
                if claims.any(|claim| passes(view, from, to, claim) != permitted(claim)) {
                    wrong.insert((from, to));
                }
            }
        }
        let secured = Secured {
            key: KEY,
            full: full.clone(),
            limited,
        };
        let found = pairs::check(view, 0, &[secured]);
        assert!(
            found
                .iter()
                .all(|breach| breach.invariant == Invariant::Isolated)
        );
        // Of hosts that are alike only some pairs are told: all that are told are wrong, and none is missing alone.
        let told = |(from, to): &(usize, usize)| {
            let (from, to) = (
                view.nodes[*from].guid.to_string(),
                view.nodes[*to].guid.to_string(),
            );
            let both = |breach: &Breach| {
                breach.what.contains(&format!(" of {from} ")) && breach.what.ends_with(&to)
            };
            found.iter().any(both)
        };
        let count = wrong.iter().filter(|pair| told(pair)).count();
        assert_eq!(count, found.len(), "{found:?}");
        let some = |any: bool| any.then(|| "some".to_owned()).into_iter().collect();
        [some(!found.is_empty()), some(!wrong.is_empty())]
    });
}
