//! Measurements: one file for each subject of `weft-bench`, and shared code.

pub mod bringup;
pub mod config;
pub mod counters;
pub mod dataplane;
pub mod fabrics;
pub mod failover;
pub mod failure;
pub mod intended;
pub mod link_errors;
pub mod managers;
mod memory;
pub mod opensm;
pub mod pm;
pub mod quality;
mod reader;
pub mod reports;
pub mod routing;
pub mod sa;
pub mod serving;
pub mod simulators;
pub mod states;
pub mod table;
pub mod torus;

pub use failure::Failure;
