//! `bfrctrl`: how much of the buffer behind its link each lane of a port may use.

use std::fmt;

use serde::Serialize;
use weft_fabric::{PortRef, PortTable, Snapshot, Vl};
use weft_wire::sm::BufferControlTable;

use crate::RULE;
use crate::extent::Extent;
use crate::focus::{Head, Options};
use crate::links::LinkEnd;
use crate::tables::{end_port_lid, known_ports, table};
use crate::xml::{Xml, XmlWriter, port_id};

/// Bytes of a link transfer packet.
const LTP: u32 = 128;

/// Buffers of ports.
#[derive(Debug, Clone, Serialize)]
pub struct BuffersReport {
    #[serde(flatten)]
    head: Head,
    /// Ports with a link, in order of GUID and port.
    pub ports: Vec<PortBuffers>,
    /// The tables of ports are known; else nothing is listed.
    pub with_tables: bool,
}

/// Buffers of a port.
#[derive(Debug, Clone, Serialize)]
pub struct PortBuffers {
    /// The port.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// Its LID, or its switch's.
    pub lid: u32,
    /// What receives its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
    /// Depth of its replay buffer, link transfer packets.
    pub replay_depth: u32,
    /// Depth of the wire, link transfer packets.
    pub wire_depth: u32,
    /// Shared space, in the receiver's allocation units.
    pub shared: u16,
    /// Lanes with a buffer.
    pub lanes: Vec<LaneBuffer>,
    #[serde(skip)]
    extent: Extent,
}

/// The port at the other end.
#[derive(Debug, Clone, Serialize)]
pub struct Receiver {
    /// The port.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// Its LID, or its switch's.
    pub lid: u32,
    /// Bytes of one of its allocation units.
    pub unit: u32,
    /// Its buffer, allocation units.
    pub space: u16,
}

/// Limits of a lane, in the receiver's allocation units.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LaneBuffer {
    /// The lane.
    pub vl: u8,
    /// Space of its own.
    pub dedicated: u16,
    /// Most of the shared space.
    pub shared: u16,
    /// Largest packet, bytes.
    pub mtu: u32,
}

/// Makes the report.
pub fn bfrctrl(snapshot: &Snapshot, options: &Options) -> BuffersReport {
    let with_tables = !snapshot.lacking.buffers;
    let known = known_ports(snapshot).into_iter();
    let ports = known.filter(|at| with_tables && options.port(*at));
    BuffersReport {
        head: Head::new("BufferControlTable Report", options),
        ports: ports
            .filter_map(|at| PortBuffers::new(snapshot, at, options.extent))
            .collect(),
        with_tables,
    }
}

impl PortBuffers {
    /// None for port 0 of a switch, and where the table is not known.
    fn new(snapshot: &Snapshot, at: PortRef, extent: Extent) -> Option<Self> {
        let info = &snapshot.topology.port(at)?.info;
        let table: BufferControlTable =
            table(snapshot, at, PortTable::Buffers).filter(|_| at.port.0 != 0)?;
        let depth = |high: u8, low: u8| u32::from(high) << 8 | u32::from(low);
        let receiver = snapshot.topology.peer(at).and_then(|peer| {
            let info = &snapshot.topology.port(peer)?.info;
            Some(Receiver {
                port: LinkEnd::plain(snapshot, peer)?,
                lid: end_port_lid(snapshot, peer),
                unit: 8 << info.buffer_alloc,
                space: info.overall_buffer_space,
            })
        });
        let lanes = (0..).zip(&table.vl).map(|(vl, limits)| LaneBuffer {
            vl,
            dedicated: limits.tx_dedicated_limit,
            shared: limits.tx_shared_limit,
            mtu: info.neighbor_mtu.get(Vl(vl)).bytes(),
        });
        Some(Self {
            port: LinkEnd::plain(snapshot, at)?,
            lid: end_port_lid(snapshot, at),
            receiver,
            replay_depth: depth(info.buffer_depth_h, info.buffer_depth),
            wire_depth: depth(info.wire_depth_h, info.wire_depth),
            shared: table.tx_overall_shared_limit,
            lanes: lanes
                .filter(|lane| lane.dedicated != 0 || lane.shared != 0)
                .collect(),
            extent,
        })
    }

    /// Bytes of an allocation unit of the receiver, 0 if there is none.
    fn unit(&self) -> u32 {
        self.receiver.as_ref().map_or(0, |receiver| receiver.unit)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkEnd {
            guid,
            port,
            node_type,
            name,
            ..
        } = &self.port;
        writeln!(
            f,
            "    Port {guid} {port} {node_type} {name} (LID {})",
            self.lid
        )?;
        if let Some(Receiver { port: end, lid, .. }) = &self.receiver {
            let LinkEnd {
                guid,
                port,
                node_type,
                name,
                ..
            } = end;
            writeln!(
                f,
                "        Remote Port {guid} {port} {node_type} {name} (LID {lid})"
            )?;
        }
        writeln!(f, "        BufferControlTable")?;
        let line = |f: &mut fmt::Formatter<'_>, what: &str, units: u32, unit: u32| {
            writeln!(f, "            {what}:  {units:>6}/{:>8}", units * unit)
        };
        if let Some(Receiver { space, unit, .. }) = &self.receiver {
            line(f, "OverallBufferSpace   (AU/B)", u32::from(*space), *unit)?;
        }
        line(f, "Tx Buffer Depth     (LTP/B)", self.replay_depth, LTP)?;
        const WIRE: &str = "Wire Depth          (LTP/B)";
        match self.extent.has_passing() {
            true => line(f, WIRE, self.wire_depth, LTP)?,
            false => writeln!(f, "            {WIRE}:  xxxxxx/xxxxxxxx")?,
        }
        match self.unit() {
            0 => writeln!(
                f,
                "            TxOverallSharedLimit (AU/B):  {:>6}/ N/A",
                self.shared
            )?,
            unit => line(
                f,
                "TxOverallSharedLimit (AU/B)",
                u32::from(self.shared),
                unit,
            )?,
        }
        writeln!(
            f,
            "                VL | Dedicated  (   Bytes) |  Shared  (   Bytes) |  MTU"
        )?;
        for LaneBuffer {
            vl,
            dedicated,
            shared,
            mtu,
        } in &self.lanes
        {
            let [own, common] = [dedicated, shared].map(|units| u32::from(*units) * self.unit());
            writeln!(
                f,
                "                {vl:>2} |    {dedicated:>6}  ({own:>8}) |  {shared:>6}  ({common:>8}) | {mtu:>6}"
            )?;
        }
        Ok(())
    }

    fn write_table(&self, to: &mut XmlWriter) {
        let unit = self.unit();
        let sized = |to: &mut XmlWriter, tag: &str, units: u32, unit: u32| {
            to.value(tag, units);
            if unit > 0 {
                to.value(&format!("{tag}Bytes"), units * unit);
            }
        };
        sized(to, "ReplayDepthBufferDepth", self.replay_depth, LTP);
        if self.extent.has_passing() {
            sized(to, "ReplayDepthWireDepth", self.wire_depth, LTP);
        }
        if let Some(Receiver { space, unit, .. }) = &self.receiver {
            sized(to, "OverallBufferSpace", u32::from(*space), *unit);
        }
        sized(to, "TxOverallSharedLimit", u32::from(self.shared), unit);
        for lane in &self.lanes {
            to.within_as("VLLimit", format_args!("vl=\"{}\"", lane.vl), |to| {
                sized(to, "TxDedicatedLimit", u32::from(lane.dedicated), unit);
                sized(to, "TxSharedLimit", u32::from(lane.shared), unit);
            });
        }
    }
}

impl Xml for PortBuffers {
    fn xml(&self, to: &mut XmlWriter) {
        let end = &self.port;
        to.within_as(
            "Port",
            format_args!("{}", port_id(end.guid, end.port)),
            |to| {
                to.value("NodeGUID", end.guid);
                if let Some(guid) = end.port_guid {
                    to.value("PortGUID", guid);
                }
                to.value("PortNum", end.port);
                to.node_type(end.node_type);
                to.text("NodeDesc", &end.name);
                if let Some(Receiver { port, .. }) = &self.receiver {
                    to.line(format_args!(
                        "<RemotePort {}/>",
                        port_id(port.guid, port.port)
                    ));
                }
                to.within("BufferControlTable", |to| self.write_table(to));
            },
        );
    }
}

/// The line in place of a report on tables that are not known.
const SKIPPED: &str = "Report skipped: provided snapshot was created without -V option";

impl Xml for BuffersReport {
    fn xml(&self, to: &mut XmlWriter) {
        self.head.write_xml(to);
        to.deeper(1, |to| {
            to.within("BufferControlTableReport", |to| {
                if !self.with_tables {
                    to.line(format_args!("<!-- {SKIPPED} -->"));
                }
                self.ports.iter().for_each(|port| port.xml(to));
                to.value("ReportedPortCount", self.ports.len());
            });
        });
    }
}

impl fmt::Display for BuffersReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.write_focus(f)?;
        writeln!(f, "BufferControlTable Report")?;
        if !self.with_tables {
            writeln!(f, "    {SKIPPED}")?;
        }
        self.ports.iter().try_for_each(|port| port.write(f))?;
        writeln!(f, "{} Reported Port(s)\n{RULE}", self.ports.len())
    }
}
