//! `shortestpath`: least cost, each LID through the port that carries the fewest so far.
//!
//! In a tree the switches below have spread the LIDs by then: of successive ones each switch
//! sends every k-th here, k being the number of upward paths below. If a switch rotated its ports over
//! all LIDs, those that it receives could all fall to one port. So k successive LIDs take the same
//! path, and those that are sent here rotate.

use weft_fabric::LinearTables;

use super::dmodc::{dividers, turn};
use super::levels::{is_tree, levels};
use super::neighbours::{earlier_alike, first_alike};
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
        Ok(balanced(network, &destinations, paths, self.spine_first))
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
    /// Destinations, cut where the switch changes or LIDs are not consecutive.
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

/// A plan balanced by counting, on any kind of paths.
pub(crate) fn balanced(
    network: &Network,
    destinations: &Destinations,
    paths: Paths,
    spine_first: bool,
) -> Plan {
    let pruning = Pruning::without_tiers(spine_first);
    let linear = tables(network, destinations, &paths, &pruning);
    Plan::on_paths(linear, paths, pruning)
}

fn tables(
    network: &Network,
    destinations: &Destinations,
    paths: &Paths,
    pruning: &Pruning,
) -> LinearTables {
    let below = ways_below(network);
    rows(network, |switch, candidates, row| {
        let egress = network.egress(switch);
        let neighbour = first_alike(egress);
        let order = order(network, destinations, switch, &neighbour);
        pruning.fill(candidates, network, paths, switch, &order);
        let mut balance = Balance::new(egress, candidates, neighbour);
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

/// Number of upward paths below each switch of a tree; empty otherwise.
fn ways_below(network: &Network) -> Vec<u32> {
    if !is_tree(network) {
        return Vec::new();
    }
    levels(network).map_or_else(|_| Vec::new(), |level| dividers(network, &level))
}

/// Ties between ports: first the neighbour that forwards fewer LIDs so far, then one link to each
/// neighbour before a second one, then the lower port. Tables are thought of as made switch by
/// switch, edge switches first, so a neighbour counts either nothing yet or all that it forwards.
fn order(
    network: &Network,
    destinations: &Destinations,
    switch: usize,
    neighbour: &[u16],
) -> Vec<u16> {
    let turn = |index: usize| (network.hfis(index).is_empty(), index);
    let egress = network.egress(switch);
    let parallel = earlier_alike(neighbour);
    let load = |link: &u16| {
        let Egress { to, port, .. } = egress[usize::from(*link)];
        let done = turn(to as usize) < turn(switch);
        let load = destinations.forwarded[to as usize];
        (
            if done { load } else { 0 },
            parallel[usize::from(*link)],
            port,
        )
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
    /// Number of base LIDs by link.
    base_lids: Vec<u32>,
    /// For each first link to a neighbour the base LIDs on all links there, if there is an LMC.
    base_lids_to: Vec<u32>,
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
    /// Links chosen for the LIDs of an end port, from its first LID on.
    chosen: Vec<u16>,
    /// Number of further HFIs on the path of the last one.
    same_way: usize,
    /// Number of upward paths below the switch.
    below: usize,
}

impl<'a> Balance<'a> {
    fn new(egress: &'a [Egress], candidates: &'a Candidates, neighbour: Vec<u16>) -> Self {
        Self {
            egress,
            candidates,
            lids: vec![0; egress.len()],
            base_lids: vec![0; egress.len()],
            base_lids_to: vec![0; egress.len()],
            run: u32::MAX,
            ready: Vec::with_capacity(egress.len()),
            next: 0,
            even: false,
            neighbour,
            round_of: vec![0; egress.len()],
            round: 0,
            chosen: Vec::new(),
            same_way: 0,
            below: 1,
        }
    }

    /// Goes to a set of candidates.
    fn enter(&mut self, run: u32) {
        if self.run != run {
            self.run = run;
            self.even = false;
            self.same_way = 0;
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
        if self.below > 1 {
            return self.place_alike(entries);
        }
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

    /// Places destinations of which several in a row share a path.
    fn place_alike(&mut self, mut entries: &mut [u8]) {
        while !entries.is_empty() {
            if self.same_way == 0 || self.chosen.len() != 1 {
                self.round += 1;
                self.chosen = self.pick().into_iter().collect();
                self.same_way = self.below;
            }
            let Some(&link) = self.chosen.first() else {
                return;
            };
            let (now, later) = entries.split_at_mut(entries.len().min(self.same_way));
            now.fill(self.egress[usize::from(link)].port);
            self.lids[usize::from(link)] += now.len() as u32;
            self.base_lids[usize::from(link)] += now.len() as u32;
            self.same_way -= now.len();
            entries = later;
        }
    }

    fn place(&mut self, run: u32, row: &mut [u8], destination: &Destination) {
        self.enter(run);
        let count = destination.end.lmc.lids() as usize;
        let lid = destination.end.lid.0 as usize;
        let entries = &mut row[lid..lid + count];
        match destination.is_hfi {
            true if count == 1 => self.place_all(run, entries),
            true => self.place_set(entries),
            false => self.place_switch(entries),
        }
    }

    /// Routes to a switch count nowhere.
    fn place_switch(&self, entries: &mut [u8]) {
        let ready = self.ready.get(self.next..).unwrap_or_default();
        let links = match entries.len() {
            1 if !ready.is_empty() => ready,
            _ => self.candidates.links(self.run),
        };
        for (entry, link) in entries.iter_mut().zip(links.iter().cycle()) {
            *entry = self.egress[usize::from(*link)].port;
        }
    }

    /// The LIDs of one end port go to as many different neighbours as there are, to those that
    /// carry fewest; which of them gets the base LID follows from the base LIDs that they carry.
    fn place_set(&mut self, entries: &mut [u8]) {
        if self.same_way == 0 || self.chosen.len() != entries.len() {
            self.choose(entries.len());
            self.deal();
            self.same_way = self.below;
        } else {
            let lids = &mut self.lids;
            self.chosen
                .iter()
                .for_each(|link| lids[usize::from(*link)] += 1);
        }
        self.same_way -= 1;
        let Some(&base) = self.chosen.first() else {
            return;
        };
        self.base_lids[usize::from(base)] += 1;
        self.base_lids_to[usize::from(self.neighbour[usize::from(base)])] += 1;
        for (entry, &link) in entries.iter_mut().zip(&self.chosen) {
            *entry = self.egress[usize::from(link)].port;
        }
    }

    /// Orders the chosen links by the LIDs that take them. The base LID goes to the
    /// neighbour with the fewest, then to the link: switches above thus receive every k-th of
    /// them, wherever the LIDs with an offset go.
    fn deal(&mut self) {
        let base_lids = |index: &usize| {
            let link = usize::from(self.chosen[*index]);
            let neighbour = usize::from(self.neighbour[link]);
            (self.base_lids_to[neighbour], self.base_lids[link])
        };
        let offset = (0..self.chosen.len()).min_by_key(base_lids).unwrap_or(0);
        let turn = self.turn();
        let place = |index: usize| match turn {
            Some(turn) => index / turn * turn + (index + index / turn) % turn,
            None => index,
        };
        let chosen = &self.chosen;
        let link = |index| chosen[(place(index) + offset) % chosen.len()];
        self.chosen = (0..chosen.len()).map(link).collect();
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

    /// Chooses links for an end port with `count` LIDs, and adds these to their load.
    fn choose(&mut self, count: usize) {
        self.chosen.clear();
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
