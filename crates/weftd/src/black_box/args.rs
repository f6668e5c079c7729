//! Options of the black box.

use std::path::{Path, PathBuf};

use clap::value_parser;

/// How much is recorded.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RecordingArgs {
    /// MiB of recordings of the inputs of the subnet manager and of subnet administration, which `weft-lab replay` runs again; 0
    /// records nothing. They are files of an eighth each, and the oldest are removed. An emulated fabric without --state-dir is not recorded.
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = value_parser!(u32).range(0..=1_048_576))]
    recording_budget: u32,
}

/// Where recordings are kept, and how much of them.
#[derive(Debug, Clone)]
pub(crate) struct RecordingPlace {
    /// The ring.
    pub(super) recordings: PathBuf,
    /// Copies.
    pub(super) incidents: PathBuf,
    /// Bytes of recordings; twice as many of copies.
    pub(super) budget: u64,
}

impl RecordingArgs {
    /// The place, none where nothing is recorded; `state` is the state directory of an instance.
    pub(crate) fn place(&self, state: Option<&Path>, instance: u16) -> Option<RecordingPlace> {
        let state = state.filter(|_| self.recording_budget > 0)?;
        Some(RecordingPlace {
            recordings: state.join(format!("recordings.{instance}")),
            incidents: state.join(format!("incidents.{instance}")),
            budget: u64::from(self.recording_budget) << 20,
        })
    }
}
