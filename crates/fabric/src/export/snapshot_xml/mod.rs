//! The XML snapshot that `opareport -o snapshot` writes and `opareport -X FILE` reads.
//!
//! Elements and their order are opareport's (`Topology/snapshot.c` of the vendor's FastFabric
//! tools). Counters are there if the snapshot has them, tables of ports if they are asked for, which the root element's
//! attributes declare. Data without a field in the format (trap destinations, error actions, link-down reasons, device
//! groups, what modules of cables measure and the like) is dropped.

mod administration;
mod date;
mod measured;
mod port;
mod tables;

use std::io::{self, BufWriter, Write};

use quick_xml::escape::escape;
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::id::{Guid, Lid, PortNum};
use weft_wire::sm::SwitchInfo;

pub use self::date::utc_date;
use self::port::LaneText;
use self::tables::TableTexts;
use super::escape_name;
use crate::multicast::FIRST_MLID;
use crate::snapshot::{SmRecord, Snapshot};
use crate::tables::{PortMask, SwitchPortGroups, UNREACHABLE};
use crate::topology::{Node, NodeId, PortRef, SwitchIndex, Topology};
use crate::upward::links_upward;

/// Options of a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Include ports that are down; opareport omits them by default.
    pub down_ports: bool,
    /// Include tables of ports, as `opareport -V`: maps of service levels and channels, arbitration, buffers,
    /// partition keys. They are most of such a file.
    pub port_tables: bool,
}

/// Writes a snapshot; `sink` need not be buffered.
///
/// A PortGroup mask holds ports 1 to 64 of a switch; the format has no place for more.
///
/// # Errors
/// The sink's.
pub fn write_snapshot(
    snapshot: &Snapshot,
    options: SnapshotOptions,
    sink: impl Write,
) -> io::Result<()> {
    let mut writer = Writer {
        out: BufWriter::with_capacity(1 << 16, sink),
        snapshot,
        options,
        lanes: LaneText::default(),
        tables: TableTexts::default(),
    };
    writer.document()?;
    writer.out.flush()
}

struct Writer<'a, W: Write> {
    out: BufWriter<W>,
    snapshot: &'a Snapshot,
    options: SnapshotOptions,
    lanes: LaneText,
    tables: TableTexts,
}

impl<W: Write> Writer<'_, W> {
    fn document(&mut self) -> io::Result<()> {
        let snapshot = self.snapshot;
        let down = u8::from(self.options.down_ports);
        let tables = u8::from(self.with_tables());
        let buffers = u8::from(self.with_tables() && !snapshot.lacking.buffers);
        let routes = u8::from(!snapshot.lacking.routes);
        let stats = u8::from(snapshot.counts.is_some());
        let time = snapshot.unix_time;
        let date = utc_date(time);
        writeln!(self.out, "<?xml version=\"1.0\" encoding=\"utf-8\" ?>")?;
        writeln!(
            self.out,
            "<Snapshot date=\"{date}\" unixtime=\"{time}\" stats=\"{stats}\" routes=\"{routes}\" qosdata=\"{tables}\" \
             bfrctrl=\"{buffers}\" downports=\"{down}\" options=\"\">"
        )?;
        writeln!(self.out, "<Nodes>")?;
        let mut nodes: Vec<_> = snapshot.topology.nodes().collect();
        nodes.sort_by_key(|(_, node)| node.guid());
        for (id, node) in nodes {
            self.node(id, node)?;
        }
        writeln!(self.out, "</Nodes>\n<SMs>")?;
        for sm in &snapshot.sms {
            self.sm(sm)?;
        }
        writeln!(self.out, "</SMs>\n<Links>")?;
        for link in links_upward(&snapshot.topology) {
            self.link(&snapshot.topology, link)?;
        }
        writeln!(self.out, "</Links>")?;
        self.administration()?;
        writeln!(self.out, "</Snapshot>")
    }

    fn node(&mut self, id: NodeId, node: &Node) -> io::Result<()> {
        let info = &node.info;
        let name = escape_name(node.description.bytes());
        writeln!(self.out, "<Node id=\"{}\">", info.node_guid)?;
        writeln!(self.out, "<NodeDesc>{}</NodeDesc>", escape(&name))?;
        self.field("NodeGUID", info.node_guid)?;
        self.field("NodeType_Int", info.node_type.0)?;
        self.field("BaseVersion", info.base_version)?;
        self.field("ClassVersion", info.class_version)?;
        self.field("NumPorts", info.num_ports)?;
        self.field("SystemImageGUID", info.system_image_guid)?;
        self.field("PartitionCap", info.partition_cap)?;
        self.field("DeviceID", format_args!("{:#06x}", info.device_id))?;
        self.field("Revision", format_args!("{:#010x}", info.revision))?;
        self.field("VendorID", info.vendor_id)?;
        let down = self.options.down_ports;
        for (number, port) in node.ports() {
            if down || port.info.port_state != PortState::DOWN {
                self.port((id, node), number, &port.info)?;
            }
        }
        if let (Some(switch), Some(index)) = (&node.switch, self.snapshot.topology.switch_index(id))
        {
            self.switch(node, switch)?;
            if !self.snapshot.lacking.routes {
                self.forwarding(index)?;
            }
        }
        writeln!(self.out, "</Node>")
    }

    fn switch(&mut self, node: &Node, info: &SwitchInfo) -> io::Result<()> {
        let bytes = info.to_bytes();
        let port0 = node.port(PortNum(0)).map(|port| port.info.lid);
        writeln!(self.out, "<SwitchInfo>")?;
        self.field("LID", lid(port0.unwrap_or_default()))?;
        self.field("LinearFDBCap", info.linear_fdb_cap)?;
        self.field("MulticastFDBCap", info.multicast_fdb_cap)?;
        self.field("LinearFDBTop", info.linear_fdb_top)?;
        self.field("MulticastFDBTop", info.multicast_fdb_top)?;
        self.bytes("IPAddrIPV6", &info.ip_addr_ipv6)?;
        self.bytes("IPAddrIPV4", &info.ip_addr_ipv4)?;
        self.field("LifeTimeValue_Int", info.life_time_value)?;
        self.field("PortStateChange", u8::from(info.port_state_change))?;
        self.field("PartitionEnforcementCap", info.partition_enforcement_cap)?;
        self.field("U2", format_args!("{:#x}", bytes[76]))?;
        let [capability, adaptive] =
            [80, 78].map(|at| u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        self.field("CapabilityMask", format_args!("{capability:#x}"))?;
        self.field("MulticastMask", format_args!("{:#x}", info.multicast_mask))?;
        self.field(
            "CollectiveMask",
            format_args!("{:#x}", info.collective_mask),
        )?;
        self.field(
            "RoutingModeSupported",
            format_args!("{:#x}", info.routing_mode_supported),
        )?;
        self.field(
            "RoutingModeEnabled",
            format_args!("{:#x}", info.routing_mode_enabled),
        )?;
        self.field("PortGroupFDBCap", info.port_group_fdb_cap)?;
        self.field("PortGroupCap", info.port_group_cap)?;
        self.field("PortGroupTop", info.port_group_top)?;
        self.field("AdaptiveRouting", format_args!("{adaptive:#x}"))?;
        writeln!(self.out, "</SwitchInfo>")
    }

    /// Tables of a switch. One without entries has size 0 and no element: opareport refuses an
    /// element of size 0, and crashes on a PortGroup table that has a size and no element.
    fn forwarding(&mut self, index: SwitchIndex) -> io::Result<()> {
        let row = self.snapshot.linear.row(index);
        let groups = self.snapshot.groups.switches.get(index.0 as usize);
        let [fdb, elements] =
            groups.map_or([0, 0], |groups| [groups.fdb.len(), groups.groups.len()]);
        writeln!(self.out, "<SwitchData>")?;
        self.field("LinearFDBSize", row.len())?;
        let multicast = self.snapshot.multicast.row(index);
        let size = match multicast.len() as u32 {
            0 => 0,
            entries => FIRST_MLID + entries,
        };
        self.field("MulticastFDBSize", size)?;
        self.field("PortGroupFDBSize", fdb)?;
        self.field("PortGroupSize", elements)?;
        self.table("LinearFDB", row)?;
        self.multicast(multicast)?;
        if let Some(groups) = groups {
            self.port_groups(groups)?;
        }
        writeln!(self.out, "</SwitchData>")
    }

    fn multicast(&mut self, row: &[PortMask]) -> io::Result<()> {
        if row.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "<MulticastFDB>")?;
        for position in 0..4 {
            let entries = row
                .iter()
                .map(|ports| ports.word(position))
                .zip(FIRST_MLID..);
            for (ports, mlid) in entries.filter(|(ports, _)| *ports != 0) {
                writeln!(
                    self.out,
                    "<Value pos=\"{position}\" LID=\"{mlid:#x}\">{ports:#x}</Value>"
                )?;
            }
        }
        writeln!(self.out, "</MulticastFDB>")
    }

    fn port_groups(&mut self, groups: &SwitchPortGroups) -> io::Result<()> {
        if !groups.groups.is_empty() {
            writeln!(self.out, "<PortGroupElements>")?;
            for (number, mask) in groups.groups.iter().enumerate() {
                // Bit 0 is port 1.
                let bits = mask.word(0) >> 1 | mask.word(1) << 63;
                writeln!(
                    self.out,
                    "<Value PortGroupNumber=\"{number}\">{bits:#x}</Value>"
                )?;
            }
            writeln!(self.out, "</PortGroupElements>")?;
        }
        self.table("PortGroupFDB", &groups.fdb)
    }

    fn table(&mut self, name: &str, row: &[u8]) -> io::Result<()> {
        if row.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "<{name}>")?;
        for (lid, entry) in row
            .iter()
            .enumerate()
            .filter(|(_, entry)| **entry != UNREACHABLE)
        {
            writeln!(self.out, "<Value LID=\"{lid:#x}\">{entry}</Value>")?;
        }
        writeln!(self.out, "</{name}>")
    }

    fn sm(&mut self, sm: &SmRecord) -> io::Result<()> {
        let node = self.snapshot.topology.node(sm.port.node);
        let guid = node.map_or(Guid(0), Node::guid);
        writeln!(self.out, "<SM id=\"{guid}:{}\">", sm.port.port)?;
        self.field("LID", lid(sm.lid))?;
        self.field("PortGUID", sm.port_guid)?;
        self.field("State_Int", sm.state.0)?;
        self.field("Priority", sm.priority)?;
        self.field("SM_Key", format_args!("{:#018x}", sm.sm_key))?;
        self.field("ActCount", format_args!("{:#x}", sm.act_count))?;
        writeln!(self.out, "</SM>")
    }

    fn link(&mut self, topology: &Topology, (from, to): (PortRef, PortRef)) -> io::Result<()> {
        let guid = |end: PortRef| topology.node(end.node).map_or(Guid(0), Node::guid);
        writeln!(self.out, "<Link id=\"{}:{}\">", guid(from), from.port)?;
        for (name, end) in [("From", from), ("To", to)] {
            writeln!(self.out, "<{name}>")?;
            self.field("NodeGUID", guid(end))?;
            self.field("PortNum", end.port)?;
            writeln!(self.out, "</{name}>")?;
        }
        writeln!(self.out, "</Link>")
    }

    fn field(&mut self, name: &str, value: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.out, "<{name}>{value}</{name}>")
    }

    fn bytes(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        write!(self.out, "<{name}>")?;
        for byte in bytes {
            write!(self.out, "{byte:02x}")?;
        }
        writeln!(self.out, "</{name}>")
    }
}

fn lid(lid: Lid) -> String {
    format!("{:#010x}", lid.0)
}
