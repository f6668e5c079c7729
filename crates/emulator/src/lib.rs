//! The emulated fabric: one agent for each node, on top of the dataplane, with faults on demand.
//!
//! The core has no I/O: datagrams and controls go into [`Emulator::handle`], datagrams come out of
//! [`Emulator::poll`], and [`Emulator::deadline`] is the time of the next [`io::Input::Tick`].
//!
//! Hosts send to each other by [`traffic`]: counters advance by the rates that the current tables
//! allow.
//!
//! Around it are two shells: [`host`] runs a core on a thread, at the pace of the wall clock, and
//! attaches programs to its hosts; [`server`] accepts programs of other processes on sockets.
//! [`control`] changes either.

mod agent;
mod carry;
mod claims;
pub mod control;
mod emulator;
mod error_counts;
mod faults;
pub mod host;
pub mod io;
pub mod module;
pub mod observe;
mod offence;
mod queue;
pub mod server;
pub mod stats;
pub mod target;
pub mod traffic;
pub mod trap;

pub use claims::Claims;
pub use emulator::{AGENT_QUEUE_MAX, Emulator, JOBS_MAX, Losses, OUTPUTS_MAX, Options};
pub use error_counts::ErrorCounts;
pub use stats::Stats;
