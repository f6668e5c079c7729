//! The smallest fabrics.

use weft_wire::enums::LinkWidth;

use super::{GenerateError, RADIX_MAX, in_range};
use crate::cabling::Cabling;
use crate::topology::Topology;

/// One switch and its hosts, host n on port n.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneSwitch {
    /// Number of hosts.
    pub hosts: u64,
    /// Ports of the switch.
    pub radix: u8,
}

impl OneSwitch {
    /// The fabric.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when the hosts need more ports than there are.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        in_range("radix", self.radix.into(), 1, RADIX_MAX.into())?;
        in_range("number of hosts", self.hosts, 0, self.radix.into())?;
        let mut cabling = Cabling::new();
        let hosts = (0..self.hosts)
            .map(|_| cabling.add_hfi())
            .collect::<Result<Vec<_>, _>>()?;
        let switch = cabling.add_switch("switch1", self.radix, None)?;
        for (host, port) in hosts.into_iter().zip(1..) {
            cabling.connect((host, 1), (switch, port), LinkWidth::X4)?;
        }
        Ok(cabling.build()?)
    }
}

pub(super) fn back_to_back() -> Result<Topology, GenerateError> {
    let mut cabling = Cabling::new();
    let [a, b] = [cabling.add_hfi()?, cabling.add_hfi()?];
    cabling.connect((a, 1), (b, 1), LinkWidth::X4)?;
    Ok(cabling.build()?)
}
