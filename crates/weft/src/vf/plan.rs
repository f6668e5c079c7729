//! `weft vf plan`, and the same of a reload.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::count;

use crate::config::finding_line;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::route::finding_json;
use crate::sweep::{port_json, port_name};

/// Ports that are printed; JSON has all.
const PORTS_SHOWN: usize = 100;

pub(super) async fn run(session: &Session, file: &Path, json: bool) -> Result<ExitCode, CliError> {
    let text = output::read(file)?;
    let config = String::from_utf8(text).map_err(|_| CliError::Content {
        file: file.to_owned(),
        why: "it is not UTF-8".to_owned(),
    })?;
    let mut service = session.services(Effort::Work).virtual_fabrics();
    let planned = service.plan_virtual_fabrics(v1::PlanVirtualFabricsRequest { config });
    let planned = session.answer(Effort::Work, planned).await?;
    let refused = planned.plan.is_none();
    if json {
        output::json(&json!({
            "generation": planned.generation,
            "findings": planned.findings.iter().map(finding_json).collect::<Vec<_>>(),
            "plan": planned.plan.as_ref().map(plan_json),
        }))?;
    } else {
        let file = file.display().to_string();
        let findings = planned.findings.iter();
        let lines: String = findings.map(|one| finding_line(&file, one)).collect();
        let plan = match &planned.plan {
            Some(plan) => plan_text(plan),
            None => format!("{file}: refused\n"),
        };
        output::text(lines + &plan)?;
    }
    Ok(ExitCode::from(u8::from(refused)))
}

pub(crate) fn plan_text(plan: &v1::FabricPlan) -> String {
    let added = plan.added.iter().map(|name| format!("new: {name}\n"));
    let removed = plan.removed.iter().map(|name| format!("gone: {name}\n"));
    let changed = plan.changed.iter().map(changed);
    let ports = plan.ports.iter().take(PORTS_SHOWN).map(port);
    let lines = added.chain(removed).chain(changed).chain(ports);
    let text: String = lines.chain(rest(plan)).collect();
    match text.is_empty() {
        true => "the virtual fabrics stay as they are\n".to_owned(),
        false => text,
    }
}

fn changed(fabric: &v1::ChangedFabric) -> String {
    let setting =
        |one: &v1::ChangedSetting| format!("{} {} to {}", one.element, one.before, one.after);
    let settings: Vec<String> = fabric.settings.iter().map(setting).collect();
    format!("changed: {}: {}\n", fabric.name, settings.join(", "))
}

fn port(change: &v1::FabricPortChange) -> String {
    let keys = |keys: &[u32]| keys.iter().map(|key| format!("{key:#06x}")).collect();
    let parts: [(&str, Vec<String>); 4] = [
        ("leaves", change.leaves.clone()),
        ("joins", change.joins.clone()),
        ("loses", keys(&change.lost_pkeys)),
        ("gains", keys(&change.gained_pkeys)),
    ];
    let parts = parts.iter().filter(|(_, what)| !what.is_empty());
    let parts: Vec<String> = parts
        .map(|(verb, what)| format!("{verb} {}", what.join(", ")))
        .collect();
    format!(
        "{}: {}\n",
        port_name(change.port.as_ref()),
        parts.join("; ")
    )
}

/// Ports that are not shown, and what to know about the change.
fn rest(plan: &v1::FabricPlan) -> Vec<String> {
    let more = plan.ports.len().saturating_sub(PORTS_SHOWN) + plan.more_ports as usize;
    let mut lines = Vec::new();
    if more > 0 {
        lines.push(format!("and {}\n", count(more, "more port")));
    }
    if !plan.handed_over.is_empty() {
        let keys = plan.handed_over.iter().map(|key| format!("{key:#06x}"));
        let keys: Vec<String> = keys.collect();
        lines.push(format!(
            "handed over, by those that lose it first: {}\n",
            keys.join(", ")
        ));
    }
    if plan.changes_levels {
        lines.push(
            "other service levels: ports that carry data keep their maps of lanes until their links go down\n"
                .to_owned(),
        );
    }
    lines
}

fn plan_json(plan: &v1::FabricPlan) -> Value {
    let keys =
        |keys: &[u32]| -> Vec<String> { keys.iter().map(|key| format!("{key:#06x}")).collect() };
    let changed = plan.changed.iter().map(|fabric| {
        let settings = fabric
            .settings
            .iter()
            .map(|one| json!({ "element": one.element, "before": one.before, "after": one.after }));
        json!({ "name": fabric.name, "settings": settings.collect::<Vec<_>>() })
    });
    let ports = plan.ports.iter().map(|change| {
        json!({
            "port": port_json(change.port.as_ref()),
            "joins": change.joins,
            "leaves": change.leaves,
            "gains": keys(&change.gained_pkeys),
            "loses": keys(&change.lost_pkeys),
        })
    });
    json!({
        "added": plan.added,
        "removed": plan.removed,
        "changed": changed.collect::<Vec<_>>(),
        "ports": ports.collect::<Vec<_>>(),
        "more_ports": plan.more_ports,
        "handed_over": keys(&plan.handed_over),
        "changes_levels": plan.changes_levels,
    })
}
