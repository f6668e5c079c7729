//! What the fabric did to a job, as text and as JSON.

use serde_json::{Value, json};
use weft_api::time::unix_ms;
use weft_api::v1;

use crate::moment::local;
use crate::output::one_line;
use crate::past::Span;
use crate::sweep::port_json;
use crate::time::utc_json;

/// Links that are told without `--all`.
const LINKS: usize = 10;
/// Events that are told without `--all`.
const EVENTS: usize = 10;

pub(super) fn as_text(name: &str, job: &v1::ExplainJobResponse, all: bool) -> String {
    let span = Span {
        from_ms: unix_ms(job.from),
        to_ms: unix_ms(job.to),
    };
    let mut text = format!("{}\nfrom {}\n", one_line(name), span.words());
    if !job.unknown_hosts.is_empty() {
        let unknown: Vec<String> = job
            .unknown_hosts
            .iter()
            .map(|host| one_line(host))
            .collect();
        text += &format!("not in the fabric of then: {}\n", unknown.join(", "));
    }
    text += &format!(
        "{} and {} by the routes of then,\n{}.\n\n",
        count(job.hosts.len(), "host port"),
        count(job.links.len(), "direction of a link"),
        comparison(job)
    );
    if job.findings.is_empty() {
        text += "Nothing on these links explains it: none was full, lost or slow, or had errors,\nmore than usual.\n";
    }
    for (number, finding) in job.findings.iter().enumerate() {
        text += &lines(number + 1, finding);
    }
    if job.more_findings {
        text += "There are more findings than fit into an answer.\n";
    }
    text += &table(&job.links, all);
    if job.more_links {
        text += "There are more links than fit into an answer.\n";
    }
    text + &events(job, all)
}

fn count(count: usize, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "direction of a link") => format!("{count} directions of links"),
        _ => format!("{count} {what}s"),
    }
}

fn comparison(job: &v1::ExplainJobResponse) -> String {
    match (job.comparison(), job.days) {
        (v1::JobComparison::SameHours, 1) => {
            "compared with the same hours of one earlier day".to_owned()
        }
        (v1::JobComparison::SameHours, days) => {
            format!("compared with the same hours of {days} earlier days")
        }
        (v1::JobComparison::Before, _) => {
            "compared with the time before, as of earlier days nothing is kept".to_owned()
        }
        _ => "compared with nothing, as of earlier times nothing is kept".to_owned(),
    }
}

fn lines(number: usize, finding: &v1::JobFinding) -> String {
    let mut text = format!("{number}. {}\n", one_line(&finding.what));
    text += &format!("   cost {}", seconds(finding.cost_seconds));
    let hosts = finding.waiting.iter().take(2).map(port);
    let hosts: Vec<String> = hosts.collect();
    if !hosts.is_empty() {
        let waiting = (finding.waiting_count as usize).max(finding.waiting.len());
        let more = match waiting - hosts.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let waited = count(waiting, "host");
        text += &format!(": {waited} waited, {}{more}", hosts.join(", "));
    }
    text + &format!("\n   next: {}\n", one_line(&finding.next))
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 10.0 => format!("{s:.0} s"),
        s if s >= 0.1 => format!("{s:.1} s"),
        s => format!("{:.3} ms", s * 1e3),
    }
}

/// A port as people write it.
fn port(port: &v1::NamedPort) -> String {
    let number = port.port.map_or(0, |id| id.port);
    format!("{}:{number}", one_line(&port.node_name))
}

fn end(end: Option<&v1::NamedPort>) -> String {
    end.map_or_else(String::new, port)
}

fn table(links: &[v1::JobLink], all: bool) -> String {
    let shown = if all { links.len() } else { LINKS };
    let mut text = "\n USED % USUAL WAIT % USUAL ERRORS  LINK\n".to_owned();
    for link in links.iter().take(shown) {
        let of = |figures: Option<v1::JobFigures>, value: fn(v1::JobFigures) -> f64| match figures {
            Some(figures) => format!("{:.1}", value(figures) * 100.0),
            None => "?".to_owned(),
        };
        let errors: u64 = link.errors.iter().map(|errors| errors.count).sum();
        text += &format!(
            "{:>7} {:>5} {:>6} {:>5} {errors:>6}  {} > {}\n",
            of(link.now, |one| one.used),
            of(link.usual, |one| one.used),
            of(link.now, |one| one.wait),
            of(link.usual, |one| one.wait),
            end(link.from.as_ref()),
            end(link.to.as_ref()),
        );
    }
    if links.len() > shown {
        text += &format!("and {} more, less unusual: --all\n", links.len() - shown);
    }
    text
}

fn events(job: &v1::ExplainJobResponse, all: bool) -> String {
    if job.events.is_empty() {
        return "\nNo events about these links.\n".to_owned();
    }
    let shown = if all { job.events.len() } else { EVENTS };
    let mut text = "\n".to_owned();
    for event in job.events.iter().take(shown) {
        let time = local(unix_ms(event.time));
        text += &format!("{time}  {}\n", one_line(&event.message));
    }
    if job.events.len() > shown {
        text += &format!("and {} more events: --all\n", job.events.len() - shown);
    }
    if job.more_events {
        text += "There were more than are told: `weft log` has all.\n";
    }
    text
}

pub(super) fn as_json(job: &v1::ExplainJobResponse) -> Value {
    let comparison = match job.comparison() {
        v1::JobComparison::SameHours => "same_hours",
        v1::JobComparison::Before => "before",
        _ => "none",
    };
    let moments = job.moments.iter().map(|moment| {
        json!({
            "time": utc_json(moment.time),
            "since": utc_json(moment.since),
            "sweep": moment.sweep,
            "generation": moment.generation,
        })
    });
    let events = job.events.iter().map(|event| {
        json!({
            "time": utc_json(event.time),
            "event": event.kind,
            "severity": event.severity,
            "message": event.message,
            "ports": ports(&event.ports),
        })
    });
    json!({
        "from": utc_json(job.from),
        "to": utc_json(job.to),
        "hosts": ports(&job.hosts),
        "unknown_hosts": job.unknown_hosts,
        "comparison": comparison,
        "days": job.days,
        "findings": job.findings.iter().map(finding).collect::<Vec<_>>(),
        "more_findings": job.more_findings,
        "links": job.links.iter().map(link).collect::<Vec<_>>(),
        "more_links": job.more_links,
        "events": events.collect::<Vec<_>>(),
        "more_events": job.more_events,
        "moments": moments.collect::<Vec<_>>(),
        "warnings": job.warnings,
    })
}

fn ports(ports: &[v1::NamedPort]) -> Vec<Value> {
    ports.iter().map(|port| port_json(Some(port))).collect()
}

fn finding(finding: &v1::JobFinding) -> Value {
    let kind = finding.kind().as_str_name();
    let kind = kind.trim_start_matches("JOB_FINDING_KIND_").to_lowercase();
    json!({
        "kind": kind,
        "from": port_json(finding.from.as_ref()),
        "to": port_json(finding.to.as_ref()),
        "waiting": ports(&finding.waiting),
        "waiting_count": finding.waiting_count,
        "cost_seconds": finding.cost_seconds,
        "what": finding.what,
        "next": finding.next,
    })
}

fn link(link: &v1::JobLink) -> Value {
    let figures = |figures: Option<v1::JobFigures>| {
        figures.map_or(
            Value::Null,
            |one| json!({ "used": one.used, "wait": one.wait }),
        )
    };
    let errors = link.errors.iter().map(
        |errors| json!({ "counter": errors.counter, "count": errors.count, "usual": errors.usual }),
    );
    json!({
        "from": port_json(link.from.as_ref()),
        "to": port_json(link.to.as_ref()),
        "destinations": link.destinations,
        "bytes_per_second": link.bytes_per_second,
        "now": figures(link.now),
        "usual": figures(link.usual),
        "busiest": figures(link.busiest),
        "busiest_time": utc_json(link.busiest_time),
        "errors": errors.collect::<Vec<_>>(),
        "downs": link.downs,
        "down_seconds": link.down.map_or(0.0, |down| down.seconds as f64 + f64::from(down.nanos) / 1e9),
    })
}
