//! `weft watch`.

use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use weft_api::port_action_done;
use weft_api::time::{ns, seconds};
use weft_api::v1::{self, watch_response::Content};

use crate::args::{Daemon, Watch};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::health::color;
use crate::operation;
use crate::output;
use crate::quarantine::{by_hand, span};
use crate::replace::{offer_json, offer_text, replaced_text};
use crate::sweep::{as_json, port_json, port_name, reason_name, summary, unused_ends, unused_json};
use crate::time::utc_of;
use crate::vf;

pub(crate) async fn run(daemon: &Daemon, args: &Watch) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let resume_token = args.resume.clone().unwrap_or_default();
    let mut service = session.endless().watch();
    let events = service.watch(v1::WatchRequest {
        resume_token,
        kinds: args.kinds.clone(),
    });
    let mut events = session.answer(Effort::Look, events).await?;
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(event) = events.next().await else {
            return Err(CliError::Refused("the daemon ended the stream".to_owned()));
        };
        let event = match event {
            Ok(event) => event,
            Err(status) => return Err(session.explain(Effort::Look, status).await),
        };
        let counts = !matches!(event.content, Some(Content::Marker(_)) | None);
        match args.json {
            true => output::json_line(&line_json(&event))?,
            false => output::text(format_args!("{} {}\n", utc_of(event.time), line(&event)))?,
        }
        left -= u64::from(counts);
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn line(event: &v1::WatchResponse) -> String {
    let Some(content) = &event.content else {
        return "an event that this version of weft does not know".to_owned();
    };
    match content {
        Content::Marker(marker) if marker.gap => {
            format!(
                "watching from generation {}; earlier events are lost",
                event.generation
            )
        }
        Content::Marker(_) => format!("watching from generation {}", event.generation),
        Content::SweepStarted(started) => {
            format!(
                "sweep {} started ({})",
                started.number,
                reason_name(started.reason())
            )
        }
        Content::PhaseEntered(entered) => format!("sweep: {}", phase(entered)),
        Content::SweepEnded(sweep) => format!("sweep {}", summary(sweep)),
        Content::NodeAppeared(node) => format!("node appeared: {:#018x} {}", node.guid, node.name),
        Content::NodeVanished(node) => format!("node vanished: {:#018x} {}", node.guid, node.name),
        Content::LinkAppeared(link) => format!("link appeared: {}", ends(link)),
        Content::LinkVanished(link) => format!("link vanished: {}", ends(link)),
        Content::LinkUnused(link) => {
            format!(
                "link carries no data: {}: {}",
                unused_ends(link),
                link.reason
            )
        }
        Content::LinkUsedAgain(link) => {
            format!("link carries data again: {}", unused_ends(link))
        }
        Content::PortQuarantined(quarantined) => format!(
            "in quarantine: {}: {}",
            port_name(quarantined.port.as_ref()),
            match quarantined.by_hand {
                true => by_hand(&quarantined.comment),
                false => format!("its link went down {} times", quarantined.losses),
            }
        ),
        Content::LinkIsolated(found) => format!(
            "out of use for {}: {}: {}",
            span(found.hold),
            error_ends(found),
            found.what
        ),
        Content::LinkIsolationDryRun(found) => {
            format!("would be out of use: {}: {}", error_ends(found), found.what)
        }
        Content::LinkSpared(found) => format!(
            "stays in use with errors: {}: {}: {}",
            error_ends(found),
            found.what,
            found.spared
        ),
        Content::LinkErrorsOver(over) => format!(
            "{}: {} to {}: {}",
            match over.was_isolated {
                true => "may be used again",
                false => "no longer told of for its errors",
            },
            port_name(over.a.as_ref()),
            port_name(over.b.as_ref()),
            over.why
        ),
        Content::DeviceRefused(refused) => format!("refused: {}", refused.what),
        Content::RefusalOver(over) => format!(
            "no longer refused: the device behind {}",
            port_name(over.port.as_ref())
        ),
        Content::ReplacementRecognised(offer) => offer_text(offer).trim_end().to_owned(),
        Content::HfiReplaced(replaced) => replaced_text(replaced),
        Content::ReplacementRemoved(removed) => format!(
            "{} does not replace {:#018x} any more",
            port_name(removed.new.as_ref()),
            removed.old_guid
        ),
        Content::TopologyFault(fault) => match fault.quarantined {
            true => format!("in quarantine: {}", fault.what),
            false => fault.what.clone(),
        },
        Content::TopologyFaultsUntold(untold) => {
            format!(
                "{} more links are not as the topology file has them",
                untold.count
            )
        }
        Content::TopologyFaultOver(over) => format!(
            "no longer against the topology file: {}",
            port_name(over.port.as_ref())
        ),
        Content::TrapStorm(storm) => format!(
            "disabled for {} traps about errors of its link: {}",
            storm.traps,
            port_name(storm.port.as_ref())
        ),
        Content::MulticastStorm(storm) => format!(
            "{} for {} multicast groups that its host ended: {}",
            if storm.bounced { "bounced" } else { "disabled" },
            storm.groups,
            port_name(storm.port.as_ref())
        ),
        Content::LoopTestStarted(test) => format!(
            "the loop test runs{}: loops of up to {} links, {} packets for each",
            if test.fast { " in fast mode" } else { "" },
            test.length_max,
            test.packets
        ),
        Content::LoopTestStopped(_) => "the loop test has ended".to_owned(),
        Content::LoopsPlanned(loops) => format!(
            "the loop test has {} loops with {} LIDs; of {} links between switches {} are in none",
            loops.loops, loops.lids, loops.links, loops.uncovered
        ),
        Content::LoopPacketsInjected(packets) => format!(
            "{} packets for each loop are on their way, {} in all",
            packets.packets, packets.sent
        ),
        Content::SweepsPaused(pause) => {
            format!("sweeps paused until {}", utc_of(pause.until_time))
        }
        Content::SweepsResumed(resumed) => {
            format!("the pause of sweeps is over: {}", resumed.why)
        }
        Content::PortReleased(released) => {
            format!("quarantine is over: {}", port_name(released.port.as_ref()))
        }
        Content::NodeSilent(node) => {
            format!(
                "{} does not answer ({})",
                named(node.guid, &node.name),
                node.attribute
            )
        }
        Content::DeviceFault(fault) => {
            format!("device {}: {}", named(fault.guid, &fault.name), fault.what)
        }
        Content::Trap(trap) => format!(
            "trap of {}: {}",
            sender(trap.lid, &trap.node_name),
            trap.what
        ),
        Content::TrapsSuppressed(traps) => format!(
            "{} more traps of {} suppressed",
            traps.count,
            sender(traps.lid, &traps.node_name)
        ),
        Content::PortChanged(changed) => {
            let port = at(&changed.port, &changed.node_name);
            let by = match &changed.author[..] {
                "" => String::new(),
                author => format!(" by {author}"),
            };
            let why = match &changed.reason[..] {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            format!("{port} {}{by}{why}", port_action_done(changed.action()))
        }
        Content::PlanInForce(plan) => {
            format!("route plan {} is in force: {}", plan.plan_id, plan.what)
        }
        Content::OperationChanged(changed) => operation::line(changed),
        Content::OperationProgress(now) => {
            format!("{}: {} of {} steps", now.id, now.steps_done, now.steps)
        }
        Content::PlanUndone(plan) => format!("undone: {}", plan.what),
        Content::VirtualFabricsChanged(changed) => vf::changed_text(changed),
        Content::ThresholdExceeded(over) => format!(
            "{} of {} is {}, over its threshold {}",
            over.category,
            at(&over.port, &over.node_name),
            over.value,
            over.threshold
        ),
        Content::StateRefused(refused) => {
            format!("stored LIDs and drains refused: {}", refused.why)
        }
        Content::RoleChanged(role) => match role.master {
            0 => format!("the manager is {}: {}", role.role, role.why),
            master => format!(
                "the manager is {} for {master:#018x}: {}",
                role.role, role.why
            ),
        },
        Content::ConfigReloaded(reloaded) => format!("configuration: {}", reloaded.what),
        Content::HistoryUnwritten(failure) => {
            format!("the past is not kept: {}", failure.why)
        }
        Content::HistoryWritten(again) => {
            format!(
                "the past is kept again, after {} s",
                ns(again.failed_for) / 1_000_000_000
            )
        }
        Content::HealthChanged(changed) => format!(
            "health is {}, it was {}: {}",
            color(changed.now()),
            color(changed.before()),
            changed.reason
        ),
        Content::AttachmentChanged(now) if now.attached => "the fabric is back".to_owned(),
        Content::AttachmentChanged(_) => "the fabric is gone".to_owned(),
    }
}

fn phase(entered: &v1::PhaseEntered) -> String {
    let name = entered
        .phase()
        .as_str_name()
        .trim_start_matches("SWEEP_PHASE_");
    name.to_lowercase()
}

fn ends(link: &v1::LinkEvent) -> String {
    format!(
        "{} - {}",
        at(&link.a, &link.a_name),
        at(&link.b, &link.b_name)
    )
}

/// A port by its node's name.
fn at(id: &Option<v1::PortId>, name: &str) -> String {
    let id = id.unwrap_or_default();
    format!("{} port {}", named(id.node_guid, name), id.port)
}

/// A node by its name, or by its GUID where that is not known.
fn named(node: u64, name: &str) -> String {
    match name {
        "" => guid(node),
        name => name.to_owned(),
    }
}

/// Describes the source of traps.
fn sender(lid: u32, name: &str) -> String {
    match (lid, name) {
        (0, _) => "other LIDs".to_owned(),
        (lid, "") => format!("LID {lid:#06x}"),
        (lid, name) => format!("LID {lid:#06x} ({name})"),
    }
}

fn action(changed: &v1::PortChanged) -> &'static str {
    match changed.action() {
        v1::PortAction::Disable => "disable",
        v1::PortAction::Bounce => "bounce",
        v1::PortAction::LedOn => "led_on",
        v1::PortAction::LedOff => "led_off",
        v1::PortAction::SetLink => "set_link",
        v1::PortAction::Enable | v1::PortAction::Unspecified => "enable",
    }
}

fn line_json(event: &v1::WatchResponse) -> Value {
    let (name, data) = match &event.content {
        None => ("unknown", Value::Null),
        Some(content) => content_json(content),
    };
    json!({
        "event": name,
        "time": utc_of(event.time),
        "generation": event.generation,
        "resume_token": event.resume_token,
        "data": data,
    })
}

fn error_ends(found: &v1::LinkErrors) -> String {
    let (a, b) = (port_name(found.a.as_ref()), port_name(found.b.as_ref()));
    format!("{a} to {b}")
}

fn link_errors_json(found: &v1::LinkErrors) -> Value {
    json!({
        "a": port_json(found.a.as_ref()),
        "b": port_json(found.b.as_ref()),
        "rule": found.rule,
        "what": found.what,
        "measured": found.measured,
        "limit": found.limit,
        "window_s": seconds(found.window),
        "hold_s": seconds(found.hold),
        "offences": found.offences,
        "spared": found.spared,
    })
}

pub(crate) fn content_json(content: &Content) -> (&'static str, Value) {
    match content {
        Content::Marker(marker) => ("marker", json!({ "gap": marker.gap })),
        Content::SweepStarted(started) => {
            let reason = reason_name(started.reason());
            (
                "sweep_started",
                json!({ "number": started.number, "reason": reason }),
            )
        }
        Content::PhaseEntered(entered) => ("phase_entered", json!({ "phase": phase(entered) })),
        Content::SweepEnded(sweep) => ("sweep_ended", as_json(sweep)),
        Content::NodeAppeared(node) => ("node_appeared", node_json(node)),
        Content::NodeVanished(node) => ("node_vanished", node_json(node)),
        Content::LinkAppeared(link) => ("link_appeared", link_json(link)),
        Content::LinkVanished(link) => ("link_vanished", link_json(link)),
        Content::LinkUnused(link) => ("link_unused", unused_json(link)),
        Content::LinkUsedAgain(link) => ("link_used_again", unused_json(link)),
        Content::PortQuarantined(quarantined) => (
            "port_quarantined",
            json!({
                "port": port_json(quarantined.port.as_ref()),
                "losses": quarantined.losses,
                "by_hand": quarantined.by_hand,
                "comment": quarantined.comment,
            }),
        ),
        Content::LinkIsolated(found) => ("link_isolated", link_errors_json(found)),
        Content::LinkIsolationDryRun(found) => ("link_isolation_dry_run", link_errors_json(found)),
        Content::LinkSpared(found) => ("link_spared", link_errors_json(found)),
        Content::LinkErrorsOver(over) => (
            "link_errors_over",
            json!({
                "a": port_json(over.a.as_ref()),
                "b": port_json(over.b.as_ref()),
                "rule": over.rule,
                "was_isolated": over.was_isolated,
                "why": over.why,
            }),
        ),
        Content::DeviceRefused(refused) => (
            "device_refused",
            json!({
                "trusted": port_json(refused.trusted.as_ref()),
                "found": port_json(refused.found.as_ref()),
                "neighbour_guid": guid(refused.neighbour_guid),
                "evidence": refused.evidence,
                "what": refused.what,
            }),
        ),
        Content::RefusalOver(over) => (
            "refusal_over",
            json!({ "port": port_json(over.port.as_ref()) }),
        ),
        Content::ReplacementRecognised(offer) => ("replacement_recognised", offer_json(offer)),
        Content::HfiReplaced(replaced) => (
            "hfi_replaced",
            json!({
                "old_guid": guid(replaced.old_guid),
                "new": port_json(replaced.new.as_ref()),
                "lid_before": replaced.lid_before,
                "lid": replaced.lid,
                "reason": replaced.reason,
            }),
        ),
        Content::ReplacementRemoved(removed) => (
            "replacement_removed",
            json!({
                "old_guid": guid(removed.old_guid),
                "new": port_json(removed.new.as_ref()),
            }),
        ),
        Content::TopologyFault(fault) => (
            "topology_fault",
            json!({
                "trusted": fault.trusted.as_ref().map(|port| port_json(Some(port))),
                "found": port_json(fault.found.as_ref()),
                "quarantined": fault.quarantined,
                "rule": rule(fault),
                "what": fault.what,
            }),
        ),
        Content::TopologyFaultsUntold(untold) => {
            ("topology_faults_untold", json!({ "count": untold.count }))
        }
        Content::TopologyFaultOver(over) => (
            "topology_fault_over",
            json!({ "port": port_json(over.port.as_ref()) }),
        ),
        Content::TrapStorm(storm) => (
            "trap_storm",
            json!({ "port": port_json(storm.port.as_ref()), "traps": storm.traps }),
        ),
        Content::MulticastStorm(storm) => (
            "multicast_storm",
            json!({
                "port": port_json(storm.port.as_ref()),
                "groups": storm.groups,
                "bounced": storm.bounced,
            }),
        ),
        Content::LoopTestStarted(test) => (
            "loop_test_started",
            json!({
                "fast": test.fast,
                "packets": test.packets,
                "length_max": test.length_max,
            }),
        ),
        Content::LoopTestStopped(_) => ("loop_test_stopped", json!({})),
        Content::LoopsPlanned(loops) => (
            "loops_planned",
            json!({
                "loops": loops.loops,
                "lids": loops.lids,
                "links": loops.links,
                "uncovered": loops.uncovered,
                "cut_short": loops.cut_short,
            }),
        ),
        Content::LoopPacketsInjected(packets) => (
            "loop_packets_injected",
            json!({
                "packets": packets.packets,
                "sent": packets.sent,
                "injected": packets.injected,
            }),
        ),
        Content::SweepsPaused(pause) => (
            "sweeps_paused",
            json!({ "until": utc_of(pause.until_time) }),
        ),
        Content::SweepsResumed(resumed) => ("sweeps_resumed", json!({ "why": resumed.why })),
        Content::PortReleased(released) => (
            "port_released",
            json!({ "port": port_json(released.port.as_ref()) }),
        ),
        Content::NodeSilent(node) => (
            "node_silent",
            json!({ "guid": guid(node.guid), "name": node.name, "attribute": node.attribute }),
        ),
        Content::DeviceFault(fault) => (
            "device_fault",
            json!({ "guid": guid(fault.guid), "name": fault.name, "what": fault.what }),
        ),
        Content::Trap(trap) => (
            "trap",
            json!({
                "lid": trap.lid,
                "guid": guid(trap.node_guid),
                "name": trap.node_name,
                "what": trap.what,
            }),
        ),
        Content::TrapsSuppressed(traps) => (
            "traps_suppressed",
            json!({
                "lid": traps.lid,
                "guid": guid(traps.node_guid),
                "name": traps.node_name,
                "count": traps.count,
            }),
        ),
        Content::PortChanged(changed) => (
            "port_changed",
            json!({
                "port": end_json(&changed.port, &changed.node_name),
                "action": action(changed),
                "reason": changed.reason,
                "author": changed.author,
                "peer": changed.peer,
                "width_enabled": changed.link.map(|link| link.width_enabled),
                "speed_enabled": changed.link.map(|link| link.speed_enabled),
            }),
        ),
        Content::PlanInForce(plan) => (
            "plan_in_force",
            json!({ "plan_id": plan.plan_id, "what": plan.what, "sweep": plan.sweep }),
        ),
        Content::OperationChanged(changed) => ("operation_changed", operation::as_json(changed)),
        Content::OperationProgress(now) => (
            "operation_progress",
            json!({ "id": now.id, "steps_done": now.steps_done, "steps": now.steps }),
        ),
        Content::PlanUndone(plan) => (
            "plan_undone",
            json!({ "what": plan.what, "sweep": plan.sweep }),
        ),
        Content::ThresholdExceeded(over) => ("threshold_exceeded", threshold_json(over)),
        Content::VirtualFabricsChanged(changed) => {
            ("virtual_fabrics_changed", vf::changed_json(changed))
        }
        Content::StateRefused(refused) => ("state_refused", json!({ "why": refused.why })),
        Content::RoleChanged(role) => (
            "role_changed",
            json!({ "role": role.role, "master": guid(role.master), "why": role.why }),
        ),
        Content::HistoryUnwritten(failure) => ("history_unwritten", json!({ "why": failure.why })),
        Content::HistoryWritten(again) => (
            "history_written",
            json!({ "seconds": ns(again.failed_for) / 1_000_000_000 }),
        ),
        Content::HealthChanged(changed) => (
            "health_changed",
            json!({
                "before": color(changed.before()),
                "now": color(changed.now()),
                "reason": changed.reason,
            }),
        ),
        Content::AttachmentChanged(now) => {
            ("attachment_changed", json!({ "attached": now.attached }))
        }
        Content::ConfigReloaded(reloaded) => {
            let data = json!({ "applied": reloaded.applied, "what": reloaded.what });
            ("config_reloaded", data)
        }
    }
}

/// A NodeGUID as JSON has it.
pub(crate) fn guid(guid: u64) -> String {
    format!("{guid:#018x}")
}

/// What kind of fault it is, none where that is not known.
fn rule(fault: &v1::TopologyFault) -> Option<&'static str> {
    match fault.rule() {
        v1::TopologyRule::Unspecified => None,
        v1::TopologyRule::Replaced => Some("Replaced"),
    }
}

fn node_json(node: &v1::NodeEvent) -> Value {
    json!({ "guid": guid(node.guid), "name": node.name })
}

fn link_json(link: &v1::LinkEvent) -> Value {
    json!({ "a": end_json(&link.a, &link.a_name), "b": end_json(&link.b, &link.b_name) })
}

fn end_json(id: &Option<v1::PortId>, name: &str) -> Value {
    let id = id.unwrap_or_default();
    json!({ "guid": guid(id.node_guid), "name": name, "port": id.port })
}

fn threshold_json(over: &v1::ThresholdExceeded) -> Value {
    json!({
        "port": end_json(&over.port, &over.node_name),
        "neighbor": over.neighbor.map(|far| end_json(&Some(far), &over.neighbor_name)),
        "category": over.category,
        "value": over.value,
        "threshold": over.threshold,
        "error_info": over.error_info,
    })
}
