//! `weft route`.

mod back;
mod show;

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;
use weft_api::v1::plan_routes_request::Change;
use weft_fabric::text::{count, count_and};

use crate::args::{Args, OnOff, PlanArgs, RouteCommand};
use crate::asked::label;
use crate::at;
use crate::config::finding_line;
use crate::connect::{Effort, Session, connect};
use crate::drain;
use crate::error::CliError;
use crate::output;
use crate::progress::Progress;
use crate::sweep::{Waiting, as_json, certificate_json};
use crate::unreported;

pub(crate) async fn run(args: &Args, command: &RouteCommand) -> Result<ExitCode, CliError> {
    let session = connect(&args.daemon).await?;
    match command {
        RouteCommand::Show(show) => show::run(&session, show).await,
        RouteCommand::Plan(plan) => make(&session, plan).await,
        RouteCommand::Apply { plan, why, json } => {
            let (sweep, ports) = carry_out(&session, *plan, &why.reason).await?;
            let what = format!("plan {plan} is in force");
            tell(&what, &sweep, ports.as_ref(), *json)
        }
        RouteCommand::Rollback { plan, why, json } => {
            let waiting = Waiting::begin(&session).await?;
            let request = v1::RollBackRoutesRequest {
                expected_plan_id: plan.unwrap_or_default(),
                label: label(&why.reason, ""),
            };
            let mut service = session.services(Effort::Long).routes();
            let undone = service.roll_back_routes(request);
            let undone = session.answer(Effort::Long, undone).await?;
            let sweep = waiting.settled(undone.sweep, &undone.operation_id).await?;
            let what = format!("undone: {}", undone.undone);
            tell(&what, &sweep, undone.ports.as_ref(), *json)
        }
        RouteCommand::Drains { json } => drain::list(&session, *json).await,
    }
}

/// Carries a plan out and waits for the sweep that does it.
pub(crate) async fn apply(
    session: &Session,
    plan_id: u64,
    reason: &str,
) -> Result<v1::Sweep, CliError> {
    Ok(carry_out(session, plan_id, reason).await?.0)
}

/// The same, with what has become of ports that the plan switches.
async fn carry_out(
    session: &Session,
    plan_id: u64,
    reason: &str,
) -> Result<(v1::Sweep, Option<v1::PortsSwitched>), CliError> {
    let label = label(reason, "");
    let waiting = Waiting::begin(session).await?;
    let mut service = session.services(Effort::Long).routes();
    let applied = service.apply_route_plan(v1::ApplyRoutePlanRequest {
        plan_id,
        label,
        validate_only: false,
    });
    let applied = session.answer(Effort::Long, applied).await?;
    Ok((
        waiting
            .settled(applied.sweep, &applied.operation_id)
            .await?,
        applied.ports,
    ))
}

/// Prints the result. A port that was not switched is a failure, and so is unfinished work, but for links that came or went
/// meanwhile.
fn tell(
    what: &str,
    sweep: &v1::Sweep,
    ports: Option<&v1::PortsSwitched>,
    json: bool,
) -> Result<ExitCode, CliError> {
    let left = sweep.unfinished.iter();
    let left = left.map(|what| format!("unfinished: {what}\n"));
    let switched = ports.map_or_else(Vec::new, back::switched).into_iter();
    let left = switched.map(|line| line + "\n").chain(left);
    let routing = &sweep.routing;
    let routing = match routing.is_empty() {
        true => String::new(),
        false => format!("routing: {routing}\n"),
    };
    let text = format!("{what}\n{routing}{}", left.collect::<String>());
    let printed = match json {
        true => output::json(&json!({
            "done": what,
            "sweep": as_json(sweep),
            "ports": ports.map(back::switched_json),
        })),
        false => output::text(&text),
    };
    unreported::or_keep(printed, &text)?;
    let failed = ports.is_some_and(|ports| !ports.failed.is_empty());
    Ok(ExitCode::from(u8::from(failed || !is_confirmed(sweep))))
}

/// Whether devices have confirmed everything, but for links that came or went during a sweep.
pub(crate) fn is_confirmed(sweep: &v1::Sweep) -> bool {
    sweep.unfinished.is_empty() || sweep.only_links_unfinished
}

async fn make(session: &Session, args: &PlanArgs) -> Result<ExitCode, CliError> {
    let drained = [&args.drain, &args.undrain].into_iter().flatten().next();
    let target = match drained {
        Some(point) => Some(drain::target(session, point).await?),
        None => None,
    };
    let change = match (&args.config, &args.engine, target) {
        _ if args.back.as_of.is_some() => {
            let text = args.back.as_of.as_deref().unwrap_or_default();
            Change::AsOf(at::moment(text, "--as-of")?)
        }
        _ if args.adaptive.is_some() => Change::Adaptive(v1::AdaptiveChange {
            enabled: args.adaptive == Some(OnOff::On),
            threshold: args.threshold.unwrap_or(0).into(),
        }),
        (Some(file), ..) => Change::Config(text(file)?),
        (_, Some(engine), _) => Change::Engine(engine.clone()),
        (_, _, Some(target)) if args.drain.is_some() => Change::Drain(target.message),
        (_, _, Some(target)) => Change::Undrain(target.message),
        (None, None, None) => return Err(CliError::Usage("specify a change".to_owned())),
    };
    let label = label(&args.why.reason, &args.operation);
    let planned = plan(session, change, label).await?;
    if args.json {
        output::json(&planned_json(&planned))?;
    } else {
        let file = args.config.as_ref();
        let file = file.map_or(String::new(), |file| file.display().to_string());
        let findings = planned.findings.iter();
        let findings = findings.map(|finding| finding_line(&file, finding));
        output::text(findings.collect::<String>() + &summary(&planned))?;
        if let Some(id) = planned.plan_id {
            output::text(format!("`weft route apply {id}` carries it out\n"))?;
        }
    }
    match planned.plan_id {
        Some(_) => Ok(ExitCode::SUCCESS),
        None => Err(CliError::Refused("the configuration has errors".to_owned())),
    }
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(file: &std::path::Path) -> Result<String, CliError> {
    let bytes = output::read(file)?;
    String::from_utf8(bytes).map_err(|_| CliError::Content {
        file: file.to_owned(),
        why: "is not UTF-8".to_owned(),
    })
}

/// Has a change planned.
pub(crate) async fn plan(
    session: &Session,
    change: Change,
    label: Option<v1::OperationLabel>,
) -> Result<v1::PlanRoutesResponse, CliError> {
    let _progress = Progress::start("planning routes");
    let change = Some(change);
    let mut service = session.services(Effort::Long).routes();
    let planned = service.plan_routes(v1::PlanRoutesRequest { change, label });
    session.answer(Effort::Long, planned).await
}

/// A plan in some lines; nothing where there is none.
pub(crate) fn summary(planned: &v1::PlanRoutesResponse) -> String {
    let (Some(id), Some(plan)) = (planned.plan_id, &planned.plan) else {
        return String::new();
    };
    let mut lines = plan_lines(id, plan);
    lines.extend(planned.way_back.iter().flat_map(back::lines));
    lines.join("\n") + "\n"
}

/// A plan in some lines.
pub(crate) fn plan_lines(id: u64, plan: &v1::RoutePlan) -> Vec<String> {
    let engine = match plan.engine == plan.engine_before {
        true => format!("engine {}", plan.engine),
        false => format!("engine {} in place of {}", plan.engine, plan.engine_before),
    };
    let mut lines = vec![
        format!("plan {id}: {engine}"),
        format!(
            "{}, in {} of {}",
            count_and(plan.routes, "route", ["moves", "move"]),
            count(plan.blocks, "block"),
            count(plan.switches, "switch")
        ),
    ];
    lines.extend(plan.unlike_then.map(back::unlike));
    if plan.dropping > 0 {
        lines.push(format!("{} of them drop packets meanwhile", plan.dropping));
    }
    if plan.changed_levels > 0 {
        lines.push(format!(
            "other service levels for {}: connections opened before keep the old one, \
             which is not proved",
            count(plan.changed_levels, "LID")
        ));
    }
    if plan.suspends_adaptive {
        lines.push("adaptive routing is suspended meanwhile".to_owned());
    }
    if let Some(proved) = &plan.certificate {
        lines.push(format!(
            "proved: {}, {} without cables;\n  {} between links form no circle",
            count_and(proved.routes, "route", ["arrives", "arrive"]),
            count(proved.disconnected, "pair"),
            count(proved.dependencies, "dependency")
        ));
    }
    if let (Some(before), Some(after)) = (&plan.before, &plan.after) {
        lines.extend(congestion(before, after));
    }
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    lines
}

fn congestion(before: &v1::RouteQuality, after: &v1::RouteQuality) -> Vec<String> {
    let pattern = |pattern: &Option<v1::TrafficPattern>| pattern.unwrap_or_default();
    let worst = |of: &Option<v1::TrafficPattern>| {
        let of = pattern(of);
        format!("{:.0} (mean {:.2})", of.worst, of.mean)
    };
    let share = |of: &Option<v1::TrafficPattern>| format!("{:.1} %", pattern(of).bandwidth * 1e2);
    let rows = [
        (
            "flows on the busiest link: all to all",
            format!("{:.0}", before.all_to_all_worst),
            format!("{:.0}", after.all_to_all_worst),
        ),
        ("  shifts", worst(&before.shifts), worst(&after.shifts)),
        (
            "  permutations",
            worst(&before.permutations),
            worst(&after.permutations),
        ),
        (
            "bandwidth of a flow: shifts",
            share(&before.shifts),
            share(&after.shifts),
        ),
        (
            "  permutations",
            share(&before.permutations),
            share(&after.permutations),
        ),
        (
            "  bisection",
            share(&before.bisection),
            share(&after.bisection),
        ),
    ];
    let head = [format!("{:<38} {:>18} {:>18}", "", "now", "then")];
    let rows = rows.map(|(what, now, then)| format!("{what:<38} {now:>18} {then:>18}"));
    head.into_iter().chain(rows).collect()
}

pub(crate) fn planned_json(planned: &v1::PlanRoutesResponse) -> Value {
    let findings = planned.findings.iter().map(finding_json);
    json!({
        "plan_id": planned.plan_id,
        "operation_id": planned.operation_id,
        "generation": planned.generation,
        "findings": findings.collect::<Vec<_>>(),
        "plan": planned.plan.as_ref().map(plan_json),
        "way_back": planned.way_back.as_ref().map(back::as_json),
    })
}

/// A finding of a configuration as JSON.
pub(crate) fn finding_json(finding: &v1::Finding) -> Value {
    json!({
        "severity": finding.severity().as_str_name().trim_start_matches("SEVERITY_").to_lowercase(),
        "line": finding.line,
        "path": finding.path,
        "message": finding.message,
        "allowed": finding.allowed,
        "rule": finding.rule,
    })
}

/// A plan as JSON.
pub(crate) fn plan_json(plan: &v1::RoutePlan) -> Value {
    json!({
        "engine_before": plan.engine_before,
        "engine": plan.engine,
        "notes": plan.notes,
        "switches": plan.switches,
        "blocks": plan.blocks,
        "routes": plan.routes,
        "dropping": plan.dropping,
        "changed_levels": plan.changed_levels,
        "suspends_adaptive": plan.suspends_adaptive,
        "unlike_then": plan.unlike_then,
        "certificate": certificate_json(&plan.certificate.unwrap_or_default()),
        "before": plan.before.as_ref().map(quality_json),
        "after": plan.after.as_ref().map(quality_json),
    })
}

fn quality_json(quality: &v1::RouteQuality) -> Value {
    let pattern = |pattern: &Option<v1::TrafficPattern>| {
        let pattern = pattern.unwrap_or_default();
        json!({
            "patterns": pattern.patterns,
            "worst": pattern.worst,
            "mean": pattern.mean,
            "bandwidth": pattern.bandwidth,
        })
    };
    json!({
        "hosts": quality.hosts,
        "all_to_all_worst": quality.all_to_all_worst,
        "all_to_all_over_bound": quality.all_to_all_over_bound,
        "shifts": pattern(&quality.shifts),
        "permutations": pattern(&quality.permutations),
        "bisection": pattern(&quality.bisection),
    })
}
