//! What is wrong, by kind. One cause gives one finding: what follows from something that has been found already is not
//! told again, which is why the steps have their order.

mod configured;
mod felt;
mod gone;
mod links;
mod modules;
mod others;
mod ports;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::enums::PhysState;
use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, Topology};

use crate::memory::{LinkEnd, LinkKey};
use crate::moment::Moment;
use crate::page::{End, Finding, Kind};
use felt::Felt;
pub(crate) use links::is_slow;

/// Offsets of a cable's serial number in the upper half of its memory.
const SERIAL: std::ops::Range<usize> = 68..84;

/// All that is wrong.
pub(crate) fn findings(moment: &Moment<'_>) -> Vec<Finding> {
    let mut finder = Finder::new(moment);
    finder.refused();
    finder.gone_nodes();
    finder.barred();
    finder.gone_links();
    finder.disabled();
    finder.unintended();
    finder.down();
    finder.unused();
    finder.flapping();
    finder.degraded();
    finder.misconfigured();
    finder.mismatched();
    finder.errors();
    finder.bad_quality();
    finder.modules();
    finder.silent();
    finder.drained();
    finder.same_names();
    finder.past_errors();
    finder.found
}

/// Findings so far, and the ports and nodes that they explain.
struct Finder<'a> {
    moment: &'a Moment<'a>,
    topology: &'a Topology,
    felt: Felt<'a>,
    /// Remembered links of each node that is gone.
    links_of_gone: BTreeMap<Guid, Vec<LinkKey>>,
    /// Ports of which nothing more is to be told.
    explained: BTreeSet<LinkEnd>,
    /// Ports with a cable of which is told that it led elsewhere.
    moved: BTreeSet<LinkEnd>,
    /// Links of switched-off ports, by these, and hosts that are cut off by them.
    switched_off: BTreeMap<LinkEnd, (LinkEnd, Option<u64>)>,
    cut_off: BTreeMap<LinkEnd, Vec<String>>,
    found: Vec<Finding>,
}

impl<'a> Finder<'a> {
    fn new(moment: &'a Moment<'a>) -> Self {
        let topology = &*moment.snapshot.topology;
        let mut links_of_gone: BTreeMap<Guid, Vec<LinkKey>> = BTreeMap::new();
        for (guid, _) in moment.memory.gone_nodes() {
            links_of_gone.insert(guid, Vec::new());
        }
        for (key, _) in moment.memory.gone_links() {
            for (guid, _) in [key.0, key.1] {
                if let Some(links) = links_of_gone.get_mut(&guid) {
                    links.push(key);
                }
            }
        }
        Self {
            moment,
            topology,
            felt: Felt::new(moment.snapshot),
            links_of_gone,
            explained: BTreeSet::new(),
            moved: BTreeSet::new(),
            switched_off: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    fn node(&self, guid: Guid) -> Option<(NodeId, &'a Node)> {
        let id = self.topology.find(guid)?;
        Some((id, self.topology.node(id)?))
    }

    fn at(&self, (guid, port): LinkEnd) -> Option<PortRef> {
        let node = self.topology.find(guid)?;
        Some(PortRef { node, port })
    }

    fn end_of(&self, at: PortRef) -> Option<LinkEnd> {
        Some((self.topology.node(at.node)?.guid(), at.port))
    }

    /// The other end of the link at a port that is up.
    fn peer(&self, end: LinkEnd) -> Option<LinkEnd> {
        self.end_of(self.topology.peer(self.at(end)?)?)
    }

    fn is_gone(&self, guid: Guid) -> bool {
        self.links_of_gone.contains_key(&guid)
    }

    fn is_switch(&self, guid: Guid) -> bool {
        match self.node(guid) {
            Some((_, node)) => node.is_switch(),
            None => {
                let known = self.moment.memory.node(guid);
                known.is_some_and(|known| known.is_switch)
            }
        }
    }

    fn is_disabled(&self, end: LinkEnd) -> bool {
        let port = self.at(end).and_then(|at| self.topology.port(at));
        port.is_some_and(|port| port.info.phys_state == PhysState::DISABLED)
    }

    fn name(&self, guid: Guid) -> String {
        match self.node(guid) {
            Some((_, node)) => node.name(),
            None => {
                let known = self.moment.memory.node(guid);
                known.map_or_else(String::new, |known| known.name.clone())
            }
        }
    }

    fn whole(&self, guid: Guid) -> End {
        End {
            node: guid,
            name: self.name(guid),
            port: None,
            serial: String::new(),
        }
    }

    fn end(&self, (guid, port): LinkEnd) -> End {
        let memory = self.moment.cables.get(guid, port);
        let serial = memory.map_or_else(String::new, |memory| {
            let text = String::from_utf8_lossy(&memory[SERIAL]).into_owned();
            text.trim_matches(['\0', ' ']).to_owned()
        });
        End {
            serial,
            port: Some(port),
            ..self.whole(guid)
        }
    }

    /// The end of a link that is gone, with the serial number that its cable had.
    fn end_then(&self, end: LinkEnd, key: LinkKey) -> End {
        let mut told = self.end(end);
        if told.serial.is_empty() {
            let link = self.moment.memory.link(key);
            told.serial = link.map_or_else(String::new, |link| link.serial());
        }
        told
    }

    /// A finding that is filled in further.
    fn begin(&self, kind: Kind, what: impl Into<String>, a: End, b: Option<End>) -> Finding {
        Finding {
            kind,
            color: kind.color(),
            what: what.into(),
            a,
            b,
            since: None,
            times: 0,
            hosts: 0,
            host_names: Vec::new(),
            advice: String::new(),
            next: String::new(),
        }
    }

    /// A finding about the link at a port.
    fn at_link(&self, kind: Kind, what: impl Into<String>, end: LinkEnd, far: LinkEnd) -> Finding {
        let mut finding = self.begin(kind, what, self.end(end), Some(self.end(far)));
        (finding.hosts, finding.host_names) = self.felt.over(self.topology, end, far);
        finding
    }

    fn explain(&mut self, ends: impl IntoIterator<Item = LinkEnd>) {
        self.explained.extend(ends);
    }

    fn is_explained(&self, end: LinkEnd) -> bool {
        self.explained.contains(&end)
    }

    /// Every link that is up, once, of which nothing has been told yet.
    fn open_links(&self) -> Vec<(LinkEnd, LinkEnd, PortRef, PortRef)> {
        let links = self.topology.links().filter_map(|(a, b)| {
            let (from, to) = (self.end_of(a)?, self.end_of(b)?);
            let is_open = !self.is_explained(from) && !self.is_explained(to);
            is_open.then_some((from, to, a, b))
        });
        links.collect()
    }
}

/// A port as a point of `weft`.
fn point((guid, port): LinkEnd) -> String {
    format!("nodeguid:{guid}:port:{port}")
}

/// A node as a point of `weft`.
fn node_point(guid: Guid) -> String {
    format!("nodeguid:{guid}")
}

/// The end of a link that people look at first: a switch's, and of two switches the lower one.
fn near(finder: &Finder<'_>, a: LinkEnd, b: LinkEnd) -> (LinkEnd, LinkEnd) {
    match (finder.is_switch(a.0), finder.is_switch(b.0)) {
        (false, true) => (b, a),
        _ => (a, b),
    }
}

/// The command that tells how often the link at a port went down, and when.
fn why(end: LinkEnd) -> String {
    format!("weft quarantine why {}", point(end))
}

/// Port 0 of a switch stands for no port of a link.
const NO_PORT: PortNum = PortNum(0);
