//! The fabric of a moment of the past.

use std::sync::Arc;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};
use weft_api::snapshot::{HEALTH, ROUTING, of_pieces};
use weft_api::time::timestamp_ms;
use weft_api::v1;
use weft_api::v1::moment::Moment as Asked;
use weft_fabric::Snapshot;
use weft_history::{Reader, StateAnswer, StateHead, StateQuestion};

use super::Services;
use super::details::DOMAIN;
use super::history::{millis, status};
use crate::event_hub::unix_time_ms;

/// Reason of a moment of which nothing is known.
const NOT_KNOWN: &str = "NOT_KNOWN_THEN";
/// Reason of a moment whose state has not what is asked for.
pub(super) const NOT_KEPT: &str = "NOT_KEPT_THEN";

/// A moment of the past.
pub(super) struct Past {
    /// The fabric.
    pub(super) snapshot: Arc<Snapshot>,
    /// What people had decided about routes, as it was kept; none where it was not.
    pub(super) routing: Option<Vec<u8>>,
    /// The page of what was wrong, as it was kept; none where it was not.
    pub(super) health: Option<Vec<u8>>,
    /// Which moment it is.
    pub(super) shown: v1::MomentShown,
}

impl Services {
    /// The fabric as it was at a moment, and which moment that is.
    pub(super) async fn past(
        &self,
        at: v1::Moment,
    ) -> Result<(Arc<Snapshot>, v1::MomentShown), Status> {
        let past = self.past_of("at", at).await?;
        Ok((past.snapshot, past.shown))
    }

    /// All that is known of the moment that a field of a request has.
    pub(super) async fn past_of(&self, field: &str, at: v1::Moment) -> Result<Past, Status> {
        let question = question(field, &at)?;
        let (history, _permit) = self.history().await?;
        let read = tokio::task::spawn_blocking(move || read(&history.reader(), question));
        read.await
            .map_err(|error| Status::internal(error.to_string()))?
    }

    /// The fabric of a moment of the past, and which one it is, or the published one.
    pub(super) async fn then_or_now(
        &self,
        at: Option<v1::Moment>,
    ) -> Result<(Arc<Snapshot>, Option<v1::MomentShown>), Status> {
        let Some(at) = at else {
            return Ok((self.hub.snapshot(), None));
        };
        let (snapshot, moment) = self.past(at).await?;
        Ok((snapshot, Some(moment)))
    }
}

pub(super) fn question(field: &str, at: &v1::Moment) -> Result<StateQuestion, Status> {
    match &at.moment {
        None => Err(Status::invalid_argument(format!(
            "{field}: expected a time, a sweep or a generation"
        ))),
        Some(Asked::Generation(generation)) => Ok(StateQuestion::Generation(*generation)),
        Some(Asked::Sweep(sweep)) => Ok(StateQuestion::Sweep(*sweep)),
        Some(Asked::Time(time)) => {
            let at = millis(field, time)?;
            match at <= unix_time_ms() {
                true => Ok(StateQuestion::At(at)),
                false => Err(Status::invalid_argument(format!(
                    "{field}: expected a time up to now"
                ))),
            }
        }
    }
}

pub(super) fn read(reader: &Reader, question: StateQuestion) -> Result<Past, Status> {
    let mut warnings = Vec::new();
    let answer = reader.state(question, &mut |word| warnings.push(word));
    let mut state = match answer.map_err(|error| status(&error))? {
        StateAnswer::Known(state) => state,
        StateAnswer::Unknown { before, after } => {
            return Err(unknown(question, before, after, &warnings));
        }
    };
    let routing = state.pieces.remove(&ROUTING[..]);
    let health = state.pieces.remove(&HEALTH[..]);
    let snapshot = of_pieces(state.pieces).map_err(|error| Status::internal(error.to_string()))?;
    let shown = v1::MomentShown {
        time: Some(timestamp_ms(state.time_ms)),
        since: Some(timestamp_ms(state.since.time_ms)),
        sweep: state.sweep,
        generation: state.since.generation,
        warnings,
    };
    Ok(Past {
        snapshot: Arc::new(snapshot),
        routing,
        health,
        shown,
    })
}

fn unknown(
    question: StateQuestion,
    before: Option<StateHead>,
    after: Option<StateHead>,
    warnings: &[String],
) -> Status {
    let time = |head: StateHead| timestamp_ms(head.time_ms).to_string();
    let (before, after) = (before.map(time), after.map(time));
    let mut text = match question {
        StateQuestion::At(ms) => format!("nothing is known of {}", timestamp_ms(ms)),
        StateQuestion::Sweep(sweep) => format!("nothing is known of sweep {sweep}"),
        StateQuestion::Generation(number) => format!("nothing is known of generation {number}"),
    };
    text += &match (&before, &after) {
        (Some(before), Some(after)) => {
            format!(": the nearest known times are {before} and {after}")
        }
        (Some(nearest), None) | (None, Some(nearest)) => {
            format!(": the nearest known time is {nearest}")
        }
        (None, None) => "; `weft history` tells what is kept".to_owned(),
    };
    for warning in warnings {
        text += &format!(". {warning}");
    }
    let metadata = [("before", before), ("after", after)];
    let metadata = metadata
        .into_iter()
        .filter_map(|(name, time)| Some((name.to_owned(), time?)));
    let metadata: std::collections::HashMap<String, String> = metadata.collect();
    let details = ErrorDetails::with_error_info(NOT_KNOWN, DOMAIN, metadata);
    Status::with_error_details(Code::NotFound, text, details)
}
