//! The gRPC API `weft.v1`: the code generated from `proto/weft/v1`, conversions between its
//! messages and the values of the other crates, and a client.
//!
//! No other crate depends on prost, but for tests. Messages are in [`v1`]; [`client::Client`] calls a daemon and
//! gives values of the other crates back.

pub mod client;
mod convert;
pub mod snapshot;

pub use convert::{drain_message, drain_of, point_of, port_id, port_message, rule_name};

/// Messages, clients and servers, generated.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::unwrap_used)]
pub mod v1 {
    tonic::include_proto!("weft.v1");
}

/// The descriptors of `proto/weft/v1`, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// Port that the daemon listens on where nothing else is said.
pub const DEFAULT_PORT: u16 = 9313;

/// Largest message that either side accepts, bytes: a node of 255 ports has under 64 KiB, a
/// table of all 16-bit LIDs 48 KiB.
pub const MAX_MESSAGE_LEN: usize = 4 << 20;
