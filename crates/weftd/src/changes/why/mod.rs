//! What a change comes from: from the change back over the sweep that found or made it to the traps, orders or settings before.
//!
//! | module | contents |
//! |---|---|
//! | `episode` | an event with those around it |
//! | `chain` | from an event back to what it comes from |
//! | `route` | the last sweep that changed a way |
//! | `way` | the links between two ports in a state of the past |

mod chain;
mod episode;
mod route;
mod way;

use weft_api::v1;
use weft_history::HistoryError;

use super::list::{Question, list};
use super::object::{Object, Parts};
use super::{NO_HISTORY, Sources};
use chain::chain;
use episode::Episode;

pub(crate) use way::End;

/// What is to be explained.
pub(crate) enum Subject {
    /// An event: the run of the daemon, and its number there.
    Event(u64, u64),
    /// The last change of nodes and ports.
    Parts(Parts),
    /// The way from one port to another.
    Route(End, End),
}

/// The explanation.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    /// From the change back to what it comes from.
    pub(crate) causes: Vec<v1::Cause>,
    pub(crate) warnings: Vec<String>,
    /// Why there is no explanation.
    pub(crate) unknown: Option<String>,
}

impl Explained {
    fn unknown(why: String, warnings: Vec<String>) -> Self {
        Self {
            unknown: Some(why),
            warnings,
            ..Self::default()
        }
    }
}

/// Explains what has happened up to a time, milliseconds since 1970.
///
/// # Errors
/// That files cannot be read.
pub(crate) fn explain(
    sources: &Sources<'_>,
    subject: Subject,
    to_ms: i64,
) -> Result<Explained, HistoryError> {
    let Some(reader) = &sources.history else {
        return Ok(Explained::unknown(NO_HISTORY.to_owned(), Vec::new()));
    };
    match subject {
        Subject::Event(run, sequence) => of_event(sources, (run, sequence), Vec::new()),
        Subject::Parts(parts) => of_parts(sources, parts, to_ms),
        Subject::Route(from, to) => {
            let mut warnings = Vec::new();
            let found = route::last_change(reader, (from, to), to_ms, &mut warnings)?;
            let changed = match found {
                Ok(changed) => changed,
                Err(why) => return Ok(Explained::unknown(why, warnings)),
            };
            let mut explained = of_event(sources, changed.id, warnings)?;
            explained.causes.insert(0, changed.cause);
            Ok(explained)
        }
    }
}

fn of_event(
    sources: &Sources<'_>,
    id: (u64, u64),
    mut warnings: Vec<String>,
) -> Result<Explained, HistoryError> {
    let Some(episode) = Episode::around(sources, id, &mut warnings)? else {
        let why = format!("no event {} is kept", crate::grpc::token(id.0, id.1));
        return Ok(Explained::unknown(why, warnings));
    };
    let causes = chain(sources, &episode, &mut warnings)?;
    Ok(Explained {
        causes,
        warnings,
        unknown: None,
    })
}

fn of_parts(sources: &Sources<'_>, parts: Parts, to_ms: i64) -> Result<Explained, HistoryError> {
    let question = Question {
        object: Object::Parts(parts),
        span_ms: (0, to_ms),
        limit: 1,
    };
    let listed = list(sources, question)?;
    let Some(last) = listed.changes.into_iter().next() else {
        let why = "no change of it is known".to_owned();
        return Ok(Explained::unknown(why, listed.warnings));
    };
    let id = crate::grpc::place_of(&last.event_id);
    let is_asked = last.origin() == v1::ChangeOrigin::Person;
    let Some(id) = id.filter(|_| !is_asked) else {
        // Whoever asked for it is the cause.
        return Ok(Explained {
            causes: vec![chain::person(&last)],
            warnings: listed.warnings,
            unknown: None,
        });
    };
    of_event(sources, id, listed.warnings)
}
