//! `fattree`: least cost, each route placed by the position of its switch in its tier and a count
//! of the routes placed before.

use weft_fabric::{LinearTables, Topology};

use super::levels::rank;
use super::rows::{consecutive, deliver, rows, take_turns};
use super::tiers::Tiers;
use super::{Engine, Plan, Pruning};
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;
use crate::settings::FatTreeSettings;

/// The engine.
pub(crate) struct FatTree<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) settings: &'a FatTreeSettings,
    /// Only paths that go up first and then down.
    pub(crate) up_down: bool,
}

impl Engine for FatTree<'_> {
    fn name(&self) -> EngineUsed {
        match self.up_down {
            false => EngineUsed::FatTree,
            true => EngineUsed::FatTreeUpDown,
        }
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let tiers = Tiers::find(self.topology, network, self.settings)?;
        let edges = edges(network, &tiers);
        let column = columns(network.len(), &edges, &tiers);
        let paths = if self.up_down {
            Paths::up_down(network, column, rank(&tiers.tier))
        } else {
            Paths::shortest(network, column)
        };
        let pruning = Pruning {
            spine_first: true,
            tier: tiers.tier.clone(),
        };
        let linear = self.tables(network, &tiers, &edges, &paths, &pruning);
        Ok(Plan::on_paths(linear, paths, pruning))
    }
}

/// Switches with HFIs: tier by tier in order of place, those without a tier last.
fn edges(network: &Network, tiers: &Tiers) -> Vec<u32> {
    let outside =
        (0..network.len() as u32).filter(|switch| tiers.tier[*switch as usize] == Tiers::NONE);
    let inside = tiers.members.iter().flatten().copied();
    inside
        .chain(outside)
        .filter(|switch| !network.hfis(*switch as usize).is_empty())
        .collect()
}

fn columns(switches: usize, edges: &[u32], tiers: &Tiers) -> Vec<u32> {
    let mut column = vec![u32::MAX; switches];
    let members = tiers.members.iter().flatten();
    let all = edges.iter().chain(members).copied();
    let mut next = 0;
    for switch in all.chain(0..switches as u32) {
        let slot = &mut column[switch as usize];
        if *slot == u32::MAX {
            *slot = next;
            next += 1;
        }
    }
    column
}

impl FatTree<'_> {
    fn edge(&self, network: &Network, switch: u32) -> Edge {
        let switch = switch as usize;
        let hfis = network.hfis(switch);
        let late = &self.settings.route_last;
        let has_late = hfis.iter().any(|end| late.contains(&end.at));
        Edge {
            switch,
            first_lid: consecutive(hfis).filter(|_| !has_late),
            has_late,
        }
    }

    fn tables(
        &self,
        network: &Network,
        tiers: &Tiers,
        edges: &[u32],
        paths: &Paths,
        pruning: &Pruning,
    ) -> LinearTables {
        let edges: Vec<Edge> = edges.iter().map(|edge| self.edge(network, *edge)).collect();
        rows(network, |switch, candidates, row| {
            let order = by_neighbour(network, switch);
            pruning.fill(candidates, network, paths, switch, &order);
            let mut place = Place::new(self.settings, network, tiers, candidates, switch);
            for last in [false, true] {
                for edge in &edges {
                    place.edge_switch(row, paths.column(edge.switch), edge, last);
                }
            }
            place.management(row, paths);
        })
    }
}

/// A destination: a switch with HFIs.
struct Edge {
    switch: usize,
    /// Its HFIs' first LID when they have one each, one after the other, and none is routed last.
    first_lid: Option<usize>,
    /// Whether any of them is routed last.
    has_late: bool,
}

/// Links sorted by the neighbour's system, then by the neighbour, then by port.
pub(super) fn by_neighbour(network: &Network, switch: usize) -> Vec<u16> {
    let egress = network.egress(switch);
    let mut order: Vec<u16> = (0..egress.len() as u16).collect();
    order.sort_by_key(|link| {
        let link = &egress[usize::from(*link)];
        let to = &network.switches[link.to as usize];
        (to.system, to.guid, link.port)
    });
    order
}

/// Where one switch's routes go, and how many were placed before.
struct Place<'a> {
    settings: &'a FatTreeSettings,
    network: &'a Network,
    tiers: &'a Tiers,
    candidates: &'a Candidates,
    switch: usize,
    tier: u8,
    index: usize,
    /// Most parallel links to one switch above.
    trunk: usize,
    /// Routes placed upwards and downwards.
    up: usize,
    down: usize,
    run: u32,
    ports: Vec<u8>,
    /// First candidate of each neighbour, and the end.
    groups: Vec<usize>,
    going_up: bool,
}

impl<'a> Place<'a> {
    fn new(
        settings: &'a FatTreeSettings,
        network: &'a Network,
        tiers: &'a Tiers,
        candidates: &'a Candidates,
        switch: usize,
    ) -> Self {
        Self {
            settings,
            network,
            tiers,
            candidates,
            switch,
            tier: tiers.tier[switch],
            index: tiers.index[switch] as usize,
            trunk: trunk(network, tiers, switch),
            up: 0,
            down: 0,
            run: u32::MAX,
            ports: Vec::new(),
            groups: Vec::new(),
            going_up: false,
        }
    }

    /// Loads the candidates for a column.
    fn enter(&mut self, column: usize) {
        let run = self.candidates.run(column);
        if run == self.run {
            return;
        }
        self.run = run;
        let egress = self.network.egress(self.switch);
        let links = self.candidates.links(run);
        self.ports.clear();
        self.groups.clear();
        let mut before = None;
        for (place, link) in links.iter().enumerate() {
            let link = &egress[usize::from(*link)];
            self.ports.push(link.port);
            if before.replace(link.to) != Some(link.to) {
                self.groups.push(place);
            }
        }
        self.groups.push(links.len());
        let first = links.first().map(|link| egress[usize::from(*link)].to);
        self.going_up = first.is_some_and(|to| self.tiers.tier[to as usize] > self.tier);
    }

    /// Routes to the HFIs of one edge switch; `last` takes the ports that are routed last, and
    /// only those.
    fn edge_switch(&mut self, row: &mut [u8], column: usize, edge: &Edge, last: bool) {
        if last && !edge.has_late {
            return;
        }
        let hfis = self.network.hfis(edge.switch);
        if edge.switch == self.switch {
            return hfis
                .iter()
                .filter(|_| !last)
                .for_each(|end| deliver(row, end));
        }
        self.enter(column);
        if self.ports.is_empty() {
            return;
        }
        let fixed = self.fixed_start(edge.switch, last);
        match (fixed, edge.first_lid) {
            (None, Some(lid)) => {
                let start = self.next(hfis.len());
                take_turns(&mut row[lid..lid + hfis.len()], &self.ports, start);
            }
            (None, None) => self.counted(row, hfis, edge.has_late, last),
            (Some(fixed), _) => self.fixed(row, hfis, fixed, edge.has_late),
        }
    }

    /// The next candidate by count, and counts `routed` on.
    fn next(&mut self, routed: usize) -> usize {
        let (placed, shift) = match self.going_up {
            true => (&mut self.up, self.index * self.trunk),
            false => (&mut self.down, self.index),
        };
        let start = (*placed + shift) % self.ports.len();
        *placed += routed;
        start
    }

    /// The candidate of the first HFI and the step to the next one's, when they follow from the
    /// destination alone.
    fn fixed_start(&self, edge: usize, last: bool) -> Option<(usize, usize)> {
        let place = self.tiers.index[edge] as usize;
        let meets = self.settings.converge && self.settings.tier_count == 3;
        if last {
            None
        } else if meets && self.tier == 1 && self.going_up {
            Some((place, 0))
        } else if self.settings.pass_through {
            Some((usize::from(self.tier) * place, 1))
        } else {
            None
        }
    }

    fn fixed(
        &self,
        row: &mut [u8],
        hfis: &[EndPort],
        (start, step): (usize, usize),
        has_late: bool,
    ) {
        let late = &self.settings.route_last;
        for (number, end) in hfis.iter().enumerate() {
            if !has_late || !late.contains(&end.at) {
                self.lids(row, end, start + number * step, step == 1);
            }
        }
    }

    fn counted(&mut self, row: &mut [u8], hfis: &[EndPort], has_late: bool, last: bool) {
        let late = &self.settings.route_last;
        for end in hfis {
            if !has_late || late.contains(&end.at) == last {
                let at = self.next(1);
                self.lids(row, end, at, true);
            }
        }
    }

    /// Routes the LIDs of one end port, the base LID over candidate `start`.
    #[inline]
    fn lids(&self, row: &mut [u8], end: &EndPort, start: usize, spread: bool) {
        let count = self.ports.len();
        let base = end.lid.0 as usize;
        if end.lmc.0 == 0 {
            row[base] = self.ports[start % count];
            return;
        }
        for (index, entry) in row[base..base + end.lmc.lids() as usize]
            .iter_mut()
            .enumerate()
        {
            *entry = self.ports[match spread {
                true if self.going_up => self.disjoint(start % count, index),
                true => (start + index) % count,
                false => start % count,
            }];
        }
    }

    /// The candidate `index` steps on, each step to the next switch above: the LIDs of an end port
    /// reach as many of them as there are before one serves twice, then over its next link.
    fn disjoint(&self, start: usize, index: usize) -> usize {
        let groups = self.groups.len() - 1;
        let group = self.groups.partition_point(|first| *first <= start) - 1;
        let link = start - self.groups[group] + index / groups;
        let group = (group + index) % groups;
        let (first, end) = (self.groups[group], self.groups[group + 1]);
        first + link % (end - first)
    }

    /// Routes to the switches themselves, spread by their place.
    fn management(&mut self, row: &mut [u8], paths: &Paths) {
        for target in 0..self.network.len() {
            let Some(end) = self.network.management(target) else {
                continue;
            };
            if target == self.switch {
                deliver(row, end);
                continue;
            }
            self.enter(paths.column(target));
            if !self.ports.is_empty() {
                self.lids(row, end, self.tiers.index[target] as usize, true);
            }
        }
    }
}

fn trunk(network: &Network, tiers: &Tiers, switch: usize) -> usize {
    let above = |to: u32| tiers.tier[to as usize] > tiers.tier[switch];
    let links = network.egress(switch);
    let upward = links.iter().filter(|link| above(link.to));
    let same = |to: u32| links.iter().filter(|other| other.to == to).count();
    upward.map(|link| same(link.to)).max().unwrap_or(1)
}
