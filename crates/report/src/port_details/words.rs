//! Words for codes of PortInfo.

use weft_fabric::enums::LinkInitReason;
use weft_wire::sm::PortInfo;

pub(super) fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

pub(super) fn init_reason(reason: LinkInitReason) -> &'static str {
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

pub(super) fn port_type(info: &PortInfo) -> &'static str {
    match info.port_type.0 {
        1 => "Disconnected",
        2 => "Fixed",
        3 => "Variable",
        4 => "Standard",
        5 => "Silicon Photonics",
        _ => "Unknown",
    }
}

pub(super) fn protection(bits: u8) -> &'static str {
    match bits {
        0 => "Read-only",
        1 => "Hide",
        2 => "Secure",
        _ => "????",
    }
}

pub(super) fn neighbor_type(info: &PortInfo) -> &'static str {
    match info.neighbor_node_type {
        0 => "HFI",
        1 => "Switch",
        _ => "Unknown",
    }
}

pub(super) fn link_mode(modes: u8) -> &'static str {
    match modes {
        0 => "Noop",
        modes if modes & 4 != 0 => "STL",
        _ => "",
    }
}

pub(super) fn crc_modes(modes: u8) -> String {
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

pub(super) fn has_arbitration(info: &PortInfo) -> bool {
    info.capability_mask3.vl_scheduling_config == 0
}

/// The names of what is true.
fn names(all: &[(bool, &'static str)]) -> String {
    let named = all.iter().filter(|(holds, _)| *holds);
    named.map(|(_, name)| *name).collect()
}

pub(super) fn capability(info: &PortInfo) -> String {
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

pub(super) fn capability3(info: &PortInfo) -> String {
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
pub(super) fn error_actions(info: &PortInfo) -> String {
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

pub(super) fn replay_buffer(info: &PortInfo) -> u16 {
    u16::from(info.buffer_depth_h) << 8 | u16::from(info.buffer_depth)
}

pub(super) fn replay_wire(info: &PortInfo) -> u16 {
    u16::from(info.wire_depth_h) << 8 | u16::from(info.wire_depth)
}

pub(super) fn diag_code(info: &PortInfo) -> u16 {
    u16::from(info.universal_diag_code) << 12
        | info.vendor_diag_code << 1
        | u16::from(info.diag_chain)
}

/// 4.096 µs × 2^exponent in seven characters.
pub(super) fn time(exponent: u8) -> String {
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
