//! What people asked for, from the record of changes.

use std::collections::BTreeMap;

use serde_json::Value;
use weft_api::time::timestamp;
use weft_api::v1;
use weft_history::PortKey;
use weft_history::audit::Record;

use super::happened::{Happened, PORTS_MAX};
use super::named::{Named, named, number, text};
use super::object::Object;

/// Plans that are remembered, to know what applying one changes.
const PLANS_MAX: usize = 1_024;
/// Ports of one change that its words name.
const WORDS_MAX: usize = 3;
/// From a request, or its end, to an event that is its outcome: routes may be computed and a sweep awaited meanwhile.
const OUTCOME_NS: u64 = 120_000_000_000;
/// An event may bear a time a little before the request's, as both are taken on different threads.
const EARLY_NS: u64 = 1_000_000_000;

/// What plans do, by their numbers: those of a later run of the daemon take the place of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Plans(BTreeMap<u64, (Vec<Named>, String)>);

/// A request that is read.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) time_ns: u64,
    /// The call without its service.
    method: String,
    /// What it does to ports; empty where it is about none.
    action: String,
    named: Vec<Named>,
    plan: u64,
    pub(super) change: v1::Change,
    /// When it ended; none where that is not known.
    end_ns: Option<u64>,
}

impl Asked {
    /// A request for a change; none where it only asked whether it could be done.
    pub(super) fn of(
        record: Record,
        plans: &mut Plans,
        name_of: &dyn Fn(u64) -> String,
    ) -> Option<Self> {
        let Record {
            sequence,
            unix_time_ns,
            asked,
            ended,
            ..
        } = record;
        let request = &asked.request;
        if request.get("validate_only") == Some(&Value::Bool(true)) {
            return None;
        }
        let (end_ns, ended) = match ended {
            Some((at, ended)) => (Some(at), ended),
            None => (None, weft_history::audit::Ended::default()),
        };
        let method = asked.method.rsplit('/').next().unwrap_or_default();
        let method = method.to_owned();
        let plan = ["plan_id", "expected_plan_id"].into_iter();
        let mut plan = plan.filter_map(|field| number(request.get(field)));
        let plan = plan.next().filter(|plan| *plan > 0).unwrap_or(ended.plan);
        // The record has the names of then.
        let mut named = named(request, &|guid| {
            let then = asked.nodes.get(&format!("{guid:#018x}")).cloned();
            then.unwrap_or_else(|| name_of(guid))
        });
        let mut what = words(&method, request, &named, plan);
        if method == "PlanRoutes" && ended.plan > 0 {
            plans.note(ended.plan, &named, &what);
        } else if let Some((of_plan, does)) = plans.0.get(&plan) {
            named.clone_from(of_plan);
            what += &format!(": {}", does.trim_start_matches("plan: "));
        }
        let reason = match asked.reason.as_str() {
            "" => text(request, "comment").to_owned(),
            _ => asked.reason,
        };
        let ports = named.iter().take(PORTS_MAX);
        let change = v1::Change {
            time: Some(timestamp(unix_time_ns)),
            origin: v1::ChangeOrigin::Person.into(),
            author: asked.author,
            peer: asked.peer,
            way: asked.way,
            what,
            reason,
            result: ended.result,
            message: ended.message,
            ports: ports.map(Named::message).collect(),
            kind: asked.method,
            plan_id: plan,
            record: sequence,
            ..v1::Change::default()
        };
        Some(Self {
            time_ns: unix_time_ns,
            method,
            action: text(request, "action").to_owned(),
            named,
            plan,
            change,
            end_ns,
        })
    }

    /// Whether it concerns what is asked about. Requests for other settings may concern a virtual fabric: whether one does, its
    /// outcome tells.
    pub(super) fn concerns(&self, object: &Object) -> bool {
        let is_plan = self.method == "PlanRoutes";
        match object {
            Object::Everything => true,
            Object::Parts(parts) => !is_plan && parts.has(&self.named),
            Object::Plan(plan) => self.plan == *plan,
            Object::VirtualFabric(_) => SETTINGS.contains(&self.method.as_str()),
        }
    }

    /// Whether a sweep follows it at once.
    pub(super) fn is_for_a_sweep(&self) -> bool {
        SWEEPS.contains(&self.method.as_str())
    }

    /// An event is an outcome of it.
    pub(super) fn has_outcome(&mut self, event: &Happened) {
        (self.change.event_id, self.change.sweep) = (event.id(), event.sweep);
        if event.row.kind == "virtual_fabrics_changed" {
            self.change.what += &format!(": {}", event.words());
        }
    }

    /// Whether an event is an outcome of it.
    pub(super) fn has_led_to(&self, event: &Happened) -> bool {
        let at = (event.row.time_ms.max(0) as u64).saturating_mul(1_000_000);
        let from = self.time_ns.saturating_sub(EARLY_NS);
        let to = self.end_ns.unwrap_or(self.time_ns) + OUTCOME_NS;
        let is_of_port = ["port_changed", "port_quarantined", "port_released"];
        let is_of_port = is_of_port.contains(&event.row.kind.as_str());
        let keys = |named: &[Named]| named.iter().map(|one| one.key).collect::<Vec<PortKey>>();
        let own = keys(&self.named);
        (from..=to).contains(&at)
            && (event.row.kind != "plan_in_force" || event.plan() == self.plan)
            && leads_to(&self.method, event)
            && (event.row.kind != "port_changed" || text(&event.body, "action") == self.action)
            && (!is_of_port || keys(&event.named).iter().any(|key| own.contains(key)))
    }
}

impl Plans {
    fn note(&mut self, plan: u64, named: &[Named], what: &str) {
        self.0.insert(plan, (named.to_vec(), what.to_owned()));
        if self.0.len() > PLANS_MAX {
            self.0.pop_first();
        }
    }
}

/// Calls that a sweep follows at once.
const SWEEPS: [&str; 8] = [
    "StartSweep",
    "QuarantinePort",
    "ReleasePort",
    "SetPortState",
    "SetPorts",
    "ReplaceHfi",
    "RemoveReplacement",
    "ResumeSweeps",
];

/// Calls that put other settings in force.
const SETTINGS: [&str; 4] = ["ReloadConfig", "SIGHUP", "ApplyRoutePlan", "RollBackRoutes"];

/// Whether a call can have led to an event of this kind.
fn leads_to(method: &str, event: &Happened) -> bool {
    match event.row.kind.as_str() {
        "port_changed" => ["SetPortState", "SetPorts"].contains(&method),
        "port_quarantined" => method == "QuarantinePort" && event.is_asked_for(),
        "port_released" => method == "ReleasePort",
        "plan_in_force" => method == "ApplyRoutePlan",
        "plan_undone" => method == "RollBackRoutes",
        "hfi_replaced" => method == "ReplaceHfi",
        "replacement_removed" => method == "RemoveReplacement",
        "config_reloaded" | "virtual_fabrics_changed" => SETTINGS.contains(&method),
        _ => false,
    }
}

/// A request in words.
fn words(method: &str, request: &Value, named: &[Named], plan: u64) -> String {
    let parts = parts(named);
    match method {
        "SetPortState" | "SetPorts" => format!("{} {parts}", action(request)),
        "QuarantinePort" => format!("put {parts} into quarantine"),
        "ReleasePort" => format!("let {parts} out of quarantine"),
        "PlanRoutes" => format!("plan: {}", planned(request, &parts)),
        "ApplyRoutePlan" => format!("apply plan {plan}"),
        "RollBackRoutes" if plan > 0 => format!("undo plan {plan}"),
        "RollBackRoutes" => "undo the last plan".to_owned(),
        "ReplaceHfi" => format!("replace {parts}"),
        "RemoveReplacement" => format!("remove the replacement of {parts}"),
        "CancelOperation" => format!("cancel operation {}", text(request, "id")),
        "StartSweep" => "ask for a sweep".to_owned(),
        "ClearPortCounters" => cleared(request),
        "SetCable" if request.get("cut") == Some(&Value::Bool(true)) => {
            format!("cut the cable at {parts}")
        }
        "SetCable" => format!("mend the cable at {parts}"),
        "StartTraffic" => format!("start traffic {}", text(&request["job"], "name")),
        "StopTraffic" => match text(request, "name") {
            "" => "stop all traffic".to_owned(),
            name => format!("stop traffic {name}"),
        },
        "SIGHUP" | "ReloadConfig" => "read the configuration again".to_owned(),
        other => match parts.as_str() {
            "" => apart(other),
            parts => format!("{} {parts}", apart(other)),
        },
    }
}

fn parts(named: &[Named]) -> String {
    let first: Vec<String> = named.iter().take(WORDS_MAX).map(Named::words).collect();
    let more = named.len().saturating_sub(WORDS_MAX);
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn action(request: &Value) -> String {
    let action = text(request, "action").trim_start_matches("PORT_ACTION_");
    match action {
        "LED_ON" => "switch the beacon on at".to_owned(),
        "LED_OFF" => "switch the beacon off at".to_owned(),
        "SET_LINK" => "set widths or speeds of".to_owned(),
        action => action.to_lowercase(),
    }
}

fn cleared(request: &Value) -> String {
    let of = match text(request, "point") {
        "" => "all ports",
        point => point,
    };
    // A mask is one text in the JSON of protobuf.
    match text(request, "counters")
        .split(',')
        .filter(|name| !name.is_empty())
        .count()
    {
        0 => format!("set all counters of {of} to zero"),
        1 => format!("set {} of {of} to zero", text(request, "counters")),
        counters => format!("set {counters} counters of {of} to zero"),
    }
}

fn planned(request: &Value, parts: &str) -> String {
    if request.get("drain").is_some() {
        return format!("drain {parts}");
    }
    if request.get("undrain").is_some() {
        return format!("undrain {parts}");
    }
    if let Some(moment) = request.get("as_of") {
        return back(moment);
    }
    match text(request, "engine") {
        "" => "another configuration".to_owned(),
        engine => format!("engine {engine}"),
    }
}

/// The way back to a moment in words.
fn back(moment: &Value) -> String {
    for kind in ["sweep", "generation"] {
        if let Some(number) = number(moment.get(kind)) {
            return format!("back to {kind} {number}");
        }
    }
    format!("back to {}", text(moment, "time"))
}

/// `PauseSweeps` as `pause sweeps`.
fn apart(name: &str) -> String {
    let mut words = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
