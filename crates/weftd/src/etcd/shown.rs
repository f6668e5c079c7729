//! What is known of mastership by etcd, for people and metrics.

use std::fmt;
use std::time::{Duration, Instant};

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tokio::sync::watch;
use weft_api::time::timestamp;
use weft_api::v1;

/// What is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(super) fabric: String,
    /// The server that was asked last.
    pub(super) server: String,
    /// etcd has answered within the time of a lease.
    pub(super) answers: bool,
    /// When it last did, nanoseconds since 1970; 0 for never.
    pub(super) heard_unix_ns: u64,
    /// This manager holds the key.
    pub(super) held: bool,
    /// Revision at which the key was created; 0 where nobody has it, or that is not known.
    pub(super) term: u64,
    /// Port and host of its holder; 0 and empty where that is not known.
    pub(super) port: u64,
    pub(super) host: String,
    /// Why etcd does not answer, or what is wrong with the key; empty where all is well.
    pub(super) trouble: String,
}

/// The same as it changes; none where no etcd is named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mandates(pub(super) Option<(watch::Receiver<Shown>, Lag)>);

/// Since when etcd lacks a change of this master's state; none where it lacks nothing.
pub(super) type Lag = watch::Receiver<Option<Instant>>;

impl Mandates {
    fn now(&self) -> Option<Shown> {
        self.0.as_ref().map(|(shown, _)| shown.borrow().clone())
    }

    /// For how long etcd has lacked a change of this master's state; none where it lacks nothing.
    fn lag(&self) -> Option<Duration> {
        let (_, lag) = self.0.as_ref()?;
        lag.borrow().map(|since| since.elapsed())
    }

    /// Why etcd cannot be asked; none where it can, or need not.
    pub(crate) fn unknown(&self) -> Option<String> {
        let lost = self.now().filter(|shown| !shown.answers);
        lost.map(|shown| shown.trouble)
    }

    /// As a message.
    pub(crate) fn message(&self) -> Option<v1::Mandate> {
        self.now().map(|shown| v1::Mandate {
            behind_time: self.lag().and_then(|lag| lag.try_into().ok()),
            fabric: shown.fabric,
            server: shown.server,
            answers: shown.answers,
            heard_time: (shown.heard_unix_ns > 0).then(|| timestamp(shown.heard_unix_ns)),
            held: shown.held,
            term: shown.term,
            port_guid: shown.port,
            host: shown.host,
            trouble: shown.trouble,
        })
    }

    /// Metrics; nothing where no etcd is named.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(shown) = self.now() else {
            return Ok(());
        };
        let mut gauge = |name: &str, help: &str, value: i64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        gauge(
            "etcd_answers",
            "1 while etcd, which --ha names, answers",
            shown.answers.into(),
        )?;
        gauge(
            "etcd_mandate",
            "1 while this manager holds the key in etcd by which it is to be master",
            shown.held.into(),
        )?;
        let lag = ConstGauge::new(self.lag().unwrap_or_default().as_secs_f64());
        let help = "How long etcd has lacked a change of this master's state";
        let unit = Some(&Unit::Seconds);
        lag.encode(encoder.encode_descriptor("etcd_lag", help, unit, MetricType::Gauge)?)
    }
}
