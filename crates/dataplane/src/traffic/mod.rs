//! Who sends what: patterns of packets.
//!
//! | module | what it holds |
//! |---|---|
//! | [`hosts`] | the HFIs that take part, by number |
//! | [`levels`] | the service levels that path records tell |
//! | [`mpi`] | messages between ranks, and benchmarks made of them |
//! | [`pattern`] | who sends to whom |
//! | [`streams`] | packets at a rate, or as many as fit |

pub mod hosts;
pub mod levels;
pub mod mpi;
pub mod pattern;
pub mod streams;

pub use hosts::{Host, Hosts};
pub use levels::PathLevels;
pub use pattern::Pattern;
pub use streams::{Received, StreamMix, Streams, StreamsOptions};
