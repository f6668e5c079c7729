//! `weft report -C`: counters are set to zero after the reports.

use weft_api::{counter_name, v1};
use weft_report::{Cleared, ClearingReport, Options, clearing};
use weft_wire::pm::Counter;

use crate::args::{self, Daemon, Report};
use crate::asked::author;
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::errors::thresholds;

/// Sets the counters of the call to zero; none where it asks for nothing.
pub(super) async fn clear(
    daemon: &Daemon,
    args: &Report,
    options: &Options,
) -> Result<Option<ClearingReport>, CliError> {
    let counters = match args.clear.wanted() {
        None => return Ok(None),
        Some(args::Cleared::All) => Counter::ALL.to_vec(),
        Some(args::Cleared::Thresholds) => thresholds(args.config.as_deref())?.counters(),
    };
    let cleared = match counters.is_empty() {
        true => None,
        false => Some(set_to_zero(daemon, args, &counters).await?),
    };
    Ok(Some(clearing(options, &counters, args.limit, cleared)))
}

async fn set_to_zero(
    daemon: &Daemon,
    args: &Report,
    counters: &[Counter],
) -> Result<Cleared, CliError> {
    let names = counters
        .iter()
        .map(|counter| counter_name(*counter).to_owned());
    let request = v1::ClearPortCountersRequest {
        point: args.focus.clone().unwrap_or_default(),
        neighbors: args.focus.is_some() && !args.limit,
        counters: Some(weft_api::FieldMask {
            paths: names.collect(),
        }),
        author: author(),
        reason: args.clear.reason.clone(),
    };
    let session = connect(daemon).await?;
    let mut service = session.services(Effort::Work).counters();
    let done = service.clear_port_counters(request);
    let done = session.answer(Effort::Work, done).await?;
    Ok(Cleared {
        cleared_ports: done.cleared_ports,
        cleared_nodes: done.cleared_nodes,
        failed_ports: done.failed_ports,
        failed_nodes: done.failed_nodes,
    })
}
