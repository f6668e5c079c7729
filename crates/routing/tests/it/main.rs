//! Engines and the certificate.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod adaptive;
mod answers;
mod broken;
mod by_settings;
mod degraded;
mod disjoint;
mod dmodc;
mod dor;
mod formulas;
mod groups;
mod ibdmchk;
mod intact;
mod layered;
mod loops;
mod multicast;
mod opareport;
mod oracles;
mod quality;
mod reroute;
mod studied;
mod transition;
