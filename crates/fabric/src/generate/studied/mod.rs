//! Fabrics that people study, each in a file of its own, and the list of them.
//!
//! A family is a type with [`Studied`], which says how its switches are cabled, and a [`Family`] in [`FAMILIES`], which
//! says how it is described. All have the same hosts on each switch that has any: on ports from 1, cables between
//! switches behind them in the order in which a family tells them.

mod dragonfly;
mod dragonfly_plus;
mod galois;
mod hyperx;
mod jellyfish;
mod slim_fly;

use std::fmt;
use std::sync::Arc;

use weft_wire::enums::LinkWidth;

use super::spec::{Arguments, Fault};
use super::{GenerateError, HOSTS_MAX, LINKS_MAX, RADIX_MAX, SWITCHES_MAX, in_range};
use crate::cabling::Cabling;
use crate::topology::{NodeId, Topology};

/// A family of fabrics.
pub(super) struct Family {
    /// Its name.
    pub(super) name: &'static str,
    /// How it is described, for help and messages.
    pub(super) form: &'static str,
    /// Names of its options; the first ones need no name.
    options: (&'static [&'static str], usize),
    /// Makes one of its options.
    read: fn(&Arguments<'_>) -> Result<Described, Fault>,
}

/// All families.
pub(super) const FAMILIES: [Family; 5] = [
    dragonfly::FAMILY,
    dragonfly_plus::FAMILY,
    hyperx::FAMILY,
    slim_fly::FAMILY,
    jellyfish::FAMILY,
];

impl Family {
    /// One of this family from the text behind its name.
    pub(super) fn parse(&self, text: &str) -> Result<Described, Fault> {
        let (names, positional) = self.options;
        (self.read)(&Arguments::parse(text, ',', positional, names)?)
    }
}

/// A fabric of a family: [`fmt::Display`] is the text that describes it, all options spelt out.
pub(super) trait Studied: fmt::Debug + fmt::Display + Send + Sync {
    /// Switches and cables between them.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when there is no such fabric.
    fn wiring(&self) -> Result<Wiring, GenerateError>;

    /// At least as many hosts as it has, without making it.
    fn most_hosts(&self) -> u64;
}

/// A fabric of any family.
#[derive(Debug, Clone)]
pub struct Described(Arc<dyn Studied>);

impl Described {
    fn new(studied: impl Studied + 'static) -> Self {
        Self(Arc::new(studied))
    }

    /// At least as many hosts as it has, without making it.
    pub fn most_hosts(&self) -> u64 {
        self.0.most_hosts()
    }

    /// The fabric.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when there is no such fabric, or it is too large.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        self.0.wiring()?.generate()
    }
}

/// The same description is the same fabric.
impl PartialEq for Described {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Described {}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Switches, hosts and cables.
#[derive(Debug, Clone)]
pub(super) struct Wiring {
    /// Ports of a switch.
    radix: u8,
    switches: Vec<Switch>,
    /// Pairs of switches by number.
    cables: Vec<(u32, u32)>,
}

#[derive(Debug, Clone)]
struct Switch {
    name: String,
    hosts: u32,
}

/// What a fabric is going to have.
struct Size {
    switches: u64,
    hosts: u64,
    /// Between switches.
    cables: u64,
    /// That a switch needs.
    ports: u64,
}

impl Wiring {
    /// Room for a fabric of that size, if it is allowed.
    fn new(radix: u8, size: &Size) -> Result<Self, GenerateError> {
        in_range("radix", radix.into(), 1, RADIX_MAX.into())?;
        in_range("number of switches", size.switches, 1, SWITCHES_MAX)?;
        in_range("number of hosts", size.hosts, 0, HOSTS_MAX)?;
        let links = size.cables.saturating_add(size.hosts);
        in_range("number of links", links, 0, LINKS_MAX)?;
        in_range("ports that a switch needs", size.ports, 0, radix.into())?;
        Ok(Self {
            radix,
            switches: Vec::with_capacity(size.switches as usize),
            cables: Vec::with_capacity(size.cables as usize),
        })
    }

    fn add(&mut self, name: String, hosts: u32) {
        self.switches.push(Switch { name, hosts });
    }

    fn connect(&mut self, a: u32, b: u32) {
        self.cables.push((a, b));
    }

    /// The fabric: hosts in the order of their switches, then switches.
    fn generate(&self) -> Result<Topology, GenerateError> {
        let mut cabling = Cabling::new();
        let hosts: u32 = self.switches.iter().map(|switch| switch.hosts).sum();
        for _ in 0..hosts {
            cabling.add_hfi()?;
        }
        let mut next_host = 0;
        let mut next_port = Vec::with_capacity(self.switches.len());
        for switch in &self.switches {
            let id = cabling.add_switch(&switch.name, self.radix, None)?;
            for host in 0..switch.hosts {
                let hfi = NodeId(next_host + host);
                cabling.connect((hfi, 1), (id, 1 + host as u8), LinkWidth::X4)?;
            }
            next_host += switch.hosts;
            next_port.push(1 + switch.hosts as u8);
        }
        let mut end = |switch: u32| {
            let port = &mut next_port[switch as usize];
            *port += 1;
            (NodeId(hosts + switch), *port - 1)
        };
        for (a, b) in &self.cables {
            let (a, b) = (end(*a), end(*b));
            cabling.connect(a, b, LinkWidth::X4)?;
        }
        Ok(cabling.build()?)
    }
}
