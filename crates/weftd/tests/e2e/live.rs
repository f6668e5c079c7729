//! Live traffic: adaptive routing as its users saw it, on the stock configuration.

use std::collections::BTreeMap;

use serde_json::Value;
use tonic::Code;
use weft_api::client::Client;
use weft_api::emulator_v1 as v1;

use crate::harness::{Daemon, READ_OFTEN, Start, configure, wait_for, weft};

/// Two edge switches with four hosts each, and two core switches.
const FABRIC: &str = "pgft:2;4,2;1,2;1,1";
/// Throughput of one pair, GB/s (Intel, "Adaptive Routing with Intel Omni-Path
/// Architecture"), and the tolerance.
const ONE_PAIR: (f64, f64) = (12.38, 0.01);
const TWO_PAIRS: (f64, f64) = (24.7, 0.02);
/// Throughput of a full link, packet headers included, GB/s.
const LINK: (f64, f64) = (12.5, 0.01);

fn json(daemon: &Daemon, args: &[&str]) -> Value {
    serde_json::from_str(&daemon.weft_ok(args)).unwrap()
}

/// The core switch on the route between two hosts, by the route query.
fn core_between(daemon: &Daemon, from: &str, to: &str) -> String {
    let (from, to) = (format!("node:{from} hfi1_0"), format!("node:{to} hfi1_0"));
    let route = daemon.weft_ok(&["report", "route", "-S", &from, "-D", &to]);
    let core = ["core1", "core2"]
        .iter()
        .find(|core| route.contains(**core));
    core.unwrap_or_else(|| panic!("{route}")).to_string()
}

/// Two pairs from the first edge switch to the second whose routes use the same core switch.
fn pairs_over_one_core(daemon: &Daemon) -> [(&'static str, &'static str); 2] {
    let mut by_core: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for to in ["node5", "node6", "node7", "node8"] {
        let core = core_between(daemon, "node1", to);
        let same = by_core.entry(core).or_default();
        same.push(to);
        if let [first, second] = same[..] {
            assert_eq!(
                core_between(daemon, "node1", first),
                core_between(daemon, "node2", second)
            );
            return [("node1", first), ("node2", second)];
        }
    }
    panic!("no two hosts share a core switch: {by_core:?}");
}

/// The links between switches that are in use, by the core switch: share in percent and GB/s, of the
/// first reading for which `holds`.
fn wait_for_cores(
    daemon: &Daemon,
    holds: impl Fn(&BTreeMap<String, Vec<(f64, f64)>>) -> bool,
) -> BTreeMap<String, Vec<(f64, f64)>> {
    wait_for(|| {
        let cores = cores_in_use(&daemon.top()?);
        holds(&cores).then_some(cores)
    })
}

fn cores_in_use(top: &Value) -> BTreeMap<String, Vec<(f64, f64)>> {
    let mut cores: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for link in top["busiest"].as_array().unwrap() {
        let names = ["a", "b"].map(|end| link[end]["name"].as_str().unwrap().to_owned());
        let used = link["a_to_b"]["utilization_percent"].as_f64().unwrap();
        let rate = link["a_to_b"]["gb_per_second"].as_f64().unwrap();
        let core = names.into_iter().find(|name| name.starts_with("core"));
        if let Some(core) = core.filter(|_| used > 1.0) {
            cores.entry(core).or_default().push((used, rate));
        }
    }
    cores
}

fn is_near(value: f64, (wanted, within): (f64, f64)) -> bool {
    (value / wanted - 1.0).abs() <= within
}

/// Payload of all senders together, GB/s.
fn aggregate(daemon: &Daemon) -> f64 {
    let listed = json(daemon, &["emulator", "traffic", "list", "--json"]);
    let jobs = listed["jobs"].as_array().unwrap();
    jobs.iter()
        .map(|job| job["gb_per_second"].as_f64().unwrap())
        .sum()
}

#[test]
fn adaptive_routing_doubles_what_two_pairs_get() {
    let start = Start::new(FABRIC);
    let config = start.dir.path().join("opafm.xml");
    configure(&config, &READ_OFTEN);
    let daemon = start.up();
    let [first, second] = pairs_over_one_core(&daemon);
    let job = |(from, to): (&str, &str)| format!("{from}:{to}");
    let pairs = [job(first), job(second)];
    let traffic = |args: &[&str]| daemon.weft_ok(&[&["emulator", "traffic"], args].concat());
    traffic(&["start", "one", "pairs", &pairs[0]]);
    let alone = aggregate(&daemon);
    assert!(is_near(alone, ONE_PAIR), "{alone}");
    traffic(&["start", "two", "pairs", &pairs[1]]);
    let shared = aggregate(&daemon);
    assert!(
        shared <= 1.05 * alone && is_near(shared, ONE_PAIR),
        "{shared}"
    );
    // Both links of one core switch are full, the other one is idle.
    let full = |links: &Vec<(f64, f64)>| {
        let full = |(used, rate): &(f64, f64)| *used > 99.0 && is_near(*rate, LINK);
        links.len() == 2 && links.iter().all(full)
    };
    wait_for_cores(&daemon, |cores| {
        cores.len() == 1 && cores.values().all(full)
    });
    let text = daemon.weft_ok(&["top", "--once"]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );

    configure(
        &config,
        &[
            &READ_OFTEN[..],
            &[(
                "<Enable>0</Enable>\n        <Algorithm>2</Algorithm>",
                "<Enable>1</Enable>\n        <LostRouteOnly>0</LostRouteOnly>\n        \
             <Algorithm>2</Algorithm>\n        <Threshold>7</Threshold>",
            )],
        ]
        .concat(),
    );
    daemon.weft_ok(&["config", "reload"]);
    let doubled = wait_for(|| Some(aggregate(&daemon)).filter(|rate| *rate > 1.5 * alone));
    assert!(is_near(doubled, TWO_PAIRS), "{doubled}");
    wait_for_cores(&daemon, |cores| {
        cores.len() == 2 && cores.values().all(full)
    });
    assert_eq!(traffic(&["stop", "--all"]), "stopped all traffic\n");
    assert_eq!(traffic(&["list"]), "no traffic\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cable_is_cut_and_mended_and_switches_say_whether_they_route_adaptively() {
    let daemon = Daemon::up(FABRIC);
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut emulator = client.emulator();
    let edge1 = 0x0011_7501_0200_0001;
    let set = |node_guid, port, cut| v1::SetCableRequest {
        node_guid,
        port,
        cut,
        reason: "as if pulled".to_owned(),
        author: "erika".to_owned(),
    };
    let links = || json(&daemon, &["fabric", "show", "--json"])["links"].as_u64();
    let before = links().unwrap();
    for (cut, left) in [(true, before - 1), (false, before)] {
        emulator.set_cable(set(edge1, 5, cut)).await.unwrap();
        wait_for(|| links().filter(|now| *now == left));
    }
    for (request, code) in [
        (set(edge1, 0, true), Code::InvalidArgument),
        (set(edge1, 256, true), Code::InvalidArgument),
        (set(edge1, 77, true), Code::FailedPrecondition),
        (set(7, 5, true), Code::FailedPrecondition),
    ] {
        let refused = emulator.set_cable(request.clone()).await.unwrap_err();
        assert_eq!(refused.code(), code, "{request:?}: {refused}");
    }

    let bell = v1::SetCableRequest {
        reason: "\u{7}".to_owned(),
        ..set(edge1, 5, true)
    };
    let refused = emulator.set_cable(bell).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().contains("reason"), "{refused}");
    let start = ["emulator", "traffic", "start", "all", "uniform"];
    daemon.weft_ok(&[&start[..], &["--reason", "a full fabric"]].concat());
    daemon.weft_ok(&["emulator", "traffic", "stop", "all", "--reason", "seen"]);
    daemon.weft_ok(&["emulator", "traffic", "stop", "--all"]);
    let told = daemon.weft_ok(&["who", "--json", "--limit", "50"]);
    let changes = told.lines().map(|line| serde_json::from_str(line).unwrap());
    let changes: Vec<Value> = changes.collect();
    for (what, reason) in [
        ("cut the cable at edge1:5", "as if pulled"),
        ("mend the cable at edge1:5", "as if pulled"),
        ("start traffic all", "a full fabric"),
        ("stop traffic all", "seen"),
        ("stop all traffic", ""),
    ] {
        let mut done = changes.iter().filter(|change| change["result"] == "ok");
        let found = done.find(|change| change["what"] == what);
        let found = found.unwrap_or_else(|| panic!("{what}: {told}"));
        assert_eq!(found["reason"], reason, "{found}");
        assert_ne!(found["author"], "", "{found}");
    }

    let mut adaptive = async || {
        let listed = emulator.list_traffic(v1::ListTrafficRequest {}).await;
        listed.unwrap().into_inner().adaptive_switches
    };
    assert_eq!(adaptive().await, 0);
    for (state, switches) in [("on", 4), ("off", 0)] {
        let planned = json(&daemon, &["route", "plan", "--adaptive", state, "--json"]);
        daemon.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
        assert_eq!(adaptive().await, switches, "{state}");
    }
}

#[test]
fn what_cannot_be_shown_or_started_is_said() {
    // The client may have to be built; the daemon is to be young.
    weft();
    let start = Start::new("one-switch:2");
    let config = start.dir.path().join("opafm.xml");
    let daemon = start.up();
    let early = daemon.weft_fails(1, &["top", "--once"]);
    assert!(
        early.contains("twice yet; it does so every 10 s"),
        "{early}"
    );
    let text = std::fs::read_to_string(&config).unwrap();
    let (before, pm) = text.split_once("<Pm>").unwrap();
    let off = pm.replacen("<Start>1</Start>", "<Start>0</Start>", 1);
    assert_ne!(off, pm);
    std::fs::write(&config, format!("{before}<Pm>{off}")).unwrap();
    daemon.weft_ok(&["config", "reload"]);
    let off = daemon.weft_fails(1, &["top", "--json"]);
    assert!(off.contains("the performance manager is off"), "{off}");
    // The fabric is quiet: only the reload can start it.
    configure(&config, &READ_OFTEN);
    daemon.weft_ok(&["config", "reload"]);
    wait_for(|| daemon.top());
    let start = ["emulator", "traffic", "start", "a"];
    for (code, args, expected) in [
        (
            1,
            &["circle"][..],
            "no pattern of traffic is called \"circle\"",
        ),
        (
            1,
            &["pairs", "node1:node9"],
            "no host is called \"node9\" in the emulated fabric; there are node1 hfi1_0",
        ),
        (2, &["uniform", "--rate", "0"], "over 0, up to 100"),
        (2, &["uniform", "--payload", "1"], "8..=10240"),
    ] {
        let said = daemon.weft_fails(code, &[&start[..], args].concat());
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    let said = daemon.weft_fails(1, &["emulator", "traffic", "stop", "a"]);
    assert!(said.contains("no job is called \"a\""), "{said}");
}
