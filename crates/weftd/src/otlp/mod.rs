//! Spans of sweeps and of requests, sent to an OpenTelemetry collector (OTLP over gRPC). Off unless an endpoint is
//! given; nothing waits for it: a full queue drops spans and counts them.
//!
//! | module | contents |
//! |---|---|
//! | this one | what other parts hold: where spans go, and which request caused which sweep |
//! | `endpoint` | the collector's address |
//! | `layer` | spans of requests |
//! | `sweeps` | spans of sweeps, from their events |
//! | `export` | the task that sends |

mod endpoint;
mod export;
mod layer;
mod sweeps;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use tokio::sync::mpsc;

pub(crate) use endpoint::Endpoint;
pub(crate) use export::Exporter;
pub(crate) use layer::RequestSpans;
pub(crate) use sweeps::Sweeps;

/// Spans that wait to be sent; further ones are dropped.
const QUEUE_MAX: usize = 4_096;
/// Sweeps whose causes are remembered until they end.
const CAUSES_MAX: usize = 256;

/// Identity of a span, as W3C Trace Context has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) trace: [u8; 16],
    pub(crate) span: [u8; 8],
}

impl Context {
    /// A new span of a new trace.
    fn root() -> Self {
        let [high, low] = [random(), random()];
        let mut trace = [0; 16];
        trace[..8].copy_from_slice(&high);
        trace[8..].copy_from_slice(&low);
        Self {
            trace,
            span: random(),
        }
    }

    /// A new span of the same trace.
    fn child(&self) -> Self {
        Self {
            trace: self.trace,
            span: random(),
        }
    }
}

/// Eight random bytes, of which one at least is not 0.
fn random() -> [u8; 8] {
    RandomState::new().hash_one(0).max(1).to_be_bytes()
}

/// Where spans go; without a collector nowhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tracer {
    queue: Option<mpsc::Sender<Span>>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sent: AtomicU64,
    dropped: AtomicU64,
    /// Requests that asked for sweeps, by the sweeps' numbers.
    causes: Mutex<BTreeMap<u64, Context>>,
}

impl Tracer {
    /// With the queue's other end.
    fn new() -> (Self, mpsc::Receiver<Span>) {
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let tracer = Self {
            queue: Some(queue),
            shared: Arc::default(),
        };
        (tracer, spans)
    }

    /// Whether spans go anywhere.
    fn is_on(&self) -> bool {
        self.queue.is_some()
    }

    /// Hands in a span, or drops it.
    fn take(&self, span: Span) {
        let Some(queue) = &self.queue else { return };
        if queue.try_send(span).is_err() {
            self.count_dropped(1);
        }
    }

    fn count_dropped(&self, spans: usize) {
        self.shared
            .dropped
            .fetch_add(spans as u64, Ordering::Relaxed);
    }

    fn count_sent(&self, spans: usize) {
        self.shared.sent.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// Remembers the request that asked for a sweep, until that ends.
    pub(crate) fn caused(&self, sweep: u64, request: Option<&Context>) {
        let Some(request) = request.filter(|_| self.is_on()) else {
            return;
        };
        let causes = self.shared.causes.lock();
        let mut causes = causes.unwrap_or_else(PoisonError::into_inner);
        causes.insert(sweep, *request);
        while causes.len() > CAUSES_MAX {
            causes.pop_first();
        }
    }

    /// The request that asked for a sweep; it is forgotten.
    fn cause(&self, sweep: u64) -> Option<Context> {
        let causes = self.shared.causes.lock();
        causes
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&sweep)
    }

    /// Writes the metrics; nothing without a collector.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if !self.is_on() {
            return Ok(());
        }
        let help =
            "Spans for the OpenTelemetry collector, sent or dropped as it is away or too slow";
        let mut family =
            encoder.encode_descriptor("otlp_spans", help, None, MetricType::Counter)?;
        for (result, count) in [
            ("sent", &self.shared.sent),
            ("dropped", &self.shared.dropped),
        ] {
            let labels = [("result", result)];
            let count = ConstCounter::new(count.load(Ordering::Relaxed));
            count.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

fn number(key: &str, value: u64) -> KeyValue {
    attribute(
        key,
        Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
    )
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
