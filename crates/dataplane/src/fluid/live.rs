//! Continuous traffic: rates that follow the tables, links and switches' adaptive
//! choices, and counters that advance by them.
//!
//! Rates hold until something changes, so that time alone costs nothing: a port is counted when its
//! counters are read. A full link makes upstream ports wait: on the path
//! of a flow that gets less than it wants, they have data to send and no credits for it
//! (XmitWait). In a flow the buffers before a full link are full, so that every value of the
//! switches' Threshold is reached. All flows are sent at service level 0.

use weft_fabric::{Lid, NodeId, Sl, Tick};

use super::demand::Demand;
use super::routes::Routes;
use super::share::Shares;
use super::tally::{Pace, Tally};
use crate::constants::{FLIT_ONE_LANE, FULL_LINK};
use crate::forward::wait_unit;
use crate::network::{Network, PortIndex};
use crate::packets::{Random, carries_data, flit_time};

/// Maximum number of paths, from a sender to a receiver's LID, of all demands: 1,448 hosts that all send to all.
pub const WAYS_MAX: usize = 1 << 21;
/// Looks without a route moved after which switches look again only when something has changed: what
/// could be moved has been tried many times.
const IDLE_LOOKS_MAX: u32 = 64;
/// Minimum time between two computations of rates, and additional time per path, nanoseconds: this limits
/// them to a fraction of the elapsed time.
const PAUSE: (u64, u64) = (1_000_000, 1_000);
/// Rates that differ by less than this part are the same.
const SAME: f64 = 1e-6;

/// Traffic of a running fabric.
///
/// Times are of the fabric's clock and never go back. [`Self::refresh`] has to be called when tables,
/// links or LIDs have changed, [`Self::look`] when [`Self::next_look`] has come, and
/// [`Self::settle`] before counters are read or cleared.
#[derive(Debug, Clone)]
pub struct Live {
    routes: Routes,
    demands: Vec<Demand>,
    /// Rate of each demand, as a fraction of a link of four lanes.
    rates: Vec<f64>,
    links: Vec<Tally>,
    /// Share of its link that each sending port uses, and that demands would.
    used: Vec<f64>,
    wanted: Vec<f64>,
    random: Random,
    moved: u64,
    idle_looks: u32,
    /// Number of paths of all demands.
    ways: usize,
    computed: Tick,
}

impl Live {
    /// No traffic; switches draw by `seed` where they choose at random.
    pub fn new(seed: u64) -> Self {
        Self {
            routes: Routes::default(),
            demands: Vec::new(),
            rates: Vec::new(),
            links: Vec::new(),
            used: Vec::new(),
            wanted: Vec::new(),
            random: Random::new(seed),
            moved: 0,
            idle_looks: 0,
            ways: 0,
            computed: Tick(0),
        }
    }

    /// Rates of the demands, in order, as fractions of a link of four lanes; 0 without a path, or without a
    /// P_Key that sender and receiver share.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Routes that switches have moved since the beginning.
    pub fn routes_moved(&self) -> u64 {
        self.moved
    }

    /// Earliest time of the next computation of rates, which limits its cost.
    pub fn may_refresh_at(&self) -> Tick {
        let (least, each) = PAUSE;
        let pause = least.saturating_add(each.saturating_mul(self.ways as u64));
        Tick(self.computed.0.saturating_add(pause))
    }

    /// When switches next look for congestion; none when they would find nothing to do.
    pub fn next_look(&self) -> Option<Tick> {
        let next = self.routes.next_look()?;
        let busy = self.idle_looks < IDLE_LOOKS_MAX && self.is_congested();
        busy.then(|| self.may_refresh_at().max(Tick(next)))
    }

    fn is_congested(&self) -> bool {
        (0..self.used.len()).any(|link| self.is_congested_at(link))
    }

    /// More would cross a link than it carries.
    fn is_congested_at(&self, link: usize) -> bool {
        self.used[link] >= FULL_LINK && self.wanted[link] > 1.0 + SAME
    }

    /// Replaces what hosts want to send.
    pub fn set_demands(&mut self, network: &mut Network, now: Tick, demands: Vec<Demand>) {
        self.settle_all(network, now);
        self.demands = demands;
        self.refresh(network, now);
    }

    /// Follows tables, links and LIDs as they are now.
    pub fn refresh(&mut self, network: &mut Network, now: Tick) {
        self.settle_all(network, now);
        self.moved += self.routes.refresh(network, &mut self.random);
        self.idle_looks = 0;
        self.compute(network, now);
    }

    /// Lets the switches whose time has come look for congestion and move routes.
    pub fn look(&mut self, network: &mut Network, now: Tick) {
        let picks = self.pick_routes(network);
        let waiting = |link: usize| match self.used[link] >= FULL_LINK {
            true => self.wanted[link],
            false => 0.0,
        };
        let routes = &mut self.routes;
        let moved = routes.look_around(now.0, |link| picks[link], waiting, &mut self.random);
        self.moved += moved;
        if moved == 0 {
            self.idle_looks += 1;
            self.computed = now;
            return;
        }
        self.idle_looks = 0;
        self.settle_all(network, now);
        self.compute(network, now);
    }

    /// Brings the counters of a node's ports up to now.
    pub fn settle(&mut self, network: &mut Network, node: NodeId, now: Tick) {
        if self.demands.is_empty() {
            return;
        }
        let Some(device) = network.device(node) else {
            return;
        };
        for (_, at) in device.ports() {
            self.settle_link(network, at, now);
            if let Some(peer) = network.peer(at) {
                self.settle_link(network, peer, now);
            }
        }
    }

    /// Brings all counters up to now.
    pub fn settle_all(&mut self, network: &mut Network, now: Tick) {
        self.links.resize(network.port_count(), Tally::default());
        for link in 0..self.links.len() {
            self.settle_link(network, PortIndex(link as u32), now);
        }
    }

    fn settle_link(&mut self, network: &mut Network, at: PortIndex, now: Tick) {
        let tally = self.links.get_mut(at.0 as usize);
        if let Some((lane, carried)) = tally.and_then(|tally| tally.take(now)) {
            network.count_flow(at, lane, carried);
        }
    }

    /// For each congested link the LID of one of the paths over it, drawn at random.
    fn pick_routes(&mut self, network: &Network) -> Vec<Option<Lid>> {
        let mut picks = vec![None; self.links.len()];
        let mut seen = vec![0_u32; self.links.len()];
        let mut random = self.random.clone();
        self.each_way(network, |_, _, path, lid, _| {
            for link in path.iter().map(|link| *link as usize) {
                if self.is_congested_at(link) {
                    seen[link] += 1;
                    if random.below(seen[link]) == 0 {
                        picks[link] = Some(lid);
                    }
                }
            }
        });
        self.random = random;
        picks
    }

    /// Calls `each` with the number of a demand, the demand, the links of one of its paths, its LID and
    /// the fraction of the demand on that path, for all complete paths that partitions permit.
    fn each_way(
        &self,
        network: &Network,
        mut each: impl FnMut(usize, &Demand, &[u32], Lid, f64),
    ) -> usize {
        let mut path = Vec::new();
        let mut ways = 0;
        for (number, demand) in self.demands.iter().enumerate() {
            demand.each_flow(network, |flow, to, part| {
                let key = network.shared_key(flow.from, to);
                let may_pass =
                    |path: &[u32]| key.is_some_and(|key| network.path_lets_through(path, key));
                for step in 0..flow.lids {
                    let lid = Lid(flow.lid.0 + step);
                    ways += 1;
                    let arrives = self.routes.walk(flow.from, lid, &mut path) == Some(to);
                    if arrives && may_pass(&path) {
                        each(number, demand, &path, lid, part / f64::from(flow.lids));
                    }
                }
            });
        }
        ways
    }

    /// Shares the links out among the demands.
    fn compute(&mut self, network: &Network, now: Tick) {
        self.computed = now;
        let capacities = capacities(network);
        let crossed = self.crossed(network);
        let mut shares = Shares::new(capacities.len() + self.demands.len());
        for (number, (demand, links)) in self.demands.iter().zip(&crossed).enumerate() {
            let limit = ((capacities.len() + number) as u32, 1.0 / demand.limit);
            let links = links.iter();
            let parts = links.map(|(link, part)| (*link, part / capacities[*link as usize]));
            shares.add(parts.chain([limit]));
        }
        let rates = shares.rates().into_iter().zip(&crossed);
        let rates = rates.map(|(rate, links)| if links.is_empty() { 0.0 } else { rate });
        self.rates = rates.collect();
        self.set_paces(&crossed, &capacities);
        self.set_waits(network, &capacities);
    }

    /// The links that each demand crosses, in order, each with its part of the demand; notes their
    /// lanes.
    fn crossed(&mut self, network: &Network) -> Vec<Vec<(u32, f64)>> {
        let mut parts = vec![0.0; self.links.len()];
        let mut crossed: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.demands.len()];
        let mut lanes = vec![None; self.links.len()];
        let mut last = 0;
        self.ways = self.each_way(network, |number, _, path, _, part| {
            if number != last {
                take_parts(&mut crossed[last], &mut parts);
                last = number;
            }
            for link in path {
                if parts[*link as usize] == 0.0 {
                    crossed[number].push((*link, 0.0));
                }
                parts[*link as usize] += part;
            }
            if path.iter().any(|link| lanes[*link as usize].is_none()) {
                let along = path.iter().zip(network.lanes_along(path, Sl(0)));
                along.for_each(|(link, lane)| {
                    lanes[*link as usize].get_or_insert(lane);
                });
            }
        });
        if let Some(links) = crossed.get_mut(last) {
            take_parts(links, &mut parts);
        }
        for (tally, lane) in self.links.iter_mut().zip(lanes) {
            tally.lane = lane;
        }
        crossed
    }

    fn set_paces(&mut self, crossed: &[Vec<(u32, f64)>], capacities: &[f64]) {
        let links = self.links.len();
        (self.used, self.wanted) = (vec![0.0; links], vec![0.0; links]);
        self.links
            .iter_mut()
            .for_each(|tally| tally.pace = Pace::default());
        let demands = self.demands.iter().zip(&self.rates).zip(crossed);
        for ((demand, rate), links) in demands {
            for (link, part) in links {
                let link = *link as usize;
                let flits = rate * part * FLITS_PER_NANO;
                let pace = &mut self.links[link].pace;
                pace.flits += flits;
                pace.packets += flits / f64::from(demand.flits.max(1));
                self.used[link] += rate * part / capacities[link];
                self.wanted[link] += demand.limit * part / capacities[link];
            }
        }
    }

    /// Marks the ports before the last full link of a path whose demand gets less than it wants: they have
    /// data waiting whenever they do not send.
    fn set_waits(&mut self, network: &Network, capacities: &[f64]) {
        if !self.is_congested() {
            return;
        }
        let mut waits = vec![false; self.links.len()];
        self.each_way(network, |number, demand, path, _, _| {
            if self.rates[number] < demand.limit * (1.0 - SAME) {
                let full = |link: &u32| self.used[*link as usize] >= FULL_LINK;
                let before = path.iter().rposition(full).unwrap_or(0);
                let held = path[..before].iter();
                held.for_each(|link| waits[*link as usize] = true);
            }
        });
        for (link, _) in waits.iter().enumerate().filter(|(_, waits)| **waits) {
            let at = PortIndex(link as u32);
            let is_switch = network.device_at(network.node_of(at)).is_switch();
            let unit = wait_unit(network.port(at).info(), is_switch) as f64;
            let idle = (1.0 - self.used[link]).max(0.0);
            self.links[link].pace.waits = idle * capacities[link] * FLITS_PER_NANO / unit;
        }
    }
}

/// Flits a nanosecond of a link of four lanes at full speed.
const FLITS_PER_NANO: f64 = 4_000.0 / FLIT_ONE_LANE as f64;

/// Payload rate, bytes per second, for packets of `payload` bytes and `flits` flits.
pub fn goodput(rate: f64, payload: u32, flits: u32) -> f64 {
    rate * FLITS_PER_NANO * 1e9 * f64::from(payload) / f64::from(flits.max(1))
}

/// Moves what was gathered of a demand's links to it.
fn take_parts(links: &mut [(u32, f64)], parts: &mut [f64]) {
    for (link, part) in links {
        *part = std::mem::take(&mut parts[*link as usize]);
    }
}

/// Capacity of each link, as a fraction of one of four lanes at full speed.
fn capacities(network: &Network) -> Vec<f64> {
    let ports = (0..network.port_count() as u32).map(PortIndex);
    let capacity = |at: PortIndex| match carries_data(network, at) {
        true => 1_000.0 / flit_time(network.port(at).info()) as f64 / FLITS_PER_NANO,
        false => 1.0,
    };
    ports.map(capacity).collect()
}
