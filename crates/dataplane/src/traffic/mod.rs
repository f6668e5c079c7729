//! Traffic patterns of packets.
//!
//! | module | contents |
//! |---|---|
//! | [`histogram`] | how often times occurred |
//! | [`hosts`] | the participating HFIs, by number |
//! | [`levels`] | service levels from path records |
//! | [`mpi`] | messages between ranks, and benchmarks made of them |
//! | [`pattern`] | choice of destinations |
//! | [`streams`] | packets at a rate, or at full load |

pub mod histogram;
pub mod hosts;
pub mod levels;
pub mod mpi;
pub mod pattern;
pub mod streams;

pub use histogram::{Bucket, Histogram};
pub use hosts::{Host, Hosts};
pub use levels::PathLevels;
pub use pattern::Pattern;
pub use streams::{Received, StreamMix, Streams, StreamsOptions};
