//! Reports against the vendor's opareport itself, on the same snapshot with the same options.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use weft_fabric::Snapshot;
use weft_fabric::import::import_fabric;
use weft_report::{Detail, Focus, Options, Point, Selection};

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/fattree4.snapshot.xml")
}

/// Output of opareport; `None` if it is not installed and not required.
fn opareport(snapshot: &str, arguments: &[&str]) -> Option<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), snapshot).unwrap();
    let mut command = Command::new("opareport");
    command.arg("-q").arg("-X").arg(file.path()).args(arguments);
    let output = weft_peers::output(&mut command)?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn select(snapshot: &Snapshot, text: &str) -> Selection {
    let point = Point::parse(text, &|_| unreachable!()).unwrap();
    point.select(snapshot).unwrap()
}

fn ours(snapshot: &Snapshot, name: &str, point: Option<&str>, detail: u8) -> String {
    let focus = point.map(|point| Focus::new(snapshot, &select(snapshot, point), false));
    let options = Options {
        focus,
        detail: Detail(detail),
    };
    match name {
        "nodes" => weft_report::nodes(snapshot, &options).to_string(),
        "links" => weft_report::links(snapshot, &options).to_string(),
        "comps" => weft_report::comps(snapshot, &options).to_string(),
        "lids" => weft_report::lids(snapshot, &options).to_string(),
        "linear" => weft_report::linear(snapshot, &options).to_string(),
        other => panic!("no report {other}"),
    }
}

/// Points that name the same on both sides: opareport does not see ports that are down.
const POINTS: &[&str] = &[
    "gid:0xfe80000000000000:0x0011750101000011",
    "lid:3",
    "lid:3:node",
    "lid:5:port:1",
    "portguid:0x0011750101000012",
    "nodeguid:0x00117501020e0001",
    "nodeguid:0x00117501020e0001:port:48",
    "systemguid:0x00117501020e0001",
    "node:node1 hfi1_0",
    "node:node1 hfi1_0:port:1",
    "nodepat:node*",
    "nodepat:node[12] hfi1_0:port:1",
    "nodepat:*e1",
    "nodetype:SW",
    "nodetype:SW:port:1",
    "nodetype:FI",
    "rate:75g",
    "portstate:active",
    "sm",
];

#[test]
fn every_report_point_and_detail() {
    let text = std::fs::read_to_string(data()).unwrap();
    let snapshot = import_fabric(text.as_bytes()).unwrap();
    for name in ["nodes", "links", "comps", "lids", "linear"] {
        for detail in [0u8, 1, 2] {
            let level = detail.to_string();
            let Some(theirs) = opareport(&text, &["-o", name, "-d", &level]) else {
                return;
            };
            assert_eq!(
                ours(&snapshot, name, None, detail),
                theirs,
                "{name} -d {detail}"
            );
            for point in POINTS {
                let theirs = opareport(&text, &["-o", name, "-d", &level, "-F", point]).unwrap();
                let ours = ours(&snapshot, name, Some(point), detail);
                assert_eq!(ours, theirs, "{name} -d {detail} -F {point}");
            }
        }
    }
}

#[test]
fn comps_in_detail_list_ports() {
    let text = std::fs::read_to_string(data()).unwrap();
    let snapshot = import_fabric(text.as_bytes()).unwrap();
    if let Some(theirs) = opareport(&text, &["-o", "comps", "-d", "3"]) {
        let focus_free = Options {
            focus: None,
            detail: Detail::FULL,
        };
        let ours = weft_report::comps(&snapshot, &focus_free).to_string();
        assert_eq!(ours, theirs);
    }
}

/// One fabric, whole and with a fault in one forwarding table.
fn route_snapshots() -> Vec<String> {
    let whole = std::fs::read_to_string(data()).unwrap();
    let core2 = whole.find("<NodeDesc>core2</NodeDesc>").unwrap();
    let entry = "<Value LID=\"0x3\">2</Value>";
    let at = core2 + whole[core2..].find(entry).unwrap();
    let changed = |to: &str| whole[..at].to_owned() + to + &whole[at + entry.len()..];
    vec![
        changed(""),
        changed("<Value LID=\"0x3\">1</Value>"),
        changed("<Value LID=\"0x3\">0</Value>"),
        changed("<Value LID=\"0x3\">9</Value>"),
        whole.clone(),
    ]
}

#[test]
fn every_route() {
    let pairs = [
        ("lid:1", "lid:3"),
        ("lid:1", "lid:2"),
        ("lid:1", "lid:1"),
        ("lid:1", "lid:8"),
        ("lid:5", "lid:8"),
        ("lid:5", "lid:4"),
        ("nodepat:node*", "nodepat:node*"),
        ("nodepat:node*:port:1", "nodetype:FI"),
        ("lid:1", "systemguid:0x0011750101000012"),
        ("sm", "rate:75g"),
    ];
    for text in route_snapshots() {
        let snapshot = import_fabric(text.as_bytes()).unwrap();
        for (from, to) in pairs {
            for detail in [0u8, 1, 2] {
                let level = detail.to_string();
                let arguments = ["-o", "route", "-d", &level, "-S", from, "-D", to];
                let Some(theirs) = opareport(&text, &arguments) else {
                    return;
                };
                let (source, destination) = (select(&snapshot, from), select(&snapshot, to));
                let report =
                    weft_report::route(&snapshot, &source, &destination, Detail(detail)).unwrap();
                assert_eq!(report.to_string(), theirs, "{from} to {to} -d {detail}");
            }
        }
    }
}
