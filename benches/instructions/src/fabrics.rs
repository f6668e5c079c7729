//! The fabrics that are measured.

use weft_fabric::generate::{FatTree, GenerateError};
use weft_fabric::{Lid, Lmc, Topology};

/// Sizes of fat trees in hosts: two tiers of 48-port switches, then three tiers of 24-port, of
/// 36-port and of 48-port switches.
pub const TREES: [(u64, u8); 4] = [(1_152, 48), (3_456, 24), (11_664, 36), (27_648, 48)];

/// A fat tree with full bisection and one cable between two switches, just switched on.
///
/// # Errors
/// [`GenerateError`] when the hosts do not fit.
pub fn new_tree(hosts: u64, radix: u8) -> Result<Topology, GenerateError> {
    let spec = FatTree {
        hosts,
        radix,
        tiers: None,
        oversubscription: 1,
        taper: 1,
        links: Some(1),
    };
    spec.pgft()?.generate()
}

/// A fat tree with full bisection, with LIDs assigned.
///
/// # Errors
/// [`GenerateError`] when the hosts do not fit.
pub fn tree(hosts: u64, radix: u8, lmc: Lmc) -> Result<Topology, GenerateError> {
    let mut topology = new_tree(hosts, radix)?;
    give_lids(&mut topology, lmc);
    Ok(topology)
}

/// Assigns LIDs in order of nodes, HFIs with the LMC, switches without.
pub fn give_lids(topology: &mut Topology, lmc: Lmc) {
    let mut next = lmc.lids();
    let ends: Vec<_> = topology.end_ports().map(|(end, _, _)| end).collect();
    for end in ends {
        let Some(node) = topology.node_mut(end.node) else {
            continue;
        };
        let lmc = if node.is_switch() { Lmc(0) } else { lmc };
        if let Some(port) = node.port_mut(end.port) {
            port.info.lid = Lid(next);
            port.info.lmc = lmc;
            next += lmc.lids();
        }
    }
}
