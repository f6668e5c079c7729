//! Hosts that receive more slowly than packets come: kernels stop the link, users' contexts drop.
#![allow(clippy::unwrap_used)]

use crate::common::{Program, network};
use weft_dataplane::PortIndex;
use weft_dataplane::constants::{SDMA_CALL, VERBS_RECEIVE};
use weft_dataplane::packets::{
    Delivery, MICRO, MILLI, Notice, Options, Parcel, Picos, Simulation, Traffic,
};
use weft_dataplane::traffic::Hosts;
use weft_dataplane::traffic::mpi::{Done, HostSpeed, Job, Mpi, Program as Rounds, Queue, Stack};
use weft_fabric::{Lid, Sl};

/// Messages to one rank, all at once.
struct Incast {
    from: Vec<u32>,
    to: u32,
    bytes: u64,
    came: usize,
    last: Picos,
}

impl Rounds for Incast {
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation) {
        for (tag, from) in self.from.iter().enumerate() {
            mpi.send(simulation, *from, self.to, self.bytes, tag as u32);
        }
    }

    fn done(&mut self, _: &mut Mpi, simulation: &mut Simulation, done: Done) {
        if matches!(done, Done::Received { .. }) {
            self.came += 1;
            self.last = simulation.now();
        }
    }

    fn has_ended(&self) -> bool {
        self.came == self.from.len()
    }
}

const SLOW: HostSpeed = HostSpeed {
    copy_rate: 1_000_000_000,
    verbs_receive: VERBS_RECEIVE,
    verbs_send: 0,
    call: SDMA_CALL,
    send_buffer: 1 << 20,
    queue: Queue {
        packets: 32,
        bytes: 8 << 20,
    },
    cold: false,
    page: 0,
};

/// `count` messages from each of three hosts to a fourth one.
fn incast(stack: Stack, count: usize, program: Program) -> (Job<Incast>, Simulation) {
    let mut network = network("one-switch:4,radix=48", program);
    let mpi = Mpi::new(Hosts::all(&network), &[0, 1, 2, 3], stack.on(&SLOW), Sl(0));
    let mut simulation = Simulation::new(&network, Options::default());
    let program = Incast {
        from: [0, 1, 2].repeat(count),
        to: 3,
        bytes: 64_000,
        came: 0,
        last: 0,
    };
    let mut job = Job::new(mpi, program);
    assert!(job.run(&mut simulation, 60_000 * MILLI));
    simulation.settle(&mut network);
    (job, simulation)
}

/// A kernel copies 1 GB/s; the link stops, so that nothing is lost and it gets just what it can take.
#[test]
fn a_slow_kernel_stops_the_link_and_nothing_is_lost() {
    let (job, simulation) = incast(Stack::IPOIB, 20, Program::default());
    assert_eq!(simulation.totals().lost, 0);
    assert_eq!((job.mpi.tally().lost, job.mpi.tally().overflowed), (0, 0));
    let packet = VERBS_RECEIVE + 8_192 * 1_000;
    let wanted = 60 * 64_000 / 8_192 * packet;
    let part = job.program.last as f64 / wanted as f64;
    assert!((0.99..1.03).contains(&part), "{part}");
}

/// A HoqLife shorter than a stop ends in packets dropped at the switch, although no switch is short of
/// links: the lane to the slow host stands still.
#[test]
fn a_slow_kernel_makes_switches_drop_by_their_head_of_queue_lifetime() {
    let with = |hoq_life| Program {
        hoq_life,
        ..Program::default()
    };
    let (_, still) = incast(Stack::IPOIB, 8, with(0));
    let (_, patient) = incast(Stack::IPOIB, 8, with(11));
    assert!(still.totals().lost > 10, "{:?}", still.totals());
    assert_eq!(patient.totals().lost, 0);
}

/// The queue of a user's context is full: the HFI drops, the link goes on, PSM2 sends again.
#[test]
fn a_slow_user_loses_what_its_queue_has_no_room_for() {
    let (job, simulation) = incast(Stack::PSM2, 4, Program::default());
    let tally = job.mpi.tally();
    assert_eq!(simulation.totals().lost, 0, "switches drop nothing");
    assert!(tally.overflowed > 10, "{tally:?}");
    assert_eq!(tally.lost, tally.overflowed);
    assert_eq!(tally.sent, tally.taken + tally.refused + tally.lost);
    // A queue with room for all of it.
    let network = network("one-switch:4,radix=48", Program::default());
    let mpi = Mpi::new(Hosts::all(&network), &[0, 1, 2, 3], Stack::PSM2, Sl(0));
    let mut simulation = Simulation::new(&network, Options::default());
    let mut job = Job::new(
        mpi,
        Incast {
            came: 0,
            last: 0,
            ..job.program
        },
    );
    assert!(job.run(&mut simulation, MILLI));
    assert_eq!(job.mpi.tally().lost, 0);
}

/// Packets of one size from a host to another, one after the other.
#[derive(Default)]
struct Line {
    ends: Vec<(PortIndex, Lid)>,
    came: Vec<(u64, Picos)>,
}

impl Line {
    fn send(&self, simulation: &mut Simulation, from: usize, to: usize, tag: u64) {
        simulation.send(Parcel {
            from: self.ends[from].0,
            dlid: self.ends[to].1,
            sl: Sl(0),
            bytes: 8_192,
            tag,
        });
    }
}

impl Traffic for Line {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Delivered(Delivery { tag, .. }) = notice {
            self.came.push((tag, simulation.now()));
        }
    }
}

/// While a host takes nothing, as much as fits waits in its port's buffer and behind that; another host's
/// packets pass. Then all come in order, and credits with them.
#[test]
fn what_comes_meanwhile_waits_in_the_buffer_in_order() {
    let network = network("one-switch:3,radix=48", Program::default());
    let mut simulation = Simulation::new(&network, Options::default());
    let hosts = Hosts::all(&network);
    let mut line = Line {
        ends: hosts.iter().map(|host| (host.port, host.lid)).collect(),
        came: Vec::new(),
    };
    let stopped = line.ends[1].0;
    simulation.stop_receiving(stopped);
    (0..40).for_each(|tag| line.send(&mut simulation, 0, 1, tag));
    line.send(&mut simulation, 2, 0, 99);
    simulation.run(&mut line, 100 * MICRO);
    assert_eq!(line.came.len(), 1, "{:?}", line.came);
    assert_eq!(simulation.in_flight(), 40);
    simulation.resume_receiving(stopped);
    simulation.run(&mut line, 100 * MICRO);
    let at_once = line.came.len() - 1;
    // What waits is in a buffer of 89,600 bytes: ten packets of 8,192.
    assert_eq!(at_once, 10);
    assert!(simulation.drain(&mut line, MILLI));
    let tags: Vec<u64> = line.came[1..].iter().map(|(tag, _)| *tag).collect();
    assert_eq!(tags, (0..40).collect::<Vec<_>>());
    assert_eq!(simulation.totals().lost, 0);
    // Stopped again: nothing comes, and what was not stopped still does.
    simulation.stop_receiving(stopped);
    line.send(&mut simulation, 0, 1, 100);
    line.send(&mut simulation, 1, 2, 101);
    simulation.run(&mut line, 2 * MILLI);
    assert_eq!(line.came.last().map(|(tag, _)| *tag), Some(101));
}

/// Hosts that send to each other for ever, each again when its packet has come, and one to which all others send at a
/// fixed rate.
struct Siege {
    ends: Vec<(PortIndex, Lid)>,
    /// Packets that came to others than the attacker.
    came: u64,
}

/// The host that takes nothing, in the attack.
const ATTACKER: usize = 0;
/// Hosts of the fabric, half of them at the attacker's switch.
const HOSTS: usize = 8;

impl Siege {
    fn send(&self, simulation: &mut Simulation, from: usize, to: usize) {
        simulation.send(Parcel {
            from: self.ends[from].0,
            dlid: self.ends[to].1,
            sl: Sl(0),
            bytes: 8_192,
            tag: (from * HOSTS + to) as u64,
        });
    }
}

impl Traffic for Siege {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        if let Notice::Delivered(Delivery { tag, .. }) = notice {
            let (from, to) = (tag as usize / HOSTS, tag as usize % HOSTS);
            if to != ATTACKER {
                self.came += 1;
                self.send(simulation, from, to);
            }
        }
    }
}

/// Packets between bystanders on two switches within 20 ms, while each of the attacker's peers sends it one each 50 µs.
fn bystanders(hoq_life: u8, stall_count: u8, attacks: bool) -> u64 {
    let program = Program {
        hoq_life,
        stall_count,
        ..Program::default()
    };
    let network = network("pgft:2;4,2;1,2;1,1;radix=48", program);
    let mut simulation = Simulation::new(&network, Options::default());
    let hosts = Hosts::all(&network);
    let ends = hosts.iter().map(|host| (host.port, host.lid)).collect();
    let mut siege = Siege { ends, came: 0 };
    assert_eq!(siege.ends.len(), HOSTS);
    if attacks {
        simulation.stop_receiving(siege.ends[ATTACKER].0);
    }
    for from in HOSTS / 2..HOSTS {
        for to in 1..HOSTS / 2 {
            siege.send(&mut simulation, from, to);
        }
    }
    for round in 1..=400 {
        (HOSTS / 2..HOSTS).for_each(|from| siege.send(&mut simulation, from, ATTACKER));
        simulation.run(&mut siege, round * 50 * MICRO);
    }
    siege.came
}

/// HoqLife of 524 µs, and none; packets in a row after which a lane is stalled, as opafm.xml has it, and none.
const HOQ_LIFE: [u8; 2] = [7, 31];
const STALL_COUNT: [u8; 2] = [7, 0];

/// Attack 10 of docs/security.md: links that others share go on where HoqLife and VLStallCount are set, and stand still
/// without.
#[test]
fn a_host_that_takes_nothing_holds_up_others_for_no_longer_than_its_lane_takes_to_stall() {
    let quiet = bystanders(HOQ_LIFE[1], STALL_COUNT[1], false);
    let [both, hoq_alone] = STALL_COUNT.map(|count| bystanders(HOQ_LIFE[0], count, true));
    let neither = bystanders(HOQ_LIFE[1], STALL_COUNT[1], true);
    println!(
        "{quiet} packets without the attack, {both} with HoqLife and VLStallCount, {hoq_alone} with HoqLife alone, \
         {neither} with neither"
    );
    assert!(
        neither < quiet / 20,
        "{neither} of {quiet}: nothing ends the wait"
    );
    assert!(hoq_alone > neither, "{hoq_alone} and {neither}");
    assert!(both > quiet / 3, "{both} of {quiet}");
}
