//! Switches that see the same: a row is worked out for one of them and copied to the others.
//!
//! Switches of one kind have links from the same ports to the same neighbours. A distance follows
//! from those of the neighbours, except where it begins, and an entry from distances, links and
//! divider; so their rows differ only in the LIDs on one of them.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{LinearTables, UNREACHABLE};

use super::form::Form;
use super::numbers::Numbers;
use super::{fill, lids};
use crate::engine::Pruning;
use crate::engine::fattree::by_neighbour;
use crate::engine::rows::{deliver, new_row};
use crate::network::{Egress, Network};
use crate::paths::{Candidates, Paths};

/// A factor that spreads bits: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// What rows are worked out from.
pub(super) struct Alike<'a> {
    pub(super) network: &'a Network,
    pub(super) paths: &'a Paths,
    pub(super) numbers: &'a Numbers,
    pub(super) rank: &'a [u32],
}

impl Alike<'_> {
    /// The tables of all switches.
    pub(super) fn tables(&self) -> LinearTables {
        let kinds = self.kinds();
        let made = kinds
            .par_iter()
            .map_init(Candidates::default, |candidates, kind| {
                self.rows(kind, candidates)
            });
        let made: Vec<Vec<Arc<[u8]>>> = made.collect();
        let mut rows = vec![Arc::default(); self.network.len()];
        for (kind, made) in kinds.iter().zip(made) {
            for (switch, row) in kind.iter().zip(made) {
                rows[*switch as usize] = row;
            }
        }
        LinearTables::new(rows)
    }

    /// The switches of each kind, in order of the first.
    fn kinds(&self) -> Vec<Vec<u32>> {
        let all = (0..self.network.len()).into_par_iter();
        let hashes: Vec<u64> = all.map(|switch| self.hash(switch)).collect();
        let mut kinds: Vec<Vec<u32>> = Vec::new();
        // Kinds with one hash, most often a single one.
        let mut with_hash: HashMap<u64, Vec<usize>> = HashMap::new();
        for (switch, hash) in hashes.into_iter().enumerate() {
            let known = with_hash.entry(hash).or_default();
            let is_own = |kind: &&usize| self.is_alike(kinds[**kind][0] as usize, switch);
            match known.iter().find(is_own) {
                Some(kind) => kinds[*kind].push(switch as u32),
                None => {
                    known.push(kinds.len());
                    kinds.push(vec![switch as u32]);
                }
            }
        }
        kinds
    }

    /// What makes a switch's kind.
    fn key(&self, switch: usize) -> (u32, impl Iterator<Item = (u8, u32, u16, u16, bool)> + '_) {
        let own = self.rank[switch];
        let link = move |link: &Egress| {
            let Egress {
                port,
                to,
                cost,
                rate,
                ..
            } = *link;
            (port, to, cost, rate, self.rank[to as usize] < own)
        };
        let links = self.network.egress(switch).iter();
        (self.numbers.divider[switch], links.map(link))
    }

    fn hash(&self, switch: usize) -> u64 {
        let (divider, links) = self.key(switch);
        let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(MIX).rotate_left(29);
        links.fold(
            mix(MIX, u64::from(divider)),
            |hash, (port, to, cost, ..)| {
                mix(
                    hash,
                    u64::from(port) | u64::from(to) << 8 | u64::from(cost) << 40,
                )
            },
        )
    }

    fn is_alike(&self, a: usize, b: usize) -> bool {
        let ((divider, links), (other_divider, others)) = (self.key(a), self.key(b));
        divider == other_divider && links.eq(others)
    }

    /// The rows of the switches of one kind.
    fn rows(&self, kind: &[u32], candidates: &mut Candidates) -> Vec<Arc<[u8]>> {
        let mut rows: Vec<Arc<[u8]>> = Vec::with_capacity(kind.len());
        for &switch in kind {
            let row = match &rows[..] {
                [] => {
                    let known = (self.network, self.paths, self.numbers);
                    new_row(self.network, |row| {
                        fill(known, candidates, switch as usize, row);
                    })
                }
                [first, others @ ..] => {
                    let mut row: Arc<[u8]> = Arc::from(&first[..]);
                    if let Some(entries) = Arc::get_mut(&mut row) {
                        let second = others.first().map(|row| &**row);
                        self.part(entries, (kind[0], switch), second, candidates);
                    }
                    row
                }
            };
            rows.push(row);
        }
        rows
    }

    /// Makes the row of a switch from that of the first one of its kind: writes the LIDs on either.
    /// Those on the first one are as at the second one, where there is one already.
    fn part(
        &self,
        row: &mut [u8],
        (first, switch): (u32, u32),
        second: Option<&[u8]>,
        candidates: &mut Candidates,
    ) {
        let (network, first, switch) = (self.network, first as usize, switch as usize);
        match second {
            Some(second) => lids(network, first, |lids| {
                row[lids.clone()].copy_from_slice(&second[lids]);
            }),
            None => self.towards(row, first, switch, candidates),
        }
        let ends = network.hfis(switch).iter();
        let ends = ends.chain(network.management(switch));
        ends.for_each(|end| deliver(row, end));
    }

    /// Works out the entries of a switch for the LIDs on another one.
    fn towards(&self, row: &mut [u8], target: usize, switch: usize, candidates: &mut Candidates) {
        let column = self.paths.column(target);
        let order = by_neighbour(self.network, switch);
        let word = column / 64..column / 64 + 1;
        let known = (self.network, self.paths);
        Pruning::default().fill_words(candidates, known, (switch, &order), &[word]);
        let known = (self.network, self.numbers);
        let form = Form::new(known, candidates, switch);
        lids(self.network, target, |lids| row[lids].fill(UNREACHABLE));
        if column < self.numbers.leaves.len() {
            form.leaf(row, column);
        }
        form.management(row, target);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use weft_fabric::generate::FabricSpec;
    use weft_fabric::{Lid, Lmc, PortRef, SwitchIndex, Topology};

    use super::super::numbers::{columns, leaves};
    use super::*;
    use crate::engine::levels::{levels, rank};

    fn fabric(spec: &str, lmc: Lmc) -> Topology {
        let spec: FabricSpec = spec.parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
        for (end, place) in ends.into_iter().zip(1..) {
            let node = topology.node_mut(end.node).unwrap();
            let lmc = if node.is_switch() { Lmc(0) } else { lmc };
            let info = &mut node.port_mut(end.port).unwrap().info;
            (info.lid, info.lmc) = (Lid(place * 4), lmc);
        }
        topology
    }

    /// Each row is the one that is worked out for its switch alone; says how many were copied.
    fn check(topology: &Topology) -> usize {
        let network = Network::new(topology).unwrap();
        let level = levels(&network).unwrap();
        let (leaves, rank) = (leaves(&network), rank(&level));
        let columns = columns(&network, &leaves, &level);
        let paths = Paths::up_down(&network, columns, rank.clone());
        let numbers = Numbers::new(&network, &leaves, &paths, &level);
        let alike = Alike {
            network: &network,
            paths: &paths,
            numbers: &numbers,
            rank: &rank,
        };
        let tables = alike.tables();
        let known = (&network, &paths, &numbers);
        for switch in 0..network.len() {
            let row = new_row(&network, |row| {
                fill(known, &mut Candidates::default(), switch, row);
            });
            assert_eq!(tables.row(SwitchIndex(switch as u32)), &row[..], "{switch}");
        }
        network.len() - alike.kinds().len()
    }

    #[test]
    fn a_copied_row_is_what_is_worked_out_for_its_switch() {
        let mut copied = 0;
        for spec in [
            "fattree:128,radix=8",
            "fattree:54,radix=6",
            "pgft:2;4,4;1,2;1,2;radix=8",
            "pgft:3;2,3,4;1,2,3;1,1,2;radix=12",
            "torus:3x4",
        ] {
            for lmc in [Lmc(0), Lmc(2)] {
                let mut topology = fabric(spec, lmc);
                copied += check(&topology);
                let cables: Vec<_> = topology.links().collect();
                for cable in cables.iter().rev().step_by(7).take(6) {
                    topology.disconnect(cable.0);
                    copied += check(&topology);
                }
            }
        }
        assert!(copied > 500, "{copied}");
    }
}
