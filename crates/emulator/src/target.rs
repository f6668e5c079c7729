//! Nodes and ports of a running fabric by what people call them: `edge1`, `core*`, `0x0011750102000001`; with a port
//! `edge1:3`, `core*:*`; or a share of the links between switches, `5%`.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::{Guid, Node, NodeId, PortNum, PortRef, Topology};
use weft_report::Glob;

/// Most nodes or ports that a name stands for.
pub const PLACES_MAX: usize = 10_000;
/// Names that an error suggests.
const NEAR: usize = 5;

/// A question which nodes or ports a text names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The text.
    pub text: String,
    /// Ports are asked for, else nodes.
    pub ports: bool,
    /// Chooses the links of a share.
    pub seed: u64,
}

/// A node, or a port with the other end of its cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// NodeGUID.
    pub guid: u64,
    /// Name of the node.
    pub name: String,
    /// The port, where one is asked for.
    pub port: Option<u8>,
    /// Name and port at the other end of its cable.
    pub far: Option<(String, u8)>,
}

/// What a text names nothing by.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    /// No node has the name.
    #[error(
        "no node is called '{name}' in the emulated fabric{}",
        suggestion(near)
    )]
    NoNode {
        /// The name.
        name: String,
        /// Names that resemble it.
        near: Vec<String>,
    },
    /// A node without a port, or the port is no number.
    #[error("'{0}' names no port, allowed: NODE:PORT, NODE:*, or a share of the links such as 5%")]
    NoPort(String),
    /// No node of the name has the port.
    #[error("there is no cable at port {port} of '{name}'")]
    NoCable {
        /// The name.
        name: String,
        /// The port.
        port: String,
    },
    /// A share that is none.
    #[error("'{0}' is no share of the links, allowed: over 0 to 100 %")]
    Share(String),
    /// No links between switches.
    #[error("the emulated fabric has no links between switches")]
    NoLinks,
    /// Too many.
    #[error("'{text}' names {count} places, allowed: {PLACES_MAX}")]
    TooMany {
        /// The text.
        text: String,
        /// What it names.
        count: usize,
    },
}

/// What is said of names that resemble an unknown one.
pub(crate) fn suggestion(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; there are {}", near.join(", ")),
    }
}

impl Target {
    /// The nodes or ports in order of discovery.
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn places(&self, topology: &Topology) -> Result<Vec<Place>, TargetError> {
        let places = match (self.ports, self.text.strip_suffix('%')) {
            (true, Some(share)) => self.share(topology, share)?,
            (true, None) => ports(topology, &self.text)?,
            (false, _) => {
                let nodes = nodes(topology, &self.text)?.into_iter();
                nodes.map(|node| place(topology, node, None)).collect()
            }
        };
        match places.len() {
            count if count > PLACES_MAX => Err(TargetError::TooMany {
                text: self.text.clone(),
                count,
            }),
            _ => Ok(places),
        }
    }

    /// A share of the links between switches, at least one.
    fn share(&self, topology: &Topology, share: &str) -> Result<Vec<Place>, TargetError> {
        let share = share.trim().parse::<f64>().ok();
        let share = share.filter(|share| *share > 0.0 && *share <= 100.0);
        let share = share.ok_or_else(|| TargetError::Share(self.text.clone()))?;
        let is_switch = |at: PortRef| topology.switch_index(at.node).is_some();
        let links = topology
            .links()
            .filter(|(a, b)| is_switch(*a) && is_switch(*b));
        let mut links: Vec<PortRef> = links.map(|(a, _)| a).collect();
        let count = (links.len() as f64 * share / 100.0).round().max(1.0) as usize;
        if links.is_empty() {
            return Err(TargetError::NoLinks);
        }
        links.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed));
        links.truncate(count);
        links.sort_unstable();
        let places = links.into_iter();
        Ok(places
            .map(|at| place(topology, at.node, Some(at.port)))
            .collect())
    }
}

fn place(topology: &Topology, node: NodeId, port: Option<PortNum>) -> Place {
    let name = |node| topology.node(node).map_or_else(String::new, Node::name);
    let far = port.and_then(|port| topology.peer(PortRef { node, port }));
    Place {
        guid: topology.node(node).map_or(0, |node| node.guid().0),
        name: name(node),
        port: port.map(|port| port.0),
        far: far.map(|far| (name(far.node), far.port.0)),
    }
}

fn ports(topology: &Topology, text: &str) -> Result<Vec<Place>, TargetError> {
    // Names may hold colons; the last one is before the port.
    let (name, wanted) = text
        .rsplit_once(':')
        .ok_or_else(|| TargetError::NoPort(text.to_owned()))?;
    let number = wanted.parse::<u8>().ok();
    if number.is_none() && wanted != "*" {
        return Err(TargetError::NoPort(text.to_owned()));
    }
    let mut places = Vec::new();
    for id in nodes(topology, name)? {
        let data = topology.node(id).into_iter();
        let ports = data.flat_map(Node::external_ports);
        let ports = ports.filter(|(port, data)| match number {
            Some(number) => port.0 == number,
            None => data.peer.is_some(),
        });
        places.extend(ports.map(|(port, _)| place(topology, id, Some(port))));
    }
    match places.is_empty() {
        true => Err(TargetError::NoCable {
            name: name.to_owned(),
            port: wanted.to_owned(),
        }),
        false => Ok(places),
    }
}

fn nodes(topology: &Topology, text: &str) -> Result<Vec<NodeId>, TargetError> {
    let digits = text.strip_prefix("0x");
    if let Some(guid) = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        let found = topology.find(Guid(guid));
        return found.map(|id| vec![id]).ok_or_else(|| TargetError::NoNode {
            name: text.to_owned(),
            near: Vec::new(),
        });
    }
    let named = |covers: &dyn Fn(&str) -> bool| -> Vec<NodeId> {
        let nodes = topology.nodes().filter(|(_, node)| covers(&node.name()));
        nodes.map(|(id, _)| id).collect()
    };
    let exact = named(&|name| name == text);
    if !exact.is_empty() {
        return Ok(exact);
    }
    let glob = Glob::new(text);
    // A host is called without its HFI as well.
    let found = named(&|name| {
        glob.matches(name)
            || name
                .split_once(' ')
                .is_some_and(|(host, _)| glob.matches(host))
    });
    match found.is_empty() {
        true => Err(TargetError::NoNode {
            name: text.to_owned(),
            near: near(topology, text, |_| true),
        }),
        false => Ok(found),
    }
}

/// Names of such nodes that begin as the text does, or differ in few characters.
pub(crate) fn near(
    topology: &Topology,
    text: &str,
    is_wanted: impl Fn(&Node) -> bool,
) -> Vec<String> {
    let text = text.to_lowercase();
    let mut names: Vec<(usize, String)> = Vec::new();
    for (_, node) in topology.nodes().filter(|(_, node)| is_wanted(node)) {
        let name = node.name();
        let short = name.split(' ').next().unwrap_or(&name).to_lowercase();
        let same = short
            .chars()
            .zip(text.chars())
            .take_while(|(a, b)| a == b)
            .count();
        if same >= 2 {
            names.push((
                short.len().abs_diff(text.len()) + text.len().saturating_sub(same),
                name,
            ));
        }
    }
    names.sort();
    names.into_iter().take(NEAR).map(|(_, name)| name).collect()
}
