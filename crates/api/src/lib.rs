//! The gRPC API `weft.v1`, and `weft.emulator.v1`: the code generated from `proto/weft`, conversions between its
//! messages and the values of the other crates, and a client.
//!
//! No other crate depends on prost, but for tests. Messages are in [`v1`]; [`client::Client`] calls a daemon and
//! gives values of the other crates back.

mod calls;
pub mod client;
mod convert;
mod event_json;
mod kinds;
mod read_mask;
pub mod snapshot;
pub mod time;

pub use calls::{ChangingCall, Said, services};
pub use convert::{
    WantedCounters, count_of, counter_name, counter_named, counters_named, disabled_port,
    drain_message, drain_of, has_errors, point_of, port_action, port_action_done, port_id,
    port_message, rate_of, rule_name,
};
pub use event_json::{event_json, event_of_json};
pub use kinds::{event_kind, event_kinds, kind_of};
pub use prost_types::FieldMask;
pub use read_mask::{ReadMask, WrongMask};

/// Messages, clients and servers, generated.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub mod v1 {
    tonic::include_proto!("weft.v1");
}

/// Messages, clients and servers of `weft.emulator.v1`, generated.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub mod emulator_v1 {
    tonic::include_proto!("weft.emulator.v1");
}

/// The descriptors of `proto/weft`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Largest number of an instance on one host: opafm.xml has at most 8, counted from 0.
pub const LAST_INSTANCE: u16 = 7;

/// TCP port of the API of an instance where nothing else is said: 9313 for instance 0, 9323 for instance 1.
pub const fn api_port(instance: u16) -> u16 {
    9313 + 10 * instance
}

/// Unix socket of the API of an instance where nothing else is said: /run/weft/api.sock for instance 0,
/// /run/weft/api.1.sock for instance 1.
pub fn api_socket(instance: u16) -> String {
    match instance {
        0 => "/run/weft/api.sock".to_owned(),
        instance => format!("/run/weft/api.{instance}.sock"),
    }
}

/// TCP port of the metrics of an instance where nothing else is said: 9315 for instance 0, 9325 for instance 1.
pub const fn metrics_port(instance: u16) -> u16 {
    9315 + 10 * instance
}

/// TCP port of the page of an instance where nothing else is said: 9317 for instance 0, 9327 for instance 1.
pub const fn page_port(instance: u16) -> u16 {
    9317 + 10 * instance
}

/// Largest message that either side accepts, bytes: a node of 255 ports has under 64 KiB, a
/// table of all 16-bit LIDs 48 KiB.
pub const MAX_MESSAGE_LEN: usize = 4 << 20;
