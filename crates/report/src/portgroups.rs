//! `portgroups`: the adaptive-routing groups of every switch.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, NodeId, PortMask, Snapshot, UNREACHABLE};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;
use crate::tables::{NO_ROUTES, nodes_by_guid, uses_groups};
use crate::xml::{Xml, XmlWriter};

/// The groups of ports.
#[derive(Debug, Clone, Serialize)]
pub struct PortGroupsReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Those that the focus leaves and that have groups or use them, in order of GUID.
    pub switches: Vec<SwitchGroups>,
    /// The forwarding tables are known; else nothing is listed.
    pub with_routes: bool,
    #[serde(skip)]
    detail: Detail,
}

/// The groups of one switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchGroups {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Groups in use, by number.
    pub groups: Vec<GroupOfPorts>,
    /// LIDs with the same group, in order; those without one are left out.
    pub lids: Vec<LidRange>,
    #[serde(skip)]
    runs: Vec<LidRange>,
}

/// Ports among which a switch chooses.
#[derive(Debug, Clone, Serialize)]
pub struct GroupOfPorts {
    /// Its ports.
    pub ports: Vec<u8>,
    /// LIDs to which they lead.
    pub lids: u32,
    #[serde(skip)]
    mask: u64,
}

/// LIDs with the same group.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LidRange {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
    /// The group, 255 for none.
    pub group: u8,
}

/// Makes the report.
pub fn portgroups(snapshot: &Snapshot, options: &Options) -> PortGroupsReport {
    let with_routes = !snapshot.lacking.routes;
    let nodes = nodes_by_guid(snapshot).into_iter();
    let nodes = nodes.filter(|id| with_routes && options.node(*id));
    PortGroupsReport {
        head: Head::new("Port Groups", options),
        total: snapshot.topology.switches().len(),
        switches: nodes
            .filter_map(|id| SwitchGroups::new(snapshot, id))
            .collect(),
        with_routes,
        detail: options.detail,
    }
}

impl SwitchGroups {
    fn new(snapshot: &Snapshot, id: NodeId) -> Option<Self> {
        let node = snapshot.topology.node(id)?;
        let info = node.switch.as_ref()?;
        let index = snapshot.topology.switch_index(id)?;
        let count = if uses_groups(info) {
            info.port_group_top
        } else {
            0
        };
        let tables = snapshot.groups.switches.get(index.0 as usize);
        if !uses_groups(info) && tables.is_none_or(|tables| tables.groups.is_empty()) {
            return None;
        }
        let (masks, fdb) = tables.map_or((&[][..], &[][..]), |of| (&of.groups, &of.fdb));
        let linear = snapshot.linear.row(index);
        let lids = linear
            .iter()
            .zip(fdb)
            .skip(1)
            .filter(|(egress, _)| **egress != UNREACHABLE);
        let mut counts = [0_u32; 256];
        lids.for_each(|(_, group)| counts[usize::from(*group)] += 1);
        let groups = (0..usize::from(count)).map(|number| {
            let mask = masks.get(number).copied().unwrap_or(PortMask::EMPTY);
            GroupOfPorts {
                ports: mask.iter().map(|port| port.0).collect(),
                lids: counts[number],
                mask: mask.word(0) >> 1 | mask.word(1) << 63,
            }
        });
        // A table without an entry is not in files.
        let none = vec![UNREACHABLE; linear.len()];
        let fdb = if fdb.is_empty() { &none } else { fdb };
        let known = fdb.len().min(linear.len());
        let runs = match count {
            0 => Vec::new(),
            _ => runs(&fdb[..known]),
        };
        Some(Self {
            guid: node.guid(),
            name: node.name().to_string(),
            groups: groups.collect(),
            lids: runs
                .iter()
                .copied()
                .filter(|run| run.group != UNREACHABLE)
                .collect(),
            runs,
        })
    }

    fn lids(&self) -> Spread {
        Spread::of(self.groups.iter().map(|group| group.lids))
    }

    fn sizes(&self) -> Spread {
        Spread::of(self.groups.iter().map(|group| group.mask.count_ones()))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let full = detail > Detail::USUAL;
        writeln!(f, "\n{} SW {}", self.guid, self.name)?;
        if full {
            writeln!(f, "              Group : Ports")?;
        }
        if self.groups.is_empty() {
            return writeln!(f, "    (no groups)");
        }
        for (number, group) in self.groups.iter().enumerate().filter(|_| full) {
            write!(f, "                {number:>3} : ")?;
            if group.mask == 0 {
                write!(f, "None")?;
            }
            for bit in (0..64).filter(|bit| group.mask >> bit & 1 == 1) {
                write!(f, "{}, ", bit + 1)?;
            }
            writeln!(f)?;
        }
        if full {
            writeln!(f)?;
        }
        self.sizes().write(f, self.groups.len(), "Ports", "")?;
        self.lids().write_only(f, self.groups.len(), " ", "Lids")?;
        if !full {
            return Ok(());
        }
        writeln!(f, "    ----  Lid Range  ---- Group #")?;
        for LidRange { first, last, group } in &self.runs {
            write!(f, "    {first:#010x} - {last:08x} ")?;
            match *group {
                UNREACHABLE => writeln!(f, "(none)")?,
                group => writeln!(f, "{group:>3}")?,
            }
        }
        Ok(())
    }
}

/// LIDs from 1 on with the same group.
fn runs(fdb: &[u8]) -> Vec<LidRange> {
    let mut runs: Vec<LidRange> = Vec::new();
    for (lid, group) in (0..).zip(fdb).skip(1) {
        match runs.last_mut() {
            Some(run) if run.group == *group => run.last = lid,
            _ => runs.push(LidRange {
                first: lid,
                last: lid,
                group: *group,
            }),
        }
    }
    runs
}

/// Least, most and sum.
#[derive(Debug, Clone, Copy)]
struct Spread {
    least: u32,
    most: u32,
    sum: u32,
}

impl Spread {
    fn of(values: impl Iterator<Item = u32>) -> Self {
        let none = Self {
            least: u32::MAX,
            most: 0,
            sum: 0,
        };
        values.fold(none, |all, value| Self {
            least: all.least.min(value),
            most: all.most.max(value),
            sum: all.sum + value,
        })
    }

    fn join(all: impl Iterator<Item = Self>) -> Self {
        let none = Self {
            least: u32::MAX,
            most: 0,
            sum: 0,
        };
        all.fold(none, |all, one| Self {
            least: all.least.min(one.least),
            most: all.most.max(one.most),
            sum: all.sum + one.sum,
        })
    }

    fn write(
        self,
        f: &mut fmt::Formatter<'_>,
        groups: usize,
        what: &str,
        pad: &str,
    ) -> fmt::Result {
        writeln!(f, "         Num Groups : {groups}")?;
        self.write_only(f, groups, pad, what)
    }

    fn write_only(
        self,
        f: &mut fmt::Formatter<'_>,
        groups: usize,
        pad: &str,
        what: &str,
    ) -> fmt::Result {
        let Self { least, most, sum } = self;
        writeln!(f, "    {pad}Max {what}/Group : {most}")?;
        writeln!(f, "    {pad}Min {what}/Group : {least}")?;
        writeln!(
            f,
            "    {pad}Avg {what}/Group : {:.1}",
            sum as f32 / groups as f32
        )
    }
}

impl Xml for SwitchGroups {
    fn xml(&self, to: &mut XmlWriter) {
        self.write_xml(to, Detail::FULL);
    }
}

impl SwitchGroups {
    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let full = detail > Detail::USUAL;
        to.line(format_args!("<PortGroupSummary>"));
        to.node((self.guid, NodeType::SWITCH, &self.name), |to| {
            if self.groups.is_empty() {
                return;
            }
            for (number, group) in self.groups.iter().enumerate().filter(|_| full) {
                to.within_as("Value", format_args!("ID=\"{number}\""), |to| {
                    to.value("PortGroup", format_args!("{:#018x}", group.mask));
                });
            }
            let (sizes, lids) = (self.sizes(), self.lids());
            to.value("NumGroups", self.groups.len());
            to.value("MaxGroupSize", sizes.most);
            to.value("MinGroupSize", sizes.least);
            to.value("MaxLidsGroup", lids.most);
            to.value("MinLidsGroup", lids.least);
            if full {
                to.within("PortGroupForwardingTable", |to| self.write_lids(to));
            }
        });
        to.line(format_args!("</PortGroupSummary>"));
    }

    fn write_lids(&self, to: &mut XmlWriter) {
        for LidRange { first, last, group } in &self.lids {
            for lid in *first..=*last {
                to.within_as(
                    "Value",
                    format_args!("LID=\"{}\"", weft_fabric::Lid(lid)),
                    |to| {
                        to.value("PortGroup", format_args!("{group:#x}"));
                    },
                );
            }
        }
    }
}

impl Xml for PortGroupsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("PortGroups", |to| {
            match self.with_routes {
                false => to.line(format_args!("<!-- {NO_ROUTES} -->")),
                true => {
                    self.head.write_xml(to);
                    to.value("ConnectedSwitchCount", self.total);
                }
            }
            self.switches
                .iter()
                .for_each(|switch| switch.write_xml(to, self.detail));
            to.value("ReportedSwitchCount", self.switches.len());
        });
    }
}

impl fmt::Display for PortGroupsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "Port Groups\n{NO_ROUTES}\n0 Reported Switch(es)\n{RULE}");
        }
        let colon = if self.detail.lists() { ":" } else { "" };
        write!(f, "{}", self.head)?;
        writeln!(f, "{} Connected Switches in Fabric{colon}", self.total)?;
        if !self.switches.is_empty() {
            writeln!(f, "NodeGUID         Type Name")?;
        }
        self.switches
            .iter()
            .try_for_each(|switch| switch.write(f, self.detail))?;
        let used = || {
            self.switches
                .iter()
                .filter(|switch| !switch.groups.is_empty())
        };
        let groups: usize = used().map(|switch| switch.groups.len()).sum();
        match groups {
            0 => writeln!(f, "\nNo port groups found.")?,
            _ => {
                writeln!(f, "\nSummary:")?;
                Spread::join(used().map(SwitchGroups::sizes)).write(f, groups, "Ports", "")?;
                Spread::join(used().map(SwitchGroups::lids)).write_only(f, groups, " ", "Lids")?;
            }
        }
        writeln!(f, "{} Reported Switch(es)\n{RULE}", self.switches.len())
    }
}
