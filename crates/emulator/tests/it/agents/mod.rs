//! The agents as a manager sees them: datagrams in, datagrams out.
#![allow(clippy::unwrap_used)]

mod aggregates;
mod arming;
mod attributes;
mod cables;
mod circles;
mod claims;
mod devices;
mod faults;
mod keys;
mod lossy_links;
mod modules;
mod partly;
mod performance;
mod player;
mod routes;
mod strangers;
mod traffic;
mod training;
mod traps;
