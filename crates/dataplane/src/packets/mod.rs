//! Packets in virtual time: a discrete-event model of what crosses the links.
//!
//! A [`Simulation`] reads the registers of a [`Network`](crate::Network) once, by
//! [`Simulation::configure`], and again whenever they were written; it then moves packets as the
//! hardware would: cut-through switches with input buffers, virtual lanes with dedicated and shared
//! credits, arbitration between lanes, lifetimes, adaptive routes. What it counts goes back into
//! the registers by [`Simulation::settle`]. Who sends what is a [`Traffic`] outside.
//!
//! Time is in picoseconds, kept in whole numbers; the same seed gives the same packets at the same
//! moments on every machine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`calendar`] | events in order of time |
//! | `event` | what happens where, as a word |
//! | `store` | packets on their way |
//! | `lane` | ports and lanes: queues, credits, what they count |
//! | `configure` | registers to hot state |
//! | `arbiter` | which lane sends next |
//! | `preempt` | small packets in the middle of large ones |
//! | `transmit` | a packet leaves a port |
//! | `receive` | a packet comes in, is routed and queued |
//! | `multicast` | copies to the ports of a group |
//! | `discard` | lifetimes, stalled lanes, lost links |
//! | `adaptive` | routes that switches move |
//! | [`deadlock`] | lanes that wait for each other |
//! | `congestion` | marks, and senders that heed them |
//! | `crowd` | time in congestion |
//! | `settle` | counters to registers |
//! | [`shards`] | a fabric on several cores |
//! | `share` | the devices of one of them |
//!
//! Chosen where nothing is public: packets wait for their egress port in virtual output queues,
//! oldest first (see [`Queueing`] for the other choice); credits come back when a packet's tail has
//! left the buffer.

mod adaptive;
mod arbiter;
pub mod calendar;
mod configure;
mod congestion;
mod crowd;
pub mod deadlock;
mod discard;
mod event;
mod lane;
mod multicast;
mod preempt;
mod random;
mod receive;
mod settle;
pub mod shards;
mod share;
mod simulation;
mod store;
mod transmit;

pub(crate) use adaptive::{Algorithm, Mask, groups, masks};
pub use calendar::Order;
pub(crate) use configure::{carries_data, flit_time};
pub use random::Random;
pub use settle::LinkBalance;
pub use shards::{Shard, Shards};
pub use simulation::{Notice, Options, Queueing, Simulation, Totals, Traffic};
pub use store::{Delivery, Loss, Parcel};

/// A moment or a span in picoseconds.
pub type Picos = u64;

/// A nanosecond in picoseconds.
pub const NANO: Picos = 1_000;
/// A microsecond in picoseconds.
pub const MICRO: Picos = 1_000_000;
/// A millisecond in picoseconds.
pub const MILLI: Picos = 1_000_000_000;
