//! From one instance of opafm.xml to settings.

use std::sync::Arc;
use std::time::Duration;

use weft_config::{DeviceGroups, Instance, ResolvedFabrics};

use super::{
    Categories, ClearSettings, CongestionWeights, DiskSettings, FABRICS_MAX, IntegrityWeights,
    MonitoredFabric, PmSettings, PortGroup, Process, RequestSettings, Resolution, USER_GROUPS_MAX,
};
use crate::settings::{Members, Resolved, Selector};
use crate::sm::settings::Settings;
use crate::sm::wanted::qos::Qos;

impl PmSettings {
    /// Settings of a configuration, including those that it sets for the subnet manager.
    pub(crate) fn from_config(from: &Resolved<'_>, sm: &Settings) -> Self {
        let (instance, pm) = (from.instance, &from.instance.pm);
        let defaults = Self::default();
        Self {
            interval: pm.sweep_interval.max(Duration::from_secs(1)),
            subnet_prefix: sm.subnet_prefix,
            max_clients: pm.max_clients,
            total_images: pm.total_images.max(2),
            frozen_images: pm.freeze_frame_images.max(1),
            lease: pm.freeze_frame_lease,
            disk: disk(instance),
            thresholds: thresholds(instance),
            threshold_messages: threshold_messages(instance),
            integrity: integrity(instance),
            congestion: congestion(instance),
            clear: ClearSettings {
                eighths: pm.error_clear.min(7),
                data: pm.clear_data_xfer,
                wide: pm.clear_64bit,
                medium: pm.clear_32bit,
                narrow: pm.clear_8bit,
            },
            resolution: Resolution {
                local_link_integrity: pm.resolution.local_link_integrity,
                link_error_recovery: u64::from(pm.resolution.link_error_recovery),
            },
            process: Process {
                hfis: pm.process_hfi_counters,
                lanes: pm.process_vl_counters,
                error_info: pm.process_error_info,
            },
            requests: requests(instance),
            failure_messages: pm.sweep_errors_log_threshold,
            groups: port_groups(instance, &from.groups),
            sl: management_level(&from.fabrics).unwrap_or(defaults.sl),
            fabrics: monitored_fabrics(from, &Qos::new(sm, 1)),
        }
    }
}

fn disk(instance: &Instance) -> Option<DiskSettings> {
    let from = &instance.pm.short_term_history;
    let images = from.images_per_composite.max(1);
    let file = instance
        .pm
        .sweep_interval
        .as_secs()
        .max(1)
        .saturating_mul(images.into());
    from.enable.then(|| DiskSettings {
        dir: from.storage_location.clone(),
        images,
        files_max: (from.total_history.as_secs() / file).max(1),
        bytes_max: from.max_disk_space_mib.saturating_mul(1 << 20),
        divisions: from.compression_divisions.clamp(1, 32),
    })
}

fn thresholds(instance: &Instance) -> Categories {
    let from = &instance.pm.thresholds;
    Categories {
        integrity: from.integrity,
        congestion: from.congestion,
        sma_congestion: from.sma_congestion,
        bubble: from.bubble,
        security: from.security,
        routing: from.routing,
    }
}

fn threshold_messages(instance: &Instance) -> Categories {
    let from = &instance.pm.thresholds_exceeded_msg_limit;
    Categories {
        integrity: from.integrity,
        congestion: from.congestion,
        sma_congestion: from.sma_congestion,
        bubble: from.bubble,
        security: from.security,
        routing: from.routing,
    }
}

fn integrity(instance: &Instance) -> IntegrityWeights {
    let from = &instance.pm.integrity_weights;
    IntegrityWeights {
        local_link_integrity: from.local_link_integrity_errors,
        rcv_errors: from.rcv_errors,
        buffer_overruns: from.excessive_buffer_overruns,
        link_error_recovery: from.link_error_recovery,
        link_downed: from.link_downed,
        uncorrectable: from.uncorrectable_errors,
        fm_config: from.fm_config_errors,
        link_quality: from.link_quality_indicator,
        lanes_down: from.link_width_downgrade,
    }
}

fn congestion(instance: &Instance) -> CongestionWeights {
    let from = &instance.pm.congestion_weights;
    CongestionWeights {
        xmit_wait: from.xmit_wait_pct,
        discards: from.cong_discards,
        rcv_fecn: from.rcv_fecn_pct,
        rcv_becn: from.rcv_becn_pct,
        xmit_time: from.xmit_time_cong_pct,
        mark_fecn: from.mark_fecn_pct,
    }
}

fn requests(instance: &Instance) -> RequestSettings {
    let pm = &instance.pm;
    let defaults = RequestSettings::default();
    let first = match pm.min_resp_timeout.is_zero() {
        true => pm.resp_timeout,
        false => pm.min_resp_timeout,
    };
    RequestSettings {
        attempts: pm.max_attempts.max(1),
        timeout: pm.resp_timeout,
        first_timeout: first,
        floor: defaults.floor.min(first).max(Duration::from_millis(1)),
        nodes: pm.max_parallel_nodes,
        per_node: pm.pma_batch_size.clamp(1, 16) as u8,
    }
}

fn in_groups<'a>(
    groups: &'a Arc<DeviceGroups>,
    names: impl IntoIterator<Item = &'a String>,
) -> Members {
    Members::of(names.into_iter().map(|name| Selector::Group {
        groups: Arc::clone(groups),
        name: name.clone(),
    }))
}

fn port_groups(instance: &Instance, groups: &Arc<DeviceGroups>) -> Vec<PortGroup> {
    let enabled = instance.pm_port_groups.list.iter();
    let enabled = enabled.filter(|group| group.enable).take(USER_GROUPS_MAX);
    enabled
        .map(|group| PortGroup {
            name: group.name.clone(),
            members: in_groups(groups, &group.monitors),
        })
        .collect()
}

/// The service level of the virtual fabric that performance management belongs to.
fn management_level(fabrics: &ResolvedFabrics) -> Option<weft_fabric::Sl> {
    let mut active = fabrics.active();
    let admin = active.find(|fabric| fabric.applications.pm);
    admin.map(|fabric| fabric.sl)
}

fn monitored_fabrics(from: &Resolved<'_>, qos: &Qos) -> Vec<MonitoredFabric> {
    let active = from.virtual_fabrics().filter(|fabric| !fabric.standby);
    let monitored = active.take(FABRICS_MAX).map(|fabric| MonitoredFabric {
        lanes: [fabric.sl, fabric.multicast_sl]
            .into_iter()
            .fold(0, |lanes, sl| lanes | 1 << (qos.lane(sl).0 & 0x1F)),
        fabric,
    });
    monitored.collect()
}
