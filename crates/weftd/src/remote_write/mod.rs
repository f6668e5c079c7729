//! The metrics, sent to a receiver of Prometheus' remote write protocol. Off unless an address is given. What the receiver
//! does not take waits, bounded, and is sent when it does.
//!
//! | module | contents |
//! |---|---|
//! | this one | the task, and its counts |
//! | `args` | options |
//! | `backlog` | what waits |
//! | `client` | the connection |
//! | `message` | the protocol's message |
//! | `series` | series from the text of the metrics |

mod args;
mod backlog;
mod client;
mod message;
mod series;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prost::Message;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::{info, warn};

pub(crate) use args::RemoteWriteArgs;
use backlog::{Backlog, Request};
use client::{Client, Failure};
use message::WriteRequest;
use series::series;

use crate::error::DaemonError;
use crate::event_hub::unix_time_ms;
use crate::metrics::Metrics;
use crate::stopping::Stopping;

/// Series in one request at most.
const SERIES_MAX: usize = 2_000;

/// Samples so far; without an address there are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemoteWrites(Option<Arc<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

impl RemoteWrites {
    /// Writes the metrics; nothing without an address.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(counts) = &self.0 else { return Ok(()) };
        let help = "Samples for the receiver of remote write, sent, or dropped as it refused them or was away for too long";
        let kind = MetricType::Counter;
        let mut family = encoder.encode_descriptor("remote_write_samples", help, None, kind)?;
        for (result, count) in [("sent", &counts.sent), ("dropped", &counts.dropped)] {
            let count = ConstCounter::new(count.load(Ordering::Relaxed));
            count.encode(family.encode_family(&[("result", result)])?)?;
        }
        Ok(())
    }
}

/// Sends the metrics.
#[derive(Debug)]
pub(crate) struct RemoteWriter {
    client: Client,
    interval: Duration,
    labels: BTreeMap<String, String>,
    counts: Arc<Counts>,
    backlog: Backlog,
    /// The last request was not taken, and that was told.
    is_away: bool,
}

impl RemoteWriter {
    /// With its counts; no writer where no address is given.
    ///
    /// # Errors
    /// [`DaemonError`] where the receiver's CA is missing or cannot be used.
    pub(crate) fn new(
        args: &RemoteWriteArgs,
        instance: u16,
    ) -> Result<(Option<Self>, RemoteWrites), DaemonError> {
        let Some(target) = args.remote_write.clone() else {
            return Ok((None, RemoteWrites::default()));
        };
        let counts = Arc::<Counts>::default();
        let writer = Self {
            client: Client::new(args, target)?,
            interval: Duration::from_secs(args.remote_write_interval.into()),
            labels: args.labels(instance),
            counts: Arc::clone(&counts),
            backlog: Backlog::default(),
            is_away: false,
        };
        Ok((Some(writer), RemoteWrites(Some(counts))))
    }

    /// Sends until the daemon stops.
    pub(crate) async fn run(mut self, metrics: Arc<Metrics>, stopping: Stopping) {
        let mut times = interval_at(Instant::now() + self.interval, self.interval);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopping.clone().wait() => return,
                _ = times.tick() => {}
            }
            self.gather(&metrics);
            tokio::select! {
                () = stopping.clone().wait() => return,
                () = self.send_all() => {}
            }
        }
    }

    /// Adds the metrics of now to what waits.
    fn gather(&mut self, metrics: &Metrics) {
        let at_ms = unix_time_ms();
        // What cannot be encoded is missing on the page of metrics as well, which says so.
        let text = metrics.prometheus_text().unwrap_or_default();
        let all = series(&text, &self.labels, at_ms);
        for part in all.chunks(SERIES_MAX) {
            let request = WriteRequest {
                timeseries: part.to_vec(),
            };
            let body = snap::raw::Encoder::new().compress_vec(&request.encode_to_vec());
            let samples = part.len() as u64;
            let dropped = match body {
                Ok(body) => self.backlog.push(Request { body, samples }),
                Err(_) => samples,
            };
            self.counts.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    /// Sends what waits, as far as it is taken and until the next metrics are due.
    async fn send_all(&mut self) {
        let until = Instant::now() + self.interval;
        while let Some(request) = self.backlog.first() {
            let samples = request.samples;
            match self.client.send(&request.body).await {
                Ok(()) => {
                    self.counts.sent.fetch_add(samples, Ordering::Relaxed);
                    self.taken();
                }
                Err(Failure::Refused(why)) => {
                    self.counts.dropped.fetch_add(samples, Ordering::Relaxed);
                    self.not_taken(&why, "refused metrics are dropped");
                }
                Err(Failure::Away(why)) => {
                    self.not_taken(&why, "metrics wait until it does");
                    return;
                }
            }
            self.backlog.pop();
            if Instant::now() >= until {
                return;
            }
        }
    }

    fn taken(&mut self) {
        if std::mem::take(&mut self.is_away) {
            let target = self.client.target();
            info!(event = "remote_write_back", "{target} takes metrics again");
        }
    }

    fn not_taken(&mut self, why: &str, then: &str) {
        if !std::mem::replace(&mut self.is_away, true) {
            let target = self.client.target();
            warn!(
                event = "remote_write_away",
                "{target} takes no metrics: {why}; {then}"
            );
        }
    }
}
