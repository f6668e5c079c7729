//! Agents, the socket server and the program.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

mod agents;
mod program;
mod sockets;
