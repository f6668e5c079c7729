//! What the daemon records while the vendor's tools, and in some cases the vendor's manager, work with it runs again byte
//! for byte, and the tools get the same answers.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_emulator::io::{Control, Faults};
use weft_fabric::{FabricSpec, Guid, NodeId, PortNum};
use weft_interop::membership::{CREATE, ask};
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_manager::SaOutput;
use weft_peers::{VENDOR_SM, program};
use weft_replay::{Match, Replay, SaWhat, What};
use weft_wire::id::Gid;

const PATIENCE: Duration = Duration::from_secs(60);
/// Recordings of the test.
const RECORDINGS: u64 = 10;
/// Hosts of the daemon, of the tools, and of the vendor's manager.
const HOSTS: [&str; 3] = ["node1", "node2", "node3"];
/// Each with at least two edge switches.
const FABRICS: [&str; 3] = [
    "pgft:2;2,2;1,2;1,1;radix=4",
    "fattree:32,radix=8",
    "pgft:2;4,3;1,2;1,1;radix=8",
];
/// Method SubnAdmSet.
const SET: u8 = 2;

/// What happens to a fabric.
#[derive(Debug, Clone, Copy)]
enum Act {
    Tool(&'static str),
    Client(&'static [&'static str]),
    Link(bool),
    Silence(bool),
    Power(bool),
    Group,
}

const ACTS: &[&[Act]] = &[
    &[
        Act::Tool("opareport -q -o links"),
        Act::Tool("opasaquery -o path -l 2"),
    ],
    &[Act::Link(true), Act::Link(false)],
    &[Act::Tool("opaportconfig -l 2 -m 1 bounce")],
    &[
        Act::Client(&["port", "disable", "--reason", "a test", "node:edge2:port:1"]),
        Act::Client(&["port", "enable", "node:edge2:port:1"]),
    ],
    &[Act::Group, Act::Tool("opasaquery -o mcmember")],
    &[
        Act::Silence(true),
        Act::Client(&["sweep"]),
        Act::Silence(false),
        Act::Client(&["sweep", "--wait"]),
    ],
    &[Act::Tool("opareport -q -o errors")],
    &[
        Act::Power(true),
        Act::Client(&["sweep", "--wait"]),
        Act::Power(false),
    ],
    &[
        Act::Tool("opafabricinfo"),
        Act::Client(&["sweep", "--wait"]),
    ],
];

impl Act {
    fn run(self, fabric: &Fabric, daemon: &Weftd) {
        let last = fabric.topology().switches().last().copied().unwrap();
        let node = guid(fabric, last);
        let port = PortNum(1);
        match self {
            // A tool may fail while the fabric changes: that is what is recorded.
            Self::Tool(line) => drop(fabric.run(HOSTS[1], line)),
            Self::Client(args) => drop(daemon.told(args)),
            Self::Link(true) => fabric.control(Control::LinkDown { node, port }),
            Self::Link(false) => fabric.control(Control::LinkUp { node, port }),
            Self::Silence(silent) => fabric.control(Control::Silence { node, silent }),
            Self::Power(true) => fabric.control(Control::NodeDown { node }),
            Self::Power(false) => fabric.control(Control::NodeUp { node }),
            Self::Group => {
                let (_, host) = fabric.topology().hfis().nth(1).unwrap();
                let group = Gid {
                    prefix: 0xFF12_401B_8001_0000,
                    interface: Guid(0x77),
                };
                // Without an answer where datagrams are lost.
                let answer = ask(fabric, host.guid(), group, (SET, CREATE));
                println!("the group: status {answer:?}");
            }
        }
    }
}

fn guid(fabric: &Fabric, node: NodeId) -> Guid {
    fabric.topology().node(node).unwrap().guid()
}

/// A recording of a daemon, number `case`.
fn recorded(case: u64) -> Vec<u8> {
    let spec: FabricSpec = FABRICS[case as usize % FABRICS.len()].parse().unwrap();
    let faults = Faults {
        loss: [0.0, 0.002, 0.01][case as usize % 3],
        ..Faults::default()
    };
    let options = Options {
        seed: case,
        faults,
        ..Options::default()
    };
    let fabric = Fabric::of(spec.generate().unwrap(), options);
    let settings = |priority| SmSettings {
        priority,
        ping_s: 1,
        ..SmSettings::default()
    };
    let mut daemon = Weftd::start(&fabric, HOSTS[0], &settings(8));
    daemon.wait_until_master(PATIENCE);
    let standby = (case % 4 == 3).then(|| {
        let turn = turn();
        let standby = VendorSm::start(&fabric, HOSTS[2], &settings(1));
        standby.wait_for("to STANDBY", 1, PATIENCE);
        (standby, turn)
    });
    for number in 0..3 {
        let acts = ACTS[(case as usize * 2 + number) % ACTS.len()];
        println!("case {case}: {acts:?}");
        for act in acts {
            act.run(&fabric, &daemon);
        }
    }
    drop(standby);
    daemon.told(&["sweep", "--wait"]);
    // In each recording the administration answers at least this.
    Act::Tool("opasaquery -o node").run(&fabric, &daemon);
    let saved = daemon.told(&["incident", "save", "--reason", "a test", "--json"]);
    let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
    fs::read(saved["file"].as_str().unwrap()).unwrap()
}

/// Replays a recording; returns its steps, and how many queries were answered in them.
fn replayed(case: u64, file: &[u8]) -> (u64, u64) {
    let mut replay = Replay::new(file).unwrap();
    let (mut steps, mut answered) = (0, 0);
    while let Some(step) = replay.next().unwrap() {
        steps = step.number;
        assert_eq!(step.panic, None, "case {case}, step {steps}");
        assert_eq!(
            step.matches,
            Match::Same,
            "case {case}, step {steps}: {:?}",
            step.what
        );
        let is_query = matches!(step.what, What::Sa(SaWhat::Received(_)));
        let sends = |answer: &SaOutput| matches!(answer, SaOutput::Send(_));
        answered += u64::from(is_query && step.answers.iter().any(sends));
    }
    assert_eq!(replay.torn_at(), None, "case {case}");
    let sweeps = replay.manager().unwrap().status().sweep;
    println!(
        "case {case}: {} bytes, {steps} steps, {sweeps} sweeps, {answered} queries answered",
        file.len()
    );
    assert!(sweeps >= 2, "case {case}");
    assert!(answered > 0, "case {case}");
    (steps, answered)
}

#[test]
fn ten_recordings_with_the_vendors_programs_run_again_byte_for_byte() {
    let tools = [
        VENDOR_SM,
        "opareport",
        "opasaquery",
        "opaportconfig",
        "opafabricinfo",
    ];
    if tools.iter().any(|tool| program(tool).is_none()) {
        return;
    }
    let all = (0..RECORDINGS).map(|case| replayed(case, &recorded(case)));
    let (steps, answered): (Vec<u64>, Vec<u64>) = all.unzip();
    assert!(steps.iter().sum::<u64>() > 1_000);
    assert!(answered.iter().sum::<u64>() > 100);
}

/// Files of the ring, the oldest first.
fn ring(fabric: &Fabric) -> Vec<PathBuf> {
    let dir = fabric
        .directory()
        .join(format!("state-{}/recordings.0", HOSTS[0]));
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn each_file_of_the_ring_runs_again_with_its_queries() {
    if program("opasaquery").is_none() {
        return;
    }
    let spec: FabricSpec = "fattree:256,radix=16".parse().unwrap();
    let fabric = Fabric::of(spec.generate().unwrap(), Options::default());
    let settings = SmSettings::default();
    let mut daemon = Weftd::start_with_recordings(&fabric, HOSTS[0], &settings, "1");
    daemon.wait_until_master(PATIENCE);
    let query = Act::Tool("opasaquery -o node");
    let begun = Instant::now();
    while ring(&fabric).len() < 3 {
        assert!(begun.elapsed() < 4 * PATIENCE, "{:?}", ring(&fabric));
        query.run(&fabric, &daemon);
        daemon.told(&["sweep", "--wait"]);
    }
    query.run(&fabric, &daemon);
    // What is written a second later has all of that.
    daemon.told(&["incident", "save", "--reason", "a test"]);
    for file in ring(&fabric) {
        let bytes = fs::read(&file).unwrap();
        let mut replay = Replay::new(&bytes[..]).unwrap();
        let mut queries = 0;
        while let Some(step) = replay.next().unwrap() {
            assert_eq!(step.matches, Match::Same, "{file:?}, step {}", step.number);
            queries += u64::from(matches!(step.what, What::Sa(SaWhat::Received(_))));
        }
        println!("{file:?}: {} bytes, {queries} queries", bytes.len());
        assert!(queries > 0, "{file:?}");
    }
}
