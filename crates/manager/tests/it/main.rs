//! The manager and its services, on emulated devices.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../pm_common/mod.rs"]
mod pm_common;

mod abandoned;
mod admission;
mod back;
mod bring_up;
mod cables;
mod cables_moved;
mod changes;
mod congestion;
mod dbsync;
mod doubtful;
mod effects;
mod flapping;
mod forged_traps;
mod gsi;
mod handover;
mod hostile;
mod link_errors;
mod loop_test;
mod loops;
mod multicast;
mod near;
mod partitions;
mod pause;
mod planning;
mod pm;
mod pm_clearing;
mod pm_images;
mod pm_kept;
mod pm_queries;
mod pm_settings;
mod port_orders;
mod port_totals;
mod ports;
mod preemption;
mod previews;
mod promises;
mod quarantine;
mod register;
mod replaced_switches;
mod replacements;
mod sa;
mod skipped_writes;
mod sm_key;
mod strays;
mod stream;
mod stubborn;
mod topology_lids;
mod training;
mod unintended;
mod unused_links;
mod wrong_cables;
