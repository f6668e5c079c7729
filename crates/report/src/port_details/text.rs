//! The lines of a port.

use std::net::{Ipv4Addr, Ipv6Addr};

use weft_fabric::Vl;
use weft_fabric::enums::{LinkInitReason, PortState};
use weft_wire::sm::PortInfo;

use super::words::{
    capability, capability3, crc_modes, diag_code, error_actions, has_arbitration, init_reason,
    link_mode, neighbor_type, port_type, protection, replay_buffer, replay_wire, time, truth,
};
use super::{FLIT, PERMISSIVE, VLS};
use crate::names::{speed, width};

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
