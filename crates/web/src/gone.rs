//! Places of nodes that are gone: as they had them, or as the cables tell that are remembered of them.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::Guid;
use weft_fabric::constants::SWITCH_PORTS;

use crate::layout::{Layout, NO_TIER, Order, Place};
use crate::missing::{GoneNode, Missing};

/// The places of what is missing and not there.
pub(crate) fn places(missing: &Missing, before: &Layout, order: &Order<'_>) -> Vec<Place> {
    let is_there = |guid: &Guid| order.topology.find(*guid).is_some();
    let gone = missing.nodes.iter().filter(|(guid, _)| !is_there(guid));
    let neighbours = neighbours(missing);
    let tiers = tiers(missing, &neighbours, order);
    let switch_pods = switch_pods(&tiers, &neighbours, order);
    let pod_of = |guid: Guid| switch_pods.get(&guid).copied().or(order.pod(guid));
    let place = |(guid, node): (&Guid, &GoneNode)| {
        let mut place = before.find(*guid).cloned().unwrap_or_else(|| {
            // Of a switch of which no cable is known, it is not known how many ports it has.
            let ports = match node.is_switch {
                true => SWITCH_PORTS,
                false => 1,
            };
            Place {
                guid: *guid,
                lid: 0,
                tier: NO_TIER,
                pod: 0,
                ports: node.port.map_or(ports, |port| port.0.max(1)),
                first: 0,
                name: node.name.clone(),
            }
        });
        if place.tier == NO_TIER {
            place.tier = tiers.get(guid).copied().unwrap_or(NO_TIER);
        }
        // The pods of a fabric have other numbers when one more or less is in it.
        let pod = match node.is_switch {
            true => switch_pods.get(guid).copied(),
            false => node.at.and_then(|(switch, _)| pod_of(switch)),
        };
        place.pod = pod.unwrap_or(place.pod);
        place
    };
    gone.map(place).collect()
}

/// Nodes to which each had cables that are gone.
fn neighbours(missing: &Missing) -> BTreeMap<Guid, BTreeSet<Guid>> {
    let mut found: BTreeMap<Guid, BTreeSet<Guid>> = BTreeMap::new();
    for (a, b) in &missing.cables {
        found.entry(a.0).or_default().insert(b.0);
        found.entry(b.0).or_default().insert(a.0);
    }
    found
}

/// Tiers of nodes that are gone: a switch is one above the lowest of its neighbours.
fn tiers(
    missing: &Missing,
    neighbours: &BTreeMap<Guid, BTreeSet<Guid>>,
    order: &Order<'_>,
) -> BTreeMap<Guid, u8> {
    let is_gone_switch = |guid: &Guid| missing.nodes.get(guid).is_some_and(|node| node.is_switch);
    let hosts = missing.nodes.iter().filter(|(_, node)| !node.is_switch);
    let mut tiers: BTreeMap<Guid, u8> = hosts.map(|(guid, _)| (*guid, 0)).collect();
    // The lowest first, so that a switch is met from its lowest neighbour.
    let known = neighbours.keys().filter_map(|guid| {
        let tier = tiers.get(guid).copied().or(order.tier(*guid))?;
        Some((tier, *guid))
    });
    let mut open: BTreeSet<(u8, Guid)> = known.collect();
    while let Some((tier, guid)) = open.pop_first() {
        let Some(above) = tier.checked_add(1).filter(|above| *above < NO_TIER) else {
            continue;
        };
        for far in neighbours.get(&guid).into_iter().flatten() {
            if is_gone_switch(far) && !tiers.contains_key(far) {
                tiers.insert(*far, above);
                open.insert((above, *far));
            }
        }
    }
    tiers
}

/// Pods of switches that are gone: those of their neighbours below the highest tier.
fn switch_pods(
    tiers: &BTreeMap<Guid, u8>,
    neighbours: &BTreeMap<Guid, BTreeSet<Guid>>,
    order: &Order<'_>,
) -> BTreeMap<Guid, u16> {
    let below = tiers
        .iter()
        .filter(|(_, tier)| (1..order.highest()).contains(*tier));
    let pods = below.filter_map(|(guid, _)| {
        let mut beside = neighbours.get(guid)?.iter();
        let pod = beside.find_map(|far| order.pod(*far).filter(|pod| *pod != 0))?;
        Some((*guid, pod))
    });
    pods.collect()
}
