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
mod modules;
mod performance;
mod player;
mod routes;
mod traffic;
mod training;
mod traps;
