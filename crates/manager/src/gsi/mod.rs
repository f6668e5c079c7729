//! The server side of a management class over queue pair 1: datagrams in, whole requests
//! out; answers of any size are sent in segments (RMPP) if necessary.
//!
//! | module | contents |
//! |---|---|
//! | `message` | a request, its sender, and an answer |
//! | `server` | dispatch of datagrams |
//! | `receptions` | requests received in segments |
//! | `transfers` | answers sent in segments |
//!
//! Nothing here depends on attributes. Subnet administration and performance administration both use
//! it: their headers have the same 20 bytes.

mod message;
mod receptions;
mod server;
mod transfers;

pub(crate) use message::headers;
pub use message::{Answer, Form, Request, Requester};
pub use server::{Counters, Limits, Server};
