//! Files that OpenSM dumps, read back: nodes with their LIDs, and linear tables.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use weft_fabric::{Lid, LinearTables, Lmc, NodeId, Topology, UNREACHABLE};

use super::{LOG, name};
use crate::Failure;

/// Log level with dumps of routes and of the subnet, with errors, information and verbose messages.
pub(crate) const LOG_LEVEL: &str = "0x47";

/// The engine that its log names last.
pub(crate) fn used(dir: &Path) -> Result<Option<String>, Failure> {
    let mut used = None;
    for line in lines(dir, LOG)? {
        let line = line?;
        if let Some((_, rest)) = line.split_once("routing with '") {
            used = rest.split('\'').next().map(str::to_owned);
        }
    }
    Ok(used)
}

/// The lines of one of its files.
pub(crate) fn lines(
    dir: &Path,
    file: &str,
) -> Result<impl Iterator<Item = Result<String, Failure>>, Failure> {
    let path = dir.join(file);
    let what = path.display().to_string();
    let opened = File::open(&path).map_err(Failure::io(what.clone()))?;
    let lines = BufReader::new(opened).lines();
    Ok(lines.map(move |line| line.map_err(Failure::io(what.clone()))))
}

/// Nodes by GUID with their first LIDs.
pub(crate) type Nodes = BTreeMap<u64, (NodeId, Lid)>;

/// Nodes and LIDs as its list of links has them.
pub(crate) fn read_nodes(dir: &Path, topology: &Topology) -> Result<Nodes, Failure> {
    let names = (0..topology.len()).map(|node| (name(topology, node), NodeId(node as u32)));
    let names: BTreeMap<String, NodeId> = names.collect();
    let mut nodes = Nodes::new();
    for line in lines(dir, "opensm-subnet.lst")? {
        let line = line?;
        let near = line.split(" } {").next().unwrap_or_default();
        nodes.extend(node_of(near, &names));
    }
    Ok(nodes)
}

/// `… NodeGUID:0000000000200000 … {S0} LID:0004 PN:01`.
fn node_of(end: &str, names: &BTreeMap<String, NodeId>) -> Option<(u64, (NodeId, Lid))> {
    let word = |before: &str| end.split_once(before)?.1.split(' ').next();
    let guid = u64::from_str_radix(word("NodeGUID:")?, 16).ok()?;
    let lid = u32::from_str_radix(word(" LID:")?, 16).ok()?;
    let name = end.rsplit_once('{')?.1.split('}').next()?;
    Some((guid, (*names.get(name)?, Lid(lid))))
}

/// The fabric with the LIDs that it gave.
pub(crate) fn with_lids(topology: &Topology, nodes: &Nodes, lmc: Lmc) -> Topology {
    let mut topology = topology.clone();
    for &(node, lid) in nodes.values() {
        let Some(data) = topology.node_mut(node) else {
            continue;
        };
        let (first, lmc) = match data.is_switch() {
            true => (data.first_port(), Lmc(0)),
            false => (data.first_port(), lmc),
        };
        if let Some(port) = data.port_mut(first) {
            (port.info.lid, port.info.lmc) = (lid, lmc);
        }
    }
    topology
}

/// The linear tables of its switches.
pub(crate) fn read_tables(
    dir: &Path,
    topology: &Topology,
    nodes: &Nodes,
) -> Result<LinearTables, Failure> {
    let mut rows: Vec<Vec<u8>> = vec![Vec::new(); topology.switches().len()];
    let mut at = None;
    for line in lines(dir, "opensm.fdbs")? {
        let line = line?;
        if let Some((_, guid)) = line.split_once("Switch 0x") {
            let node = u64::from_str_radix(guid.trim(), 16).ok();
            let node = node.and_then(|guid| nodes.get(&guid));
            at = node.and_then(|(node, _)| topology.switch_index(*node));
        } else if let (Some(switch), Some((lid, port))) = (at, entry(&line)) {
            let row = &mut rows[switch.0 as usize];
            row.resize(row.len().max(lid + 1), UNREACHABLE);
            row[lid] = port;
        }
    }
    Ok(LinearTables::new(rows.into_iter().map(Arc::from).collect()))
}

/// `0x0005 : 003  : 02   : yes`.
fn entry(line: &str) -> Option<(usize, u8)> {
    let mut words = line.strip_prefix("0x")?.split(':').map(str::trim);
    let lid = usize::from_str_radix(words.next()?, 16).ok()?;
    Some((lid, words.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn lines_of_the_dumps_are_read() {
        assert_eq!(entry("0x000C : 003  : 03   : yes"), Some((12, 3)));
        assert_eq!(entry("0x0001 : UNREACHABLE"), None);
        assert_eq!(entry("LID    : Port : Hops : Optimal"), None);
        let names = BTreeMap::from([("S0".to_owned(), NodeId(7))]);
        let end = "{ SW Ports:04 SystemGUID:0000000000200000 NodeGUID:0000000000200000 \
                   PortGUID:0000000000200000 VenID:000000 DevID:0000 Rev:000000A1 {S0} \
                   LID:000A PN:03";
        let node = node_of(end, &names).unwrap();
        assert_eq!(node, (0x20_0000, (NodeId(7), Lid(10))));
    }
}
