//! Tiers of a fat tree: which switch is how high, and its place among those of its height.

use std::cmp::Ordering;

use weft_fabric::{NodeId, Topology};

use crate::network::Network;
use crate::settings::FatTreeSettings;

/// Tiers and places of all switches.
#[derive(Debug)]
pub(crate) struct Tiers {
    /// Height of each switch, 0 the lowest; [`Tiers::NONE`] for one that has no tier.
    pub(crate) tier: Vec<u8>,
    /// Place of each switch in its tier.
    pub(crate) index: Vec<u32>,
    /// The switches of each tier by place.
    pub(crate) members: Vec<Vec<u32>>,
}

impl Tiers {
    /// The height of a switch outside the tiers: above all others.
    pub(crate) const NONE: u8 = u8::MAX;

    /// Finds them.
    ///
    /// # Errors
    /// In words, why there are none.
    pub(crate) fn find(
        topology: &Topology,
        network: &Network,
        settings: &FatTreeSettings,
    ) -> Result<Self, String> {
        if !(1..=10).contains(&settings.tier_count) {
            let count = settings.tier_count;
            return Err(format!(
                "a fat tree has 1 to 10 tiers, {count} are configured"
            ));
        }
        let first = first_tier(topology, network, settings)?;
        let steps = spread(network, first, settings.tier_count);
        let top = settings.tier_count - 1;
        let height = |step: u8| match step {
            Self::NONE => Self::NONE,
            step if settings.fis_on_same_tier => step,
            step => top - step,
        };
        let tier: Vec<u8> = steps.into_iter().map(height).collect();
        let members = members(topology, network, settings, &tier);
        let mut index = vec![0; network.len()];
        for list in &members {
            list.iter()
                .enumerate()
                .for_each(|(place, switch)| index[*switch as usize] = place as u32);
        }
        Ok(Self {
            tier,
            index,
            members,
        })
    }
}

/// The switches of each tier, in order.
fn members(
    topology: &Topology,
    network: &Network,
    settings: &FatTreeSettings,
    tier: &[u8],
) -> Vec<Vec<u32>> {
    let mut members = vec![Vec::new(); usize::from(settings.tier_count)];
    for (switch, tier) in tier.iter().enumerate() {
        if let Some(list) = members.get_mut(usize::from(*tier)) {
            list.push(switch as u32);
        }
    }
    let switches = network.switches.iter();
    let names: Vec<String> = switches.map(|switch| name(topology, switch.node)).collect();
    for (tier, list) in members.iter_mut().enumerate() {
        // Converge keeps edge switches as they were discovered.
        if tier > 0 || !settings.converge {
            list.sort_by(|a, b| by_name(&names[*a as usize], &names[*b as usize]).then(a.cmp(b)));
        }
    }
    members
}

/// The switches from which tiers are counted: those with HFIs, or the configured core switches.
fn first_tier(
    topology: &Topology,
    network: &Network,
    settings: &FatTreeSettings,
) -> Result<Vec<usize>, String> {
    let first: Vec<usize> = if settings.fis_on_same_tier {
        let has_hfis = |switch: &usize| !network.hfis(*switch).is_empty();
        (0..network.len()).filter(has_hfis).collect()
    } else {
        let cores = settings.core_switches.iter();
        cores
            .filter_map(|node| topology.switch_index(*node))
            .map(|switch| switch.0 as usize)
            .collect()
    };
    if first.is_empty() {
        let what = if settings.fis_on_same_tier {
            "no switch has an HFI"
        } else {
            "no core switch is in the fabric"
        };
        return Err(what.to_owned());
    }
    Ok(first)
}

/// Steps from the first tier, up to `count` tiers.
fn spread(network: &Network, first: Vec<usize>, count: u8) -> Vec<u8> {
    let mut steps = vec![Tiers::NONE; network.len()];
    first.iter().for_each(|switch| steps[*switch] = 0);
    let mut wave = first;
    for step in 1..count {
        let mut next = Vec::new();
        for from in wave {
            for link in network.egress(from) {
                let slot = &mut steps[link.to as usize];
                if *slot == Tiers::NONE {
                    *slot = step;
                    next.push(link.to as usize);
                }
            }
        }
        wave = next;
    }
    steps
}

fn name(topology: &Topology, node: NodeId) -> String {
    topology
        .node(node)
        .map(|node| node.name())
        .unwrap_or_default()
}

/// Orders by the text before a trailing number, then by that number.
fn by_name(a: &str, b: &str) -> Ordering {
    let ((prefix_a, number_a), (prefix_b, number_b)) = (split(a), split(b));
    prefix_a
        .cmp(prefix_b)
        .then_with(|| by_number(number_a, number_b))
        .then_with(|| a.cmp(b))
}

fn split(name: &str) -> (&str, &str) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (prefix, &name[prefix.len()..])
}

/// Compares numbers of any length.
fn by_number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}
