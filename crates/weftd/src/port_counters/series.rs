//! Counters of chosen ports as metrics, labelled as those of infiniband_exporter.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use weft_fabric::PortRef;
use weft_manager::pm::{Image, Roster};
use weft_manager::port_totals::PortTotals;
use weft_report::{Point, Selection};
use weft_wire::pm::Counter;

use super::PortCounters;

/// Ports with series of their own: further ones, by GUID and port, are left out.
pub(crate) const PORTS_MAX: usize = 1_024;
/// Bytes of a flit.
const FLIT: u64 = 8;

/// Metrics of the ports that `--port-metrics` names.
#[derive(Debug)]
pub(crate) struct PortSeries {
    points: Vec<Point>,
    counters: Arc<PortCounters>,
    /// The ports in the last roster.
    chosen: Mutex<Arc<Chosen>>,
}

/// Ports in one roster.
#[derive(Debug, Default)]
struct Chosen {
    roster: Arc<Roster>,
    places: Vec<usize>,
    left_out: usize,
}

impl PortSeries {
    pub(crate) fn new(points: Vec<Point>, counters: Arc<PortCounters>) -> Self {
        let chosen = Mutex::default();
        Self {
            points,
            counters,
            chosen,
        }
    }

    /// Writes the metrics; nothing where no port is chosen or nothing has been read.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let totals = self.counters.latest();
        let Some(image) = totals.image().filter(|_| !self.points.is_empty()) else {
            return Ok(());
        };
        let chosen = self.chosen(image);
        let ports = chosen.places.iter();
        let ports: Vec<Series> = ports
            .filter_map(|place| Series::new(&totals, *place))
            .collect();
        let mut out = Out(encoder);
        out.count(
            "port_metrics_ports",
            "Ports with metrics of their own (--port-metrics)",
            ports.len(),
        )?;
        let help = "Ports that --port-metrics names and that are too many";
        out.count("port_metrics_ports_left_out", help, chosen.left_out)?;
        for kind in [Kind::Switch, Kind::Hca] {
            out.kind(kind, &ports)?;
        }
        Ok(())
    }

    fn chosen(&self, image: &Image) -> Arc<Chosen> {
        let mut last = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&last.roster, &image.roster) {
            *last = Arc::new(Chosen::new(&self.points, &image.roster));
        }
        Arc::clone(&last)
    }
}

impl Chosen {
    fn new(points: &[Point], roster: &Arc<Roster>) -> Self {
        let snapshot = &roster.snapshot;
        // A point that names nothing may do so later.
        let selections: Vec<Selection> = (points.iter())
            .filter_map(|point| point.select(snapshot).ok())
            .collect();
        let mut places: Vec<_> = (roster.ports.iter().enumerate())
            .filter_map(|(place, port)| {
                let member = roster.member_of(port);
                let at = PortRef {
                    node: member.node,
                    port: port.number,
                };
                let has = selections.iter().any(|selection| selection.has_port(at));
                has.then_some((member.guid, port.number, place))
            })
            .collect();
        places.sort_unstable();
        let left_out = places.len().saturating_sub(PORTS_MAX);
        places.truncate(PORTS_MAX);
        Self {
            roster: Arc::clone(roster),
            places: places.into_iter().map(|(.., place)| place).collect(),
            left_out,
        }
    }
}

/// Kinds of nodes, which have metrics of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Switch,
    Hca,
}

impl Kind {
    /// The label of the node's name, and the beginning of the metrics' names.
    fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Hca => "hca",
        }
    }
}

/// A port's values and labels.
struct Series {
    kind: Kind,
    labels: [(&'static str, String); 6],
    counters: weft_manager::pm::Counters,
    /// Bytes a second that the link carries.
    capacity: Option<f64>,
    quality: u8,
}

impl Series {
    fn new(totals: &PortTotals, place: usize) -> Option<Self> {
        let (image, total) = (totals.image()?, totals.port(place)?);
        let roster = &image.roster;
        let port = roster.ports.get(place)?;
        let member = roster.member_of(port);
        let name = |member: &weft_manager::pm::Member| {
            let node = roster.snapshot.topology.node(member.node);
            node.map(|node| node.name()).unwrap_or_default()
        };
        let kind = match member.is_switch {
            true => Kind::Switch,
            false => Kind::Hca,
        };
        let remote = port
            .neighbor
            .and_then(|place| roster.ports.get(place as usize));
        let far = remote.map(|remote| roster.member_of(remote));
        Some(Self {
            kind,
            labels: [
                ("guid", member.guid.to_string()),
                (kind.name(), name(member)),
                ("port", port.number.to_string()),
                (
                    "remote_guid",
                    far.map(|far| far.guid.to_string()).unwrap_or_default(),
                ),
                ("remote_name", far.map(name).unwrap_or_default()),
                (
                    "remote_port",
                    remote
                        .map(|remote| remote.number.to_string())
                        .unwrap_or_default(),
                ),
            ],
            counters: total.counters,
            capacity: image.port(place).and_then(|view| view.capacity()),
            quality: image.quality(place),
        })
    }
}

struct Out<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Out<'_, '_> {
    fn count(&mut self, name: &str, help: &str, value: usize) -> fmt::Result {
        let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
        let kind = gauge.metric_type();
        gauge.encode(self.0.encode_descriptor(name, help, None, kind)?)
    }

    fn kind(&mut self, kind: Kind, ports: &[Series]) -> fmt::Result {
        let ports: Vec<&Series> = ports.iter().filter(|port| port.kind == kind).collect();
        if ports.is_empty() {
            return Ok(());
        }
        for counter in Counter::ALL {
            let (name, help) = name(counter);
            let data = matches!(counter, Counter::XmitData | Counter::RcvData);
            let name = format!("{}_port_{name}", kind.name());
            let unit = data.then_some(Unit::Bytes);
            let mut family =
                self.0
                    .encode_descriptor(&name, help, unit.as_ref(), MetricType::Counter)?;
            for port in &ports {
                let value = port.counters[counter as usize];
                let value = if data {
                    value.saturating_mul(FLIT)
                } else {
                    value
                };
                ConstCounter::new(value).encode(family.encode_family(&port.labels)?)?;
            }
        }
        let name = format!("{}_port_rate_bytes_per_second", kind.name());
        let help = "Bytes a second that the link carries in the direction of sending";
        let mut family = self
            .0
            .encode_descriptor(&name, help, None, MetricType::Gauge)?;
        for (port, capacity) in ports.iter().filter_map(|port| Some((port, port.capacity?))) {
            ConstGauge::new(capacity).encode(family.encode_family(&port.labels)?)?;
        }
        let name = format!("{}_port_link_quality", kind.name());
        let help = "Quality of the link: 5 excellent to 1 bad, 0 down";
        let mut family = self
            .0
            .encode_descriptor(&name, help, None, MetricType::Gauge)?;
        for port in &ports {
            ConstGauge::new(i64::from(port.quality)).encode(family.encode_family(&port.labels)?)?;
        }
        Ok(())
    }
}

/// Name of a counter's metric after `port_`, without unit, and what it counts. Those that InfiniBand has too are called
/// as infiniband_exporter calls them.
fn name(counter: Counter) -> (&'static str, &'static str) {
    match counter {
        Counter::XmitData => ("transmit_data", "Data sent, with headers"),
        Counter::RcvData => ("receive_data", "Data received, with headers"),
        Counter::XmitPkts => ("transmit_packets", "Packets sent"),
        Counter::RcvPkts => ("receive_packets", "Packets received"),
        Counter::MulticastXmitPkts => ("multicast_transmit_packets", "Multicast packets sent"),
        Counter::MulticastRcvPkts => ("multicast_receive_packets", "Multicast packets received"),
        Counter::XmitWait => (
            "transmit_wait",
            "Flit times with data to send and no credits",
        ),
        Counter::SwPortCongestion => (
            "congestion_discards",
            "Packets dropped because of congestion in the switch",
        ),
        Counter::RcvFecn => ("receive_fecn", "Packets received with FECN"),
        Counter::RcvBecn => ("receive_becn", "Packets received with BECN"),
        Counter::XmitTimeCong => ("transmit_time_congestion", "Flit times in congestion"),
        Counter::XmitWastedBw => ("transmit_wasted_bandwidth", "Flit times wasted"),
        Counter::XmitWaitData => (
            "transmit_wait_data",
            "Flit times waiting for the rest of a packet",
        ),
        Counter::RcvBubble => ("receive_bubble", "Idle flits received inside packets"),
        Counter::MarkFecn => ("mark_fecn", "Packets marked with FECN"),
        Counter::RcvConstraintErrors => (
            "receive_constraint_errors",
            "Packets received that violated a constraint",
        ),
        Counter::RcvSwitchRelayErrors => (
            "receive_switch_relay_errors",
            "Packets received that could not be forwarded",
        ),
        Counter::XmitDiscards => ("transmit_discards", "Packets dropped before they were sent"),
        Counter::XmitConstraintErrors => (
            "transmit_constraint_errors",
            "Packets not sent because of a constraint",
        ),
        Counter::RcvRemotePhysicalErrors => (
            "receive_remote_physical_errors",
            "Packets received that were marked bad upstream",
        ),
        Counter::LocalLinkIntegrityErrors => (
            "local_link_integrity_errors",
            "Transfers with errors that link retry repaired",
        ),
        Counter::RcvErrors => ("receive_errors", "Packets received with errors"),
        Counter::ExcessiveBufferOverruns => ("excessive_buffer_overrun_errors", "Buffer overruns"),
        Counter::FmConfigErrors => ("fm_config_errors", "Configuration errors"),
        Counter::LinkErrorRecovery => ("link_error_recovery", "Times that the link recovered"),
        Counter::LinkDowned => ("link_downed", "Times that the link was lost"),
        Counter::UncorrectableErrors => ("uncorrectable_errors", "Uncorrectable errors"),
    }
}
