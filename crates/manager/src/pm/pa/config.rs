//! Capabilities of performance administration and settings of the manager.

use weft_wire::class_port_info::ClassPortInfo;
use weft_wire::header::version;
use weft_wire::pa::{CategoryThresholds, PmConfig};

use super::Records;
use crate::pm::Pm;

/// Images by time, ports that failed as focus, topology queries, focus on virtual fabrics, lists of
/// an image (`STL_PA_CPI_CAPMASK_*`).
const CAPABILITIES: u16 = 0x0100 | 0x0400 | 0x0800 | 0x1000 | 0x2000;
/// `RespTimeValue`: 4.096 µs × 2^18, about a second.
const RESP_TIME: u8 = 18;

/// Processing options (`STL_PM_PROCESS_*`).
mod flag {
    pub(super) const VL_COUNTERS: u32 = 0x01;
    pub(super) const HFI_COUNTERS: u32 = 0x02;
    pub(super) const CLEAR_DATA: u32 = 0x04;
    pub(super) const CLEAR_64BIT: u32 = 0x08;
    pub(super) const CLEAR_32BIT: u32 = 0x10;
    pub(super) const CLEAR_8BIT: u32 = 0x20;
    pub(super) const ERROR_INFO: u32 = 0x40;
}

pub(super) fn class_port_info() -> Records {
    Records::one(ClassPortInfo {
        base_version: version::OPA,
        class_version: version::OPA,
        cap_mask: CAPABILITIES,
        resp_time_value: RESP_TIME,
        ..ClassPortInfo::default()
    })
}

impl Pm {
    pub(super) fn pm_config(&self) -> Records {
        let settings = &self.settings;
        let millis =
            |time: std::time::Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let seconds = |time: std::time::Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        Records::one(PmConfig {
            sweep_interval: seconds(settings.interval),
            max_clients: settings.max_clients,
            size_history: settings.total_images,
            size_freeze: settings.frozen_images,
            lease: seconds(settings.lease),
            pm_flags: self.flags(),
            congestion_weights: settings.congestion.into(),
            category_thresholds: self.category_thresholds(),
            integrity_weights: settings.integrity.into(),
            memory_footprint: self.history.bytes(),
            max_attempts: settings.requests.attempts,
            resp_timeout: millis(settings.requests.timeout),
            min_resp_timeout: millis(settings.requests.first_timeout),
            max_parallel_nodes: settings.requests.nodes,
            pma_batch_size: u32::from(settings.requests.per_node),
            error_clear: settings.clear.eighths,
        })
    }

    fn flags(&self) -> u32 {
        let (process, clear) = (&self.settings.process, &self.settings.clear);
        let all = [
            (process.lanes, flag::VL_COUNTERS),
            (process.hfis, flag::HFI_COUNTERS),
            (clear.data, flag::CLEAR_DATA),
            (clear.wide, flag::CLEAR_64BIT),
            (clear.medium, flag::CLEAR_32BIT),
            (clear.narrow, flag::CLEAR_8BIT),
            (process.error_info, flag::ERROR_INFO),
        ];
        let set = all.into_iter().filter(|(set, _)| *set);
        set.fold(0, |flags, (_, flag)| flags | flag)
    }

    fn category_thresholds(&self) -> CategoryThresholds {
        let thresholds = &self.settings.thresholds;
        CategoryThresholds {
            integrity_errors: thresholds.integrity,
            congestion: thresholds.congestion,
            sma_congestion: thresholds.sma_congestion,
            bubble: thresholds.bubble,
            security_errors: thresholds.security,
            routing_errors: thresholds.routing,
        }
    }
}
