//! The subnet managers in a report.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::{NodeType, SmState};
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, SmRecord, Snapshot};

use crate::focus::{Count, Detail, Options};
use crate::names::as_text;

/// The subnet managers that the focus leaves.
#[derive(Debug, Clone, Serialize)]
pub struct SmList {
    #[serde(flatten)]
    count: Count,
    /// In order of port GUID.
    pub list: Vec<SmEntry>,
}

/// A subnet manager.
#[derive(Debug, Clone, Serialize)]
pub struct SmEntry {
    /// Master, standby, …
    #[serde(serialize_with = "as_text")]
    pub state: SmState,
    /// Name of its node.
    pub name: String,
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Its port.
    pub port: u8,
    /// LID of that port.
    pub lid: u32,
    /// GUID of that port.
    #[serde(serialize_with = "as_text")]
    pub port_guid: Guid,
    /// 0 to 15, the higher wins.
    pub priority: u8,
    /// Counts up while it lives.
    pub act_count: u32,
    #[serde(skip)]
    sm_key: u64,
}

impl SmList {
    pub(crate) fn new(snapshot: &Snapshot, options: &Options) -> Self {
        let sms = snapshot.sms.iter().filter(|sm| options.port(sm.port));
        let mut list: Vec<SmEntry> = sms.filter_map(|sm| SmEntry::new(snapshot, sm)).collect();
        list.sort_by_key(|sm| sm.port_guid);
        let count = Count::new(snapshot.sms.len(), list.len(), options);
        Self { count, list }
    }

    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let colon = if detail > Detail::COUNTS { ":" } else { "" };
        writeln!(f, "{} Connected SMs in Fabric{colon}", self.count.total)?;
        for sm in self.list.iter().filter(|_| detail > Detail::COUNTS) {
            sm.write(f, detail)?;
        }
        self.count.write_matching(f, "SMs")
    }
}

impl SmEntry {
    fn new(snapshot: &Snapshot, sm: &SmRecord) -> Option<Self> {
        let node = snapshot.topology.node(sm.port.node)?;
        Some(Self {
            state: sm.state,
            name: node.name().to_string(),
            guid: node.guid(),
            node_type: node_type(node),
            port: sm.port.port.0,
            lid: sm.lid.0,
            port_guid: sm.port_guid,
            priority: sm.priority,
            act_count: sm.act_count,
            sm_key: sm.sm_key,
        })
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let state = self.state.to_string();
        writeln!(f, "    State: {state:<11} Name: {}", self.name)?;
        writeln!(
            f,
            "        NodeGUID: {} Type: {}",
            self.guid, self.node_type
        )?;
        if detail < Detail::USUAL {
            return Ok(());
        }
        let (port, lid) = (self.port, Lid(self.lid));
        writeln!(
            f,
            "        PortNum: {port:>3} LID: {lid} PortGUID: {}",
            self.port_guid
        )?;
        let (priority, act_count) = (self.priority, self.act_count);
        writeln!(
            f,
            "        SM_Key: {:#018x} Priority: {priority:>3} ActCount: {act_count:#010x}",
            self.sm_key
        )
    }
}
