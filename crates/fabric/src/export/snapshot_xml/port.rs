//! `<PortInfo>`.

use std::io::{self, Write};

use weft_wire::Layout;
use weft_wire::id::{Guid, PortNum, Vl};
use weft_wire::sm::PortInfo;

use super::{Writer, lid};
use crate::topology::{Node, NodeId, PortRef};

/// The lines for the 32 VLs of the port written last: most ports of a fabric have the same.
#[derive(Default)]
pub(super) struct LaneText {
    of: Option<Box<PortInfo>>,
    mtus: String,
    queues: [String; 2],
    neighbor_mtus: String,
}

impl<W: Write> Writer<'_, W> {
    pub(super) fn port(
        &mut self,
        (id, node): (NodeId, &Node),
        number: PortNum,
        info: &PortInfo,
    ) -> io::Result<()> {
        writeln!(self.out, "<PortInfo id=\"{}:{number}\">", node.guid())?;
        self.port_addresses(node, number, info)?;
        self.port_state(info)?;
        self.port_link(info)?;
        self.port_lanes(info)?;
        self.port_limits(info)?;
        self.port_tables((id, node), number, info)?;
        self.port_status(PortRef {
            node: id,
            port: number,
        })?;
        self.cable_info(node.guid(), number)?;
        self.port_neighbor(node, number, info)?;
        writeln!(self.out, "</PortInfo>")
    }

    fn port_addresses(&mut self, node: &Node, number: PortNum, info: &PortInfo) -> io::Result<()> {
        let end = match node.is_switch() {
            true => node.port(PortNum(0)).map(|port| port.info.lid),
            false => Some(info.lid),
        };
        let registers = Registers::of(info);
        self.field("PortNum", number)?;
        self.field("GUID", node.port_guid(number).unwrap_or(Guid(0)))?;
        self.field("EndPortLID", lid(end.unwrap_or_default()))?;
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
