//! Records that are read from a published snapshot, a file a family.

pub(crate) mod cables;
pub(crate) mod components;
pub(crate) mod congestion;
pub(crate) mod fabric;
pub(crate) mod forwarding;
pub(crate) mod groups;
pub(crate) mod ib_nodes;
pub(crate) mod nodes;
pub(crate) mod port_tables;
pub(crate) mod quarantined;
pub(crate) mod trace;
pub(crate) mod vf_info;
