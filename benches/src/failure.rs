//! Errors that stop a measurement.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;
use weft_fabric::generate::GenerateError;
use weft_fabric::import::ImportError;
use weft_routing::RouteError;

/// Why there is no measurement.
#[derive(Error)]
pub enum Failure {
    /// A fabric cannot be made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// A fabric cannot be routed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A file or a program.
    #[error("{what}: {source}")]
    Io {
        /// The file or program.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// Manager and emulator cannot go on.
    #[error(transparent)]
    World(#[from] weft_testkit::WorldError),
    /// A network cannot be had.
    #[error(transparent)]
    Network(#[from] weft_instructions::network::NotUp),
    /// A fabric does not come up.
    #[error("{hosts} hosts do not come up: {why}")]
    BringUp {
        /// Hosts of the fabric.
        hosts: u64,
        /// What is missing.
        why: String,
    },
    /// A topology file cannot be read.
    #[error("topology file: {0}")]
    TopologyFile(#[from] ImportError),
    /// A state cannot be kept.
    #[error(transparent)]
    History(#[from] weft_history::HistoryError),
    /// A state that was kept is not one.
    #[error("a state of the past: {0}")]
    State(#[from] weft_api::snapshot::SnapshotError),
    /// A fabric differs from its own topology file.
    #[error("{found} differences between a fabric of {hosts} hosts and its own topology file")]
    Unintended {
        /// Hosts of the fabric.
        hosts: u64,
        /// Number of differences.
        found: usize,
    },
    /// A fabric in shards does other things than the whole.
    #[error("{traffic}: {shards} shards do not what one does")]
    Differs {
        /// The traffic.
        traffic: String,
        /// The number of shards.
        shards: usize,
    },
    /// OpenSM's files cannot be used.
    #[error("opensm {engine}: {why}")]
    OpenSm {
        /// The requested engine.
        engine: String,
        /// Why.
        why: String,
    },
    /// A simulator cannot be run, or does not print its result.
    #[error("{simulator}: {why}")]
    Simulator {
        /// Its name.
        simulator: String,
        /// Why.
        why: String,
    },
    /// OpenSM did not report the expected result.
    #[error("{}: no line with {wanted:?} within {seconds} s; its end: {end}", log.display())]
    Silent {
        /// The log.
        log: PathBuf,
        /// The expected event.
        wanted: &'static str,
        /// The time limit, seconds.
        seconds: u64,
        /// The last lines of the log.
        end: String,
    },
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Failure {
    /// A system error with its subject.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        |source| Self::Io { what, source }
    }
}
