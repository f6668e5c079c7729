//! Lost packets: detection, timing, and recovery.
#![allow(clippy::unwrap_used)]

use crate::common::network;
use proptest::prelude::*;
use weft_dataplane::constants::{
    OPX_RECEIVE, PSM2_RECEIVE, PSM2_RESEND, SDMA_CALL, TCP_PROBE, TCP_RESEND, VERBS_RECEIVE,
    VERBS_RESEND, VERBS_SEND,
};
use weft_dataplane::packets::{
    Delivery, Loss, MILLI, NANO, Notice, Options, Picos, Random, Simulation, Traffic,
};
use weft_dataplane::traffic::Hosts;
use weft_dataplane::traffic::mpi::{Done, Job, Mpi, Program, Stack};
use weft_fabric::{Sl, Vl};

const END: Picos = 400 * NANO;
/// First bit to last bit of a packet of `flits` flits, along two cables and through one switch.
const fn way(flits: u64) -> Picos {
    120 * NANO + flits * 640
}
/// A packet of PSM2 with nothing inside.
const CONTROL: Picos = way(8);
/// Least time between two packets that are written.
const NEXT: Picos = 6_250;

/// Messages with their senders and receivers, all begun at once, and the times of their arrival.
struct Post {
    messages: Vec<(u32, u32, u64)>,
    reads: bool,
    got: Vec<(u32, Picos)>,
}

impl Program for Post {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (tag, (from, to, bytes)) in self.messages.iter().enumerate() {
            if self.reads {
                mpi.read(simulation, *to, *from, *bytes, tag as u32);
            } else {
                mpi.send(simulation, *from, *to, *bytes, tag as u32);
            }
        }
    }

    fn done(&mut self, _: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if let Done::Received { rank, from, tag } = done {
            let (wanted_from, wanted, _) = self.messages[tag as usize];
            assert_eq!((rank, from), (wanted, wanted_from));
            self.got.push((tag, simulation.now()));
        }
    }

    fn has_ended(&self) -> bool {
        self.got.len() == self.messages.len()
    }
}

const HOUR: Picos = 3_600_000 * MILLI;

/// A job of which some packets are dropped where they arrive.
struct Faulty<D> {
    job: Job<Post>,
    drops: D,
    arrived: usize,
}

impl<D: FnMut(usize) -> bool> Traffic for Faulty<D> {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        let notice = match notice {
            Notice::Delivered(delivery) => self.arrives(delivery),
            other => other,
        };
        self.job.handle(simulation, notice);
    }
}

impl<D: FnMut(usize) -> bool> Faulty<D> {
    fn arrives(&mut self, delivery: Delivery) -> Notice {
        self.arrived += 1;
        if !(self.drops)(self.arrived - 1) {
            return Notice::Delivered(delivery);
        }
        Notice::Lost(Loss {
            at: delivery.at,
            vl: Vl(0),
            tag: delivery.tag,
            born: delivery.born,
        })
    }

    /// Runs until all have arrived and nothing is in flight. Of eight packets of a segment all must arrive: with
    /// a TCP that waits two minutes between tries that can take days.
    fn run(&mut self, simulation: &mut Simulation) {
        self.job.start(simulation);
        let mut until = 0;
        while !self.job.program.has_ended() {
            until += (until / 64).max(100 * MILLI);
            assert!(until < 1_000 * HOUR, "{:?}", self.job.mpi.tally());
            simulation.run(self, until);
            let tally = self.job.mpi.tally();
            let gone = tally.taken + tally.refused + tally.lost;
            assert_eq!(tally.sent, gone + simulation.in_flight() as u64);
        }
        assert!(simulation.drain(self, until + MILLI));
    }
}

/// Ranks 0 to 3 on two hosts of one switch, two on each.
fn run(
    stack: Stack,
    reads: bool,
    messages: &[(u32, u32, u64)],
    drops: impl FnMut(usize) -> bool,
) -> (Post, Mpi) {
    let network = network("one-switch:2,radix=48", crate::common::Program::default());
    let mpi = Mpi::new(Hosts::all(&network), &[0, 0, 1, 1], stack, Sl(0));
    let mut simulation = Simulation::new(&network, Options::default());
    let program = Post {
        messages: messages.to_vec(),
        reads,
        got: Vec::new(),
    };
    let job = Job::new(mpi, program);
    let mut faulty = Faulty {
        job,
        drops,
        arrived: 0,
    };
    faulty.run(&mut simulation);
    let tally = faulty.job.mpi.tally();
    assert_eq!(tally.sent, tally.taken + tally.refused + tally.lost);
    assert_eq!(simulation.totals().sent, tally.sent);
    (faulty.job.program, faulty.job.mpi)
}

/// Times at which messages were received, by number.
fn times(post: &Post) -> Vec<Picos> {
    let mut got = post.got.clone();
    got.sort_unstable();
    got.into_iter().map(|(_, at)| at).collect()
}

/// The first of three messages is lost: the second shows it, and all three go again.
#[test]
fn what_follows_a_lost_packet_shows_it_and_goes_again() {
    let messages = [(0, 2, 8); 3];
    for (stack, receive) in [(Stack::PSM2, PSM2_RECEIVE), (Stack::OPX, OPX_RECEIVE)] {
        let (post, mpi) = run(stack, false, &messages, |arrived| arrived == 0);
        let told = END + NEXT + CONTROL + END;
        let again = told + CONTROL + END;
        let first = again + CONTROL + END;
        // The second and third come when the processor has dealt with the one before.
        let wait = receive.max(NEXT);
        assert_eq!(times(&post), [first, first + wait, first + 2 * wait]);
        let tally = mpi.tally();
        assert_eq!((tally.refused, tally.lost, tally.again), (2, 1, 3));
        assert_eq!((tally.told, tally.timeouts), (1, 0));
    }
}

/// Nothing follows the lost packet, or the answer is lost, or the query: PSM2's timeouts of 160,
/// 320 and from then on 640 ms.
#[test]
fn what_nothing_shows_is_asked_after_ever_more_rarely() {
    let alone = |lost: usize| {
        let (post, mpi) = run(Stack::PSM2, false, &[(0, 2, 8)], |arrived| arrived < lost);
        assert_eq!(mpi.tally().timeouts, lost as u64);
        times(&post)[0]
    };
    let rest = 2 * (CONTROL + END) + CONTROL + END;
    for (lost, waited) in [(1, 160), (2, 480), (3, 1_120), (4, 1_760), (5, 2_400)] {
        assert_eq!(alone(lost), END + waited * MILLI + rest, "{lost}");
    }
    // Two are sent, the first is lost, then the word of that.
    let messages = [(0, 2, 8); 2];
    let (post, mpi) = run(Stack::PSM2, false, &messages, |n| n == 0 || n == 2);
    assert_eq!(times(&post)[0], END + PSM2_RESEND + rest);
    assert_eq!((mpi.tally().told, mpi.tally().refused), (2, 1));
}

/// In a window of eight packets any but the last reveals that the one before is missing; the last is
/// found by a timeout for each packet of the call.
#[test]
fn a_window_is_sent_again_from_the_lost_packet_on() {
    let packet = 1_032 * 640;
    let begin = END + CONTROL + END + CONTROL + SDMA_CALL;
    for lost in 0..8 {
        let drops = |arrived| arrived == 2 + lost;
        let (post, mpi) = run(Stack::PSM2, false, &[(0, 2, 65_536)], drops);
        let lost = lost as u64;
        let told = match lost {
            7 => begin + 7 * packet - packet + 8 * PSM2_RESEND + CONTROL + END,
            _ => begin + (lost + 1) * packet + way(1_032) + END,
        };
        let back = told + CONTROL + SDMA_CALL;
        // The engines first finish their earlier orders.
        let again = back.max(begin + 8 * packet);
        let last = again + (7 - lost) * packet + way(1_032) + END;
        assert_eq!(times(&post), [last], "{lost}");
        let tally = mpi.tally();
        assert_eq!((tally.lost, tally.told), (1, 1));
        assert_eq!((tally.refused, tally.again), (7 - lost, 8 - lost));
    }
}

/// In a new pass of a window a gap is reported again, even the first packet's.
#[test]
fn a_window_that_loses_the_same_packet_twice_needs_no_time_out() {
    // Announcement, request, eight packets, the word of the first, eight packets.
    let drops = |arrived| arrived == 2 || arrived == 11;
    let (_, mpi) = run(Stack::PSM2, false, &[(0, 2, 65_536)], drops);
    let tally = mpi.tally();
    assert_eq!((tally.lost, tally.told, tally.timeouts), (2, 2, 0));
    // A packet from the processor is reported once until something arrives in order.
    let drops = |arrived| arrived == 0 || arrived == 4;
    let (_, mpi) = run(Stack::PSM2, false, &[(0, 2, 8); 3], drops);
    let tally = mpi.tally();
    assert_eq!((tally.lost, tally.told, tally.timeouts), (2, 2, 1));
}

/// An announcement or a request that is lost is shown by what its rank sends after it.
#[test]
fn control_of_a_rendezvous_goes_again() {
    for lost in [0, 1] {
        let (post, mpi) = run(Stack::PSM2, false, &[(0, 2, 65_536)], |n| n == lost);
        assert!(times(&post)[0] > PSM2_RESEND, "nothing follows it");
        assert_eq!(mpi.tally().again, 0, "no packet of the message");
    }
    // The small message comes between the two.
    for (lost, shown) in [(0, true), (2, false)] {
        let messages = [(0, 2, 65_536), (0, 2, 8)];
        let (post, mpi) = run(Stack::PSM2, false, &messages, |n| n == lost);
        assert_eq!(mpi.tally().timeouts, u64::from(!shown), "{lost}");
        assert_eq!(times(&post)[0] < PSM2_RESEND, shown, "{lost}");
    }
}

/// Reads: the reader requests the rest again, at once or after its timeout. Kernels take their time for
/// requests, for the packets of answers, and for each of these that comes.
#[test]
fn a_read_is_asked_for_again() {
    let request = way(3);
    let data = way((1_000 + 24_u64).div_ceil(8));
    let made = END + VERBS_SEND;
    let copied = VERBS_RECEIVE + Stack::VERBS.copy_time(1_000, 1);
    for (lost, begin, again) in [
        (0, END, request + made),
        (1, END + request + made, request + END),
    ] {
        let (post, mpi) = run(Stack::VERBS, true, &[(0, 2, 1_000)], |n| n == lost);
        let wanted = begin + VERBS_RESEND + again + data + copied;
        assert_eq!(times(&post), [wanted], "{lost}");
        assert_eq!(mpi.tally().timeouts, 1);
    }
    // One of sixteen packets: the next one shows the gap, and what follows that goes again. Without a
    // loss the reader's kernel has something to do from the first packet on.
    let begin = END + request + made + way(515);
    let copied = VERBS_RECEIVE + Stack::VERBS.copy_time(4_096, 1);
    let (post, _) = run(Stack::VERBS, true, &[(0, 2, 65_536)], |_| false);
    assert_eq!(times(&post), [begin + 16 * copied]);
    for lost in [1, 4, 7] {
        let (post, mpi) = run(Stack::VERBS, true, &[(0, 2, 65_536)], |n| n == lost);
        let time = times(&post)[0];
        let least = begin + 16 * copied + request + END;
        assert!((least..2 * least).contains(&time), "{lost}: {time}");
        assert_eq!((mpi.tally().told, mpi.tally().timeouts), (1, 0));
    }
}

/// TCP: an IP packet goes again whole, when three later ones have come or after 10 ms, then 200.
#[test]
fn tcp_sends_an_ip_packet_again() {
    let copy = Stack::IPOIB.copy_time(1_000, 1);
    let work = SDMA_CALL + copy;
    let data = way(128);
    for (lost, waits) in [(1, TCP_PROBE), (2, TCP_PROBE + TCP_RESEND)] {
        let (post, mpi) = run(Stack::IPOIB, false, &[(0, 2, 1_000)], |n| n < lost);
        // The kernel copies out of its queue, the program out of the socket.
        let wanted = work + waits + data + VERBS_RECEIVE + 2 * copy;
        let timeouts = mpi.tally().timeouts;
        assert_eq!((times(&post), timeouts), (vec![wanted], lost as u64));
    }
    for (after, told) in [(2, 0), (3, 1)] {
        let messages = vec![(0, 2, 65_520); 1 + after];
        let (post, mpi) = run(Stack::IPOIB, false, &messages, |n| n == 3);
        let tally = mpi.tally();
        assert_eq!((tally.told, tally.timeouts), (told, 1 - told));
        assert_eq!(times(&post)[0] > TCP_PROBE, told == 0);
        // What had come of it comes twice, and what followed in it was of no use.
        assert_eq!((tally.again, tally.refused), (8, 4 + 3));
    }
    // Of four, two are lost: only two later ones arrive whole, the last packet of the other reveals nothing.
    let messages = [(0, 2, 65_520); 4];
    let (_, mpi) = run(Stack::IPOIB, false, &messages, |n| n == 3 || n == 9);
    let tally = mpi.tally();
    assert_eq!((tally.lost, tally.told, tally.timeouts), (2, 0, 2));
}

const SIZES: [u64; 8] = [0, 8, 5_000, 16_384, 30_000, 64_000, 65_536, 400_000];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Whatever is lost, each message arrives once, and packets for one rank in order.
    #[test]
    fn each_message_comes_once_and_in_order(
        seed in any::<u64>(),
        kind in 0_usize..5,
        percent in 1_u32..30,
        messages in proptest::collection::vec((0_u32..2, 2_u32..4, 0..SIZES.len(), any::<bool>()), 1..24),
    ) {
        let (stack, reads) = [
            (Stack::PSM2, false),
            (Stack::OPX, false),
            (Stack::IPOIB, false),
            (Stack::VERBS, true),
            (Stack::VERBS, false),
        ][kind];
        let turn = |(a, b, size, turned): &(u32, u32, usize, bool)| {
            if *turned { (*b, *a, SIZES[*size]) } else { (*a, *b, SIZES[*size]) }
        };
        let messages: Vec<_> = messages.iter().map(turn).collect();
        let mut random = Random::new(seed);
        let (post, _) = run(stack, reads, &messages, |_| random.below(100) < percent);
        let mut tags: Vec<u32> = post.got.iter().map(|(tag, _)| *tag).collect();
        let written = tags.iter().filter(|tag| messages[**tag as usize].2 <= 16_384);
        let mut last = std::collections::BTreeMap::new();
        if kind < 2 {
            for tag in written {
                let (from, to, _) = messages[*tag as usize];
                let before = last.insert((from, to), *tag);
                prop_assert!(before < Some(*tag), "{before:?} before {tag}");
            }
        }
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..messages.len() as u32).collect::<Vec<_>>());
    }
}

/// A job in which one packet is dropped far away, after those behind it have arrived by another route.
struct Overtaken {
    job: Job<Post>,
    /// Number of the arrival, and the earlier one after which it is dropped.
    place: (usize, usize),
    held: Option<Loss>,
    arrived: usize,
}

impl Traffic for Overtaken {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        let Notice::Delivered(delivery) = notice else {
            return self.job.handle(simulation, notice);
        };
        let (lost, told) = self.place;
        if self.arrived == lost {
            self.held = Some(Loss {
                at: delivery.at,
                vl: Vl(0),
                tag: delivery.tag,
                born: delivery.born,
            });
        } else {
            self.job.handle(simulation, notice);
        }
        if self.arrived == told {
            let loss = self.held.take().unwrap();
            self.job.handle(simulation, Notice::Lost(loss));
        }
        self.arrived += 1;
    }
}

/// Packets of a window and of an IP packet that came before one of theirs was lost come again with it,
/// and do not count again.
#[test]
fn what_has_overtaken_a_lost_packet_counts_once() {
    // Before the window's first packet come the announcement and the request. Of a window all from the
    // gap on goes again, of an IP packet all.
    for (stack, before, again) in [(Stack::PSM2, 2, 6), (Stack::BULK, 0, 8)] {
        let mut network = network("one-switch:2,radix=48", crate::common::Program::default());
        let mpi = Mpi::new(Hosts::all(&network), &[0, 1], stack, Sl(0));
        let mut simulation = Simulation::new(&network, Options::default());
        let switch = network.topology().switches()[0];
        crate::common::set_routes(
            &mut network,
            switch,
            &[0xFF, 1, 2, 3, 1],
            crate::common::Program::default(),
        );
        simulation.configure(&network);
        assert!(simulation.may_overtake());
        let program = Post {
            messages: vec![(0, 1, 65_536)],
            reads: false,
            got: Vec::new(),
        };
        let mut traffic = Overtaken {
            job: Job::new(mpi, program),
            place: (before + 2, before + 5),
            held: None,
            arrived: 0,
        };
        traffic.job.start(&mut simulation);
        simulation.run(&mut traffic, 5_000 * MILLI);
        let tally = traffic.job.mpi.tally();
        assert_eq!(traffic.job.program.got.len(), 1);
        assert_eq!((tally.lost, tally.again), (1, again), "{tally:?}");
        // The two behind them are refused in the first pass; of what comes again only these and the
        // lost one are new.
        assert_eq!(tally.refused, 2 + again - 3, "{tally:?}");
    }
}
