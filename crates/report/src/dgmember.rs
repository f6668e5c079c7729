//! `dgmember`: the ports in every device group of the configuration.

use std::fmt;

use serde::Serialize;
use weft_fabric::{DeviceGroup, Guid, Lid, Snapshot};

use crate::RULE;
use crate::names::as_text;
use crate::xml::{Xml, XmlWriter};

/// The device groups.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceGroupsReport {
    /// In the order of the configuration; those without members too.
    pub groups: Vec<DeviceGroupEntry>,
}

/// A device group.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceGroupEntry {
    /// Its name.
    pub name: String,
    /// Its ports with a link, in the order of subnet administration.
    pub members: Vec<DeviceGroupPort>,
}

/// A port in a device group.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceGroupPort {
    /// Its LID, or its switch's.
    pub lid: u32,
    /// Its number.
    pub port: u8,
    /// GUID of the port, or of its node's first.
    #[serde(serialize_with = "as_text")]
    pub port_guid: Guid,
    /// Name of its node.
    pub name: String,
}

/// Makes the report; none where device groups are not known, as in a file of opareport.
pub fn dgmember(snapshot: &Snapshot) -> Option<DeviceGroupsReport> {
    let groups = snapshot.administration.device_groups.as_ref()?;
    let groups = groups
        .iter()
        .map(|DeviceGroup { name, members }| DeviceGroupEntry {
            name: name.clone(),
            members: members
                .iter()
                .map(|member| DeviceGroupPort {
                    lid: member.lid.0,
                    port: member.port.0,
                    port_guid: member.guid,
                    name: member.node_description.text().into_owned(),
                })
                .collect(),
        });
    Some(DeviceGroupsReport {
        groups: groups.collect(),
    })
}

impl DeviceGroupsReport {
    /// Groups that text and XML show: those with members.
    fn shown(&self) -> impl Iterator<Item = &DeviceGroupEntry> {
        self.groups.iter().filter(|group| !group.members.is_empty())
    }
}

impl Xml for DeviceGroupsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.deeper(1, |to| {
            to.within("DGMembershipReport", |to| {
                for (number, group) in self.shown().enumerate() {
                    to.line(format_args!("<DGGroup id=\"{number}\">"));
                    to.text("Name", &group.name);
                    to.deeper(1, |to| group.write_members(to));
                    to.line(format_args!("</DGGroup>"));
                }
                to.value("ReportedDeviceGroupCount", self.shown().count());
            });
        });
    }
}

impl DeviceGroupEntry {
    fn write_members(&self, to: &mut XmlWriter) {
        for (number, member) in self.members.iter().enumerate() {
            to.within_as("DGMember", format_args!("id=\"{number}\""), |to| {
                to.value("LID", Lid(member.lid));
                to.value("PortNum", member.port);
                to.value("PortGUID", member.port_guid);
                to.text("NodeDesc", &member.name);
            });
        }
    }
}

impl fmt::Display for DeviceGroupsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nDG Membership Report")?;
        for (number, group) in self.shown().enumerate() {
            if number > 0 {
                writeln!(f, "{RULE}")?;
            }
            writeln!(f, "Device Group: {}", group.name)?;
            for DeviceGroupPort {
                lid,
                port,
                port_guid,
                name,
            } in &group.members
            {
                writeln!(f, "    LID: {}\n    PortNum: {port}", Lid(*lid))?;
                writeln!(f, "    PortGUID: {port_guid}\n    NodeDesc: {name}\n")?;
            }
        }
        writeln!(
            f,
            "    {} Reported Device Group(s)\n{RULE}",
            self.shown().count()
        )
    }
}
