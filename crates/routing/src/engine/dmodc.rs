//! `dmodc`: the route to a destination follows from its number in the tree, in closed form.
//!
//! After Gliksberg et al., *High-Quality Fault-Resilient Routing in Fat Trees* (IEEE Micro 40(1),
//! 2020). A switch divides the destination's number by the number of ways up below it, and takes
//! what is left modulo its candidates. No entry depends on another one, so that a lost link moves
//! only the routes of the switches that lose a candidate.

use weft_fabric::{LinearTables, Topology};

use super::fattree::by_neighbour;
use super::levels::{NO_LEVEL, is_mostly_tree, levels, rank};
use super::rows::{consecutive, deliver, rows, take_turns};
use super::tiers::Tiers;
use super::{Engine, Plan, Pruning};
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;
use crate::settings::FatTreeSettings;

/// Longest list of ports that is written out before it repeats.
const PERIOD_MAX: usize = 1 << 12;

/// The engine.
pub(crate) struct Dmodc<'a> {
    pub(crate) topology: &'a Topology,
    /// Read where HFIs are on several tiers: levels are then counted down from the core switches.
    pub(crate) settings: &'a FatTreeSettings,
}

impl Engine for Dmodc<'_> {
    fn name(&self) -> EngineUsed {
        EngineUsed::Dmodc
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let level = self.levels(network)?;
        if !is_mostly_tree(network, &level) {
            return Err("most links join switches of one level, as in no tree".to_owned());
        }
        let leaves = leaves(network);
        let paths = Paths::up_down(network, columns(network, &leaves, &level), rank(&level));
        let numbers = Numbers {
            first: topological(network, &leaves, &paths),
            divider: dividers(network, &level),
            leaves,
        };
        let pruning = Pruning::default();
        let linear = tables(network, &numbers, &paths, &pruning);
        Ok(Plan::on_paths(linear, paths, pruning))
    }
}

impl Dmodc<'_> {
    fn levels(&self, network: &Network) -> Result<Vec<u8>, String> {
        let settings = self.settings;
        if settings.fis_on_same_tier || settings.core_switches.is_empty() {
            return levels(network);
        }
        Tiers::find(self.topology, network, settings).map(|tiers| tiers.tier)
    }
}

/// The switches with HFIs, by GUID.
fn leaves(network: &Network) -> Vec<u32> {
    let all = 0..network.len() as u32;
    let mut leaves: Vec<u32> = all
        .filter(|switch| !network.hfis(*switch as usize).is_empty())
        .collect();
    leaves.sort_by_key(|leaf| (network.switches[*leaf as usize].guid, *leaf));
    leaves
}

/// Leaves come first, then the others from below.
fn columns(network: &Network, leaves: &[u32], level: &[u8]) -> Vec<u32> {
    let mut others: Vec<u32> = (0..network.len() as u32)
        .filter(|switch| network.hfis(*switch as usize).is_empty())
        .collect();
    others.sort_by_key(|switch| (level[*switch as usize], *switch));
    let mut column = vec![0; network.len()];
    for (place, switch) in leaves.iter().chain(&others).enumerate() {
        column[*switch as usize] = place as u32;
    }
    column
}

/// How many ways up there are below each switch: on a whole tree the product of the numbers of
/// parents. The most that any child knows of counts, so that a lost link below changes nothing.
fn dividers(network: &Network, level: &[u8]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..network.len()).collect();
    order.sort_by_key(|switch| (level[*switch], *switch));
    let mut divider = vec![1u32; network.len()];
    let mut parents: Vec<u32> = Vec::new();
    for child in order {
        if level[child] == NO_LEVEL {
            continue;
        }
        let above = |to: u32| level[to as usize] > level[child] && level[to as usize] != NO_LEVEL;
        let up = network.egress(child).iter().map(|link| link.to);
        parents.clear();
        parents.extend(up.filter(|to| above(*to)));
        parents.sort_unstable();
        parents.dedup();
        let below = divider[child].saturating_mul(parents.len() as u32);
        for parent in &parents {
            let divider = &mut divider[*parent as usize];
            *divider = below.max(*divider);
        }
    }
    divider
}

/// The number of each leaf's first HFI, so that leaves near each other have numbers that follow
/// each other, whatever their GUIDs are: a leaf, then all that are as near to it as the nearest one
/// that has no number yet. By place among the leaves.
fn topological(network: &Network, leaves: &[u32], paths: &Paths) -> Vec<u32> {
    let mut first = vec![0; leaves.len()];
    let mut open = vec![0u64; leaves.len().div_ceil(64)];
    (0..leaves.len()).for_each(|place| open[place / 64] |= 1 << (place % 64));
    let mut next = 0;
    let mut number = |place: usize, open: &mut [u64]| {
        open[place / 64] &= !(1 << (place % 64));
        first[place] = next;
        next += network.hfis(leaves[place] as usize).len() as u32;
    };
    for (place, leaf) in leaves.iter().enumerate() {
        if open[place / 64] >> (place % 64) & 1 == 0 {
            continue;
        }
        number(place, &mut open);
        let near = |cost: u32| -> Vec<u64> {
            let words = open.iter().enumerate();
            let at = |word| paths.at_distance(cost, *leaf as usize, word);
            words.map(|(word, open)| open & at(word)).collect()
        };
        let rings = 1..=paths.longest();
        let nearest = rings
            .map(near)
            .find(|row| row.iter().any(|word| *word != 0));
        for (word, mut bits) in nearest.into_iter().flatten().enumerate() {
            while bits != 0 {
                number(word * 64 + bits.trailing_zeros() as usize, &mut open);
                bits &= bits - 1;
            }
        }
    }
    first
}

/// What the closed form is made of.
struct Numbers {
    leaves: Vec<u32>,
    /// Number of each leaf's first HFI, by place in `leaves`; the others of it follow.
    first: Vec<u32>,
    /// By switch.
    divider: Vec<u32>,
}

fn tables(network: &Network, numbers: &Numbers, paths: &Paths, pruning: &Pruning) -> LinearTables {
    let in_row: Vec<Option<usize>> = numbers
        .leaves
        .iter()
        .map(|leaf| consecutive(network.hfis(*leaf as usize)))
        .collect();
    rows(network, |switch, candidates, row| {
        let order = by_neighbour(network, switch);
        pruning.fill(candidates, network, paths, switch, &order);
        let mut form = Form::new(network, candidates, switch, numbers.divider[switch]);
        for (place, &leaf) in numbers.leaves.iter().enumerate() {
            let hfis = network.hfis(leaf as usize);
            if leaf as usize == switch {
                hfis.iter().for_each(|end| deliver(row, end));
                continue;
            }
            form.enter(paths.column(leaf as usize));
            match in_row[place] {
                Some(lid) => form.block(&mut row[lid..lid + hfis.len()], numbers.first[place]),
                None => form.singly(row, hfis, numbers.first[place]),
            }
        }
        form.management(row, paths);
    })
}

/// The closed form at one switch.
struct Form<'a> {
    network: &'a Network,
    candidates: &'a Candidates,
    switch: usize,
    divider: u32,
    run: u32,
    /// Ports for quotients 0, 1, …: neighbour by neighbour, then the next link of each. Repeats.
    ports: Vec<u8>,
}

impl<'a> Form<'a> {
    fn new(network: &'a Network, candidates: &'a Candidates, switch: usize, divider: u32) -> Self {
        Self {
            network,
            candidates,
            switch,
            divider,
            run: u32::MAX,
            ports: Vec::new(),
        }
    }

    /// Loads the candidates for a column.
    fn enter(&mut self, column: usize) {
        let run = self.candidates.run(column);
        if std::mem::replace(&mut self.run, run) == run {
            return;
        }
        let egress = self.network.egress(self.switch);
        let links = self.candidates.links(run);
        self.ports.clear();
        let to = |link: &u16| egress[usize::from(*link)].to;
        let port = |link: u16| egress[usize::from(link)].port;
        let groups = || links.chunk_by(|a, b| to(a) == to(b));
        if groups().all(|group| group.len() == 1) {
            return self.ports.extend(links.iter().map(|link| port(*link)));
        }
        let turns = groups().fold(1, |turns, group| lcm(turns, group.len()));
        let turns = turns.min(PERIOD_MAX / groups().count().max(1)).max(1);
        for turn in 0..turns {
            let ports = groups().map(|group| port(group[turn % group.len()]));
            self.ports.extend(ports);
        }
    }

    /// Successive LIDs of HFIs with successive numbers.
    fn block(&self, mut entries: &mut [u8], first: u32) {
        let count = self.ports.len() as u32;
        if count == 0 {
            return;
        }
        if self.divider == 1 {
            return take_turns(entries, &self.ports, (first % count) as usize);
        }
        let mut quotient = first / self.divider;
        let mut left = self.divider - first % self.divider;
        while !entries.is_empty() {
            let (now, later) = entries.split_at_mut(entries.len().min(left as usize));
            now.fill(self.ports[(quotient % count) as usize]);
            entries = later;
            quotient += 1;
            left = self.divider;
        }
    }

    fn singly(&self, row: &mut [u8], hfis: &[EndPort], first: u32) {
        for (end, number) in hfis.iter().zip(first..) {
            self.lids(row, end, (number / self.divider) as usize);
        }
    }

    /// The LIDs of one end port: each takes the next neighbour.
    fn lids(&self, row: &mut [u8], end: &EndPort, quotient: usize) {
        let base = end.lid.0 as usize;
        let entries = &mut row[base..base + end.lmc.lids() as usize];
        for (index, entry) in entries.iter_mut().enumerate() {
            if let Some(place) = (quotient + index).checked_rem(self.ports.len()) {
                *entry = self.ports[place];
            }
        }
    }

    /// Routes to the switches themselves, spread by their index.
    fn management(&mut self, row: &mut [u8], paths: &Paths) {
        for target in 0..self.network.len() {
            let Some(end) = self.network.management(target) else {
                continue;
            };
            if target == self.switch {
                deliver(row, end);
            } else {
                self.enter(paths.column(target));
                self.lids(row, end, target);
            }
        }
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
