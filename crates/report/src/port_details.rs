//! Everything that PortInfo says of a port, as the vendor's tools print it in detail.

use std::net::{Ipv4Addr, Ipv6Addr};

use weft_fabric::enums::{LinkInitReason, PortState};
use weft_fabric::{Lid, Vl};
use weft_wire::sm::PortInfo;

use crate::names::{speed, width};
use crate::slow::{write_speed, write_width};
use crate::xml::XmlWriter;

/// VLs of a port.
const VLS: u8 = 32;
/// Bytes of a flit.
const FLIT: u64 = 8;
/// The LID that every port takes.
const PERMISSIVE: Lid = Lid(u32::MAX);
/// Longest head-of-queue lifetime that is one.
const HOQ_LIFE_MAX: u8 = 19;

/// The lines of a port; lines of lists are four columns deeper.
pub(crate) fn lines(info: &PortInfo) -> Vec<String> {
    let mut lines = identity(info);
    lines.extend(mtus(info));
    lines.extend(widths(info));
    lines.extend(queues(info));
    lines.extend(capabilities(info));
    lines.extend(limits(info));
    lines
}

fn identity(info: &PortInfo) -> Vec<String> {
    let (state, phys) = (info.port_state.to_string(), info.phys_state.to_string());
    let reason = match info.port_state {
        PortState::INIT if info.link_init_reason != LinkInitReason::NOP => {
            format!("({:<13})", init_reason(info.link_init_reason))
        }
        _ => " ".repeat(15),
    };
    let local = info.local_port_num.0;
    let lid = match info.lid {
        PERMISSIVE => "LID:    DontCare  ".to_owned(),
        lid => format!("LID:    {lid}    "),
    };
    let (lmc, prefix) = (info.lmc.0, info.subnet_prefix);
    let [response, subnet] = [info.resp_time_value, info.subnet_timeout].map(time);
    vec![
        format!("LocalPort: {local:<3} PortState: {state:<6} {reason} PhysState: {phys:<8}"),
        format!(
            "IsSMConfigurationStarted: {:<5} NeighborNormal: {:<5}",
            truth(info.is_sm_configuration_started),
            truth(info.neighbor_normal)
        ),
        format!("PortType: {:<3}", port_type(info)),
        format!(
            "BundleNextPort: {:<3}         BundleLane: {:<3}",
            info.bundle_next_port.0, info.bundle_lane
        ),
        format!("{lid}          LMC: {lmc}               Subnet: {prefix:#018x}"),
        format!(
            "SMLID:  {}   SMSL: {:>2}   RespTimeout: {response}  SubnetTimeout: {subnet}",
            info.master_sm_lid, info.master_sm_sl.0
        ),
        format!(
            "M_KEY:  {:#018x}  Lease: {:>5} s          Protect: {}",
            info.m_key,
            info.m_key_lease_period,
            protection(info.m_key_protect_bits)
        ),
    ]
}

fn mtus(info: &PortInfo) -> Vec<String> {
    let stalls = info
        .xmit_q
        .iter()
        .map(|queue| format!("{:>2x}", queue.vl_stall_count));
    let mut lines = vec![
        format!(
            "MTU  Supported: ({:#x}) {} bytes",
            info.mtu_cap.0,
            info.mtu_cap.bytes()
        ),
        format!("VLStallCount (per VL): {}", stalls.collect::<String>()),
        "MTU  Active by VL:".to_owned(),
    ];
    for first in (0..VLS).step_by(8) {
        let vls = first..first + 8;
        let mtu = |vl| format!("{vl:02}:{:>5}", info.neighbor_mtu.get(Vl(vl)).bytes());
        lines.push(vls.map(mtu).collect::<Vec<_>>().join(" "));
    }
    lines
}

fn widths(info: &PortInfo) -> Vec<String> {
    let short = |text: String| text.chars().take(2).collect::<String>();
    let (tx, rx) = (
        short(width(info.link_width_downgrade_tx_active)),
        short(width(info.link_width_downgrade_rx_active)),
    );
    let modes = [
        info.port_link_mode_active,
        info.port_link_mode_supported,
        info.port_link_mode_enabled,
    ];
    let [active, supported, enabled] = modes.map(link_mode);
    let crcs = [
        info.port_ltp_crc_mode_active,
        info.port_ltp_crc_mode_supported,
        info.port_ltp_crc_mode_enabled,
    ];
    let [crc, crcs_supported, crcs_enabled] = crcs.map(crc_modes);
    vec![
        format!(
            "LinkWidth: Active:    {:>4}  Supported:    {:>7}  Enabled:    {:>7}",
            width(info.link_width_active),
            width(info.link_width_supported),
            width(info.link_width_enabled)
        ),
        format!(
            "LinkWidthDnGrade: ActiveTx: {tx:>2} Rx: {rx:>2} Supported:    {:>7}  Enabled:    {:>7}",
            width(info.link_width_downgrade_supported),
            width(info.link_width_downgrade_enabled)
        ),
        format!(
            "PortLinkMode: Active: {active:<8} Supported: {supported:<16} Enabled: {enabled:<8}"
        ),
        format!("PortLTPCRCMode: Act: {crc:<6} Sup: {crcs_supported:<21} En: {crcs_enabled:<21}"),
        format!(
            "LinkSpeed: Active: {:>7}  Supported: {:>10}  Enabled: {:>10}",
            speed(info.link_speed_active),
            speed(info.link_speed_supported),
            speed(info.link_speed_enabled)
        ),
        format!(
            "SM_TrapQP: {:#x}  SA_QP: {:#x} IPAddr Prim/Sec: {} / {}",
            info.sm_trap_qp,
            info.sa_qp,
            Ipv6Addr::from(info.ip_addr_ipv6),
            Ipv4Addr::from(info.ip_addr_ipv4)
        ),
    ]
}

fn queues(info: &PortInfo) -> Vec<String> {
    let mut lines = vec![
        format!(
            "VLs:       Active:    {:>2}+1  Supported:       {:>2}+1  ",
            info.operational_vl, info.vl_cap
        ),
        "    HOQLife (Per VL):".to_owned(),
    ];
    let queues: Vec<_> = (0..).zip(&info.xmit_q).collect();
    for queues in queues.chunks(5) {
        let queue = |(vl, queue): &(u8, &weft_wire::sm::XmitQ)| {
            format!("VL{vl:>2}: {:#x} ", queue.hoq_life)
        };
        lines.push(format!(
            "    {}",
            queues.iter().map(queue).collect::<String>()
        ));
    }
    lines.push(String::new());
    if has_arbitration(info) {
        lines.push(format!(
            "VL Arb Cap:  High:    {:>4}        Low:       {:>4}  HiLimit: {:>4} PreemptLimit {:>4}",
            info.vl_arbitration_high_cap,
            info.vl_arbitration_low_cap,
            info.vl_high_limit,
            info.vl_preempting_limit
        ));
    }
    lines
}

fn capabilities(info: &PortInfo) -> Vec<String> {
    let on = |on: bool| if on { "On" } else { "Off" };
    vec![
        format!(
            "VLFlowControlDisabledMask: {:#010x}",
            info.flow_control_mask
        ),
        format!(
            "NeighborMode  MgmtAllowed: {:>3}  FwAuthenBypass: {:>3}  NeighborNodeType: {}",
            if info.mgmt_allowed { "Yes" } else { "No" },
            on(info.neighbor_fw_authen_bypass),
            neighbor_type(info)
        ),
        format!(
            "Capability {:#010x}: {}",
            info.capability_mask.bits(),
            capability(info)
        ),
        format!(
            "Capability3 {:#06x}: {}",
            info.capability_mask3.bits(),
            capability3(info)
        ),
        format!(
            "Violations: M_Key: {:>5} P_Key: {:>5} Q_Key: {:>5}",
            info.violations_m_key, info.violations_p_key, info.violations_q_key
        ),
        format!(
            "PortMode ActiveOptimize: {:>3} PassThrough: {:>3} VLMarker: {:>3}",
            on(info.is_active_optimize_enabled),
            on(info.is_pass_through_enabled),
            on(info.is_vl_marker_enabled)
        ),
    ]
}

fn limits(info: &PortInfo) -> Vec<String> {
    let on = |on: bool| if on { "On" } else { "Off" };
    let mut lines = vec![
        format!(
            "FlitCtrlInterleave Distance Max: {:>2} Enabled: {:>2}",
            info.interleave_distance_supported, info.interleave_distance_enabled
        ),
        format!(
            "MaxNestLevelTxEnabled: {} MaxNestLevelRxSupported: {}",
            info.interleave_max_nest_level_tx_enabled, info.interleave_max_nest_level_rx_supported
        ),
        format!(
            "SmallPktLimit: {:#04x} MaxSmallPktLimit: {:#04x} PreemptionLimit: {:#04x}",
            info.preemption_small_pkt_limit,
            info.preemption_max_small_pkt_limit,
            info.preemption_limit
        ),
        format!(
            "FlitCtrlPreemption MinInital: {} MinTail: {} LargePktLim: {:#04x}",
            u64::from(info.preemption_min_initial) * FLIT,
            u64::from(info.preemption_min_tail) * FLIT,
            info.preemption_large_pkt_limit
        ),
    ];
    if info.capability_mask3.is_max_lid_supported {
        lines.push(format!("MaxLID: {}", info.max_lid.0));
    }
    lines.extend([
        format!(
            "BufferUnits: VL15Init {:#06x}; VL15CreditRate {:#04x}; CreditAck {:#x}; BufferAlloc {:#x}",
            info.vl15_init, info.vl15_credit_rate, info.credit_ack, info.buffer_alloc
        ),
        format!(
            "PortErrorActions: {:#x}: {}",
            info.port_error_action.bits(),
            error_actions(info)
        ),
        format!(
            "ReplayDepth Buffer {:#04x}; Wire {:#04x}",
            replay_buffer(info),
            replay_wire(info)
        ),
        format!("DiagCode: {:#06x}", diag_code(info)),
        format!("OverallBufferSpace: {:#06x}", info.overall_buffer_space),
        format!(
            "P_Key Enforcement: In: {:>3} Out: {:>3}",
            on(info.partition_enforcement_inbound),
            on(info.partition_enforcement_outbound)
        ),
    ]);
    lines
}

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

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn init_reason(reason: LinkInitReason) -> &'static str {
    match reason {
        LinkInitReason::NOP => "None",
        LinkInitReason::LINKUP => "LinkUp",
        LinkInitReason::FLAPPING => "Flapping",
        LinkInitReason::OUTSIDE_POLICY => "Out of policy",
        LinkInitReason::QUARANTINED => "Quarantined",
        LinkInitReason::INSUFFICIENT_CAPABILITY => "Insuffic Cap",
        _ => " ???? ",
    }
}

fn port_type(info: &PortInfo) -> &'static str {
    match info.port_type.0 {
        1 => "Disconnected",
        2 => "Fixed",
        3 => "Variable",
        4 => "Standard",
        5 => "Silicon Photonics",
        _ => "Unknown",
    }
}

fn protection(bits: u8) -> &'static str {
    match bits {
        0 => "Read-only",
        1 => "Hide",
        2 => "Secure",
        _ => "????",
    }
}

fn neighbor_type(info: &PortInfo) -> &'static str {
    match info.neighbor_node_type {
        0 => "HFI",
        1 => "Switch",
        _ => "Unknown",
    }
}

fn link_mode(modes: u8) -> &'static str {
    match modes {
        0 => "Noop",
        modes if modes & 4 != 0 => "STL",
        _ => "",
    }
}

fn crc_modes(modes: u8) -> String {
    const NAMES: [&str; 4] = ["14-bit", "16-bit", "48-bit", "12-16/lane"];
    if modes == 0 {
        return "None".to_owned();
    }
    let named = NAMES
        .iter()
        .enumerate()
        .filter(|(bit, _)| modes >> bit & 1 == 1);
    named.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}

fn has_arbitration(info: &PortInfo) -> bool {
    info.capability_mask3.vl_scheduling_config == 0
}

/// The names of what is true.
fn names(all: &[(bool, &'static str)]) -> String {
    let named = all.iter().filter(|(holds, _)| *holds);
    named.map(|(_, name)| *name).collect()
}

fn capability(info: &PortInfo) -> String {
    let mask = &info.capability_mask;
    names(&[
        (mask.is_capability_mask_notice_supported, "CN "),
        (mask.is_vendor_class_supported, "VDR "),
        (mask.is_device_management_supported, "DM "),
        (mask.is_connection_management_supported, "CM "),
        (mask.is_automatic_migration_supported, "APM "),
        (mask.is_sm, "SM "),
        (mask.bits() == 0, "-"),
    ])
}

fn capability3(info: &PortInfo) -> String {
    let mask = &info.capability_mask3;
    if mask.bits() == 0 {
        return "-".to_owned();
    }
    names(&[
        (mask.is_max_lid_supported, "ML "),
        (mask.vl_scheduling_config == 0, "VLARB "),
        (mask.vl_scheduling_config == 2, "Auto "),
        (mask.is_snoop_supported, "SN "),
        (mask.is_async_sc2vl_supported, "aSC2VL "),
        (mask.is_addr_range_config_supported, "ARC "),
        (mask.is_pass_through_supported, "PT "),
        (mask.is_shared_space_supported, "SS "),
        (mask.is_shared_group_space_supported, "SG "),
        (mask.is_vl_marker_supported, "VLM "),
        (mask.is_vlr_supported, "VLr"),
    ])
}

/// Errors that take the link down, by their bits from the highest on.
fn error_actions(info: &PortInfo) -> String {
    const NAMES: [(u8, &str); 20] = [
        (31, "EBO"),
        (23, "CE-EML"),
        (22, "CE-BCF"),
        (21, "CE-BP"),
        (20, "CE-UVLM"),
        (19, "CE-BCA"),
        (18, "CE-BCD"),
        (17, "CE-BTD"),
        (16, "CE-BHD"),
        (13, "R-BVLM"),
        (12, "R-PV15"),
        (11, "R-PE"),
        (10, "R-BMT"),
        (8, "R-BSC"),
        (7, "R-BL2"),
        (6, "R-BDLID"),
        (5, "R-BSLID"),
        (4, "R-LTS"),
        (3, "R-LTL"),
        (2, "R-BPL"),
    ];
    let bits = info.port_error_action.bits();
    let named = NAMES.iter().filter(|(bit, _)| bits >> bit & 1 == 1);
    named.map(|(_, name)| *name).collect()
}

fn replay_buffer(info: &PortInfo) -> u16 {
    u16::from(info.buffer_depth_h) << 8 | u16::from(info.buffer_depth)
}

fn replay_wire(info: &PortInfo) -> u16 {
    u16::from(info.wire_depth_h) << 8 | u16::from(info.wire_depth)
}

fn diag_code(info: &PortInfo) -> u16 {
    u16::from(info.universal_diag_code) << 12
        | info.vendor_diag_code << 1
        | u16::from(info.diag_chain)
}

/// 4.096 µs × 2^exponent in seven characters.
fn time(exponent: u8) -> String {
    let ns = 4096u64 << exponent.min(31);
    match ns / 1_000_000 {
        _ if ns < 1000 => format!("{ns:>4} ns"),
        _ if ns < 1_000_000 => format!("{:>4} us", ns / 1000),
        ms if ms < 1000 => format!("{ms:>4} ms"),
        ms if ms < 180_000 => format!("{:>4} s ", ms / 1000),
        ms if ms < 180 * 60_000 => format!("{:>4} m ", ms / 60_000),
        ms => format!("{:>4} h ", ms / 3_600_000),
    }
}
