//! `weft health` misses nothing that the vendor's opareport finds: links with errors, slow links, differences from a
//! topology file.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum, Topology};
use weft_health::Memory;
use weft_interop::fabric::library;
use weft_interop::vendor_sm::SmSettings;
use weft_interop::{Fabric, Weftd, built, topology_file};
use weft_peers::program;

const PATIENCE: Duration = Duration::from_secs(60);
const HOST: &str = "node1";
/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// `<SubnetPrefix>` of the stock configuration.
const PREFIX: u64 = 0xFE80_0000_0000_0000;
const EDGE: Guid = Guid(0x0011_7501_0200_0002);
const HOST_OFF: Guid = Guid(0x0011_7501_0100_000D);

/// A port as both name it.
type End = (u64, u8);

/// What an earlier daemon would have seen.
fn write_seen(state: &Path, topology: &Topology) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let mut memory = Memory::default();
    for ago in [600, 300] {
        memory.look(now.as_secs() - ago, topology, 86_400, |_| None);
    }
    std::fs::create_dir_all(state).unwrap();
    std::fs::write(state.join("seen.0"), memory.encode(PREFIX)).unwrap();
}

/// The daemon's address, from its log.
fn address(weftd: &Weftd) -> String {
    let log = weftd.log();
    let (_, rest) = log.split_once("API at ").unwrap();
    rest.split(',').next().unwrap().to_owned()
}

fn weft(address: &str, args: &[&str]) -> String {
    let mut command = Command::new(built("weft", &library()));
    let ran = command.env("WEFT_ADDRESS", address).args(args).output();
    String::from_utf8(ran.unwrap().stdout).unwrap()
}

/// Ends of all findings.
fn ends(page: &Value) -> BTreeSet<End> {
    let findings = page["findings"].as_array().unwrap().iter();
    let ends = findings.flat_map(|one| [&one["a"], &one["b"]]);
    ends.filter_map(|end| {
        let guid = end["guid"].as_str()?.trim_start_matches("0x");
        let port = end["port"].as_u64().unwrap_or(0);
        Some((u64::from_str_radix(guid, 16).unwrap(), port as u8))
    })
    .collect()
}

/// Ports within an element of an XML report, each with its NodeGUID, then its PortNum; port 0 for a node.
fn reported(text: &str, element: &str) -> BTreeSet<End> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let Some((_, rest)) = text.split_once(&open) else {
        return BTreeSet::new();
    };
    let (section, _) = rest.split_once(&close).unwrap();
    let value = |text: &str| text.split('<').next().unwrap().to_owned();
    let nodes = section.split("<NodeGUID>").skip(1).map(|part| {
        let guid = value(part);
        let guid = u64::from_str_radix(guid.trim_start_matches("0x"), 16).unwrap();
        let part = part.split("</Node>").next().unwrap_or_default();
        let port = part.split_once("<PortNum>").map(|(_, port)| value(port));
        (guid, port.and_then(|port| port.parse().ok()).unwrap_or(0))
    });
    nodes.collect()
}

#[test]
fn nothing_that_opareport_finds_is_missed() {
    if program("opareport").is_none() {
        return;
    }
    let fabric = Fabric::start(TREE);
    let directory = fabric.directory();
    write_seen(&directory.join(format!("state-{HOST}")), fabric.topology());
    let file = directory.join("before.topology");
    std::fs::write(&file, topology_file(fabric.topology())).unwrap();
    let settings = SmSettings {
        pm: true,
        ..SmSettings::default()
    };
    let mut weftd = Weftd::start(&fabric, HOST, &settings);
    weftd.wait_until_master(PATIENCE);
    let address = address(&weftd);
    let (node, on) = (EDGE, PortNum);
    fabric.control(Control::LinkLanes {
        node,
        port: on(5),
        lanes: 2,
    });
    fabric.control(Control::LinkQuality {
        node,
        port: on(2),
        quality: 3,
    });
    fabric.control(Control::LinkDown { node, port: on(6) });
    fabric.control(Control::NodeDown { node: HOST_OFF });
    for _ in 0..4 {
        fabric.control(Control::LinkDown { node, port: on(7) });
        fabric.control(Control::LinkUp { node, port: on(7) });
    }
    weft(&address, &["sweep", "--wait"]);
    let until = Instant::now() + PATIENCE;
    while let Err(why) = compared(&fabric, &file, &address) {
        assert!(Instant::now() < until, "{why}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Whether opareport has found what was planted, and the page has all that opareport has found.
fn compared(fabric: &Fabric, file: &Path, address: &str) -> Result<(), String> {
    let verify = format!("-o verifyall -T {}", file.display());
    let (mut found, mut reports) = (BTreeSet::new(), String::new());
    for (report, element, planted) in [
        ("-o errors", "LinkErrors", vec![(EDGE.0, 2), (EDGE.0, 7)]),
        ("-o slowlinks", "LinksExpected", vec![(EDGE.0, 5)]),
        (&verify, "VerifyFIs", vec![(HOST_OFF.0, 0)]),
        (&verify, "VerifyLinks", vec![(EDGE.0, 6), (HOST_OFF.0, 1)]),
    ] {
        let text = fabric.run(HOST, &format!("opareport -x {report}")).text;
        let ends = reported(&text, element);
        if !planted.iter().all(|end| ends.contains(end)) {
            return Err(format!(
                "opareport {report} does not find {planted:?}: {text}"
            ));
        }
        found.extend(ends);
        reports += &text;
    }
    let text = weft(address, &["health", "--json"]);
    let told = ends(&serde_json::from_str(&text).map_err(|error| error.to_string())?);
    let is_told = |(guid, port): &End| match port {
        0 => told.iter().any(|end| end.0 == *guid),
        _ => told.contains(&(*guid, *port)),
    };
    let missed: Vec<&End> = found.iter().filter(|end| !is_told(end)).collect();
    match missed.is_empty() {
        true => Ok(()),
        false => Err(format!("{missed:x?} are not in {text}\n{reports}")),
    }
}
