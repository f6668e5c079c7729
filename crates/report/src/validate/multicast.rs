//! `validatemcroutes`: whether packets to multicast groups reach members only, each once.
//!
//! As opareport, from each switch before a member: the tree is followed from there to its ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, Lid, MulticastGroup, PortNum, PortRef, Snapshot};

use super::walk::is_switch;
use crate::RULE;
use crate::focus::{Detail, Options};
use crate::links::LinkEnd;
use crate::tables::{NO_ROUTES, is_initialized};
use crate::xml::{Xml, XmlWriter, port_id};

/// Devices on a path that opareport follows.
const HOPS_MAX: usize = 64;
/// Faults that are listed; the others are counted.
const LISTED_MAX: usize = 10_000;
/// Bits of a multicast LID that count.
const OFFSET: u32 = 0x3FFF;

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McFault {
    /// It ends at a port without a link, or is too long.
    NoTrace,
    /// The switch has no entry for the LID.
    NoTable,
    /// A switch gets packets twice.
    Loop,
    /// It ends at a port that is not in the group.
    NoMember,
}

impl McFault {
    const ALL: [Self; 4] = [Self::NoTrace, Self::NoTable, Self::Loop, Self::NoMember];

    fn words(self) -> [&'static str; 2] {
        match self {
            Self::NoTrace => ["Unable to trace route", "UnableToTraceRoute"],
            Self::NoTable => ["No MFT Route Table", "NoMFTRouteTable"],
            Self::Loop => ["Found Loop", "FoundLoop"],
            Self::NoMember => ["End-node does not belong to McGroup", "EndNodeNoGroup"],
        }
    }
}

/// Whether packets to groups reach their members.
#[derive(Debug, Clone, Serialize)]
pub struct McRoutesReport {
    /// Groups with members.
    pub groups: usize,
    /// Paths from switches before members to HFIs.
    pub analyzed: u64,
    /// Paths with a fault.
    pub bad: u64,
    /// The first of these, by fault.
    pub faults: Vec<McPath>,
    /// The forwarding tables are known; else nothing was followed.
    pub with_routes: bool,
    #[serde(skip)]
    counts: BTreeMap<McFault, u64>,
    #[serde(skip)]
    detail: Detail,
}

/// A path with a fault.
#[derive(Debug, Clone, Serialize)]
pub struct McPath {
    /// What is wrong.
    pub fault: McFault,
    /// Multicast LID.
    pub mlid: u32,
    /// Members of the first group with that LID.
    pub members: usize,
    /// Devices on the path.
    pub hops: Vec<McHop>,
}

/// A device on a path.
#[derive(Debug, Clone, Serialize)]
pub struct McHop {
    /// The port by which packets come in; port 0 at the first switch.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// The port by which they come in.
    pub entry: u8,
    /// The port by which they leave, 0 for none.
    pub exit: u8,
}

/// Makes the report.
pub fn validate_mc_routes(snapshot: &Snapshot, options: &Options) -> McRoutesReport {
    let all = &snapshot.administration.groups;
    let mut report = McRoutesReport {
        groups: all.iter().filter(|group| !group.members.is_empty()).count(),
        analyzed: 0,
        bad: 0,
        faults: Vec::new(),
        with_routes: !snapshot.lacking.routes,
        counts: BTreeMap::new(),
        detail: options.detail,
    };
    let mut members: BTreeMap<Lid, usize> = BTreeMap::new();
    for group in all.iter() {
        members.entry(group.mlid).or_insert(group.members.len());
    }
    for group in all
        .iter()
        .filter(|group| report.with_routes && group.members.len() > 1)
    {
        for first in first_switches(snapshot, group) {
            let mut tree = Tree::new(snapshot, group);
            tree.walk(first.0, first.1);
            report.analyzed += tree.paths;
            for (fault, hops) in tree.faults {
                *report.counts.entry(fault).or_default() += 1;
                report.bad += 1;
                if report.faults.len() < LISTED_MAX {
                    report.faults.push(McPath {
                        fault,
                        mlid: group.mlid.0,
                        members: members.get(&group.mlid).copied().unwrap_or(0),
                        hops: hops.iter().filter_map(|hop| hop.named(snapshot)).collect(),
                    });
                }
            }
        }
    }
    report.faults.sort_by_key(|path| path.fault);
    report
}

/// Each switch before a member, once, with the port to the first of its members.
fn first_switches(snapshot: &Snapshot, group: &MulticastGroup) -> Vec<(PortRef, u8)> {
    let topology = &snapshot.topology;
    let ports: BTreeMap<Guid, PortRef> = topology
        .nodes()
        .flat_map(|(id, node)| {
            let ports = node
                .ports()
                .map(move |(port, _)| PortRef { node: id, port });
            ports
                .filter_map(|at| Some((node.port_guid(at.port)?, at)))
                .collect::<Vec<_>>()
        })
        .collect();
    let members = group
        .members
        .iter()
        .filter_map(|member| ports.get(&member.port.interface));
    let before = members
        .filter_map(|at| topology.peer(*at))
        .filter(|at| is_switch(snapshot, at.node));
    let mut seen = BTreeSet::new();
    let before = before.filter(|at| seen.insert(at.node));
    before
        .map(|at| {
            (
                PortRef {
                    port: PortNum(0),
                    ..at
                },
                at.port.0,
            )
        })
        .collect()
}

#[derive(Debug, Clone, Copy)]
struct Hop {
    port: PortRef,
    entry: u8,
    exit: u8,
}

impl Hop {
    fn named(&self, snapshot: &Snapshot) -> Option<McHop> {
        let (port, Self { entry, exit, .. }) = (LinkEnd::plain(snapshot, self.port)?, *self);
        Some(McHop { port, entry, exit })
    }
}

/// The tree of a group, followed from one switch.
struct Tree<'a> {
    snapshot: &'a Snapshot,
    group: &'a MulticastGroup,
    /// Node GUIDs of members: opareport takes the port's GUID for its node's.
    members: BTreeSet<Guid>,
    visited: BTreeSet<weft_fabric::NodeId>,
    path: Vec<Hop>,
    paths: u64,
    faults: Vec<(McFault, Vec<Hop>)>,
}

impl<'a> Tree<'a> {
    fn new(snapshot: &'a Snapshot, group: &'a MulticastGroup) -> Self {
        let members = group.members.iter().map(|member| member.port.interface);
        Self {
            snapshot,
            group,
            members: members.collect(),
            visited: BTreeSet::new(),
            path: Vec::new(),
            paths: 0,
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, fault: McFault) {
        self.faults.push((fault, self.path.clone()));
    }

    fn walk(&mut self, at: PortRef, entry: u8) {
        self.path.push(Hop {
            port: at,
            entry,
            exit: 0,
        });
        self.step(at, entry);
        self.path.pop();
    }

    fn step(&mut self, at: PortRef, entry: u8) {
        let hops = self.path.len();
        let topology = &self.snapshot.topology;
        let Some(node) = topology.node(at.node) else {
            return;
        };
        if hops >= HOPS_MAX {
            self.paths += 1;
            return self.fault(McFault::NoTrace);
        }
        let own = hops > 1 && entry == 0;
        let enhanced = node.switch.as_ref().is_some_and(|info| info.enhanced_port0);
        if !node.is_switch() || own && enhanced {
            self.paths += 1;
            if !self.members.contains(&node.guid()) {
                self.fault(McFault::NoMember);
            }
            return;
        }
        if own {
            return self.fault(McFault::NoMember);
        }
        if !self.has_entry(at) {
            self.paths += 1;
            return self.fault(McFault::NoTable);
        }
        if !self.visited.insert(at.node) {
            self.paths += 1;
            return self.fault(McFault::Loop);
        }
        self.leave(at, entry);
    }

    /// Whether the switch's table reaches up to the group's LID.
    fn has_entry(&self, at: PortRef) -> bool {
        let node = self.snapshot.topology.node(at.node);
        let info = node.and_then(|node| node.switch.as_ref());
        info.is_some_and(|info| {
            let top = info.multicast_fdb_top & OFFSET;
            top <= info.multicast_fdb_cap && (self.group.mlid.0 & OFFSET) <= top
        })
    }

    fn leave(&mut self, at: PortRef, entry: u8) {
        let topology = &self.snapshot.topology;
        let Some(switch) = topology.switch_index(at.node) else {
            return;
        };
        let known = (self.group.mlid.0 & OFFSET) < self.snapshot.multicast.row(switch).len() as u32;
        if !known {
            self.paths += 1;
            return self.fault(McFault::NoTable);
        }
        let ports = self.snapshot.multicast.ports(switch, self.group.mlid);
        for port in ports.iter().filter(|port| port.0 != entry) {
            if let Some(hop) = self.path.last_mut() {
                hop.exit = port.0;
            }
            let exit = PortRef {
                node: at.node,
                port,
            };
            let peer = topology
                .peer(exit)
                .filter(|_| is_initialized(self.snapshot, exit));
            match (port.0, peer) {
                (0, _) => self.walk(at, 0),
                (_, Some(peer)) => self.walk(peer, peer.port.0),
                (_, None) => {
                    self.paths += 1;
                    self.fault(McFault::NoTrace);
                }
            }
        }
    }
}

impl McPath {
    fn write(&self, f: &mut fmt::Formatter<'_>, framed: bool) -> fmt::Result {
        if self.members > 0 {
            writeln!(
                f,
                "MC Group {:#06x}\nNumber of Members:{} ",
                self.mlid, self.members
            )?;
        }
        for McHop { port, entry, exit } in &self.hops {
            let LinkEnd {
                guid,
                node_type,
                name,
                ..
            } = port;
            write!(f, "{guid}\t{node_type}\t{name}\t{entry:>3}\t")?;
            match exit {
                0 => writeln!(f, "-")?,
                exit => writeln!(f, "{exit:>3}")?,
            }
        }
        if framed { writeln!(f) } else { Ok(()) }
    }

    fn write_xml(&self, to: &mut XmlWriter, framed: bool) {
        match framed {
            true => to.within("McPath", |to| self.xml(to)),
            false => to.deeper(1, |to| self.xml(to)),
        }
    }
}

impl Xml for McPath {
    fn xml(&self, to: &mut XmlWriter) {
        if self.members > 0 {
            to.value("MLID", format_args!("{:#06x}", self.mlid));
            to.value("MCGroupMembers", self.members);
        }
        for McHop { port, entry, exit } in &self.hops {
            to.within_as(
                "Port",
                format_args!("{}", port_id(port.guid, port.port)),
                |to| {
                    to.value("NodeGUID", port.guid);
                    if let Some(guid) = port.port_guid {
                        to.value("PortGUID", guid);
                    }
                    to.node_type(port.node_type);
                    to.text("NodeDesc", &port.name);
                    to.value("EntryPort", entry);
                    if *exit != 0 {
                        to.value("ExitPort", exit);
                    }
                },
            );
        }
    }
}

impl McRoutesReport {
    /// Whether lists have headings.
    fn framed(&self) -> bool {
        self.detail > Detail::BRIEF
    }

    /// Faults with their number and the paths that are listed.
    fn listed(&self) -> impl Iterator<Item = (McFault, u64, impl Iterator<Item = &McPath>)> {
        let faults = McFault::ALL.into_iter().filter(|_| self.detail.lists());
        faults.filter_map(|fault| {
            let count = *self.counts.get(&fault)?;
            Some((
                fault,
                count,
                self.faults.iter().filter(move |path| path.fault == fault),
            ))
        })
    }
}

impl Xml for McRoutesReport {
    fn xml(&self, to: &mut XmlWriter) {
        if !self.with_routes {
            return to.line(format_args!("<!-- {NO_ROUTES} -->"));
        }
        to.within("ValidateMCRoutes", |to| {
            to.value("MCGroup", self.groups);
            for (fault, count, paths) in self.listed() {
                if self.framed() {
                    to.value(fault.words()[1], count);
                }
                paths.for_each(|path| path.write_xml(to, self.framed()));
            }
            to.value("AnalyzedMCRoutes", self.analyzed);
            to.value("BadMCRoutes", self.bad);
        });
    }

    fn is_good(&self) -> bool {
        self.bad == 0
    }
}

impl fmt::Display for McRoutesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "{NO_ROUTES}");
        }
        writeln!(
            f,
            "Validate Multicast Routes\n {} Multicast groups",
            self.groups
        )?;
        for (fault, count, mut paths) in self.listed() {
            if self.framed() {
                writeln!(f, "{}. Num. of paths: {count}", fault.words()[0])?;
                writeln!(f, " NodeGUID\t\tType\tName\tEntry Port\tExitPort")?;
            }
            paths.try_for_each(|path| path.write(f, self.framed()))?;
        }
        writeln!(
            f,
            " Total Analyzed MC Routes from Entry Switch to HFI: {}",
            self.analyzed
        )?;
        writeln!(f, " MC Bad Paths {}\n\n{RULE}", self.bad)
    }
}
