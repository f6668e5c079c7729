//! Switches that see the same.
//!
//! Switches of one kind have links from the same ports to the same neighbours, at the same costs
//! and rates, up or down alike. Exchanging two of them leaves the network as it is, so what holds
//! between one of them and a third switch holds between the other and that one.

use std::collections::HashMap;

use rayon::prelude::*;
use weft_state::State;

use crate::network::{Egress, Network};

/// A factor that spreads bits: 2^64 divided by the golden ratio.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The kinds of all switches.
#[derive(Debug, State)]
pub(crate) struct Kinds {
    /// Kind of each switch.
    of: Vec<u32>,
    /// The switches of each kind; kinds in order of their first switch.
    members: Vec<Vec<u32>>,
}

impl Kinds {
    /// Finds them; `is_down` tells whether a link of a switch leads downwards.
    pub(crate) fn new(network: &Network, is_down: impl Fn(usize, &Egress) -> bool + Sync) -> Self {
        let keys = |switch: usize| keys_of(network, switch, &is_down);
        Self::by(network.len(), keys, |&(port, to, cost, ..)| {
            u64::from(port) | u64::from(to) << 8 | u64::from(cost) << 40
        })
    }

    /// Those of switches with the same keys in the same order; `mixed` makes a number of a key.
    pub(crate) fn by<I>(
        switches: usize,
        keys: impl Fn(usize) -> I + Sync,
        mixed: impl Fn(&I::Item) -> u64 + Sync,
    ) -> Self
    where
        I: Iterator<Item: PartialEq>,
    {
        let all = (0..switches).into_par_iter();
        let hash = |switch| hash(keys(switch).map(|key| mixed(&key)));
        let hashes: Vec<u64> = all.map(hash).collect();
        let mut kinds = Self {
            of: Vec::with_capacity(switches),
            members: Vec::new(),
        };
        // Kinds with one hash, most often a single one.
        let mut with_hash: HashMap<u64, Vec<u32>> = HashMap::new();
        for (switch, hash) in hashes.into_iter().enumerate() {
            let known = with_hash.entry(hash).or_default();
            let first = |kind: &u32| kinds.members[*kind as usize][0] as usize;
            let own = known.iter().find(|kind| keys(first(kind)).eq(keys(switch)));
            let own = own.copied();
            kinds.add(switch as u32, own, known);
        }
        kinds
    }

    /// Adds the next switch, to a kind of its own where it has none; `known` gets that one.
    fn add(&mut self, switch: u32, own: Option<u32>, known: &mut Vec<u32>) {
        match own {
            Some(kind) => {
                self.of.push(kind);
                self.members[kind as usize].push(switch);
            }
            None => {
                known.push(self.members.len() as u32);
                self.of.push(self.members.len() as u32);
                self.members.push(vec![switch]);
            }
        }
    }

    /// The kind of a switch.
    pub(crate) fn of(&self, switch: usize) -> usize {
        self.of[switch] as usize
    }

    /// The switches of each kind.
    pub(crate) fn members(&self) -> &[Vec<u32>] {
        &self.members
    }

    /// Whether two switches are of one kind.
    pub(crate) fn are_alike(&self, a: u32, b: u32) -> bool {
        self.of[a as usize] == self.of[b as usize]
    }

    /// The switches of each kind, apart where they differ in something of their own.
    pub(crate) fn split<K: PartialEq>(&self, own: impl Fn(usize) -> K) -> Vec<Vec<u32>> {
        let mut all = Vec::with_capacity(self.members.len());
        for kind in &self.members {
            let mut parts: Vec<(K, Vec<u32>)> = Vec::new();
            for switch in kind {
                let key = own(*switch as usize);
                match parts.iter_mut().find(|part| part.0 == key) {
                    Some((_, part)) => part.push(*switch),
                    None => parts.push((key, vec![*switch])),
                }
            }
            all.extend(parts.into_iter().map(|(_, part)| part));
        }
        all
    }
}

/// Key of a link for comparison.
type Key = (u8, u32, u16, u16, bool);

fn keys_of<'a>(
    network: &'a Network,
    switch: usize,
    is_down: &'a impl Fn(usize, &Egress) -> bool,
) -> impl Iterator<Item = Key> + 'a {
    let links = network.egress(switch).iter();
    links.map(move |link| {
        let Egress {
            port,
            to,
            cost,
            rate,
            ..
        } = *link;
        (port, to, cost, rate, is_down(switch, link))
    })
}

fn hash(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(MIX, |hash, part| {
        (hash ^ part).wrapping_mul(MIX).rotate_left(29)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use weft_fabric::enums::LinkWidth;
    use weft_fabric::generate::FabricSpec;
    use weft_fabric::{Lid, Lmc, PortRef, Topology};

    use super::*;

    #[test]
    fn edge_switches_of_a_pod_and_core_switches_of_a_group_are_alike() {
        let spec: FabricSpec = "fattree:128,radix=8".parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let kinds = |topology: &_| {
            let network = Network::new(topology).unwrap();
            Kinds::new(&network, |from, link| (link.to as usize) < from)
        };
        let sizes = |kinds: Vec<Vec<u32>>| {
            let mut sizes: Vec<usize> = kinds.iter().map(Vec::len).collect();
            sizes.sort_unstable();
            sizes
        };
        // 8 pods of 4 edge switches and 4 in the middle; 4 groups of 4 core switches.
        let whole = [vec![1; 32], vec![4; 12]].concat();
        assert_eq!(sizes(kinds(&topology).split(|_| ())), whole);
        assert_eq!(kinds(&topology).split(|switch| switch).len(), 80);
        let is_switch = |node| topology.switch_index(node).is_some();
        let mut cables = topology.links();
        let cable = cables.find(|(a, b)| is_switch(a.node) && is_switch(b.node));
        let end = cable.unwrap().0;
        drop(cables);
        topology.disconnect(end);
        let lost = [vec![1; 33], vec![3], vec![4; 11]].concat();
        assert_eq!(sizes(kinds(&topology).split(|_| ())), lost);
    }

    /// Trees and a torus with LMC 0 to 2; some links lost, some narrower than the others.
    pub(crate) fn fabrics() -> impl Strategy<Value = Topology> {
        let specs = prop::sample::select(vec![
            "fattree:128,radix=8",
            "fattree:54,radix=6",
            "pgft:2;4,4;1,2;1,2;radix=8",
            "pgft:3;2,3,4;1,2,3;1,1,2;radix=12",
            "torus:3x4",
        ]);
        let chosen = || prop::collection::vec(any::<prop::sample::Index>(), 0..5);
        let parts = (specs, 0..=2u8, chosen(), chosen());
        parts.prop_map(|(spec, lmc, lost, narrow)| {
            let mut topology = fabric(spec, Lmc(lmc));
            let cables: Vec<_> = topology.links().collect();
            let cables: Vec<_> = cables
                .into_iter()
                .filter(|(a, b)| {
                    [a, b]
                        .iter()
                        .all(|end| topology.switch_index(end.node).is_some())
                })
                .collect();
            for (end, _) in narrow.iter().map(|index| index.get(&cables)) {
                let port = topology.node_mut(end.node).unwrap().port_mut(end.port);
                port.unwrap().info.link_width_active = LinkWidth(2);
            }
            for (end, _) in lost.iter().map(|index| index.get(&cables)) {
                topology.disconnect(*end);
            }
            topology
        })
    }

    fn fabric(spec: &str, lmc: Lmc) -> Topology {
        let spec: FabricSpec = spec.parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
        let mut next = lmc.lids();
        for end in ends {
            let node = topology.node_mut(end.node).unwrap();
            let lmc = if node.is_switch() { Lmc(0) } else { lmc };
            let info = &mut node.port_mut(end.port).unwrap().info;
            (info.lid, info.lmc) = (Lid(next.next_multiple_of(lmc.lids())), lmc);
            next = info.lid.0 + lmc.lids();
        }
        topology
    }
}
