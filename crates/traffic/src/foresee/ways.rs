//! The links of each pair of hosts by the tables of a fabric.

use weft_fabric::{Lid, LinearTables, PortRef, Topology};

use super::{NoForecast, Pair, Stop};
use crate::link::capacity;

/// Most pairs of hosts: 1,448 hosts that all send to all.
pub const PAIRS_MAX: usize = 1 << 21;
/// Most links of all their routes together: eight for each pair.
pub const LINKS_MAX: usize = 1 << 24;
/// Pairs after which it is looked whether anybody still waits.
const LOOK: usize = 4_096;

/// Nodes, links and linear tables.
#[derive(Debug, Clone, Copy)]
pub struct Fabric<'a> {
    /// Nodes and links that carry data.
    pub topology: &'a Topology,
    /// The tables of its switches.
    pub linear: &'a LinearTables,
}

/// Numbers of sending ports: a direction of a link is the port that sends. Nodes of all fabrics that are compared have
/// the same numbers.
#[derive(Debug, Clone, Default)]
pub struct Ports {
    /// Number of port 0 of each node.
    first: Vec<u32>,
    at: Vec<PortRef>,
}

impl Ports {
    /// All ports of a fabric.
    pub fn new(topology: &Topology) -> Self {
        let mut ports = Self::default();
        for (node, device) in topology.nodes() {
            ports.first.push(ports.at.len() as u32);
            let most = device.ports().map(|(port, _)| port.0).max().unwrap_or(0);
            let all = (0..=most).map(|port| PortRef {
                node,
                port: weft_wire::id::PortNum(port),
            });
            ports.at.extend(all);
        }
        ports
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The number of a port.
    pub fn number(&self, at: PortRef) -> Option<usize> {
        let first = *self.first.get(at.node.0 as usize)? as usize;
        let number = first + usize::from(at.port.0);
        (self.at.get(number) == Some(&at)).then_some(number)
    }

    /// The port with a number.
    pub fn at(&self, number: usize) -> PortRef {
        self.at[number]
    }

    /// Bytes a second that each port can send, 0 where it has no link.
    pub fn capacities(&self, topology: &Topology) -> Vec<f64> {
        let all = self.at.iter();
        all.map(|at| capacity(topology, *at).unwrap_or(0.0))
            .collect()
    }
}

/// The links of pairs, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Ways {
    links: Vec<u32>,
    ends: Vec<usize>,
    /// The part of each pair's traffic that each of its links carries: the same for all, by the number of LIDs.
    parts: Vec<f32>,
    /// The part of each pair's traffic that goes to LIDs with a route.
    arriving: Vec<f32>,
}

impl Ways {
    /// Of these pairs. Packets go to all LIDs of a port alike; those to LIDs without a route are lost.
    ///
    /// # Errors
    /// [`NoForecast::Pairs`], [`NoForecast::Links`], [`NoForecast::Stopped`].
    pub(super) fn of(
        fabric: Fabric<'_>,
        ports: &Ports,
        pairs: &[Pair],
        stop: Stop<'_>,
    ) -> Result<Self, NoForecast> {
        if pairs.len() > PAIRS_MAX {
            return Err(NoForecast::Pairs(pairs.len()));
        }
        let mut ways = Self::default();
        for (number, pair) in pairs.iter().enumerate() {
            if number % LOOK == 0 && stop() {
                return Err(NoForecast::Stopped);
            }
            ways.push(fabric, ports, pair);
            if ways.links.len() > LINKS_MAX {
                return Err(NoForecast::Links);
            }
        }
        Ok(ways)
    }

    fn push(&mut self, fabric: Fabric<'_>, ports: &Ports, pair: &Pair) {
        let port = fabric.topology.port(pair.to);
        let (lid, count) = port.map_or((Lid(0), 0), |port| (port.info.lid, port.info.lmc.lids()));
        let mut arriving = 0;
        for offset in 0..count {
            let begin = self.links.len();
            let lid = Lid(lid.0.saturating_add(offset));
            match self.walk(fabric, ports, pair, lid) {
                true => arriving += 1,
                false => self.links.truncate(begin),
            }
        }
        let part = 1.0 / count.max(1) as f32;
        self.ends.push(self.links.len());
        self.parts.push(part);
        self.arriving.push(arriving as f32 * part);
    }

    /// Adds the links to one LID; whether packets arrive.
    fn walk(&mut self, fabric: Fabric<'_>, ports: &Ports, pair: &Pair, lid: Lid) -> bool {
        let topology = fabric.topology;
        let mut at = pair.from;
        for _ in 0..topology.switches().len() + 2 {
            let (Some(number), Some(next)) = (ports.number(at), topology.peer(at)) else {
                return false;
            };
            self.links.push(number as u32);
            if next == pair.to {
                return true;
            }
            let switch = topology.switch_index(next.node);
            let out = switch.and_then(|switch| fabric.linear.egress(switch, lid));
            let Some(port) = out.filter(|port| port.0 != 0) else {
                return false;
            };
            at = PortRef {
                node: next.node,
                port,
            };
        }
        false
    }

    /// Number of pairs.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The links of a pair, each as often as its LIDs cross it, and the part of its traffic that each mention carries.
    pub(super) fn links(&self, pair: usize) -> (&[u32], f64) {
        let begin = pair.checked_sub(1).map_or(0, |before| self.ends[before]);
        (
            &self.links[begin..self.ends[pair]],
            f64::from(self.parts[pair]),
        )
    }

    /// The part of a pair's traffic that arrives where no link limits it.
    pub(super) fn arriving(&self, pair: usize) -> f64 {
        f64::from(self.arriving[pair])
    }

    /// What each port sends where pairs have these rates.
    pub(super) fn loads(&self, rates: &[f64], ports: usize) -> Vec<f64> {
        let mut loads = vec![0.0; ports];
        for (pair, rate) in rates.iter().enumerate() {
            let (links, part) = self.links(pair);
            for link in links {
                loads[*link as usize] += rate * part;
            }
        }
        loads
    }
}
