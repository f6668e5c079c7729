//! `vfmember`: the virtual fabrics of every end port, with channels, lanes and buffers.

use std::fmt;

use serde::Serialize;
use weft_fabric::{PortRef, PortTable, Sl, Snapshot};
use weft_wire::sa::VfInfoRecord;
use weft_wire::sm::BufferControlTable;

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::links::LinkEnd;
use crate::tables::{channel_and_lane, end_port_lid, is_member, known_ports, table};
use crate::vfcheck::{self, Finding};
use crate::xml::{Xml, XmlWriter, port_id};

/// The virtual fabrics of ports.
#[derive(Debug, Clone, Serialize)]
pub struct MembershipReport {
    #[serde(flatten)]
    head: Head,
    /// End ports, and ports of switches before HFIs, in order of GUID and port.
    pub ports: Vec<PortMembership>,
    /// The tables of ports are known; else nothing is listed.
    pub with_tables: bool,
    #[serde(skip)]
    detail: Detail,
}

/// The virtual fabrics of a port.
#[derive(Debug, Clone, Serialize)]
pub struct PortMembership {
    /// The port.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// Its LID, or its switch's.
    pub lid: u32,
    /// The other end of its link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbor: Option<NeighborEnd>,
    /// Virtual fabrics of the port, or of the HFI behind it.
    pub virtual_fabrics: Vec<MemberOf>,
    /// What does not fit together.
    pub findings: Vec<Finding>,
    #[serde(skip)]
    with_buffers: bool,
}

/// The other end of a link.
#[derive(Debug, Clone, Serialize)]
pub struct NeighborEnd {
    /// The port.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// Its LID, or its switch's.
    pub lid: u32,
}

/// A virtual fabric of a port.
#[derive(Debug, Clone, Serialize)]
pub struct MemberOf {
    /// Its place in the configuration.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// Unicast.
    pub base: Level,
    /// Multicast, where it has a service level of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<Level>,
    /// Buffer of the lane of multicast, else of unicast, in the neighbour's allocation units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
}

/// A service level with its channel and lane.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Level {
    /// Service level.
    pub sl: u8,
    /// Service channel.
    pub sc: u8,
    /// Virtual lane.
    pub vl: u8,
}

/// Limits of a lane's buffer.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Buffer {
    /// Of its own.
    pub dedicated: u16,
    /// Of the shared space.
    pub shared: u16,
}

/// Makes the report.
pub fn vfmember(snapshot: &Snapshot, options: &Options) -> MembershipReport {
    let with_tables = !snapshot.lacking.port_tables;
    let known = known_ports(snapshot).into_iter().filter(|_| with_tables);
    let ports = known.filter(|at| options.port(*at));
    MembershipReport {
        head: Head::new("VF Membership Report", options),
        ports: ports
            .filter_map(|at| PortMembership::new(snapshot, at))
            .collect(),
        with_tables,
        detail: options.detail,
    }
}

impl PortMembership {
    /// None for a port between switches.
    fn new(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        let peer = snapshot.topology.peer(at);
        let is_switch = |at: PortRef| snapshot.topology.switch_index(at.node).is_some();
        let of = match is_switch(at) && at.port.0 != 0 {
            true => peer.filter(|peer| !is_switch(*peer))?,
            false => at,
        };
        let fabrics = &snapshot.administration.virtual_fabrics;
        let fabrics: Vec<&VfInfoRecord> = fabrics
            .iter()
            .filter(|fabric| is_member(snapshot, of, fabric))
            .collect();
        let buffers = table::<BufferControlTable>(snapshot, of, PortTable::Buffers);
        let buffers = buffers.filter(|_| of.port.0 != 0 && !snapshot.lacking.buffers);
        let member_of = fabrics
            .iter()
            .map(|fabric| MemberOf::new(snapshot, of, fabric, buffers.as_ref()));
        let neighbor = peer.and_then(|peer| {
            let port = LinkEnd::plain(snapshot, peer)?;
            Some(NeighborEnd {
                port,
                lid: end_port_lid(snapshot, peer),
            })
        });
        Some(Self {
            port: LinkEnd::plain(snapshot, at)?,
            lid: end_port_lid(snapshot, at),
            neighbor,
            virtual_fabrics: member_of.collect(),
            findings: vfcheck::findings(snapshot, of, &fabrics, buffers.as_ref()),
            with_buffers: buffers.is_some(),
        })
    }
}

impl MemberOf {
    fn new(
        snapshot: &Snapshot,
        at: PortRef,
        fabric: &VfInfoRecord,
        buffers: Option<&BufferControlTable>,
    ) -> Self {
        let level = |sl: Sl| {
            let (sc, vl) = channel_and_lane(snapshot, at, sl);
            Level {
                sl: sl.0,
                sc: sc.0,
                vl: vl.0,
            }
        };
        let multicast = fabric
            .sl_multicast_specified
            .then(|| level(fabric.sl_multicast));
        let base = level(fabric.sl_base);
        let lane = multicast.map_or(base.vl, |level| level.vl);
        Self {
            index: fabric.vf_index,
            name: fabric.vf_name.text().into_owned(),
            base,
            multicast,
            buffer: buffers.map(|buffers| {
                let limits = buffers.vl[usize::from(lane)];
                Buffer {
                    dedicated: limits.tx_dedicated_limit,
                    shared: limits.tx_shared_limit,
                }
            }),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, with_buffers: bool) -> fmt::Result {
        let Level { sl, sc, vl } = self.base;
        write!(
            f,
            "    {:<4}\t{}\t\t{sl}\t{sc}\t{vl}",
            self.name, self.index
        )?;
        match self.multicast.filter(|multicast| multicast.sl != sl) {
            Some(Level { sl, sc, vl }) => write!(f, "\t\t{sl}\t{sc}\t{vl}")?,
            None => write!(f, "\t\tN/A\tN/A\tN/A")?,
        }
        match self.buffer.filter(|_| with_buffers) {
            Some(Buffer { dedicated, shared }) => writeln!(f, "\t{dedicated}\t\t{shared}"),
            None => writeln!(f),
        }
    }

    fn write_xml(&self, to: &mut XmlWriter, with_buffers: bool) {
        to.within_as(
            "VirtualFabric",
            format_args!("id=\"{}\"", self.index),
            |to| {
                to.text("Name", &self.name);
                to.value("Index", self.index);
                to.value("BaseSL", self.base.sl);
                to.value("BaseSC", self.base.sc);
                to.value("VL", self.base.vl);
                if let Some(Level { sl, sc, vl }) = self.multicast {
                    to.value("MulticastSL", sl);
                    to.value("MulticastSC", sc);
                    to.value("MulticastVL", vl);
                }
                if let Some(Buffer { dedicated, shared }) = self.buffer.filter(|_| with_buffers) {
                    to.value("DedicatedBuffer", dedicated);
                    to.value("SharedBuffer", shared);
                }
            },
        );
    }
}

/// Level of detail from which buffers are shown, and that from which findings are.
const BUFFERS: Detail = Detail(3);
const FINDINGS: Detail = Detail(4);

impl PortMembership {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        writeln!(f, "{}", self.port.name)?;
        let LinkEnd {
            node_type,
            guid,
            port,
            ..
        } = &self.port;
        writeln!(
            f,
            "LID {}\t{node_type}\tNodeGUID {guid}\nPort {port}",
            self.lid
        )?;
        if let Some(NeighborEnd { port: end, lid }) = &self.neighbor {
            let LinkEnd {
                node_type,
                guid,
                port,
                ..
            } = end;
            writeln!(f, "    Neighbor Node: {}", end.name)?;
            writeln!(
                f,
                "    LID {lid}\t{node_type}\tNodeGUID {guid}\n    Port {port}"
            )?;
        }
        writeln!(f, "VF Membership:")?;
        write!(
            f,
            "    VF Name\tVF Index\tBaseSL\tBaseSC\tBaseVL\t\tMcastSL\tMcastSC\tMcastVL"
        )?;
        let with_buffers = self.with_buffers && detail >= BUFFERS;
        if with_buffers {
            write!(f, "\tDedicated\tShared")?;
        }
        writeln!(f)?;
        for fabric in &self.virtual_fabrics {
            fabric.write(f, with_buffers)?;
        }
        writeln!(f)?;
        if detail >= FINDINGS {
            for finding in &self.findings {
                write!(f, "{finding}")?;
            }
            writeln!(f, "    VF Allocation Validated")?;
        }
        writeln!(f)
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let LinkEnd { guid, port, .. } = &self.port;
        to.within_as("Port", format_args!("{}", port_id(*guid, *port)), |to| {
            to.value("NodeGUID", guid);
            to.value("PortNum", port);
            to.node_type(self.port.node_type);
            to.text("NodeDesc", &self.port.name);
            to.within("VFMembership", |to| {
                for fabric in &self.virtual_fabrics {
                    fabric.write_xml(to, self.with_buffers && detail >= BUFFERS);
                }
            });
            for finding in self.findings.iter().filter(|_| detail >= FINDINGS) {
                finding.xml(to);
            }
        });
    }
}

/// The line in place of a report on tables that are not known.
const SKIPPED: &str = "Report skipped: provided snapshot was created without -V option";

impl Xml for MembershipReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.deeper(1, |to| {
            to.line(format_args!("<VFMembershipReport>"));
            self.head.write_xml(to);
            to.deeper(1, |to| {
                self.ports
                    .iter()
                    .for_each(|port| port.write_xml(to, self.detail));
            });
            match self.with_tables {
                true => to.deeper(1, |to| to.value("ReportedPortCount", self.ports.len())),
                false => to.line(format_args!("<!-- {SKIPPED} -->")),
            }
            to.line(format_args!("</VFMembershipReport>"));
        });
    }
}

impl fmt::Display for MembershipReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        self.ports
            .iter()
            .try_for_each(|port| port.write(f, self.detail))?;
        match self.with_tables {
            true => writeln!(f, "    {} Reported Port(s)", self.ports.len())?,
            false => writeln!(f, "{SKIPPED}")?,
        }
        writeln!(f, "{RULE}")
    }
}
