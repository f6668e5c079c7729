//! HistoryService: files are read on threads for blocking work, a bounded number at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use weft_api::time::{Duration, Timestamp, duration_ms, timestamp_ms};
use weft_api::v1::history_service_server::HistoryService;
use weft_api::{WantedCounters, event_of_json, point_of, v1};
use weft_fabric::Guid;
use weft_history::{EventFilter, HistoryError, PortKey, Reader, Sample};

use super::background;
use super::counters::wanted;
use super::facts::Facts;
use super::refusal::{wrong_field, wrong_field_with};
use super::{Services, select};
use crate::event_hub::unix_time_ms;
use crate::history::History;

/// Messages that wait in a reader's own stream.
const AHEAD: usize = 16;
/// Ports of one answer.
const PORTS_MAX: usize = 1_024;
/// Samples of one message.
const SAMPLES: usize = 1_000;
/// Kinds and nodes of one request.
const NAMES_MAX: usize = 1_000;
/// Time that is meant where none is given, milliseconds.
const USUAL_MS: i64 = 3_600_000;
/// Readers of files at the same time.
const READERS_MAX: usize = 4;

/// Bounds those who read files.
#[derive(Debug, Clone)]
pub(crate) struct HistoryReaders(Arc<Semaphore>);

impl Default for HistoryReaders {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(READERS_MAX)))
    }
}

impl HistoryReaders {
    /// Waits until one more may read.
    pub(super) async fn enter(&self) -> Result<OwnedSemaphorePermit, Status> {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        permit.map_err(|error| Status::internal(error.to_string()))
    }
}

type Stream<T> = ReceiverStream<Result<T, Status>>;

#[tonic::async_trait]
impl HistoryService for Services {
    type ListCounterSamplesStream = Stream<v1::ListCounterSamplesResponse>;
    type ListPastEventsStream = Stream<v1::ListPastEventsResponse>;

    async fn get_history(
        &self,
        _: Request<v1::GetHistoryRequest>,
    ) -> Result<Response<v1::GetHistoryResponse>, Status> {
        let (history, permit) = self.history().await?;
        let reading = move || {
            let _permit = permit;
            kept(&history)
        };
        let kept = background::begin(reading).await?;
        kept.map(Response::new).map_err(|error| status(&error))
    }

    async fn list_counter_samples(
        &self,
        request: Request<v1::ListCounterSamplesRequest>,
    ) -> Result<Response<Self::ListCounterSamplesStream>, Status> {
        let request = request.into_inner();
        let selection = v1::CounterSelection {
            counters: request.counters.clone(),
            ..v1::CounterSelection::default()
        };
        let samples = Samples {
            wanted: wanted(Some(&selection))?,
            span: span(request.from, request.to, USUAL_MS)?,
            step_ms: step(request.step)?,
            ports: self.ports_of(&request)?,
        };
        let (history, permit) = self.history().await?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let told = sender.clone();
        let begun = background::begin(move || {
            let _permit = permit;
            samples.send(&history.reader(), &sender);
        });
        tokio::spawn(tell_failure(begun, told));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn list_past_events(
        &self,
        request: Request<v1::ListPastEventsRequest>,
    ) -> Result<Response<Self::ListPastEventsStream>, Status> {
        let request = request.into_inner();
        if request.kinds.len() + request.nodes.len() > NAMES_MAX {
            let what = format!("with nodes more than {NAMES_MAX}, which is the most");
            return Err(wrong_field_with("kinds", &what, Facts::limit(NAMES_MAX)));
        }
        let span = span(request.from, request.to, USUAL_MS)?;
        let filter = EventFilter {
            kinds: request.kinds,
            nodes: request.nodes,
        };
        let (history, permit) = self.history().await?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let told = sender.clone();
        let begun = background::begin(move || {
            let _permit = permit;
            events(&history.reader(), span, &filter, &sender);
        });
        tokio::spawn(tell_failure(begun, told));
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

/// A stream whose work could not begin, or has panicked, ends with that and not as if it were whole.
async fn tell_failure<T>(
    begun: impl Future<Output = Result<(), Status>>,
    told: mpsc::Sender<Result<T, Status>>,
) {
    if let Err(status) = begun.await {
        // Who has asked may be gone.
        let _unread = told.send(Err(status)).await.err();
    }
}

impl Services {
    pub(super) async fn history(&self) -> Result<(Arc<History>, OwnedSemaphorePermit), Status> {
        let history = self.history.clone().ok_or_else(|| {
            Status::failed_precondition(
                "weftd keeps no history: it runs with --history off, or without a state directory",
            )
        })?;
        Ok((history, self.history_readers.enter().await?))
    }

    /// The ports of a request with names of their nodes, in order.
    fn ports_of(
        &self,
        request: &v1::ListCounterSamplesRequest,
    ) -> Result<Vec<(PortKey, String)>, Status> {
        let mut ports = Vec::new();
        for id in &request.ports {
            let (node, number) =
                point_of(id).ok_or_else(|| wrong_field("ports", "expected a port of 0 to 255"))?;
            ports.push((key(node, number.0), self.hub.name_of(node)));
        }
        if !request.point.is_empty() {
            let snapshot = self.hub.snapshot();
            let selection = select(&snapshot, "point", &request.point)?;
            let options = weft_report::Options::default();
            let options = weft_report::Options {
                focus: Some(weft_report::Focus::new(&snapshot, &selection, &options)),
                ..options
            };
            let totals = self.port_counters.latest();
            let image = totals.image().ok_or_else(super::counters::none_yet)?;
            for (at, _) in super::counters::places(&image.roster, &options) {
                ports.push((key(Guid(at.0), at.1), self.hub.name_of(Guid(at.0))));
            }
        }
        ports.sort_unstable();
        ports.dedup();
        match ports.len() {
            0 => Err(wrong_field("point", "no port is named, here or in ports")),
            1..=PORTS_MAX => Ok(ports),
            count => {
                let what = format!("with ports {count} ports; at most {PORTS_MAX}");
                Err(wrong_field_with("point", &what, Facts::limit(PORTS_MAX)))
            }
        }
    }
}

fn key(node: Guid, port: u8) -> PortKey {
    PortKey { guid: node.0, port }
}

/// A request for samples.
struct Samples {
    ports: Vec<(PortKey, String)>,
    span: (i64, i64),
    step_ms: i64,
    wanted: WantedCounters,
}

impl Samples {
    fn send(
        self,
        reader: &Reader,
        to: &mpsc::Sender<Result<v1::ListCounterSamplesResponse, Status>>,
    ) {
        let keys: Vec<PortKey> = self.ports.iter().map(|(key, _)| *key).collect();
        let mut warnings = Vec::new();
        let read = reader.samples(&keys, self.span, self.step_ms, &mut |word| {
            warnings.push(word)
        });
        let read = match read {
            Ok(read) => read,
            Err(error) => {
                // The reader may have gone.
                let _ = to.blocking_send(Err(status(&error)));
                return;
            }
        };
        for ((key, name), samples) in self.ports.iter().zip(read) {
            for part in samples.chunks(SAMPLES) {
                let message = v1::ListCounterSamplesResponse {
                    port: Some(v1::PortId {
                        node_guid: key.guid,
                        port: key.port.into(),
                    }),
                    node_name: name.clone(),
                    samples: part.iter().map(|sample| self.sample(sample)).collect(),
                    warnings: std::mem::take(&mut warnings),
                };
                if to.blocking_send(Ok(message)).is_err() {
                    return;
                }
            }
        }
        if !warnings.is_empty() {
            let message = v1::ListCounterSamplesResponse {
                warnings,
                ..v1::ListCounterSamplesResponse::default()
            };
            let _ = to.blocking_send(Ok(message));
        }
    }

    fn sample(&self, sample: &Sample) -> v1::CounterSample {
        v1::CounterSample {
            time: Some(timestamp_ms(sample.time_ms)),
            span: Some(duration_ms(sample.span_ms)),
            totals: Some(v1::PortCounts::of(&sample.values.totals, self.wanted)),
            rates: (sample.rates.as_ref()).map(|rates| v1::PortRates::of(rates, self.wanted)),
            link_quality: sample.values.link_quality.map(u32::from),
        }
    }
}

fn events(
    reader: &Reader,
    span: (i64, i64),
    filter: &EventFilter,
    to: &mpsc::Sender<Result<v1::ListPastEventsResponse, Status>>,
) {
    let mut warnings = Vec::new();
    let mut sink = |event: weft_history::EventRow| {
        let time = timestamp_ms(event.time_ms);
        let message = v1::ListPastEventsResponse {
            time: Some(time),
            run: event.run,
            sequence: event.sequence,
            event: Some(event_of_json(&event.kind, &event.body, time)),
            kind: event.kind,
            node_guid: event.guid,
            node_name: event.name,
            port: event.port.into(),
            severity: event.severity,
            message: event.message,
            warnings: Vec::new(),
        };
        to.blocking_send(Ok(message)).is_ok()
    };
    let read = reader.events(span, filter, &mut sink, &mut |word| warnings.push(word));
    let last = match read {
        Err(error) => Err(status(&error)),
        Ok(()) if warnings.is_empty() => return,
        Ok(()) => Ok(v1::ListPastEventsResponse {
            warnings,
            ..v1::ListPastEventsResponse::default()
        }),
    };
    // The reader may have gone.
    let _ = to.blocking_send(last);
}

fn kept(history: &History) -> Result<v1::GetHistoryResponse, HistoryError> {
    let kept = history.reader().kept()?;
    let table = |one: &weft_history::KeptTable| v1::HistoryTable {
        name: one.table.name().to_owned(),
        resolution: one.table.resolution().to_owned(),
        bytes: one.bytes,
        files: one.files,
        oldest: one.oldest_ms.map(timestamp_ms),
        newest: one.newest_ms.map(timestamp_ms),
    };
    let states = v1::HistoryTable {
        name: "states".to_owned(),
        resolution: String::new(),
        bytes: kept.states.bytes,
        files: kept.states.files,
        oldest: kept.states.oldest_ms.map(timestamp_ms),
        newest: kept.states.newest_ms.map(timestamp_ms),
    };
    Ok(v1::GetHistoryResponse {
        tables: kept.tables.iter().map(table).chain([states]).collect(),
        bytes: kept.bytes,
        budget: history.place.budget,
        gaps: (kept.gaps.into_iter())
            .map(|gap| v1::HistoryGap {
                from: Some(timestamp_ms(gap.from_ms)),
                to: Some(timestamp_ms(gap.to_ms)),
                why: gap.why,
            })
            .collect(),
        damaged: kept.damaged,
        directory: history.place.dir.display().to_string(),
        failure: history.failure(),
    })
}

pub(super) fn status(error: &HistoryError) -> Status {
    match error {
        HistoryError::Input(why) => Status::invalid_argument(why.clone()),
        other => Status::internal(other.to_string()),
    }
}

/// Milliseconds since 1970 of a time in a request.
pub(super) fn millis(field: &str, time: &Timestamp) -> Result<i64, Status> {
    let seconds = time.seconds.checked_mul(1000).filter(|ms| *ms >= 0);
    let nanos = (0..1_000_000_000)
        .contains(&time.nanos)
        .then_some(time.nanos);
    let ms = seconds
        .zip(nanos)
        .map(|(ms, nanos)| ms.saturating_add(i64::from(nanos / 1_000_000)));
    ms.ok_or_else(|| Status::invalid_argument(format!("{field}: expected a time from 1970 on")))
}

/// From and to, milliseconds since 1970: now, and `usual_ms` before that, where nothing is said.
pub(super) fn span(
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    usual_ms: i64,
) -> Result<(i64, i64), Status> {
    let to = to.map_or(Ok(unix_time_ms()), |to| millis("to", &to))?;
    let from = from.map_or(Ok((to - usual_ms).max(0)), |from| millis("from", &from))?;
    match from <= to {
        true => Ok((from, to)),
        false => Err(wrong_field("from", "is after to")),
    }
}

fn step(step: Option<Duration>) -> Result<i64, Status> {
    let Some(step) = step else { return Ok(0) };
    let ms = step.seconds.checked_mul(1000);
    let ms = ms.and_then(|ms| ms.checked_add(i64::from(step.nanos / 1_000_000)));
    // Up to ten years.
    ms.filter(|ms| (1..=315_360_000_000).contains(ms))
        .ok_or_else(|| Status::invalid_argument("step: expected a millisecond to ten years"))
}
