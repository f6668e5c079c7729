//! HFIs in the place of others: `weft replace`.

use std::path::Path;

use serde_json::{Value, json};

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, configure, wait_for};
use crate::watch::Watcher;

const FABRIC: &str = "pgft:2;2,2;1,2;1,1;radix=4";
const OLD: &str = "0x0011750101000003";
const NEW: &str = "0x00117501010000ff";

/// A virtual fabric of the old HFI, by one GUID in full, by the other limited.
const FABRICS: &str = r"
      <VirtualFabric>
        <Name>Blue</Name>
        <Enable>1</Enable>
        <PKey>0x0005</PKey>
        <Security>1</Security>
        <QOS>0</QOS>
        <Member>ByNode</Member>
        <Application>Verbs</Application>
      </VirtualFabric>
      <VirtualFabric>
        <Name>Red</Name>
        <Enable>1</Enable>
        <PKey>0x0006</PKey>
        <Security>1</Security>
        <QOS>0</QOS>
        <LimitedMember>ByPort</LimitedMember>
        <Application>Verbs</Application>
      </VirtualFabric>
    </VirtualFabrics>";
const GROUPS: &str = r"
      <DeviceGroup>
        <Name>ByNode</Name>
        <NodeGUID>0x0011750101000003</NodeGUID>
      </DeviceGroup>
      <DeviceGroup>
        <Name>ByPort</Name>
        <PortGUID>0x0011750101000003</PortGUID>
      </DeviceGroup>
    </DeviceGroups>";
const APPLICATION: &str = r"
      <Application>
        <Name>Verbs</Name>
        <ServiceID>0x1234</ServiceID>
      </Application>
    </Applications>";

fn groups(file: &Path) {
    let changes = [
        ("    </VirtualFabrics>", FABRICS),
        ("    </DeviceGroups>", GROUPS),
        ("    </Applications>", APPLICATION),
    ];
    configure(file, &changes);
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// GUIDs of the members of a virtual fabric.
fn members(daemon: &Daemon, fabric: &str) -> Vec<Value> {
    let all = parsed(&daemon.weft_ok(&["vf", "members", fabric, "--json"]));
    all.as_array()
        .unwrap()
        .iter()
        .map(|one| one["port"]["guid"].clone())
        .collect()
}

/// The LID of a host's port.
fn lid(daemon: &Daemon, host: &str) -> String {
    let nodes = daemon.weft_ok(&["fabric", "export", "--topology"]);
    let host = format!("<NodeDesc>{host}</NodeDesc>");
    let (_, node) = nodes.split_once(&host).unwrap();
    let (_, lid) = node.split_once("<LID>").unwrap();
    lid.split_once('<').unwrap().0.to_owned()
}

#[test]
fn a_replaced_hfi_keeps_lid_and_groups_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start(FABRIC, &socket);
    let start = Start::connected(&socket);
    groups(&start.dir.path().join("opafm.xml"));
    let daemon = start.up();
    let nothing = "no HFI is replaced, and none is recognised in the place of another\n";
    assert_eq!(daemon.weft_ok(&["replace"]), nothing);
    assert_eq!(members(&daemon, "Blue"), [json!(OLD)]);
    assert_eq!(members(&daemon, "Red"), [json!(OLD)]);
    let old_lid = lid(&daemon, "node3 hfi1_0");
    daemon.weft_ok(&["baseline", "save", "before"]);

    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    emulator.change(&["replace", OLD, NEW]);
    let told = watcher.until("replacement_recognised")["data"].clone();
    assert_eq!(
        (&told["old_guid"], &told["new"]["guid"]),
        (&json!(OLD), &json!(NEW))
    );
    assert_eq!(told["likeness"], "description");
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_ne!(lid(&daemon, "node3 hfi1_0"), old_lid);
    assert_eq!(members(&daemon, "Blue"), Vec::<Value>::new());
    let listed = daemon.weft_ok(&["replace", "list"]);
    assert!(
        listed.contains(&format!("to confirm: weft replace {OLD}\n")),
        "{listed}"
    );

    let tried = daemon.weft_ok(&["replace", "-n", OLD]);
    assert!(tried.starts_with("would be done: node3 hfi1_0"), "{tried}");
    let done = daemon.weft_ok(&["replace", OLD, "--reason", "RMA 4711"]);
    assert!(
        done.contains(&format!("replaces {OLD}: it gets LID ")),
        "{done}"
    );
    assert_eq!(watcher.until("hfi_replaced")["data"]["reason"], "RMA 4711");
    let is_as_before = |daemon: &Daemon| {
        daemon.weft_ok(&["sweep", "--wait"]);
        assert_eq!(lid(daemon, "node3 hfi1_0"), old_lid);
        assert_eq!(members(daemon, "Blue"), [json!(NEW)]);
        assert_eq!(members(daemon, "Red"), [json!(NEW)]);
        let check = daemon.weft_ok(&["check", "topology", "--baseline", "before"]);
        assert_eq!(check, "the fabric is as baseline before has it\n");
        let listed = daemon.weft_ok(&["replace"]);
        assert!(
            listed.starts_with(&format!("replaced: {OLD} by {NEW}")),
            "{listed}"
        );
        assert!(listed.ends_with("; RMA 4711\n"), "{listed}");
    };
    is_as_before(&daemon);
    let again = daemon.weft_fails(1, &["replace", OLD]);
    assert!(again.contains("is replaced by"), "{again}");

    let dump = parsed(&daemon.weft_ok(&["fm", "dump", "-"]));
    assert_eq!(dump["replacements"][0]["new"], NEW);

    let (_, kept) = daemon.stop();
    let daemon = Start::connected_in(kept, &socket).up();
    is_as_before(&daemon);

    let ended = daemon.weft_ok(&["replace", "remove", NEW]);
    assert!(
        ended.starts_with(&format!("{OLD} is not replaced any more")),
        "{ended}"
    );
    daemon.weft_ok(&["sweep", "--wait"]);
    assert_eq!(members(&daemon, "Blue"), Vec::<Value>::new());
    assert_eq!(lid(&daemon, "node3 hfi1_0"), old_lid, "the LID stays");
    assert_eq!(daemon.weft_ok(&["replace"]), nothing);
    wait_for(|| daemon.log().contains("does not count as").then_some(()));
}

#[test]
fn the_topology_file_tells_of_a_replaced_hfi_with_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start(FABRIC, &socket);
    let daemon = Start::connected(&socket).up();
    let file = daemon.dir.path().join("fabric.topology");
    let name = file.to_str().unwrap();
    daemon.weft_ok(&["fabric", "export", "--topology", "-o", name]);
    crate::topology::enforce(&daemon.dir.path().join("opafm.xml"), &file);
    daemon.weft_ok(&["config", "reload"]);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    emulator.change(&["replace", OLD, NEW]);
    let told = watcher.until("topology_fault")["data"].clone();
    assert_eq!(
        (&told["rule"], &told["quarantined"]),
        (&json!("Replaced"), &json!(true))
    );
    let what = told["what"].as_str().unwrap();
    assert!(what.ends_with(&format!("weft replace {OLD}")), "{what}");
    daemon.weft_ok(&["replace", OLD]);
    watcher.until("topology_fault_over");
    let listed = || parsed(&daemon.weft_ok(&["quarantine", "list", "--json"]));
    wait_for(|| (listed() == json!([])).then_some(()));
}
