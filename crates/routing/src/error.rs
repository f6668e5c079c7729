//! Errors of routing.

use thiserror::Error;
use weft_fabric::{Lid, Lmc, NodeId, PortRef};

use crate::certificate::Refusal;

/// Why there are no tables.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RouteError {
    /// A base LID whose low LMC bits are not zero.
    #[error("port {} of node {} has LID {lid}, which is not a multiple of 2^{lmc}", port.port, port.node.0)]
    LidAlignment {
        /// The port.
        port: PortRef,
        /// Its base LID.
        lid: Lid,
        /// Its LMC.
        lmc: Lmc,
    },
    /// Two ports answer to one LID.
    #[error("port {} of node {} and port {} of node {} both have LID {lid}",
        first.port, first.node.0, second.port, second.node.0)]
    LidShared {
        /// The LID.
        lid: Lid,
        /// One port.
        first: PortRef,
        /// The other.
        second: PortRef,
    },
    /// A LID above a switch's table.
    #[error("LID {lid} needs {} entries, the linear table of node {} has {cap}", lid.0 + 1, switch.0)]
    LidBeyondTable {
        /// The highest LID.
        lid: Lid,
        /// The switch.
        switch: NodeId,
        /// Entries of its table (`SwitchInfo.LinearFDBCap`).
        cap: u32,
    },
    /// More table entries than the limit.
    #[error("LID {lid} over {switches} switches needs more than {limit} table entries")]
    TooLarge {
        /// The highest LID.
        lid: Lid,
        /// Number of switches.
        switches: usize,
        /// The limit, in entries of one byte.
        limit: u64,
    },
    /// The fabric does not fit the last engine.
    #[error("no engine fits this fabric: {why}")]
    Unfit {
        /// Why the last one does not.
        why: String,
    },
    /// No engine gave tables that pass the certificate.
    #[error("no certified routes: {0}")]
    Refused(#[from] Refusal),
}
