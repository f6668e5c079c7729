//! Levels of a tree: the distance of each switch from the nearest switch with HFIs.

use crate::network::{Egress, Network};

/// Level of a switch that no cables join to a switch with HFIs.
pub(crate) const NO_LEVEL: u8 = u8::MAX;

/// The level of every switch: 0 with HFIs, one more for each link upwards.
///
/// # Errors
/// When no switch has an HFI.
pub(crate) fn levels(network: &Network) -> Result<Vec<u8>, String> {
    let mut level = vec![NO_LEVEL; network.len()];
    let has_hfis = |switch: &usize| !network.hfis(*switch).is_empty();
    let mut wave: Vec<usize> = (0..network.len()).filter(has_hfis).collect();
    if wave.is_empty() {
        return Err("no switch has an HFI".to_owned());
    }
    wave.iter().for_each(|switch| level[*switch] = 0);
    for next_level in 1..NO_LEVEL {
        let mut next = Vec::new();
        for from in wave {
            for link in network.egress(from) {
                let slot = &mut level[link.to as usize];
                if *slot == NO_LEVEL {
                    *slot = next_level;
                    next.push(link.to as usize);
                }
            }
        }
        wave = next;
    }
    Ok(level)
}

/// Links between switches as each end sees them, and the number of them within one level.
fn links(network: &Network, level: &[u8]) -> (usize, usize) {
    let mut all = 0;
    let mut flat = 0;
    for from in 0..network.len() {
        let is_flat = |link: &&Egress| level[link.to as usize] == level[from];
        all += network.egress(from).len();
        flat += network.egress(from).iter().filter(is_flat).count();
    }
    (all, flat)
}

/// Whether every link leads up or down: HFIs are on the lowest switches only, and no two switches
/// of one level are joined.
pub(crate) fn is_tree(network: &Network) -> bool {
    levels(network).is_ok_and(|level| links(network, &level).1 == 0)
}

/// Whether most links lead up or down.
pub(crate) fn is_mostly_tree(network: &Network, level: &[u8]) -> bool {
    let (all, flat) = links(network, level);
    flat * 2 <= all
}

/// The other switches than those that come first, from below; on a level, those with the same
/// neighbours above one after the other, as most switches have the same candidates for them.
pub(crate) fn kin(network: &Network, level: &[u8], first: &[u32]) -> Vec<u32> {
    let mut is_first = vec![false; network.len()];
    first
        .iter()
        .for_each(|switch| is_first[*switch as usize] = true);
    let eldest = |switch: u32| {
        let above = |to: &u32| level[*to as usize] > level[switch as usize];
        let all = network.egress(switch as usize).iter().map(|link| link.to);
        (all.clone().filter(above).min(), all.min())
    };
    let all = 0..network.len() as u32;
    let mut others: Vec<u32> = all.filter(|switch| !is_first[*switch as usize]).collect();
    others.sort_by_cached_key(|switch| (level[*switch as usize], eldest(*switch), *switch));
    others
}

/// An order of all switches that grows upwards, no two alike, for up*/down* paths.
pub(crate) fn rank(level: &[u8]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..level.len() as u32).collect();
    order.sort_by_key(|switch| (level[*switch as usize], *switch));
    let mut rank = vec![0; order.len()];
    for (place, switch) in order.iter().enumerate() {
        rank[*switch as usize] = place as u32;
    }
    rank
}
