//! `quarantinednodes`: nodes that no data reaches, because they are not as the topology file has them or because of
//! what is wrong with what they say of themselves.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, Lid, Snapshot};
use weft_wire::sa::QuarantinedNodeRecord;

use crate::RULE;
use crate::focus::{Head, Options};
use crate::names::{as_text, as_text_opt};
use crate::xml::{Xml, XmlWriter};

/// Reasons of a quarantine (`STL_QUARANTINE_REASON_*`), in the order in which they are named; opareport does not name the
/// last two.
const REASONS: [(u32, &str); 9] = [
    (SPOOFED, "NodeGUID/NodeType Spoofing"),
    (0x4, "NodeDesc Mismatch"),
    (0x2, "NodeGUID Mismatch"),
    (0x8, "PortGUID Mismatch"),
    (0x10, "Undefined Link"),
    (0x40, "Small MTU Size"),
    (0x20, "Incorrect VL Count"),
    (0x80, "Packet Format Mismatch"),
    (0x100, "Small Forwarding Table"),
];

/// The reason of a device that says something wrong of itself.
const SPOOFED: u32 = 0x1;

/// The nodes in quarantine.
#[derive(Debug, Clone, Serialize)]
pub struct QuarantinedReport {
    #[serde(flatten)]
    head: Head,
    /// In the order of subnet administration.
    pub nodes: Vec<QuarantinedEntry>,
}

/// A node in quarantine.
#[derive(Debug, Clone, Serialize)]
pub struct QuarantinedEntry {
    /// NodeGUID of the trusted node that it hangs on.
    #[serde(serialize_with = "as_text")]
    pub trusted_guid: Guid,
    /// That node's port.
    pub trusted_port: u8,
    /// That node's LID.
    pub trusted_lid: u32,
    /// NodeGUID that the hardware of the trusted node's port reports.
    #[serde(serialize_with = "as_text")]
    pub neighbor_guid: Guid,
    /// Why.
    pub reasons: Vec<&'static str>,
    /// Name that the node gives itself.
    pub name: String,
    /// NodeGUID that it gives itself.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// PortGUID that it gives itself.
    #[serde(serialize_with = "as_text")]
    pub port_guid: Guid,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Its chassis or card.
    #[serde(serialize_with = "as_text")]
    pub system_guid: Guid,
    /// Its port at the link.
    pub port: u8,
    /// Name in the topology file, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_name: Option<String>,
    /// NodeGUID in the topology file, where that differs.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub expected_guid: Option<Guid>,
    /// PortGUID in the topology file, where that differs.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub expected_port_guid: Option<Guid>,
    #[serde(skip)]
    record: QuarantinedNodeRecord,
}

/// Makes the report; none where nodes in quarantine are not known, as in a file of opareport.
pub fn quarantinednodes(snapshot: &Snapshot, options: &Options) -> Option<QuarantinedReport> {
    let records = snapshot.administration.quarantined.as_ref()?;
    Some(QuarantinedReport {
        head: Head::new("", options),
        nodes: records.iter().map(QuarantinedEntry::new).collect(),
    })
}

impl QuarantinedEntry {
    fn new(record: &QuarantinedNodeRecord) -> Self {
        let has = |bit: u32| record.quarantine_reasons & bit != 0;
        let expected = &record.expected_node_info;
        let reasons = REASONS.iter().filter(|(bit, _)| has(*bit));
        Self {
            trusted_guid: record.trusted_node_guid,
            trusted_port: record.trusted_port_num.0,
            trusted_lid: record.trusted_lid.0,
            neighbor_guid: record.trusted_neighbor_node_guid,
            reasons: reasons.map(|(_, name)| *name).collect(),
            name: record.node_desc.text().into_owned(),
            guid: record.node_info.node_guid,
            port_guid: record.node_info.port_guid,
            node_type: record.node_info.node_type,
            system_guid: record.node_info.system_image_guid,
            port: record.node_info.local_port_num.0,
            expected_name: has(0x4).then(|| expected.node_desc.text().into_owned()),
            expected_guid: has(0x2).then_some(expected.node_guid),
            expected_port_guid: has(0x8).then_some(expected.port_guid),
            record: *record,
        }
    }

    fn write_expected(&self, to: &mut XmlWriter) {
        to.text_if("ExpectedNodeDesc", self.expected_name.as_deref());
        let guids = [
            ("ExpectedNodeGUID", self.expected_guid),
            ("ExpectedPortGUID", self.expected_port_guid),
        ];
        for (tag, guid) in guids {
            if let Some(guid) = guid {
                to.value(tag, guid);
            }
        }
    }

    fn write_xml(&self, to: &mut XmlWriter) {
        let info = &self.record.node_info;
        to.value("TrustedNodeGUID", self.trusted_guid);
        to.value("TrustedPortNum", self.trusted_port);
        to.value("TrustedLID", Lid(self.trusted_lid));
        to.value("NodeGUID", self.guid);
        to.value("PortGUID", self.port_guid);
        to.node_type(self.node_type);
        to.text("NodeDesc", &self.name);
        to.value("BaseVer", info.base_version);
        to.value("SmaVer", info.class_version);
        to.value("NumPorts", info.num_ports);
        to.value("SystemImageGUID", self.system_guid);
        to.value("PartitionCap", info.partition_cap);
        to.value("DeviceID", format_args!("0x{:x}", info.device_id));
        to.value("Revision", format_args!("0x{:x}", info.revision));
        to.value("VendorID", format_args!("0x{:x}", info.vendor_id));
        if self.record.quarantine_reasons == 0 {
            return;
        }
        to.within("QuarantineReasons", |to| {
            self.reasons
                .iter()
                .for_each(|reason| to.value("Reason", reason));
        });
        let expected = self.expected_name.is_some()
            || self.expected_guid.is_some()
            || self.expected_port_guid.is_some();
        if expected {
            to.within("ExpectedInfo", |to| self.write_expected(to));
        }
    }
}

impl fmt::Display for QuarantinedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = &self.record.node_info;
        let (port, lid, guid) = (self.trusted_port, self.trusted_lid, self.trusted_guid);
        writeln!(
            f,
            "Connected to Port {port} of (LID: 0x{lid:x}, NodeGUID: {guid})"
        )?;
        writeln!(
            f,
            "    Offending Node Actual NodeGUID: {}",
            self.neighbor_guid
        )?;
        writeln!(f, "    Violation(s): {}", self.reasons.join(", "))?;
        if let Some(name) = &self.expected_name {
            writeln!(f, "    Expected Node Description: {name}")?;
        }
        if let Some(guid) = self.expected_guid {
            writeln!(f, "    Expected NodeGUID: {guid}")?;
        }
        if let Some(guid) = self.expected_port_guid {
            writeln!(f, "    Expected PortGUID: {guid}")?;
        }
        f.write_str(match self.record.quarantine_reasons & SPOOFED {
            0 => "    Received node Information:\n",
            _ => "    <SPOOFED NODE REPORTED INFORMATION (May be falsified)>\n",
        })?;
        writeln!(f, "        Node Description: {}", self.name)?;
        writeln!(
            f,
            "        Type: {} Ports: {} PortNum: {} PartitionCap: {}",
            self.node_type, info.num_ports, self.port, info.partition_cap
        )?;
        writeln!(
            f,
            "        NodeGUID: {} PortGUID: {}",
            self.guid, self.port_guid
        )?;
        writeln!(
            f,
            "        SystemImageGuid: {} BaseVersion: {} SmaVersion: {}",
            self.system_guid, info.base_version, info.class_version
        )?;
        writeln!(
            f,
            "        VendorID: 0x{:x} DeviceId: 0x{:x} Revision: 0x{:x}",
            info.vendor_id, info.device_id, info.revision
        )
    }
}

impl Xml for QuarantinedReport {
    fn xml(&self, to: &mut XmlWriter) {
        self.head.write_xml(to);
        if self.nodes.is_empty() {
            return;
        }
        to.deeper(1, |to| {
            to.within("QuarantinedNodes", |to| {
                for node in &self.nodes {
                    to.within("QNode", |to| node.write_xml(to));
                }
            });
        });
    }
}

impl fmt::Display for QuarantinedReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.write_focus(f)?;
        for (number, node) in self.nodes.iter().enumerate() {
            match number {
                0 => writeln!(f, "QuarantinedNodes:")?,
                _ => writeln!(f, "{RULE}")?,
            }
            write!(f, "{node}")?;
        }
        match self.nodes.is_empty() {
            true => Ok(()),
            false => writeln!(f, "{RULE}"),
        }
    }
}
