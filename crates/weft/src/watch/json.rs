//! Events as JSON.

use serde_json::{Value, json};
use weft_api::time::{ns, seconds};
use weft_api::v1::{self, watch_response::Content};

use super::phase;
use crate::health::color;
use crate::operation;
use crate::replace::offer_json;
use crate::sweep::{as_json, port_json, reason_name, unused_json};
use crate::time::utc_of;
use crate::vf;

/// An event with its time and place in the stream.
pub(super) fn event(event: &v1::WatchResponse) -> Value {
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

/// The name of an event and what it tells.
pub(crate) fn content_json(content: &Content) -> (&'static str, Value) {
    match content {
        Content::Marker(marker) => ("marker", json!({ "gap": marker.gap })),
        Content::SweepStarted(started) => {
            let reason = reason_name(started.reason());
            (
                "sweep_started",
                json!({
                    "number": started.number,
                    "reason": reason,
                    "traps": started.traps.iter().map(trap_json).collect::<Vec<_>>(),
                }),
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
        Content::NodeAnswers(node) => (
            "node_answers",
            json!({ "guid": guid(node.guid), "name": node.name }),
        ),
        Content::LinkHasErrors(link) => ("link_has_errors", link_health(link)),
        Content::LinkIsWell(link) => ("link_is_well", link_health(link)),
        Content::DeviceFault(fault) => (
            "device_fault",
            json!({ "guid": guid(fault.guid), "name": fault.name, "what": fault.what }),
        ),
        Content::PromiseBroken(broken) => (
            "promise_broken",
            json!({ "guid": guid(broken.guid), "name": broken.name, "what": broken.what }),
        ),
        Content::Trap(trap) => ("trap", trap_json(trap)),
        Content::TrapsSuppressed(traps) => (
            "traps_suppressed",
            json!({
                "lid": traps.lid,
                "guid": guid(traps.node_guid),
                "name": traps.node_name,
                "count": traps.count,
            }),
        ),
        Content::RequestsDropped(dropped) => (
            "requests_dropped",
            json!({
                "lid": dropped.lid,
                "guid": guid(dropped.node_guid),
                "name": dropped.node_name,
                "count": dropped.count,
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

fn trap_json(trap: &v1::Trap) -> Value {
    json!({
        "number": trap.number,
        "lid": trap.lid,
        "guid": guid(trap.node_guid),
        "name": trap.node_name,
        "what": trap.what,
    })
}

fn node_json(node: &v1::NodeEvent) -> Value {
    json!({ "guid": guid(node.guid), "name": node.name, "sweep": node.sweep })
}

fn link_json(link: &v1::LinkEvent) -> Value {
    json!({
        "a": end_json(&link.a, &link.a_name),
        "b": end_json(&link.b, &link.b_name),
        "sweep": link.sweep,
    })
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

fn link_health(link: &v1::LinkHealth) -> Value {
    json!({
        "a": port_json(link.a.as_ref()),
        "b": link.b.as_ref().map(|far| port_json(Some(far))),
        "what": link.what,
    })
}
