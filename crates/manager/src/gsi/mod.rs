//! The server side of a management class over queue pair 1: datagrams go in, whole requests come
//! out; answers of any size go back, in segments (RMPP) where they need it.
//!
//! | module | what it is about |
//! |---|---|
//! | `message` | a request, who sent it, and an answer |
//! | `server` | which datagram means what |
//! | `receptions` | requests that come in segments |
//! | `transfers` | answers that go in segments |
//!
//! Nothing here knows an attribute. Subnet administration and performance administration both sit
//! on it: their headers have the same 20 bytes.

mod message;
mod receptions;
mod server;
mod transfers;

pub use message::{Answer, Form, Request, Requester};
pub use server::{Counters, Limits, Server};
