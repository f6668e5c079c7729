//! Faults, and who has found them, in one table.

use crate::faults::Fault;
use crate::lab::Lab;
use crate::page::Page;
use crate::vendor::Report;

/// The table in Markdown.
pub(crate) fn drawn(lab: &Lab, faults: &[Fault], reports: &[Report], page: &Page) -> String {
    let tools: Vec<&str> = reports.iter().map(|report| report.tool).collect();
    let mut lines = vec![
        format!("| fault | place | {} | weft health |", tools.join(" | ")),
        format!("|---|---|{}---|", "---|".repeat(tools.len())),
    ];
    for fault in faults {
        let found = reports.iter().map(|report| match fault.is_in(report) {
            true => "found",
            false => "",
        });
        let found: Vec<&str> = found.collect();
        let kind = fault
            .found_in(page)
            .map_or("", |finding| finding.kind.as_str());
        lines.push(format!(
            "| {} | {} | {} | {kind} |",
            fault.name,
            lab.called(fault.places[0]),
            found.join(" | ")
        ));
    }
    lines.join("\n")
}
