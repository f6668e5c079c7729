//! Links that lose lanes and ports that refuse to arm. Draws of their own: other parts of a scenario stay as
//! they are when these change.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Node, PortRef, Topology};

/// Seeds from here on have such faults; those below are free of them.
pub const FROM_SEED: u64 = 4_096;

/// Draws of these faults.
const STREAM: u64 = 0x6c61_6e65_7300;
/// Most faults of this kind in one scenario or round.
const FAULTS_MAX: usize = 3;
/// Longest time until a fault ends, nanoseconds.
const LASTS_MAX_NS: u64 = 2_000_000_000;
/// Time for which a bounced link is down, nanoseconds.
const BOUNCE_NS: u64 = 1_000_000;

/// Events of links, nanoseconds from a start; in no order.
pub(super) type Events = Vec<(u64, Control)>;

/// Draws faults of links.
#[derive(Debug)]
pub(super) struct LinkFaults<'a> {
    rng: Option<ChaCha8Rng>,
    links: Vec<(PortRef, PortRef)>,
    topology: &'a Topology,
}

impl<'a> LinkFaults<'a> {
    /// Those of a seed, at all links but those of the manager's `own` port.
    pub(super) fn new(seed: u64, topology: &'a Topology, own: Option<PortRef>) -> Self {
        let others = topology.links();
        let others = others.filter(|(a, b)| ![Some(*a), Some(*b)].contains(&own));
        let links: Vec<_> = others.collect();
        let some = seed >= FROM_SEED && !links.is_empty();
        Self {
            rng: some.then(|| ChaCha8Rng::seed_from_u64(seed ^ STREAM)),
            links,
            topology,
        }
    }

    /// Some faults, each from a moment on that `time` draws. `lasting` ones may stay for ever.
    pub(super) fn draw(&mut self, lasting: bool, time: impl Fn(&mut ChaCha8Rng) -> u64) -> Events {
        let mut events = Vec::new();
        let Some(rng) = &mut self.rng else {
            return events;
        };
        for _ in 0..rng.random_range(0..=FAULTS_MAX) {
            let (a, b) = self.links[rng.random_range(0..self.links.len())];
            let end = if rng.random_bool(0.5) { a } else { b };
            let node = self.topology.node(end.node).map_or(Guid(0), Node::guid);
            let at = time(rng);
            let until = at + rng.random_range(100_000..LASTS_MAX_NS);
            let cable = (node, end.port);
            events.extend(match rng.random_bool(0.5) {
                true => lanes(rng, cable, at, (until, lasting)),
                false => refusal(rng, cable, at, until),
            });
        }
        events
    }
}

type Cable = (Guid, weft_fabric::PortNum);

/// A cable that has fewer lanes; those that come back are used when its link comes up the next time.
fn lanes(rng: &mut impl Rng, cable: Cable, at: u64, (until, lasting): (u64, bool)) -> Events {
    let (node, port) = cable;
    let lanes = |lanes| Control::LinkLanes { node, port, lanes };
    let mut events = vec![(at, lanes(rng.random_range(1..=3)))];
    if !(lasting && rng.random_bool(0.25)) {
        events.push((until, lanes(4)));
        events.extend(bounce(cable, until + 1));
    }
    events
}

/// A port that refuses to arm, most often when its link comes up anew.
fn refusal(rng: &mut impl Rng, cable: Cable, at: u64, until: u64) -> Events {
    let (node, port) = cable;
    let refusal = |refuse| Control::RefuseArm { node, port, refuse };
    let mut events = vec![(at, refusal(true)), (until, refusal(false))];
    if rng.random_bool(0.7) {
        events.extend(bounce(cable, at + 1));
    }
    events
}

fn bounce((node, port): Cable, at: u64) -> Events {
    let down = Control::LinkDown { node, port };
    let up = Control::LinkUp { node, port };
    vec![(at, down), (at + BOUNCE_NS, up)]
}
