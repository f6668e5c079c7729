//! Experiments and the program.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

mod arbitration;
mod beside;
mod certified;
mod chakra;
mod collectives;
mod experiment;
mod goal_binary;
mod hardware;
mod hostile;
mod intervals;
mod latencies;
mod lid_order;
mod parts;
mod placement;
mod program;
mod replay;
mod replay_sa;
mod run;
mod sweeps;
mod tables;
mod tornado;
mod traffic_files;
