//! Messages between ranks, carried by packets the way the host's libraries do it.
//!
//! Small messages go eagerly, large ones by rendezvous: the sender announces, the receiver asks for
//! a window at a time, the sender's DMA engines send it. Receives are posted before the messages
//! come, as the benchmarks do. On a host with an LMC the data takes the LIDs after the first in
//! turn, control takes the first, as PSM2's default policy does.
//!
//! Not modelled: resending of lost packets (a job that loses one does not end), messages between
//! ranks of one host other than by the endpoints' time, the pool of PIO credits.

mod bandwidth;
mod exchange;
mod job;
mod latency;
mod nic;
mod stack;
mod transfer;

pub use bandwidth::{Bandwidth, BandwidthOptions};
pub use exchange::AllToAll;
pub use job::{Job, Program};
pub use latency::PingPong;
pub use nic::{Done, Mpi};
pub use stack::Stack;
