//! Metrics for Prometheus.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::watch;
use weft_api::v1;
use weft_fabric::enums::SmState;
use weft_manager::SweepReport;
use weft_manager::sm::Status;

use crate::attachment::Attachment;
use crate::etcd::Mandates;
use crate::event_hub::{EventHub, Journal, unix_time_ns};
use crate::event_log::reason_name;
use crate::exposition::Exposition;
use crate::health::Health;
use crate::history::History;
use crate::otlp::Tracer;
use crate::peer::Peering;
use crate::port_counters::PortSeries;
use crate::port_metrics::PortMetrics;
use crate::remote_write::RemoteWrites;
use crate::store::Saved;
use crate::tls::Tls;

type Label = [(&'static str, &'static str); 1];
type Histograms = Family<Label, Histogram, fn() -> Histogram>;

const PHASES: [&str; 4] = ["discover", "plan", "program", "activate"];

/// All metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    sweeps: Family<Label, Counter>,
    sweep_seconds: Histogram,
    phase_seconds: Histograms,
    scrapes: Counter,
}

/// From 1 ms to 64 s.
fn seconds() -> Histogram {
    Histogram::new((0..17).map(|n| 0.001 * f64::from(1 << n)))
}

impl Metrics {
    pub(crate) fn new(sources: Sources) -> Self {
        let mut registry = Registry::with_prefix("weft");
        let (sweeps, scrapes) = (Family::<Label, Counter>::default(), Counter::default());
        let sweep_seconds = seconds();
        let phase_seconds = Histograms::new_with_constructor(seconds);
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "Version of the daemon", Info::new(version));
        registry.register(
            "sweeps",
            "Sweeps that ended, by why they began",
            sweeps.clone(),
        );
        registry.register("scrapes", "Times that metrics were read", scrapes.clone());
        registry.register_with_unit(
            "sweep_duration",
            "From the start of a sweep to its end",
            Unit::Seconds,
            sweep_seconds.clone(),
        );
        registry.register_with_unit(
            "sweep_phase_duration",
            "Time in each phase of a sweep",
            Unit::Seconds,
            phase_seconds.clone(),
        );
        registry.register_collector(Box::new(sources));
        Self {
            registry,
            sweeps,
            sweep_seconds,
            phase_seconds,
            scrapes,
        }
    }

    /// A sweep has ended.
    pub(crate) fn sweep(&self, report: &SweepReport) {
        let reason = report.reason.map_or("unknown", reason_name);
        self.sweeps.get_or_create(&[("reason", reason)]).inc();
        self.sweep_seconds.observe(in_seconds(report.elapsed_ns));
        for (phase, ns) in PHASES.iter().zip(report.phase_ns) {
            let label = [("phase", *phase)];
            self.phase_seconds
                .get_or_create(&label)
                .observe(in_seconds(ns));
        }
    }

    /// All of them in Prometheus' older text.
    pub(crate) fn prometheus_text(&self) -> Result<String, fmt::Error> {
        Ok(Exposition::Prometheus.text(self.text()?))
    }

    /// All of them for a reader, whose scrape is counted, in the text of the library.
    pub(crate) fn scraped(&self) -> Result<String, fmt::Error> {
        self.scrapes.inc();
        self.text()
    }

    fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

fn in_seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Values that are read at the time of a scrape.
#[derive(Debug)]
pub(crate) struct Sources {
    pub(crate) hub: Arc<EventHub>,
    pub(crate) port_metrics: Arc<PortMetrics>,
    pub(crate) port_series: PortSeries,
    pub(crate) saved: watch::Receiver<Saved>,
    pub(crate) health: Health,
    pub(crate) tracer: Tracer,
    pub(crate) history: Option<Arc<History>>,
    pub(crate) remote_writes: RemoteWrites,
    pub(crate) tls: Option<Tls>,
    pub(crate) peering: Peering,
    pub(crate) mandates: Mandates,
}

impl Collector for Sources {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let fabric = v1::GetFabricResponse::from_snapshot(&self.hub.snapshot());
        let mut out = Out(&mut encoder);
        out.fabric(&fabric)?;
        out.last_sweep(self.hub.journal().sweeps().next().map(Arc::as_ref))?;
        out.events(&self.hub.journal())?;
        let attachment = self.hub.attachment();
        out.attachment(attachment, self.hub.seen_unix_ns())?;
        out.gauge(
            "state_unsaved",
            "1 while LIDs, drains and disabled ports could not be written to the state directory",
            i64::from(self.saved.borrow().failure.is_some()),
        )?;
        let status = self.hub.status();
        out.manager(&status, attachment.attached)?;
        let leads = status.role == SmState::MASTER;
        self.peering.encode(&mut encoder, leads)?;
        self.mandates.encode(&mut encoder)?;
        self.health.encode(&mut encoder)?;
        self.tracer.encode(&mut encoder)?;
        self.remote_writes.encode(&mut encoder)?;
        if let Some(tls) = &self.tls {
            tls.encode(&mut encoder)?;
        }
        if let Some(history) = &self.history {
            history.encode(&mut encoder)?;
        }
        self.port_metrics.encode(&mut encoder)?;
        self.port_series.encode(&mut encoder)
    }
}

struct Out<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Out<'_, '_> {
    fn gauge(&mut self, name: &str, help: &str, value: i64) -> fmt::Result {
        let gauge = ConstGauge::new(value);
        let encoder = self
            .0
            .encode_descriptor(name, help, None, gauge.metric_type())?;
        gauge.encode(encoder)
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let encoder = self
            .0
            .encode_descriptor(name, help, None, counter.metric_type())?;
        counter.encode(encoder)
    }

    fn fabric(&mut self, fabric: &v1::GetFabricResponse) -> fmt::Result {
        let generation = i64::try_from(fabric.generation).unwrap_or(i64::MAX);
        self.gauge(
            "fabric_generation",
            "Generation of the published fabric",
            generation,
        )?;
        self.gauge(
            "fabric_links",
            "Cables in the fabric",
            i64::from(fabric.links),
        )?;
        let nodes = [("hfi", fabric.hfis), ("switch", fabric.switches)];
        let help = "Nodes in the fabric, by type";
        let mut family = self
            .0
            .encode_descriptor("fabric_nodes", help, None, MetricType::Gauge)?;
        for (kind, count) in nodes {
            let labels = [("type", kind)];
            ConstGauge::new(i64::from(count)).encode(family.encode_family(&labels)?)?;
        }
        let help = "External ports in the fabric, by logical state";
        let mut family = self
            .0
            .encode_descriptor("fabric_ports", help, None, MetricType::Gauge)?;
        for count in &fabric.ports {
            let state = count
                .state()
                .as_str_name()
                .trim_start_matches("PORT_STATE_");
            let labels = [("state", state.to_lowercase())];
            ConstGauge::new(i64::from(count.ports)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn last_sweep(&mut self, sweep: Option<&SweepReport>) -> fmt::Result {
        let unfinished = sweep.map_or(0, |sweep| sweep.unfinished.len() as i64);
        let sets = sweep.map_or(0, |sweep| i64::try_from(sweep.sets).unwrap_or(i64::MAX));
        self.gauge(
            "last_sweep_unfinished",
            "Unfinished items of the last sweep",
            unfinished,
        )?;
        self.gauge(
            "last_sweep_sets",
            "Attributes that the last sweep wrote",
            sets,
        )
    }

    fn events(&mut self, journal: &Journal) -> fmt::Result {
        let help = "Events published to watchers";
        self.counter("events", help, journal.sequence())?;
        let help = "Traps that were too many of their source to be events";
        self.counter("traps_suppressed", help, journal.traps_suppressed())?;
        let help = "Requests that were dropped because their sender had too many waiting";
        self.counter("requests_dropped", help, journal.requests_dropped())
    }

    fn seconds(&mut self, name: &str, help: &str, seconds: f64) -> fmt::Result {
        let gauge = ConstGauge::new(seconds);
        let unit = Some(&Unit::Seconds);
        let encoder = self
            .0
            .encode_descriptor(name, help, unit, gauge.metric_type())?;
        gauge.encode(encoder)
    }

    fn attachment(&mut self, attachment: Attachment, seen_unix_ns: u64) -> fmt::Result {
        self.gauge(
            "attached",
            "1 while the fabric can be reached, 0 while its HFI, driver or emulator is gone",
            i64::from(attachment.attached),
        )?;
        self.seconds(
            "attached_since_timestamp",
            "When the daemon was attached, or lost the fabric, in seconds since 1970",
            in_seconds(attachment.since_unix_ns),
        )?;
        if seen_unix_ns == 0 {
            return Ok(());
        }
        self.seconds(
            "fabric_age",
            "Time since a sweep last confirmed the fabric that is shown",
            in_seconds(unix_time_ns().saturating_sub(seen_unix_ns)),
        )
    }

    fn manager(&mut self, status: &Status, attached: bool) -> fmt::Result {
        self.gauge(
            "master",
            "1 while this manager runs the fabric, 0 while it is standby, looks for the master, or cannot \
             reach the fabric",
            i64::from(status.role == SmState::MASTER && attached),
        )?;
        self.gauge(
            "sweeps_paused",
            "1 while sweeps are paused",
            i64::from(status.pause.is_some()),
        )?;
        self.gauge(
            "routing_engines_given_up",
            "Routing engines that did not fit the fabric, before the one whose routes are in use",
            status.engines_given_up.into(),
        )?;
        self.gauge(
            "routing_lanes",
            "Lanes that destinations are spread over, 0 without routes",
            status.lanes.into(),
        )?;
        for (name, help, value) in [
            (
                "mads_sent",
                "Datagrams sent, retries included",
                status.totals.sent,
            ),
            (
                "mads_received",
                "Datagrams received",
                status.totals.received,
            ),
            ("mad_retries", "Datagrams sent again", status.totals.retries),
            (
                "mad_timeouts",
                "Requests that were never answered",
                status.totals.timeouts,
            ),
            (
                "mads_stray",
                "Replies without a request",
                status.totals.stray,
            ),
            (
                "mads_unreadable",
                "Datagrams that could not be read",
                status.totals.unreadable,
            ),
            ("traps", "Traps received", status.totals.traps),
            (
                "device_faults",
                "Times that a device broke the rules",
                status.totals.faults,
            ),
            (
                "promises_broken",
                "Times that a switch did not hold the table that it had confirmed",
                status.totals.promises_broken,
            ),
        ] {
            self.counter(name, help, value)?;
        }
        let outstanding = i64::try_from(status.outstanding).unwrap_or(i64::MAX);
        self.gauge(
            "mads_outstanding",
            "Requests that wait for their answers",
            outstanding,
        )?;
        self.round_trip(status)?;
        self.by_attribute(status)
    }

    fn round_trip(&mut self, status: &Status) -> fmt::Result {
        let Some(ns) = status.round_trip_ns else {
            return Ok(());
        };
        let help = "Smoothed round trip of a request over all nodes";
        self.seconds("mad_round_trip", help, in_seconds(ns))
    }

    fn by_attribute(&mut self, status: &Status) -> fmt::Result {
        let help = "Attributes requested, by attribute and method";
        let kind = MetricType::Counter;
        let mut family = self
            .0
            .encode_descriptor("mad_attributes", help, None, kind)?;
        for count in &status.totals.by_attribute {
            for (method, value) in [("get", count.gets), ("set", count.sets)] {
                let labels = [
                    ("attribute", count.attribute.to_string()),
                    ("method", method.to_owned()),
                ];
                ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
