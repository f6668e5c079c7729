//! `shortestpath`: least cost, each LID through the port that carries the fewest so far.

use weft_fabric::LinearTables;

use super::rows::{deliver, rows};
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
        Ok(Plan {
            linear,
            paths,
            pruning,
        })
    }
}

/// One end port to be routed to.
#[derive(Debug, Clone, Copy)]
struct Destination {
    end: EndPort,
    switch: u32,
    is_hfi: bool,
}

/// All end ports by LID, and the switches in the order in which their LIDs first appear.
pub(crate) struct Destinations {
    by_lid: Vec<Destination>,
    /// Column of each switch.
    pub(crate) column: Vec<u32>,
    /// HFI LIDs that a switch forwards to others: all but those attached to it.
    forwarded: Vec<u64>,
}

impl Destinations {
    /// Sorts them.
    pub(crate) fn new(network: &Network) -> Self {
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
        by_lid.sort_unstable_by_key(|destination| destination.end.lid);
        let total: u64 = attached.iter().sum();
        Self {
            column: columns(network.len(), &by_lid),
            forwarded: attached.iter().map(|own| total - own).collect(),
            by_lid,
        }
    }
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
    rows(network, |switch, candidates, row| {
        let order = order(network, destinations, switch);
        pruning.fill(candidates, network, paths, switch, &order);
        let mut balance = Balance::new(network.egress(switch), candidates);
        for destination in &destinations.by_lid {
            let target = destination.switch as usize;
            if target == switch {
                deliver(row, &destination.end);
            } else {
                balance.enter(candidates.run(paths.column(target)));
                balance.place(row, destination);
            }
        }
    })
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
    run: Option<u32>,
    /// Candidates that carry fewest, in order.
    ready: Vec<u16>,
    next: usize,
    /// Links chosen for one end port.
    chosen: Vec<u16>,
}

impl<'a> Balance<'a> {
    fn new(egress: &'a [Egress], candidates: &'a Candidates) -> Self {
        Self {
            egress,
            candidates,
            lids: vec![0; egress.len()],
            base_lids: vec![0; egress.len()],
            run: None,
            ready: Vec::with_capacity(egress.len()),
            next: 0,
            chosen: Vec::new(),
        }
    }

    /// Goes to a set of candidates.
    fn enter(&mut self, run: u32) {
        if self.run != Some(run) {
            self.run = Some(run);
            self.refresh();
        }
    }

    /// Finds the candidates that carry fewest.
    fn refresh(&mut self) {
        let links = self.run.map_or(&[][..], |run| self.candidates.links(run));
        let fewest = links.iter().map(|link| self.lids[usize::from(*link)]).min();
        self.ready.clear();
        let few = |link: &&u16| Some(self.lids[usize::from(**link)]) == fewest;
        self.ready.extend(links.iter().filter(few));
        self.next = 0;
    }

    fn place(&mut self, row: &mut [u8], destination: &Destination) {
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
        let wanted = destination.end.lmc.lids() as usize;
        self.choose(wanted);
        if self.chosen.is_empty() {
            return;
        }
        let base_lids = |index: &usize| self.base_lids[usize::from(self.chosen[*index])];
        let offset = (0..self.chosen.len()).min_by_key(base_lids).unwrap_or(0);
        let lid = destination.end.lid.0 as usize;
        for (index, entry) in row[lid..lid + wanted].iter_mut().enumerate() {
            let link = usize::from(self.chosen[(index + offset) % self.chosen.len()]);
            *entry = self.egress[link].port;
            if destination.is_hfi {
                self.lids[link] += 1;
                self.base_lids[link] += u32::from(index == 0);
            }
        }
        // The counters of these candidates have moved by more than one place.
        self.run = None;
    }

    /// Orders the candidates by round: in each round every neighbour once, the ports that carry
    /// fewest first; keeps the first `wanted`.
    fn choose(&mut self, wanted: usize) {
        let links = self.run.map_or(&[][..], |run| self.candidates.links(run));
        self.chosen.clear();
        self.chosen.extend_from_slice(links);
        let lids = &self.lids;
        self.chosen.sort_by_key(|link| lids[usize::from(*link)]);
        let to = |link: u16| self.egress[usize::from(link)].to;
        let mut round: Vec<(u16, u16)> = Vec::with_capacity(links.len());
        for (index, &link) in self.chosen.iter().enumerate() {
            let before = &self.chosen[..index];
            let earlier = before.iter().filter(|other| to(**other) == to(link)).count();
            round.push((earlier as u16, link));
        }
        round.sort_by_key(|entry| entry.0);
        self.chosen.clear();
        self.chosen.extend(round.iter().map(|entry| entry.1));
        self.chosen.truncate(wanted);
    }
}
