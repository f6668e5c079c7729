//! What ports had counted at a moment of the past, from the daemon's history.

use tokio_stream::StreamExt;
use weft_api::time::{duration_ms, timestamp_ms};
use weft_api::{count_of, point_of, port_message, v1};
use weft_fabric::{CountsByPort, PortCounts, PortRef, Snapshot};
use weft_wire::pm::Counter;

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
    /// When what is shown of a moment of the past begins; none where it is all that was counted up to then.
    pub(super) fn begin_before(args: &Report, then_ms: i64) -> Result<Option<i64>, CliError> {
        if args.end.is_some() {
            let why = "--at is the end of what is shown: it goes with --begin, not with --end";
            return Err(CliError::Usage(why.to_owned()));
        }
        let Some(begin) = Self::of(args)?.and_then(|moments| moments.begin) else {
            return Ok(None);
        };
        match begin < then_ms {
            true => Ok(Some(begin)),
            false => Err(CliError::Usage(format!(
                "--begin, {}, is not before --at, {}",
                local(begin),
                local(then_ms)
            ))),
        }
    }

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

/// What the ports of a fabric had counted at a moment. Lanes are those of the fabric.
pub(super) async fn counts_at(
    session: &Session,
    snapshot: &Snapshot,
    moment_ms: i64,
) -> Result<CountsByPort, CliError> {
    let ids = ports(snapshot);
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
            return Ok(found);
        }
    }
    let hours = LOOKS[1].0 / 3_600_000;
    Err(CliError::Refused(format!(
        "no reading of counters is kept of the {hours} hours before {}; `weft history` tells what is kept",
        local(moment_ms)
    )))
}

/// The ports that are read: those with a link, and port 0 of switches.
fn ports(snapshot: &Snapshot) -> Vec<v1::PortId> {
    let nodes = snapshot.topology.nodes();
    let ports = nodes.flat_map(|(_, node)| {
        let linked = node.ports();
        let linked = linked.filter(|(number, port)| port.peer.is_some() || number.0 == 0);
        linked.map(|(number, _)| port_message(node.guid(), number))
    });
    ports.collect()
}

/// Lanes that the link of a port has lost.
fn lanes_down(snapshot: &Snapshot, at: PortRef) -> u8 {
    let info = snapshot.topology.port(at).map(|port| &port.info);
    info.map_or(0, |info| {
        let (up, left) = (info.link_width_active, info.link_width_downgrade_rx_active);
        match left.0 != 0 && left.0 < up.0 {
            true => up.lanes().saturating_sub(left.lanes()) as u8,
            false => 0,
        }
    })
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
        let sample = part.samples.last();
        let totals = sample.and_then(|sample| sample.totals.as_ref());
        let quality = sample.and_then(|sample| u8::try_from(sample.link_quality?).ok());
        let (Some((guid, port)), Some(totals)) = (port, totals) else {
            continue;
        };
        let Some(node) = snapshot.topology.find(guid) else {
            continue;
        };
        let counters = Counter::ALL.map(|counter| count_of(totals, counter).unwrap_or_default());
        let at = PortRef { node, port };
        let counts = PortCounts {
            counters,
            quality,
            lanes_down: lanes_down(snapshot, at),
        };
        found.insert(at, counts);
    }
    Ok(())
}
