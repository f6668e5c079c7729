//! Records that are read from a published snapshot, a file a family.

pub(crate) mod components;
pub(crate) mod nodes;
pub(crate) mod port_tables;
