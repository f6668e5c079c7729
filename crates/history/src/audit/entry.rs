//! Entries of the record of changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of the record. The order of fields is that in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// From 1, without gaps.
    pub sequence: u64,
    /// Nanoseconds since 1970.
    pub unix_time_ns: u64,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What an entry tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Body {
    /// A change is asked for; nothing has been done yet.
    Asked(Asked),
    /// What came of it.
    Ended(Ended),
    /// The end of a file was torn by a crash and has been cut off: nobody had an answer for it.
    Torn {
        /// Bytes that were cut off.
        bytes: u64,
    },
}

/// A request for a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The way by which it came: `grpc`, `opafmcmd` or `signal`.
    pub way: String,
    /// Who asks, as he says; empty where nobody says.
    pub author: String,
    /// The other end of the connection: an address, or a user of this host.
    pub peer: String,
    /// Who that is, as the connection proves it: `user:alice`, `uri:spiffe://…`, `loopback`; empty where nothing does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// Name of the call, such as `weft.v1.PortService/SetPortState`.
    pub method: String,
    /// SHA-256 of the request as it came, hexadecimal.
    pub digest: String,
    /// The request as JSON, without what may hold keys.
    pub request: Value,
    /// Names that nodes of the request had then, by their GUIDs as `0x…`; none where it names none that was there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, String>,
    /// Why, as the author says.
    pub reason: String,
    /// Number of the fabric's snapshot before.
    pub generation: u64,
}

/// The outcome of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// Sequence number of the request.
    pub of: u64,
    /// `ok`, or the gRPC code in lower case, such as `failed_precondition`; `unknown` where the client went away.
    pub result: String,
    /// The refusal in words; empty where the change was made.
    pub message: String,
    /// Number of the plan that was made, applied or undone; 0 where there was none.
    pub plan: u64,
    /// Number of the fabric's snapshot when the answer was given.
    pub generation: u64,
}
