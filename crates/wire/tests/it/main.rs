//! Layouts, datagrams and captures.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod aggregate;
mod dump;
mod layouts;
mod rmpp;
mod smp;
mod tshark;
mod vendor_layouts;
