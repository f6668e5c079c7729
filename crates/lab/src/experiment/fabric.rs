//! The fabric of a case.

use std::sync::Arc;

use weft_fabric::generate::{Chassis, HOSTS_MAX};
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, GenerateError, Topology};

/// A fabric, switched on and not brought up.
#[derive(Debug, Clone)]
pub enum Fabric {
    /// One that can be described.
    Described(FabricSpec),
    /// One that was read from a file.
    Read(Arc<Topology>),
}

impl Fabric {
    /// Reads an ibnetdiscover dump or an opareport snapshot, without the recorded state of the running
    /// fabric.
    ///
    /// # Errors
    /// The invalid line of the text, and the allowed values.
    pub fn import(text: &[u8]) -> Result<Self, String> {
        let snapshot = import_fabric(text).map_err(|error| error.to_string())?;
        let topology = restart(&snapshot.topology).map_err(|error| error.to_string())?;
        Ok(Self::Read(Arc::new(topology)))
    }

    /// Its nodes and cables.
    ///
    /// # Errors
    /// [`GenerateError`] when the description cannot be realised.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        match self {
            Self::Described(spec) => spec.generate(),
            Self::Read(topology) => Ok(topology.as_ref().clone()),
        }
    }

    /// At least as many hosts as it has, without making it.
    pub(super) fn most_hosts(&self) -> u64 {
        let hosts = match self {
            Self::Described(spec) => described_hosts(spec),
            Self::Read(topology) => topology.hfis().count() as u64,
        };
        // A larger one cannot be made.
        hosts.min(HOSTS_MAX)
    }
}

fn described_hosts(spec: &FabricSpec) -> u64 {
    match spec {
        FabricSpec::OneSwitch(spec) => spec.hosts,
        FabricSpec::BackToBack => 2,
        FabricSpec::FatTree(spec) => spec.hosts,
        FabricSpec::Pgft(spec) => spec.hosts.unwrap_or_else(|| product(&spec.children)),
        FabricSpec::Grid(spec) => product(&spec.dimensions).saturating_mul(spec.hosts.into()),
        FabricSpec::Director(spec) => u64::from(spec.hosts) * leaf_chips(spec.chassis),
        FabricSpec::Studied(spec) => spec.most_hosts(),
        FabricSpec::File(_) => 0,
    }
}

fn product(values: &[u32]) -> u64 {
    let values = values.iter().copied().map(u64::from);
    values.fold(1, u64::saturating_mul)
}

fn leaf_chips(chassis: Chassis) -> u64 {
    match chassis {
        Chassis::Swd06 => 12,
        Chassis::Swd24 => 48,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn hosts_are_known_before_a_fabric_is_made() {
        for text in [
            "one-switch:5",
            "back-to-back",
            "fattree:100,radix=16",
            "pgft:2;4,3;1,2;1,1",
            "torus:3x4,hosts=2",
            "hypercube:4",
            "swd06",
            "swd24,hosts=3",
            "dragonfly:2,4,2",
            "dragonfly-plus:2,3,2,2,groups=4",
            "hyperx:3x4,hosts=2",
            "slimfly:5",
            "jellyfish:20,4,hosts=3",
        ] {
            let fabric = Fabric::Described(text.parse().unwrap());
            let made = fabric.generate().unwrap();
            assert_eq!(fabric.most_hosts(), made.hfis().count() as u64, "{text}");
            assert_eq!(
                Fabric::Read(Arc::new(made)).most_hosts(),
                fabric.most_hosts()
            );
        }
    }
}
