//! Events in the log, with fields for machines and words for people.

mod causes;
mod changes;
mod health;
mod intended;
mod link_errors;
mod loop_test;
pub(crate) mod port_changes;
mod trap_lines;

use std::time::Duration;

use tracing::{debug, error, info, warn};
use weft_api::v1::{self, watch_response::Content};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, text};
use weft_manager::{Event, RefusedDevice, SweepPhase, SweepReason, SweepReport};
use weft_wire::sm::AttributeId;

use crate::event::DaemonEvent;
use crate::event_hub::unix_time_ns;
use crate::logging::{LogLimits, LogSettings};
use crate::pm_log;
use causes::Causes;
use changes::{Changes, Way};
use trap_lines::TrapLines;

/// Writes events to the log. Nodes and links that come or go one after the other are a batch.
#[derive(Debug)]
pub(crate) struct EventLog {
    /// Whether the first sweep has ended; until then its own line is enough.
    is_up: bool,
    limits: LogLimits,
    changes: Changes,
    traps: TrapLines,
    causes: Causes,
}

impl Default for EventLog {
    fn default() -> Self {
        Self {
            is_up: false,
            limits: LogSettings::default().limits,
            changes: Changes::default(),
            traps: TrapLines::default(),
            causes: Causes::default(),
        }
    }
}

impl EventLog {
    /// Puts limits of lines in force.
    pub(crate) fn set_limits(&mut self, limits: LogLimits) {
        self.limits = limits;
    }

    /// A reading of the counters has ended.
    pub(crate) fn counters_read(&mut self) {
        self.causes = Causes::default();
    }

    /// Logs an event. `content` is the same as clients read it, with names.
    pub(crate) fn log(&mut self, what: &DaemonEvent, content: &Content) {
        match (what, content) {
            (DaemonEvent::Fabric(event), content) => self.fabric(event, content),
            (DaemonEvent::Port(_), Content::PortChanged(changed)) => port_changes::changed(changed),
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
            (DaemonEvent::VirtualFabrics(changed), _) => info!(
                event = "virtual_fabrics_changed",
                ports = changed.ports,
                losing_ports = changed.losing_ports,
                "virtual fabrics changed: {} new, {} gone, {} with other settings; other keys for {}, {} of them \
                 lose some",
                changed.added.len(),
                changed.removed.len(),
                changed.changed.len(),
                text::count(changed.ports, "port"),
                changed.losing_ports
            ),
            (DaemonEvent::Threshold(_), Content::ThresholdExceeded(over)) => {
                let has_cause = over.error_info.is_empty()
                    || self.causes.has_cause(&over.category, &self.limits.causes);
                pm_log::threshold(over, has_cause);
            }
            (DaemonEvent::TrapsSuppressed { count, .. }, Content::TrapsSuppressed(traps)) => warn!(
                event = "traps_suppressed",
                lid = traps.lid,
                node_guid = guid(traps.node_guid),
                node = traps.node_name,
                count,
                "{} of {} suppressed",
                text::count(count, "more trap"),
                sender(traps.lid, &traps.node_name)
            ),
            (DaemonEvent::RequestsDropped { count, .. }, Content::RequestsDropped(dropped)) => {
                warn!(
                    event = "requests_dropped",
                    lid = dropped.lid,
                    node_guid = guid(dropped.node_guid),
                    node = dropped.node_name,
                    count,
                    "{} of {} dropped: it sends more than its share",
                    text::count(count, "request"),
                    sender(dropped.lid, &dropped.node_name)
                )
            }
            (
                DaemonEvent::Health {
                    before,
                    now,
                    reason,
                },
                _,
            ) => health::changed(*before, *now, reason),
            (DaemonEvent::LinkHealth { a, b, errors }, _) => {
                health::link(a, b.as_ref(), errors.as_deref());
            }
            (DaemonEvent::HistoryUnwritten { why }, _) => warn!(
                event = "history_unwritten",
                "the past is not kept: {why}; they are again as soon as that is over"
            ),
            (DaemonEvent::HistoryWritten { seconds }, _) => info!(
                event = "history_written",
                seconds, "the past is kept again, after {seconds} s"
            ),
            // Reload and attachment log their own events.
            (DaemonEvent::Config { .. } | DaemonEvent::Attachment(_), _) => {}
            (DaemonEvent::Port(_) | DaemonEvent::Threshold(_), _) => {}
            (DaemonEvent::TrapsSuppressed { .. } | DaemonEvent::RequestsDropped { .. }, _) => {}
            // Plans and sweeps have events of their own.
            (DaemonEvent::Operation(_) | DaemonEvent::OperationProgress(_), _) => {}
        }
    }

    fn fabric(&mut self, event: &Event, content: &Content) {
        match content {
            Content::NodeAppeared(node) => self.changes.node(Way::Appeared, node),
            Content::NodeVanished(node) => self.changes.node(Way::Vanished, node),
            Content::LinkAppeared(link) => self.changes.link(Way::Appeared, link),
            Content::LinkVanished(link) => self.changes.link(Way::Vanished, link),
            content => {
                self.changes.flush(self.is_up, &self.limits);
                return self.other(event, content);
            }
        }
        if self.changes.is_full() {
            self.changes.flush(self.is_up, &self.limits);
        }
    }

    fn other(&mut self, event: &Event, content: &Content) {
        match (event, content) {
            (_, Content::NodeSilent(silent)) => warn!(
                event = "node_silent",
                node_guid = guid(silent.guid),
                node = silent.name,
                attribute = silent.attribute,
                "{} does not answer ({})",
                called(silent.guid, &silent.name),
                silent.attribute
            ),
            (_, Content::NodeAnswers(node)) => info!(
                event = "node_answers",
                node_guid = guid(node.guid),
                node = node.name,
                "{} answers again",
                called(node.guid, &node.name)
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
            (_, Content::PromiseBroken(broken)) => warn!(
                event = "promise_broken",
                node_guid = guid(broken.guid),
                node = broken.name,
                what = broken.what,
                "{} does not hold a table that the routes were certified with: {}",
                called(broken.guid, &broken.name),
                broken.what
            ),
            (_, Content::Trap(trap)) => self.trap(trap),
            (Event::SweepEnded(report), _) => self.sweep_ended(report),
            (event, _) => sweep_link_or_role(event),
        }
    }

    fn trap(&mut self, trap: &v1::Trap) {
        let interval = self.limits.trap_interval;
        let line = self.traps.has_line(trap.lid, unix_time_ns(), interval);
        let more = match line {
            Some(unsaid @ 1..) => format!("; {unsaid} before it had no line"),
            _ => String::new(),
        };
        macro_rules! say {
            ($level:ident) => {
                $level!(
                    event = "trap",
                    lid = trap.lid,
                    node_guid = guid(trap.node_guid),
                    node = trap.node_name,
                    what = trap.what,
                    "trap of {}: {}{more}",
                    sender(trap.lid, &trap.node_name),
                    trap.what
                )
            };
        }
        match line {
            Some(_) => say!(info),
            None => say!(debug),
        }
    }

    fn sweep_ended(&mut self, report: &SweepReport) {
        let count = self.changes.end_sweep();
        if self.is_up && count > 0 {
            info!(
                event = "changes_unsaid",
                count,
                "{count} more nodes and links appeared or vanished, logged at debug and shown by 'weft watch'"
            );
        }
        self.is_up = true;
        sweep_ended(report);
    }
}

fn device_refused(refused: &RefusedDevice) {
    warn!(
        event = "device_refused",
        node = refused.found.name,
        node_guid = %refused.found.node,
        port = refused.found.port.0,
        at = refused.trusted.name,
        at_guid = %refused.trusted.node,
        at_port = refused.trusted.port.0,
        neighbour_guid = %refused.neighbour,
        "{refused}"
    );
}

/// A node as people know it: by its name, or by its GUID where it has none.
pub(crate) fn called(node: u64, name: &str) -> String {
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

pub(crate) fn guid(guid: u64) -> String {
    Guid(guid).to_string()
}

fn sweep_link_or_role(event: &Event) {
    match event {
        Event::SweepStarted { number, reason, .. } => {
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
        Event::DeviceRefused(refused) => device_refused(refused),
        Event::RefusalOver { port } => info!(
            event = "refusal_over",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            "the device behind {port} is right again, or gone"
        ),
        Event::ReplacementRecognised(offer) => intended::recognised(offer),
        Event::HfiReplaced(replaced) => intended::replaced(replaced),
        Event::ReplacementRemoved { old, new } => intended::removed(*old, new),
        Event::LinkErrors(found) => link_errors::found(found),
        Event::LinkErrorsOver {
            a,
            b,
            rule,
            was_out,
            why,
        } => link_errors::over(a, b, *rule, *was_out, *why),
        Event::TopologyFault(fault) => intended::fault(fault),
        Event::TopologyFaultsUntold { count } => warn!(
            event = "topology_faults_untold",
            count,
            "{} not as the topology file has them; 'weft check topology' lists all",
            text::count_and(count, "more link", ["is", "are"])
        ),
        Event::TopologyFaultOver { port } => info!(
            event = "topology_fault_over",
            node = port.name,
            node_guid = %port.node,
            port = port.port.0,
            "{port} has no link any more that is not as the topology file has it"
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
        Event::LoopTestStarted {
            fast,
            packets,
            length_max,
        } => loop_test::started(*fast, *packets, *length_max),
        Event::LoopTestStopped => info!(event = "loop_test_stopped", "the loop test has ended"),
        Event::LoopsPlanned(loops) => loop_test::planned(loops),
        Event::LoopPacketsInjected {
            packets,
            sent,
            injected,
        } => loop_test::injected(*packets, *sent, *injected),
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
            why, "the stored LIDs and drains cannot be used: {why}"
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

/// Logs that a device refuses a setting of congestion control.
pub(crate) fn log_refusal(node: Guid, port: PortNum, attribute: AttributeId, status: u16) {
    warn!(
        event = "congestion_refused",
        node_guid = %node, port = port.0, %attribute, status,
        "port {port} of {node} refuses {attribute} of its congestion control with status {status:#06x}"
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
    let nodes = || {
        let hfis = text::count(report.hfis, "HFI");
        format!("{hfis} and {}", text::count(report.switches, "switch"))
    };
    match report.role {
        SmState::STANDBY => {
            return format!("standby: another manager runs the fabric of {}", nodes());
        }
        SmState::DISCOVERING if report.switches > 0 => {
            return format!("no manager runs the fabric of {} yet", nodes());
        }
        _ => {}
    }
    let ports = 2 * u64::from(report.links);
    let active = match u64::from(report.active_ports) {
        active if active == ports => format!("all {ports} ports ACTIVE"),
        active => format!("{active} of {ports} ports ACTIVE"),
    };
    format!(
        "fabric up: {}, {}, {}, {active} in {}",
        text::count(report.hfis, "HFI"),
        text::count(report.switches, "switch"),
        text::count(report.links, "link"),
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
    let (asked, sets) = (text::count(asked, "node"), text::count(sets, "set"));
    format!("sweep {number} ({reason}) ended in {elapsed}, {asked} examined, {sets}")
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
        SweepReason::LinkErrors => "link_errors",
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
        event_log.log(what, &what.content(&names, 0));
    }

    #[test]
    fn many_at_once_are_counted_and_links_of_a_lost_node_go_without_saying() {
        let ended = || DaemonEvent::Fabric(Event::SweepEnded(SweepReport::default()));
        let mut event_log = EventLog::default();
        event_log.set_limits(LogLimits {
            links: Some(32),
            ..LogSettings::default().limits
        });
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
            tell(&mut event_log, &ended());
        });
        let lost: Vec<&String> = lines.iter().filter(|line| line.contains("WARN")).collect();
        assert_eq!(lost.len(), 1, "{lines:?}");
        assert!(lost[0].contains("node vanished: core1"), "{lines:?}");
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
