//! One fabric on several cores: it is cut into shards, and each has its devices, its packets and its
//! calendar.
//!
//! What a switch does reaches another one after a cable's latency and the time in which a head crosses
//! that one, or a credit returns; what an HFI does, after a cable's latency at the earliest. So all
//! shards may advance by that time beyond the first event of any of them without communication;
//! then they exchange the packets and credits on the cables between them, and so on. With
//! [`Order::Place`] each device sees the same events in the same order wherever the fabric is cut:
//! the same packets at the same moments, the same counters, with any number of shards and threads.
//!
//! | module | contents |
//! |---|---|
//! | `barrier` | threads that wait for each other |
//! | `cut` | assignment of devices to shards |
//! | `office` | communication of threads and shards |

mod barrier;
mod cut;
mod office;

use barrier::Member;
use office::{Bounds, Office};

use super::deadlock::Waits;
use super::share::Share;
use super::{LinkBalance, Options, Order, Picos, Simulation, Totals, Traffic};
use crate::network::{NONE, Network, PortIndex};
use weft_fabric::Vl;

/// A part of a fabric and its traffic.
#[derive(Debug, Clone)]
pub struct Shard<T> {
    /// Its devices; the others of the fabric do nothing in it.
    pub simulation: Simulation,
    /// Sends from the HFIs that the simulation [owns](Simulation::owns), and receives the notices of
    /// its devices. Its actions for one HFI must not depend on the others.
    pub traffic: T,
}

/// A fabric in shards.
#[derive(Debug, Clone)]
pub struct Shards<T> {
    shards: Vec<Shard<T>>,
    lookahead: Picos,
}

impl<T: Traffic + Send> Shards<T> {
    /// A fabric with its current registers, in `count` parts, at most one per switch;
    /// in one part if cables have no latency. `traffic` makes the traffic of each part. Several parts have
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
            lookahead: lookahead(network, &options),
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

    /// See [`Simulation::configure`].
    pub fn configure(&mut self, network: &Network) {
        let each = self.shards.iter_mut();
        each.for_each(|shard| shard.simulation.configure(network));
    }

    /// Runs like [`Simulation::run`], on `threads` threads, at most one per shard.
    ///
    /// # Panics
    /// When the system provides no thread, or the traffic panics.
    pub fn run(&mut self, until: Picos, threads: usize) {
        let lookahead = match self.shards.len() {
            1 => Picos::MAX,
            _ => self.lookahead,
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

    /// Runs like [`Simulation::drain`], but events shortly after the last packet may happen too.
    ///
    /// # Panics
    /// See [`Self::run`].
    pub fn drain(&mut self, until: Picos, threads: usize) -> bool {
        let bounds = Bounds {
            until,
            lookahead: self.lookahead,
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

/// Nothing that happens now reaches another shard before this time has passed. HFIs are with their
/// switch: the cables between shards are between switches, or between two HFIs.
fn lookahead(network: &Network, options: &Options) -> Picos {
    let is_hfi = |at: u32| {
        let end = network.links.get(at as usize);
        end.is_some_and(|end| end.switch == NONE)
    };
    let mut hfis = network.links.iter().filter(|end| end.switch == NONE);
    let crossing = match hfis.any(|end| is_hfi(end.peer)) {
        true => options.receive,
        false => options.block_latency,
    };
    (options.cable + crossing.min(options.credit_return)).max(1)
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

    /// Posts what goes to others, and returns what comes next.
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

/// Results of all parts together.
impl<T> Shards<T> {
    /// The time.
    pub fn now(&self) -> Picos {
        let times = self.shards.iter().map(|shard| shard.simulation.now());
        times.max().unwrap_or(0)
    }

    fn simulations(&self) -> impl Iterator<Item = &Simulation> {
        self.shards.iter().map(|shard| &shard.simulation)
    }

    /// See [`Simulation::totals`].
    pub fn totals(&self) -> Totals {
        self.simulations().map(Simulation::totals).sum()
    }

    /// See [`Simulation::in_flight`].
    pub fn in_flight(&self) -> usize {
        self.simulations().map(Simulation::packets).sum()
    }

    /// See [`Simulation::deadlock`].
    pub fn deadlock(&self) -> Option<Vec<(PortIndex, Vl)>> {
        Waits::of(self.simulations()).deadlock()
    }

    /// See [`Simulation::routes_moved`].
    pub fn routes_moved(&self) -> u64 {
        self.simulations().map(Simulation::routes_moved).sum()
    }

    /// See [`Simulation::packets_marked`].
    pub fn packets_marked(&self) -> u64 {
        self.simulations().map(Simulation::packets_marked).sum()
    }

    /// See [`Simulation::settle`].
    pub fn settle(&mut self, network: &mut Network) {
        let each = self.shards.iter_mut();
        each.for_each(|shard| shard.simulation.settle(network));
    }

    /// See [`Simulation::balances`].
    pub fn balances(&self) -> Vec<LinkBalance> {
        let lanes = self.simulations().next().map_or(0, Simulation::lane_count);
        let lane = |at: usize| {
            let parts = self.simulations().map(|part| part.balance(at));
            parts.reduce(LinkBalance::with)
        };
        let lanes = (0..lanes).filter_map(lane);
        lanes.filter(LinkBalance::has_something).collect()
    }

    /// See [`Simulation::flits_sent`].
    pub fn flits_sent(&self, at: PortIndex) -> u64 {
        self.simulations().map(|part| part.flits_sent(at)).sum()
    }

    /// See [`Simulation::link_time`].
    pub fn link_time(&self, at: PortIndex) -> Picos {
        self.simulations().map(|part| part.link_time(at)).sum()
    }

    /// See [`Simulation::memory`]; each part has room for all devices.
    pub fn memory(&self) -> (usize, usize) {
        let parts = self.simulations().map(Simulation::memory);
        parts.fold((0, 0), |(fabric, packets), (more, others)| {
            (fabric + more, packets + others)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use weft_fabric::cabling::Cabling;
    use weft_fabric::enums::LinkWidth;

    use super::*;

    /// One switch with a host, and two hosts that are cabled to each other where that is wanted.
    fn network(direct: bool) -> Network {
        let mut cabling = Cabling::with_capacity(4);
        let hosts = [(); 3].map(|()| cabling.add_hfi().unwrap());
        let switch = cabling.add_switch("sw0", 8, None).unwrap();
        let mut connect = |one, other| cabling.connect(one, other, LinkWidth::X4).unwrap();
        connect((hosts[0], 1), (switch, 1));
        if direct {
            connect((hosts[1], 1), (hosts[2], 1));
        } else {
            connect((hosts[1], 1), (switch, 2));
            connect((hosts[2], 1), (switch, 3));
        }
        Network::new(Arc::new(cabling.build().unwrap()))
    }

    #[test]
    fn a_cable_between_hosts_bounds_the_lookahead_also_beside_switches() {
        let options = Options::default();
        let least = options.block_latency.min(options.credit_return);
        let of_switches = lookahead(&network(false), &options);
        assert_eq!(of_switches, options.cable + least);
        let direct = lookahead(&network(true), &options);
        assert_eq!(direct, (options.cable + options.receive).max(1));
        assert!(direct < of_switches);
    }
}
