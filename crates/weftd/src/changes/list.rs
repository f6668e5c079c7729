//! Changes, the newest first, each once: what an event tells of a request is told with the request.

use std::collections::VecDeque;

use weft_api::time::unix_ns;
use weft_api::v1;
use weft_history::{EventFilter, HistoryError, audit};

use super::asked::{Asked, Plans};
use super::happened::{Happened, KINDS, Running};
use super::named::KnownNames;
use super::object::Object;
use super::{NO_HISTORY, Sources};

/// What is asked.
pub(crate) struct Question {
    pub(crate) object: Object,
    /// From and to, milliseconds since 1970, both included.
    pub(crate) span_ms: (i64, i64),
    /// Most changes of the answer.
    pub(crate) limit: usize,
}

/// The answer.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// The newest first.
    pub(crate) changes: Vec<v1::Change>,
    /// There are older ones.
    pub(crate) more: bool,
    /// What could not be read, or is not kept.
    pub(crate) warnings: Vec<String>,
    /// The name that was asked about is that of no node in events.
    pub(crate) is_unknown: bool,
}

/// The last of what is read in order.
struct Last<T> {
    kept: VecDeque<T>,
    most: usize,
    lost: bool,
}

impl<T> Last<T> {
    fn new(most: usize) -> Self {
        Self {
            kept: VecDeque::new(),
            most,
            lost: false,
        }
    }

    fn push(&mut self, one: T) {
        self.kept.push_back(one);
        if self.kept.len() > self.most {
            self.kept.pop_front();
            self.lost = true;
        }
    }
}

/// Lists changes.
///
/// # Errors
/// That files cannot be read.
pub(crate) fn list(sources: &Sources<'_>, question: Question) -> Result<Listed, HistoryError> {
    let Question {
        mut object,
        span_ms,
        limit,
    } = question;
    let mut listed = Listed::default();
    let mut names = KnownNames::default();
    let mut search = Search {
        sources,
        span_ms,
        limit,
        names: &mut names,
        warnings: &mut listed.warnings,
    };
    let events = search.happened(&mut object)?;
    if matches!(&object, Object::Parts(parts) if parts.is_empty()) {
        listed.is_unknown = true;
        return Ok(listed);
    }
    let requests = search.asked(&object)?;
    listed.more = events.lost || requests.lost;
    listed.changes = merged(events.kept, requests.kept, &object);
    listed.more |= listed.changes.len() > limit;
    listed.changes.truncate(limit);
    Ok(listed)
}

/// Reads both sources, events first: they tell other ends of links, and names of nodes that are gone.
struct Search<'a> {
    sources: &'a Sources<'a>,
    span_ms: (i64, i64),
    limit: usize,
    names: &'a mut KnownNames,
    warnings: &'a mut Vec<String>,
}

impl Search<'_> {
    fn happened(&mut self, object: &mut Object) -> Result<Last<Happened>, HistoryError> {
        let mut last = Last::new(self.limit + 1);
        let Some(reader) = &self.sources.history else {
            self.warnings.push(NO_HISTORY.to_owned());
            return Ok(last);
        };
        let kinds = KINDS.into_iter().chain(["sweep_started"]);
        let filter = EventFilter {
            kinds: kinds.map(str::to_owned).collect(),
            nodes: Vec::new(),
        };
        let mut running = Running::default();
        let (from_ms, to_ms) = self.span_ms;
        let mut sink = |row| {
            let event = Happened::of(row, &mut running, self.sources.name_of);
            self.names.note(&event.named);
            if let Object::Parts(parts) = object {
                event.teach(parts);
            }
            let is_outcome = event.is_of_plan() && !matches!(object, Object::VirtualFabric(_));
            let concerns = event.concerns(object) || is_outcome;
            if event.row.time_ms >= from_ms && event.is_change() && concerns {
                last.push(event);
            }
            true
        };
        // From the beginning: earlier events tell the other ends of links.
        reader.events((0, to_ms), &filter, &mut sink, &mut |word| {
            self.warnings.push(word)
        })?;
        Ok(last)
    }

    fn asked(&mut self, object: &Object) -> Result<Last<Asked>, HistoryError> {
        let mut last = Last::new(self.limit + 1);
        let Some(dir) = &self.sources.audit else {
            let why = "no record of changes is kept: what people asked for is not known";
            self.warnings.push(why.to_owned());
            return Ok(last);
        };
        if !dir.is_dir() {
            // Nobody has asked for anything yet.
            return Ok(last);
        }
        let ns = |ms: i64| (ms.max(0) as u64).saturating_mul(1_000_000);
        let (from, to) = (ns(self.span_ms.0), ns(self.span_ms.1.saturating_add(1)));
        let name_of = |guid| self.sources.name(self.names, guid);
        let mut plans = Plans::default();
        // From the beginning: earlier requests tell what plans do.
        audit::read(dir, (0, to), &mut |record| {
            let asked = Asked::of(record, &mut plans, &name_of);
            let asked = asked.filter(|asked| asked.time_ns >= from && asked.concerns(object));
            asked.into_iter().for_each(|asked| last.push(asked));
        })?;
        Ok(last)
    }
}

/// Both, the newest first. An event that is the outcome of a request is told with it.
fn merged(
    events: VecDeque<Happened>,
    mut requests: VecDeque<Asked>,
    object: &Object,
) -> Vec<v1::Change> {
    let mut changes = Vec::new();
    for event in events {
        let mut newest_first = requests.iter_mut().rev();
        match newest_first.find(|asked| asked.has_led_to(&event)) {
            Some(asked) => asked.has_outcome(&event),
            None if event.concerns(object) => changes.push(event.change()),
            None => {}
        }
    }
    // Of requests for other settings those count that have changed the virtual fabric.
    let by_outcome = matches!(object, Object::VirtualFabric(_));
    let asked = requests.into_iter().map(|asked| asked.change);
    changes.extend(asked.filter(|change| !by_outcome || !change.event_id.is_empty()));
    changes.sort_by_key(|change| std::cmp::Reverse(unix_ns(change.time)));
    changes
}
