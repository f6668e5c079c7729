//! The closed form at one switch: its entries, leaf by leaf.

use std::ops::Range;

use weft_fabric::UNREACHABLE;

use super::numbers::{Leaf, Numbers};
use super::turns::{Deal, Turns};
use crate::engine::divisor::Divisor;
use crate::engine::rows::{deliver, lids};
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
    /// Ports of all sets of candidates, in the order in which destinations take them; [`UNREACHABLE`] for an
    /// uplink that the switch's siblings have and the switch lacks.
    ports: Vec<u8>,
    /// Positions of these in the list of their set.
    missing: Vec<u32>,
    sets: Vec<Set>,
}

/// Inputs of entries, apart from the candidates of each column.
pub(super) struct Lists {
    divider: u32,
    ports: Vec<u8>,
    missing: Vec<u32>,
    sets: Vec<Set>,
}

/// The ports of one set.
#[derive(PartialEq)]
struct Set {
    ports: Range<usize>,
    missing: Range<usize>,
    deal: Deal,
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
            missing: Vec::new(),
            sets: Vec::with_capacity(candidates.len()),
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
        let (first, lost) = (self.ports.len(), self.missing.len());
        let to = |link: &u16| egress[usize::from(*link)].to;
        let neighbours = links.chunk_by(|a, b| to(a) == to(b)).count();
        let slots = self.slots(links.iter().map(to), neighbours);
        if neighbours == links.len() && slots == neighbours {
            let port = |link: &u16| egress[usize::from(*link)].port;
            self.ports.extend(links.iter().map(port));
        } else {
            self.deal(links, slots, slots > neighbours);
        }
        let ways = match neighbours {
            1 => links.len(),
            _ => neighbours,
        };
        self.sets.push(Set {
            ports: first..self.ports.len(),
            missing: lost..self.missing.len(),
            deal: Deal {
                count: Divisor::new((self.ports.len() - first) as u32),
                slots,
                neighbours,
                links: links.len(),
                skip: turn(self.divider.by() as usize, ways),
            },
        });
    }

    /// Fills in the list if there are several links to a neighbour, or some neighbours are missing.
    fn deal(&mut self, links: &[u16], slots: usize, lacks: bool) {
        let egress = self.network.egress(self.switch);
        let to = |link: &u16| egress[usize::from(*link)].to;
        let groups = || links.chunk_by(|a, b| to(a) == to(b));
        let turns = groups().fold(1, |turns, group| lcm(turns, group.len()));
        let turns = turns.min(PERIOD_MAX / slots.max(1)).max(1);
        let first = self.ports.len();
        self.ports.resize(first + turns * slots, UNREACHABLE);
        for (place, group) in groups().enumerate() {
            let slot = self.slot(to(&group[0])).filter(|_| lacks).unwrap_or(place);
            for turn in 0..turns {
                let link = usize::from(group[turn % group.len()]);
                self.ports[first + turn * slots + slot] = egress[link].port;
            }
        }
        let list = (0..).zip(&self.ports[first..]);
        let missing = list.filter(|(_, port)| **port == UNREACHABLE);
        self.missing.extend(missing.map(|(place, _)| place));
    }

    fn slot(&self, to: u32) -> Option<usize> {
        let slot = self.numbers.slots.slot(self.switch, to)?;
        Some(slot as usize)
    }

    /// Number of paths that destinations are assigned to: those of all siblings together, if
    /// the switch has at least half of them.
    fn slots(&self, mut to: impl Iterator<Item = u32>, neighbours: usize) -> usize {
        let parents = self.numbers.slots.count(self.switch);
        let lacks = neighbours < parents && parents <= 2 * neighbours;
        match lacks && to.all(|to| self.slot(to).is_some()) {
            true => parents,
            false => neighbours,
        }
    }

    /// Whether columns with a number that another switch had have the same entries here.
    pub(super) fn goes_on(&self, before: &Lists) -> bool {
        self.divider.by() == before.divider
            && self.sets.starts_with(&before.sets)
            && self.ports.starts_with(&before.ports)
            && self.missing.starts_with(&before.missing)
    }

    /// Data for comparison with a later switch.
    pub(super) fn into_lists(self) -> Lists {
        Lists {
            divider: self.divider.by(),
            ports: self.ports,
            missing: self.missing,
            sets: self.sets,
        }
    }

    /// The candidates for a column, if there are any.
    fn turns(&self, column: usize) -> Option<Turns<'_>> {
        let set = &self.sets[self.candidates.set(column) as usize];
        (!set.ports.is_empty()).then(|| Turns {
            ports: &self.ports[set.ports.clone()],
            missing: &self.missing[set.missing.clone()],
            deal: set.deal,
        })
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

    /// Works out the entries of one switch and of the HFIs on it where there are others already.
    pub(super) fn again(&self, row: &mut [u8], (column, target): (usize, usize)) {
        lids(self.network, target, |lids| row[lids].fill(UNREACHABLE));
        if column < self.numbers.leaves.len() {
            self.leaf(row, column);
        }
        self.management(row, target);
    }

    /// The entries of the HFIs of one leaf.
    fn leaf(&self, row: &mut [u8], place: usize) {
        self.stretch(row, place, place);
    }

    /// Those of successive leaves that follow each other and have the same candidates.
    fn stretch(&self, row: &mut [u8], place: usize, last: usize) {
        let leaves = &self.numbers.leaves[place..=last];
        let switch = leaves[0].switch as usize;
        if switch == self.switch {
            let hfis = self.network.hfis(switch).iter();
            return hfis.for_each(|end| deliver(row, end));
        }
        let Some(turns) = self.turns(place) else {
            return;
        };
        if self.follow(leaves, &turns) {
            self.block(row, leaves, &turns);
        } else {
            let leaves = leaves.chunks(1);
            leaves.for_each(|leaf| self.block(row, leaf, &turns));
        }
    }

    /// Whether each leaf begins where the one before has come to an end.
    fn follow(&self, leaves: &[Leaf], turns: &Turns<'_>) -> bool {
        let begins = |leaf: &Leaf| self.begin(leaf, turns) == leaf.first;
        leaves.len() == 1
            || self.divider.by() > 1
            || turns.deal.count.rest(self.numbers.step) == 0
            || leaves.iter().all(begins)
    }

    /// First number for the HFIs of a leaf. If it has at least one for each uplink,
    /// all leaves begin with the first uplink: those that share an uplink with another one are
    /// then the same at each, and where two meet on the way down they have met on the way up.
    fn begin(&self, leaf: &Leaf, turns: &Turns<'_>) -> u32 {
        let fills = leaf.hfis as usize >= turns.ports.len();
        match fills && self.divider.by() == 1 {
            true => leaf.first - turns.deal.count.rest(leaf.first),
            false => leaf.first,
        }
    }

    /// The entries of the HFIs of leaves that go on from each other.
    fn block(&self, row: &mut [u8], leaves: &[Leaf], turns: &Turns<'_>) {
        let begin = self.begin(&leaves[0], turns);
        match (leaves[0].lid, leaves.last()) {
            (
                Some(lid),
                Some(Leaf {
                    lid: Some(last),
                    hfis,
                    ..
                }),
            ) => {
                let entries = &mut row[lid as usize..(last + hfis) as usize];
                self.successive(entries, begin, turns);
            }
            _ => {
                let hfis = self.network.hfis(leaves[0].switch as usize);
                for (end, number) in hfis.iter().zip(begin..) {
                    let start = turns.start(self.divider.quotient(number));
                    turns.spread(&mut row[end.entries()], start);
                }
            }
        }
    }

    /// Successive LIDs of HFIs with successive numbers.
    fn successive(&self, mut entries: &mut [u8], first: u32, turns: &Turns<'_>) {
        if let [port] = turns.ports {
            return entries.fill(*port);
        }
        let quotient = self.divider.quotient(first);
        let mut at = turns.start(quotient);
        if self.divider.by() == 1 {
            return turns.take(entries, at);
        }
        let mut left = ((quotient + 1) * self.divider.by() - first) as usize;
        while entries.len() > left {
            let (now, later) = entries.split_at_mut(left);
            now.fill(turns.port(at));
            entries = later;
            at = turns.after(at);
            left = self.divider.by() as usize;
        }
        entries.fill(turns.port(at));
    }

    /// Routes to the switches themselves.
    pub(super) fn switches(&self, row: &mut [u8]) {
        for targets in stretches(&self.numbers.switches, self.candidates) {
            let (first, count) = (&targets[0], targets.len());
            if count == 1 {
                self.target(row, first);
            } else if let Some(turns) = self.turns(first.column as usize) {
                let entries = &mut row[first.lid as usize..][..count];
                turns.take(entries, turns.start(first.number));
            }
        }
        let own = self.network.management(self.switch);
        own.iter().for_each(|end| deliver(row, end));
    }

    /// The entry of one switch.
    fn management(&self, row: &mut [u8], target: usize) {
        match self.network.management(target) {
            Some(end) if target == self.switch => deliver(row, end),
            _ => self.target(row, &self.numbers.switches[target]),
        }
    }

    /// The entries of another switch, spread by its index.
    #[inline]
    fn target(&self, row: &mut [u8], target: &Target) {
        let (first, end) = (target.lid, target.lid + target.lids);
        if let Some(turns) = self.turns(target.column as usize) {
            let entries = &mut row[first as usize..end as usize];
            turns.spread(entries, turns.start(target.number));
        }
    }
}

/// Number of LIDs of one host after which a switch skips a candidate. Switches below spread them
/// over `below` uplinks, so that one in `below` arrives here from each; without the skip these would use
/// only some of the candidates if both numbers have a common factor.
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
