//! From a topology and settings to certified tables.

use std::fmt;
use std::sync::Arc;

use weft_fabric::{LinearTables, PortGroupTables, Topology};

use crate::certificate::Certificate;
use crate::error::RouteError;
use crate::settings::Settings;

/// The engine whose tables came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineUsed {
    /// `shortestpath`.
    ShortestPath,
    /// `fattree`.
    FatTree,
    /// `fattree` on paths that never turn from down to up.
    FatTreeUpDown,
    /// Least-cost paths that never turn from down to up, counted from one root.
    UpDown,
}

impl fmt::Display for EngineUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShortestPath => "shortestpath",
            Self::FatTree => "fattree",
            Self::FatTreeUpDown => "fattree, up*/down* only",
            Self::UpDown => "shortestpath, up*/down* only",
        })
    }
}

/// Something the administrator should know about the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// An engine was given up for the next one.
    Fallback {
        /// The engine given up.
        from: EngineUsed,
        /// The one tried next.
        to: EngineUsed,
        /// Why.
        why: String,
    },
    /// Switches whose group table is too small: some destinations keep their linear entry only.
    GroupsLimited {
        /// Number of switches.
        switches: usize,
        /// Switch-destination pairs without a group of their own or a merged one.
        pairs: u64,
    },
    /// Adaptive groups were left out because they would close a cycle.
    GroupsRefused {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fallback { from, to, why } => {
                write!(f, "engine \"{from}\" given up for \"{to}\": {why}")
            }
            Self::GroupsLimited { switches, pairs } => write!(
                f,
                "group tables of {switches} switches are too small: {pairs} destinations keep one port"
            ),
            Self::GroupsRefused { why } => write!(f, "adaptive groups left out: {why}"),
        }
    }
}

/// Certified tables.
#[derive(Debug, Clone)]
pub struct Routed {
    linear: Arc<LinearTables>,
    groups: Arc<PortGroupTables>,
    engine: EngineUsed,
    notes: Vec<Note>,
    certificate: Certificate,
}

impl Routed {
    /// Linear forwarding tables of all switches.
    pub fn linear(&self) -> &Arc<LinearTables> {
        &self.linear
    }

    /// Adaptive groups of all switches, empty when adaptive routing is off.
    pub fn groups(&self) -> &Arc<PortGroupTables> {
        &self.groups
    }

    /// The engine that made them.
    pub fn engine(&self) -> EngineUsed {
        self.engine
    }

    /// Fallbacks and limits met on the way.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The proof.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}

/// Routes a topology whose end ports have LIDs and certifies the result.
///
/// # Errors
/// [`RouteError`] when LIDs are unusable or no engine's tables pass.
pub fn route(_topology: &Topology, _settings: &Settings) -> Result<Routed, RouteError> {
    Err(RouteError::Refused(crate::certificate::Refusal { findings: Vec::new() }))
}
