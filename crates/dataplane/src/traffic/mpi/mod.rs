//! Messages between ranks, carried by packets as the host's libraries do it.
//!
//! Small messages are written by the processor into the HFI's send buffer (PIO), of which each
//! process has a share: a packet without room waits, one larger than the share is cut.
//! Larger ones are handed to the DMA engines by a system call, the largest by rendezvous: the sender
//! announces, the receiver requests one window at a time. Receives are posted before the messages
//! arrive, as the benchmarks do. Each packet that the card does not place costs the receiving
//! processor time, and a place in a queue, see `context`. On a host with an LMC the data rotates over the LIDs after the first, control
//! uses the first, as PSM2's default policy does. Dropped packets are resent by the library's
//! rules, see `recovery`.
//!
//! Not modelled: messages between ranks of one host other than by the endpoints' time; acknowledgements of
//! packets in order, and the limit of unacknowledged packets.

mod arrive;
mod bandwidth;
mod books;
mod connection;
mod context;
mod copies;
mod exchange;
mod flow;
mod job;
mod jobs;
mod latency;
mod nic;
mod pairs;
mod post;
mod rank;
mod recovery;
mod schedule;
mod stack;
mod transfer;
mod word;

pub use bandwidth::{Bandwidth, BandwidthOptions};
pub use books::{Message, ProgramBook, RankBook};
pub use copies::{Copies, CopiesOptions, Load};
pub use exchange::{AllToAll, ExchangeOptions, ExchangeOrder};
pub use job::{Job, Program};
pub use jobs::{Benchmark, Jobs, Part};
pub use latency::PingPong;
pub use nic::{Done, Mpi, NOBODY};
pub use recovery::Tally;
pub use schedule::{Operation, RankResult, RankSchedule, Schedule};
pub use stack::{HostSpeed, Method, Queue, Recovery, Stack};
