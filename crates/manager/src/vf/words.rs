//! Refusals and registers in words.

use std::fmt;

use weft_fabric::{PortRef, PortTable, Topology};

use super::reach::Why;
use super::way::RegisterValue;

impl Why {
    /// The reason, with ports by the names of their nodes.
    pub fn words(&self, topology: &Topology) -> String {
        let port = |at: &PortRef| port_words(topology, *at);
        match self {
            Self::Standby => "it is on standby".to_owned(),
            Self::NoMember(at) => format!("{} is not a member", port(at)),
            Self::BothLimited => {
                "both are limited members, and these reach full members only".to_owned()
            }
            Self::Unread { at, table } => {
                format!("{} of {} is not confirmed", table_name(*table), port(at))
            }
            Self::NoKey { at, partition } => {
                format!("P_KeyTable of {} has no key {:#06x}", port(at), partition.0)
            }
            Self::LimitedKeys(partition) => format!(
                "both P_Key tables have the key {:#06x} of a limited member",
                partition.0
            ),
            Self::Checked { at, key } => {
                format!(
                    "{} checks P_Keys and does not let {:#06x} pass",
                    port(at),
                    key.0
                )
            }
            Self::NoChannel { at, sl } => format!(
                "SLtoSCMappingTable of {} leads SL {} to no channel for data",
                port(at),
                sl.0
            ),
            Self::NoLane { at, sc } => {
                format!("{} has no lane for data of SC {}", port(at), sc.0)
            }
            Self::Inactive { at } => format!("the link at {} is not active", port(at)),
            Self::Astray { at } => format!(
                "the forwarding table behind {} does not lead to the other port",
                port(at)
            ),
        }
    }
}

fn port_words(topology: &Topology, at: PortRef) -> String {
    let name = topology
        .node(at.node)
        .map_or_else(String::new, |node| node.name());
    format!("{name} port {}", at.port)
}

/// Names of tables as in the specification.
fn table_name(table: PortTable) -> &'static str {
    match table {
        PortTable::PKeys => "P_KeyTable",
        PortTable::SlToSc => "SLtoSCMappingTable",
        PortTable::ScToSc => "SCtoSCMappingTable",
        _ => "SCtoVLtMappingTable",
    }
}

impl RegisterValue {
    /// The table that the entry is in.
    pub fn table(&self) -> &'static str {
        table_name(match self {
            Self::PKey { .. } => PortTable::PKeys,
            Self::SlToSc(..) => PortTable::SlToSc,
            Self::ScToSc(..) => PortTable::ScToSc,
            Self::ScToVlt(..) => PortTable::ScToVlt,
        })
    }
}

impl fmt::Display for RegisterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PKey { index, key } => write!(f, "{:#06x} at index {index}", key.0),
            Self::SlToSc(sl, sc) => write!(f, "SL {} is SC {}", sl.0, sc.0),
            Self::ScToSc(sc, egress, onward) => {
                write!(f, "SC {} is SC {} to port {egress}", sc.0, onward.0)
            }
            Self::ScToVlt(sc, vl) => write!(f, "SC {} is VL {}", sc.0, vl.0),
        }
    }
}
