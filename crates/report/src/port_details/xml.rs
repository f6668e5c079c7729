//! The elements of a port.

use std::net::{Ipv4Addr, Ipv6Addr};

use weft_fabric::Vl;
use weft_fabric::enums::PortState;
use weft_wire::sm::PortInfo;

use super::words::{
    capability, capability3, crc_modes, diag_code, has_arbitration, init_reason, link_mode,
    neighbor_type, port_type, protection, replay_buffer, replay_wire, time, truth,
};
use super::{FLIT, HOQ_LIFE_MAX, VLS};
use crate::slow::{write_speed, write_width};
use crate::xml::XmlWriter;

/// Writes the elements of a port.
pub(crate) fn write_xml(to: &mut XmlWriter, info: &PortInfo) {
    identity_xml(to, info);
    mtus_xml(to, info);
    widths_xml(to, info);
    queues_xml(to, info);
    capabilities_xml(to, info);
    limits_xml(to, info);
}

fn identity_xml(to: &mut XmlWriter, info: &PortInfo) {
    to.value("LocalPort", info.local_port_num);
    to.coded("PortState", &info.port_state.to_string(), info.port_state.0);
    if info.port_state == PortState::INIT {
        let reason = info.link_init_reason;
        to.coded("InitReason", init_reason(reason), reason.0);
    }
    to.coded(
        "PortType",
        port_type(info),
        format_args!("{:#x}", info.port_type.0),
    );
    to.coded("PhysState", &info.phys_state.to_string(), info.phys_state.0);
    to.text(
        "IsSMConfigurationStarted",
        truth(info.is_sm_configuration_started),
    );
    to.text("NeighborNormal", truth(info.neighbor_normal));
    to.value("LID", info.lid);
    to.value("LMC", info.lmc.0);
    to.value("SubnetPrefix", format_args!("{:#018x}", info.subnet_prefix));
    to.value("SMLID", info.master_sm_lid);
    to.value("SMSL", info.master_sm_sl.0);
    to.coded(
        "RespTimeout",
        &time(info.resp_time_value),
        info.resp_time_value,
    );
    to.coded(
        "SubnetTimeout",
        &time(info.subnet_timeout),
        info.subnet_timeout,
    );
    to.value("M_KEY", format_args!("{:#018x}", info.m_key));
    let lease = info.m_key_lease_period;
    to.line(format_args!("<Lease>{lease}</Lease> <!-- seconds -->"));
    let protect = info.m_key_protect_bits;
    to.coded("Protect", protection(protect), protect);
}

/// Writes a value for each VL.
fn per_vl(to: &mut XmlWriter, tag: &str, value: impl Fn(u8) -> String) {
    to.within(tag, |to| {
        for vl in 0..VLS {
            to.value(&format!("VL{vl}"), value(vl));
        }
    });
}

fn mtus_xml(to: &mut XmlWriter, info: &PortInfo) {
    to.value("MTUSupported", info.mtu_cap.bytes());
    let mtu = |vl| info.neighbor_mtu.get(Vl(vl)).bytes().to_string();
    per_vl(to, "ActiveMTU", mtu);
    let stall = |vl: u8| info.xmit_q[usize::from(vl)].vl_stall_count.to_string();
    per_vl(to, "VLStall", stall);
}

fn widths_xml(to: &mut XmlWriter, info: &PortInfo) {
    write_width(to, "LinkWidthActive", info.link_width_active);
    write_width(to, "LinkWidthSupported", info.link_width_supported);
    write_width(to, "LinkWidthEnabled", info.link_width_enabled);
    write_width(
        to,
        "LinkWidthDnGradeTxActive",
        info.link_width_downgrade_tx_active,
    );
    write_width(
        to,
        "LinkWidthDnGradeRxActive",
        info.link_width_downgrade_rx_active,
    );
    write_width(
        to,
        "LinkWidthDnGradeSupported",
        info.link_width_downgrade_supported,
    );
    write_width(
        to,
        "LinkWidthDnGradeEnabled",
        info.link_width_downgrade_enabled,
    );
    write_speed(to, "LinkSpeedActive", info.link_speed_active);
    write_speed(to, "LinkSpeedSupported", info.link_speed_supported);
    write_speed(to, "LinkSpeedEnabled", info.link_speed_enabled);
    to.text("PortLinkModeActive", link_mode(info.port_link_mode_active));
    to.text(
        "PortLinkModeSupported",
        link_mode(info.port_link_mode_supported),
    );
    to.text(
        "PortLinkModeEnabled",
        link_mode(info.port_link_mode_enabled),
    );
    for (which, modes) in [
        ("Active", info.port_ltp_crc_mode_active),
        ("Supported", info.port_ltp_crc_mode_supported),
        ("Enabled", info.port_ltp_crc_mode_enabled),
    ] {
        to.coded(&format!("PortLTPCRCMode{which}"), &crc_modes(modes), modes);
    }
    to.value("SM_TrapQP", info.sm_trap_qp);
    to.value("SA_QP", info.sa_qp);
    to.value("IPV6", Ipv6Addr::from(info.ip_addr_ipv6));
    to.value("IPV4", Ipv4Addr::from(info.ip_addr_ipv4));
}

fn queues_xml(to: &mut XmlWriter, info: &PortInfo) {
    for (tag, vls) in [
        ("VLsActive", info.operational_vl),
        ("VLsSupported", info.vl_cap),
    ] {
        to.coded(tag, &format!("{vls}+1"), vls);
    }
    let life = |vl: u8| info.xmit_q[usize::from(vl)].hoq_life;
    per_vl(to, "HOQLife", |vl| match life(vl) {
        life if life > HOQ_LIFE_MAX => "Infinite".to_owned(),
        life => time(life),
    });
    per_vl(to, "HOQLife_Int", |vl| life(vl).to_string());
    if has_arbitration(info) {
        to.value("VLArbHighCap", info.vl_arbitration_high_cap);
        to.value("VLArbLowCap", info.vl_arbitration_low_cap);
        to.value("VLArbHighLimit", info.vl_high_limit);
        to.value("VLArbPreemptLimit", info.vl_preempting_limit);
    }
}

fn capabilities_xml(to: &mut XmlWriter, info: &PortInfo) {
    let yes = |yes: bool| if yes { "Yes" } else { "No" };
    let mask = format!("{:#010x}", info.flow_control_mask);
    to.value("VLFlowControlDisabledMask", mask);
    to.text("NeighborModeMgmntAllowed", yes(info.mgmt_allowed));
    to.text(
        "NeighborModeFWAuthenBypass",
        yes(info.neighbor_fw_authen_bypass),
    );
    to.text("NeighborModeNeighborNodeType", neighbor_type(info));
    to.value(
        "CapabilityMask",
        format_args!("{:#010x}", info.capability_mask.bits()),
    );
    to.text("Capability", &capability(info));
    to.value(
        "CapabilityMask3",
        format_args!("{:#06x}", info.capability_mask3.bits()),
    );
    to.text("Capability3", &capability3(info));
    to.value("ViolationsM_Key", info.violations_m_key);
    to.value("ViolationsP_Key", info.violations_p_key);
    to.value("ViolationsQ_Key", info.violations_q_key);
    to.value("DiagCode", format_args!("{:#06x}", diag_code(info)));
    to.value(
        "OverallBufferSpace",
        format_args!("{:#06x}", info.overall_buffer_space),
    );
    to.value(
        "LinkDownReason",
        format_args!("{:#04x}", info.link_down_reason.0),
    );
    let reason = info.neighbor_link_down_reason.0;
    to.value("NeighborLinkDownReason", format_args!("{reason:#04x}"));
}

fn limits_xml(to: &mut XmlWriter, info: &PortInfo) {
    let on = |on: bool| if on { "On" } else { "Off" };
    to.text("ActiveOptimize", on(info.is_active_optimize_enabled));
    to.text("PassThrough", on(info.is_pass_through_enabled));
    to.text("VLMarker", on(info.is_vl_marker_enabled));
    to.value(
        "FlitCtrlInterleaveDistanceMax",
        info.interleave_distance_supported,
    );
    to.value(
        "MaxNestLevelRxSupported",
        info.interleave_max_nest_level_rx_supported,
    );
    to.value(
        "FlitControlInterleaveDistance",
        info.interleave_distance_enabled,
    );
    to.value("SmallPktLimitMax", info.preemption_max_small_pkt_limit);
    to.value("SmallPktLimit", info.preemption_small_pkt_limit);
    to.value("PreemptionLimit", info.preemption_limit);
    to.value("MinInitial", info.preemption_min_initial);
    to.value("MinTail", u64::from(info.preemption_min_tail) * FLIT);
    to.value(
        "LargePktLimit",
        u64::from(info.preemption_large_pkt_limit) * FLIT,
    );
    if info.capability_mask3.is_max_lid_supported {
        to.value("MaxLID", info.max_lid);
    }
    let actions = info.port_error_action.bits();
    to.value("PortErrorAction", format_args!("{actions:#010x}"));
    to.value("VL15Init", format_args!("{:#06x}", info.vl15_init));
    to.value("CreditAck", format_args!("{:#04x}", info.credit_ack));
    to.value("BufferAlloc", format_args!("{:#04x}", info.buffer_alloc));
    to.value(
        "ReplayDepthBuffer",
        format_args!("{:#06x}", replay_buffer(info)),
    );
    to.value(
        "ReplayDepthWire",
        format_args!("{:#06x}", replay_wire(info)),
    );
    to.value(
        "VL15CreditRate",
        format_args!("{:#04x}", info.vl15_credit_rate),
    );
    for (tag, enforced) in [
        (
            "P_KeyEnforcementInbound",
            info.partition_enforcement_inbound,
        ),
        (
            "P_KeyEnforcementOutbound",
            info.partition_enforcement_outbound,
        ),
    ] {
        to.coded(tag, on(enforced), u8::from(enforced));
    }
}
