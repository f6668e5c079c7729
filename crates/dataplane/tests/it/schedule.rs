//! Operations with dependencies, compared with closed forms.
#![allow(clippy::unwrap_used)]

use crate::common::{Program, network};
use weft_dataplane::packets::{MICRO, MILLI, NANO, Options, Picos, Simulation};
use weft_dataplane::traffic::Hosts;
use weft_dataplane::traffic::mpi::{Job, Mpi, Operation, RankSchedule, Schedule, Stack};
use weft_fabric::Sl;

/// Least time between two packets of an HFI.
const NEXT: Picos = 6_250;

/// A message of 8 bytes between ports of one block: endpoints, two cables, the switch, 60 bytes.
const HOP: Picos = (400 + 10 + 100 + 10 + 400) * NANO + 8 * 640;

fn send(to: u32) -> Operation {
    Operation::Send {
        to,
        bytes: 8,
        tag: 0,
    }
}

fn receive(from: u32) -> Operation {
    Operation::Receive { from, tag: 0 }
}

fn compute(span: Picos, processor: u32) -> Operation {
    Operation::Compute { span, processor }
}

/// Operations each of which waits for the one before it.
fn chain(operations: impl IntoIterator<Item = Operation>) -> RankSchedule {
    let mut rank = RankSchedule::default();
    for operation in operations {
        let number = rank.add(operation);
        if let Some(before) = number.checked_sub(1) {
            rank.ended[before as usize].push(number);
        }
    }
    rank
}

fn run(ranks: Vec<RankSchedule>) -> Schedule {
    let network = network("one-switch:4,radix=48", Program::default());
    let places: Vec<u32> = (0..ranks.len() as u32).collect();
    let mpi = Mpi::new(Hosts::all(&network), &places, Stack::PSM2, Sl(0));
    let mut simulation = Simulation::new(&network, Options::default());
    let mut job = Job::new(mpi, Schedule::new(0, ranks));
    assert!(job.run(&mut simulation, MILLI));
    job.program
}

fn time(ranks: Vec<RankSchedule>) -> Picos {
    run(ranks).time().unwrap()
}

#[test]
fn a_ping_pong_takes_its_messages() {
    let rounds = 10;
    let one = chain((0..rounds).flat_map(|_| [send(1), receive(1)]));
    let other = chain((0..rounds).flat_map(|_| [receive(0), send(0)]));
    let schedule = run(vec![one, other]);
    assert_eq!(schedule.time(), Some(2 * rounds * HOP));
    let sent: Vec<u64> = schedule.results().map(|rank| rank.sent).collect();
    assert_eq!(sent, [80, 80]);
}

/// A word goes around a ring of four ranks, with a computation at each.
#[test]
fn a_ring_takes_a_message_and_a_computation_at_each_rank() {
    let mut ranks = vec![chain([compute(MICRO, 0), send(1), receive(3)])];
    for rank in 1..4 {
        ranks.push(chain([
            receive(rank - 1),
            compute(MICRO, 0),
            send((rank + 1) % 4),
        ]));
    }
    assert_eq!(time(ranks), 4 * (MICRO + HOP));
}

/// A binary tree: what depends on two things waits for the later one.
#[test]
fn what_depends_on_two_things_waits_for_the_later() {
    let leaf = |span| chain([compute(span, 0), send(0)]);
    let mut root = RankSchedule::default();
    let fast = root.add(receive(1));
    let slow = root.add(receive(2));
    let sum = root.add(compute(3 * MICRO, 0));
    root.ended[fast as usize].push(sum);
    root.ended[slow as usize].push(sum);
    let wanted = 5 * MICRO + HOP + 3 * MICRO;
    assert_eq!(time(vec![root, leaf(MICRO), leaf(5 * MICRO)]), wanted);
}

#[test]
fn one_processor_computes_one_thing_at_a_time_and_two_both() {
    for (processors, wanted) in [([0, 0], 5 * MICRO), ([0, 1], 3 * MICRO)] {
        let mut rank = RankSchedule::default();
        rank.add(compute(2 * MICRO, processors[0]));
        rank.add(compute(3 * MICRO, processors[1]));
        assert_eq!(time(vec![rank]), wanted);
    }
}

/// An operation may also wait for the beginning of another one.
#[test]
fn what_waits_for_a_beginning_does_not_wait_for_the_end() {
    let with = |begun: bool| {
        let mut rank = RankSchedule::default();
        let long = rank.add(compute(9 * MICRO, 0));
        let next = rank.add(compute(4 * MICRO, 1));
        let waiting = if begun {
            &mut rank.begun
        } else {
            &mut rank.ended
        };
        waiting[long as usize].push(next);
        time(vec![rank])
    };
    assert_eq!((with(true), with(false)), (9 * MICRO, 13 * MICRO));
}

#[test]
fn a_message_may_come_before_anybody_waits_for_it() {
    let early = chain([send(1), send(1)]);
    let late = chain([compute(20 * MICRO, 0), receive(0), receive(0)]);
    assert_eq!(time(vec![early, late]), 20 * MICRO);
}

/// Three sends that an operation frees together leave in the order in which they stand.
#[test]
fn what_becomes_ready_together_begins_in_order() {
    for (first, at) in [
        (compute(MICRO, 0), MICRO),
        (compute(0, 0), 0),
        (receive(3), HOP),
    ] {
        let mut sender = RankSchedule::default();
        let free = sender.add(first);
        for to in 1..4 {
            let number = sender.add(send(to));
            sender.ended[free as usize].push(number);
        }
        let told = matches!(first, Operation::Receive { .. });
        let last = chain(told.then(|| send(0)).into_iter().chain([receive(0)]));
        let schedule = run(vec![sender, chain([receive(0)]), chain([receive(0)]), last]);
        let ends: Vec<Picos> = schedule.results().map(|rank| rank.time).collect();
        let wanted = [0, 1, 2].map(|place| at + HOP + place * NEXT);
        assert_eq!(ends[1..], wanted, "{first:?}");
    }
}

#[test]
fn a_circle_is_found_and_nothing_to_do_is_over_at_once() {
    let mut rank = chain([compute(1, 0), compute(1, 0), compute(1, 0)]);
    assert_eq!(rank.circle(), None);
    rank.ended[2].push(1);
    assert_eq!(rank.circle(), Some(1));
    assert_eq!(time(vec![RankSchedule::default()]), 0);
}
