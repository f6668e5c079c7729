//! A device that is not let into the fabric.

use std::fmt;

use serde::{Deserialize, Serialize};
use weft_fabric::Guid;
use weft_fabric::admission::Defects;

use crate::io::LinkEnd;

/// A device that is not let into the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedDevice {
    /// The port before it, of a node that is trusted.
    pub trusted: LinkEnd,
    /// The device, as it says, and its port.
    pub found: LinkEnd,
    /// NodeGUID that the hardware of the port before it reports.
    pub neighbour: Guid,
    /// What is wrong with it.
    pub defects: Defects,
    /// The same in words, with values.
    pub evidence: String,
}

impl fmt::Display for RefusedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trusted,
            found,
            evidence,
            ..
        } = self;
        write!(
            f,
            "{found} is not let into the fabric at {trusted}: {evidence}"
        )
    }
}
