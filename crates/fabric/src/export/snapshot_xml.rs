//! The XML snapshot that `opareport -o snapshot` writes and `opareport -X FILE` reads.
//!
//! Elements and their order are opareport's (`Topology/snapshot.c` of the vendor's FastFabric
//! tools). Counters, tables of quality of service, buffer control, multicast members and virtual
//! fabrics are left out, which the root element's attributes say. What the format has no place for
//! (trap destinations, error actions, link-down reasons and the like) is lost.

use std::io::{self, BufWriter, Write};

use quick_xml::escape::escape;
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::id::{Guid, Lid, PortNum, Vl};
use weft_wire::sm::{PortInfo, SwitchInfo};

use super::escape_name;
use crate::snapshot::{SmRecord, Snapshot};
use crate::tables::{SwitchPortGroups, UNREACHABLE};
use crate::topology::{Node, NodeId, PortRef, SwitchIndex, Topology};

/// What to write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Ports that are down, too; opareport leaves them out unless told otherwise.
    pub down_ports: bool,
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
    };
    writer.document()?;
    writer.out.flush()
}

struct Writer<'a, W: Write> {
    out: BufWriter<W>,
    snapshot: &'a Snapshot,
    options: SnapshotOptions,
    lanes: LaneText,
}

/// The lines for the 32 VLs of the port written last: most ports of a fabric have the same.
#[derive(Default)]
struct LaneText {
    of: Option<Box<PortInfo>>,
    mtus: String,
    queues: [String; 2],
    neighbor_mtus: String,
}

impl<W: Write> Writer<'_, W> {
    fn document(&mut self) -> io::Result<()> {
        let snapshot = self.snapshot;
        let down = u8::from(self.options.down_ports);
        let time = snapshot.unix_time;
        let date = utc_date(time);
        writeln!(self.out, "<?xml version=\"1.0\" encoding=\"utf-8\" ?>")?;
        writeln!(
            self.out,
            "<Snapshot date=\"{date}\" unixtime=\"{time}\" stats=\"0\" routes=\"1\" qosdata=\"0\" \
             bfrctrl=\"0\" downports=\"{down}\" options=\"\">"
        )?;
        writeln!(self.out, "<Nodes>")?;
        for (id, node) in snapshot.topology.nodes() {
            self.node(id, node)?;
        }
        writeln!(self.out, "</Nodes>\n<SMs>")?;
        for sm in &snapshot.sms {
            self.sm(sm)?;
        }
        writeln!(self.out, "</SMs>\n<Links>")?;
        for link in snapshot.topology.links() {
            self.link(&snapshot.topology, link)?;
        }
        writeln!(self.out, "</Links>\n<McMembers>\n</McMembers>\n</Snapshot>")
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
                self.port(node, number, &port.info)?;
            }
        }
        if let (Some(switch), Some(index)) = (&node.switch, self.snapshot.topology.switch_index(id))
        {
            self.switch(node, switch)?;
            self.forwarding(index)?;
        }
        writeln!(self.out, "</Node>")
    }

    fn port(&mut self, node: &Node, number: PortNum, info: &PortInfo) -> io::Result<()> {
        writeln!(self.out, "<PortInfo id=\"{}:{number}\">", node.guid())?;
        self.port_addresses(node, number, info)?;
        self.port_state(info)?;
        self.port_link(info)?;
        self.port_lanes(info)?;
        self.port_limits(info)?;
        self.port_neighbor(node, number, info)?;
        writeln!(self.out, "</PortInfo>")
    }

    fn port_addresses(&mut self, node: &Node, number: PortNum, info: &PortInfo) -> io::Result<()> {
        let end = !node.is_switch() || number.0 == 0;
        let registers = Registers::of(info);
        self.field("PortNum", number)?;
        self.field("GUID", node.port_guid(number).unwrap_or(Guid(0)))?;
        self.field("EndPortLID", lid(if end { info.lid } else { Lid(0) }))?;
        self.field("M_Key", format_args!("{:#018x}", info.m_key))?;
        self.field("SubnetPrefix", format_args!("{:#018x}", info.subnet_prefix))?;
        self.field("LID", lid(info.lid))?;
        self.field("SMLID", lid(info.master_sm_lid))?;
        self.bytes("IPAddrIPV6", &info.ip_addr_ipv6)?;
        self.bytes("IPAddrIPV4", &info.ip_addr_ipv4)?;
        let mask = info.capability_mask.bits();
        self.field("CapabilityMask", format_args!("{mask:#010x}"))?;
        let mask = info.capability_mask3.bits();
        self.field("CapabilityMask3", format_args!("{mask:#06x}"))?;
        self.field("DiagCode", format_args!("{:#06x}", registers.u16(232)))?;
        self.field("Lease", info.m_key_lease_period)
    }

    fn port_state(&mut self, info: &PortInfo) -> io::Result<()> {
        self.field("PortState_Int", info.port_state.0)?;
        self.field("InitReason_Int", info.link_init_reason.0)?;
        self.field("PhysState_Int", info.phys_state.0)?;
        self.field("PortType", info.port_type)?;
        self.field("PortType_Int", format_args!("{:#04x}", info.port_type.0))?;
        self.field("LMC", info.lmc)?;
        self.field("Protect_Int", info.m_key_protect_bits)
    }

    fn port_link(&mut self, info: &PortInfo) -> io::Result<()> {
        let registers = Registers::of(info);
        for (name, value) in [
            ("LinkWidthEnabled_Int", info.link_width_enabled.0),
            ("LinkWidthSupported_Int", info.link_width_supported.0),
            ("LinkWidthActive_Int", info.link_width_active.0),
            (
                "LinkWidthDowngradeEnabled_Int",
                info.link_width_downgrade_enabled.0,
            ),
            (
                "LinkWidthDowngradeSupported_Int",
                info.link_width_downgrade_supported.0,
            ),
            (
                "LinkWidthDowngradeTxActive_Int",
                info.link_width_downgrade_tx_active.0,
            ),
            (
                "LinkWidthDowngradeRxActive_Int",
                info.link_width_downgrade_rx_active.0,
            ),
            (
                "PortPacketFormatsSupported",
                info.port_packet_formats_supported,
            ),
            ("PortPacketFormatsEnabled", info.port_packet_formats_enabled),
            ("PortLinkMode_Int", registers.u16(68)),
            ("LinkSpeedEnabled_Int", info.link_speed_enabled.0),
            ("LinkSpeedSupported_Int", info.link_speed_supported.0),
            ("LinkSpeedActive_Int", info.link_speed_active.0),
        ] {
            self.field(name, value)?;
        }
        Ok(())
    }

    fn port_lanes(&mut self, info: &PortInfo) -> io::Result<()> {
        self.lanes.update(info);
        write!(self.out, "<MTUs>\n{}</MTUs>\n", self.lanes.mtus)?;
        self.field("MTUSupported", info.mtu_cap.bytes())?;
        self.field("SMSL", info.master_sm_sl)?;
        self.field("VLsActive_Int", info.operational_vl)?;
        self.field("VLsSupported_Int", info.vl_cap)?;
        self.field("VLArbHighLimit", info.vl_high_limit)?;
        self.field("VLArbHighCap", info.vl_arbitration_high_cap)?;
        self.field("VLArbLowCap", info.vl_arbitration_low_cap)?;
        write!(
            self.out,
            "<VLStalls>\n{}</VLStalls>\n",
            self.lanes.queues[0]
        )?;
        let mask = info.flow_control_mask;
        self.field("VLFlowControlDisabledMask", format_args!("{mask:#010x}"))?;
        self.field("MulticastMask", format_args!("{:#x}", info.multicast_mask))?;
        self.field(
            "CollectiveMask",
            format_args!("{:#x}", info.collective_mask),
        )?;
        write!(
            self.out,
            "<HoQLifes>\n{}</HoQLifes>\n",
            self.lanes.queues[1]
        )
    }

    fn port_limits(&mut self, info: &PortInfo) -> io::Result<()> {
        let enforce = [
            (
                "P_KeyEnforcementInbound_Int",
                info.partition_enforcement_inbound,
            ),
            (
                "P_KeyEnforcementOutbound_Int",
                info.partition_enforcement_outbound,
            ),
        ];
        for (name, on) in enforce {
            self.field(name, u8::from(on))?;
        }
        self.field("ViolationsM_Key", info.violations_m_key)?;
        self.field("ViolationsP_Key", info.violations_p_key)?;
        self.field("ViolationsQ_Key", info.violations_q_key)?;
        let units = Registers::of(info).u32(100);
        self.field("BufferUnits", format_args!("{units:#x}"))?;
        self.field("OverallBufferSpace", info.overall_buffer_space)?;
        self.field("ReplayDepthBuffer", info.buffer_depth)?;
        self.field("ReplayDepthWire", info.wire_depth)?;
        self.field("SubnetTimeout_Int", info.subnet_timeout)?;
        self.field("RespTimeout_Int", info.resp_time_value)
    }

    fn port_neighbor(&mut self, node: &Node, number: PortNum, info: &PortInfo) -> io::Result<()> {
        let registers = Registers::of(info);
        if !node.is_switch() {
            self.field("LocalPortNum", number)?;
        }
        self.field("PortStates", format_args!("{:#010x}", registers.u32(16)))?;
        self.flit_control(info, &registers)?;
        if info.neighbor_node_guid != Guid(0) {
            self.field("NeighborNodeGUID", info.neighbor_node_guid)?;
        }
        self.out.write_all(self.lanes.neighbor_mtus.as_bytes())?;
        self.field("PortLTPCRCMode_Int", registers.u16(70))?;
        self.field("VLArbCap_Int", info.vl_arbitration_high_cap)?;
        if info.neighbor_node_guid != Guid(0) {
            self.field("NeighborPortNum", info.neighbor_port_num)?;
        }
        let suppression = info.multicast_p_key_trap_suppression_enabled;
        self.field(
            "SubnetClientReregister_Int",
            u8::from(info.client_reregister),
        )?;
        self.field("SubnetMulticastPKeyTrapSuppressionEnabled_Int", suppression)?;
        let control = u8::from(info.pass_through_dr_control);
        self.field("PassThroughControlDRControl_Int", control)
    }

    fn flit_control(&mut self, info: &PortInfo, registers: &Registers) -> io::Result<()> {
        writeln!(self.out, "<FlitControl>")?;
        self.field("Interleave", format_args!("{:#06x}", registers.u16(78)))?;
        writeln!(self.out, "<Preemption>")?;
        self.field("MinInitial", info.preemption_min_initial)?;
        self.field("MinTail", info.preemption_min_tail)?;
        self.field("LargePktLimit", info.preemption_large_pkt_limit)?;
        self.field("SmallPktLimit", info.preemption_small_pkt_limit)?;
        self.field("MaxSmallPktLimit", info.preemption_max_small_pkt_limit)?;
        self.field("PreemptionLimit", info.preemption_limit)?;
        writeln!(self.out, "</Preemption>\n</FlitControl>")
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
        self.field("MulticastFDBSize", 0)?;
        self.field("PortGroupFDBSize", fdb)?;
        self.field("PortGroupSize", elements)?;
        self.table("LinearFDB", row)?;
        if let Some(groups) = groups {
            self.port_groups(groups)?;
        }
        writeln!(self.out, "</SwitchData>")
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

impl LaneText {
    fn update(&mut self, info: &PortInfo) {
        let same = |of: &PortInfo| of.neighbor_mtu == info.neighbor_mtu && of.xmit_q == info.xmit_q;
        if self.of.as_deref().is_some_and(same) {
            return;
        }
        self.of = Some(Box::new(*info));
        self.mtus = per_vl("MTUActive", |vl| {
            format!("{:04}", info.neighbor_mtu.get(Vl(vl)).bytes())
        });
        let stall = |vl: u8| info.xmit_q[usize::from(vl)].vl_stall_count.to_string();
        let life = |vl: u8| info.xmit_q[usize::from(vl)].hoq_life.to_string();
        self.queues = [per_vl("VLStall", stall), per_vl("HoQLife_Int", life)];
        let pairs = info.neighbor_mtu.0.iter().enumerate();
        self.neighbor_mtus = pairs
            .map(|(pair, codes)| format!("<NeighborMTU VL=\"{pair}\">{codes:#04x}</NeighborMTU>\n"))
            .collect();
    }
}

fn per_vl(name: &str, value: impl Fn(u8) -> String) -> String {
    (0..32)
        .map(|vl| format!("<{name} VL=\"{vl:02}\">{}</{name}>\n", value(vl)))
        .collect()
}

/// Registers that the format writes whole, by their offset in `STL_PORT_INFO`.
struct Registers(Vec<u8>);

impl Registers {
    fn of(info: &PortInfo) -> Self {
        Self(info.to_bytes())
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from(self.u16(at)) << 16 | u32::from(self.u16(at + 2))
    }
}

fn lid(lid: Lid) -> String {
    format!("{:#010x}", lid.0)
}

/// Seconds since 1970 as `Tue Nov 14 22:13:20 2023`, in universal time.
fn utc_date(unix_time: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, second) = (unix_time / 86_400, unix_time % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[(days % 7) as usize],
        MONTHS[month],
        second / 3600,
        second / 60 % 60,
        second % 60,
    )
}

/// Year, month (0 to 11) and day (1 to 31) of a day since 1 January 1970.
fn civil(days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    // 400 years have 146,097 days: whole cycles first, so that the loop is short.
    let (mut year, mut rest) = (1970 + days / 146_097 * 400, days % 146_097);
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while month < 11 && rest >= lengths[month] {
        rest -= lengths[month];
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (time, date) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_700_000_000, "Tue Nov 14 22:13:20 2023"),
            (4_102_444_799, "Thu Dec 31 23:59:59 2099"),
        ] {
            assert_eq!(utc_date(time), date);
        }
    }
}
