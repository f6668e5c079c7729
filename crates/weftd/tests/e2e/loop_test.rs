//! The loop test by `weft fm loop-test`: packets circle in the emulated fabric, and the bad cable is named.

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, wait_for};
use crate::watch::Watcher;

/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The first edge switch; its ports 3 and 4 lead to the cores.
const EDGE: &str = "0x0011750102000001";

fn shown(daemon: &Daemon, loops: &str) -> Value {
    let words = ["fm", "loop-test", "show", "--json", "--loops", loops];
    serde_json::from_str(&daemon.weft_ok(&words)).unwrap()
}

#[test]
fn the_loop_test_names_both_ends_of_a_bad_cable() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start(TREE, &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    emulator.change(&["cable-errors", EDGE, "3", "1000"]);
    let idle = daemon.weft_ok(&["fm", "loop-test", "show"]);
    assert!(idle.starts_with("Loop test: not running\n"), "{idle}");
    let refused = daemon.weft_fails(1, &["fm", "loop-test", "stop"]);
    assert!(
        refused.contains("the loop test is not running"),
        "{refused}"
    );

    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    let said = daemon.weft_ok(&["fm", "loop-test", "start", "--fast", "--packets", "5"]);
    assert!(
        said.starts_with("the loop test starts with sweep "),
        "{said}"
    );
    let started = watcher.until("loop_test_started")["data"].clone();
    assert_eq!(
        (&started["fast"], &started["packets"]),
        (&true.into(), &5.into())
    );
    let planned = watcher.until("loops_planned")["data"].clone();
    // One loop of four links, with a LID for either direction.
    assert_eq!(
        (&planned["loops"], &planned["lids"]),
        (&1.into(), &2.into())
    );
    assert_eq!(
        (&planned["links"], &planned["uncovered"]),
        (&4.into(), &0.into())
    );
    let injected = watcher.until("loop_packets_injected")["data"].clone();
    assert_eq!(injected["sent"], 10);

    // The performance manager reads before and after.
    let bad = wait_for(|| {
        let test = shown(&daemon, "9");
        (test["bad_link_count"].as_u64() == Some(1)).then_some(test)
    });
    let ends = bad["bad_links"][0]["ends"].as_array().unwrap();
    let is_edge = |end: &&Value| end["guid"] == EDGE && end["port"] == 3;
    assert!(ends.iter().any(|end| is_edge(&end)), "{bad}");
    let errors = bad["bad_links"][0]["errors"].as_array().unwrap();
    assert!(
        errors.iter().all(|errors| errors.as_u64() > Some(0)),
        "{bad}"
    );
    let hops = bad["loops"][0]["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 4, "{bad}");
    let text = daemon.weft_ok(&["fm", "loop-test", "show"]);
    assert!(
        text.contains("Links between switches: 4, of these in no loop: 0"),
        "{text}"
    );
    assert!(
        text.contains("edge1 (0x0011750102000001) port 3 ("),
        "{text}"
    );

    let set = daemon.weft_ok(&["fm", "loop-test", "set", "--path-length", "3"]);
    assert!(set.contains("loops of up to 3 links"), "{set}");
    let planned = watcher.until("loops_planned")["data"].clone();
    assert_eq!(
        (&planned["loops"], &planned["uncovered"]),
        (&0.into(), &4.into())
    );
    let range = daemon.weft_fails(1, &["fm", "loop-test", "set", "--path-length", "5"]);
    assert!(
        range.contains("the path length is 5, allowed: 2 to 4"),
        "{range}"
    );
    let nowhere = daemon.weft_fails(1, &["fm", "loop-test", "inject", "--at", "0x7"]);
    assert!(nowhere.contains("no switch"), "{nowhere}");
    daemon.weft_ok(&["fm", "loop-test", "stop"]);
    watcher.until("loop_test_stopped");
    assert_eq!(shown(&daemon, "0")["running"], false);
}
