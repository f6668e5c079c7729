//! `weft replace`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::time::seconds;
use weft_api::v1;

use crate::args::{Daemon, Replace, ReplaceCommand};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::sweep::{port_json, port_name};
use crate::watch::guid;

pub(crate) async fn run(daemon: &Daemon, args: &Replace) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    match (&args.command, args.old) {
        (Some(ReplaceCommand::List { json }), _) => list(&session, *json).await,
        (Some(ReplaceCommand::Remove { guid }), _) => remove(&session, *guid).await,
        (None, Some(old)) => replace(&session, old, args).await,
        (None, None) => list(&session, false).await,
    }
}

async fn list(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Look).replacements();
    let listed = service.list_replacements(v1::ListReplacementsRequest {});
    let listed = session.answer(Effort::Look, listed).await?;
    if json {
        output::json(&json!({
            "offers": listed.offers.iter().map(offer_json).collect::<Vec<_>>(),
            "replacements": listed.replacements.iter().map(replacement_json).collect::<Vec<_>>(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let offers = listed.offers.iter().map(offer_text);
    let replacements = listed.replacements.iter().map(replacement_text);
    let text: String = offers.chain(replacements).collect();
    output::text(match text.is_empty() {
        true => "no HFI is replaced, and none is recognised in the place of another\n".to_owned(),
        false => text,
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn replace(session: &Session, old: u64, args: &Replace) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).replacements();
    let replaced = service.replace_hfi(v1::ReplaceHfiRequest {
        old_guid: old,
        new_guid: args.new.unwrap_or(0),
        reason: args.reason.clone(),
        validate_only: args.dry_run,
    });
    let answer = session.answer(Effort::Work, replaced).await?;
    let text = replaced_text(&answer.replaced.unwrap_or_default());
    output::text(match args.dry_run {
        true => format!("would be done: {text}\n"),
        false => format!("{text}, from sweep {} on\n", answer.sweep),
    })?;
    Ok(ExitCode::SUCCESS)
}

async fn remove(session: &Session, guid: u64) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).replacements();
    let removed = service.remove_replacement(v1::RemoveReplacementRequest { guid });
    let removed = session.answer(Effort::Work, removed).await?;
    let sweep = removed.sweep;
    let lines = removed.old_guids.iter().map(|old| {
        format!("{old:#018x} is not replaced any more, from sweep {sweep} on; the LID stays\n")
    });
    output::text(lines.collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// What a replacement does.
pub(crate) fn replaced_text(replaced: &v1::HfiReplaced) -> String {
    let (old, new) = (replaced.old_guid, port_name(replaced.new.as_ref()));
    let lid = match (replaced.lid, replaced.lid_before) {
        (0, _) => "keeps its LID, as none is known of the old one".to_owned(),
        (lid, before) if lid == before => format!("has LID {lid:#06x} already"),
        (lid, _) => format!("gets LID {lid:#06x}"),
    };
    format!(
        "{new} replaces {old:#018x}: it {lid}, and counts as it in groups and in the topology file"
    )
}

/// A replacement that is recognised, and the command that confirms it.
pub(crate) fn offer_text(offer: &v1::ReplacementOffer) -> String {
    let (old, new) = (offer.old_guid, port_name(offer.new.as_ref()));
    let likeness = match offer.likeness() {
        v1::ReplacementLikeness::Description => "with its description",
        v1::ReplacementLikeness::Type => "of its type",
        v1::ReplacementLikeness::File => "where the topology file has it",
        v1::ReplacementLikeness::Unspecified => "in its place",
    };
    let name = &offer.old_name;
    format!(
        "recognised: {name} ({old:#018x}) is gone, {new} is at {} {likeness}; to confirm: weft replace {old:#018x}\n",
        port_name(offer.place.as_ref())
    )
}

fn replacement_text(one: &v1::Replacement) -> String {
    let (old, new) = (one.old_guid, one.new_guid);
    let there = match (one.old_is_back, one.new_name.as_str()) {
        (true, _) => "; the old one is back, so that each counts for itself".to_owned(),
        (false, "") => "; the new one is not in the fabric".to_owned(),
        (false, name) => format!("; {name} has LID {:#06x}", one.lid),
    };
    let reason = match one.reason.as_str() {
        "" => String::new(),
        reason => format!("; {reason}"),
    };
    format!("replaced: {old:#018x} by {new:#018x}{there}{reason}\n")
}

pub(crate) fn offer_json(offer: &v1::ReplacementOffer) -> Value {
    let likeness = offer.likeness().as_str_name();
    json!({
        "old_guid": guid(offer.old_guid),
        "old_name": offer.old_name,
        "new": port_json(offer.new.as_ref()),
        "place": port_json(offer.place.as_ref()),
        "likeness": likeness.trim_start_matches("REPLACEMENT_LIKENESS_").to_lowercase(),
    })
}

fn replacement_json(one: &v1::Replacement) -> Value {
    json!({
        "old_guid": guid(one.old_guid),
        "new_guid": guid(one.new_guid),
        "new_name": one.new_name,
        "lid": one.lid,
        "since_s": seconds(one.age),
        "reason": one.reason,
        "old_is_back": one.old_is_back,
    })
}
