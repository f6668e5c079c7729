//! `weft history`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::time::{Timestamp, unix_ms};
use weft_api::v1;

use crate::args::{Daemon, ShowHistory};
use crate::connect::{Effort, connect};
use crate::counters::amount;
use crate::error::CliError;
use crate::moment::{local, now_ms, zone};
use crate::output;
use crate::time::utc_json;

pub(crate) async fn run(daemon: &Daemon, args: &ShowHistory) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let mut service = session.services(Effort::Look).history();
    let kept = service.get_history(v1::GetHistoryRequest {});
    let kept = session.answer(Effort::Look, kept).await?;
    match args.json {
        true => output::json(&as_json(&kept))?,
        false => output::text(as_text(&kept))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(kept: &v1::GetHistoryResponse) -> String {
    let bytes = |bytes: u64| amount(bytes as f64) + if bytes < 1000 { " B" } else { "B" };
    let mut out = format!(
        "{} of {} in {}; times are {}\n",
        bytes(kept.bytes),
        bytes(kept.budget),
        kept.directory,
        zone(now_ms())
    );
    if !kept.failure.is_empty() {
        out += &format!("NOT WRITTEN NOW: {}\n", kept.failure);
    }
    out += &format!(
        "{:<10}{:<8}{:>9} {:>6}  {:<20} {}\n",
        "TABLE", "EVERY", "BYTES", "FILES", "FROM", "TO"
    );
    for table in &kept.tables {
        let time = |time: Option<Timestamp>| match time {
            Some(_) => local(unix_ms(time)),
            None => "-".to_owned(),
        };
        out += &format!(
            "{:<10}{:<8}{:>9} {:>6}  {:<20} {}\n",
            table.name,
            every(&table.resolution),
            bytes(table.bytes),
            table.files,
            time(table.oldest),
            time(table.newest)
        );
    }
    if kept.damaged > 0 {
        out += &format!("{} damaged files are set aside\n", kept.damaged);
    }
    if !kept.gaps.is_empty() {
        out += "Nothing is known of these times:\n";
    }
    for gap in &kept.gaps {
        let (from, to) = (unix_ms(gap.from), unix_ms(gap.to));
        out += &format!("  {} to {}\n    {}\n", local(from), local(to), gap.why);
    }
    out
}

/// From one row of a port to the next.
fn every(resolution: &str) -> &str {
    match resolution {
        "image" => "reading",
        other => other,
    }
}

fn as_json(kept: &v1::GetHistoryResponse) -> Value {
    let table = |table: &v1::HistoryTable| {
        json!({
            "table": table.name,
            "resolution": table.resolution,
            "bytes": table.bytes,
            "files": table.files,
            "oldest": utc_json(table.oldest),
            "newest": utc_json(table.newest),
        })
    };
    let gap = |gap: &v1::HistoryGap| json!({ "from": utc_json(gap.from), "to": utc_json(gap.to), "why": gap.why });
    json!({
        "directory": kept.directory,
        "bytes": kept.bytes,
        "budget": kept.budget,
        "failure": kept.failure,
        "damaged": kept.damaged,
        "tables": kept.tables.iter().map(table).collect::<Vec<Value>>(),
        "gaps": kept.gaps.iter().map(gap).collect::<Vec<Value>>(),
    })
}
