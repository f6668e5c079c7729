//! The closed form at one switch: its entries, leaf by leaf.

use super::numbers::{Leaf, Numbers};
use crate::engine::divisor::Divisor;
use crate::engine::rows::{deliver, take_turns};
use crate::engine::targets::{Target, stretches};
use crate::network::Network;
use crate::paths::Candidates;

/// Longest list of ports that is written out before it repeats.
const PERIOD_MAX: usize = 1 << 12;

/// The closed form at one switch.
pub(super) struct Form<'a> {
    network: &'a Network,
    numbers: &'a Numbers,
    candidates: &'a Candidates,
    switch: usize,
    divider: Divisor,
    /// Ports of all sets of candidates, in the order in which destinations take them.
    ports: Vec<u8>,
    turns: Vec<Turns>,
}

/// The ports of one set.
struct Turns {
    start: usize,
    count: Divisor,
    /// The neighbours that they lead to; of one, the links to it.
    ways: usize,
    is_empty: bool,
}

impl<'a> Form<'a> {
    /// For a switch whose candidates are known.
    pub(super) fn new(
        (network, numbers): (&'a Network, &'a Numbers),
        candidates: &'a Candidates,
        switch: usize,
    ) -> Self {
        let mut form = Self {
            network,
            numbers,
            candidates,
            switch,
            divider: Divisor::new(numbers.divider[switch]),
            ports: Vec::new(),
            turns: Vec::with_capacity(candidates.len()),
        };
        for set in 0..candidates.len() as u32 {
            form.add(set);
        }
        form
    }

    /// Lists the ports of a set: a link to each neighbour in turn, then the next link to each.
    fn add(&mut self, set: u32) {
        let egress = self.network.egress(self.switch);
        let links = self.candidates.links(set);
        let start = self.ports.len();
        let to = |link: &u16| egress[usize::from(*link)].to;
        let port = |link: u16| egress[usize::from(link)].port;
        let groups = || links.chunk_by(|a, b| to(a) == to(b));
        if groups().all(|group| group.len() == 1) {
            self.ports.extend(links.iter().map(|link| port(*link)));
        } else {
            let turns = groups().fold(1, |turns, group| lcm(turns, group.len()));
            let turns = turns.min(PERIOD_MAX / groups().count().max(1)).max(1);
            for turn in 0..turns {
                let ports = groups().map(|group| port(group[turn % group.len()]));
                self.ports.extend(ports);
            }
        }
        let count = self.ports.len() - start;
        self.turns.push(Turns {
            start,
            count: Divisor::new(count as u32),
            ways: match groups().count() {
                1 => links.len(),
                neighbours => neighbours,
            },
            is_empty: count == 0,
        });
    }

    fn turns(&self, column: usize) -> (&[u8], Divisor) {
        let turns = &self.turns[self.candidates.set(column) as usize];
        let count = match turns.is_empty {
            true => 0,
            false => turns.count.by() as usize,
        };
        (&self.ports[turns.start..turns.start + count], turns.count)
    }

    /// The entries of all HFIs: of as many leaves at once as follow each other and have the same
    /// candidates.
    pub(super) fn hfis(&self, row: &mut [u8]) {
        let leaves = &self.numbers.leaves;
        let mut place = 0;
        while place < leaves.len() {
            let set = self.candidates.set(place);
            let is_own = |leaf: &Leaf| leaf.switch as usize == self.switch;
            let own = is_own(&leaves[place]);
            let more = leaves[place + 1..].iter().zip(place + 1..);
            let alike = more.take_while(|(leaf, column)| {
                leaf.follows && !own && !is_own(leaf) && self.candidates.set(*column) == set
            });
            let last = place + alike.count();
            self.stretch(row, place, last);
            place = last + 1;
        }
    }

    /// The entries of the HFIs of one leaf.
    pub(super) fn leaf(&self, row: &mut [u8], place: usize) {
        self.stretch(row, place, place);
    }

    /// Those of successive leaves that follow each other and have the same candidates.
    fn stretch(&self, row: &mut [u8], place: usize, last: usize) {
        let leaf = &self.numbers.leaves[place];
        let hfis = self.network.hfis(leaf.switch as usize);
        if leaf.switch as usize == self.switch {
            return hfis.iter().for_each(|end| deliver(row, end));
        }
        let (ports, count) = self.turns(place);
        let end = self.numbers.leaves[last].lids;
        match leaf.lids.zip(end) {
            _ if ports.is_empty() => {}
            Some(((lid, _), (end, more))) => {
                let entries = &mut row[lid as usize..(end + more) as usize];
                self.block(entries, leaf.first, (ports, count));
            }
            None => {
                for (end, number) in hfis.iter().zip(leaf.first..) {
                    let quotient = self.divider.quotient(number);
                    let base = end.lid.0 as usize;
                    let entries = &mut row[base..base + end.lmc.lids() as usize];
                    self.spread(entries, quotient, place);
                }
            }
        }
    }

    /// Successive LIDs of HFIs with successive numbers.
    fn block(&self, mut entries: &mut [u8], first: u32, (ports, count): (&[u8], Divisor)) {
        if let [port] = ports {
            return entries.fill(*port);
        }
        if self.divider.by() == 1 {
            return take_turns(entries, ports, count.rest(first) as usize);
        }
        let quotient = self.divider.quotient(first);
        let mut left = ((quotient + 1) * self.divider.by() - first) as usize;
        let mut turn = count.rest(quotient) as usize;
        while entries.len() > left {
            let (now, later) = entries.split_at_mut(left);
            now.fill(ports[turn]);
            entries = later;
            turn = if turn + 1 == ports.len() { 0 } else { turn + 1 };
            left = self.divider.by() as usize;
        }
        entries.fill(ports[turn]);
    }

    /// Routes to the switches themselves.
    pub(super) fn switches(&self, row: &mut [u8]) {
        for targets in stretches(&self.numbers.switches, self.candidates) {
            let (first, count) = (&targets[0], targets.len());
            let (ports, turns) = self.turns(first.column as usize);
            if count > 1 && !ports.is_empty() {
                let entries = &mut row[first.lid as usize..][..count];
                take_turns(entries, ports, turns.rest(first.number) as usize);
            } else if count == 1 {
                self.target(row, first);
            }
        }
        let own = self.network.management(self.switch);
        own.iter().for_each(|end| deliver(row, end));
    }

    /// The entry of one switch.
    pub(super) fn management(&self, row: &mut [u8], target: usize) {
        match self.network.management(target) {
            Some(end) if target == self.switch => deliver(row, end),
            _ => self.target(row, &self.numbers.switches[target]),
        }
    }

    /// The entries of another switch, spread by its index.
    #[inline]
    fn target(&self, row: &mut [u8], target: &Target) {
        let (first, end) = (target.lid, target.lid + target.lids);
        let entries = &mut row[first as usize..end as usize];
        self.spread(entries, target.number, target.column as usize);
    }

    /// The LIDs of one end port in a column: each takes the next neighbour.
    #[inline]
    fn spread(&self, entries: &mut [u8], quotient: u32, column: usize) {
        let (ports, count) = self.turns(column);
        match entries {
            _ if ports.is_empty() => {}
            [entry] => *entry = ports[count.rest(quotient) as usize],
            entries => {
                let ways = self.turns[self.candidates.set(column) as usize].ways;
                let turn = turn(self.divider.by() as usize, ways);
                for (entry, index) in entries.iter_mut().zip(0..) {
                    let place = quotient.wrapping_add(index + index / turn);
                    *entry = ports[count.rest(place) as usize];
                }
            }
        }
    }
}

/// After how many LIDs of one host a switch skips a candidate. Switches below have dealt them out
/// to `below` ways, so that one in `below` comes here from each; without the skip these would use
/// only some of the candidates where both numbers have a factor in common.
pub(in crate::engine) fn turn(below: usize, candidates: usize) -> u32 {
    match below {
        0 | 1 => u32::MAX,
        _ => u32::try_from(lcm(below, candidates))
            .unwrap_or(u32::MAX)
            .max(1),
    }
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    // Links to one neighbour are at most 254, so this stays far below overflow after `min`.
    (a / x.max(1)).saturating_mul(b)
}
