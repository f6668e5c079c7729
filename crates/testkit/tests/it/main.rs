//! Campaigns, oracles, and the whole fabric as other people's programs see it.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod alike;
mod attacks;
mod campaign;
mod capture;
mod counters;
mod fencing;
mod leftovers;
mod mandate;
mod objections;
mod opareport;
mod oracles;
mod pair;
mod partitions;
mod recording_cost;
mod recordings;
mod reports;
mod torus;
