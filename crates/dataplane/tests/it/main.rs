//! The network of registers, and packets on it.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod adaptive;
mod congestion;
mod jobs;
mod latencies;
mod laws;
mod live;
mod loss;
mod mpi;
mod multicast;
mod network;
mod packets;
mod preemption;
mod queueing;
mod receivers;
mod schedule;
mod shards;
