//! Links with errors against the vendor's opareport itself, on the same snapshot with the same counters and thresholds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use weft_fabric::import::import_fabric;
use weft_fabric::{CountsByPort, Guid, PortCounts, PortNum, PortRef, Snapshot};
use weft_report::{Counted, Detail, Focus, Options, Point, Thresholds, Xml, document};
use weft_wire::pm::Counter;

/// Elements of PortStatus in a snapshot, in order of [`Counter`].
const ELEMENTS: [&str; Counter::COUNT] = [
    "XmitData",
    "RcvData",
    "XmitPkts",
    "RcvPkts",
    "MulticastXmitPkts",
    "MulticastRcvPkts",
    "XmitWait",
    "CongDiscards",
    "RcvFECN",
    "RcvBECN",
    "XmitTimeCong",
    "XmitWastedBW",
    "XmitWaitData",
    "RcvBubble",
    "MarkFECN",
    "RcvConstraintErrors",
    "RcvSwitchRelayErrors",
    "XmitDiscards",
    "XmitConstraintErrors",
    "RcvRemotePhysicalErrors",
    "LocalLinkIntegrityErrors",
    "RcvErrors",
    "ExcessiveBufferOverruns",
    "FMConfigErrors",
    "LinkErrorRecovery",
    "LinkDowned",
    "UncorrectableErrors",
];

/// The text of an element, the first one.
fn element(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once('<')?;
    value.parse().ok()
}

/// The counters of a snapshot's ports.
fn counts(text: &str, snapshot: &Snapshot) -> CountsByPort {
    let ports = text.split("<PortInfo id=\"").skip(1).filter_map(|port| {
        let (id, _) = port.split_once('"')?;
        let (guid, number) = id.split_once(':')?;
        let guid = Guid(u64::from_str_radix(guid.strip_prefix("0x")?, 16).ok()?);
        let at = PortRef {
            node: snapshot.topology.find(guid)?,
            port: PortNum(number.parse().ok()?),
        };
        let (_, status) = port.split_once("<PortStatus>")?;
        let (status, _) = status.split_once("</PortStatus>")?;
        let counters = ELEMENTS.map(|name| element(status, name).unwrap());
        let quality = Some(element(status, "LinkQualityIndicator").unwrap() as u8);
        let lanes_down = 0;
        Some((
            at,
            PortCounts {
                counters,
                quality,
                lanes_down,
            },
        ))
    });
    ports.collect()
}

/// Output of opareport; `None` if it is not installed and not required.
fn opareport(snapshot: &str, thresholds: &str, arguments: &[&str]) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let (file, config) = (
        dir.path().join("snapshot.xml"),
        dir.path().join("opamon.conf"),
    );
    std::fs::write(&file, snapshot).unwrap();
    std::fs::write(&config, thresholds).unwrap();
    let mut command = Command::new("opareport");
    command.arg("-q").arg("-X").arg(file).arg("-c").arg(config);
    command.args(["-o", "errors"]).args(arguments);
    let output = weft_peers::output(&mut command)?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// An XML report without its first lines, which tell the call and the time.
fn body(xml: &str) -> &str {
    xml.split_once("<LinkErrors>").unwrap().1
}

/// Our text and XML.
fn ours(
    text: &str,
    thresholds: &str,
    focus: Option<&str>,
    detail: u8,
    limited: bool,
) -> [String; 2] {
    let snapshot = import_fabric(text.as_bytes()).unwrap();
    let focus = focus.map(|point| {
        let point = Point::parse(point, &|_| unreachable!()).unwrap();
        let selection = point.select(&snapshot).unwrap();
        Focus::new(&snapshot, &selection, &Options::default())
    });
    let options = Options {
        focus,
        detail: Detail(detail),
        counts: snapshot.counts.clone(),
        ..Options::default()
    };
    let counted = Counted {
        counts: Arc::new(counts(text, &snapshot)),
        thresholds: Thresholds::parse(thresholds).unwrap(),
        limited,
    };
    let report = weft_report::errors(&snapshot, &options, &counted);
    let all: [&dyn Xml; 1] = [&report];
    let xml = document(snapshot.unix_time, "", all);
    [report.to_string(), body(&xml).to_owned()]
}

/// The snapshot with other counters: each gets a value of its own at each port.
fn busy(text: &str) -> String {
    let mut seed = 1u64;
    let lines = text.lines().map(|line| {
        let inner = line.strip_prefix('<').and_then(|line| line.split_once('>'));
        let Some((name, _)) = inner.filter(|(name, _)| ELEMENTS.contains(name)) else {
            return line.to_owned();
        };
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let value = match name {
            "XmitData" | "RcvData" => (seed >> 40) * 125_000,
            _ => seed >> 60,
        };
        format!("<{name}>{value}</{name}>")
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The snapshot without the counters of ports whose names do not begin so: opareport with `-L` does not ask for them, but
/// takes those that a snapshot has.
fn counted_only(text: &str, prefix: &str) -> String {
    let mut ports = text.split("<PortInfo id=\"");
    let mut out = ports.next().unwrap().to_owned();
    for port in ports {
        out += "<PortInfo id=\"";
        let status = port
            .split_once("<PortStatus>")
            .filter(|_| !port.starts_with(prefix));
        match status
            .and_then(|(before, rest)| Some((before, rest.split_once("</PortStatus>\n")?.1)))
        {
            Some((before, after)) => out.extend([before, after]),
            None => out += port,
        }
    }
    out
}

#[test]
fn links_with_errors_are_those_of_opareport() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/fattree4.snapshot.xml");
    let quiet = std::fs::read_to_string(file).unwrap();
    let busy = busy(&quiet);
    let stock = "Threshold Greater\nLinkQualityIndicator 4\nUncorrectableErrors 1\nLinkDowned 3\nRcvErrors 1\n\
        ExcessiveBufferOverruns 1\nFMConfigErrors 1\nXmitConstraintErrors 10\nRcvConstraintErrors 10\n";
    let every = ELEMENTS
        .map(|name| format!("{name} 7 # comment\n"))
        .concat()
        + "Threshold Equal\n";
    let high = ELEMENTS.map(|name| format!("{name} 14\n")).concat();
    let mut compared = 0;
    for text in [&quiet, &busy] {
        for thresholds in [stock, &every, &high, "RcvErrors 0\n"] {
            for (detail, focus, limited) in [
                (2, None, None),
                (0, None, None),
                (1, Some("node:edge1"), None),
                (2, Some("node:edge1:port:47"), None),
                (2, Some("nodepat:node*"), Some("0x00117501010")),
                (2, Some("node:edge1:port:47"), Some("0x00117501020e0001:47")),
            ] {
                let known = limited.map_or(text.clone(), |prefix| counted_only(text, prefix));
                let level = detail.to_string();
                let mut arguments = vec!["-d", &level];
                arguments.extend(focus.iter().flat_map(|focus| ["-F", focus]));
                arguments.extend(limited.map(|_| "-L"));
                let Some(theirs) = opareport(&known, thresholds, &arguments) else {
                    return;
                };
                let ours = ours(text, thresholds, focus, detail, limited.is_some());
                assert_eq!(ours[0], theirs, "{thresholds} {arguments:?}");
                arguments.push("-x");
                let theirs_xml = opareport(&known, thresholds, &arguments).unwrap();
                assert_eq!(ours[1], body(&theirs_xml), "{thresholds} {arguments:?}");
                compared += usize::from(theirs.contains("Exceeds Threshold"));
            }
        }
    }
    assert!(compared > 10, "{compared} had errors");
}

/// The importer reads what this file reads by itself, and nothing where nothing has counted.
#[test]
fn counters_of_a_file_are_read() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/fattree4.snapshot.xml");
    let text = busy(&std::fs::read_to_string(file).unwrap());
    let snapshot = import_fabric(text.as_bytes()).unwrap();
    let expected = counts(&text, &snapshot);
    assert!(expected.len() > 10);
    assert_eq!(snapshot.counts.as_deref(), Some(&expected));
    let without = counted_only(&text, "no port");
    let snapshot = import_fabric(without.as_bytes()).unwrap();
    assert_eq!(snapshot.counts, None);
    let wrong = text.replacen("<RcvErrors>", "<RcvErrors>x", 1);
    let refused = import_fabric(wrong.as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("<RcvErrors>"), "{refused}");
}

#[test]
fn the_stock_thresholds_are_those_of_the_vendors_file() {
    let file = Path::new("/etc/opa/opamon.conf");
    if !file.exists() {
        return weft_peers::not_run("there is no /etc/opa/opamon.conf");
    }
    let text = std::fs::read_to_string(file).unwrap();
    assert_eq!(Thresholds::parse(&text).unwrap(), Thresholds::default());
}
