//! The topology file: exported, compared with, and enforced.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Daemon, Start, configure, wait_for};
use crate::watch::Watcher;

/// How the stock configuration begins the section.
const OFF: &str = "<PreDefinedTopology>\n        <Enable>0";
const FABRIC: &str = "pgft:2;2,2;1,2;1,1;radix=4";

/// Lets a configuration enforce a topology file.
pub(crate) fn enforce(config: &Path, file: &Path) {
    let fields = ["NodeDesc", "NodeGUID", "PortGUID", "UndefinedLink"];
    let fields = fields.map(|tag| (format!("<{tag}>Warn<"), format!("<{tag}>Enabled<")));
    let name = file.to_str().unwrap();
    let mut changes = vec![
        (OFF, "<PreDefinedTopology>\n        <Enable>1"),
        ("/etc/opa/topology.0:0.xml", name),
    ];
    changes.extend(fields.iter().map(|(from, to)| (&**from, &**to)));
    configure(config, &changes);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The file with two hosts in each other's place.
fn swapped(text: &str) -> String {
    let swap = |text: &str, a: &str, b: &str| text.replace(a, "@").replace(b, a).replace('@', b);
    let text = swap(text, ">node3 hfi1_0<", ">node4 hfi1_0<");
    swap(&text, "0x0011750101000003", "0x0011750101000004")
}

/// A baseline outlasts a restart; the fabric is as it was until a host's port is switched off.
#[test]
fn a_fabric_is_compared_with_what_it_was() {
    let daemon = Daemon::up(FABRIC);
    let none = daemon.weft(&["check", "topology", "--baseline", "before"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    let why = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(
        why.contains("no baseline before; none is saved yet"),
        "{why}"
    );
    let saved = daemon.weft_ok(&["baseline", "save", "before"]);
    let counts = "4 HFIs, 4 switches, 8 links";
    assert!(saved.starts_with(&format!("saved {counts}; ")), "{saved}");
    let again = daemon.weft(&["baseline", "save", "before"]);
    assert!(!again.status.success());

    let (_, dir) = daemon.stop();
    let daemon = Start::in_dir(dir, FABRIC).up();
    let listed = daemon.weft_ok(&["baseline", "list"]);
    assert!(
        listed.starts_with("before  20") && listed.contains(counts),
        "{listed}"
    );
    let check = ["check", "topology", "--baseline", "before"];
    let same = daemon.weft_ok(&check);
    assert_eq!(same, "the fabric is as baseline before has it\n");
    daemon.weft_ok(&["port", "disable", "node:edge1:port:2"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    let found = daemon.weft(&check);
    assert_eq!(found.status.code(), Some(1));
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.starts_with("missing node: node2 hfi1_0"), "{found}");
    assert!(
        found.ends_with("1 difference from baseline before\n"),
        "{found}"
    );
    daemon.weft_ok(&["baseline", "remove", "before"]);
    assert_eq!(
        json(&daemon.weft_ok(&["baseline", "list", "--json"])),
        Value::Array(vec![])
    );
}

#[test]
fn a_tree_is_checked_without_a_file() {
    let daemon = Daemon::up("pgft:2;2,4;1,2;1,1");
    let check = ["check", "topology"];
    let clean = daemon.weft_ok(&check);
    let expected = "8 hosts, 2 tiers of switches\n\
                    tier 1: 4 switches of 2 hosts, 2 links up, 1 to each\n\
                    tier 2: 2 switches of 4 links down\n\
                    a clean tree: all switches of a tier are alike\n";
    assert_eq!(clean, expected);
    daemon.weft_ok(&["port", "disable", "node:edge2:port:3"]);
    daemon.weft_ok(&["sweep", "--wait"]);
    let found = daemon.weft(&check);
    assert_eq!(found.status.code(), Some(1));
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.contains("\n0 links between edge2 ("), "{found}");
    assert!(
        found.ends_with(", most pairs have 1\n1 finding\n"),
        "{found}"
    );
    let found = daemon.weft(&["check", "topology", "--json"]);
    let found = json(&String::from_utf8_lossy(&found.stdout));
    assert_eq!(found["findings"][0]["kind"], "pair");
    assert_eq!(found["tiers"][0]["up"], 2);
}

#[test]
fn a_fabric_is_compared_with_a_file() {
    let daemon = Daemon::up(FABRIC);
    let file = daemon.dir.path().join("fabric.topology");
    let name = file.to_str().unwrap();
    daemon.weft_ok(&["fabric", "export", "--topology", "-o", name]);
    let check = ["check", "topology", "--against", name];
    let same = daemon.weft_ok(&check);
    assert!(same.starts_with("the fabric is as "), "{same}");

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, swapped(&text)).unwrap();
    let found = daemon.weft(&check);
    assert_eq!(found.status.code(), Some(1));
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.starts_with("swapped links: "), "{found}");
    assert!(found.contains("1 difference from "), "{found}");
    let found = daemon.weft(&[&check[..], &["--json"]].concat());
    assert_eq!(found.status.code(), Some(1));
    let found = json(&String::from_utf8_lossy(&found.stdout));
    let one = &found["differences"][0];
    assert_eq!(one["kind"], "swapped_links");
    assert_eq!(one["intended_links"].as_array().unwrap().len(), 2);

    std::fs::write(&file, "<Topology/>").unwrap();
    let wrong = daemon.weft_fails(1, &check);
    assert!(wrong.contains("it has no cable"), "{wrong}");
}

#[test]
fn a_file_is_enforced_from_a_reload_on_and_a_bad_one_refused() {
    let daemon = Daemon::up(FABRIC);
    let file = daemon.dir.path().join("fabric.topology");
    let name = file.to_str().unwrap();
    daemon.weft_ok(&["fabric", "export", "--topology", "-o", name]);
    let right = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, swapped(&right)).unwrap();
    let config = daemon.dir.path().join("opafm.xml");
    enforce(&config, &file);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    daemon.weft_ok(&["config", "reload"]);
    let told = watcher.until("topology_fault");
    assert_eq!(told["data"]["quarantined"], true);
    let listed = || json(&daemon.weft_ok(&["quarantine", "list", "--json"]));
    let two = wait_for(|| Some(listed()).filter(|all| all.as_array().unwrap().len() == 2));
    assert_eq!(two[0]["by_topology"], true);
    let list = daemon.weft_ok(&["quarantine", "list"]);
    assert!(list.contains("until fabric and file agree"), "{list}");
    assert!(
        list.contains("the topology file has node4 hfi1_0"),
        "{list}"
    );
    wait_for(|| {
        daemon
            .log()
            .contains("routes leave the link out")
            .then_some(())
    });

    std::fs::write(&file, "<Topology>").unwrap();
    let refused = daemon.weft_fails(1, &["config", "reload"]);
    assert!(refused.contains("<TopologyFilename> "), "{refused}");
    assert!(refused.contains("the document ends early"), "{refused}");
    let checked = daemon.weft(&["config", "check", config.to_str().unwrap()]);
    assert_eq!(checked.status.code(), Some(1));
    let checked = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.contains("Sm/PreDefinedTopology/TopologyFilename"),
        "{checked}"
    );
    assert_eq!(
        listed().as_array().unwrap().len(),
        2,
        "the old file stays in force"
    );

    std::fs::write(&file, right).unwrap();
    daemon.weft_ok(&["config", "reload"]);
    watcher.until("topology_fault_over");
    wait_for(|| listed().as_array().unwrap().is_empty().then_some(()));
}

#[test]
fn a_file_is_enforced_from_the_start() {
    let first = Daemon::up(FABRIC);
    let start = Start::new(FABRIC);
    let file = start.dir.path().join("fabric.topology");
    first.weft_ok(&[
        "fabric",
        "export",
        "--topology",
        "-o",
        file.to_str().unwrap(),
    ]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, swapped(&text)).unwrap();
    enforce(&start.dir.path().join("opafm.xml"), &file);
    let daemon = start.up();
    let shown = daemon.weft_ok(&["sweep", "--list", "--json"]);
    assert!(
        shown.contains("it is not as the topology file has it"),
        "{shown}"
    );
}
