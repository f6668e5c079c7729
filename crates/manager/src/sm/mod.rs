//! The subnet manager.

mod lids;
mod rtt;
mod transactions;

/// The manager of one fabric.
#[derive(Debug)]
pub struct Manager {}
