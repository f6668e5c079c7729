//! `weft route show`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_fabric::picture::{Course, Way};
use weft_fabric::text::{count, for_terminal};
use weft_fabric::{PortRef, Snapshot};
use weft_report::{Point, Selection, courses};

use crate::args::RouteShow;
use crate::connect::Session;
use crate::error::CliError;
use crate::output;
use crate::picture::{point, show_route};

pub(super) async fn run(session: &Session, args: &RouteShow) -> Result<ExitCode, CliError> {
    if args.svg {
        return show_route(session, args).await;
    }
    let snapshot = args.at.snapshot(session, &[]).await?;
    let from = one_port(&snapshot, &args.from)?;
    let to = one_port(&snapshot, &args.to)?;
    let courses = courses(&snapshot, from, to);
    let courses = courses.map_err(|why| CliError::Refused(why.to_string()))?;
    match args.json {
        true => output::json(&as_json(&snapshot, [from, to], &courses))?,
        false => output::text(for_terminal(&as_text(&snapshot, [from, to], &courses)).as_ref())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The only port of a point.
fn one_port(snapshot: &Snapshot, text: &str) -> Result<PortRef, CliError> {
    let no_files = |_: &str| Err("a route has one end".to_owned());
    let point = Point::parse(&point(text), &no_files);
    let point = point.map_err(|error| CliError::Usage(format!("'{text}': {error}")))?;
    let selected: Selection = point
        .select(snapshot)
        .map_err(|error| CliError::Refused(error.to_string()))?;
    match selected.end_ports(snapshot).as_slice() {
        [port] => Ok(*port),
        ports => Err(CliError::Usage(format!(
            "'{text}' names {} ports that have LIDs, allowed: one",
            ports.len()
        ))),
    }
}

fn name(snapshot: &Snapshot, at: PortRef) -> String {
    let node = snapshot.topology.node(at.node);
    node.map_or_else(String::new, weft_fabric::Node::name)
}

fn end(snapshot: &Snapshot, at: PortRef) -> String {
    format!("{}:{}", name(snapshot, at), at.port)
}

fn what(way: Way) -> &'static str {
    match way {
        Way::Base => "route of the base LID",
        Way::Dispersive => "route of another LID",
        Way::Adaptive => "adaptive alternatives",
    }
}

fn as_text(snapshot: &Snapshot, [from, to]: [PortRef; 2], courses: &[Course]) -> String {
    let mut text = format!("from {} to {}\n", end(snapshot, from), end(snapshot, to));
    let ends = courses.iter().flat_map(|course| &course.links);
    let widest = ends
        .map(|(out, _)| end(snapshot, *out).chars().count())
        .max();
    let width = widest.unwrap_or(0);
    for course in courses {
        let links = count(course.links.len(), "link");
        text += &format!("{}: {links}\n", what(course.way));
        for (out, into) in &course.links {
            let (out, into) = (end(snapshot, *out), end(snapshot, *into));
            text += &format!("  {out:<width$}  ->  {into}\n");
        }
    }
    text
}

fn as_json(snapshot: &Snapshot, [from, to]: [PortRef; 2], courses: &[Course]) -> Value {
    let port = |at: PortRef| {
        let guid = snapshot
            .topology
            .node(at.node)
            .map(|node| node.guid().to_string());
        json!({ "node": name(snapshot, at), "node_guid": guid, "port": at.port.0 })
    };
    let courses = courses.iter().map(|course| {
        let way = match course.way {
            Way::Base => "base",
            Way::Dispersive => "dispersive",
            Way::Adaptive => "adaptive",
        };
        let links = course.links.iter();
        let links = links.map(|(out, into)| json!({ "from": port(*out), "to": port(*into) }));
        json!({ "way": way, "links": links.collect::<Vec<_>>() })
    });
    json!({ "from": port(from), "to": port(to), "ways": courses.collect::<Vec<_>>() })
}
