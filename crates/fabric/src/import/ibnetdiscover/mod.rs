//! Converts InfiniBand fabrics listed by `ibnetdiscover` to Omni-Path fabrics of the same shape.
//!
//! * A switch keeps its GUID, its name, its number of ports and its system image GUID.
//! * A channel adapter becomes an HFI with one port. One with several cables becomes as many
//!   HFIs, since each HFI of a host is a separate node in Omni-Path: the first keeps the GUID,
//!   and each is named `<name> port<n>` after its port there. A GUID that is invalid for an HFI (bits 30
//!   and 31 are the port's there; the upper half must not be zero) is replaced by a generated one.
//! * The aggregation nodes inside InfiniBand switches and routers are not hosts: they are dropped
//!   with their cables.
//! * A link keeps its number of lanes, at most four; a lane of any InfiniBand
//!   generation becomes one of 25 Gb/s.
//! * A port keeps a unicast LID that no other has; 65535, which ibnetdiscover prints for a port
//!   without one, means none. Everything else is as freshly powered on.
//!
//! A cable listed by only one end is accepted; a listed adapter without a description (as in a dump
//! of switches alone) is made from its name in that list.
//!
//! A switch has all its ports, with or without cables. Of all ports together, nine in ten plus 20,000
//! may be without one.

mod fabric;
mod line;

use std::collections::BTreeMap;

use self::fabric::Fabric;
use self::line::{Kind, Line, NodeLine, PortLine, parse};
use super::ImportError;
use super::budget::{Budget, switch_ports_max};
use crate::topology::Topology;

/// Identifies the name of an aggregation node.
const AGGREGATION: &[u8] = b"Aggregation Node";

/// Reads a dump.
///
/// # Errors
/// [`ImportError`] with the first line that is malformed, contradicts another, or names
/// a missing node, or that exceeds [`HOSTS_MAX`](crate::generate::HOSTS_MAX) or
/// [`SWITCHES_MAX`](crate::generate::SWITCHES_MAX), or has far more ports than cables.
pub fn import_ibnetdiscover(text: &str) -> Result<Topology, ImportError> {
    let mut dump = Dump::default();
    for (text, line) in text.lines().zip(1..) {
        dump.line(line, text)?;
    }
    dump.check_ports()?;
    dump.add_undescribed()?;
    let cables = dump.cables()?;
    Fabric::build(&dump, &cables)
}

/// A described node.
#[derive(Debug)]
struct Described {
    kind: Kind,
    guid: u64,
    system: u64,
    ports: u8,
    name: Vec<u8>,
    lid: (u32, u8),
    line: u64,
}

impl Described {
    fn is_left_out(&self) -> bool {
        is_left_out(self.kind, &self.name)
    }
}

fn is_left_out(kind: Kind, name: &[u8]) -> bool {
    let aggregates = || {
        name.windows(AGGREGATION.len())
            .any(|window| window == AGGREGATION)
    };
    kind == Kind::Router || kind == Kind::Host && aggregates()
}

/// One end of a cable as a line of the node there lists it.
#[derive(Debug)]
struct Listed {
    peer: (u64, u8),
    peer_kind: Kind,
    peer_name: Vec<u8>,
    own_lid: (u32, u8),
    lanes: u32,
    line: u64,
}

#[derive(Debug)]
struct Cable {
    ends: [(u64, u8); 2],
    lanes: u32,
    line: u64,
}

#[derive(Debug, Default)]
struct Dump {
    nodes: Vec<Described>,
    by_guid: BTreeMap<u64, usize>,
    listed: BTreeMap<(u64, u8), Listed>,
    system: Option<u64>,
    budget: Budget,
}

impl Dump {
    fn line(&mut self, line: u64, text: &str) -> Result<(), ImportError> {
        match parse(line, text)? {
            Line::Blank => Ok(()),
            Line::System(guid) => {
                self.system = Some(guid);
                Ok(())
            }
            Line::Node(node) => self.node(line, &node),
            Line::Port(port) => self.port(line, &port),
        }
    }

    fn node(&mut self, line: u64, node: &NodeLine<'_>) -> Result<(), ImportError> {
        let system = self.system.take().unwrap_or(node.guid);
        let lid = node.comment.own_lid(node.kind);
        self.describe(Described {
            kind: node.kind,
            guid: node.guid,
            system,
            ports: node.ports,
            name: node.comment.name(),
            lid: if node.kind == Kind::Switch {
                lid
            } else {
                (0, 0)
            },
            line,
        })
    }

    fn describe(&mut self, node: Described) -> Result<(), ImportError> {
        let line = node.line;
        if let Some(&earlier) = self.by_guid.get(&node.guid) {
            let at = self.nodes.get(earlier).map_or(0, |node| node.line);
            let what = format!(
                "node {:#018x} is described again, first in line {at}",
                node.guid
            );
            return Err(ImportError::new(line, what, "once"));
        }
        if node.guid == 0 {
            return Err(ImportError::new(line, "a GUID is 0", "any other"));
        }
        match node.kind {
            Kind::Switch => self.budget.switch(line, node.ports)?,
            _ => self.budget.host(line)?,
        }
        self.by_guid.insert(node.guid, self.nodes.len());
        self.nodes.push(node);
        Ok(())
    }

    fn port(&mut self, line: u64, port: &PortLine<'_>) -> Result<(), ImportError> {
        let Some(node) = self.nodes.last() else {
            let allowed = "a Switch, Ca or Rt line before";
            return Err(ImportError::new(line, "a port of no node", allowed));
        };
        if port.port > node.ports {
            let what = format!("port {} of a node with {}", port.port, node.ports);
            return Err(ImportError::new(line, what, format!("1 to {}", node.ports)));
        }
        let listed = Listed {
            peer: (port.peer_guid, port.peer_port),
            peer_kind: port.peer_kind,
            peer_name: port.comment.name(),
            own_lid: if node.kind == Kind::Host {
                port.comment.own_lid(Kind::Host)
            } else {
                (0, 0)
            },
            lanes: port.comment.lanes(),
            line,
        };
        match self.listed.insert((node.guid, port.port), listed) {
            None => Ok(()),
            Some(first) => {
                let what = format!(
                    "port {} is listed again, first in line {}",
                    port.port, first.line
                );
                Err(ImportError::new(line, what, "once"))
            }
        }
    }

    /// Refuses a short text that declares many ports.
    fn check_ports(&self) -> Result<(), ImportError> {
        let most = switch_ports_max(self.listed.len());
        let mut ports = 0;
        for node in self.nodes.iter().filter(|node| node.kind == Kind::Switch) {
            ports += u64::from(node.ports);
            if ports > most {
                let allowed = format!("up to {most} ports of switches with so few cables");
                return Err(ImportError::new(node.line, "too many ports", allowed));
            }
        }
        Ok(())
    }

    /// Adapters that are listed at a switch's port and described nowhere.
    fn add_undescribed(&mut self) -> Result<(), ImportError> {
        let mut missing: BTreeMap<u64, Described> = BTreeMap::new();
        for listed in self.listed.values() {
            let (guid, port) = listed.peer;
            if self.by_guid.contains_key(&guid) {
                continue;
            }
            if listed.peer_kind == Kind::Switch {
                let what = format!("a cable to switch {guid:#018x}, which is not described");
                return Err(ImportError::new(listed.line, what, "described switches"));
            }
            let node = missing.entry(guid).or_insert_with(|| Described {
                kind: listed.peer_kind,
                guid,
                system: guid,
                ports: port,
                name: listed.peer_name.clone(),
                lid: (0, 0),
                line: listed.line,
            });
            node.ports = node.ports.max(port);
        }
        let mut missing: Vec<Described> = missing.into_values().collect();
        missing.sort_by_key(|node| node.line);
        missing.into_iter().try_for_each(|node| self.describe(node))
    }

    fn find(&self, guid: u64) -> Option<&Described> {
        self.nodes.get(*self.by_guid.get(&guid)?)
    }

    /// Every cable once, in the order of the lines that list it first.
    fn cables(&self) -> Result<Vec<Cable>, ImportError> {
        let mut cables = Vec::with_capacity(self.listed.len() / 2);
        let mut taken: BTreeMap<(u64, u8), Taken> = BTreeMap::new();
        let mut listed: Vec<_> = self.listed.iter().collect();
        listed.sort_by_key(|(_, listed)| listed.line);
        for (&end, listed) in listed {
            self.check_peer(end, listed)?;
            match [end, listed.peer].map(|end| taken.get(&end)) {
                [None, None] => {}
                [Some(one), Some(_)] if one.peer == listed.peer => continue,
                [one, other] => return Err(contradiction(listed, one.or(other))),
            }
            let line = listed.line;
            taken.insert(
                end,
                Taken {
                    peer: listed.peer,
                    line,
                },
            );
            taken.insert(listed.peer, Taken { peer: end, line });
            if !self.leaves_out(end.0) && !self.leaves_out(listed.peer.0) {
                cables.push(Cable {
                    ends: [end, listed.peer],
                    lanes: listed.lanes,
                    line: listed.line,
                });
            }
        }
        Ok(cables)
    }

    fn leaves_out(&self, guid: u64) -> bool {
        self.find(guid).is_some_and(Described::is_left_out)
    }

    fn check_peer(&self, end: (u64, u8), listed: &Listed) -> Result<(), ImportError> {
        let line = listed.line;
        if end == listed.peer {
            return Err(ImportError::new(
                line,
                "a cable from a port to itself",
                "two ports",
            ));
        }
        match self.find(listed.peer.0) {
            Some(peer) if listed.peer.1 <= peer.ports && listed.peer_kind == peer.kind => Ok(()),
            Some(peer) => {
                let what = format!("a cable to port {} of {:#018x}", listed.peer.1, peer.guid);
                let allowed = format!(
                    "ports 1 to {} and kind {:?}, see line {}",
                    peer.ports, peer.kind, peer.line
                );
                Err(ImportError::new(line, what, allowed))
            }
            None => Ok(()),
        }
    }
}

/// A port with a cable.
struct Taken {
    peer: (u64, u8),
    line: u64,
}

fn contradiction(listed: &Listed, earlier: Option<&Taken>) -> ImportError {
    let line = earlier.map_or(0, |taken| taken.line);
    let what = format!("a second cable on a port, the first is in line {line}");
    ImportError::new(listed.line, what, "two ends that name each other")
}
