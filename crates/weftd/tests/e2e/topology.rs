//! The topology file: exported, and compared with.

use serde_json::Value;

use crate::harness::Daemon;

const FABRIC: &str = "pgft:2;2,2;1,2;1,1;radix=4";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The file with two hosts in each other's place.
fn swapped(text: &str) -> String {
    let swap = |text: &str, a: &str, b: &str| text.replace(a, "@").replace(b, a).replace('@', b);
    let text = swap(text, ">node3 hfi1_0<", ">node4 hfi1_0<");
    swap(&text, "0x0011750101000003", "0x0011750101000004")
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
