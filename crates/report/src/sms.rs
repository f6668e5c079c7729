//! The subnet managers in a report.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::{NodeType, SmState};
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, SmRecord, Snapshot};

use crate::extent::Extent;
use crate::focus::{Count, Detail, Options};
use crate::names::as_text;
use crate::xml::{XmlWriter, port_id};

/// The subnet managers that the focus leaves.
#[derive(Debug, Clone, Serialize)]
pub struct SmList {
    #[serde(flatten)]
    pub(crate) count: Count,
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
    /// What the topology file says of its node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_details: Option<String>,
    /// What the topology file says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sm_details: Option<String>,
    #[serde(skip)]
    sm_key: u64,
    #[serde(skip)]
    pub(crate) extent: Extent,
}

impl SmList {
    pub(crate) fn new(snapshot: &Snapshot, options: &Options) -> Self {
        let sms = snapshot.sms.iter().enumerate();
        let sms = sms.filter(|(_, sm)| options.port(sm.port));
        let mut list: Vec<SmEntry> = sms
            .filter_map(|(place, sm)| SmEntry::new(snapshot, options, place, sm))
            .collect();
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

    pub(crate) fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.within("SMs", |to| {
            to.value("ConnectedSMCount", self.count.total);
            for sm in self.list.iter().filter(|_| detail.lists()) {
                sm.write_xml(to, detail.within());
            }
            self.count.write_xml(to, "MatchingSMs");
        });
    }
}

impl SmEntry {
    /// The subnet manager at a place of the snapshot.
    pub(crate) fn new(
        snapshot: &Snapshot,
        options: &Options,
        place: usize,
        sm: &SmRecord,
    ) -> Option<Self> {
        let file = options.expected.as_ref();
        let entry = file.and_then(|file| file.file.sms.get(file.sm_entry(place)?));
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
            node_details: options.node_details(sm.port.node),
            sm_details: entry.and_then(|entry| entry.details.clone()),
            sm_key: sm.sm_key,
            extent: options.extent,
        })
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let attributes = port_id(self.guid, self.port);
        to.within_as("SM", format_args!("{attributes}"), |to| {
            if self.extent.has_passing() {
                to.coded("State", &self.state.to_string(), self.state.0);
            }
            to.text("NodeDesc", &self.name);
            to.value("NodeGUID", self.guid);
            to.node_type(self.node_type);
            to.text_if("NodeDetails", self.node_details.as_deref());
            to.text_if("SMDetails", self.sm_details.as_deref());
            if !detail.lists() {
                return;
            }
            to.value("PortNum", self.port);
            let extent = self.extent;
            if extent.has_passing() {
                to.value("LID", Lid(self.lid));
            }
            to.value("PortGUID", self.port_guid);
            if extent.has_passing() {
                to.value("SM_Key", format_args!("{:#018x}", self.sm_key));
            }
            if extent.has_settings() {
                to.value("Priority", self.priority);
            }
            if extent.has_passing() {
                to.value("ActCount", format_args!("{:#010x}", self.act_count));
            }
        });
    }

    /// Writes what the topology file says of it.
    pub(crate) fn write_details(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        if let Some(details) = &self.node_details {
            writeln!(f, "{:indent$}NodeDetails: {details}", "")?;
        }
        if let Some(details) = &self.sm_details {
            writeln!(f, "{:indent$}SMDetails: {details}", "")?;
        }
        Ok(())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let extent = self.extent;
        writeln!(f, "    State: {} Name: {}", self.state_text(), self.name)?;
        writeln!(
            f,
            "        NodeGUID: {} Type: {}",
            self.guid, self.node_type
        )?;
        self.write_details(f, 8)?;
        if detail < Detail::USUAL {
            return Ok(());
        }
        let (port, lid) = (self.port, extent.passing(Lid(self.lid), "xxxxxxxxxx"));
        writeln!(
            f,
            "        PortNum: {port:>3} LID: {lid} PortGUID: {}",
            self.port_guid
        )?;
        let key = extent.passing(format_args!("{:#018x}", self.sm_key), "xxxxxxxxxxxxxxxxxx");
        let priority = extent.setting(format_args!("{:>3}", self.priority), "xxx");
        let act_count = extent.passing(format_args!("{:#010x}", self.act_count), "xxxxxxxxxx");
        writeln!(
            f,
            "        SM_Key: {key} Priority: {priority} ActCount: {act_count}"
        )
    }

    /// Its state in its column.
    pub(crate) fn state_text(&self) -> String {
        let state = self.state.to_string();
        self.extent
            .passing(format_args!("{state:<11}"), "xxxxxxxxxxx")
    }
}
