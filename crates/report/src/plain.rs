//! Reports as short tables for people: both ends of a link by name, a line for each.

use std::collections::BTreeMap;

use weft_fabric::Lid;

use crate::links::{LinkEnd, LinkEntry, Which, links};
use crate::names::{speed, width};
use crate::slow::{Ability, Lanes, Slow, slow};
use crate::table::Request;
use crate::verify::{DUPLICATE, verifylinks};
use crate::{lids, nodes, otherports};

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plain {
    /// Titles of its columns.
    pub columns: Vec<Column>,
    /// Its lines.
    pub rows: Vec<Row>,
    /// The line under it.
    pub summary: String,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// Its texts are numbers, which stand at its right.
    pub right: bool,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// A text for each column.
    pub cells: Vec<String>,
    /// How bad it is.
    pub mood: Mood,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// Not at all.
    Plain,
    /// It works, but not as it should.
    Warning,
    /// It is not there, or not where it should be.
    Error,
}

/// Makes the table of a report.
pub type MakePlain = fn(&Request<'_>) -> Plain;

/// The reports that there are tables of.
pub const PLAIN: &[(&str, MakePlain)] = &[
    ("links", plain_links),
    ("slowlinks", plain_slow),
    ("otherports", plain_others),
    ("verifylinks", plain_verify),
    ("nodes", plain_nodes),
    ("lids", plain_lids),
];

/// Columns of both ends of a link.
const ENDS: [(&str, bool); 4] = [
    ("From", false),
    ("Port", true),
    ("To", false),
    ("Port", true),
];

fn columns(titles: &[(&'static str, bool)]) -> Vec<Column> {
    let column = |(title, right): &(&'static str, bool)| Column {
        title,
        right: *right,
    };
    titles.iter().map(column).collect()
}

fn around(before: &[(&'static str, bool)], after: &[(&'static str, bool)]) -> Vec<Column> {
    columns(&[before, &ENDS, after].concat())
}

fn row(mood: Mood, cells: Vec<String>) -> Row {
    Row { cells, mood }
}

fn count(number: usize, one: &str, more: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {more}"),
    }
}

fn end(end: &LinkEnd) -> [String; 2] {
    [end.name.clone(), end.port.to_string()]
}

fn ends(link: &LinkEntry) -> impl Iterator<Item = String> {
    [end(&link.from), end(&link.to)].concat().into_iter()
}

fn plain_links(request: &Request<'_>) -> Plain {
    let report = links(request.snapshot, &request.options);
    let labels = request.options.has_cables();
    let line = |link: &LinkEntry| {
        let mut cells = vec![link.rate.clone()];
        cells.extend(ends(link));
        if labels {
            cells.push(link.notes.cable());
        }
        row(Mood::Plain, cells)
    };
    let cable: &[_] = if labels { &[("Cable", false)] } else { &[] };
    Plain {
        columns: around(&[("Rate", true)], cable),
        rows: report.links.iter().map(line).collect(),
        summary: count(report.links.len(), "link", "links"),
    }
}

fn plain_slow(request: &Request<'_>) -> Plain {
    let report = slow(request.snapshot, &request.options, Slow::Running);
    let mut rows = Vec::new();
    let mut checked = 0;
    for section in &report.sections {
        checked = section.checked;
        for slow in &section.links {
            let mut cells = vec![slow.link.rate.clone()];
            cells.extend(ends(&slow.link));
            cells.push(match slow.unknown {
                true => "reports several widths or speeds at once".to_owned(),
                false => why(&slow.ends),
            });
            rows.push(row(Mood::Warning, cells));
        }
    }
    let summary = match rows.len() {
        0 => format!("{}, none slow", count(checked, "link", "links")),
        slow => format!("{slow} of {} slow", count(checked, "link", "links")),
    };
    Plain {
        columns: around(&[("Rate", true)], &[("Why", false)]),
        rows,
        summary,
    }
}

/// Why a link is slow: what is in use of what both ends have enabled.
fn why(ends: &[Ability; 2]) -> String {
    let [a, b] = ends;
    let Lanes {
        width: lanes,
        speed: lane,
        ..
    } = a.enabled.both(b.enabled);
    let mut all = Vec::new();
    let used = ends
        .iter()
        .flat_map(|end| [end.active.width, end.tx, end.rx]);
    let fewest = used.min_by_key(|used| used.lanes()).unwrap_or(lanes);
    if fewest.lanes() < lanes.lanes() {
        all.push(format!("{} of {} lanes", width(fewest), width(lanes)));
    }
    let slowest = ends.iter().map(|end| end.active.speed);
    let slowest = slowest
        .min_by_key(|speed| speed.lane_mbps())
        .unwrap_or(lane);
    if slowest.lane_mbps() < lane.lane_mbps() {
        all.push(format!("{} of {} a lane", speed(slowest), speed(lane)));
    }
    if all.is_empty() {
        all.push("not as both ends have enabled".to_owned());
    }
    all.join(", ")
}

fn plain_others(request: &Request<'_>) -> Plain {
    let report = otherports(request.snapshot, &request.options);
    let mut nodes: BTreeMap<_, (String, Vec<u8>)> = BTreeMap::new();
    for port in report.switches.ports.iter().chain(&report.fis.ports) {
        let key = (
            port.node_type.to_string() != "SW",
            port.name.clone(),
            port.guid,
        );
        let kind = port.node_type.to_string();
        let entry = nodes.entry(key).or_insert((kind, Vec::new()));
        entry.1.push(port.port);
    }
    let line = |((_, name, _), (kind, ports)): (&(bool, String, _), &(String, Vec<u8>))| {
        let number = ports.len().to_string();
        row(
            Mood::Plain,
            vec![name.clone(), kind.clone(), number, ranges(ports)],
        )
    };
    let rows: Vec<Row> = nodes.iter().map(line).collect();
    let total = report.switches.ports.len() + report.fis.ports.len();
    let (ports, nodes) = (
        count(total, "port", "ports"),
        count(rows.len(), "node", "nodes"),
    );
    Plain {
        columns: columns(&[
            ("Node", false),
            ("Type", false),
            ("Number", true),
            ("Ports without a link", false),
        ]),
        rows,
        summary: format!("{ports} of {nodes} without a link"),
    }
}

/// Numbers in order, as ranges: `1,3-5`.
fn ranges(numbers: &[u8]) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let run = |(first, last): &(u8, u8)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

fn plain_verify(request: &Request<'_>) -> Plain {
    let report = verifylinks(request.snapshot, &request.options, Which::All);
    let mut rows = Vec::new();
    for problem in &report.compared.found {
        let mut cells: Vec<String> = ends(&problem.link).collect();
        let unexpected = problem
            .problems
            .iter()
            .any(|what| what == "Unexpected Link");
        let all = problem.port_differences.iter().flatten();
        let named = problem
            .problems
            .iter()
            .filter(|what| !what.starts_with("Port Attributes"));
        let what: Vec<String> = match unexpected {
            true => vec!["not in the file".to_owned()],
            false => all.chain(named).cloned().collect(),
        };
        cells.push(what.join("; "));
        rows.push(row(Mood::Warning, cells));
    }
    for problem in &report.compared.expected {
        let cell = |side: usize| problem.ends[side].clone().unwrap_or_default();
        let port = |side: usize| problem.port(side);
        let mut what = match problem.problem.as_str() {
            "Missing Link" => "missing".to_owned(),
            DUPLICATE => "the ports have another link, or are in the file twice".to_owned(),
            other => other.trim_end_matches(':').to_owned(),
        };
        if let Some(LinkEnd { name, port, .. }) = &problem.instead {
            what += &format!(" {name} port {port}");
        }
        let cells = vec![cell(0), port(0), cell(1), port(1), what];
        rows.push(row(Mood::Error, cells));
    }
    let counts = report.compared.counts;
    let summary = match rows.is_empty() {
        true => format!(
            "{}, all as in the file",
            count(report.compared.fabric.checked, "link", "links")
        ),
        false => format!(
            "{} missing, {} not in the file, {} connected otherwise, {} twice in the file, {} different",
            counts.missing,
            counts.unexpected,
            counts.misconnected,
            counts.duplicate,
            counts.different
        ),
    };
    Plain {
        columns: around(&[], &[("What", false)]),
        rows,
        summary,
    }
}

fn plain_nodes(request: &Request<'_>) -> Plain {
    let report = nodes(request.snapshot, &request.options);
    let all = report.switches.list.iter().chain(&report.fis.list);
    let line = |node: &crate::NodeEntry| {
        let switch = usize::from(node.switch.is_some());
        let up = node.connected_ports.saturating_sub(switch);
        let lids = node.ports.iter().filter_map(|port| port.lid);
        let lids: Vec<String> = lids.map(|lid| lid.to_string()).collect();
        let cells = vec![
            node.name.clone(),
            node.node_type.to_string(),
            lids.join(","),
            format!("{up} of {}", node.num_ports),
            node.guid.to_string(),
        ];
        let mood = if up == 0 { Mood::Warning } else { Mood::Plain };
        row(mood, cells)
    };
    let rows: Vec<Row> = all.map(line).collect();
    let switches = count(report.switches.list.len(), "switch", "switches");
    let hfis = count(report.fis.list.len(), "HFI", "HFIs");
    Plain {
        columns: columns(&[
            ("Node", false),
            ("Type", false),
            ("LID", true),
            ("Ports up", true),
            ("GUID", false),
        ]),
        rows,
        summary: format!("{switches}, {hfis}"),
    }
}

fn plain_lids(request: &Request<'_>) -> Plain {
    let report = lids(request.snapshot, &request.options);
    let line = |port: &crate::LidEntry| {
        let lid = match port.lmc {
            0 => port.base_lid.to_string(),
            lmc => format!(
                "{}-{}",
                port.base_lid,
                port.base_lid.saturating_add((1 << lmc.min(7)) - 1)
            ),
        };
        let cells = vec![
            lid,
            Lid(port.base_lid).to_string(),
            port.name.clone(),
            port.port.to_string(),
        ];
        row(Mood::Plain, cells)
    };
    let titles = [
        ("LID", true),
        ("Hex", true),
        ("Node", false),
        ("Port", true),
    ];
    Plain {
        columns: columns(&titles),
        rows: report.ports.iter().map(line).collect(),
        summary: format!(
            "{} LIDs at {}",
            report.reported,
            count(report.ports.len(), "port", "ports")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_in_a_row_are_a_range() {
        assert_eq!(ranges(&[1, 3, 4, 5, 8, 254, 255]), "1,3-5,8,254-255");
        assert_eq!(ranges(&[]), "");
    }
}
