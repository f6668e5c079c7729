//! The page over planted faults, and over none.
#![allow(clippy::unwrap_used)]

mod healthy;
mod lab;
mod links;
mod planted;
mod values;
