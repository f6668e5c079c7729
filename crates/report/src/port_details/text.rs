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
use crate::extent::Extent;
use crate::names::{speed, width};

/// The lines of a port; lines of lists are four columns deeper.
pub(crate) fn lines(info: &PortInfo, extent: Extent) -> Vec<String> {
    let mut lines = state(info, extent);
    lines.extend(identity(info, extent));
    lines.extend(mtus(info, extent));
    lines.extend(widths(info, extent));
    lines.extend(queues(info, extent));
    lines.extend(capabilities(info, extent));
    lines.extend(limits(info, extent));
    lines.extend(buffers(info, extent));
    lines
}

/// Start of the line that opareport writes four columns further left with -H.
const OUTDENTED: &str = "FlitCtrlInterleave ";

/// Whether a line is four columns further left.
pub(crate) fn is_outdented(line: &str, extent: Extent) -> bool {
    !extent.has_settings() && line.starts_with(OUTDENTED)
}

fn state(info: &PortInfo, extent: Extent) -> Vec<String> {
    let local = info.local_port_num.0;
    if !extent.has_settings() {
        return vec![
            format!("LocalPort: {local:<3} PortState: xxxxxx           PhysState: xxxxxxxx"),
            "NeighborNormal: x".to_owned(),
        ];
    }
    let (state, phys) = (info.port_state.to_string(), info.phys_state.to_string());
    let reason = match info.port_state {
        PortState::INIT if info.link_init_reason != LinkInitReason::NOP => {
            format!("({:<13})", init_reason(info.link_init_reason))
        }
        _ => " ".repeat(15),
    };
    vec![
        format!("LocalPort: {local:<3} PortState: {state:<6} {reason} PhysState: {phys:<8}"),
        format!(
            "IsSMConfigurationStarted: {:<5} NeighborNormal: {:<5}",
            truth(info.is_sm_configuration_started),
            truth(info.neighbor_normal)
        ),
    ]
}

fn identity(info: &PortInfo, extent: Extent) -> Vec<String> {
    let lid = match info.lid {
        PERMISSIVE => "DontCare  ".to_owned(),
        lid => format!("{lid}    "),
    };
    let lid = extent.passing(lid, "xxxxxxxxxx    ");
    let sm_lid = extent.passing(format_args!("{}  ", info.master_sm_lid), "xxxxxxxxxx  ");
    let lmc = extent.setting(info.lmc.0, "x");
    let prefix = extent.setting(
        format_args!("{:#018x}", info.subnet_prefix),
        "xxxxxxxxxxxxxxxxxx",
    );
    let sl = extent.setting(format_args!("{:>2}", info.master_sm_sl.0), "xx");
    let [response, subnet] = [info.resp_time_value, info.subnet_timeout]
        .map(|value| extent.setting(time(value), "xxxxxxx"));
    let key = extent.setting(
        format_args!(
            "{:#018x}  Lease: {:>5} s          Protect: {}",
            info.m_key,
            info.m_key_lease_period,
            protection(info.m_key_protect_bits)
        ),
        "xxxxxxxxxxxxxxxxxx  Lease: xxxxxxx          Protect: xxxxxxxx",
    );
    vec![
        format!("PortType: {:<3}", port_type(info)),
        format!(
            "BundleNextPort: {:<3}         BundleLane: {:<3}",
            info.bundle_next_port.0, info.bundle_lane
        ),
        format!("LID:    {lid}          LMC: {lmc}               Subnet: {prefix}"),
        format!("SMLID:  {sm_lid} SMSL: {sl}   RespTimeout: {response}  SubnetTimeout: {subnet}"),
        format!("M_KEY:  {key}"),
    ]
}

fn mtus(info: &PortInfo, extent: Extent) -> Vec<String> {
    let stalls = info
        .xmit_q
        .iter()
        .map(|queue| format!("{:>2x}", queue.vl_stall_count));
    let mut lines = vec![format!(
        "MTU  Supported: ({:#x}) {} bytes",
        info.mtu_cap.0,
        info.mtu_cap.bytes()
    )];
    if !extent.has_settings() {
        return lines;
    }
    lines.push(format!(
        "VLStallCount (per VL): {}",
        stalls.collect::<String>()
    ));
    lines.push("MTU  Active by VL:".to_owned());
    for first in (0..VLS).step_by(8) {
        let vls = first..first + 8;
        let mtu = |vl| format!("{vl:02}:{:>5}", info.neighbor_mtu.get(Vl(vl)).bytes());
        lines.push(vls.map(mtu).collect::<Vec<_>>().join(" "));
    }
    lines
}

fn widths(info: &PortInfo, extent: Extent) -> Vec<String> {
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
    let set = |text: String, hidden: &str| extent.setting(text, hidden);
    let crcs = [
        info.port_ltp_crc_mode_active,
        info.port_ltp_crc_mode_supported,
        info.port_ltp_crc_mode_enabled,
    ];
    let [crc, crcs_supported, crcs_enabled] = crcs.map(crc_modes);
    vec![
        format!(
            "LinkWidth: Active:    {}  Supported:    {:>7}  Enabled:    {}",
            set(format!("{:>4}", width(info.link_width_active)), "xxxx"),
            width(info.link_width_supported),
            set(format!("{:>7}", width(info.link_width_enabled)), "xxxxxxx")
        ),
        format!(
            "LinkWidthDnGrade: {} Supported:    {:>7}  Enabled:    {}",
            set(
                format!("ActiveTx: {tx:>2} Rx: {rx:>2}"),
                "Active: Tx: xx Rx: xx"
            ),
            width(info.link_width_downgrade_supported),
            set(
                format!("{:>7}", width(info.link_width_downgrade_enabled)),
                "xxxxxxx"
            )
        ),
        format!(
            "PortLinkMode: Active: {} Supported: {supported:<16} Enabled: {}",
            set(format!("{active:<8}"), "xxxx"),
            set(format!("{enabled:<8}"), "xxxx")
        ),
        format!(
            "PortLTPCRCMode: Act: {} Sup: {crcs_supported:<21} En: {}",
            set(format!("{crc:<6}"), "xxxx"),
            set(format!("{crcs_enabled:<21}"), "xxxx")
        ),
        format!(
            "LinkSpeed: Active: {}  Supported: {:>10}  Enabled: {}",
            set(format!("{:>7}", speed(info.link_speed_active)), "xxxxxxx"),
            speed(info.link_speed_supported),
            set(
                format!("{:>10}", speed(info.link_speed_enabled)),
                "xxxxxxxxxx"
            )
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

fn queues(info: &PortInfo, extent: Extent) -> Vec<String> {
    let mut lines = match extent.has_settings() {
        true => lifetimes(info),
        false => vec![format!(
            "VLs:       Active:    xxxx  Supported:       {:>2}+1  HOQLife: xxxxxxxxx",
            info.vl_cap
        )],
    };
    if has_arbitration(info) {
        let limits = extent.setting(
            format_args!(
                "{:>4} PreemptLimit {:>4}",
                info.vl_high_limit, info.vl_preempting_limit
            ),
            "xxxx PreemptLimit xxxx",
        );
        lines.push(format!(
            "VL Arb Cap:  High:    {:>4}        Low:       {:>4}  HiLimit: {limits}",
            info.vl_arbitration_high_cap, info.vl_arbitration_low_cap
        ));
    }
    lines
}

fn lifetimes(info: &PortInfo) -> Vec<String> {
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
    lines
}

fn capabilities(info: &PortInfo, extent: Extent) -> Vec<String> {
    let on = |on: bool| if on { "On" } else { "Off" };
    let count = |count: u16| extent.passing(format_args!("{count:>5}"), "xxxxx");
    let mode = extent.setting(
        format_args!(
            "PortMode ActiveOptimize: {:>3} PassThrough: {:>3} VLMarker: {:>3}",
            on(info.is_active_optimize_enabled),
            on(info.is_pass_through_enabled),
            on(info.is_vl_marker_enabled)
        ),
        "PortMode ActiveOptimize xxxxx PassThrough: xxxxx VLMarker: xxxxx",
    );
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
            "Violations: M_Key: {} P_Key: {} Q_Key: {}",
            count(info.violations_m_key),
            count(info.violations_p_key),
            count(info.violations_q_key)
        ),
        mode,
    ]
}

fn limits(info: &PortInfo, extent: Extent) -> Vec<String> {
    let packets = |limit: u8| extent.setting(format_args!("{limit:#04x}"), "xxxx");
    let distance = extent.setting(
        format_args!("{:>2}", info.interleave_distance_enabled),
        "xxxxx",
    );
    let mut lines = vec![
        format!(
            "{OUTDENTED}Distance Max: {:>2} Enabled: {distance}",
            info.interleave_distance_supported
        ),
        format!(
            "MaxNestLevelTxEnabled: {} MaxNestLevelRxSupported: {}",
            extent.setting(info.interleave_max_nest_level_tx_enabled, "xxxx"),
            info.interleave_max_nest_level_rx_supported
        ),
        format!(
            "SmallPktLimit: {} MaxSmallPktLimit: {:#04x} PreemptionLimit: {}",
            packets(info.preemption_small_pkt_limit),
            info.preemption_max_small_pkt_limit,
            packets(info.preemption_limit)
        ),
    ];
    if extent.has_settings() {
        lines.push(format!(
            "FlitCtrlPreemption MinInital: {} MinTail: {} LargePktLim: {:#04x}",
            u64::from(info.preemption_min_initial) * FLIT,
            u64::from(info.preemption_min_tail) * FLIT,
            info.preemption_large_pkt_limit
        ));
    }
    if extent.has_settings() && info.capability_mask3.is_max_lid_supported {
        lines.push(format!("MaxLID: {}", info.max_lid.0));
    }
    lines
}

fn buffers(info: &PortInfo, extent: Extent) -> Vec<String> {
    let enforced = |enforced: bool| {
        let word = if enforced { "On" } else { "Off" };
        extent.setting(format_args!("{word:>3}"), "xxx")
    };
    let rate = extent.setting(format_args!("{:#04x}", info.vl15_credit_rate), "xxxxxx");
    let mut lines = vec![format!(
        "BufferUnits: VL15Init {:#06x}; VL15CreditRate {rate}; CreditAck {:#x}; BufferAlloc {:#x}",
        info.vl15_init, info.credit_ack, info.buffer_alloc
    )];
    if extent.has_settings() {
        lines.push(format!(
            "PortErrorActions: {:#x}: {}",
            info.port_error_action.bits(),
            error_actions(info)
        ));
    }
    let wire = extent.passing(format_args!("{:#04x}", replay_wire(info)), "xxxx");
    let code = extent.setting(format_args!("{:#06x}", diag_code(info)), "xxxxxx");
    lines.extend([
        format!(
            "ReplayDepth Buffer {:#04x}; Wire {wire}",
            replay_buffer(info)
        ),
        format!("DiagCode: {code}"),
        format!("OverallBufferSpace: {:#06x}", info.overall_buffer_space),
        format!(
            "P_Key Enforcement: In: {} Out: {}",
            enforced(info.partition_enforcement_inbound),
            enforced(info.partition_enforcement_outbound)
        ),
    ]);
    lines
}
