//! Packets in virtual time: a discrete-event model of the traffic on links.
//!
//! A [`Simulation`] reads the registers of a [`Network`](crate::Network) once, by
//! [`Simulation::configure`], and again whenever they were written; it then moves packets as the
//! hardware would: cut-through switches with input buffers, virtual lanes with dedicated and shared
//! credits, arbitration between lanes, lifetimes, adaptive routes. Its counts return to
//! the registers by [`Simulation::settle`]. The sender is a [`Traffic`] outside.
//!
//! Time is in picoseconds, kept in whole numbers; the same seed gives the same packets at the same
//! moments on every machine.
//!
//! | module | contents |
//! |---|---|
//! | [`calendar`] | events in order of time |
//! | `event` | an event's kind and place, as a word |
//! | `store` | packets in flight |
//! | `options` | properties of the hardware that no register has |
//! | `lane` | ports and lanes: queues, credits, counts |
//! | `feeds` | inputs of an egress lane: their turns, their heads |
//! | `configure` | registers to hot state |
//! | `arbiter` | choice of the next lane to send |
//! | `preempt` | small packets in the middle of large ones |
//! | `transmit` | a packet leaves a port |
//! | `receive` | a packet arrives, is routed and queued |
//! | `hold` | HFIs that take no packets: the link stops |
//! | `multicast` | copies to the ports of a group |
//! | `discard` | lifetimes, stalled lanes, lost links |
//! | `adaptive` | routes that switches move |
//! | [`deadlock`] | lanes that wait for each other |
//! | `congestion` | marks, and senders that react to them |
//! | `congestion_time` | time in congestion |
//! | `settle` | counters to registers |
//! | [`shards`] | a fabric on several cores |
//! | `share` | the devices of one of them |
//!
//! Assumptions where nothing is public: packets wait for their egress port in virtual output queues,
//! oldest first (see [`Queueing`] for the alternatives); credits return when a packet's tail has
//! left the buffer.

mod adaptive;
mod arbiter;
pub mod calendar;
mod configure;
mod congestion;
mod congestion_time;
pub mod deadlock;
mod discard;
mod event;
mod feeds;
mod hold;
mod lane;
mod multicast;
mod options;
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
pub use options::{HeadOfQueue, Options, Queueing};
pub use random::Random;
pub use settle::LinkBalance;
pub use shards::{Shard, Shards};
pub use simulation::{Notice, Simulation, Totals, Traffic};
pub use store::{Delivery, Loss, Parcel};

/// A moment or a span in picoseconds.
pub type Picos = u64;

/// A nanosecond in picoseconds.
pub const NANO: Picos = 1_000;
/// A microsecond in picoseconds.
pub const MICRO: Picos = 1_000_000;
/// A millisecond in picoseconds.
pub const MILLI: Picos = 1_000_000_000;
