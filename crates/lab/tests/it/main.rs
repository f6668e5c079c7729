//! Campaigns, oracles and experiments.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod arbitration;
mod beside;
mod campaign;
mod capture;
mod certified;
mod experiment;
mod hostile;
mod leftovers;
mod opareport;
mod oracles;
mod partitions;
mod program;
mod run;
