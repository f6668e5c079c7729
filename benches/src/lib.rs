//! Measurements: one file for each subject of `weft-bench`, and shared code.

pub mod bringup;
pub mod config;
pub mod dataplane;
pub mod fabrics;
pub mod failure;
pub mod intended;
pub mod managers;
mod memory;
pub mod opensm;
pub mod quality;
pub mod routing;
pub mod sa;
pub mod serving;
pub mod simulators;
pub mod table;

pub use failure::Failure;
