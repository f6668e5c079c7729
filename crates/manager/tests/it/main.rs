//! The manager and its services, on emulated devices.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../pm_common/mod.rs"]
mod pm_common;

mod admission;
mod bring_up;
mod cables;
mod changes;
mod congestion;
mod doubtful;
mod effects;
mod flapping;
mod gsi;
mod handover;
mod hostile;
mod loops;
mod multicast;
mod near;
mod partitions;
mod pause;
mod planning;
mod pm;
mod pm_images;
mod pm_queries;
mod pm_settings;
mod ports;
mod preemption;
mod previews;
mod quarantine;
mod register;
mod sa;
mod strays;
mod stream;
mod stubborn;
mod topology_lids;
mod unintended;
mod unused_links;
