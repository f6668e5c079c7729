//! `weft check topology` without anything to compare with: is this a clean fat tree?

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::count;

use super::{link, node};
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;

pub(super) async fn run(session: &Session, json: bool) -> Result<ExitCode, CliError> {
    let mut service = session.services(Effort::Work).fabric();
    let checked = service.check_tree(v1::CheckTreeRequest {});
    let tree = session.answer(Effort::Work, checked).await?;
    match json {
        true => output::json(&as_json(&tree))?,
        false => output::text(text(&tree))?,
    }
    Ok(ExitCode::from(u8::from(!tree.findings.is_empty())))
}

fn text(tree: &v1::CheckTreeResponse) -> String {
    let tiers = (1..)
        .zip(&tree.tiers)
        .map(|(number, tier)| line(number, tier));
    let findings = tree.findings.iter().map(|one| format!("{}\n", one.text));
    let end = match (tree.findings.len() as u64 + tree.more, tree.more) {
        (0, _) => "a clean tree: all switches of a tier are alike\n".to_owned(),
        (all, 0) => format!("{}\n", count(all, "finding")),
        (all, more) => format!("{}, {more} of them not listed\n", count(all, "finding")),
    };
    let head = format!(
        "{}, {} of switches\n",
        count(tree.hosts, "host"),
        count(tree.tiers.len(), "tier")
    );
    std::iter::once(head)
        .chain(tiers)
        .chain(findings)
        .chain([end])
        .collect()
}

/// What most switches of a tier have.
fn line(number: usize, tier: &v1::TreeTier) -> String {
    let down = match number {
        1 => count(tier.down, "host"),
        _ => format!("{} down", count(tier.down, "link")),
    };
    let up = match tier.up {
        0 => String::new(),
        up => format!(", {} up, {} to each", count(up, "link"), tier.each),
    };
    let switches = count(tier.switches, "switch");
    format!("tier {number}: {switches} of {down}{up}\n")
}

fn as_json(tree: &v1::CheckTreeResponse) -> Value {
    let tier = |tier: &v1::TreeTier| json!({ "switches": tier.switches, "down": tier.down, "up": tier.up, "each": tier.each });
    json!({
        "generation": tree.generation,
        "hosts": tree.hosts,
        "tiers": tree.tiers.iter().map(tier).collect::<Vec<_>>(),
        "findings": tree.findings.iter().map(finding).collect::<Vec<_>>(),
        "more": tree.more,
    })
}

fn finding(one: &v1::TreeFinding) -> Value {
    let kind = one.kind().as_str_name();
    let kind = kind.trim_start_matches("TREE_FINDING_KIND_");
    json!({
        "kind": kind.to_lowercase(),
        "text": one.text,
        "node": one.node.as_ref().map(node),
        "upper": one.upper.as_ref().map(node),
        "link": one.link.as_ref().map(link),
        "found": one.found,
        "usual": one.usual,
    })
}
