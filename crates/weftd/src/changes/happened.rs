//! What the manager did or found, from events.

use serde_json::Value;
use weft_api::time::timestamp_ms;
use weft_api::v1;
use weft_fabric::text::count;
use weft_history::EventRow;

use super::named::{Named, named, number, text};
use super::object::{Object, Parts};

/// Kinds of events that tell of changes.
pub(super) const KINDS: [&str; 26] = [
    "attachment_changed",
    "config_reloaded",
    "device_refused",
    "hfi_replaced",
    "link_appeared",
    "link_errors_over",
    "link_isolated",
    "link_unused",
    "link_used_again",
    "link_vanished",
    "multicast_storm",
    "node_appeared",
    "node_vanished",
    "plan_in_force",
    "plan_undone",
    "port_changed",
    "port_quarantined",
    "port_released",
    "refusal_over",
    "replacement_removed",
    "role_changed",
    "sweep_ended",
    "topology_fault",
    "topology_fault_over",
    "trap_storm",
    "virtual_fabrics_changed",
];
/// Ports of one change that are told.
pub(super) const PORTS_MAX: usize = 16;

/// An event that is read.
#[derive(Debug, Clone)]
pub(super) struct Happened {
    pub(super) row: EventRow,
    pub(super) body: Value,
    pub(super) named: Vec<Named>,
    /// The sweep that was running, in the run of the daemon at that time; 0 for none.
    pub(super) sweep: u64,
}

/// Follows which sweep is running.
#[derive(Debug, Default)]
pub(super) struct Running {
    run: u64,
    sweep: u64,
}

impl Running {
    /// The sweep to which an event belongs; 0 for none. Events come in order.
    pub(super) fn sweep_of(&mut self, row: &EventRow, body: &Value) -> u64 {
        if row.run != self.run {
            (self.run, self.sweep) = (row.run, 0);
        }
        match row.kind.as_str() {
            "sweep_started" => {
                self.sweep = number(body.get("number")).unwrap_or(0);
                self.sweep
            }
            "sweep_ended" => {
                self.sweep = 0;
                number(body.get("number")).unwrap_or(0)
            }
            _ => number(body.get("sweep")).unwrap_or(self.sweep),
        }
    }
}

impl Happened {
    pub(super) fn of(
        row: EventRow,
        running: &mut Running,
        name_of: &dyn Fn(u64) -> String,
    ) -> Self {
        let body = serde_json::from_str(&row.body).unwrap_or_default();
        let sweep = running.sweep_of(&row, &body);
        Self {
            named: named(&body, name_of),
            sweep,
            row,
            body,
        }
    }

    /// Its token.
    pub(super) fn id(&self) -> String {
        crate::grpc::token(self.row.run, self.row.sequence)
    }

    fn number(&self, field: &str) -> u64 {
        number(self.body.get(field)).unwrap_or(0)
    }

    fn is(&self, field: &str) -> bool {
        self.body.get(field) == Some(&Value::Bool(true))
    }

    /// Whether anything was changed.
    pub(super) fn is_change(&self) -> bool {
        match self.row.kind.as_str() {
            "topology_fault" => self.is("quarantined"),
            "link_errors_over" => self.is("was_isolated"),
            "sweep_ended" => self.number("blocks") > 0,
            // What the first sweep of a run finds was there before, as far as is known.
            "node_appeared" | "link_appeared" => self.sweep != 1,
            kind => KINDS.contains(&kind),
        }
    }

    /// Whether it concerns what is asked about.
    pub(super) fn concerns(&self, object: &Object) -> bool {
        let kind = self.row.kind.as_str();
        match object {
            Object::Everything => true,
            Object::Parts(parts) if kind == "sweep_ended" => parts.has_node(&self.named),
            Object::Parts(parts) => parts.has(&self.named),
            Object::Plan(plan) => kind == "plan_in_force" && self.number("plan_id") == *plan,
            Object::VirtualFabric(name) => {
                let lists = ["added", "removed", "changed"];
                let has = |list| {
                    let names = self.body.get(list).and_then(Value::as_array);
                    names.is_some_and(|names| names.iter().any(|one| one == name.as_str()))
                };
                kind == "virtual_fabrics_changed" && lists.into_iter().any(has)
            }
        }
    }

    /// Number of the plan that it names; 0 for none.
    pub(super) fn plan(&self) -> u64 {
        self.number("plan_id")
    }

    /// Whether it is the outcome of a plan, which names no part of the fabric itself.
    pub(super) fn is_of_plan(&self) -> bool {
        ["plan_in_force", "plan_undone"].contains(&self.row.kind.as_str())
    }

    /// What it tells of the part that is asked about: names of nodes that are gone, and other ends of links.
    pub(super) fn teach(&self, parts: &mut Parts) {
        self.named.iter().for_each(|named| parts.meets(named));
        if self.row.kind.starts_with("link_") {
            parts.learns(&self.named);
        }
    }

    /// Whether it is the outcome of something that somebody asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        match self.row.kind.as_str() {
            "port_changed" | "hfi_replaced" | "replacement_removed" => true,
            "port_quarantined" => self.is("by_hand"),
            _ => false,
        }
    }

    /// The change.
    pub(super) fn change(&self) -> v1::Change {
        let asked = self.is_asked_for();
        let origin = match asked {
            true => v1::ChangeOrigin::Person,
            false => v1::ChangeOrigin::Manager,
        };
        let ports = self.named.iter().take(PORTS_MAX);
        v1::Change {
            time: Some(timestamp_ms(self.row.time_ms)),
            origin: origin.into(),
            author: text(&self.body, "author").to_owned(),
            peer: text(&self.body, "peer").to_owned(),
            what: self.words(),
            reason: self.reason(),
            result: if asked { "ok" } else { "" }.to_owned(),
            ports: ports.map(Named::message).collect(),
            kind: self.row.kind.clone(),
            plan_id: self.number("plan_id"),
            sweep: self.sweep,
            event_id: self.id(),
            ..v1::Change::default()
        }
    }

    /// In words: the ends, then what happened.
    pub(super) fn words(&self) -> String {
        let body = &self.body;
        let ends = ends(&self.named);
        let says = |field| text(body, field);
        match self.row.kind.as_str() {
            "attachment_changed" if self.is("attached") => "the fabric is back".to_owned(),
            "attachment_changed" => "the fabric is gone".to_owned(),
            "config_reloaded" if self.is("applied") => {
                "the configuration was read again".to_owned()
            }
            "config_reloaded" => "a new configuration was refused".to_owned(),
            "device_refused" => format!("{ends}: a device is not let in"),
            "hfi_replaced" => format!("{ends}: replaced"),
            "link_appeared" => format!("link {ends} appeared"),
            "link_vanished" => format!("link {ends} vanished"),
            "link_unused" => format!("link {ends} carries no data"),
            "link_used_again" => format!("link {ends} carries data again"),
            "link_isolated" => format!("link {ends} out of use for errors"),
            "link_errors_over" => format!("link {ends} may be used again"),
            "multicast_storm" if self.is("bounced") => format!("{ends} bounced"),
            "multicast_storm" | "trap_storm" => format!("{ends} disabled"),
            "node_appeared" => format!("node {ends} appeared"),
            "node_vanished" => format!("node {ends} vanished"),
            "plan_in_force" => {
                format!("plan {} in force: {}", self.number("plan_id"), says("what"))
            }
            "plan_undone" => format!("undone: {}", says("what")),
            "port_changed" => format!("{ends} {}", action_done(body)),
            "port_quarantined" => format!("{ends} put into quarantine"),
            "port_released" => format!("{ends} let out of quarantine"),
            "refusal_over" => format!("{ends}: the device behind it is let in"),
            "replacement_removed" => format!("{ends}: replacement removed"),
            "role_changed" => format!("the manager is {}", says("role")),
            "sweep_started" => format!("sweep {} began: {}", self.sweep, sweep_reason(body)),
            "sweep_ended" => format!(
                "sweep {} wrote {} on {}",
                self.sweep,
                count(self.number("blocks"), "block"),
                count(self.number("written_switch_count"), "switch")
            ),
            "topology_fault" => format!("{ends} put into quarantine: not as the topology file"),
            "topology_fault_over" => format!("{ends}: as the topology file again"),
            "trap" => trap_words(body),
            "virtual_fabrics_changed" => fabrics(body),
            _ => self.row.message.clone(),
        }
    }

    /// Why, as the manager or the author says.
    fn reason(&self) -> String {
        let says = |field| text(&self.body, field).to_owned();
        match self.row.kind.as_str() {
            "port_quarantined" if self.is("by_hand") => says("comment"),
            "port_quarantined" => {
                format!(
                    "its link went down {}",
                    count(self.number("losses"), "time")
                )
            }
            "trap_storm" => format!(
                "{} about errors of its link",
                count(self.number("traps"), "trap")
            ),
            "multicast_storm" => format!(
                "its host ended {}",
                count(self.number("groups"), "multicast group")
            ),
            "link_isolated" | "device_refused" | "topology_fault" | "config_reloaded" => {
                says("what")
            }
            "role_changed" | "link_errors_over" => says("why"),
            "sweep_ended" => sweep_reason(&self.body),
            _ => says("reason"),
        }
    }
}

/// The first two ends of what is told, as `edge1:3 to core1:1`.
pub(super) fn ends(named: &[Named]) -> String {
    let ends: Vec<String> = named.iter().take(2).map(Named::words).collect();
    ends.join(" to ")
}

/// A trap in words.
pub(super) fn trap_words(trap: &Value) -> String {
    let lid = number(trap.get("lid")).unwrap_or(0);
    let sender = match text(trap, "node_name") {
        "" => format!("LID {lid:#06x}"),
        name => name.to_owned(),
    };
    let number = match number(trap.get("number")) {
        Some(number) if number > 0 => format!(" {number}"),
        _ => String::new(),
    };
    format!("trap{number} of {sender}: {}", text(trap, "what"))
}

/// Why a sweep began, in one word.
pub(super) fn sweep_reason(started: &Value) -> String {
    let reason = text(started, "reason").trim_start_matches("SWEEP_REASON_");
    reason.to_lowercase().replace('_', " ")
}

fn action_done(body: &Value) -> &'static str {
    let action = v1::PortAction::from_str_name(text(body, "action")).unwrap_or_default();
    weft_api::port_action_done(action)
}

fn fabrics(body: &Value) -> String {
    let lists = ["added", "removed", "changed"]
        .into_iter()
        .filter_map(|list| {
            let names = body.get(list)?.as_array()?.iter().filter_map(Value::as_str);
            let names: Vec<&str> = names.collect();
            (!names.is_empty()).then(|| format!("{list} {}", names.join(", ")))
        });
    let lists: Vec<String> = lists.collect();
    format!("virtual fabrics: {}", lists.join("; "))
}
