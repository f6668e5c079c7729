//! Groups of ports of the performance manager, and its settings.

use weft_manager::pm::{BUILT_IN_GROUPS, Categories, Image, PmSettings, RosterPort};
use weft_wire::pa::{CategoryBucket, CategoryStats, UtilStats};

use super::counters::{categories, end, rate_gbps, reading};
use crate::time::span;
use crate::v1;

impl v1::PerfGroup {
    /// A group of an image by its place in the roster.
    pub fn of(image: &Image, group: usize, thresholds: &Categories) -> Self {
        let info = image.group(group, thresholds);
        let rates = |inside: bool| {
            let ports = image.group_ports(group);
            let ports = ports.filter(move |(_, internal)| *internal == inside);
            let ports = ports.filter_map(|(place, _)| image.roster.ports.get(place));
            let linked = ports.filter(|port| port.neighbor.is_some()).map(rate_gbps);
            linked.fold(None, |range: Option<(f64, f64)>, rate| {
                let (least, most) = range.unwrap_or((rate, rate));
                Some((least.min(rate), most.max(rate)))
            })
        };
        let side = |ports, sent: &UtilStats, received: Option<&UtilStats>, errors, inside| {
            let (least_gbps, most_gbps) = rates(inside).unwrap_or_default();
            v1::PerfGroupSide {
                ports,
                sent: Some(traffic(sent)),
                received: received.map(traffic),
                errors: Some(trouble(errors)),
                most_gbps,
                least_gbps,
            }
        };
        Self {
            name: image.roster.groups.get(group).cloned().unwrap_or_default(),
            built_in: group < BUILT_IN_GROUPS.len(),
            internal: Some(side(
                info.num_internal_ports,
                &info.internal_util_stats,
                None,
                &info.internal_category_stats,
                true,
            )),
            external: Some(side(
                info.num_external_ports,
                &info.send_util_stats,
                Some(&info.recv_util_stats),
                &info.external_category_stats,
                false,
            )),
        }
    }
}

impl v1::GroupPort {
    /// A port of a group of an image, by its place in the roster.
    pub fn of(image: &Image, place: usize, internal: bool) -> Option<Self> {
        let port: &RosterPort = image.roster.ports.get(place)?;
        let neighbor = port.neighbor.and_then(|other| end(image, other as usize));
        Some(Self {
            port: end(image, place),
            neighbor,
            lid: image.roster.member_of(port).lid.0,
            internal,
            reading: reading(image.reading(place)).into(),
            rate_gbps: rate_gbps(port),
            link_quality: image.known_quality(place).unwrap_or(0).into(),
            sent: Some(image.sending(place).into()),
            categories: categories(image, place),
        })
    }
}

fn traffic(stats: &UtilStats) -> v1::PerfGroupTraffic {
    v1::PerfGroupTraffic {
        total_mbytes_per_second: stats.total_mbps,
        average_mbytes_per_second: stats.avg_mbps,
        least_mbytes_per_second: stats.min_mbps,
        most_mbytes_per_second: stats.max_mbps,
        total_kpackets_per_second: stats.total_kpps,
        average_kpackets_per_second: stats.avg_kpps,
        least_kpackets_per_second: stats.min_kpps,
        most_kpackets_per_second: stats.max_kpps,
        ports_by_utilization: stats.bw_buckets.to_vec(),
        failed_ports: stats.pma_no_resp_ports.into(),
        ports_without_neighbor: stats.topo_incomp_ports.into(),
    }
}

fn trouble(stats: &CategoryStats) -> v1::PerfGroupErrors {
    let most = &stats.category_maximums;
    v1::PerfGroupErrors {
        most: Some(v1::CounterCategories {
            integrity: most.integrity_errors,
            congestion: most.congestion,
            sma_congestion: most.sma_congestion,
            bubble: most.bubble,
            security: most.security_errors,
            routing: most.routing_errors,
        }),
        ports: stats.ports.iter().map(ports_of).collect(),
        most_utilization_permille: most.utilization_pct10.into(),
        most_discards_permille: most.discards_pct10.into(),
    }
}

fn ports_of(bucket: &CategoryBucket) -> v1::CounterCategories {
    v1::CounterCategories {
        integrity: bucket.integrity_errors,
        congestion: bucket.congestion,
        sma_congestion: bucket.sma_congestion,
        bubble: bucket.bubble,
        security: bucket.security_errors,
        routing: bucket.routing_errors,
    }
}

impl From<Categories> for v1::CounterCategories {
    fn from(of: Categories) -> Self {
        Self {
            integrity: of.integrity,
            congestion: of.congestion,
            sma_congestion: of.sma_congestion,
            bubble: of.bubble,
            security: of.security,
            routing: of.routing,
        }
    }
}

impl From<&PmSettings> for v1::GetPerfConfigResponse {
    fn from(settings: &PmSettings) -> Self {
        let (process, clear, requests) = (&settings.process, &settings.clear, &settings.requests);
        Self {
            interval: Some(span(settings.interval)),
            total_images: settings.total_images,
            frozen_images: settings.frozen_images,
            frozen_lease: Some(span(settings.lease)),
            max_clients: settings.max_clients,
            thresholds: Some(settings.thresholds.into()),
            threshold_messages: Some(settings.threshold_messages.into()),
            integrity_weights: Some(integrity(settings)),
            congestion_weights: Some(congestion(settings)),
            clearing: Some(v1::CounterClearing {
                eighths: clear.eighths.into(),
                data: clear.data,
                wide: clear.wide,
                medium: clear.medium,
                narrow: clear.narrow,
            }),
            hfis: process.hfis,
            lanes: process.lanes,
            error_info: process.error_info,
            requests: Some(v1::PerfRequests {
                attempts: requests.attempts,
                timeout: Some(span(requests.timeout)),
                first_timeout: Some(span(requests.first_timeout)),
                nodes: requests.nodes,
                per_node: requests.per_node.into(),
            }),
            groups: settings.group_names(),
        }
    }
}

fn integrity(settings: &PmSettings) -> v1::IntegrityWeights {
    let weights = &settings.integrity;
    v1::IntegrityWeights {
        local_link_integrity_errors: weights.local_link_integrity.into(),
        rcv_errors: weights.rcv_errors.into(),
        excessive_buffer_overruns: weights.buffer_overruns.into(),
        link_error_recovery: weights.link_error_recovery.into(),
        link_downed: weights.link_downed.into(),
        uncorrectable_errors: weights.uncorrectable.into(),
        fm_config_errors: weights.fm_config.into(),
        link_quality: weights.link_quality.into(),
        lanes_down: weights.lanes_down.into(),
    }
}

fn congestion(settings: &PmSettings) -> v1::CongestionWeights {
    let weights = &settings.congestion;
    v1::CongestionWeights {
        xmit_wait: weights.xmit_wait.into(),
        sw_port_congestion: weights.discards.into(),
        rcv_fecn: weights.rcv_fecn.into(),
        rcv_becn: weights.rcv_becn.into(),
        xmit_time_cong: weights.xmit_time.into(),
        mark_fecn: weights.mark_fecn.into(),
    }
}
