//! The calls of etcd's API, version 3, that the daemon makes: keys with conditions, leases, watches.
//!
//! One connection to one server of a cluster: [`Client`]. Each call ends within a time; what becomes of a failure is the
//! caller's affair. Nothing here knows of fabrics.

mod client;
mod ops;

pub use client::{Access, Client, EtcdError, Watch};
pub use ops::{created_at, delete, get, put, txn};

/// Messages, as they are on the wire.
#[allow(missing_docs, clippy::doc_markdown)]
pub mod pb {
    tonic::include_proto!("etcdserverpb");
}
