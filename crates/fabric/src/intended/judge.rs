//! Which links are not as the file has them, as a manager finds them from its own port on.
//!
//! As opa-fm does it (`_validate_predef_fields` in `sm_discovery.c`): of each link the end nearer to the manager is
//! trusted, and the node at the other end is compared with what the file has there. What lies behind a link that is
//! not to be used is reached over other links, or not at all. Unlike there, a node with a wrong link is still reached
//! over right ones, and a value that the file does not give is not compared.

use std::collections::VecDeque;

use weft_state::State;
use weft_wire::id::PortNum;

use super::{Fault, Faults, Intended, IntendedEnd, Look, Rules};
use crate::topology::{Node, NodeId, PortRef, Topology};

/// A link that is not as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Finding {
    /// The end nearer to the manager.
    pub trusted: PortRef,
    /// The other end.
    pub found: PortRef,
    /// What differs at the other end, as far as it is looked for.
    pub faults: Faults,
    /// Those of them for which the link is not to be used. Empty for the manager's own link, which stays in use, and for
    /// a cable from a node to itself, which never is.
    pub enforced: Faults,
    /// What the file has at the other end; none for an undefined link.
    pub expected: Option<IntendedEnd>,
}

/// What is not as a file has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct Judgement {
    /// The links, those nearer to the manager first.
    pub findings: Vec<Finding>,
    /// Links of nodes that no link leads to which may be used; not judged.
    pub behind: Vec<(PortRef, PortRef)>,
    /// What differs from all managers of the file in the manager's own node: NodeGUID, PortGUID.
    pub own: Faults,
}

/// Judges the links of a topology, as found from the node of the manager on.
pub fn judge(intended: &Intended, topology: &Topology, own: NodeId, rules: &Rules) -> Judgement {
    let mut judgement = Judgement::default();
    let Some(node) = topology.node(own) else {
        return judgement;
    };
    if *rules == Rules::default() {
        return judgement;
    }
    judgement.own = own_faults(intended, node, rules);
    let walk = Walk {
        intended,
        topology,
        own,
        rules,
    };
    let reached = walk.go(&mut judgement.findings);
    let is_behind =
        |(a, b): &(PortRef, PortRef)| !reached[a.node.0 as usize] && !reached[b.node.0 as usize];
    if reached.contains(&false) {
        judgement.behind = topology.links().filter(is_behind).collect();
    }
    judgement
}

/// A walk over a topology from the manager's node on.
struct Walk<'a> {
    intended: &'a Intended,
    topology: &'a Topology,
    own: NodeId,
    rules: &'a Rules,
}

impl Walk<'_> {
    /// Judges links from node to node; returns which nodes were reached.
    fn go(&self, findings: &mut Vec<Finding>) -> Vec<bool> {
        let mut reached = vec![false; self.topology.len()];
        let mut is_done = reached.clone();
        let mut queue = VecDeque::from([self.own]);
        reached[self.own.0 as usize] = true;
        while let Some(id) = queue.pop_front() {
            let Some(node) = self.topology.node(id) else {
                continue;
            };
            let near = Near::new(self.intended, node, self.rules);
            for (port, end) in node.external_ports() {
                let trusted = PortRef { node: id, port };
                let peer = end.peer.or_else(|| self.topology.loop_end(trusted));
                let Some(found) = peer else { continue };
                // From its other end it was judged already.
                if is_done[found.node.0 as usize] || (found.node == id && found < trusted) {
                    continue;
                }
                let finding = self.finding(&near, trusted, found);
                let is_right = finding.is_none_or(|finding| finding.enforced.is_empty());
                findings.extend(finding);
                let seen = &mut reached[found.node.0 as usize];
                if is_right && !std::mem::replace(seen, true) {
                    queue.push_back(found.node);
                }
            }
            is_done[id.0 as usize] = true;
        }
        reached
    }

    /// What is wrong about a link, none where nothing is that is looked for.
    fn finding(&self, near: &Near<'_>, trusted: PortRef, found: PortRef) -> Option<Finding> {
        let other = self.topology.node(found.node)?;
        if self.intended.is_external_only && is_internal(near.node, other) {
            return None;
        }
        let (faults, expected) = near.faults(trusted.port, other, found.port);
        let enforced = faults.at(self.rules, Look::Enforce);
        let warned = faults.at(self.rules, Look::Warn);
        let faults = enforced.or(warned);
        let is_own = [trusted.node, found.node].contains(&self.own);
        let stays = is_own || trusted.node == found.node;
        (!faults.is_empty()).then_some(Finding {
            trusted,
            found,
            faults,
            enforced: if stays { Faults::default() } else { enforced },
            expected,
        })
    }
}

/// Whether a cable between two nodes is inside of a chassis.
pub(super) fn is_internal(a: &Node, b: &Node) -> bool {
    a.is_switch() && b.is_switch() && a.info.system_image_guid == b.info.system_image_guid
}

/// Most nodes of one description whose cables are looked up; of more, the first ones of the file count.
const NAMESAKES_MAX: usize = 64;

/// A trusted node, and what the file has in its place.
struct Near<'a> {
    intended: &'a Intended,
    node: &'a Node,
    by_guid: Option<u32>,
    /// Whether nodes of the same description count.
    by_name: bool,
}

impl<'a> Near<'a> {
    fn new(intended: &'a Intended, node: &'a Node, rules: &Rules) -> Self {
        Self {
            intended,
            node,
            by_guid: intended.node_of(node),
            by_name: rules.node_guid == Look::Off,
        }
    }

    /// What the file has at the other end of the link at a port.
    fn far(&self, port: PortNum) -> Option<IntendedEnd> {
        let cable = |node: u32| Some(*self.intended.cable(node, port)?.1);
        let node = self.node;
        let named = || {
            let all = self.intended.named(&node.description, node.info.node_type);
            all.take(NAMESAKES_MAX).find_map(cable)
        };
        let known = self.by_guid.and_then(cable);
        known.or_else(|| self.by_name.then(named).flatten())
    }

    /// What differs at the other end of the link at a port, and what the file has there.
    fn faults(&self, port: PortNum, other: &Node, at: PortNum) -> (Faults, Option<IntendedEnd>) {
        let mut faults = Faults::default();
        match self.far(port).filter(|far| far.port == at) {
            Some(far) => (far_faults(self.intended, &far, other, at), Some(far)),
            None => {
                faults.insert(Fault::UndefinedLink);
                (faults, None)
            }
        }
    }
}

/// What differs between a node at the end of a link and what the file has there.
pub(super) fn far_faults(
    intended: &Intended,
    far: &IntendedEnd,
    found: &Node,
    at: PortNum,
) -> Faults {
    let expected = &intended.nodes[far.node as usize];
    let mut faults = Faults::default();
    if expected.guid.is_some_and(|guid| !found.counts_as(guid)) {
        faults.insert(Fault::NodeGuid);
    }
    let description = intended.described(far.node);
    if description.is_some_and(|expected| expected != found.description.bytes()) {
        faults.insert(Fault::NodeDesc);
    }
    // The ports of a switch have no GUIDs, but its port 0.
    let port_guid = far.port_guid.filter(|_| !expected.is_switch());
    let is_other_port = port_guid.is_some_and(|guid| !found.port_counts_as(at, guid));
    if is_other_port || (expected.is_switch() && !found.is_switch()) {
        faults.insert(Fault::PortGuid);
    }
    faults
}

/// What the file's managers do not have in common with the manager's own node.
fn own_faults(intended: &Intended, own: &Node, rules: &Rules) -> Faults {
    let mut faults = Faults::default();
    let sms = || intended.sms.iter();
    let is_looked = |look: Look| look != Look::Off;
    let is_node = |sm: &super::IntendedSm| sm.node_guid.is_some_and(|guid| own.counts_as(guid));
    if is_looked(rules.node_guid) && !sms().any(is_node) {
        faults.insert(Fault::NodeGuid);
    }
    let has_port = |sm: &super::IntendedSm| {
        let mut ports = own.end_ports();
        sm.port_guid
            .is_some_and(|guid| ports.any(|(port, _)| own.port_counts_as(port, guid)))
    };
    if is_looked(rules.port_guid) && !sms().any(has_port) {
        faults.insert(Fault::PortGuid);
    }
    faults
}
