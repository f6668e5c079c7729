//! All switches above the leaves, tier by tier.

use std::collections::{BTreeMap, BTreeSet};

use super::SlurmTopology;
use super::place::{View, leaf_of_own};
use super::skeleton::is_root;
use crate::topology::{Node, NodeId, Topology};
use crate::tree::hosts_switches;

/// Switches below each switch.
pub(super) type Above = BTreeMap<String, BTreeSet<String>>;

/// The tier of each switch, by node: that in the old file, because a switch whose links down are all gone would look like
/// one that is further up; else one more than that of the lowest switch next to it, and 1 for the switches of hosts. A file
/// that was written while all hosts of a switch were down has that further up, too: it is 1 again once it has hosts, and
/// no switch next to it has.
pub(super) fn tiers(
    topology: &Topology,
    names: &BTreeMap<NodeId, String>,
    old: Option<&SlurmTopology>,
) -> Vec<u32> {
    let of_old = old.map(SlurmTopology::tiers).unwrap_or_default();
    let has_hosts: BTreeSet<NodeId> = hosts_switches(topology).into_iter().collect();
    let mut tiers = vec![u32::MAX; topology.len()];
    let mut fixed: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
    for (id, name) in names {
        let is_host_switch = has_hosts.contains(id);
        let was_bare = || {
            let own = leaf_of_own(name);
            let had_hosts =
                old.is_some_and(|old| old.leaves.keys().any(|leaf| leaf.starts_with(&own)));
            !had_hosts && !neighbours(topology, *id).any(|peer| has_hosts.contains(&peer))
        };
        let of_old = of_old.get(name.as_str()).map(|tier| tier + 1);
        let of_old = of_old.filter(|tier| *tier == 1 || !is_host_switch || !was_bare());
        let tier = of_old.or_else(|| is_host_switch.then_some(1));
        if let Some(tier) = tier {
            tiers[id.0 as usize] = tier;
            fixed.entry(tier).or_default().push(*id);
        }
    }
    let mut tier = fixed.keys().next().copied().unwrap_or(0);
    let mut now: Vec<NodeId> = Vec::new();
    while !now.is_empty() || !fixed.is_empty() {
        now.extend(fixed.remove(&tier).unwrap_or_default());
        let mut next = Vec::new();
        for peer in now.iter().flat_map(|id| neighbours(topology, *id)) {
            if tiers[peer.0 as usize] == u32::MAX {
                tiers[peer.0 as usize] = tier + 1;
                next.push(peer);
            }
        }
        (now, tier) = (next, tier + 1);
    }
    tiers
}

/// What stands above the leaves, with the links of the old file that the fabric has not, and the number of these.
pub(super) fn above(
    view: &View<'_>,
    leaves: &BTreeMap<String, BTreeSet<String>>,
    old: Option<&SlurmTopology>,
) -> (Above, usize) {
    let fresh = fresh(view, leaves, old);
    let Some(old) = old else {
        return (fresh, 0);
    };
    let tiers: BTreeMap<&str, u32> = view
        .names
        .iter()
        .map(|(id, name)| (name.as_str(), view.tier(*id)))
        .collect();
    let tier = |name: &str| tiers.get(name).copied().filter(|tier| *tier != u32::MAX);
    let fits = |parent: &str, child: &str| match (tier(parent), tier(child)) {
        (Some(upper), Some(lower)) => upper > lower,
        _ => true,
    };
    let mut merged = fresh.clone();
    for (parent, children) in old.above.iter().filter(|(name, _)| !is_root(name)) {
        let children = children.iter().filter(|child| fits(parent, child));
        let of_parent = merged.entry(parent.clone()).or_default();
        of_parent.extend(children.cloned());
    }
    drop_childless(&mut merged, leaves);
    match has_circle(&merged) {
        true => (fresh, 0),
        false => {
            let kept = links(&merged) - links(&fresh);
            (merged, kept)
        }
    }
}

fn links(above: &Above) -> usize {
    above.values().map(BTreeSet::len).sum()
}

/// What the fabric shows. A switch that joins no more leaves than one below it is left out, unless the old file has it.
fn fresh(
    view: &View<'_>,
    leaves: &BTreeMap<String, BTreeSet<String>>,
    old: Option<&SlurmTopology>,
) -> Above {
    let mut by_tier: Vec<(u32, NodeId)> = view
        .names
        .keys()
        .map(|id| (view.tier(*id), *id))
        .filter(|(tier, _)| *tier != u32::MAX)
        .collect();
    by_tier.sort_unstable();
    let mut above = Above::new();
    // What stands for each switch in the file, and the leaves below each of these.
    let mut stands: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
    let mut covers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (tier, id) in by_tier {
        let own = Some(view.leaf(id)).filter(|leaf| leaves.contains_key(leaf));
        if let Some(leaf) = &own {
            covers.insert(leaf.clone(), BTreeSet::from([leaf.clone()]));
        }
        let mut below: BTreeSet<String> = own.into_iter().collect();
        if tier > 1 {
            let lower = neighbours(view.topology, id).filter(|peer| view.tier(*peer) + 1 == tier);
            let names = lower.filter_map(|peer| stands.get(&peer)).flatten();
            below.extend(names.cloned());
        }
        let of_below = || below.iter().filter_map(|name| covers.get(name));
        let all: BTreeSet<String> = of_below().flatten().cloned().collect();
        let most = of_below().map(BTreeSet::len).max().unwrap_or(0);
        let name = view.names[&id].clone();
        let is_old = old.is_some_and(|old| old.above.contains_key(&name));
        if tier > 1 && (all.len() > most || (is_old && !below.is_empty())) {
            covers.insert(name.clone(), all);
            above.insert(name.clone(), below);
            below = BTreeSet::from([name]);
        }
        stands.insert(id, below);
    }
    above
}

/// The switches at the other ends of a switch's links.
pub(super) fn neighbours(topology: &Topology, switch: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    let ports = topology.node(switch).map(Node::external_ports);
    let peers = ports.into_iter().flatten();
    let peers = peers.filter_map(|(_, port)| Some(port.peer?.node));
    peers.filter(|peer| topology.switch_index(*peer).is_some())
}

/// Removes what is neither a leaf nor has anything below it.
fn drop_childless(above: &mut Above, leaves: &BTreeMap<String, BTreeSet<String>>) {
    loop {
        let names: BTreeSet<String> = above.keys().cloned().collect();
        for children in above.values_mut() {
            children.retain(|child| leaves.contains_key(child) || names.contains(child));
        }
        above.retain(|name, children| !children.is_empty() && !leaves.contains_key(name));
        if above.len() == names.len() {
            return;
        }
    }
}

/// Whether a switch is below itself.
fn has_circle(above: &Above) -> bool {
    let mut left: BTreeMap<&str, &BTreeSet<String>> = above
        .iter()
        .map(|(name, children)| (name.as_str(), children))
        .collect();
    loop {
        let is_open = |children: &BTreeSet<String>| {
            children
                .iter()
                .any(|child| left.contains_key(child.as_str()))
        };
        let done: Vec<&str> = left
            .iter()
            .filter(|(_, children)| !is_open(children))
            .map(|(name, _)| *name)
            .collect();
        if done.is_empty() {
            return !left.is_empty();
        }
        for name in done {
            left.remove(name);
        }
    }
}
