//! Devices that are refused or silent, drains, differences from the topology file, names that several nodes have.

use weft_fabric::intended::{Difference, End as FileEnd, NodeName, compare};
use weft_fabric::{Guid, NodeId};
use weft_manager::sm::drains::Drain;

use super::{Finder, node_point, point, why};
use crate::page::{End, Kind};

/// Nodes of one name that are counted.
const SAME_MAX: usize = 100;
/// Names of several nodes that are told.
const NAMES_MAX: usize = 50;
/// Most differences from the topology file that are told one by one.
const DIFFERENCES_MAX: usize = 200;

impl Finder<'_> {
    /// Devices that are not let into the fabric.
    pub(super) fn refused(&mut self) {
        for refused in &self.moment.snapshot.refused {
            let device = End {
                node: refused.info.node_guid,
                name: weft_fabric::export::escape_name(refused.description.bytes()),
                port: Some(refused.info.local_port_num),
                serial: String::new(),
            };
            let what = format!("the device is not let in: {}", refused.defects);
            let trusted = refused.trusted;
            let host = (!self.is_switch(refused.neighbour)).then(|| device.name.clone());
            let mut finding = self.begin(Kind::Refused, what, device, Some(self.end(trusted)));
            (finding.hosts, finding.host_names) = super::felt::first(host.into_iter().collect());
            finding.next = why(trusted);
            self.found.push(finding);
            self.explain([trusted]);
        }
    }

    /// Devices whose agents do not answer.
    pub(super) fn silent(&mut self) {
        for (guid, silent) in self.moment.silent {
            let Some((id, node)) = self.node(*guid) else {
                continue;
            };
            let what = match silent.attribute.as_str() {
                "" => "its agent does not answer".to_owned(),
                attribute => format!("its agent does not answer (asked for {attribute})"),
            };
            let mut finding = self.begin(Kind::Silent, what, self.whole(*guid), None);
            finding.since = Some(silent.since);
            finding.times = silent.times;
            let hosts = match node.is_switch() {
                true => super::felt::hosts_at(self.topology, *guid),
                false => vec![id],
            };
            let names = hosts
                .iter()
                .filter_map(|id: &NodeId| self.topology.node(*id));
            let names = names.map(weft_fabric::Node::name).collect();
            (finding.hosts, finding.host_names) = super::felt::first(names);
            finding.advice = "is its firmware alive? Links that are up still carry data".to_owned();
            finding.next = format!("weft report nodes -d 3 -F {}", node_point(*guid));
            self.found.push(finding);
        }
    }

    /// What is drained.
    pub(super) fn drained(&mut self) {
        for drain in self.moment.drains {
            let (end, point) = match drain {
                Drain::Switch(guid) => (self.whole(*guid), node_point(*guid)),
                Drain::Link(guid, port) => (self.end((*guid, *port)), point((*guid, *port))),
            };
            let far = end.port.and_then(|port| self.peer((end.node, port)));
            let far = far.map(|far| self.end(far));
            let what = match drain {
                Drain::Switch(_) => "the switch is drained: no data crosses it",
                Drain::Link(..) => "the link is drained: no data crosses it",
            };
            let mut finding = self.begin(Kind::Drained, what, end, far);
            finding.next = format!("weft undrain {point}");
            self.found.push(finding);
        }
    }

    /// Differences from the topology file that nothing else has told.
    pub(super) fn unintended(&mut self) {
        let Some(intended) = self.moment.intended else {
            return;
        };
        let mut told = 0;
        for difference in compare(intended, self.topology) {
            let ends = ends_of(&difference);
            let is_told = ends.iter().any(|end| self.is_told(end));
            let Some(first) = ends.first().filter(|_| !is_told && told < DIFFERENCES_MAX) else {
                continue;
            };
            told += 1;
            let (a, b) = (
                self.of_file(first),
                ends.get(1).map(|end| self.of_file(end)),
            );
            let mut finding = self.begin(Kind::Unintended, difference.to_string(), a, b);
            finding.next = "weft quarantine list".to_owned();
            self.found.push(finding);
            // The ports of what is missing are down for that; what is there may have other faults as well.
            let is_missing = matches!(
                difference,
                Difference::MissingLink { .. } | Difference::MissingNode { .. }
            );
            let ends = ends.iter().filter(|_| is_missing);
            let ends: Vec<_> = ends
                .filter_map(|end| Some((end.node.guid?, end.port)))
                .collect();
            self.explain(ends);
        }
    }

    /// Whether something is told of an end already: of its node, or of its port.
    fn is_told(&self, end: &FileEnd) -> bool {
        let Some(guid) = end.node.guid else {
            return false;
        };
        let is_node = end.port == super::NO_PORT;
        match is_node {
            true => self.is_gone(guid) || self.is_refused(guid),
            false => {
                let end = (guid, end.port);
                self.is_explained(end) || self.moved.contains(&end)
            }
        }
    }

    fn is_refused(&self, guid: Guid) -> bool {
        let mut refused = self.moment.snapshot.refused.iter();
        refused.any(|node| node.info.node_guid == guid || node.neighbour == guid)
    }

    fn of_file(&self, end: &FileEnd) -> End {
        End {
            node: end.node.guid.unwrap_or_default(),
            name: end.node.name.clone(),
            port: Some(end.port).filter(|port| *port != super::NO_PORT),
            serial: String::new(),
        }
    }

    /// Switches, or HFIs, that have one name.
    pub(super) fn same_names(&mut self) {
        for (is_switch, name) in self.moment.shape.same_names.iter().take(NAMES_MAX) {
            let nodes = self.topology.nodes();
            let named = nodes.filter(|(_, node)| node.is_switch() == *is_switch);
            let named = named.filter(|(_, node)| node.name() == *name);
            let guids: Vec<Guid> = named.map(|(_, node)| node.guid()).take(SAME_MAX).collect();
            let [first, second, ..] = guids[..] else {
                continue;
            };
            let what = match guids.len() {
                SAME_MAX => format!("{SAME_MAX} nodes or more have the name {name:?}"),
                count => format!("{count} nodes have the name {name:?}"),
            };
            let ends = [first, second].map(|guid| self.whole(guid));
            let [a, b] = ends;
            let mut finding = self.begin(Kind::SameName, what, a, Some(b));
            finding.advice =
                "points and virtual fabrics that name nodes mean all of them".to_owned();
            finding.next = format!("weft report nodes -F {}", node_point(first));
            self.found.push(finding);
        }
    }
}

/// The ends that a difference is about; a whole node has port 0.
fn ends_of(difference: &Difference) -> Vec<FileEnd> {
    let whole = |node: &NodeName| FileEnd {
        node: node.clone(),
        port: super::NO_PORT,
    };
    match difference {
        Difference::MissingNode { node, at } | Difference::UnexpectedNode { node, at } => {
            std::iter::once(whole(node)).chain(at.clone()).collect()
        }
        Difference::ReplacedNode { intended, at, .. } => {
            std::iter::once(whole(intended)).chain(at.clone()).collect()
        }
        Difference::Description { found, .. } => vec![whole(found)],
        Difference::PortGuid { port, .. } => vec![port.clone()],
        Difference::MissingLink { intended } => vec![intended.a.clone(), intended.b.clone()],
        Difference::UnexpectedLink { found } | Difference::MovedLink { found, .. } => {
            vec![found.a.clone(), found.b.clone()]
        }
        Difference::SwappedLinks { found, .. } => {
            vec![found[0].a.clone(), found[0].b.clone()]
        }
    }
}
