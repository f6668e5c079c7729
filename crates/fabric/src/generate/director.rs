//! OPA director chassis with their internal wiring.
//!
//! A leaf module Lxxx holds two switch chips, A and B, and so does a spine module Sxxx. Each leaf
//! chip has ports 25 to 48 on the backplane, one or more to every spine chip. The wiring, which
//! the vendor publishes as a list of links, follows one rule for all 48 ports of a spine chip; a
//! test compares it with that list.

use weft_wire::enums::LinkWidth;
use weft_wire::id::Guid;

use super::{GenerateError, in_range};
use crate::cabling::{Cabling, FIRST_CHASSIS_GUID};
use crate::constants::SWITCH_PORTS;
use crate::topology::{NodeId, Topology};

/// A kind of chassis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chassis {
    /// 6 leaf modules and 3 spine modules: 192 hosts.
    Swd06,
    /// 24 leaf modules and 12 spine modules: 768 hosts.
    Swd24,
}

/// A director chassis with hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Director {
    /// Model of the chassis.
    pub chassis: Chassis,
    /// Hosts on each leaf chip, on its ports 1 to 16.
    pub hosts: u32,
}

/// External ports of a leaf chip: a leaf module has 32.
const LEAF_HOSTS_MAX: u32 = 16;

/// Port of the leaf chip that the spine chip's ports 1 to 24, and again 25 to 48, lead to.
const LEAF_PORTS: [u8; 24] = [
    48, 47, 46, 45, 44, 43, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 30, 29, 28, 27, 26, 25,
];

impl Chassis {
    /// Pairs of leaf modules, and spine modules.
    fn size(self) -> usize {
        match self {
            Self::Swd06 => 3,
            Self::Swd24 => 12,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Swd06 => "swd06",
            Self::Swd24 => "swd24",
        }
    }

    /// The pair of leaf modules that port `place` (0 to 23) of spine module 0 leads to.
    fn pair(self, spine_half: usize, place: usize) -> usize {
        match (self, spine_half, place) {
            (Self::Swd06, 0, 0..6 | 12..18) => [0, 2, 1][place % 6 / 2],
            (Self::Swd06, 0, _) => [1, 2, 0][place % 6 / 2],
            (Self::Swd06, _, 0..6) => [0, 2, 1][place / 2],
            (Self::Swd06, _, 6..12) => [2, 0, 1][place % 6 / 2],
            (Self::Swd06, _, 12..18) => [1, 0, 2][place % 6 / 2],
            (Self::Swd06, ..) => [1, 2, 0][place % 6 / 2],
            (Self::Swd24, 0, 0..6) => 6 + place,
            (Self::Swd24, 0, 6..18) => place % 12,
            (Self::Swd24, 0, _) => (place - 17) % 6,
            (Self::Swd24, _, 0..6) => (6 - place) % 6,
            (Self::Swd24, _, 6..18) => (24 - place) % 12,
            (Self::Swd24, ..) => 29 - place,
        }
    }

    /// The leaf chip and its port at the other end of a spine chip's port (1 to 48). Chips are
    /// numbered module by module, A before B.
    pub fn leaf_of(self, spine_chip: usize, port: u8) -> (usize, u8) {
        let (spine, half) = (spine_chip / 2, spine_chip % 2);
        let place = usize::from(port - 1) % LEAF_PORTS.len();
        let second = usize::from(port) > LEAF_PORTS.len();
        let pair = (self.pair(half, place) + spine) % self.size();
        let module = 2 * pair + usize::from(second != (half == 1));
        let crossed = (6..18).contains(&place);
        let leaf_half = usize::from(crossed != (half == 1));
        (2 * module + leaf_half, LEAF_PORTS[place])
    }
}

impl Director {
    /// The fabric.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] for more hosts than a leaf chip has external ports.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let most = LEAF_HOSTS_MAX.into();
        in_range("hosts on a leaf chip", self.hosts.into(), 0, most)?;
        let mut cabling = Cabling::new();
        let leaf_chips = 4 * self.chassis.size();
        for _ in 0..leaf_chips * self.hosts as usize {
            cabling.add_hfi()?;
        }
        let leaves = self.chips(&mut cabling, 'L', 101, leaf_chips)?;
        let spines = self.chips(&mut cabling, 'S', 201, 2 * self.chassis.size())?;
        self.connect_hosts(&mut cabling, &leaves)?;
        for (chip, spine) in spines.iter().enumerate() {
            for port in 1..=SWITCH_PORTS {
                let (leaf, leaf_port) = self.chassis.leaf_of(chip, port);
                cabling.connect((*spine, port), (leaves[leaf], leaf_port), LinkWidth::X4)?;
            }
        }
        Ok(cabling.build()?)
    }

    fn chips(
        &self,
        cabling: &mut Cabling,
        kind: char,
        first_slot: usize,
        chips: usize,
    ) -> Result<Vec<NodeId>, GenerateError> {
        let system = Some(Guid(FIRST_CHASSIS_GUID));
        let name = self.chassis.name();
        (0..chips)
            .map(|chip| {
                let half = if chip % 2 == 0 { 'A' } else { 'B' };
                let name = format!("{name} {kind}{}{half}", first_slot + chip / 2);
                Ok(cabling.add_switch(&name, SWITCH_PORTS, system)?)
            })
            .collect()
    }

    fn connect_hosts(&self, cabling: &mut Cabling, leaves: &[NodeId]) -> Result<(), GenerateError> {
        for (chip, leaf) in leaves.iter().enumerate() {
            for host in 0..self.hosts {
                let hfi = NodeId(chip as u32 * self.hosts + host);
                // At most 16.
                cabling.connect((hfi, 1), (*leaf, 1 + host as u8), LinkWidth::X4)?;
            }
        }
        Ok(())
    }
}
