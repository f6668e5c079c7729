//! One fabric on several cores: it is cut into shards, and each has its devices, its packets and its
//! calendar.
//!
//! What a device does reaches another one after a cable's latency at the earliest. So all shards may
//! go on for so long after the first thing that will happen in any of them without hearing of each
//! other; then they hand over the packets and credits on the cables between them, and so on. With
//! [`Order::Place`] each device sees the same things in the same order wherever the fabric is cut:
//! the same packets at the same moments, the same counters, with any number of shards and threads.
//!
//! | module | what it holds |
//! |---|---|
//! | `barrier` | threads that wait for each other |
//! | `cut` | which device belongs to which shard |
//! | `office` | what threads and shards tell each other |

mod barrier;
mod cut;
mod office;

use barrier::Member;
use office::{Bounds, Office};

use super::deadlock::Waits;
use super::share::Share;
use super::{LinkBalance, Options, Order, Picos, Simulation, Totals, Traffic};
use crate::network::{Network, PortIndex};
use weft_fabric::Vl;

/// A part of a fabric and who sends there.
#[derive(Debug, Clone)]
pub struct Shard<T> {
    /// Its devices; the others of the fabric do nothing in it.
    pub simulation: Simulation,
    /// Sends by the HFIs that the simulation [owns](Simulation::owns), and is told of what happens at
    /// its devices. What it does for one HFI must not depend on the others.
    pub traffic: T,
}

/// A fabric in shards.
#[derive(Debug, Clone)]
pub struct Shards<T> {
    shards: Vec<Shard<T>>,
    cable: Picos,
}

impl<T: Traffic + Send> Shards<T> {
    /// A fabric whose registers are as they are now, in `count` parts or as many as it has switches;
    /// in one where cables take no time. `traffic` makes who sends in each part. Several parts have
    /// [`Order::Place`] whatever `options` say.
    pub fn new(
        network: &Network,
        options: &Options,
        count: usize,
        mut traffic: impl FnMut(&Simulation) -> T,
    ) -> Self {
        let count = if options.cable == 0 { 1 } else { count };
        let (owners, count) = cut::cut(network, count);
        let mut options = options.clone();
        if count > 1 {
            options.order = Order::Place;
        }
        let shard = |own: usize| {
            let share = match count {
                1 => Share::default(),
                _ => Share::new(owners.clone(), own as u8, count),
            };
            let simulation = Simulation::of_share(network, options.clone(), share);
            let traffic = traffic(&simulation);
            Shard {
                simulation,
                traffic,
            }
        };
        Self {
            cable: options.cable.max(1),
            shards: (0..count).map(shard).collect(),
        }
    }

    /// The parts.
    pub fn shards(&self) -> &[Shard<T>] {
        &self.shards
    }

    /// The parts, to let their traffic begin.
    pub fn shards_mut(&mut self) -> &mut [Shard<T>] {
        &mut self.shards
    }

    /// As [`Simulation::configure`].
    pub fn configure(&mut self, network: &Network) {
        let each = self.shards.iter_mut();
        each.for_each(|shard| shard.simulation.configure(network));
    }

    /// As [`Simulation::run`], on so many threads, or as many as there are shards.
    ///
    /// # Panics
    /// When the system gives no thread, or the traffic panics.
    pub fn run(&mut self, until: Picos, threads: usize) {
        let lookahead = match self.shards.len() {
            1 => Picos::MAX,
            _ => self.cable,
        };
        let bounds = Bounds {
            until,
            lookahead,
            drains: false,
        };
        self.go(bounds, threads);
        for Shard {
            simulation,
            traffic,
        } in &mut self.shards
        {
            simulation.run(traffic, until);
        }
    }

    /// As [`Simulation::drain`], but what happens less than a cable's latency after the last packet
    /// has gone may happen too.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn drain(&mut self, until: Picos, threads: usize) -> bool {
        let bounds = Bounds {
            until,
            lookahead: self.cable,
            drains: true,
        };
        self.go(bounds, threads);
        self.in_flight() == 0
    }

    fn go(&mut self, bounds: Bounds, threads: usize) {
        let count = self.shards.len();
        let each = count.div_ceil(threads.clamp(1, count.max(1)));
        let office = Office::new(count.div_ceil(each), count);
        let parts = self.shards.chunks_mut(each).enumerate();
        let mut parts = parts.map(|(thread, shards)| Worker {
            thread,
            first: thread * each,
            shards,
        });
        let Some(mine) = parts.next() else { return };
        std::thread::scope(|scope| {
            for part in parts {
                scope.spawn(|| part.work(&office, bounds));
            }
            mine.work(&office, bounds);
        });
    }
}

/// The shards of one thread.
struct Worker<'a, T> {
    thread: usize,
    /// The number of the first one.
    first: usize,
    shards: &'a mut [Shard<T>],
}

impl<T: Traffic> Worker<'_, T> {
    fn work(mut self, office: &Office, bounds: Bounds) {
        let _member = Member(&office.barrier);
        self.each(|_, shard| shard.simulation.tell(&mut shard.traffic));
        let mut turn = 0;
        loop {
            self.hand_over(office, turn);
            if !office.barrier.wait() {
                return;
            }
            self.each(|number, shard| office.collect(turn, number, &mut shard.simulation));
            let Some(end) = office.window(turn, bounds) else {
                return;
            };
            self.each(|_, shard| shard.simulation.run(&mut shard.traffic, end));
            turn = 1 - turn;
        }
    }

    fn each(&mut self, mut act: impl FnMut(usize, &mut Shard<T>)) {
        let shards = self.shards.iter_mut().enumerate();
        shards.for_each(|(place, shard)| act(self.first + place, shard));
    }

    /// Posts what goes to others, and says what comes next.
    fn hand_over(&mut self, office: &Office, turn: usize) {
        let (mut next, mut packets) = (None::<Picos>, 0);
        self.each(|number, Shard { simulation, .. }| {
            let first = next.into_iter().chain(simulation.next()).min();
            (next, packets) = (first, packets + simulation.packets());
            office.post(turn, number, simulation);
        });
        office.say(turn, self.thread, next, packets);
    }
}

/// What all parts together have done.
impl<T> Shards<T> {
    /// The time.
    pub fn now(&self) -> Picos {
        let times = self.shards.iter().map(|shard| shard.simulation.now());
        times.max().unwrap_or(0)
    }

    fn simulations(&self) -> impl Iterator<Item = &Simulation> {
        self.shards.iter().map(|shard| &shard.simulation)
    }

    /// As [`Simulation::totals`].
    pub fn totals(&self) -> Totals {
        self.simulations().map(Simulation::totals).sum()
    }

    /// As [`Simulation::in_flight`].
    pub fn in_flight(&self) -> usize {
        self.simulations().map(Simulation::packets).sum()
    }

    /// As [`Simulation::deadlock`].
    pub fn deadlock(&self) -> Option<Vec<(PortIndex, Vl)>> {
        Waits::of(self.simulations()).deadlock()
    }

    /// As [`Simulation::routes_moved`].
    pub fn routes_moved(&self) -> u64 {
        self.simulations().map(Simulation::routes_moved).sum()
    }

    /// As [`Simulation::packets_marked`].
    pub fn packets_marked(&self) -> u64 {
        self.simulations().map(Simulation::packets_marked).sum()
    }

    /// As [`Simulation::settle`].
    pub fn settle(&mut self, network: &mut Network) {
        let each = self.shards.iter_mut();
        each.for_each(|shard| shard.simulation.settle(network));
    }

    /// As [`Simulation::balances`].
    pub fn balances(&self) -> Vec<LinkBalance> {
        let lanes = self.simulations().next().map_or(0, Simulation::lane_count);
        let lane = |at: usize| {
            let parts = self.simulations().map(|part| part.balance(at));
            parts.reduce(LinkBalance::with)
        };
        let lanes = (0..lanes).filter_map(lane);
        lanes.filter(LinkBalance::has_something).collect()
    }

    /// As [`Simulation::flits_sent`].
    pub fn flits_sent(&self, at: PortIndex) -> u64 {
        self.simulations().map(|part| part.flits_sent(at)).sum()
    }

    /// As [`Simulation::link_time`].
    pub fn link_time(&self, at: PortIndex) -> Picos {
        self.simulations().map(|part| part.link_time(at)).sum()
    }

    /// As [`Simulation::memory`]; each part has room for all devices.
    pub fn memory(&self) -> (usize, usize) {
        let parts = self.simulations().map(Simulation::memory);
        parts.fold((0, 0), |(fabric, packets), (more, others)| {
            (fabric + more, packets + others)
        })
    }
}
