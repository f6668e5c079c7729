//! What was there before and is gone: nodes, links, cables in other ports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_fabric::Guid;
use weft_fabric::enums::PhysState;
use weft_fabric::text::count;

use super::{Finder, near, node_point, point, why, words};
use crate::memory::{LinkEnd, LinkKey};
use crate::page::{Color, Finding, Kind};

/// What is said of a device that is silent for so long that it is no part of the fabric any more.
const LEFT_OUT: &str =
    "its link is up, but its agent does not answer: it is left out of the fabric";
/// Losses in an hour from which on a link flaps.
pub(super) const FLAPS: u64 = 3;

impl Finder<'_> {
    /// Switches and hosts that are gone. A host behind a switch that is gone is one of its hosts, and so is one behind
    /// a switch that only hangs on such a switch.
    pub(super) fn gone_nodes(&mut self) {
        let behind = self.behind();
        let gone: Vec<(Guid, u64)> = self
            .moment
            .memory
            .gone_nodes()
            .map(|(guid, known)| (guid, known.gone().unwrap_or(0)))
            .collect();
        let mut hosts: BTreeMap<Guid, Vec<String>> = BTreeMap::new();
        for (guid, _) in &gone {
            if let Some(root) = behind.get(guid).filter(|root| *root != guid)
                && !self.is_switch(*guid)
            {
                hosts.entry(*root).or_default().push(self.name(*guid));
            }
        }
        for (guid, since) in gone {
            let links = self.links_of_gone[&guid].clone();
            if self.is_told_otherwise(guid) {
                self.explain(links.iter().flat_map(|key| [key.0, key.1]));
                continue;
            }
            if behind.get(&guid).is_none_or(|root| *root == guid) {
                let hosts = hosts.remove(&guid).unwrap_or_default();
                self.gone_node(guid, since, &links, hosts);
            }
            self.explain(links.iter().flat_map(|key| [key.0, key.1]));
        }
    }

    /// Whether it is a device that is not let in.
    fn is_told_otherwise(&self, guid: Guid) -> bool {
        let refused = self.moment.snapshot.refused.iter();
        let mut refused = refused.map(|node| (node.info.node_guid, node.neighbour));
        refused.any(|(said, neighbour)| said == guid || neighbour == guid)
    }

    /// For each node that is gone, the one that is the cause: a switch that had links to nodes that are there, or the
    /// node itself.
    fn behind(&self) -> BTreeMap<Guid, Guid> {
        let mut cause = BTreeMap::new();
        let mut queue = VecDeque::new();
        for (guid, links) in &self.links_of_gone {
            let has_present = links.iter().any(|key| {
                let far = other(*key, *guid);
                !self.is_gone(far.0)
            });
            if has_present {
                cause.insert(*guid, *guid);
                if self.is_switch(*guid) {
                    queue.push_back(*guid);
                }
            }
        }
        while let Some(guid) = queue.pop_front() {
            for key in &self.links_of_gone[&guid] {
                let far = other(*key, guid).0;
                if self.is_gone(far) && !cause.contains_key(&far) {
                    cause.insert(far, cause[&guid]);
                    if self.is_switch(far) {
                        queue.push_back(far);
                    }
                }
            }
        }
        cause
    }

    fn gone_node(&mut self, guid: Guid, since: u64, links: &[LinkKey], hosts: Vec<String>) {
        let is_switch = self.is_switch(guid);
        let present = links.iter().map(|key| (*key, other(*key, guid)));
        let present: Vec<(LinkKey, LinkEnd)> =
            present.filter(|(_, far)| !self.is_gone(far.0)).collect();
        let felt = match is_switch {
            true => hosts,
            false => vec![self.name(guid)],
        };
        let (off, on): (Vec<_>, Vec<_>) = present
            .iter()
            .copied()
            .partition(|(_, far)| self.is_disabled(*far));
        if let (Some((key, far)), true) = (off.first(), on.is_empty()) {
            self.switched_off
                .insert(*far, (own(*key, guid), Some(since)));
            self.cut_off.insert(*far, felt);
            for (key, far) in &off[1..] {
                self.switched_off
                    .insert(*far, (own(*key, guid), Some(since)));
            }
            return;
        }
        let finding = match is_switch {
            true => self.gone_switch(guid, &on, felt.len()),
            false => self.gone_host(guid, &on),
        };
        let mut finding = finding;
        finding.since = Some(since);
        (finding.hosts, finding.host_names) = super::felt::first(felt);
        self.found.push(finding);
    }

    fn gone_switch(&self, guid: Guid, links: &[(LinkKey, LinkEnd)], hosts: usize) -> Finding {
        let ports: BTreeSet<LinkEnd> = links.iter().map(|(_, far)| *far).collect();
        let what = match (ports.len(), hosts) {
            (links, 0) => format!("the switch is gone; {} led to it", count(links, "link")),
            (links, hosts) => format!(
                "the switch and {} behind it are gone; {} led to it",
                count(hosts, "host"),
                count(links, "link")
            ),
        };
        let what = match links.iter().any(|(_, far)| self.is_up(*far)) {
            true => format!("{what}; {LEFT_OUT}"),
            false => what,
        };
        let at = links.first();
        let b = at.map(|(key, far)| self.end_then(*far, *key));
        let mut finding = self.begin(Kind::MissingSwitch, what, self.whole(guid), b);
        finding.advice = format!(
            "is it powered? If it was removed on purpose: weft health forget {}",
            node_point(guid)
        );
        finding.next = at.map_or_else(
            || format!("weft health forget {}", node_point(guid)),
            |(_, far)| why(*far),
        );
        if hosts == 0 {
            finding.color = Color::Yellow;
        }
        finding
    }

    fn gone_host(&self, guid: Guid, links: &[(LinkKey, LinkEnd)]) -> Finding {
        let forget = format!("weft health forget {}", node_point(guid));
        let Some((key, far)) = links.first() else {
            let mut finding = self.begin(
                Kind::MissingHost,
                "the host is gone",
                self.whole(guid),
                None,
            );
            finding.next = forget;
            return finding;
        };
        let place = self.end_then(*far, *key);
        let own_port = self.end_then(own(*key, guid), *key);
        if let Some(new) = self.peer(*far).filter(|new| new.0 != guid) {
            let what = format!(
                "another device is in its place: {} ({})",
                self.name(new.0),
                new.0
            );
            let mut finding = self.begin(Kind::Replaced, what, own_port, Some(place));
            finding.advice = format!("if it is the new HFI of the same host: weft replace {guid}");
            finding.next = forget;
            return finding;
        }
        let port = self.at(*far).and_then(|at| self.topology.port(at));
        let says = port.map_or_else(String::new, |port| words::port(&port.info));
        let barred = match self.is_barred(*far) {
            true => "; its port is in quarantine",
            false => "",
        };
        let (kind, what) = match self.is_up(*far) {
            true => (Kind::Silent, format!("{LEFT_OUT}{barred}")),
            false => (
                Kind::MissingHost,
                format!("the host is gone; its switch port: {says}{barred}"),
            ),
        };
        let mut finding = self.begin(kind, what, own_port, Some(place));
        finding.times = self.losses(*key);
        finding.advice = format!("is it powered? If it was removed on purpose: {forget}");
        finding.next = why(*far);
        finding
    }

    /// Whether a port is up that has no link in the fabric.
    fn is_up(&self, end: LinkEnd) -> bool {
        let port = self.at(end).and_then(|at| self.topology.port(at));
        port.is_some_and(|port| port.info.phys_state == PhysState::LINK_UP)
    }

    fn is_barred(&self, end: LinkEnd) -> bool {
        let mut barred = self.moment.barred.iter();
        barred.any(|one| (one.port.node, one.port.port) == end)
    }

    /// Losses of a link in the last hour, as the manager saw them or as its devices counted them.
    pub(super) fn losses(&self, key: LinkKey) -> u64 {
        let (seen, _) = self.moment.losses.of(key);
        let counted = [key.0, key.1].map(|end| self.moment.errors.downs(end));
        counted.into_iter().max().unwrap_or(0).max(seen)
    }

    /// Links that are gone while both nodes are there.
    pub(super) fn gone_links(&mut self) {
        let gone: Vec<(LinkKey, u64)> = self
            .moment
            .memory
            .gone_links()
            .map(|(key, known)| (key, known.gone().unwrap_or(0)))
            .collect();
        for (key, since) in gone {
            let (a, b) = key;
            let is_there = |end: LinkEnd| self.node(end.0).is_some();
            if !is_there(a) || !is_there(b) || self.is_explained(a) || self.is_explained(b) {
                continue;
            }
            let off = [a, b].into_iter().find(|end| self.is_disabled(*end));
            if let Some(off) = off {
                let far = if off == a { b } else { a };
                self.switched_off.insert(off, (far, Some(since)));
                self.explain([far]);
                continue;
            }
            let mut finding = match self.moved(key) {
                Some(moved) => moved,
                None => self.gone_link(key),
            };
            finding.since = Some(since);
            if finding.kind == Kind::Moved {
                let ends = [Some(&finding.a), finding.b.as_ref()];
                let ends = ends.into_iter().flatten();
                self.moved
                    .extend(ends.filter_map(|end| Some((end.node, end.port?))));
            }
            self.found.push(finding);
            let lost = [a, b].into_iter().filter(|end| self.peer(*end).is_none());
            let lost: Vec<LinkEnd> = lost.collect();
            self.explain(lost);
        }
    }

    /// The cable of a link that is gone, where one of its ends is in another port now.
    fn moved(&self, key: LinkKey) -> Option<Finding> {
        let ends = [(key.0, key.1), (key.1, key.0)];
        let (stays, now, was) = ends
            .into_iter()
            .find_map(|(stays, was)| Some((stays, self.peer(stays)?, was)))?;
        let what = format!(
            "its cable led to port {} of {} ({}) before",
            was.1,
            self.name(was.0),
            was.0
        );
        let mut finding = self.begin(Kind::Moved, what, self.end(stays), Some(self.end(now)));
        finding.advice = "if that is meant, let the old place be forgotten".to_owned();
        finding.next = format!("weft health forget {}", point(was));
        Some(finding)
    }

    fn gone_link(&self, key: LinkKey) -> Finding {
        let (a, b) = near(self, key.0, key.1);
        let says = [a, b].map(|end| {
            let port = self.at(end).and_then(|at| self.topology.port(at));
            port.map_or_else(String::new, |port| words::port(&port.info))
        });
        let says = match says[0] == says[1] {
            true => format!("both ports: {}", says[0]),
            false => format!("its ports: {} / {}", says[0], says[1]),
        };
        let losses = self.losses(key);
        let (kind, what) = match losses >= FLAPS {
            true => (
                Kind::Flapping,
                format!(
                    "the link went down {} in the last hour, and is down; {says}",
                    count(losses, "time")
                ),
            ),
            false => (Kind::MissingLink, format!("the link is gone; {says}")),
        };
        let ends = [a, b].map(|end| self.end_then(end, key));
        let [near_end, far_end] = ends;
        let mut finding = self.begin(kind, what, near_end, Some(far_end));
        (finding.hosts, finding.host_names) = self.felt.over(self.topology, a, b);
        finding.times = losses;
        finding.advice = "reseat the cable at both ends, then replace it".to_owned();
        finding.next = why(a);
        finding
    }
}

/// The end of a link at the other node.
fn other(key: LinkKey, guid: Guid) -> LinkEnd {
    if key.0.0 == guid { key.1 } else { key.0 }
}

/// The end of a link at a node.
fn own(key: LinkKey, guid: Guid) -> LinkEnd {
    if key.0.0 == guid { key.0 } else { key.1 }
}
