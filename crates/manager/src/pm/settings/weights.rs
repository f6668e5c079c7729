//! Weights as settings and as on the wire.

use weft_wire::pa;

use super::{CongestionWeights, IntegrityWeights};

impl From<IntegrityWeights> for pa::IntegrityWeights {
    fn from(weights: IntegrityWeights) -> Self {
        Self {
            local_link_integrity_errors: weights.local_link_integrity,
            port_rcv_errors: weights.rcv_errors,
            excessive_buffer_overruns: weights.buffer_overruns,
            link_error_recovery: weights.link_error_recovery,
            link_downed: weights.link_downed,
            uncorrectable_errors: weights.uncorrectable,
            fm_config_errors: weights.fm_config,
            link_quality_indicator: weights.link_quality,
            link_width_downgrade: weights.lanes_down,
        }
    }
}

impl From<pa::IntegrityWeights> for IntegrityWeights {
    fn from(weights: pa::IntegrityWeights) -> Self {
        Self {
            local_link_integrity: weights.local_link_integrity_errors,
            rcv_errors: weights.port_rcv_errors,
            buffer_overruns: weights.excessive_buffer_overruns,
            link_error_recovery: weights.link_error_recovery,
            link_downed: weights.link_downed,
            uncorrectable: weights.uncorrectable_errors,
            fm_config: weights.fm_config_errors,
            link_quality: weights.link_quality_indicator,
            lanes_down: weights.link_width_downgrade,
        }
    }
}

impl From<CongestionWeights> for pa::CongestionWeights {
    fn from(weights: CongestionWeights) -> Self {
        Self {
            port_xmit_wait: weights.xmit_wait,
            sw_port_congestion: weights.discards,
            port_rcv_fecn: weights.rcv_fecn,
            port_rcv_becn: weights.rcv_becn,
            port_xmit_time_cong: weights.xmit_time,
            port_mark_fecn: weights.mark_fecn,
        }
    }
}

impl From<pa::CongestionWeights> for CongestionWeights {
    fn from(weights: pa::CongestionWeights) -> Self {
        Self {
            xmit_wait: weights.port_xmit_wait,
            discards: weights.sw_port_congestion,
            rcv_fecn: weights.port_rcv_fecn,
            rcv_becn: weights.port_rcv_becn,
            xmit_time: weights.port_xmit_time_cong,
            mark_fecn: weights.port_mark_fecn,
        }
    }
}
