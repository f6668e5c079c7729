//! `--once`: the outcome of the first sweep, and an example route.

use std::io::{Write, stdout};

use weft_fabric::{PortRef, Snapshot};
use weft_report::{Options, Selection};

use crate::error::DaemonError;
use crate::event_hub::EventHub;
use crate::event_log::{duration, fabric_up};

/// Prints the first sweep and the route from the first HFI to the last.
pub(crate) fn print(hub: &EventHub) -> Result<(), DaemonError> {
    let report = hub.journal().sweeps().last().cloned();
    let Some(report) = report else {
        return Err(DaemonError::Manager(
            "it was stopped before the first sweep ended".to_owned(),
        ));
    };
    let phases = ["discover", "plan", "program", "activate"]
        .iter()
        .zip(report.phase_ns);
    let phases = phases.map(|(name, ns)| format!("{name} {}", duration(ns)));
    let phases = phases.collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "{}\n{phases}; routing: {}\n\n",
        fabric_up(&report),
        report.routing
    );
    text += &example(&hub.snapshot());
    // The reader may have gone.
    let _ = stdout().lock().write_all(text.as_bytes());
    match report.unfinished.is_empty() {
        true => Ok(()),
        false => Err(DaemonError::Incomplete(report.unfinished.clone())),
    }
}

fn example(snapshot: &Snapshot) -> String {
    let end = |node: Option<_>| {
        let (node, data): (_, &weft_fabric::Node) = node?;
        Some(Selection::Ports(vec![PortRef {
            node,
            port: data.first_port(),
        }]))
    };
    let mut hfis = snapshot.topology.hfis();
    let (Some(from), Some(to)) = (end(hfis.next()), end(hfis.last())) else {
        return String::new();
    };
    let report = weft_report::route(snapshot, &from, &to, &Options::default());
    report.map_or_else(|_| String::new(), |report| report.to_string())
}
