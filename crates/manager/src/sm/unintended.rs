//! Links that are not as the file of PreDefinedTopology has them: verdicts, events, and the list of quarantine.
//!
//! A plan judges the links that its sweep has found (`weft_fabric::intended`). Those that break an enforced field are
//! no edge for routes, certificate and multicast, like all [unused links](super::unused_links), and neither are links
//! that only they lead to. They are used again as soon as fabric and file agree.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::intended::{Fault, Faults, Finding, Judgement, judge};
use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, QuarantinedNode, Tick, Topology};
use weft_state::State;

use super::barred_links::Barred;
use super::settings::TopologySettings;
use super::unused_links::link_end;
use crate::io::{BarredPort, Event, ExpectedNode, LinkEnd, TopologyFault, UnusedReason};

/// Most findings of a sweep that get an event each where LogMessageThreshold has no limit.
const EVENTS_MAX: usize = 4_096;

/// A port of a node.
type NamedEnd = (Guid, PortNum);

/// What is not as the file has it, in a plan's fabric.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Unintended {
    judgement: Judgement,
    /// The same under names that outlast numbers of nodes: by the trusted end.
    named: BTreeMap<NamedEnd, TopologyFault>,
    /// What differs in the manager's own node.
    own: Option<TopologyFault>,
    /// The nodes that are in quarantine, each at the first link by which it was found.
    quarantined: Vec<QuarantinedNode>,
}

impl Unintended {
    /// Judges all links of a topology, in which the manager's node is the first.
    pub(super) fn find(topology: &Topology, settings: Option<&TopologySettings>) -> Self {
        let Some(settings) = settings else {
            return Self::default();
        };
        let own = NodeId(0);
        let judgement = judge(&settings.intended, topology, own, &settings.rules);
        let named = judgement.findings.iter().filter_map(|finding| {
            let fault = fault(topology, settings, finding)?;
            Some(((fault.trusted.as_ref()?.node, finding.trusted.port), fault))
        });
        Self {
            named: named.collect(),
            own: own_fault(topology, judgement.own),
            quarantined: quarantined(topology, settings, &judgement),
            judgement,
        }
    }

    /// Ends of the links that are not to be used, with reasons.
    pub(super) fn reasons(&self) -> Barred {
        let enforced = enforced(&self.judgement).flat_map(|finding| {
            let reason = UnusedReason::Unintended {
                faults: finding.enforced,
            };
            [(finding.trusted, reason), (finding.found, reason)]
        });
        let behind = self.judgement.behind.iter();
        let behind = behind.flat_map(|(a, b)| [*a, *b].map(|end| (end, UnusedReason::Behind)));
        enforced.chain(behind).collect()
    }

    /// What is new and what is over, as events: at most `most` of what is new, 0 for no limit.
    pub(super) fn changes_since(&self, before: &Self, most: u32) -> Vec<Event> {
        let is_new =
            |(end, fault): &(&NamedEnd, &TopologyFault)| before.named.get(*end) != Some(*fault);
        let new = self.named.iter().filter(is_new).map(|(_, fault)| fault);
        let own = self
            .own
            .iter()
            .filter(|own| before.own.as_ref() != Some(*own));
        let mut new = own.chain(new);
        let most = match most {
            0 => EVENTS_MAX,
            most => (most as usize).min(EVENTS_MAX),
        };
        let told = new.by_ref().take(most).cloned().map(Event::TopologyFault);
        let mut events: Vec<Event> = told.collect();
        let count = new.count() as u32;
        events.extend((count > 0).then_some(Event::TopologyFaultsUntold { count }));
        let over = before.named.iter();
        let over = over.filter(|(end, fault)| self.is_over(end, fault));
        let over = over.take(EVENTS_MAX).filter_map(|(_, fault)| {
            let port = fault.trusted.clone()?;
            Some(Event::TopologyFaultOver { port })
        });
        events.extend(over);
        events
    }

    fn is_over(&self, end: &NamedEnd, before: &TopologyFault) -> bool {
        let now = self.named.get(end);
        now.is_none_or(|now| now.found.node != before.found.node)
    }

    /// The links that are in quarantine, by their trusted ends.
    fn quarantined(&self) -> impl Iterator<Item = (&NamedEnd, &TopologyFault)> {
        let all = self.named.iter();
        all.filter(|(_, fault)| !fault.enforced.is_empty())
    }

    /// The HFIs that are gone and in whose place another one is: GUID and description in the file, the HFI that was
    /// found, and the port before it.
    pub(super) fn replaced(&self) -> impl Iterator<Item = (Guid, &str, &LinkEnd, &LinkEnd)> {
        self.named.values().filter_map(|fault| {
            let (old, expected) = (fault.replaces?, fault.expected.as_ref()?);
            Some((old, &*expected.name, &fault.found, fault.trusted.as_ref()?))
        })
    }

    /// The nodes that are in quarantine.
    pub(super) fn nodes(&self) -> &[QuarantinedNode] {
        &self.quarantined
    }
}

fn enforced(judgement: &Judgement) -> impl Iterator<Item = &Finding> {
    let all = judgement.findings.iter();
    all.filter(|finding| !finding.enforced.is_empty())
}

fn quarantined(
    topology: &Topology,
    settings: &TopologySettings,
    judgement: &Judgement,
) -> Vec<QuarantinedNode> {
    let mut known = BTreeSet::new();
    let first = enforced(judgement).filter(|finding| known.insert(finding.found.node));
    let nodes = first.filter_map(|finding| {
        let guid = |id: NodeId| topology.node(id).map(Node::guid);
        let expected = finding.expected.as_ref().and_then(|end| {
            let nodes = settings.intended.nodes();
            Some((nodes.get(end.node as usize)?, end))
        });
        let differs = |fault| expected.filter(|_| finding.enforced.contains(fault));
        Some(QuarantinedNode {
            trusted: (guid(finding.trusted.node)?, finding.trusted.port),
            node: guid(finding.found.node)?,
            faults: finding.enforced,
            expected_guid: differs(Fault::NodeGuid).and_then(|(node, _)| node.guid),
            expected_description: differs(Fault::NodeDesc).and_then(|(node, _)| node.description),
            expected_port_guid: differs(Fault::PortGuid).and_then(|(_, end)| end.port_guid),
        })
    });
    nodes.collect()
}

/// Since when links are in quarantine for the file, by their trusted ends.
#[derive(Debug, Clone, Default, State)]
pub(super) struct UnintendedSince(BTreeMap<NamedEnd, (Guid, Tick)>);

impl UnintendedSince {
    /// Takes over the findings of a plan that is in force now.
    pub(super) fn update(&mut self, now: Tick, unintended: &Unintended) {
        let ends = unintended.quarantined().map(|(end, fault)| {
            let found = fault.found.node;
            let since = self.0.get(end).filter(|(node, _)| *node == found);
            (*end, (found, since.map_or(now, |(_, since)| *since)))
        });
        self.0 = ends.collect();
    }

    /// The list of quarantine: all trusted ends.
    pub(super) fn list(&self, now: Tick, unintended: &Unintended) -> Vec<BarredPort> {
        let all = unintended.quarantined();
        all.filter_map(|(end, fault)| self.entry(now, end, fault))
            .collect()
    }

    /// The entry of a port that is the trusted end of a link in quarantine.
    pub(super) fn at(
        &self,
        now: Tick,
        unintended: &Unintended,
        end: NamedEnd,
    ) -> Option<BarredPort> {
        let (end, fault) = unintended.quarantined().find(|(at, _)| **at == end)?;
        self.entry(now, end, fault)
    }

    fn entry(&self, now: Tick, end: &NamedEnd, fault: &TopologyFault) -> Option<BarredPort> {
        Some(BarredPort {
            port: fault.trusted.clone()?,
            reason: UnusedReason::Unintended {
                faults: fault.enforced,
            },
            losses: 0,
            since: now.since(self.0.get(end)?.1),
            left: None,
            comment: fault.to_string(),
            errors: None,
        })
    }
}

fn fault(
    topology: &Topology,
    settings: &TopologySettings,
    finding: &Finding,
) -> Option<TopologyFault> {
    let expected = finding.expected.map(|end| {
        let node = settings.intended.nodes().get(end.node as usize);
        ExpectedNode {
            name: settings.intended.name(end.node),
            guid: node.and_then(|node| node.guid),
            line: node.map_or(0, |node| node.line),
        }
    });
    Some(TopologyFault {
        trusted: Some(link_end(topology, finding.trusted)?),
        found: link_end(topology, finding.found)?,
        faults: finding.faults,
        enforced: finding.enforced,
        expected,
        replaces: replaced(topology, settings, finding),
    })
}

/// The HFI that the file has at the far end of a link and that is gone, where the one found there is not in the file.
fn replaced(topology: &Topology, settings: &TopologySettings, finding: &Finding) -> Option<Guid> {
    let found = topology.node(finding.found.node)?;
    let expected = settings.intended.nodes();
    let expected = expected.get(finding.expected?.node as usize)?;
    let old = expected.guid.filter(|old| topology.find(*old).is_none())?;
    let are_hfis = !found.is_switch() && !expected.is_switch();
    let is_new = settings.intended.node_of(found).is_none();
    (finding.faults.contains(Fault::NodeGuid) && are_hfis && is_new).then_some(old)
}

fn own_fault(topology: &Topology, faults: Faults) -> Option<TopologyFault> {
    let node = NodeId(0);
    let port = topology.node(node)?.first_port();
    (!faults.is_empty()).then_some(TopologyFault {
        trusted: None,
        found: link_end(topology, PortRef { node, port })?,
        faults,
        enforced: Faults::default(),
        expected: None,
        replaces: None,
    })
}
