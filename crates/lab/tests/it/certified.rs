//! Traffic on routes as the manager programs them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use weft_dataplane::PortTable;
use weft_fabric::Sl;
use weft_lab::experiment::{Case, Outcome, Scenario, perform, stage};
use weft_testkit::oracle::deadlock;
use weft_testkit::view;

/// Runs the only case of a scenario. Lifetimes are endless: nothing else ends a deadlock.
fn run(text: &str) -> Result<Outcome, String> {
    let text = format!("hoq-life 31\nswitch-lifetime 31\n{text}");
    let scenario: Scenario = text.parse().unwrap();
    perform(&scenario.cases[0], 7, 1).map_err(|error| error.to_string())
}

#[test]
fn routes_in_several_lanes_never_deadlock() {
    let fabrics = [
        "torus:4x4,hosts=4",
        "torus:5x5,hosts=3",
        "torus:8,hosts=4",
        "torus:3x3x3,hosts=2",
    ];
    let traffics = [
        "ranks 2\ntraffic alltoall bytes=256K\nlimit 1s",
        "traffic uniform span=100us",
    ];
    for fabric in fabrics {
        for engine in ["layered", "dor"] {
            for traffic in traffics {
                let text = format!("fabric {fabric}\nengine {engine}\n{traffic}");
                let outcome = run(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                assert_eq!(outcome.lost, 0, "{text}");
                assert!(outcome.hops > 1_000, "{text}");
            }
        }
    }
}

/// A torus of 4x4x4 in dimension order, which without escape lanes has two virtual lanes.
const TWO_LANES: &str = "fabric torus:4x4x4,hosts=1\nconfig opafm.xml\nengine dor\nlanes 1\nsl 0\n\
                         hoq-life 31\nswitch-lifetime 31\n";
const TORUS: &str = "<MeshTorusTopology>\
    <Dimension><Toroidal>1</Toroidal><Length>4</Length><PortPair>2,3</PortPair></Dimension>\
    <Dimension><Toroidal>1</Toroidal><Length>4</Length><PortPair>4,5</PortPair></Dimension>\
    <Dimension><Toroidal>1</Toroidal><Length>4</Length><PortPair>6,7</PortPair></Dimension>\
    <UseEscapeVLs>0</UseEscapeVLs></MeshTorusTopology>";

/// Judges the registers by the lanes that they name, which no packet model does; tells the engine. What `dor` has in
/// one lane of two halves holds for answers on the level of the request, too.
fn judge(case: &Case, seed: u64) -> String {
    let staged = stage::set(case, seed).unwrap();
    let network = staged.network();
    let view = view::read(network);
    let levels = |lid| vec![staged.levels.to(lid, Sl(0))];
    let engine = staged.world.manager().status().engine;
    let breaches = match engine == "dor" {
        true => deadlock::check_answers(&view, levels),
        false => deadlock::check_levels(&view, levels),
    };
    assert_eq!(breaches.first(), None, "seed {seed}");
    let ports = network.devices().flat_map(|(_, device)| device.ports());
    let lanes = ports.flat_map(|(_, at)| network.port(at).table(PortTable::ScToVlt));
    let lanes: BTreeSet<u8> = lanes.copied().filter(|lane| *lane != 15).collect();
    assert_eq!(lanes, BTreeSet::from([0, 1]), "seed {seed}");
    engine
}

/// Rings in three dimensions, whole and with a twentieth of the links gone. Where that cuts a ring in two, which
/// takes detours, two lanes are too few for dimension order and enough for `layered`.
#[test]
fn a_torus_of_three_dimensions_never_deadlocks_in_two_lanes() {
    let stock = include_str!("../../../../config/opafm.xml");
    let file = stock.replacen("<Sm>", &format!("<Sm>{TORUS}"), 1);
    for (gone, seed, engine) in [(0, 0, "dor"), (5, 3, "dor"), (5, 5, "layered")] {
        for traffic in ["uniform", "tornado side=4", "transpose side=4"] {
            let text = format!("{TWO_LANES}gone {gone}\ntraffic {traffic} bytes=2112 span=50us");
            let scenario = Scenario::read(&text, |_| Ok(file.clone().into_bytes())).unwrap();
            let case = &scenario.cases[0];
            if traffic == "uniform" {
                assert_eq!(judge(case, seed), engine, "seed {seed}");
            }
            let outcome = perform(case, seed, 1).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(outcome.lost, 0, "{text}");
            let accepted = outcome.get("accepted").unwrap().value;
            assert!(accepted > 30.0, "{text}: {accepted} %");
        }
    }
}

#[test]
fn hosts_that_cannot_take_part_are_no_result() {
    for (text, what) in [
        (
            "fabric pgft:2;4,4;1,4;1,1\ngone 100%\ntraffic bisection matchings=2",
            "hosts: the manager reaches 4 of 16",
        ),
        (
            "fabric one-switch:4\nhosts 5\ntraffic alltoall bytes=8",
            "hosts: 5 are asked for, the fabric has 4",
        ),
        (
            "fabric one-switch:4\nhosts 1\ntraffic bisection matchings=2",
            "hosts: 1 take part, traffic needs two",
        ),
        (
            "fabric one-switch:4\npairs 0>1 1>2\ntraffic osu_latency bytes=8",
            "pairs: rank 1 is in two pairs",
        ),
    ] {
        let error = run(text).unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
}

#[test]
fn windows_take_all_data_paths_by_turns() {
    // LMC 2: one path for control, three for data, each over a core switch of its own.
    for bytes in ["128K", "384K", "6M"] {
        let text = format!(
            "fabric pgft:2;2,2;1,3;1,1\nlmc 2\npairs 0>2\nlinks on\n\
             traffic osu_bw bytes={bytes} window=16 iterations=20"
        );
        let outcome = run(&text).unwrap();
        let to_cores = outcome.links.iter().filter(|link| link.to.contains("core"));
        let shares: Vec<f64> = to_cores.map(|link| link.percent).collect();
        assert_eq!(shares.len(), 3, "{bytes}: {shares:?}");
        let even = |share: &f64| (30.0..36.0).contains(share);
        assert!(shares.iter().all(even), "{bytes}: {shares:?}");
    }
}

/// A fifth of all packets goes to one host. If the file enables it, switches mark them, and their
/// senders slow down.
#[test]
fn congestion_control_is_written_as_the_file_says() {
    let text = "fabric pgft:2;8,2;1,2;1,4\nconfig opafm.xml\nlanes 1\nsl 0\n\
                traffic hotspot percent=20 bytes=2112 load=0.5 span=1ms";
    let stock = include_str!("../../../../config/opafm.xml");
    let outcome = |enable: &str| {
        let on = format!("<CongestionControl><Enable>{enable}</Enable>");
        let file = stock.replacen("<CongestionControl>", &on, 1);
        let scenario = Scenario::read(text, |_| Ok(file.clone().into_bytes())).unwrap();
        perform(&scenario.cases[0], 7, 1).unwrap()
    };
    let (off, on) = (outcome("0"), outcome("1"));
    let get = |outcome: &Outcome, metric| outcome.get(metric).map(|one| one.value);
    assert_eq!(get(&off, "marked"), None);
    assert!(get(&on, "marked").unwrap() > 100.0, "{on:?}");
    assert!(
        get(&on, "accepted").unwrap() < get(&off, "accepted").unwrap(),
        "{off:?} {on:?}"
    );
}
