//! Placement of the routes of one switch.

use super::Edge;
use crate::engine::divisor::Divisor;
use crate::engine::dmodc::turn;
use crate::engine::rows::{deliver, take_turns};
use crate::engine::targets::{Target, stretches};
use crate::engine::tiers::Tiers;
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::settings::FatTreeSettings;

/// Placement of one switch's routes, with the number of earlier ones.
pub(super) struct Place<'a> {
    settings: &'a FatTreeSettings,
    network: &'a Network,
    tiers: &'a Tiers,
    candidates: &'a Candidates,
    switch: usize,
    tier: u8,
    index: usize,
    /// Most parallel links to one switch above.
    trunk: usize,
    /// Number of upward paths below.
    pub(super) below: usize,
    /// Routes placed upwards and downwards.
    up: usize,
    down: usize,
    /// Ports of all sets of candidates.
    ports: Vec<u8>,
    /// For all sets, first candidate of each neighbour, and the end.
    groups: Vec<usize>,
    sets: Vec<Set>,
    /// The set in use.
    set: usize,
}

/// Inputs of entries for switches, apart from the candidates of each column.
pub(super) struct Lists {
    below: usize,
    ports: Vec<u8>,
    groups: Vec<usize>,
    sets: Vec<Set>,
}

/// The candidates of some destinations.
#[derive(PartialEq)]
struct Set {
    first_port: usize,
    first_group: usize,
    groups: usize,
    /// Number of ports; none count as 1.
    count: Divisor,
    is_empty: bool,
    going_up: bool,
}

impl<'a> Place<'a> {
    pub(super) fn new(
        settings: &'a FatTreeSettings,
        network: &'a Network,
        tiers: &'a Tiers,
        candidates: &'a Candidates,
        switch: usize,
    ) -> Self {
        let mut place = Self {
            settings,
            network,
            tiers,
            candidates,
            switch,
            tier: tiers.tier[switch],
            index: tiers.index[switch] as usize,
            trunk: trunk(network, tiers, switch),
            below: 1,
            up: 0,
            down: 0,
            ports: Vec::new(),
            groups: Vec::new(),
            sets: Vec::with_capacity(candidates.len()),
            set: 0,
        };
        (0..candidates.len() as u32).for_each(|set| place.add(set));
        place
    }

    /// Lists the ports of a set.
    fn add(&mut self, set: u32) {
        let egress = self.network.egress(self.switch);
        let links = self.candidates.links(set);
        let (first_port, first_group) = (self.ports.len(), self.groups.len());
        let mut before = None;
        for (place, link) in links.iter().enumerate() {
            let link = &egress[usize::from(*link)];
            self.ports.push(link.port);
            if before.replace(link.to) != Some(link.to) {
                self.groups.push(place);
            }
        }
        let first = links.first().map(|link| egress[usize::from(*link)].to);
        self.sets.push(Set {
            first_port,
            first_group,
            groups: self.groups.len() - first_group,
            count: Divisor::new(links.len() as u32),
            is_empty: links.is_empty(),
            going_up: first.is_some_and(|to| self.tiers.tier[to as usize] > self.tier),
        });
        self.groups.push(links.len());
    }

    /// Whether switches whose columns have a number that another switch had have the same entries
    /// here.
    pub(super) fn goes_on(&self, before: &Lists) -> bool {
        self.below == before.below
            && self.sets.starts_with(&before.sets)
            && self.groups.starts_with(&before.groups)
            && self.ports.starts_with(&before.ports)
    }

    /// Data for comparison with a later switch.
    pub(super) fn into_lists(self) -> Lists {
        Lists {
            below: self.below,
            ports: self.ports,
            groups: self.groups,
            sets: self.sets,
        }
    }

    fn set(&self) -> &Set {
        &self.sets[self.set]
    }

    /// Goes to the candidates for a column; returns whether there are any.
    fn enter(&mut self, column: usize) -> bool {
        self.set = self.candidates.set(column) as usize;
        !self.set().is_empty
    }

    fn ports(&self) -> &[u8] {
        let set = self.set();
        &self.ports[set.first_port..][..set.count.by() as usize]
    }

    /// Routes to the HFIs of all edge switches; `last` takes the ports that are routed last, and
    /// only those.
    pub(super) fn edge_switches(
        &mut self,
        row: &mut [u8],
        paths: &Paths,
        edges: &[Edge],
        last: bool,
    ) {
        // Beyond all of these where the switch has no HFIs.
        let own = paths.column(self.switch);
        let mut place = 0;
        while let Some(edge) = edges.get(place) {
            let end = match place <= own {
                _ if last || self.is_fixed() => place + 1,
                true => edge.end.min(own.max(place + 1)),
                false => edge.end,
            };
            let alike = place..place + self.candidates.run(place..end);
            self.edge_switch(row, (place, &edges[alike.clone()]), last);
            place = alike.end;
        }
    }

    /// Whether routes may be placed by their destination.
    fn is_fixed(&self) -> bool {
        self.settings.converge || self.settings.pass_through
    }

    /// Routes to the HFIs of some edge switches whose LIDs go on from each other's and that have the
    /// same candidates.
    fn edge_switch(&mut self, row: &mut [u8], (column, edges): (usize, &[Edge]), last: bool) {
        let edge = &edges[0];
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
        if !self.enter(column) {
            return;
        }
        let fixed = self.fixed_start(edge.switch, last);
        match (fixed, edge.first_lid) {
            (None, Some(lid)) => {
                let lids = |edge: &Edge| self.network.hfis(edge.switch).len();
                let count = edges.iter().map(lids).sum();
                let start = self.next(count);
                take_turns(&mut row[lid..lid + count], self.ports(), start);
            }
            (None, None) => self.counted(row, hfis, edge.has_late, last),
            (Some(fixed), _) => self.fixed(row, hfis, fixed, edge.has_late),
        }
    }

    /// The next candidate by count, and counts `routed` on.
    fn next(&mut self, routed: usize) -> usize {
        let Set {
            count, going_up, ..
        } = *self.set();
        let (placed, shift) = match going_up {
            true => (&mut self.up, self.index * self.trunk),
            false => (&mut self.down, self.index),
        };
        let start = count.rest((*placed + shift) as u32) as usize;
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
        } else if meets && self.tier == 1 && self.set().going_up {
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
        let (ports, count) = (self.ports(), self.set().count);
        let base = end.lid.0 as usize;
        let start = count.rest(start as u32) as usize;
        if end.lmc.0 == 0 {
            row[base] = ports[start];
            return;
        }
        let going_up = self.set().going_up;
        let turn = turn(
            self.below,
            if going_up {
                self.set().groups
            } else {
                ports.len()
            },
        );
        let entries = &mut row[end.entries()];
        for (index, entry) in entries.iter_mut().enumerate() {
            let index = index + index / turn as usize;
            *entry = ports[match spread {
                true if going_up => self.disjoint(start, index),
                true => count.rest((start + index) as u32) as usize,
                false => start,
            }];
        }
    }

    /// The candidate `index` steps on, each step to the next switch above: the LIDs of an end port
    /// reach as many of them as there are before one serves twice, then over its next link.
    fn disjoint(&self, start: usize, index: usize) -> usize {
        let Set {
            first_group,
            groups: count,
            ..
        } = *self.set();
        let groups = &self.groups[first_group..=first_group + count];
        let group = groups.partition_point(|first| *first <= start) - 1;
        let link = start - groups[group] + index / count;
        let group = (group + index) % count;
        let (first, end) = (groups[group], groups[group + 1]);
        first + link % (end - first)
    }

    /// Routes to the switches themselves, spread by their place.
    pub(super) fn management(&mut self, row: &mut [u8], targets: &[Target]) {
        for targets in stretches(targets, self.candidates) {
            let (first, count) = (&targets[0], targets.len());
            if count > 1 && self.enter(first.column as usize) {
                let start = self.set().count.rest(first.number) as usize;
                let entries = &mut row[first.lid as usize..][..count];
                take_turns(entries, self.ports(), start);
            } else if count == 1 {
                self.towards(row, first);
            }
        }
        let own = self.network.management(self.switch);
        own.iter().for_each(|end| deliver(row, end));
    }

    /// Routes to one switch itself.
    pub(super) fn towards(&mut self, row: &mut [u8], target: &Target) {
        match self.network.management(target.switch as usize) {
            Some(end) if target.switch as usize == self.switch => deliver(row, end),
            Some(end) if self.enter(target.column as usize) => {
                self.lids(row, end, target.number as usize, true);
            }
            _ => {}
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
