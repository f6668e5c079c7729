//! Counters and thresholds for `weft report`.

mod past;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weft_api::time::unix_s;
use weft_api::v1;
use weft_fabric::{CountsByPort, PortCounts, PortRef, Snapshot};
use weft_report::{Counted, Thresholds};
use weft_wire::pm::Counter;

use crate::args::{Daemon, Report};
use crate::connect::{Session, connect};
use crate::counters::{Read, all_totals};
use crate::error::CliError;
use crate::output;
use past::{Moments, counts_at};

/// How long the next reading of counters may take after an interval.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two looks for it.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the vendor's tools have their thresholds.
const CONFIG: &str = "/etc/opa/opamon.conf";

/// What the ports of a fabric have counted, as its file or else the daemon tells it, and the thresholds of the call; none
/// if the file does not tell it. `then_ms` is the moment of a fabric of the past, milliseconds since 1970.
pub(crate) async fn counted(
    daemon: &Daemon,
    snapshot: &Snapshot,
    args: &Report,
    then_ms: Option<i64>,
) -> Result<Option<Counted>, CliError> {
    let thresholds = thresholds(args.config.as_deref())?;
    let counts = match (&args.snapshot, &snapshot.counts) {
        (Some(_), None) => return Ok(None),
        (Some(_), Some(counts)) => Arc::clone(counts),
        (None, _) if then_ms.is_some() => {
            let session = connect(daemon).await?;
            Arc::new(then(&session, snapshot, args, then_ms.unwrap_or_default()).await?)
        }
        (None, _) => {
            let session = connect(daemon).await?;
            let first = all_totals(&session).await?;
            Arc::new(match (Moments::of(args)?, args.interval) {
                (Some(moments), _) => between(&session, snapshot, &first, moments).await?,
                (None, None) => since_clear(snapshot, &first),
                (None, Some(seconds)) => {
                    let last = later(&session, &first, Duration::from_secs(seconds)).await?;
                    since(&by_port(snapshot, &first), by_port(snapshot, &last))
                }
            })
        }
    };
    Ok(Some(Counted {
        counts,
        thresholds,
        limited: args.limit,
    }))
}

/// What the ports of a daemon's fabric have counted, now or at a moment of the past.
pub(crate) async fn totals(
    daemon: &Daemon,
    snapshot: &Snapshot,
    then_ms: Option<i64>,
) -> Result<Arc<CountsByPort>, CliError> {
    if let Some(then_ms) = then_ms {
        let session = connect(daemon).await?;
        return Ok(Arc::new(counts_at(&session, snapshot, then_ms).await?));
    }
    let read = all_totals(&connect(daemon).await?).await?;
    Ok(Arc::new(since_clear(snapshot, &read)))
}

/// What ports have counted since somebody had their counters set to zero (`-C`), or else since the daemon read them first.
fn since_clear(snapshot: &Snapshot, read: &Read) -> CountsByPort {
    let ports = read.ports.iter();
    let since = ports.filter_map(|port| {
        let counted = port.since_clear.as_ref().or(port.totals.as_ref());
        counts(snapshot, port, counted?)
    });
    since.collect()
}

/// What ports have counted since the daemon read them first.
fn by_port(snapshot: &Snapshot, read: &Read) -> CountsByPort {
    let ports = read.ports.iter();
    let totals = ports.filter_map(|port| counts(snapshot, port, port.totals.as_ref()?));
    totals.collect()
}

/// What ports counted between two moments, one of which may be the first reading or now.
async fn between(
    session: &Session,
    snapshot: &Snapshot,
    now: &Read,
    moments: Moments,
) -> Result<CountsByPort, CliError> {
    let last = match moments.end {
        Some(end) => counts_at(session, snapshot, end).await?,
        None => by_port(snapshot, now),
    };
    Ok(match moments.begin {
        Some(begin) => {
            let first = counts_at(session, snapshot, begin).await?;
            since(&first, last)
        }
        None => last,
    })
}

/// What the ports of a fabric of the past had counted then, or since an earlier moment up to then.
async fn then(
    session: &Session,
    snapshot: &Snapshot,
    args: &Report,
    then_ms: i64,
) -> Result<CountsByPort, CliError> {
    let begin = Moments::begin_before(args, then_ms)?;
    let last = counts_at(session, snapshot, then_ms).await?;
    Ok(match begin {
        Some(begin) => since(&counts_at(session, snapshot, begin).await?, last),
        None => last,
    })
}

/// The first reading that begins so long after another one, or ends the wait where no more come.
async fn later(session: &Session, first: &Read, interval: Duration) -> Result<Read, CliError> {
    tokio::time::sleep(interval).await;
    let from = unix_s(first.image.time) + interval.as_secs();
    let mut rest = PATIENCE.as_secs() / PAUSE.as_secs();
    loop {
        let read = all_totals(session).await?;
        if read.image.number > first.image.number && unix_s(read.image.time) >= from {
            return Ok(read);
        }
        rest = rest.checked_sub(1).ok_or_else(|| {
            CliError::Usage(format!(
                "no later reading of counters came in {} s; does the performance manager run?",
                PATIENCE.as_secs()
            ))
        })?;
        tokio::time::sleep(PAUSE).await;
    }
}

/// What ports have counted since an earlier reading; all that they have where that lacks them.
fn since(first: &CountsByPort, mut last: CountsByPort) -> CountsByPort {
    for (at, counts) in &mut last {
        let Some(before) = first.get(at) else {
            continue;
        };
        for (now, before) in counts.counters.iter_mut().zip(before.counters) {
            *now = now.saturating_sub(before);
        }
    }
    last
}

pub(crate) fn thresholds(config: Option<&Path>) -> Result<Thresholds, CliError> {
    let stock = Path::new(CONFIG);
    let file = match config {
        None if !stock.exists() => return Ok(Thresholds::default()),
        None => stock,
        Some(file) => file,
    };
    let wrong = |why: String| CliError::Content {
        file: file.to_owned(),
        why,
    };
    let text = String::from_utf8(output::read(file)?);
    let text = text.map_err(|_| wrong("it is no text in UTF-8".to_owned()))?;
    Thresholds::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// A port with what it has counted; none if it is not in the fabric any more.
fn counts(
    snapshot: &Snapshot,
    port: &v1::PortCounters,
    counted: &v1::PortCounts,
) -> Option<(PortRef, PortCounts)> {
    let (guid, number) = weft_api::point_of(port.port.as_ref()?.port.as_ref()?)?;
    let at = PortRef {
        node: snapshot.topology.find(guid)?,
        port: number,
    };
    let counters =
        Counter::ALL.map(|counter| weft_api::count_of(counted, counter).unwrap_or_default());
    let narrow = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
    let counts = PortCounts {
        counters,
        quality: Some(narrow(port.link_quality)),
        lanes_down: narrow(port.lanes_down),
    };
    Some((at, counts))
}
