//! Spans of sweeps: made from the event of a sweep's end, so that no sweep knows of them.

use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use weft_api::time::ns;
use weft_api::v1::{self, watch_response::Content};

use super::{Context, Tracer, number, text};
use crate::event_hub::{EventHub, Stamped};

/// From a sweep's end until its span is made: the request that asked for a quick sweep may learn its number after the end.
const CAUSE_KNOWN: Duration = Duration::from_millis(100);
/// Names of the phases, in the order of their times.
const PHASES: [&str; 4] = ["discover", "plan", "program", "activate"];

/// Makes spans of the sweeps that end.
pub(crate) struct Sweeps {
    tracer: Tracer,
    events: broadcast::Receiver<Arc<Stamped>>,
}

impl Sweeps {
    /// Of the sweeps from now on.
    pub(crate) fn new(tracer: Tracer, hub: &EventHub) -> Self {
        Self {
            tracer,
            events: hub.subscribe(None).coming,
        }
    }

    /// Makes spans until the daemon stops.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let event = tokio::select! {
                () = async { let _ = stop.wait_for(|stop| *stop).await; } => return,
                event = self.events.recv() => event,
            };
            match event {
                Ok(event) => {
                    if let Content::SweepEnded(sweep) = &event.content {
                        tokio::time::sleep(CAUSE_KNOWN).await;
                        let cause = self.tracer.cause(sweep.number);
                        for span in spans(sweep, event.unix_time_ns, cause) {
                            self.tracer.take(span);
                        }
                    }
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    }
}

/// A sweep with its phases, from its report and the time at which it ended, nanoseconds since 1970.
fn spans(sweep: &v1::Sweep, end: u64, cause: Option<Context>) -> Vec<Span> {
    let own = Context::root();
    let start = end.saturating_sub(ns(sweep.elapsed));
    let link = cause.map(|cause| Link {
        trace_id: cause.trace.to_vec(),
        span_id: cause.span.to_vec(),
        ..Link::default()
    });
    let status = match sweep.unfinished.first() {
        None => Status {
            code: StatusCode::Ok.into(),
            ..Status::default()
        },
        Some(first) => Status {
            code: StatusCode::Error.into(),
            message: format!("{} things unfinished: {first}", sweep.unfinished.len()),
        },
    };
    let mut spans = vec![Span {
        links: link.into_iter().collect(),
        status: Some(status),
        attributes: vec![
            number("weft.sweep", sweep.number),
            text("weft.sweep.reason", sweep.reason().as_str_name()),
            number("weft.sweep.datagrams", sweep.sent),
            number("weft.sweep.sets", sweep.sets),
            number("weft.sweep.retries", sweep.retries),
        ],
        ..span(own, None, "sweep", (start, end))
    }];
    let mut at = start;
    for (name, elapsed) in PHASES.into_iter().zip(&sweep.phase_elapsed) {
        let until = at.saturating_add(ns(Some(*elapsed))).min(end);
        spans.push(span(own.child(), Some(own), name, (at, until)));
        at = until;
    }
    spans
}

fn span(own: Context, parent: Option<Context>, name: &str, (start, end): (u64, u64)) -> Span {
    Span {
        trace_id: own.trace.to_vec(),
        span_id: own.span.to_vec(),
        parent_span_id: parent.map_or_else(Vec::new, |parent| parent.span.to_vec()),
        name: name.to_owned(),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: start,
        end_time_unix_nano: end,
        ..Span::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_api::time::duration;

    #[test]
    fn phases_follow_each_other_within_their_sweep() {
        let sweep = v1::Sweep {
            number: 7,
            elapsed: Some(duration(100)),
            phase_elapsed: [10, 20, 30, 60].map(duration).to_vec(),
            unfinished: vec!["a port".to_owned()],
            ..v1::Sweep::default()
        };
        let cause = Context::root();
        let spans = spans(&sweep, 1_000, Some(cause));
        let times: Vec<_> = spans
            .iter()
            .map(|span| {
                (
                    span.name.as_str(),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                )
            })
            .collect();
        let expected = [
            ("sweep", 900, 1_000),
            ("discover", 900, 910),
            ("plan", 910, 930),
            ("program", 930, 960),
            ("activate", 960, 1_000),
        ];
        assert_eq!(times, expected);
        assert_eq!(spans[0].links[0].span_id, cause.span);
        assert!(spans[0].parent_span_id.is_empty());
        for phase in &spans[1..] {
            assert_eq!(phase.trace_id, spans[0].trace_id);
            assert_eq!(phase.parent_span_id, spans[0].span_id);
        }
        let status = spans[0].status.clone().map(|status| status.code);
        assert_eq!(status, Some(StatusCode::Error.into()));
    }
}
