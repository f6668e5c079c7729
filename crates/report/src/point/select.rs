//! Resolution of a [`Point`] in a snapshot.

use thiserror::Error;
use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{CountsByPort, Guid, Lid, NodeId, PortRef, Snapshot};

use super::{CableMatch, Comparison, Glob, Need, NodeMatch, Note, Point, PortMatch, StateMatch};
use crate::cable;
use crate::expectations::Expectations;
use crate::names::{port_guid, rate_half_gigabits};
use crate::route;

/// Names in a hint at most.
const NEAR: usize = 3;

/// Nodes or ports of one snapshot, in order of GUID and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Ports, each once.
    Ports(Vec<PortRef>),
    /// Nodes, each once.
    Nodes(Vec<NodeId>),
    /// All nodes of one chassis or card.
    System {
        /// SystemImageGUID.
        guid: Guid,
        /// Its nodes.
        nodes: Vec<NodeId>,
    },
}

/// What is known besides the fabric.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// What a topology file says of it.
    pub expected: Option<&'a Expectations>,
    /// What its ports have counted.
    pub counts: Option<&'a CountsByPort>,
}

/// Why a point names no part of a fabric.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotFound {
    /// Nothing in the fabric matches.
    #[error("no {what} in the fabric")]
    Nothing {
        /// The point.
        what: String,
    },
    /// The point is about a topology file, and there is none.
    #[error("the point needs a topology file")]
    NoTopologyFile,
    /// The point is about counters of ports, and there are none.
    #[error("the point needs counters of ports")]
    NoCounters,
    /// The point is about memories of cables, and there are none.
    #[error(
        "the point needs memories of cables: `weft report` reads them, and a file of opareport -o snapshot has them"
    )]
    NoCables,
}

fn nothing<T>(what: String) -> Result<T, NotFound> {
    Err(NotFound::Nothing { what })
}

impl Point {
    /// Resolves the point in a fabric of which nothing else is known.
    ///
    /// # Errors
    /// [`NotFound`] if it matches nothing, or needs what is not known.
    pub fn select(&self, snapshot: &Snapshot) -> Result<Selection, NotFound> {
        self.select_with(snapshot, Known::default())
    }

    /// Resolves the point.
    ///
    /// # Errors
    /// [`NotFound`] if it matches nothing, or needs what is not known.
    pub fn select_with(
        &self,
        snapshot: &Snapshot,
        known: Known<'_>,
    ) -> Result<Selection, NotFound> {
        for need in self.needs() {
            match need {
                Need::TopologyFile if known.expected.is_none() => {
                    return Err(NotFound::NoTopologyFile);
                }
                Need::Counters if known.counts.is_none() => return Err(NotFound::NoCounters),
                Need::Cables if snapshot.lacking.cables => return Err(NotFound::NoCables),
                _ => {}
            }
        }
        match self {
            Self::Nodes(NodeMatch::System(guid)) => {
                let nodes = NodeMatch::System(*guid).select(snapshot, known)?;
                Ok(Selection::System { guid: *guid, nodes })
            }
            Self::Nodes(nodes) => Ok(Selection::Nodes(nodes.select(snapshot, known)?)),
            _ => Ok(Selection::Ports(self.ports(snapshot, known)?)),
        }
    }

    fn ports(&self, snapshot: &Snapshot, known: Known<'_>) -> Result<Vec<PortRef>, NotFound> {
        let topology = &snapshot.topology;
        let ports = match self {
            Self::Gid { prefix, guid } => ports_where(snapshot, |at| {
                let port = topology.port(at);
                port_guid(topology, at) == Some(*guid)
                    && port.is_some_and(|port| port.info.subnet_prefix == *prefix)
            }),
            Self::PortGuid(guid) => {
                ports_where(snapshot, |at| port_guid(topology, at) == Some(*guid))
            }
            Self::Lid(lid) => owner(snapshot, *lid).into_iter().collect(),
            Self::Sm => masters(snapshot),
            Self::Noted(note, pattern) => {
                let texts = known.expected.map(|expected| (expected, snapshot));
                ports_where(snapshot, |at| {
                    let text =
                        texts.and_then(|(expected, snapshot)| note.of(expected, snapshot, at));
                    text.is_some_and(|text| pattern.matches(&text))
                })
            }
            Self::Cable(cable) => ports_where(snapshot, |at| cable.covers(snapshot, at)),
            Self::Ports(match_) => ports_where(snapshot, |at| match_.covers(snapshot, known, at)),
            Self::NodePort(nodes, port) => {
                let nodes = nodes.select(snapshot, known)?.into_iter();
                let ports = nodes.map(|node| PortRef { node, port: *port });
                ports.filter(|at| topology.port(*at).is_some()).collect()
            }
            Self::Pairs(pairs) => ports_where(snapshot, |at| in_pairs(snapshot, at, pairs)),
            Self::Route(from, to) => {
                let [from, to] = [from, to].map(|end| end.select_with(snapshot, known));
                route::ports_between(snapshot, &from?, &to?)
            }
            Self::Nodes(_) => Vec::new(),
        };
        if ports.is_empty() {
            return nothing(format!("port that is {self}"));
        }
        Ok(ports)
    }
}

impl Note {
    /// What a topology file says of a port.
    fn of(self, expected: &Expectations, snapshot: &Snapshot, at: PortRef) -> Option<String> {
        let link = expected.link(at);
        match self {
            Self::CableLabel => link?.cable.label.clone(),
            Self::CableLength => link?.cable.length.clone(),
            Self::CableDetails => link?.cable.details.clone(),
            Self::LinkDetails => link?.details.clone(),
            Self::PortDetails => expected.end(at)?.details.clone(),
            Self::SmDetails => {
                let sm = snapshot.sms.iter().position(|sm| sm.port == at)?;
                let entry = expected.sm_entry(sm)?;
                expected.file.sms.get(entry)?.details.clone()
            }
        }
    }
}

/// Every port, switches' ports 0 included, that `covers` accepts, in order of node GUID and port.
fn ports_where(snapshot: &Snapshot, covers: impl Fn(PortRef) -> bool) -> Vec<PortRef> {
    let topology = &snapshot.topology;
    let all = by_guid(snapshot, topology.nodes().map(|(id, _)| id).collect());
    let ports = all.into_iter().flat_map(|node| {
        let ports = topology
            .node(node)
            .into_iter()
            .flat_map(|data| data.ports());
        ports.map(move |(port, _)| PortRef { node, port })
    });
    ports.filter(|at| covers(*at)).collect()
}

fn by_guid(snapshot: &Snapshot, mut nodes: Vec<NodeId>) -> Vec<NodeId> {
    nodes.sort_by_key(|id| snapshot.topology.node(*id).map(|node| node.guid()));
    nodes
}

/// The port that answers to a LID.
pub(crate) fn owner(snapshot: &Snapshot, lid: Lid) -> Option<PortRef> {
    let mut ends = snapshot.topology.end_ports();
    let found = ends.find(|(_, base, lmc)| {
        base.is_unicast() && (base.0..base.0.saturating_add(lmc.lids())).contains(&lid.0)
    });
    found.map(|(at, _, _)| at)
}

fn masters(snapshot: &Snapshot) -> Vec<PortRef> {
    let masters = snapshot.sms.iter().filter(|sm| sm.state == SmState::MASTER);
    let mut ports: Vec<PortRef> = masters.map(|sm| sm.port).collect();
    ports.sort();
    ports.dedup();
    ports
}

fn in_pairs(snapshot: &Snapshot, at: PortRef, pairs: &[(Glob, Glob)]) -> bool {
    let name = |at: PortRef| snapshot.topology.node(at.node).map(|node| node.name());
    let (Some(here), Some(there)) = (name(at), snapshot.topology.peer(at).and_then(name)) else {
        return false;
    };
    pairs.iter().any(|(a, b)| {
        a.matches(&here) && b.matches(&there) || b.matches(&here) && a.matches(&there)
    })
}

impl NodeMatch {
    fn select(&self, snapshot: &Snapshot, known: Known<'_>) -> Result<Vec<NodeId>, NotFound> {
        let topology = &snapshot.topology;
        let nodes: Vec<NodeId> = match self {
            Self::Lid(lid) => owner(snapshot, *lid)
                .map(|at| at.node)
                .into_iter()
                .collect(),
            Self::Guid(guid) => topology.find(*guid).into_iter().collect(),
            _ => {
                let nodes = topology.nodes().filter(|(id, node)| match self {
                    Self::System(guid) => node.info.system_image_guid == *guid,
                    Self::Name(name) => node.name() == *name,
                    Self::Pattern(pattern) => pattern.matches(&node.name()),
                    Self::Patterns(all) => all.iter().any(|one| one.matches(&node.name())),
                    Self::Type { switch } => node.is_switch() == *switch,
                    Self::Details(pattern) => {
                        let entry = known.expected.and_then(|expected| expected.node(*id));
                        let details = entry.and_then(|entry| entry.details.as_ref());
                        details.is_some_and(|details| pattern.matches(details))
                    }
                    Self::Lid(_) | Self::Guid(_) => false,
                });
                nodes.map(|(id, _)| id).collect()
            }
        };
        let nodes = match (self, nodes.is_empty()) {
            (Self::Name(name), true) => hfis_of(snapshot, name),
            _ => nodes,
        };
        if nodes.is_empty() {
            return nothing(match self {
                Self::Name(name) => format!("{self}{}", near(snapshot, name)),
                _ => self.to_string(),
            });
        }
        Ok(by_guid(snapshot, nodes))
    }
}

/// The HFIs of a host, which is called by what stands before the HFI in their names: `node1 hfi1_0`.
fn hfis_of(snapshot: &Snapshot, host: &str) -> Vec<NodeId> {
    let is_of = |name: &str| {
        name.split_once(' ')
            .is_some_and(|(first, rest)| first == host && rest.starts_with("hfi"))
    };
    let hfis = snapshot.topology.hfis();
    hfis.filter(|(_, node)| is_of(&node.name()))
        .map(|(id, _)| id)
        .collect()
}

/// Names that begin like a name that there is not, as a hint: at least half of it.
fn near(snapshot: &Snapshot, name: &str) -> String {
    let same = |other: &str| {
        name.chars()
            .zip(other.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let all = snapshot.topology.nodes().map(|(_, node)| node.name());
    let mut names: Vec<(usize, String)> = all.map(|other| (same(&other), other)).collect();
    names.retain(|(same, _)| *same > 1 && *same * 2 >= name.chars().count());
    names.sort_by(|a, b| {
        b.0.cmp(&a.0)
            .then_with(|| a.1.len().cmp(&b.1.len()))
            .then_with(|| a.1.cmp(&b.1))
    });
    let names: Vec<String> = names
        .into_iter()
        .take(NEAR)
        .map(|(_, other)| format!("'{other}'"))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" (there are {})", names.join(", ")),
    }
}

impl CableMatch {
    fn covers(&self, snapshot: &Snapshot, at: PortRef) -> bool {
        let Some(identity) = cable::identity(snapshot, at) else {
            return false;
        };
        match self {
            Self::Kind(kind) => identity.kind() == Some(*kind),
            Self::Length(pattern) => pattern.matches(identity.length().trim_end_matches('m')),
            Self::Text(field, pattern) => pattern.matches(&identity.text(*field)),
        }
    }
}

impl PortMatch {
    fn covers(&self, snapshot: &Snapshot, known: Known<'_>, at: PortRef) -> bool {
        let Some(port) = snapshot.topology.port(at) else {
            return false;
        };
        let info = &port.info;
        match self {
            Self::Rate { half_gigabits } => {
                at.port.0 != 0 && rate_half_gigabits(info) == Some(*half_gigabits)
            }
            Self::State(state) => state.covers(info.port_state),
            Self::PhysState(state) => info.phys_state == *state,
            Self::MtuCap(mtu) => at.port.0 != 0 && info.mtu_cap == *mtu,
            Self::Led(on) => info.led_enabled == *on,
            Self::LinkCrc { mode, negated } => {
                at.port.0 != 0 && (info.port_ltp_crc_mode_active == *mode) != *negated
            }
            Self::Quality(comparison, quality) => {
                let counts = known.counts.and_then(|counts| counts.get(&at));
                let known = counts.and_then(|counts| counts.quality);
                known.is_some_and(|known| comparison.holds(known, *quality))
            }
            Self::LinkDownReason(reason) => {
                let reasons = [info.link_down_reason.0, info.neighbor_link_down_reason.0];
                reasons
                    .iter()
                    .any(|here| reason.map_or(*here != 0, |it| *here == it))
            }
        }
    }
}

impl Comparison {
    fn holds(self, actual: u8, named: u8) -> bool {
        match self {
            Self::Equal => actual == named,
            Self::AtMost => actual <= named,
            Self::AtLeast => actual >= named,
        }
    }
}

impl StateMatch {
    fn covers(self, state: PortState) -> bool {
        match self {
            Self::Is(this) => state == this,
            Self::NotActive => state != PortState::ACTIVE,
            Self::InitArmed => state == PortState::INIT || state == PortState::ARMED,
        }
    }
}

impl Selection {
    /// Whether a node, or one of its ports, is selected.
    pub fn has_node(&self, node: NodeId) -> bool {
        match self {
            Self::Ports(ports) => ports.iter().any(|at| at.node == node),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes.contains(&node),
        }
    }

    /// Whether a port, or its whole node, is selected.
    pub fn has_port(&self, at: PortRef) -> bool {
        match self {
            Self::Ports(ports) => ports.contains(&at),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes.contains(&at.node),
        }
    }

    /// The selected ports; of selected nodes, those that have LIDs.
    pub fn end_ports(&self, snapshot: &Snapshot) -> Vec<PortRef> {
        match self {
            Self::Ports(ports) => ports.clone(),
            Self::Nodes(nodes) | Self::System { nodes, .. } => nodes
                .iter()
                .filter_map(|id| Some((*id, snapshot.topology.node(*id)?)))
                .flat_map(|(node, data)| {
                    data.end_ports()
                        .map(move |(port, _)| PortRef { node, port })
                })
                .collect(),
        }
    }
}
