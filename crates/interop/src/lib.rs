//! A harness for tests: the vendor's unmodified manager and tools on an emulated fabric.
//!
//! [`Fabric`] hosts the emulator in the test's process, so that a test can look at its registers;
//! programs reach it by its socket, with the preload library. [`VendorSm`] is the vendor's `sm`,
//! [`Weftd`] is Weft's own daemon.
//! Only tests use this crate: what goes wrong here is a failed test, and panics.
#![allow(clippy::unwrap_used)]

pub mod build;
pub mod fabric;
pub mod membership;
pub mod quarantine;
pub mod routes;
pub mod running;
pub mod slurmctld;
pub mod terminal;
pub mod topology_file;
pub mod vendor_sm;
pub mod wait;
pub mod weftd;

pub use build::built;
pub use fabric::{Fabric, Ran};
pub use running::Running;
pub use slurmctld::Slurmctld;
pub use terminal::Terminal;
pub use topology_file::topology_file;
pub use vendor_sm::{SmSettings, Sweep, VendorSm};
pub use wait::{PATIENCE, free_address, wait_for};
pub use weftd::Weftd;
