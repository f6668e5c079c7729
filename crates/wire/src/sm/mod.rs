//! Subnet management attributes.

pub mod node_info;

pub use node_info::NodeInfo;
