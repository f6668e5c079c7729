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
use crate::extent::Extent;
use crate::slow::{write_speed, write_width};
use crate::xml::XmlWriter;

/// Writes the elements of a port.
pub(crate) fn write_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    identity_xml(to, info, extent);
    mtus_xml(to, info, extent);
    widths_xml(to, info, extent);
    queues_xml(to, info, extent);
    capabilities_xml(to, info, extent);
    limits_xml(to, info, extent);
}

fn identity_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    to.value("LocalPort", info.local_port_num);
    let has_settings = extent.has_settings();
    if has_settings {
        to.coded("PortState", &info.port_state.to_string(), info.port_state.0);
    }
    if has_settings && info.port_state == PortState::INIT {
        let reason = info.link_init_reason;
        to.coded("InitReason", init_reason(reason), reason.0);
    }
    to.coded(
        "PortType",
        port_type(info),
        format_args!("{:#x}", info.port_type.0),
    );
    if has_settings {
        settings_xml(to, info, extent);
    }
}

fn settings_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    let has_passing = extent.has_passing();
    to.coded("PhysState", &info.phys_state.to_string(), info.phys_state.0);
    to.text(
        "IsSMConfigurationStarted",
        truth(info.is_sm_configuration_started),
    );
    to.text("NeighborNormal", truth(info.neighbor_normal));
    if has_passing {
        to.value("LID", info.lid);
    }
    to.value("LMC", info.lmc.0);
    to.value("SubnetPrefix", format_args!("{:#018x}", info.subnet_prefix));
    if has_passing {
        to.value("SMLID", info.master_sm_lid);
    }
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

fn mtus_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    to.value("MTUSupported", info.mtu_cap.bytes());
    if !extent.has_settings() {
        return;
    }
    let mtu = |vl| info.neighbor_mtu.get(Vl(vl)).bytes().to_string();
    per_vl(to, "ActiveMTU", mtu);
    let stall = |vl: u8| info.xmit_q[usize::from(vl)].vl_stall_count.to_string();
    per_vl(to, "VLStall", stall);
}

fn widths_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    // Of the hardware is what it supports.
    let is_shown = |which: &&str| extent.has_settings() || which.ends_with("Supported");
    for (which, value) in [
        ("Active", info.link_width_active),
        ("Supported", info.link_width_supported),
        ("Enabled", info.link_width_enabled),
        ("DnGradeTxActive", info.link_width_downgrade_tx_active),
        ("DnGradeRxActive", info.link_width_downgrade_rx_active),
        ("DnGradeSupported", info.link_width_downgrade_supported),
        ("DnGradeEnabled", info.link_width_downgrade_enabled),
    ]
    .iter()
    .filter(|(which, _)| is_shown(which))
    {
        write_width(to, &format!("LinkWidth{which}"), *value);
    }
    for (which, value) in [
        ("Active", info.link_speed_active),
        ("Supported", info.link_speed_supported),
        ("Enabled", info.link_speed_enabled),
    ]
    .iter()
    .filter(|(which, _)| is_shown(which))
    {
        write_speed(to, &format!("LinkSpeed{which}"), *value);
    }
    for (which, mode) in [
        ("Active", info.port_link_mode_active),
        ("Supported", info.port_link_mode_supported),
        ("Enabled", info.port_link_mode_enabled),
    ]
    .iter()
    .filter(|(which, _)| is_shown(which))
    {
        to.text(&format!("PortLinkMode{which}"), link_mode(*mode));
    }
    for (which, modes) in [
        ("Active", info.port_ltp_crc_mode_active),
        ("Supported", info.port_ltp_crc_mode_supported),
        ("Enabled", info.port_ltp_crc_mode_enabled),
    ]
    .iter()
    .filter(|(which, _)| is_shown(which))
    {
        to.coded(&format!("PortLTPCRCMode{which}"), &crc_modes(*modes), modes);
    }
    to.value("SM_TrapQP", info.sm_trap_qp);
    to.value("SA_QP", info.sa_qp);
    to.value("IPV6", Ipv6Addr::from(info.ip_addr_ipv6));
    to.value("IPV4", Ipv4Addr::from(info.ip_addr_ipv4));
}

fn queues_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    let has_settings = extent.has_settings();
    let vls = |to: &mut XmlWriter, tag: &str, vls: u8| to.coded(tag, &format!("{vls}+1"), vls);
    if has_settings {
        vls(to, "VLsActive", info.operational_vl);
    }
    vls(to, "VLsSupported", info.vl_cap);
    if has_settings {
        let life = |vl: u8| info.xmit_q[usize::from(vl)].hoq_life;
        per_vl(to, "HOQLife", |vl| match life(vl) {
            life if life > HOQ_LIFE_MAX => "Infinite".to_owned(),
            life => time(life),
        });
        per_vl(to, "HOQLife_Int", |vl| life(vl).to_string());
    }
    if has_arbitration(info) {
        to.value("VLArbHighCap", info.vl_arbitration_high_cap);
        to.value("VLArbLowCap", info.vl_arbitration_low_cap);
    }
    if has_arbitration(info) && has_settings {
        to.value("VLArbHighLimit", info.vl_high_limit);
        to.value("VLArbPreemptLimit", info.vl_preempting_limit);
    }
}

fn capabilities_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
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
    if extent.has_passing() {
        to.value("ViolationsM_Key", info.violations_m_key);
        to.value("ViolationsP_Key", info.violations_p_key);
        to.value("ViolationsQ_Key", info.violations_q_key);
    }
    if extent.has_settings() {
        to.value("DiagCode", format_args!("{:#06x}", diag_code(info)));
    }
    to.value(
        "OverallBufferSpace",
        format_args!("{:#06x}", info.overall_buffer_space),
    );
    if extent.has_passing() {
        let reasons = [info.link_down_reason, info.neighbor_link_down_reason];
        let [own, other] = reasons.map(|reason| reason.0);
        to.value("LinkDownReason", format_args!("{own:#04x}"));
        to.value("NeighborLinkDownReason", format_args!("{other:#04x}"));
    }
}

fn limits_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    let has_settings = extent.has_settings();
    let on = |on: bool| if on { "On" } else { "Off" };
    if has_settings {
        to.text("ActiveOptimize", on(info.is_active_optimize_enabled));
        to.text("PassThrough", on(info.is_pass_through_enabled));
        to.text("VLMarker", on(info.is_vl_marker_enabled));
    }
    to.value(
        "FlitCtrlInterleaveDistanceMax",
        info.interleave_distance_supported,
    );
    if has_settings {
        to.value(
            "MaxNestLevelRxSupported",
            info.interleave_max_nest_level_rx_supported,
        );
        to.value(
            "FlitControlInterleaveDistance",
            info.interleave_distance_enabled,
        );
    }
    to.value("SmallPktLimitMax", info.preemption_max_small_pkt_limit);
    if has_settings {
        preemption_xml(to, info);
    }
    buffers_xml(to, info, extent);
}

fn preemption_xml(to: &mut XmlWriter, info: &PortInfo) {
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
}

fn buffers_xml(to: &mut XmlWriter, info: &PortInfo, extent: Extent) {
    to.value("VL15Init", format_args!("{:#06x}", info.vl15_init));
    to.value("CreditAck", format_args!("{:#04x}", info.credit_ack));
    to.value("BufferAlloc", format_args!("{:#04x}", info.buffer_alloc));
    to.value(
        "ReplayDepthBuffer",
        format_args!("{:#06x}", replay_buffer(info)),
    );
    if extent.has_passing() {
        to.value(
            "ReplayDepthWire",
            format_args!("{:#06x}", replay_wire(info)),
        );
    }
    if !extent.has_settings() {
        return;
    }
    to.value(
        "VL15CreditRate",
        format_args!("{:#04x}", info.vl15_credit_rate),
    );
    let enforced = |to: &mut XmlWriter, tag: &str, is_on: bool| {
        to.coded(tag, if is_on { "On" } else { "Off" }, u8::from(is_on));
    };
    enforced(
        to,
        "P_KeyEnforcementInbound",
        info.partition_enforcement_inbound,
    );
    enforced(
        to,
        "P_KeyEnforcementOutbound",
        info.partition_enforcement_outbound,
    );
}
