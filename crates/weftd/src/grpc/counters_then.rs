//! Counters of a moment of the past, in the shape of the last ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tonic::Status;
use weft_api::time::{Timestamp, timestamp_ms, unix_ms};
use weft_api::{WantedCounters, v1};
use weft_fabric::{Guid, PortNum, Snapshot};
use weft_history::{PastReading, PortKey, PortThen, Reader, StateQuestion};
use weft_manager::pm::{Image, PmSettings, Recorded};
use weft_manager::port_totals::PortTotals;

use super::background;
use super::details::detailed;
use super::facts::Facts;
use super::history::status;
use super::last_read::LastRead;
use super::past::{self, LastStates, NOT_KEPT};
use super::refusal::wrong_field;
use super::{Services, attachment};

/// Answers of a kind that are kept: those of both ends of a span. At 27,648 hosts one has some 50 MB.
const KEPT_MAX: usize = 2;

/// A reading of the past.
#[derive(Debug)]
pub(super) struct CountersThen {
    totals: Arc<PortTotals>,
    shown: v1::MomentShown,
    /// Start of the reading; an image only has its seconds.
    time: Timestamp,
}

/// Which moment of the past an answer is about.
#[derive(Debug, Clone)]
pub(super) struct Then {
    pub(super) shown: v1::MomentShown,
    /// Start of the reading.
    pub(super) time: Timestamp,
}

/// What counters of the past were last asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastThen {
    moments: LastRead<StateQuestion, CountersThen, KEPT_MAX>,
    /// By the moment and the start, milliseconds since 1970.
    spans: LastRead<(StateQuestion, i64), Over, KEPT_MAX>,
}

/// The time between two moments.
#[derive(Debug)]
struct Over {
    image: Arc<Image>,
    then: Then,
}

impl CountersThen {
    fn moment(&self) -> Then {
        Then {
            shown: self.shown.clone(),
            time: self.time,
        }
    }
}

/// The message of an image, with the time of the reading where it is of the past.
pub(super) fn image_message(image: &Image, then: Option<&Then>) -> v1::CounterImage {
    let message = v1::CounterImage::of(image);
    v1::CounterImage {
        time: then.map_or(message.time, |then| Some(then.time)),
        ..message
    }
}

impl Services {
    /// The totals of a moment of the past, and which one it is, or the last ones.
    pub(super) async fn totals_at(
        &self,
        at: Option<&v1::Moment>,
        wanted: WantedCounters,
    ) -> Result<(Arc<PortTotals>, Option<Then>), Status> {
        let Some(at) = at else {
            return Ok((self.totals()?, None));
        };
        if wanted.is_large() {
            return Err(Status::invalid_argument(
                "selection: counters of lanes and of virtual fabrics are not kept, so there are none of the past",
            ));
        }
        let then = self.counters_then(at).await?;
        Ok((Arc::clone(&then.totals), Some(then.moment())))
    }

    /// The image of a moment of the past, and which one it is, or the last one; with one before it.
    pub(super) async fn image_at(
        &self,
        at: Option<&v1::Moment>,
    ) -> Result<(Arc<Image>, Option<Then>), Status> {
        let Some(at) = at else {
            self.must_be_master()?;
            return Ok((self.image()?, None));
        };
        let then = self.counters_then(at).await?;
        let image = then.totals.image().filter(|image| image.span_ns > 0);
        let image = image.ok_or_else(|| {
            not_kept(
                "only one reading of counters is kept of the two hours",
                unix_ms(then.shown.time),
            )
        })?;
        Ok((Arc::clone(image), Some(then.moment())))
    }

    /// An image of the time between two moments of the past, in the fabric of the later one; ports whose counters began again
    /// meanwhile, or that were not read at its start, are not read in it.
    pub(super) async fn image_over(
        &self,
        from_ms: i64,
        at: &v1::Moment,
    ) -> Result<(Arc<Image>, Then), Status> {
        let question = past::question("at", at)?;
        let read = self.read_then(move |reader, states, settings| {
            let past = past::read(reader, states, question)?;
            if from_ms >= unix_ms(past.shown.time) {
                return Err(wrong_field("from", "expected a time before the moment"));
            }
            over(reader, past, from_ms, settings)
        });
        let spans = &self.last_then.spans;
        let over = spans.answer((question, from_ms), read).await?;
        Ok((Arc::clone(&over.image), over.then.clone()))
    }

    /// What a reader is told of the attachment: nothing of the past.
    pub(super) fn attachment_at(&self, at: Option<&v1::Moment>) -> Option<v1::Attachment> {
        at.is_none().then(|| attachment(self.hub.attachment()))
    }

    /// The last reading of the counters before a moment, in the fabric of then.
    async fn counters_then(&self, at: &v1::Moment) -> Result<Arc<CountersThen>, Status> {
        let question = past::question("at", at)?;
        let read = self
            .read_then(move |reader, states, settings| read(reader, states, question, settings));
        self.last_then.moments.answer(question, read).await
    }

    /// Reads what is kept of the past, on a thread of its own. It counts among the readers until it has ended, also where
    /// nobody waits for it any more.
    async fn read_then<A: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader, &LastStates, &PmSettings) -> Result<A, Status> + Send + 'static,
    ) -> Result<A, Status> {
        let settings = self.query_settings.borrow().pm.clone().unwrap_or_default();
        let (history, permit) = self.history().await?;
        let states = self.last_states.clone();
        let reading = background::begin(move || {
            let _permit = permit;
            read(&history.reader(), &states, &settings)
        });
        reading.await?
    }
}

fn read(
    reader: &Reader,
    last: &LastStates,
    question: StateQuestion,
    settings: &PmSettings,
) -> Result<CountersThen, Status> {
    let past = past::read(reader, last, question)?;
    let (snapshot, mut shown) = (Arc::clone(&past.state.snapshot), past.shown);
    let at_ms = unix_ms(shown.time);
    let reading = reading_at(reader, at_ms, &mut shown)?;
    let image = image_of(snapshot, settings, &reading);
    let mut totals = PortTotals::default();
    totals.follow(Arc::new(image));
    let totals = Arc::new(totals);
    let time = timestamp_ms(reading.time_ms);
    Ok(CountersThen {
        totals,
        shown,
        time,
    })
}

/// The image of a moment, as of what was counted since a time before it.
fn over(
    reader: &Reader,
    past: past::Past,
    from_ms: i64,
    settings: &PmSettings,
) -> Result<Over, Status> {
    let (snapshot, mut shown) = (Arc::clone(&past.state.snapshot), past.shown);
    let at_ms = unix_ms(shown.time);
    let last = reading_at(reader, at_ms, &mut shown)?;
    let first = reading_at(reader, from_ms, &mut shown)?;
    let span = last.since(&first);
    if span.span_ms == 0 {
        return Err(not_kept(
            "one reading of counters is kept of the time",
            at_ms,
        ));
    }
    let time = timestamp_ms(span.time_ms);
    let image = Arc::new(image_of(snapshot, settings, &span));
    let then = Then { shown, time };
    Ok(Over { image, then })
}

/// The last reading up to a time, with what could not be read as warnings.
fn reading_at(
    reader: &Reader,
    at_ms: i64,
    shown: &mut v1::MomentShown,
) -> Result<PastReading, Status> {
    let mut warnings: BTreeSet<String> = std::mem::take(&mut shown.warnings).into_iter().collect();
    let reading = reader.reading(at_ms, &mut |word| {
        warnings.insert(word);
    });
    shown.warnings = warnings.into_iter().collect();
    let reading = reading.map_err(|error| status(&error))?;
    let what = "no reading of counters is kept of the two hours";
    reading.ok_or_else(|| not_kept(what, at_ms))
}

/// A reading as an image of the fabric of then.
fn image_of(snapshot: Arc<Snapshot>, settings: &PmSettings, reading: &PastReading) -> Image {
    let (time, span) = times(reading);
    let ports: BTreeMap<PortKey, &PortThen> =
        reading.ports.iter().map(|port| (port.key, port)).collect();
    let recorded = |guid: Guid, port: PortNum| {
        let found = ports.get(&PortKey {
            guid: guid.0,
            port: port.0,
        })?;
        Some(Recorded {
            counters: found.values.totals,
            before: found.before,
            link_quality: found.values.link_quality,
        })
    };
    Image::of_recorded(snapshot, settings, (time, span), recorded)
}

/// Seconds since 1970, and nanoseconds since the reading before.
fn times(reading: &PastReading) -> (u64, u64) {
    let of = |ms: i64| u64::try_from(ms).unwrap_or_default();
    (
        of(reading.time_ms) / 1000,
        of(reading.span_ms).saturating_mul(1_000_000),
    )
}

fn not_kept(what: &str, at_ms: i64) -> Status {
    let time = timestamp_ms(at_ms);
    let why = format!("{what} before {time}; `weft history` tells what is kept");
    detailed(&Status::failed_precondition(why), NOT_KEPT, Facts::none())
}

/// A port's message without what is not known of the past, where it is of the past.
pub(super) fn known_at(then: Option<&Then>, port: v1::PortCounters) -> v1::PortCounters {
    match then {
        None => port,
        Some(_) => v1::PortCounters {
            since_time: None,
            lanes_since_time: None,
            ..port
        },
    }
}
