//! opareport's reports and points.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

mod changes;
mod details;
mod dispersion;
mod errors;
mod forwarding;
mod golden;
mod known;
mod opareport;
mod plain;
mod points;
