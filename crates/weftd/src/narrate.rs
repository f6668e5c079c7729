//! Events in the log, with fields for machines and words for people.

use tracing::{debug, error, info, warn};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum};
use weft_manager::pm::PmEvent;
use weft_manager::{Event, SweepReason, SweepReport};
use weft_wire::sm::AttributeId;

/// Logs an event.
pub(crate) fn narrate(event: &Event) {
    match event {
        Event::SweepStarted { number, reason } => {
            debug!(
                event = "sweep_started",
                sweep = number,
                ?reason,
                "sweep started"
            );
        }
        Event::Phase(phase) => debug!(event = "phase_entered", ?phase, "sweep goes on"),
        Event::SweepEnded(report) => sweep_ended(report),
        Event::NodeAppeared { node, name } => {
            debug!(event = "node_appeared", %node, name, "node appeared");
        }
        Event::NodeVanished { node, name } => {
            warn!(event = "node_vanished", %node, name, "node vanished");
        }
        Event::LinkAppeared { a, b } => debug!(
            event = "link_appeared",
            a = %a.0, a_port = a.1.0, b = %b.0, b_port = b.1.0,
            "link appeared"
        ),
        Event::LinkVanished { a, b } => warn!(
            event = "link_vanished",
            a = %a.0, a_port = a.1.0, b = %b.0, b_port = b.1.0,
            "link vanished"
        ),
        Event::NodeSilent { node, attribute } => {
            warn!(event = "node_silent", %node, attribute, "node does not answer");
        }
        Event::DeviceFault { node, what } => {
            let node = node.map(|node| node.to_string());
            warn!(
                event = "device_fault",
                node, what, "a device broke the rules"
            );
        }
        Event::Trap { lid, what } => info!(event = "trap", %lid, what, "trap"),
        Event::Role { role, master, why } => {
            let master = master.map(|guid| guid.to_string());
            info!(event = "role", %role, master, "{}: {why}", role_line(*role, master.as_deref()));
        }
        Event::StateRefused { why } => error!(
            event = "state_refused",
            why,
            "the stored LIDs and drains cannot be used; the LIDs of the fabric are learnt again, drains are forgotten"
        ),
    }
}

/// Tells that a device does not take a setting of congestion control.
pub(crate) fn narrate_refusal(node: Guid, port: PortNum, attribute: AttributeId, status: u16) {
    warn!(
        event = "congestion_refused",
        %node, %port, %attribute, status = format!("{status:#06x}"),
        "a device does not take its congestion control"
    );
}

/// Logs an event of performance management.
pub(crate) fn narrate_pm(event: &PmEvent) {
    match event {
        PmEvent::SweepEnded(report) => debug!(event = "counters_read", ?report, "counters read"),
        PmEvent::NodeFailed {
            node,
            name,
            request,
            status,
        } => debug!(
            event = "counters_unread",
            %node, name, request, status,
            "counters could not be read"
        ),
        PmEvent::ClearedByOthers(port) => {
            info!(
                event = "counters_cleared",
                ?port,
                "somebody else cleared counters"
            );
        }
        PmEvent::ThresholdExceeded {
            port,
            neighbor,
            category,
            value,
            threshold,
            error_info,
        } => warn!(
            event = "threshold_exceeded",
            ?port,
            ?neighbor,
            category,
            value,
            threshold,
            ?error_info,
            "{category} is {value}, over its threshold {threshold}"
        ),
    }
}

fn sweep_ended(report: &SweepReport) {
    for what in &report.unfinished {
        warn!(
            event = "sweep_unfinished",
            sweep = report.number,
            what,
            "to be tried again"
        );
    }
    let SweepReport {
        number,
        generation,
        elapsed_ns,
        sent,
        sets,
        retries,
        timeouts,
        routing,
        ..
    } = report;
    let text = if *number == 1 || report.role == SmState::STANDBY {
        fabric_up(report)
    } else {
        sweep_line(report)
    };
    info!(
        event = "sweep_ended",
        sweep = number,
        generation,
        elapsed_ns,
        sent,
        sets,
        retries,
        timeouts,
        routing,
        "{text}"
    );
}

/// What the manager is, and for whom.
fn role_line(role: SmState, master: Option<&str>) -> String {
    match (role, master) {
        (SmState::MASTER, _) => "this manager is master".to_owned(),
        (SmState::STANDBY, Some(master)) => {
            format!("this manager is standby, the master is the one on port {master}")
        }
        (role, _) => format!("this manager is {role}"),
    }
}

/// What people want to read after the first sweep.
pub(crate) fn fabric_up(report: &SweepReport) -> String {
    if report.role == SmState::STANDBY {
        return format!(
            "standby: another manager runs the fabric of {} HFIs and {} switches",
            report.hfis, report.switches
        );
    }
    let ports = 2 * u64::from(report.links);
    let active = match u64::from(report.active_ports) {
        active if active == ports => format!("all {ports} ports ACTIVE"),
        active => format!("{active} of {ports} ports ACTIVE"),
    };
    format!(
        "fabric up: {} HFIs, {} switches, {} links, {active} in {}",
        report.hfis,
        report.switches,
        report.links,
        duration(report.elapsed_ns)
    )
}

fn sweep_line(report: &SweepReport) -> String {
    let reason = report.reason.map_or("unknown", reason_name);
    let elapsed = duration(report.elapsed_ns);
    let SweepReport {
        number,
        asked,
        sets,
        ..
    } = report;
    format!("sweep {number} ({reason}) ended in {elapsed}, {asked} nodes looked at, {sets} sets")
}

/// Nanoseconds as a person says them: `0.21 s`, `3.4 ms`.
pub(crate) fn duration(ns: u64) -> String {
    match ns as f64 / 1e9 {
        seconds if seconds >= 0.1 => format!("{seconds:.2} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

/// A reason in one word.
pub(crate) fn reason_name(reason: SweepReason) -> &'static str {
    match reason {
        SweepReason::Start => "start",
        SweepReason::Scheduled => "scheduled",
        SweepReason::Forced => "forced",
        SweepReason::Trap => "trap",
        SweepReason::Unfinished => "unfinished",
        SweepReason::Reconfigured => "reconfigured",
        SweepReason::Election => "election",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sweep_in_one_line() {
        let report = SweepReport {
            hfis: 1152,
            switches: 72,
            links: 2304,
            active_ports: 4608,
            elapsed_ns: 212_000_000,
            role: SmState::MASTER,
            ..SweepReport::default()
        };
        let all = "fabric up: 1152 HFIs, 72 switches, 2304 links, all 4608 ports ACTIVE in 0.21 s";
        assert_eq!(fabric_up(&report), all);
        let some = fabric_up(&SweepReport {
            active_ports: 4600,
            ..report
        });
        assert!(some.contains("4600 of 4608 ports ACTIVE"), "{some}");
    }
}
