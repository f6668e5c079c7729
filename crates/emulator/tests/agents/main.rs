//! The agents as a manager sees them: datagrams in, datagrams out.
#![allow(clippy::unwrap_used)]

mod aggregates;
mod arming;
mod attributes;
mod player;
mod routes;
