//! The subnet manager.

/// The manager of one fabric.
#[derive(Debug)]
pub struct Manager {}
