//! The task that sends spans.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tonic::transport::Channel;
use tracing::{info, warn};

use super::{Endpoint, Tracer, number, text};

/// Most spans in one message.
const BATCH_MAX: usize = 512;
/// Longest time that a span waits for others.
const BATCH_AFTER: Duration = Duration::from_secs(1);
/// Longest time for a message, connecting included.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause after a failure, in which spans gather and then are dropped.
const PAUSE: Duration = Duration::from_secs(10);

/// Sends spans to a collector.
pub(crate) struct Exporter {
    endpoint: Endpoint,
    instance: u32,
    tracer: Tracer,
    spans: mpsc::Receiver<Span>,
    client: TraceServiceClient<Channel>,
    /// The last message failed, and that was told.
    is_away: bool,
}

impl Exporter {
    /// For the instance of this number, with where spans go.
    pub(crate) fn new(endpoint: Endpoint, instance: u32) -> (Self, Tracer) {
        let (tracer, spans) = Tracer::new();
        let channel = Channel::builder(endpoint.uri())
            .connect_timeout(PATIENCE)
            .timeout(PATIENCE)
            .connect_lazy();
        let exporter = Self {
            endpoint,
            instance,
            tracer: tracer.clone(),
            spans,
            client: TraceServiceClient::new(channel),
            is_away: false,
        };
        (exporter, tracer)
    }

    /// Sends until the daemon stops.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let mut batch = Vec::new();
            let stopped = tokio::select! {
                () = async { let _ = stop.wait_for(|stop| *stop).await; } => true,
                count = self.gather(&mut batch) => count == 0,
            };
            if stopped {
                return;
            }
            let pause = self.send(batch).await;
            tokio::select! {
                () = async { let _ = stop.wait_for(|stop| *stop).await; } => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Waits for a span, and for more that follow soon; returns their number.
    async fn gather(&mut self, batch: &mut Vec<Span>) -> usize {
        if self.spans.recv_many(batch, BATCH_MAX).await == 0 {
            return 0;
        }
        let until = Instant::now() + BATCH_AFTER;
        while batch.len() < BATCH_MAX {
            let room = BATCH_MAX - batch.len();
            tokio::select! {
                () = sleep_until(until) => break,
                count = self.spans.recv_many(batch, room) => if count == 0 { break },
            }
        }
        batch.len()
    }

    /// Sends a batch, or drops it; returns the pause before the next one.
    async fn send(&mut self, batch: Vec<Span>) -> Duration {
        let count = batch.len();
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource {
                    attributes: vec![
                        text("service.name", "weftd"),
                        text("service.version", env!("CARGO_PKG_VERSION")),
                        number("weft.instance", self.instance.into()),
                    ],
                    ..Resource::default()
                }),
                scope_spans: vec![ScopeSpans {
                    scope: Some(InstrumentationScope {
                        name: "weftd".to_owned(),
                        ..InstrumentationScope::default()
                    }),
                    spans: batch,
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        let sent = tokio::time::timeout(PATIENCE, self.client.export(request)).await;
        let failure = match sent {
            Ok(Ok(_)) => None,
            Ok(Err(status)) => Some(status.message().to_owned()),
            Err(_) => Some(format!("no answer in {} s", PATIENCE.as_secs())),
        };
        let endpoint = &self.endpoint;
        match (failure, std::mem::take(&mut self.is_away)) {
            (None, was_away) => {
                self.tracer.count_sent(count);
                if was_away {
                    info!(
                        event = "otlp_back",
                        "the collector at {endpoint} takes spans again"
                    );
                }
                Duration::ZERO
            }
            (Some(why), was_away) => {
                self.tracer.count_dropped(count);
                self.is_away = true;
                if !was_away {
                    warn!(
                        event = "otlp_away",
                        "the collector at {endpoint} takes no spans: {why}; they are dropped until it does"
                    );
                }
                PAUSE
            }
        }
    }
}
