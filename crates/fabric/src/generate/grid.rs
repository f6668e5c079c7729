//! Meshes, tori and hypercubes: switches in a grid, each with its hosts.

use weft_wire::enums::LinkWidth;

use super::{GenerateError, HOSTS_MAX, LINKS_MAX, SWITCHES_MAX, in_range};
use crate::cabling::Cabling;
use crate::constants::SWITCH_PORTS;
use crate::topology::{NodeId, Topology};

/// Switches at the points of a grid, with cables between neighbours.
///
/// Ports of a switch: its hosts from 1, then, dimension by dimension, those to the next switch and
/// those to the one before. In a dimension of two, the one before is the next: one set of ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    /// Switches in each dimension, the fastest first.
    pub dimensions: Vec<u32>,
    /// Whether the last switch of a dimension of three or more is cabled to the first.
    pub wraps: bool,
    /// Hosts on each switch.
    pub hosts: u32,
    /// Cables between neighbours.
    pub links: u32,
}

impl Grid {
    /// A hypercube: 2^n switches, a cable for each bit in which their numbers differ.
    pub fn hypercube(dimensions: usize, hosts: u32) -> Self {
        Self {
            dimensions: vec![2; dimensions],
            wraps: false,
            hosts,
            links: 1,
        }
    }

    /// The fabric.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when it is too large or a switch has too few ports.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let switches = self.check()?;
        let mut cabling = Cabling::new();
        for _ in 0..switches * u64::from(self.hosts) {
            cabling.add_hfi()?;
        }
        let first = cabling.len() as u32;
        for index in 0..switches {
            let name = self.name(index);
            cabling.add_switch(&name, SWITCH_PORTS, None)?;
        }
        for index in 0..switches as u32 {
            self.connect_hosts(&mut cabling, first, index)?;
            self.connect_next(&mut cabling, first, index)?;
        }
        Ok(cabling.build()?)
    }

    fn check(&self) -> Result<u64, GenerateError> {
        in_range("number of dimensions", self.dimensions.len() as u64, 1, 16)?;
        for &size in &self.dimensions {
            in_range("size of a dimension", size.into(), 1, SWITCHES_MAX)?;
        }
        in_range(
            "links between neighbours",
            self.links.into(),
            1,
            SWITCH_PORTS.into(),
        )?;
        let sizes = self.dimensions.iter().map(|&size| u64::from(size));
        let switches = sizes.fold(1, u64::saturating_mul);
        in_range("number of switches", switches, 1, SWITCHES_MAX)?;
        let hosts = switches.saturating_mul(self.hosts.into());
        in_range("number of hosts", hosts, 0, HOSTS_MAX)?;
        let ports = u64::from(self.first_port(self.dimensions.len())) - 1;
        in_range("ports that a switch needs", ports, 0, SWITCH_PORTS.into())?;
        // A link has two ends on switches, or one; where nothing wraps, some ports stay free.
        let ends = ports
            .saturating_sub(self.hosts.into())
            .saturating_mul(switches);
        in_range(
            "number of links",
            hosts.saturating_add(ends / 2),
            0,
            LINKS_MAX,
        )?;
        Ok(switches)
    }

    /// First port of a dimension.
    fn first_port(&self, dimension: usize) -> u32 {
        let sets: u32 = self
            .dimensions
            .iter()
            .take(dimension)
            .map(|&size| sets(size))
            .sum();
        1 + self.hosts + sets * self.links
    }

    /// The ports of each cable between neighbours along a dimension: that to the next switch, and the one at
    /// the next switch. Both are the same port in a dimension of two.
    pub fn port_pairs(&self, dimension: usize) -> Vec<(u8, u8)> {
        let size = self.dimensions.get(dimension).copied().unwrap_or(1);
        let from = self.first_port(dimension);
        let to = from + if sets(size) == 2 { self.links } else { 0 };
        let links = 0..if sets(size) == 0 { 0 } else { self.links };
        links
            .map(|link| ((from + link) as u8, (to + link) as u8))
            .collect()
    }

    fn name(&self, index: u64) -> String {
        let mut rest = index;
        let coordinates = self.dimensions.iter().map(|&size| {
            let coordinate = rest % u64::from(size);
            rest /= u64::from(size);
            coordinate.to_string()
        });
        format!("switch-{}", coordinates.collect::<Vec<_>>().join("-"))
    }

    fn connect_hosts(
        &self,
        cabling: &mut Cabling,
        first: u32,
        index: u32,
    ) -> Result<(), GenerateError> {
        for host in 0..self.hosts {
            let hfi = NodeId(index * self.hosts + host);
            // `check` holds the ports below 49.
            let port = (1 + host) as u8;
            cabling.connect((hfi, 1), (NodeId(first + index), port), LinkWidth::X4)?;
        }
        Ok(())
    }

    fn connect_next(
        &self,
        cabling: &mut Cabling,
        first: u32,
        index: u32,
    ) -> Result<(), GenerateError> {
        let mut stride = 1;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            let coordinate = index / stride % size;
            let last = coordinate + 1 == size;
            let next = if last {
                index - coordinate * stride
            } else {
                index + stride
            };
            let wraps = self.wraps && size > 2;
            if !last || wraps {
                for (from, to) in self.port_pairs(dimension) {
                    let (here, there) = (NodeId(first + index), NodeId(first + next));
                    cabling.connect((here, from), (there, to), LinkWidth::X4)?;
                }
            }
            stride *= size;
        }
        Ok(())
    }
}

/// Sets of ports that a dimension of this size needs.
fn sets(size: u32) -> u32 {
    match size {
        1 => 0,
        2 => 1,
        _ => 2,
    }
}
