//! `shortestpath`: least cost, each LID through the port that carries the fewest so far.

use weft_fabric::LinearTables;

use super::dmodc::{dividers, turn};
use super::levels::{is_tree, levels};
use super::rows::{consecutive, deliver, rows};
use super::{Engine, Plan, Pruning};
use crate::network::{Egress, EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;

/// The engine.
pub(crate) struct ShortestPath {
    /// Prefer the spines of the own chassis.
    pub(crate) spine_first: bool,
}

impl Engine for ShortestPath {
    fn name(&self) -> EngineUsed {
        EngineUsed::ShortestPath
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let destinations = Destinations::new(network);
        let paths = Paths::shortest(network, destinations.column.clone());
        let pruning = Pruning {
            spine_first: self.spine_first,
            tier: Vec::new(),
        };
        let linear = balanced(network, &destinations, &paths, &pruning);
        Ok(Plan::on_paths(linear, paths, pruning))
    }
}

/// One end port to be routed to.
#[derive(Debug, Clone, Copy)]
struct Destination {
    end: EndPort,
    switch: u32,
    is_hfi: bool,
}

/// Successive destinations at one switch.
#[derive(Debug, Clone)]
struct Stretch {
    switch: usize,
    /// Place of the first and past the last in [`Destinations::by_lid`].
    range: std::ops::Range<usize>,
    /// The first LID when they are HFIs with one LID each, one after the other.
    first_lid: Option<usize>,
}

/// All end ports in the order in which they are placed, and the switches in the order in which they
/// first appear.
pub(crate) struct Destinations {
    by_lid: Vec<Destination>,
    /// The same, cut where the switch changes or LIDs do not follow each other.
    stretches: Vec<Stretch>,
    /// Column of each switch.
    pub(crate) column: Vec<u32>,
    /// HFI LIDs that a switch forwards to others: all but those attached to it.
    forwarded: Vec<u64>,
}

impl Destinations {
    /// Sorts them by LID.
    pub(crate) fn new(network: &Network) -> Self {
        Self::in_order(network, |_| ())
    }

    /// Sorts them by `turn`, then by LID.
    pub(crate) fn in_order<T: Ord>(network: &Network, turn: impl Fn(&EndPort) -> T) -> Self {
        let mut by_lid = Vec::new();
        let mut attached = Vec::with_capacity(network.len());
        for switch in 0..network.len() {
            let hfis = network.hfis(switch).iter().map(|end| (end, true));
            let own = network.management(switch).map(|end| (end, false));
            by_lid.extend(hfis.chain(own).map(|(end, is_hfi)| Destination {
                end: *end,
                switch: switch as u32,
                is_hfi,
            }));
            let lids = |end: &EndPort| u64::from(end.lmc.lids());
            attached.push(network.hfis(switch).iter().map(lids).sum::<u64>());
        }
        by_lid.sort_by_cached_key(|destination| (turn(&destination.end), destination.end.lid));
        let total: u64 = attached.iter().sum();
        Self {
            column: columns(network.len(), &by_lid),
            forwarded: attached.iter().map(|own| total - own).collect(),
            stretches: stretches(&by_lid),
            by_lid,
        }
    }
}

fn stretches(by_lid: &[Destination]) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut from = 0;
    let together = |a: &Destination, b: &Destination| a.switch == b.switch && a.is_hfi == b.is_hfi;
    for part in by_lid.chunk_by(together) {
        let ends: Vec<EndPort> = part.iter().map(|destination| destination.end).collect();
        stretches.push(Stretch {
            switch: part[0].switch as usize,
            range: from..from + part.len(),
            first_lid: consecutive(&ends).filter(|_| part[0].is_hfi),
        });
        from += part.len();
    }
    stretches
}

fn columns(switches: usize, by_lid: &[Destination]) -> Vec<u32> {
    let mut column = vec![u32::MAX; switches];
    let mut next = 0;
    // HFIs' switches first: their columns are the ones that are walked the most.
    let hfis = by_lid.iter().filter(|destination| destination.is_hfi);
    let in_order = hfis.chain(by_lid).map(|destination| destination.switch);
    for switch in in_order.chain(0..switches as u32) {
        let slot = &mut column[switch as usize];
        if *slot == u32::MAX {
            *slot = next;
            next += 1;
        }
    }
    column
}

/// Tables balanced by counting, on any kind of paths.
pub(crate) fn balanced(
    network: &Network,
    destinations: &Destinations,
    paths: &Paths,
    pruning: &Pruning,
) -> LinearTables {
    let below = ways_below(network);
    rows(network, |switch, candidates, row| {
        let order = order(network, destinations, switch);
        pruning.fill(candidates, network, paths, switch, &order);
        let mut balance = Balance::new(network.egress(switch), candidates);
        balance.below = below.get(switch).map_or(1, |below| *below as usize);
        for stretch in &destinations.stretches {
            let ends = &destinations.by_lid[stretch.range.clone()];
            if stretch.switch == switch {
                ends.iter().for_each(|to| deliver(row, &to.end));
                continue;
            }
            let run = candidates.set(paths.column(stretch.switch));
            match stretch.first_lid {
                Some(lid) => balance.place_all(run, &mut row[lid..lid + ends.len()]),
                None => ends.iter().for_each(|to| balance.place(run, row, to)),
            }
        }
    })
}

/// How many ways up there are below each switch of a tree, where hosts have several LIDs; nothing
/// elsewhere.
fn ways_below(network: &Network) -> Vec<u32> {
    let mut ends = network.end_ports();
    if !is_tree(network) || ends.all(|end| end.lmc.0 == 0) {
        return Vec::new();
    }
    levels(network).map_or_else(|_| Vec::new(), |level| dividers(network, &level))
}

/// Ties between ports: first the neighbour that forwards fewer LIDs so far, then the lower port.
/// Tables are thought of as made switch by switch, edge switches first, so a neighbour counts
/// either nothing yet or all that it forwards.
fn order(network: &Network, destinations: &Destinations, switch: usize) -> Vec<u16> {
    let turn = |index: usize| (network.hfis(index).is_empty(), index);
    let egress = network.egress(switch);
    let load = |link: &u16| {
        let Egress { to, port, .. } = egress[usize::from(*link)];
        let done = turn(to as usize) < turn(switch);
        let load = destinations.forwarded[to as usize];
        (if done { load } else { 0 }, port)
    };
    let mut order: Vec<u16> = (0..egress.len() as u16).collect();
    order.sort_by_key(load);
    order
}

/// The counters of one switch and its place among the candidates.
struct Balance<'a> {
    egress: &'a [Egress],
    candidates: &'a Candidates,
    /// LIDs of HFIs on each link.
    lids: Vec<u32>,
    /// The same, base LIDs only.
    base_lids: Vec<u32>,
    run: u32,
    /// Candidates that carry fewest, in order; those before `next` carry one more by now.
    ready: Vec<u16>,
    next: usize,
    /// Since `ready` was made, nothing but its next one has ever been used.
    even: bool,
    /// For each link the first one to the same neighbour.
    neighbour: Vec<u16>,
    /// For each first link the last round in which its neighbour was chosen.
    round_of: Vec<u32>,
    round: u32,
    /// Links chosen for one end port.
    chosen: Vec<u16>,
    /// Ways up that there are below the switch.
    below: usize,
}

impl<'a> Balance<'a> {
    fn new(egress: &'a [Egress], candidates: &'a Candidates) -> Self {
        let first = |link: &Egress| egress.iter().position(|other| other.to == link.to);
        let neighbour = egress.iter().map(|link| first(link).unwrap_or(0) as u16);
        Self {
            egress,
            candidates,
            lids: vec![0; egress.len()],
            base_lids: vec![0; egress.len()],
            run: u32::MAX,
            ready: Vec::with_capacity(egress.len()),
            next: 0,
            even: false,
            neighbour: neighbour.collect(),
            round_of: vec![0; egress.len()],
            round: 0,
            chosen: Vec::new(),
            below: 1,
        }
    }

    /// Goes to a set of candidates.
    fn enter(&mut self, run: u32) {
        if self.run != run {
            self.run = run;
            self.even = false;
            self.refresh();
        }
    }

    /// Finds the candidates that carry fewest.
    fn refresh(&mut self) {
        self.next = 0;
        let links = self.candidates.links(self.run);
        if self.even && self.ready.len() == links.len() {
            // All candidates carried the same and got one more each.
            return;
        }
        let fewest = links.iter().map(|link| self.lids[usize::from(*link)]).min();
        self.ready.clear();
        let few = |link: &&u16| Some(self.lids[usize::from(**link)]) == fewest;
        self.ready.extend(links.iter().filter(few));
        self.even = true;
    }

    /// Places successive LIDs of HFIs.
    fn place_all(&mut self, run: u32, mut entries: &mut [u8]) {
        self.enter(run);
        while !entries.is_empty() {
            if self.next == self.ready.len() {
                self.refresh();
            }
            let links = &self.ready[self.next..];
            if links.is_empty() {
                return;
            }
            let (now, later) = entries.split_at_mut(entries.len().min(links.len()));
            for (entry, &link) in now.iter_mut().zip(links) {
                let link = usize::from(link);
                *entry = self.egress[link].port;
                self.lids[link] += 1;
                self.base_lids[link] += 1;
            }
            self.next += now.len();
            entries = later;
        }
    }

    fn place(&mut self, run: u32, row: &mut [u8], destination: &Destination) {
        self.enter(run);
        if destination.end.lmc.0 > 0 {
            return self.place_set(row, destination);
        }
        if self.next == self.ready.len() {
            self.refresh();
        }
        let Some(&link) = self.ready.get(self.next) else {
            return;
        };
        let link = usize::from(link);
        row[destination.end.lid.0 as usize] = self.egress[link].port;
        if destination.is_hfi {
            self.next += 1;
            self.lids[link] += 1;
            self.base_lids[link] += 1;
        }
    }

    /// The LIDs of one end port go to as many different neighbours as there are, to those that
    /// carry fewest; which of them gets the base LID follows from the base LIDs that they carry.
    fn place_set(&mut self, row: &mut [u8], destination: &Destination) {
        let count = destination.end.lmc.lids() as usize;
        let lid = destination.end.lid.0 as usize;
        self.choose(count, destination.is_hfi);
        let Some(offset) = self.offset() else {
            return;
        };
        let turn = self.turn();
        for (index, entry) in row[lid..lid + count].iter_mut().enumerate() {
            let place = match turn {
                Some(turn) => index / turn * turn + (index + index / turn) % turn,
                None => index,
            };
            let link = usize::from(self.chosen[(place + offset) % self.chosen.len()]);
            *entry = self.egress[link].port;
            self.base_lids[link] += u32::from(index == 0 && destination.is_hfi);
        }
    }

    /// After how many LIDs the next ones are chosen in another order, none where that does not
    /// come out even.
    fn turn(&self) -> Option<usize> {
        let first = |link: &u16| self.neighbour[usize::from(*link)];
        let mut ways: Vec<u16> = self.chosen.iter().map(first).collect();
        ways.sort_unstable();
        ways.dedup();
        if ways.len() == 1 {
            ways = self.chosen.clone();
            ways.sort_unstable();
            ways.dedup();
        }
        let turn = turn(self.below, ways.len()) as usize;
        self.chosen.len().is_multiple_of(turn).then_some(turn)
    }

    fn offset(&self) -> Option<usize> {
        let base_lids = |index: &usize| self.base_lids[usize::from(self.chosen[*index])];
        (0..self.chosen.len()).min_by_key(base_lids)
    }

    fn choose(&mut self, count: usize, is_hfi: bool) {
        self.chosen.clear();
        if !is_hfi {
            let links = self.candidates.links(self.run).iter();
            return self.chosen.extend(links.take(count));
        }
        self.round += 1;
        for _ in 0..count {
            let Some(link) = self.pick() else {
                return;
            };
            self.lids[usize::from(link)] += 1;
            self.round_of[usize::from(self.neighbour[usize::from(link)])] = self.round;
            self.chosen.push(link);
        }
    }

    /// The candidate that carries fewest among those whose neighbour has not been chosen in this
    /// round; when all have, a new round begins.
    fn pick(&mut self) -> Option<u16> {
        if self.next == self.ready.len() {
            self.refresh();
        }
        if let Some(at) = (self.next..self.ready.len()).find(|at| self.is_new(self.ready[*at])) {
            self.even &= at == self.next;
            self.ready[self.next..=at].rotate_right(1);
            self.next += 1;
            return Some(self.ready[self.next - 1]);
        }
        let links = self.candidates.links(self.run).iter().copied();
        let fresh = links.filter(|link| self.is_new(*link));
        let fewest = fresh.min_by_key(|link| self.lids[usize::from(*link)]);
        if fewest.is_none() && !self.ready.is_empty() {
            self.round += 1;
            return self.pick();
        }
        self.even = false;
        fewest
    }

    fn is_new(&self, link: u16) -> bool {
        self.round_of[usize::from(self.neighbour[usize::from(link)])] != self.round
    }
}
