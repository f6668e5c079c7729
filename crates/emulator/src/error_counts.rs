//! Errors that a port is to count.

use serde::{Deserialize, Serialize};
use weft_dataplane::counters::Counter;

/// Errors that are added to those of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ErrorCounts {
    /// Transfers received with a wrong checksum (LocalLinkIntegrityErrors).
    pub symbol_errors: u64,
    /// Packets dropped before they were sent (XmitDiscards).
    pub discards: u64,
    /// Packets received with errors (RcvErrors).
    pub receive_errors: u64,
    /// Errors that nothing repairs (UncorrectableErrors); the device counts 255 at most.
    pub uncorrectable: u64,
    /// Packets received without credits (ExcessiveBufferOverruns).
    pub buffer_overruns: u64,
    /// Settings of the two ends that do not fit (FMConfigErrors).
    pub fm_config: u64,
}

impl ErrorCounts {
    /// Counters, and what is added to each.
    pub(crate) fn by_counter(&self) -> [(Counter, u64); 6] {
        [
            (Counter::LocalLinkIntegrityErrors, self.symbol_errors),
            (Counter::XmitDiscards, self.discards),
            (Counter::RcvErrors, self.receive_errors),
            (Counter::UncorrectableErrors, self.uncorrectable),
            (Counter::ExcessiveBufferOverruns, self.buffer_overruns),
            (Counter::FmConfigErrors, self.fm_config),
        ]
    }
}
