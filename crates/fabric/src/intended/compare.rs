//! All differences of a fabric from its topology file, as people name them.

use std::collections::BTreeMap;

use weft_wire::id::PortNum;

use super::difference::{Cable, Difference, End, NodeName};
use super::identify::Identities;
use super::judge::is_internal;
use super::{Intended, IntendedEnd};
use crate::topology::{Node, NodeId, PortRef, Topology};

/// Compares a fabric with a file: differences of nodes first, then of cables, each in an order that depends on nothing
/// but the two. A cable to a node that is missing or unexpected is not named besides that node.
pub fn compare(intended: &Intended, topology: &Topology) -> Vec<Difference> {
    let found = Identities::find(intended, topology);
    let compared = Compared {
        intended,
        topology,
        found: &found,
    };
    let mut differences = compared.nodes();
    differences.extend(compared.cables());
    differences
}

/// File and fabric, and which node is which.
struct Compared<'a> {
    intended: &'a Intended,
    topology: &'a Topology,
    found: &'a Identities,
}

/// A cable of the fabric that the file lacks, and the missing cables of the file at its two ends.
struct Wrong {
    ends: (PortRef, PortRef),
    missing: Vec<u32>,
}

impl Compared<'_> {
    fn nodes(&self) -> Vec<Difference> {
        let missing = (0_u32..).zip(&self.found.in_fabric);
        let missing = missing.filter(|(_, id)| id.is_none());
        let missing = missing.map(|(node, _)| Difference::MissingNode {
            node: NodeName::in_file(self.intended, node),
            at: self.intended_place(node),
        });
        let found = self.topology.nodes().zip(&self.found.in_file);
        let found = found.flat_map(|((id, node), file)| match file {
            Some(file) => self.node(id, node, *file),
            None => vec![Difference::UnexpectedNode {
                node: NodeName::in_fabric(node),
                at: self.place(node),
            }],
        });
        missing.chain(found).collect()
    }

    fn node(&self, id: NodeId, node: &Node, file: u32) -> Vec<Difference> {
        let expected = &self.intended.nodes[file as usize];
        let names = || {
            let intended = NodeName::in_file(self.intended, file);
            (intended, NodeName::in_fabric(node))
        };
        if expected.guid.is_some_and(|guid| !node.counts_as(guid)) {
            let (intended, found) = names();
            let at = self.place(node);
            return vec![Difference::ReplacedNode {
                intended,
                found,
                at,
            }];
        }
        let mut differences = Vec::new();
        let described = self.intended.described(file);
        if described.is_some_and(|name| name != node.description.bytes()) {
            let (intended, found) = names();
            differences.push(Difference::Description { intended, found });
        }
        let cables = self.intended.cables[file as usize].iter();
        let ports = cables.filter_map(|(port, _)| self.port_guid(id, node, file, *port));
        differences.extend(ports);
        differences
    }

    fn port_guid(&self, id: NodeId, node: &Node, file: u32, port: PortNum) -> Option<Difference> {
        let intended = self.intended.cable(file, port)?.0.port_guid?;
        let is_other = !node.port_counts_as(port, intended);
        is_other.then_some(Difference::PortGuid {
            port: End::in_fabric(self.topology, PortRef { node: id, port })?,
            intended,
            found: node.port_guid(port),
        })
    }

    /// Where the first cable of a node leads.
    fn place(&self, node: &Node) -> Option<End> {
        let peer = node.external_ports().find_map(|(_, port)| port.peer)?;
        End::in_fabric(self.topology, peer)
    }

    /// Where the first cable of a node should lead.
    fn intended_place(&self, node: u32) -> Option<End> {
        let (port, _) = self.intended.cables[node as usize].first()?;
        let (_, far) = self.intended.cable(node, *port)?;
        Some(End::in_file(self.intended, far))
    }

    fn cables(&self) -> Vec<Difference> {
        let mut is_there = vec![false; self.intended.links.len()];
        let mut wrong = Vec::new();
        for ends in self.topology.links().chain(self.topology.loops()) {
            match self.same(ends) {
                Some(link) => is_there[link as usize] = true,
                None if self.counts(ends) => wrong.push(ends),
                None => {}
            }
        }
        for (is_there, link) in is_there.iter_mut().zip(&self.intended.links) {
            *is_there |= link.ends.iter().any(|end| self.at(end).is_none());
        }
        let mut wrong: Vec<Wrong> = wrong
            .into_iter()
            .map(|ends| self.wrong(ends, &is_there))
            .collect();
        let mut differences = self.swapped(&mut wrong, &mut is_there);
        differences.extend(self.moved(wrong, &mut is_there));
        let missing = self.intended.links.iter().zip(is_there);
        let missing = missing.filter(|(_, is_there)| !is_there);
        differences.extend(missing.map(|(link, _)| Difference::MissingLink {
            intended: Cable::in_file(self.intended, &link.ends),
        }));
        differences
    }

    /// The cable of the file that a cable of the fabric is.
    fn same(&self, (a, b): (PortRef, PortRef)) -> Option<u32> {
        let link = self.cable_index(a).filter(|_| a != b)?;
        (self.cable_index(b) == Some(link)).then_some(link)
    }

    fn cable_index(&self, at: PortRef) -> Option<u32> {
        let file = self.found.in_file[at.node.0 as usize]?;
        self.intended.cable_index(file, at.port)
    }

    /// Whether a cable of the fabric is to be in the file.
    fn counts(&self, (a, b): (PortRef, PortRef)) -> bool {
        let nodes = [a, b].map(|end| self.topology.node(end.node));
        let [Some(near), Some(far)] = nodes else {
            return false;
        };
        let known = [a, b].map(|end| self.found.in_file[end.node.0 as usize]);
        let is_left_out = self.intended.is_external_only && is_internal(near, far);
        known.iter().all(Option::is_some) && !is_left_out
    }

    /// The port of the fabric that an end of a cable of the file is, where its node is there.
    fn at(&self, end: &IntendedEnd) -> Option<PortRef> {
        let node = self.found.in_fabric[end.node as usize]?;
        let port = end.port;
        Some(PortRef { node, port })
    }

    fn wrong(&self, ends: (PortRef, PortRef), is_there: &[bool]) -> Wrong {
        let missing = [ends.0, ends.1].map(|end| self.cable_index(end));
        let missing = missing.into_iter().flatten();
        let mut missing: Vec<u32> = missing.filter(|link| !is_there[*link as usize]).collect();
        missing.sort_unstable();
        Wrong { ends, missing }
    }

    /// Takes out pairs of cables that each have one end of the same two cables of the file.
    fn swapped(&self, wrong: &mut Vec<Wrong>, is_there: &mut [bool]) -> Vec<Difference> {
        let mut firsts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        let mut is_swapped = vec![false; wrong.len()];
        let mut differences = Vec::new();
        for (at, one) in wrong.iter().enumerate() {
            let [first, second] = one.missing[..] else {
                continue;
            };
            let Some(other) = firsts.insert((first, second), at) else {
                continue;
            };
            let found = [other, at].map(|at| Cable::in_fabric(self.topology, wrong[at].ends));
            let [Some(near), Some(far)] = found else {
                continue;
            };
            for at in [other, at] {
                is_swapped[at] = true;
            }
            let links = [first, second];
            for link in links {
                is_there[link as usize] = true;
            }
            differences.push(Difference::SwappedLinks {
                intended: links.map(|link| self.intended_cable(link)),
                found: [near, far],
            });
        }
        let mut is_swapped = is_swapped.into_iter();
        wrong.retain(|_| is_swapped.next() == Some(false));
        differences
    }

    /// Each wrong cable with a missing one that shares an end with it; those that share none with any are unexpected.
    fn moved(&self, mut wrong: Vec<Wrong>, is_there: &mut [bool]) -> Vec<Difference> {
        // A cable with a choice takes what the others leave.
        wrong.sort_by_key(|one| one.missing.len());
        let cables = wrong.into_iter().filter_map(|one| {
            let found = Cable::in_fabric(self.topology, one.ends)?;
            let mut missing = one.missing.into_iter();
            let Some(link) = missing.find(|link| !is_there[*link as usize]) else {
                return Some(Difference::UnexpectedLink { found });
            };
            is_there[link as usize] = true;
            let intended = self.intended_cable(link);
            Some(Difference::MovedLink { intended, found })
        });
        cables.collect()
    }

    fn intended_cable(&self, link: u32) -> Cable {
        Cable::in_file(self.intended, &self.intended.links[link as usize].ends)
    }
}
