//! What is recorded.

use std::sync::Arc;

/// Counters of a port, by their names in the API, in the order of [`Totals`].
pub const COUNTERS: [&str; 27] = [
    "xmit_data",
    "rcv_data",
    "xmit_pkts",
    "rcv_pkts",
    "multicast_xmit_pkts",
    "multicast_rcv_pkts",
    "xmit_wait",
    "sw_port_congestion",
    "rcv_fecn",
    "rcv_becn",
    "xmit_time_cong",
    "xmit_wasted_bw",
    "xmit_wait_data",
    "rcv_bubble",
    "mark_fecn",
    "rcv_constraint_errors",
    "rcv_switch_relay_errors",
    "xmit_discards",
    "xmit_constraint_errors",
    "rcv_remote_physical_errors",
    "local_link_integrity_errors",
    "rcv_errors",
    "excessive_buffer_overruns",
    "fm_config_errors",
    "link_error_recovery",
    "link_downed",
    "uncorrectable_errors",
];

/// Running totals of a port's counters.
pub type Totals = [u64; COUNTERS.len()];

/// Running totals and state of a port in one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortValues {
    /// Its running totals.
    pub totals: Totals,
    /// Quality of its link, 5 excellent to 1 bad, 0 down; none where it is not known. Rolled up, the worst of the time.
    pub link_quality: Option<u8>,
}

impl PortValues {
    /// A port of which nothing is known.
    pub(crate) const NONE: Self = Self {
        totals: [0; _],
        link_quality: None,
    };
}

/// Quality of a link of which none is known, in files.
pub(crate) const UNKNOWN: u8 = u8::MAX;

/// The quality of a link as files have it, if it is known.
pub(crate) fn known_quality(quality: u8) -> Option<u8> {
    (quality != UNKNOWN).then_some(quality)
}

/// Longest text of a column, bytes; longer ones are cut.
pub(crate) const TEXT_MAX: usize = 64 << 10;

/// A port: GUID of its node, and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortKey {
    /// GUID of the node.
    pub guid: u64,
    /// Number of the port.
    pub port: u8,
}

/// A port in one reading of the counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRow {
    /// Which port.
    pub key: PortKey,
    /// Name of its node.
    pub name: Arc<str>,
    /// What was read.
    pub values: PortValues,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Milliseconds since 1970.
    pub time_ms: i64,
    /// Which run of the daemon: nanoseconds since 1970 at its start.
    pub run: u64,
    /// Number of the event in that run, from 1.
    pub sequence: u64,
    /// Kind, such as `link_vanished`.
    pub kind: String,
    /// GUID of the node that it is about, 0 where it is about none.
    pub guid: u64,
    /// Name of that node.
    pub name: String,
    /// Port of that node, 0 where it is about none.
    pub port: u8,
    /// `info`, `warn` or `error`.
    pub severity: String,
    /// In words.
    pub message: String,
    /// As JSON.
    pub body: String,
}
