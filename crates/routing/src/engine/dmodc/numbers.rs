//! Inputs of the closed form: dividers and the numbers of destinations.

use weft_state::State;

use super::slots::Slots;
use crate::engine::levels::{NO_LEVEL, kin};
use crate::engine::rows::consecutive;
use crate::engine::targets::{Target, targets};
use crate::network::Network;
use crate::paths::Paths;

/// Dividers and numbers.
#[derive(Debug, PartialEq, Eq, State)]
pub(super) struct Numbers {
    /// By switch.
    pub(super) divider: Vec<u32>,
    /// The switches with HFIs, in order of their columns.
    pub(super) leaves: Vec<Leaf>,
    /// A number that divides the first ones of all leaves.
    pub(super) step: u32,
    /// Slots of uplinks.
    pub(super) slots: Slots,
    /// The switches themselves, by switch.
    pub(super) switches: Vec<Target>,
}

/// A switch with HFIs.
#[derive(Debug, PartialEq, Eq, State)]
pub(super) struct Leaf {
    pub(super) switch: u32,
    /// Number of its first HFI; the others follow.
    pub(super) first: u32,
    /// Number of HFIs.
    pub(super) hfis: u32,
    /// Their first LID, when they have one each, one after the other.
    pub(super) lid: Option<u32>,
    /// LIDs and numbers go on from the leaf before.
    pub(super) follows: bool,
}

impl Numbers {
    /// Finds them for leaves that are in order.
    pub(super) fn new(network: &Network, leaves: &[u32], paths: &Paths, level: &[u8]) -> Self {
        let first = topological(network, leaves, paths);
        let mut end = None;
        let leaf = |(&switch, &first): (&u32, &u32)| {
            let hfis = network.hfis(switch as usize);
            let lid = consecutive(hfis).map(|lid| lid as u32);
            let hfis = hfis.len() as u32;
            let follows = lid.is_some_and(|lid| end == Some((lid, first)));
            end = lid.map(|lid| (lid + hfis, first + hfis));
            Leaf {
                switch,
                first,
                hfis,
                lid,
                follows,
            }
        };
        Self {
            switches: targets(network, paths, |switch| switch as u32),
            divider: dividers(network, level),
            step: first.iter().fold(0, |step, first| gcd(step, *first)),
            slots: Slots::new(network, level),
            leaves: leaves.iter().zip(&first).map(leaf).collect(),
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

/// The switches with HFIs, by GUID.
pub(super) fn leaves(network: &Network) -> Vec<u32> {
    let all = 0..network.len() as u32;
    let mut leaves: Vec<u32> = all
        .filter(|switch| !network.hfis(*switch as usize).is_empty())
        .collect();
    leaves.sort_by_key(|leaf| (network.switches[*leaf as usize].guid, *leaf));
    leaves
}

/// Leaves come first, then the others from below.
pub(super) fn columns(network: &Network, leaves: &[u32], level: &[u8]) -> Vec<u32> {
    let others = kin(network, level, leaves);
    let mut column = vec![0; network.len()];
    for (place, switch) in leaves.iter().chain(&others).enumerate() {
        column[*switch as usize] = place as u32;
    }
    column
}

/// Number of upward paths below each switch: on a whole tree the product of the numbers of
/// parents. The maximum over its children counts, so that a lost link below changes nothing.
pub(in crate::engine) fn dividers(network: &Network, level: &[u8]) -> Vec<u32> {
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
