//! `mcgroups`: every multicast group with its members.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, JoinState, MulticastGroup, Snapshot};
use weft_wire::id::Gid;

use crate::RULE;
use crate::codes::{self, Membership};
use crate::focus::{Detail, Options};
use crate::names::as_text;
use crate::xml::{Xml, XmlWriter};

/// The multicast groups.
#[derive(Debug, Clone, Serialize)]
pub struct GroupsReport {
    /// Groups with members.
    pub total: usize,
    /// In the order in which the manager, or the file, tells of them; those without members too.
    pub groups: Vec<GroupEntry>,
    #[serde(skip)]
    detail: Detail,
}

/// A multicast group.
#[derive(Debug, Clone, Serialize)]
pub struct GroupEntry {
    /// Its GID.
    pub mgid: String,
    /// Its LID.
    pub mlid: u32,
    /// Partition key.
    pub pkey: u16,
    /// Queue key.
    pub q_key: u32,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// Static rate.
    pub rate: &'static str,
    /// Service level.
    pub sl: u8,
    /// Whether it stays without members.
    pub permanent: bool,
    /// In order of their GIDs.
    pub members: Vec<MemberEntry>,
    #[serde(skip)]
    group: MulticastGroup,
}

/// A port in a group.
#[derive(Debug, Clone, Serialize)]
pub struct MemberEntry {
    /// Its GID.
    pub port_gid: String,
    /// GUID of the port.
    #[serde(serialize_with = "as_text")]
    pub port_guid: Guid,
    /// Name of its node, where the fabric has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Receives, and keeps the group alive.
    pub full: bool,
    /// Receives.
    pub non: bool,
    /// Only sends.
    pub send_only: bool,
    /// Only sends, and keeps the group alive.
    pub send_only_full: bool,
    #[serde(skip)]
    port: Gid,
    #[serde(skip)]
    joined: JoinState,
}

/// Makes the report.
pub fn mcgroups(snapshot: &Snapshot, options: &Options) -> GroupsReport {
    let names: BTreeMap<Guid, String> = snapshot
        .topology
        .nodes()
        .flat_map(|(_, node)| {
            let guids = node.ports().filter_map(|(port, _)| node.port_guid(port));
            guids
                .map(|guid| (guid, node.name().to_string()))
                .collect::<Vec<_>>()
        })
        .collect();
    let groups = snapshot.administration.groups.iter();
    let groups: Vec<GroupEntry> = groups.map(|group| GroupEntry::new(group, &names)).collect();
    GroupsReport {
        total: groups
            .iter()
            .filter(|group| !group.members.is_empty())
            .count(),
        groups,
        detail: options.detail,
    }
}

impl GroupEntry {
    fn new(group: &MulticastGroup, names: &BTreeMap<Guid, String>) -> Self {
        let members = group.members.iter().map(|member| MemberEntry {
            port_gid: codes::gid(member.port),
            port_guid: member.port.interface,
            name: names.get(&member.port.interface).cloned(),
            full: member.joined.has(JoinState::FULL),
            non: member.joined.has(JoinState::NON),
            send_only: member.joined.has(JoinState::SEND_ONLY_NON),
            send_only_full: member.joined.has(JoinState::SEND_ONLY_FULL),
            port: member.port,
            joined: member.joined,
        });
        Self {
            mgid: codes::gid(group.mgid),
            mlid: group.mlid.0,
            pkey: group.pkey.0,
            q_key: group.q_key,
            mtu: group.mtu.bytes(),
            rate: codes::static_rate(group.rate),
            sl: group.sl.0,
            permanent: group.permanent,
            members: members.collect(),
            group: MulticastGroup {
                members: Vec::new(),
                ..group.clone()
            },
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let group = &self.group;
        writeln!(f, "MGID: {}", self.mgid)?;
        writeln!(
            f,
            "MLID: {:#010x} PKey: {:#06x} Mtu: {:>5} Rate: {:>4} PktLifeTime: {}",
            self.mlid,
            self.pkey,
            self.mtu,
            self.rate,
            codes::timeout(group.lifetime),
        )?;
        writeln!(
            f,
            "QKey: {:#010x} SL: {:>2} FlowLabel: {:#07x}  HopLimit: {:#04x}  TClass:  {:#04x}",
            self.q_key, self.sl, group.flow_label, group.hop_limit, group.t_class,
        )?;
        writeln!(f, "Number of Group Members: {}", self.members.len())?;
        for member in self.members.iter().filter(|_| detail > Detail::BRIEF) {
            let (gid, joined) = (&member.port_gid, Membership(member.joined));
            writeln!(f, "PortGid: {gid} Membership: {joined}")?;
            match &member.name {
                Some(name) => writeln!(f, "Name: {name} ")?,
                None => writeln!(f, "Name: Not available")?,
            }
        }
        writeln!(f)
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let group = &self.group;
        to.within_as(
            "MulticastGroup",
            format_args!("id=\"{}\"", self.mgid),
            |to| {
                to.value("NumMcGMembers", self.members.len());
                to.value("MGID", codes::gid_value(group.mgid));
                to.value("MLID", format_args!("{:#06x}", self.mlid));
                to.value("P_Key", format_args!("{:#06x}", self.pkey));
                to.value("Mtu", self.mtu);
                to.coded("Rate", self.rate, group.rate);
                to.coded(
                    "PktLifeTime",
                    &codes::timeout(group.lifetime),
                    group.lifetime,
                );
                to.value("Q_Key", format_args!("{:#010x}", self.q_key));
                to.value("SL", self.sl);
                to.value("HopLimit", format_args!("{:#x}", group.hop_limit));
                to.value("FlowLabel", format_args!("{:#x}", group.flow_label));
                to.value("TClass", format_args!("{:#04x}", group.t_class));
                for member in self.members.iter().filter(|_| detail > Detail::BRIEF) {
                    member.xml(to);
                }
            },
        );
    }
}

impl Xml for MemberEntry {
    fn xml(&self, to: &mut XmlWriter) {
        to.within_as(
            "McMembers",
            format_args!("id=\"{}\"", self.port_gid),
            |to| {
                to.value("GID", codes::gid_value(self.port));
                to.within("Membership", |to| {
                    to.value("Full", u8::from(self.full));
                    to.value("NonMember", u8::from(self.non));
                    to.value("SendOnly", u8::from(self.send_only));
                    if self.send_only_full {
                        to.value("SendOnlyFull", 1);
                    }
                });
                to.value("Membership_Int", self.joined.0);
                to.text_if("NodeDesc", self.name.as_deref());
            },
        );
    }
}

impl Xml for GroupsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("MCGroupSummary", |to| {
            to.deeper(1, |to| {
                to.value("NumMcGroups", self.total);
                for group in self.shown() {
                    group.write_xml(to, self.detail);
                }
            });
        });
    }
}

impl GroupsReport {
    /// Groups that text and XML show: those with members.
    fn shown(&self) -> impl Iterator<Item = &GroupEntry> {
        let groups = self.groups.iter().filter(|_| self.detail.lists());
        groups.filter(|group| !group.members.is_empty())
    }
}

impl fmt::Display for GroupsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Multicast Group Summary")?;
        let groups = if self.total == 1 { "Group" } else { "Groups" };
        writeln!(f, "Number of MC {groups}: {}", self.total)?;
        if self.detail.lists() {
            writeln!(f)?;
        }
        for group in self.shown() {
            group.write(f, self.detail)?;
        }
        writeln!(f, "{RULE}")
    }
}
