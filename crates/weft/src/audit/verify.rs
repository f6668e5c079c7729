//! The chain of hashes.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use crate::args::{AuditVerify, Daemon};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::output;

pub(super) async fn run(daemon: &Daemon, args: &AuditVerify) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let mut service = session.services(Effort::Work).audit();
    let verified = service.verify_audit(v1::VerifyAuditRequest {
        known: args.known.clone().unwrap_or_default(),
    });
    let verdict = session.answer(Effort::Work, verified).await?;
    match args.json {
        true => output::json(&as_json(&verdict))?,
        false => output::text(as_text(&verdict))?,
    }
    let is_whole = verdict.faults_in_all == 0 && verdict.has_known;
    Ok(if is_whole {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn as_text(verdict: &v1::VerifyAuditResponse) -> String {
    let mut out = format!("{} entries in {}", verdict.entries, verdict.directory);
    if verdict.entries > 0 {
        out += &format!(", {} to {}", verdict.first, verdict.last);
    }
    out += "\n";
    if verdict.first > 1 {
        out += &format!(
            "older ones are no longer kept: the chain is known from entry {} on\n",
            verdict.first
        );
    }
    for fault in &verdict.faults {
        out += &format!("{} line {}: {}\n", fault.file, fault.line, fault.why);
    }
    if verdict.faults_in_all > verdict.faults.len() as u64 {
        out += &format!("{} faults in all\n", verdict.faults_in_all);
    }
    if !verdict.has_known {
        out +=
            "no line has the hash that was given: lines are missing, or it is of another record\n";
    }
    if verdict.faults_in_all == 0 && verdict.has_known {
        out += "every line is as it was written\n";
    }
    out + &format!("last hash {}\n", verdict.head)
}

fn as_json(verdict: &v1::VerifyAuditResponse) -> Value {
    let faults = verdict
        .faults
        .iter()
        .map(|fault| json!({ "file": fault.file, "line": fault.line, "why": fault.why }));
    json!({
        "directory": verdict.directory,
        "entries": verdict.entries,
        "first": verdict.first,
        "last": verdict.last,
        "head": verdict.head,
        "has_known": verdict.has_known,
        "faults": faults.collect::<Vec<_>>(),
        "faults_in_all": verdict.faults_in_all,
    })
}
