//! Preemption: small packets of one lane preempt large ones of another.
//!
//! Both ends of a cable must accept interleaved packets: with a marker for the lane of
//! the following data, or nested to a bounded depth without one. It is off on all ports while no service
//! level may preempt another.

use weft_fabric::{Node, PortNum};
use weft_wire::sm::PortInfo;

use crate::sm::settings::Preemption;

/// Bytes of a step of `SmallPktLimit`, of which 0 is the first.
const SMALL_UNIT: u32 = 32;
/// Bytes of a step of `LargePktLimit`, of which 0 is the first.
const LARGE_UNIT: u32 = 512;
/// `LargePktLimit` has four bits.
const LARGE_MAX: u32 = 15;
/// Bytes of a step of `PreemptionLimit`; 255 steps are no limit.
const LIMIT_UNIT: u32 = 256;
/// Least bytes of a packet before and behind an interruption, in units of 8: 80 bytes
/// (`SM_PREEMPT_HEAD_DEF`, `SM_PREEMPT_TAIL_DEF`).
const PART: u16 = 10;
/// `STL_PORT_FLIT_DISTANCE_MODE_2`, which goes before mode 1.
const DISTANCE_MODE_2: u8 = 2;

/// Whether a port can mark lanes; a switch says so at its port 0, for all its ports.
pub(crate) fn marks_lanes(node: &Node, port: PortNum) -> bool {
    let says = if node.is_switch() { PortNum(0) } else { port };
    let port = node.port(says);
    port.is_some_and(|port| port.info.capability_mask3.is_vl_marker_supported)
}

/// Whether packets can be interleaved on a cable, whose ends both mark lanes or do not.
pub(crate) fn can_interleave(port: &PortInfo, neighbour: &PortInfo, markers: bool) -> bool {
    markers || nest_level(port, neighbour) > 0
}

/// Nesting depth of packets without markers.
fn nest_level(port: &PortInfo, neighbour: &PortInfo) -> u8 {
    let most = |info: &PortInfo| info.interleave_max_nest_level_rx_supported;
    most(port).min(most(neighbour))
}

/// Lets packets of a port interrupt each other, none for never.
pub(crate) fn set(
    info: &mut PortInfo,
    neighbour: &PortInfo,
    markers: bool,
    preemption: Option<&Preemption>,
) {
    let used = preemption.filter(|_| can_interleave(info, neighbour, markers));
    info.is_vl_marker_enabled = markers && used.is_some();
    info.interleave_max_nest_level_tx_enabled = match used {
        Some(_) if !markers => nest_level(info, neighbour),
        _ => 0,
    };
    let Some(preemption) = used else { return };
    let distances = info.interleave_distance_supported & neighbour.interleave_distance_supported;
    info.interleave_distance_enabled = match distances & DISTANCE_MODE_2 {
        0 => distances,
        mode => mode,
    };
    info.preemption_min_initial = PART;
    info.preemption_min_tail = PART;
    let steps = |bytes: u32, unit: u32, most: u32| (bytes / unit).clamp(1, most + 1) as u8;
    let large = steps(preemption.large_packet, LARGE_UNIT, LARGE_MAX) - 1;
    info.preemption_large_pkt_limit = large;
    let small = (preemption.small_packet / SMALL_UNIT).clamp(1, 256) - 1;
    info.preemption_small_pkt_limit = (small as u8).min(info.preemption_max_small_pkt_limit);
    info.preemption_limit = (preemption.limit / LIMIT_UNIT).min(255) as u8;
}
