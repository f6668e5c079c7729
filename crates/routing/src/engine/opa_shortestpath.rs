//! `opa-shortestpath`: reproduces opa-fm's `shortestpath`, entry by entry, for comparison.
//!
//! LIDs are placed one after the other, each at all switches before the next one: at those with
//! HFIs in a first pass, at the others in a second. A switch takes the port that carries fewest
//! LIDs, and of those the one whose neighbour is sent fewest by all switches together. After
//! `sm_routing.c` and `sm_routing_funcs.c` of opa-fm.

use weft_fabric::{LinearTables, UNREACHABLE};

use super::neighbours::shared_chassis;
use super::rows::rows;
use super::{Engine, Plan, Pruning};
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;

/// The engine.
pub(crate) struct OpaShortestPath {
    /// Prefer the spines of the own chassis.
    pub(crate) spine_first: bool,
}

impl Engine for OpaShortestPath {
    fn name(&self) -> EngineUsed {
        EngineUsed::OpaShortestPath
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let paths = Paths::shortest(network, (0..network.len() as u32).collect());
        let pruning = Pruning::without_tiers(self.spine_first);
        let linear = Placing::new(network, &paths, &pruning).tables();
        Ok(Plan::on_paths(linear, paths, pruning))
    }
}

/// LIDs of HFIs that were routed over something so far, and the base LIDs among all end ports.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    lids: u32,
    base_lids: u32,
}

/// State of placement; all by switch.
struct Placing<'a> {
    network: &'a Network,
    candidates: Vec<Candidates>,
    /// Whether a link stays inside the chassis.
    is_inside: Vec<bool>,
    /// Over each link.
    over: Vec<Vec<Count>>,
    /// From all neighbours.
    into: Vec<Count>,
    rows: Vec<Vec<u8>>,
    /// Links chosen for one end port.
    chosen: Vec<u16>,
}

impl<'a> Placing<'a> {
    fn new(network: &'a Network, paths: &Paths, pruning: &Pruning) -> Self {
        let candidates = |switch| {
            let by_port: Vec<u16> = (0..network.egress(switch).len() as u16).collect();
            let mut candidates = Candidates::default();
            pruning.fill(&mut candidates, network, paths, switch, &by_port);
            candidates
        };
        let is_inside = |switch| shared_chassis(network, switch).is_some();
        let links = |switch| vec![Count::default(); network.egress(switch).len()];
        let row = vec![UNREACHABLE; network.max_lid as usize + 1];
        Self {
            network,
            candidates: (0..network.len()).map(candidates).collect(),
            is_inside: (0..network.len()).map(is_inside).collect(),
            over: (0..network.len()).map(links).collect(),
            into: vec![Count::default(); network.len()],
            rows: vec![row; network.len()],
            chosen: Vec::new(),
        }
    }

    fn tables(mut self) -> LinearTables {
        let network = self.network;
        let mut ends: Vec<(EndPort, usize, bool)> = Vec::new();
        for switch in 0..network.len() {
            let hfis = network.hfis(switch).iter().map(|end| (*end, switch, true));
            let own = network.management(switch).map(|end| (*end, switch, false));
            ends.extend(hfis.chain(own));
        }
        ends.sort_by_key(|(end, ..)| end.lid);
        let is_edge = |switch: &usize| !network.hfis(*switch).is_empty();
        let (edges, others): (Vec<usize>, Vec<usize>) = (0..network.len()).partition(is_edge);
        for switches in [edges, others] {
            for (end, at, is_hfi) in &ends {
                for switch in &switches {
                    self.place(*switch, end, *at, *is_hfi);
                }
            }
        }
        rows(network, |switch, _, row| {
            row[..self.rows[switch].len()].copy_from_slice(&self.rows[switch]);
        })
    }

    /// Writes the entries of one end port at one switch; `at` is where it is attached.
    fn place(&mut self, switch: usize, end: &EndPort, at: usize, is_hfi: bool) {
        let first = end.lid.0 as usize;
        let count = end.lmc.lids() as usize;
        if switch == at {
            self.rows[switch][end.entries()].fill(end.port);
            return;
        }
        let offset = if count == 1 {
            self.choose_one(switch, at);
            0
        } else {
            self.choose_set(switch, at, count);
            self.offset(switch)
        };
        if self.chosen.is_empty() {
            return;
        }
        let egress = self.network.egress(switch);
        for index in 0..count {
            let link = usize::from(self.chosen[(index + offset) % self.chosen.len()]);
            self.rows[switch][first + index] = egress[link].port;
            let base = u32::from(index == 0 && count > 1);
            for count in [
                &mut self.over[switch][link],
                &mut self.into[egress[link].to as usize],
            ] {
                count.lids += u32::from(is_hfi);
                count.base_lids += base;
            }
        }
    }

    /// LIDs over a link and into its neighbour.
    fn load(&self, switch: usize, link: u16) -> (u32, u32) {
        let link = usize::from(link);
        let to = self.network.egress(switch)[link].to as usize;
        (self.over[switch][link].lids, self.into[to].lids)
    }

    /// The first of the links that carry fewest.
    fn choose_one(&mut self, switch: usize, at: usize) {
        let candidates = &self.candidates[switch];
        let links = candidates.links(candidates.set(at)).iter().copied();
        let best = links.min_by_key(|link| self.load(switch, *link));
        self.chosen.clear();
        self.chosen.extend(best);
    }

    /// Chooses as many links as an end port has LIDs: one to each neighbour, the least loaded
    /// first, then a second to each. Inside a chassis only the load counts.
    fn choose_set(&mut self, switch: usize, at: usize, count: usize) {
        let candidates = &self.candidates[switch];
        let mut links = candidates.links(candidates.set(at)).to_vec();
        if self.is_inside[switch] {
            links.sort_by_key(|link| self.load(switch, *link));
        } else {
            links = self.in_rounds(switch, links);
        }
        links.truncate(count);
        self.chosen = links;
    }

    /// One link to each neighbour, then a second to each, and so on; in a round those that carry
    /// fewest first.
    fn in_rounds(&self, switch: usize, mut links: Vec<u16>) -> Vec<u16> {
        let near = |link: &u16| {
            let to = self.network.egress(switch)[usize::from(*link)].to as usize;
            self.network.switches[to].guid
        };
        links.sort_by_key(|link| (near(link), self.load(switch, *link)));
        let same = links.chunk_by(|a, b| near(a) == near(b));
        let rounds = same.flat_map(|links| (0..).zip(links));
        let mut rounds: Vec<(usize, u16)> = rounds.map(|(round, link)| (round, *link)).collect();
        rounds.sort_by_key(|(round, link)| (*round, self.load(switch, *link), near(link), *link));
        rounds.into_iter().map(|(_, link)| link).collect()
    }

    /// Index of the chosen link for the base LID: the one with the fewest base LIDs.
    fn offset(&self, switch: usize) -> usize {
        let egress = self.network.egress(switch);
        let base_lids = |index: &usize| {
            let link = usize::from(self.chosen[*index]);
            let to = egress[link].to as usize;
            (self.over[switch][link].base_lids, self.into[to].base_lids)
        };
        (0..self.chosen.len()).min_by_key(base_lids).unwrap_or(0)
    }
}
