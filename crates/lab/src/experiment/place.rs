//! Choice of communicating ranks.

use std::collections::{BTreeMap, BTreeSet};

use weft_dataplane::packets::Random;
use weft_dataplane::traffic::{Host, Hosts};
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{NodeId, PortNum};

use super::perform::ExperimentError;
use super::scenario::{Case, Pairs};
use super::stage::Staged;

/// The hosts of a case.
///
/// # Errors
/// [`ExperimentError::Hosts`] when there are not as many, or when the manager has not reached some.
pub fn hosts(staged: &Staged, case: &Case, seed: u64) -> Result<Hosts, ExperimentError> {
    let network = staged.network();
    let mut chosen = cabled(network);
    let there = chosen.len();
    let wanted = case.hosts.map_or(there, |most| most as usize);
    if wanted > there {
        let what = format!("{wanted} are asked for, the fabric has {there} with a cable");
        return Err(ExperimentError::Hosts { what });
    }
    if wanted < 2 {
        let what = format!("{wanted} take part, traffic needs two");
        return Err(ExperimentError::Hosts { what });
    }
    if case.scattered {
        Random::new(seed).shuffle(&mut chosen);
    }
    chosen.truncate(wanted);
    chosen.sort_unstable();
    let hosts = Hosts::new(network, chosen);
    if hosts.len() < wanted {
        let reached = hosts.len();
        let what = format!("the manager reaches {reached} of {wanted}: too many links are gone");
        return Err(ExperimentError::Hosts { what });
    }
    Ok(hosts.with_levels(staged.levels.clone()))
}

/// The ports of all HFIs that are made with a cable, in order of nodes.
fn cabled(network: &Network) -> Vec<PortIndex> {
    let number = PortNum(1);
    let hfis = network.topology().hfis();
    let cabled = hfis.filter(|(_, hfi)| hfi.port(number).is_some_and(|port| port.peer.is_some()));
    cabled
        .filter_map(|(id, _)| network.device(id)?.port(number))
        .collect()
}

/// The pairs of ranks that a scenario means.
///
/// # Errors
/// [`ExperimentError::Pairs`] when there are no such pairs.
pub fn pairs(
    network: &Network,
    hosts: &Hosts,
    ranks: u32,
    pairs: &Pairs,
) -> Result<Vec<(u32, u32)>, ExperimentError> {
    let all = hosts.len() as u32 * ranks;
    match pairs {
        Pairs::Halves => Ok((0..all / 2).map(|from| (from, from + all / 2)).collect()),
        Pairs::SharedUplink(count) => {
            let pairs = shared_uplink(network, hosts, *count)?;
            let first = |(a, b): (u32, u32)| (a * ranks, b * ranks);
            Ok(pairs.into_iter().map(first).collect())
        }
        Pairs::List(list) => check(list, all).map(|()| list.clone()),
    }
}

/// Each rank is in one pair: benchmarks of pairs have no other.
fn check(list: &[(u32, u32)], ranks: u32) -> Result<(), ExperimentError> {
    let mut paired = BTreeSet::new();
    for (a, b) in list {
        if *a >= ranks || *b >= ranks || a == b {
            return Err(ExperimentError::Pairs {
                what: format!("{a}>{b} is no pair of two ranks below {ranks}"),
            });
        }
        if let Some(twice) = [a, b].into_iter().find(|rank| !paired.insert(**rank)) {
            return Err(ExperimentError::Pairs {
                what: format!("rank {twice} is in two pairs"),
            });
        }
    }
    Ok(())
}

/// The switch that a host is on, and its port there.
pub(super) fn edge(network: &Network, host: &Host) -> Option<(NodeId, PortIndex)> {
    let uplink = network.peer(host.port)?;
    Some((network.node_of(uplink), uplink))
}

/// Pairs of hosts from the first edge switch with hosts to another one, whose routes leave the first by one
/// port: the result of a route query.
fn shared_uplink(
    network: &Network,
    hosts: &Hosts,
    count: u32,
) -> Result<Vec<(u32, u32)>, ExperimentError> {
    let edges: Vec<Option<NodeId>> = hosts
        .iter()
        .map(|host| edge(network, host).map(|(id, _)| id))
        .collect();
    let numbers = 0..hosts.len() as u32;
    let first = edges.first().copied().flatten();
    let here = numbers.clone().filter(|n| edges[*n as usize] == first);
    let mut by_uplink: BTreeMap<(NodeId, PortNum), Vec<u32>> = BTreeMap::new();
    for to in numbers.filter(|n| edges[*n as usize] != first) {
        let switch = first.and_then(|id| network.switch(id));
        let lid = hosts.get(to).map(|host| host.lid);
        let egress = switch.zip(lid).and_then(|(switch, lid)| switch.egress(lid));
        if let (Some(egress), Some(there)) = (egress, edges[to as usize]) {
            by_uplink.entry((there, egress)).or_default().push(to);
        }
    }
    let enough = by_uplink
        .into_values()
        .find(|to| to.len() >= count as usize);
    let pairs: Vec<(u32, u32)> = here
        .zip(enough.unwrap_or_default())
        .take(count as usize)
        .collect();
    if pairs.len() < count as usize {
        return Err(ExperimentError::Pairs {
            what: format!("no {count} pairs between two edge switches share an uplink"),
        });
    }
    Ok(pairs)
}
