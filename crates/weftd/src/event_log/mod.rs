//! Events in the log, with fields for machines and words for people.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::{debug, error, info, warn};
use weft_api::v1::{self, watch_response::Content};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum};
use weft_manager::pm::{PmEvent, PmReport};
use weft_manager::{Event, SweepPhase, SweepReason, SweepReport};
use weft_wire::sm::AttributeId;

use crate::event::{DaemonEvent, Threshold, errors};
use crate::event_hub::EventHub;

/// Nodes and links that come or go in one sweep and have a line each; the others are counted in one.
const LINES_MAX: u32 = 32;

/// Writes events to the log: a line for each, unless a sweep brings many at once.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    /// Whether the first sweep has ended; until then its own line is enough.
    is_up: bool,
    /// Nodes whose coming or going has been said: their links go without saying.
    nodes: BTreeSet<u64>,
    /// Lines of this sweep.
    lines: u32,
    /// Comings and goings without a line.
    unsaid: u32,
}

impl EventLog {
    /// Logs an event. `content` is the same as clients read it, with names.
    pub(crate) fn log(&mut self, what: &DaemonEvent, content: &Content) {
        match (what, content) {
            (DaemonEvent::Fabric(event), content) => self.fabric(event, content),
            (DaemonEvent::Port { .. }, Content::PortChanged(changed)) => port_changed(changed),
            (DaemonEvent::Plan { id, what, sweep }, _) => info!(
                event = "plan_in_force",
                plan = id,
                sweep,
                what,
                "route plan {id} is in force: {what}"
            ),
            (DaemonEvent::PlanUndone { what, sweep }, _) => {
                info!(event = "plan_undone", sweep, what, "undone: {what}");
            }
            (DaemonEvent::Threshold(_), Content::ThresholdExceeded(over)) => threshold(over),
            (DaemonEvent::TrapsSuppressed { count, .. }, Content::TrapsSuppressed(traps)) => warn!(
                event = "traps_suppressed",
                lid = traps.lid,
                node_guid = guid(traps.node_guid),
                node = traps.node_name,
                count,
                "{count} more traps of {} suppressed",
                sender(traps.lid, &traps.node_name)
            ),
            // Reload and attachment log their own events.
            (DaemonEvent::Config { .. } | DaemonEvent::Attachment(_), _) => {}
            (DaemonEvent::Port { .. } | DaemonEvent::Threshold(_), _) => {}
            (DaemonEvent::TrapsSuppressed { .. }, _) => {}
        }
    }

    fn fabric(&mut self, event: &Event, content: &Content) {
        match (event, content) {
            (_, Content::NodeAppeared(node)) => self.node("node_appeared", node),
            (_, Content::NodeVanished(node)) => self.node("node_vanished", node),
            (_, Content::LinkAppeared(link)) => self.link("link_appeared", link),
            (_, Content::LinkVanished(link)) => self.link("link_vanished", link),
            (_, Content::NodeSilent(silent)) => warn!(
                event = "node_silent",
                node_guid = guid(silent.guid),
                node = silent.name,
                attribute = silent.attribute,
                "{} does not answer ({})",
                called(silent.guid, &silent.name),
                silent.attribute
            ),
            (_, Content::DeviceFault(fault)) => warn!(
                event = "device_fault",
                node_guid = guid(fault.guid),
                node = fault.name,
                what = fault.what,
                "{} broke the rules: {}",
                called(fault.guid, &fault.name),
                fault.what
            ),
            (_, Content::Trap(trap)) => info!(
                event = "trap",
                lid = trap.lid,
                node_guid = guid(trap.node_guid),
                node = trap.node_name,
                what = trap.what,
                "trap of {}: {}",
                sender(trap.lid, &trap.node_name),
                trap.what
            ),
            (Event::SweepEnded(report), _) => self.sweep_ended(report),
            (event, _) => sweep_link_or_role(event),
        }
    }

    fn node(&mut self, event: &'static str, node: &v1::NodeEvent) {
        let (name, guid) = (&node.name, guid(node.guid));
        self.nodes.insert(node.guid);
        let has_come = event == "node_appeared";
        let words = if has_come {
            "node appeared"
        } else {
            "node vanished"
        };
        match (self.has_line(), has_come) {
            (false, _) => debug!(
                event,
                node = name,
                node_guid = guid,
                "{words}: {name} ({guid})"
            ),
            (_, true) => info!(
                event,
                node = name,
                node_guid = guid,
                "{words}: {name} ({guid})"
            ),
            (_, false) => warn!(
                event,
                node = name,
                node_guid = guid,
                "{words}: {name} ({guid})"
            ),
        }
    }

    fn link(&mut self, event: &'static str, link: &v1::LinkEvent) {
        let (a, b) = (link.a.unwrap_or_default(), link.b.unwrap_or_default());
        let goes_without = [a, b].iter().any(|end| self.nodes.contains(&end.node_guid));
        let has_line = !goes_without && self.has_line();
        let has_come = event == "link_appeared";
        let (a_guid, b_guid) = (guid(a.node_guid), guid(b.node_guid));
        let (a_name, b_name) = (&link.a_name, &link.b_name);
        let words = format!(
            "{}: {} port {} - {} port {}",
            if has_come {
                "link appeared"
            } else {
                "link vanished"
            },
            called(a.node_guid, a_name),
            a.port,
            called(b.node_guid, b_name),
            b.port
        );
        macro_rules! say {
            ($level:ident) => {
                $level!(
                    event,
                    a = a_name,
                    a_guid,
                    a_port = a.port,
                    b = b_name,
                    b_guid,
                    b_port = b.port,
                    "{words}"
                )
            };
        }
        match (has_line, has_come) {
            (false, _) => say!(debug),
            (_, true) => say!(info),
            (_, false) => say!(warn),
        }
    }

    /// Whether one more coming or going has a line.
    fn has_line(&mut self) -> bool {
        let has = self.is_up && self.lines < LINES_MAX;
        self.lines += u32::from(has);
        self.unsaid += u32::from(!has);
        has
    }

    fn sweep_ended(&mut self, report: &SweepReport) {
        if self.is_up && self.unsaid > 0 {
            let count = self.unsaid;
            info!(
                event = "changes_unsaid",
                count, "{count} more nodes and links appeared or vanished, logged at debug"
            );
        }
        *self = Self {
            is_up: true,
            ..Self::default()
        };
        sweep_ended(report);
    }
}

/// A node as people know it: by its name, or by its GUID where it has none.
fn called(node: u64, name: &str) -> String {
    match (node, name) {
        (0, "") => "a device".to_owned(),
        (node, "") => guid(node),
        (_, name) => name.to_owned(),
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

fn guid(guid: u64) -> String {
    Guid(guid).to_string()
}

fn sweep_link_or_role(event: &Event) {
    match event {
        Event::SweepStarted { number, reason } => {
            let reason = reason_name(*reason);
            debug!(
                event = "sweep_started",
                sweep = number,
                reason,
                "sweep started ({reason})"
            );
        }
        Event::Phase(phase) => {
            let phase = phase_name(*phase);
            debug!(event = "phase_entered", phase, "sweep: {phase}");
        }
        Event::LinkUnused(link) => warn!(
            event = "link_unused",
            a = link.a.name,
            a_guid = %link.a.node,
            a_port = link.a.port.0,
            b = link.b.name,
            b_guid = %link.b.node,
            b_port = link.b.port.0,
            reason = %link.reason,
            "the link from {} to {} carries no data: {}",
            link.a,
            link.b,
            link.reason
        ),
        Event::LinkUsedAgain { a, b } => info!(
            event = "link_used_again",
            a = a.name,
            a_guid = %a.node,
            a_port = a.port.0,
            b = b.name,
            b_guid = %b.node,
            b_port = b.port.0,
            "the link from {a} to {b} carries data again"
        ),
        Event::PortQuarantined {
            port,
            losses,
            by_hand,
        } => warn!(
            event = "port_quarantined",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            losses,
            comment = by_hand,
            "{port} is in quarantine: {}",
            match by_hand.as_deref() {
                None => "its link went down again and again".to_owned(),
                Some("") => "a client asked for it".to_owned(),
                Some(comment) => format!("a client asked for it: {comment}"),
            }
        ),
        Event::TrapStorm { port, traps } => warn!(
            event = "trap_storm",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            traps,
            "{port} is disabled: its link reports errors again and again; 'weft port enable' lets it be used again"
        ),
        Event::MulticastStorm {
            port,
            groups,
            bounced,
        } => warn!(
            event = "multicast_storm",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            groups,
            bounced,
            "{port} is {}: the host behind it has ended {groups} multicast groups within McDosInterval",
            match bounced {
                true => "bounced",
                false => "disabled, until 'weft port enable'",
            }
        ),
        Event::SweepsPaused(pause) => warn!(
            event = "sweeps_paused",
            until_unix_ns = pause.until.0,
            "sweeps are paused for {}: changes of the fabric are not acted upon; 'weft fm resume' ends that",
            span(pause.until.since(pause.since))
        ),
        Event::SweepsResumed { why } => info!(
            event = "sweeps_resumed",
            why, "the pause of sweeps is over: {why}"
        ),
        Event::PortReleased(port) => info!(
            event = "port_released",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            "the quarantine of {port} is over"
        ),
        Event::Role { role, master, why } => {
            let (role_name, master) = (role.to_string(), master.map(|guid| guid.to_string()));
            let line = role_line(*role, master.as_deref());
            info!(
                event = "role",
                role = role_name,
                master,
                why,
                "{line}: {why}"
            );
        }
        Event::StateRefused { why } => error!(
            event = "state_refused",
            why,
            "the stored LIDs and drains cannot be used; the LIDs of the fabric are learnt again, drains, disabled ports and quarantine are forgotten: {why}"
        ),
        _ => {}
    }
}

/// A time in hours, minutes and seconds.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn port_changed(changed: &v1::PortChanged) {
    let id = changed.port.unwrap_or_default();
    let done = match changed.action() {
        v1::PortAction::Disable => "disabled",
        v1::PortAction::Bounce => "bounced",
        _ => "enabled",
    };
    let name = called(id.node_guid, &changed.node_name);
    info!(
        event = "port_changed",
        action = done,
        node = changed.node_name,
        node_guid = guid(id.node_guid),
        port = id.port,
        "port {} of {name} {done} by a client",
        id.port
    );
}

fn threshold(over: &v1::ThresholdExceeded) {
    let (port, neighbor) = (over.port.unwrap_or_default(), over.neighbor);
    let far = neighbor.map_or_else(String::new, |far| {
        let name = called(far.node_guid, &over.neighbor_name);
        format!(", cabled to {name} port {}", far.port)
    });
    let info = match over.error_info.as_str() {
        "" => String::new(),
        info => format!("; {info}"),
    };
    warn!(
        event = "threshold_exceeded",
        node = over.node_name,
        node_guid = guid(port.node_guid),
        port = port.port,
        neighbor = neighbor.map(|_| over.neighbor_name.as_str()),
        neighbor_guid = neighbor.map(|far| guid(far.node_guid)),
        neighbor_port = neighbor.map(|far| far.port),
        category = over.category,
        value = over.value,
        threshold = over.threshold,
        error_info = over.error_info,
        "{} of {} port {} is {}, over its threshold {}{far}{info}",
        over.category,
        called(port.node_guid, &over.node_name),
        port.port,
        over.value,
        over.threshold
    );
}

/// Logs that a device refuses a setting of congestion control.
pub(crate) fn log_refusal(node: Guid, port: PortNum, attribute: AttributeId, status: u16) {
    warn!(
        event = "congestion_refused",
        node_guid = %node, port = port.0, %attribute, status,
        "port {port} of {node} refuses {attribute} of its congestion control with status {status:#06x}"
    );
}

/// Logs an event of performance management, and sends exceeded thresholds to watchers.
pub(crate) fn tell_pm(hub: &EventHub, event: PmEvent) {
    match event {
        PmEvent::SweepEnded(report) => {
            hub.counters().pm_sweep(&report);
            counters_read(&report);
        }
        PmEvent::NodeFailed {
            node,
            name,
            request,
            status,
        } => debug!(
            event = "counters_unread",
            node_guid = %node, node = name, request, status,
            "counters of {name} could not be read"
        ),
        PmEvent::ClearedByOthers(port) => debug!(
            event = "counters_cleared",
            node_guid = %port.node, node = port.name, port = port.port.0,
            "counters of {} port {} began again: another program set them to zero, or the device restarted",
            port.name, port.port
        ),
        PmEvent::ThresholdExceeded {
            port,
            neighbor,
            category,
            value,
            threshold,
            error_info,
        } => hub.tell(DaemonEvent::Threshold(Box::new(Threshold {
            port,
            neighbor,
            category,
            value,
            threshold,
            error_info: error_info.map_or_else(String::new, |info| errors(&info)),
        }))),
    }
}

fn counters_read(report: &PmReport) {
    debug!(
        event = "counters_read",
        number = report.number,
        elapsed_ns = report.elapsed_ns,
        sent = report.sent,
        retries = report.retries,
        ports = report.ports,
        failed_ports = report.failed_ports,
        failed_nodes = report.failed_nodes,
        cleared = report.cleared,
        "counters of {} ports read",
        report.ports
    );
}

fn sweep_ended(report: &SweepReport) {
    for what in &report.unfinished {
        warn!(
            event = "sweep_unfinished",
            sweep = report.number,
            what,
            "will retry: {what}"
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

/// Describes the manager's role, and names the master.
fn role_line(role: SmState, master: Option<&str>) -> String {
    match (role, master) {
        (SmState::MASTER, _) => "this manager is master".to_owned(),
        (SmState::STANDBY, Some(master)) => {
            format!("this manager is standby, the master is the one on port {master}")
        }
        (role, _) => format!("this manager is {role}"),
    }
}

/// Summary line after the first sweep.
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
    format!("sweep {number} ({reason}) ended in {elapsed}, {asked} nodes examined, {sets} sets")
}

/// Nanoseconds in readable form: `0.21 s`, `3.4 ms`.
pub(crate) fn duration(ns: u64) -> String {
    match ns as f64 / 1e9 {
        seconds if seconds >= 0.1 => format!("{seconds:.2} s"),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

fn phase_name(phase: SweepPhase) -> &'static str {
    match phase {
        SweepPhase::Idle => "idle",
        SweepPhase::Discover => "discover",
        SweepPhase::Plan => "plan",
        SweepPhase::Program => "program",
        SweepPhase::Activate => "activate",
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
        SweepReason::OwnPort => "own_port",
        SweepReason::Unquarantine => "unquarantine",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Lines of the human-readable log, without debug.
    fn logged(say: impl FnOnce()) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let sink = file.reopen().unwrap();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(std::sync::Mutex::new(sink))
            .with_max_level(tracing::Level::INFO)
            .finish();
        tracing::subscriber::with_default(subscriber, say);
        let text = std::fs::read_to_string(file.path()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn link(number: u64) -> DaemonEvent {
        let end = |node| (Guid(node), PortNum(1));
        DaemonEvent::Fabric(Event::LinkVanished {
            a: end(number),
            b: end(1_000),
        })
    }

    fn tell(event_log: &mut EventLog, what: &DaemonEvent) {
        let names = crate::names::Names {
            topology: &weft_fabric::Topology::default(),
            gone: &crate::names::Gone::default(),
        };
        event_log.log(what, &what.content(&names));
    }

    #[test]
    fn many_at_once_are_counted_and_links_of_a_lost_node_go_without_saying() {
        let ended = || DaemonEvent::Fabric(Event::SweepEnded(SweepReport::default()));
        let mut event_log = EventLog::default();
        let quiet = logged(|| tell(&mut event_log, &link(1)));
        assert!(quiet.is_empty(), "the first sweep has one line: {quiet:?}");
        let lines = logged(|| {
            tell(&mut event_log, &ended());
            (0..40).for_each(|number| tell(&mut event_log, &link(number)));
            tell(&mut event_log, &ended());
        });
        let lost = |line: &&String| line.contains("WARN") && line.contains("link vanished: ");
        assert_eq!(lines.iter().filter(lost).count(), 32, "{lines:?}");
        let rest = lines
            .iter()
            .find(|line| line.contains("8 more nodes and links"));
        assert!(rest.is_some(), "{lines:?}");

        let lines = logged(|| {
            let (node, name) = (Guid(1_000), "core1".to_owned());
            tell(
                &mut event_log,
                &DaemonEvent::Fabric(Event::NodeVanished { node, name }),
            );
            (0..40).for_each(|number| tell(&mut event_log, &link(number)));
        });
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("node vanished: core1"), "{lines:?}");
    }

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
