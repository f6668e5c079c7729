//! What ports had counted at a moment of the past, from the daemon's history.

use tokio_stream::StreamExt;
use weft_api::time::{duration_ms, timestamp_ms};
use weft_api::{count_of, point_of, v1};
use weft_fabric::{CountsByPort, PortCounts, PortRef, Snapshot};
use weft_wire::pm::Counter;

use super::counts;
use crate::args::Report;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::moment::{local, now_ms, parse};
use crate::output;

/// Ports of one request: their readings are fewer than the daemon sends at most.
const PORTS: usize = 500;
/// How long before a moment its reading may be, with the step of readings that are looked at; first those that are kept in
/// detail, then those of which one an hour is left. Milliseconds.
const LOOKS: [(i64, i64); 2] = [(600_000, 60_000), (7_200_000, 3_600_000)];

/// From when to when a call is about, milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) begin: Option<i64>,
    pub(super) end: Option<i64>,
}

impl Moments {
    /// Those of -b and -e; none where neither is given.
    pub(super) fn of(args: &Report) -> Result<Option<Self>, CliError> {
        let now = now_ms();
        let read = |option: &str, text: &Option<String>| {
            let moment = text.as_deref().map(|text| parse(text, now)).transpose();
            moment.map_err(|why| CliError::Usage(format!("{option}: {why}")))
        };
        let moments = Self {
            begin: read("--begin", &args.begin)?,
            end: read("--end", &args.end)?,
        };
        match (moments.begin, moments.end) {
            (None, None) => Ok(None),
            (Some(begin), end) if begin >= end.unwrap_or(now) => Err(CliError::Usage(format!(
                "--begin, {}, is not before --end, {}",
                local(begin),
                local(end.unwrap_or(now))
            ))),
            _ => Ok(Some(moments)),
        }
    }
}

/// What the ports of a reading had counted at a moment; their links' quality is that of the reading.
pub(super) async fn counts_at(
    session: &Session,
    snapshot: &Snapshot,
    ports: &[v1::PortCounters],
    moment_ms: i64,
) -> Result<CountsByPort, CliError> {
    let known: CountsByPort = ports
        .iter()
        .filter_map(|port| counts(snapshot, port, port.totals.as_ref()?))
        .collect();
    let ids: Vec<v1::PortId> = ports
        .iter()
        .filter_map(|port| port.port.as_ref()?.port)
        .collect();
    for (window_ms, step_ms) in LOOKS {
        let mut found = CountsByPort::new();
        for ids in ids.chunks(PORTS) {
            let request = v1::ListCounterSamplesRequest {
                ports: ids.to_vec(),
                from: Some(timestamp_ms(moment_ms - window_ms)),
                to: Some(timestamp_ms(moment_ms)),
                step: Some(duration_ms(step_ms)),
                ..v1::ListCounterSamplesRequest::default()
            };
            read(session, snapshot, request, &mut found).await?;
        }
        if !found.is_empty() {
            for (at, counts) in &mut found {
                if let Some(now) = known.get(at) {
                    (counts.quality, counts.lanes_down) = (now.quality, now.lanes_down);
                }
            }
            return Ok(found);
        }
    }
    let hours = LOOKS[1].0 / 3_600_000;
    Err(CliError::Refused(format!(
        "no reading of counters is kept of the {hours} hours before {}; `weft history` tells what is kept",
        local(moment_ms)
    )))
}

/// Adds the last totals of each port of a request.
async fn read(
    session: &Session,
    snapshot: &Snapshot,
    request: v1::ListCounterSamplesRequest,
    found: &mut CountsByPort,
) -> Result<(), CliError> {
    let mut service = session.services(Effort::Work).history();
    let parts = service.list_counter_samples(request);
    let mut parts = session.answer(Effort::Work, parts).await?;
    while let Some(part) = parts.next().await {
        let part = match part {
            Ok(part) => part,
            Err(status) => return Err(session.explain(Effort::Work, status).await),
        };
        for warning in &part.warnings {
            output::complain("weft: ", warning);
        }
        let port = part.port.as_ref().and_then(point_of);
        let totals = part
            .samples
            .last()
            .and_then(|sample| sample.totals.as_ref());
        let (Some((guid, port)), Some(totals)) = (port, totals) else {
            continue;
        };
        let Some(node) = snapshot.topology.find(guid) else {
            continue;
        };
        let counters = Counter::ALL.map(|counter| count_of(totals, counter).unwrap_or_default());
        found.insert(
            PortRef { node, port },
            PortCounts {
                counters,
                quality: 0,
                lanes_down: 0,
            },
        );
    }
    Ok(())
}
