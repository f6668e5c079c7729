//! Neighbours of a switch, from its links.

use weft_fabric::Guid;

use crate::network::{Egress, Network};

/// For each link the first one to the same neighbour.
pub(super) fn first_alike(egress: &[Egress]) -> Vec<u16> {
    let first = |link: &Egress| egress.iter().position(|other| other.to == link.to);
    let each = egress.iter().map(|link| first(link).unwrap_or(0) as u16);
    each.collect()
}

/// For each link how many earlier ones lead to the same neighbour; `first` is what [`first_alike`]
/// says.
pub(super) fn earlier_alike(first: &[u16]) -> Vec<u16> {
    let mut seen = vec![0; first.len()];
    let each = first.iter().map(|first| {
        let seen = &mut seen[usize::from(*first)];
        *seen += 1;
        *seen - 1
    });
    each.collect()
}

/// Links sorted by the neighbour's system, then by the neighbour, then by port.
pub(super) fn by_neighbour(network: &Network, switch: usize) -> Vec<u16> {
    let egress = network.egress(switch);
    let mut order: Vec<u16> = (0..egress.len() as u16).collect();
    order.sort_by_key(|link| {
        let link = &egress[usize::from(*link)];
        let to = &network.switches[link.to as usize];
        (to.system, to.guid, link.port)
    });
    order
}

/// The chassis of a switch, where a link stays inside of it.
pub(super) fn shared_chassis(network: &Network, switch: usize) -> Option<Guid> {
    let system = network.switches[switch].system;
    let mut links = network.egress(switch).iter();
    links
        .any(|link| network.switches[link.to as usize].system == system)
        .then_some(system)
}
