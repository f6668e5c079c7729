//! HyperX of Ahn and others ("HyperX: topology, routing, and packaging of efficient large-scale networks", 2009): switches
//! in a grid, each cabled to all others of its row in each dimension. One dimension is a full mesh; two of the same size
//! are a flattened butterfly.

use std::fmt;

use super::super::spec::join;
use super::{Described, Family, GenerateError, SWITCHES_MAX, Size, Studied, Wiring, in_range};
use crate::constants::SWITCH_PORTS;

pub(super) const FAMILY: Family = Family {
    name: "hyperx",
    form: "hyperx:AxB…",
    options: (&["dimensions", "hosts", "links", "radix"], 1),
    read: |arguments| {
        Ok(Described::new(HyperX {
            dimensions: arguments.list("dimensions", 'x')?,
            hosts: arguments.number("hosts")?.unwrap_or(1),
            links: arguments.number("links")?.unwrap_or(1),
            radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        }))
    },
};

/// A HyperX.
#[derive(Debug)]
struct HyperX {
    /// S: switches along each dimension, the fastest first.
    dimensions: Vec<u32>,
    /// T: hosts on each switch.
    hosts: u32,
    /// K: cables between each two switches of a row.
    links: u32,
    radix: u8,
}

impl HyperX {
    fn switches(&self) -> u64 {
        let sizes = self.dimensions.iter().map(|size| u64::from(*size));
        sizes.fold(1, u64::saturating_mul)
    }

    fn name(&self, mut index: u32) -> String {
        let coordinates = self.dimensions.iter().map(|size| {
            let coordinate = index % size;
            index /= size;
            coordinate
        });
        format!("switch-{}", join(&coordinates.collect::<Vec<_>>(), "-"))
    }
}

impl Studied for HyperX {
    fn wiring(&self) -> Result<Wiring, GenerateError> {
        in_range("number of dimensions", self.dimensions.len() as u64, 1, 16)?;
        for size in &self.dimensions {
            in_range("size of a dimension", (*size).into(), 1, SWITCHES_MAX)?;
        }
        in_range("links", self.links.into(), 1, self.radix.into())?;
        let switches = self.switches();
        let others = self.dimensions.iter().map(|size| u64::from(*size) - 1);
        let cables = others.sum::<u64>() * u64::from(self.links);
        let mut wiring = Wiring::new(
            self.radix,
            &Size {
                switches,
                hosts: self.most_hosts(),
                cables: switches.saturating_mul(cables) / 2,
                ports: cables + u64::from(self.hosts),
            },
        )?;
        let switches = switches as u32;
        (0..switches).for_each(|index| wiring.add(self.name(index), self.hosts));
        let mut stride = 1;
        for size in &self.dimensions {
            for index in 0..switches {
                for later in 1..size - index / stride % size {
                    for _ in 0..self.links {
                        wiring.connect(index, index + later * stride);
                    }
                }
            }
            stride *= size;
        }
        Ok(wiring)
    }

    fn most_hosts(&self) -> u64 {
        self.switches().saturating_mul(self.hosts.into())
    }
}

impl fmt::Display for HyperX {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dimensions = join(&self.dimensions, "x");
        let Self {
            hosts,
            links,
            radix,
            ..
        } = self;
        write!(
            f,
            "hyperx:{dimensions},hosts={hosts},links={links},radix={radix}"
        )
    }
}
