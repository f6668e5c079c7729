//! Scenarios: what they say, what they refuse, and what comes out.
#![allow(clippy::unwrap_used)]

use weft_lab::experiment::scenario::{Pairs, Traffic};
use weft_lab::experiment::{Outcome, Scenario, chart, perform, perform_all, report};

const E1: &str = include_str!("../../../examples/e1-adaptive-routing.scenario");
const E2: &str = include_str!("../../../examples/e2-dispersive-routing.scenario");
const E3: &str = include_str!("../../../examples/e3-one-switch.scenario");
const E4: &str = include_str!("../../../examples/e4-congestion-discards.scenario");
const E5: &str = include_str!("../../../examples/e5-transfer-methods.scenario");
const E6: &str = include_str!("../../../examples/e6-bisection.scenario");

#[test]
fn cases_inherit_what_stands_before_the_first() {
    let scenario: Scenario = E1.parse().unwrap();
    let [alone, fixed, adaptive] = &scenario.cases[..] else {
        panic!("{} cases", scenario.cases.len());
    };
    assert_eq!(alone.pairs, Pairs::SharedUplink(1));
    assert_eq!(fixed.pairs, Pairs::SharedUplink(2));
    assert_eq!(
        (alone.manager.adaptive, fixed.manager.adaptive),
        (None, None)
    );
    assert_eq!(adaptive.manager.adaptive.unwrap().threshold, 7);
    for case in &scenario.cases {
        let Traffic::Bandwidth { bytes, window, .. } = case.traffic else {
            panic!("{:?}", case.traffic);
        };
        assert_eq!((bytes, window), (4 << 20, 64));
    }
    for text in [E2, E3, E4, E5, E6] {
        text.parse::<Scenario>().unwrap();
    }
}

#[test]
fn errors_name_the_line_and_what_is_allowed() {
    for (text, line, what) in [
        (
            "fabric one-switch:2\nspeed 9\ntraffic osu_bw",
            2,
            "unknown setting \"speed\"",
        ),
        ("fabric nothing", 1, "allowed: one-switch"),
        ("\n\n lmc 8", 3, "0 to 7"),
        (
            "# a\ntraffic osu_bw size=4M",
            2,
            "allowed: bytes, window, skip, iterations",
        ),
        (
            "traffic osu_bw bytes=4G",
            1,
            "bytes: \"4G\" is no whole number",
        ),
        ("traffic dance", 1, "osu_latency"),
        ("adaptive maybe", 1, "allowed: on, off"),
        ("pairs 1-2", 1, "FROM>TO"),
        ("limit 5", 1, "units: us, ms, s"),
        ("limit 9999s", 1, "from 0 to 3600"),
        ("published latency 1 2", 1, "percentage"),
        ("case a\nbaseline b", 2, "no case \"b\""),
        ("case", 1, "needs a name"),
        ("sweep speed 1 2", 1, "allowed: bytes, hoq-life"),
        ("sweep bytes", 1, "no values"),
        ("stack tcp", 1, "allowed: psm2, opx"),
        ("background noise", 1, "allowed: off, bulk, rdma-read"),
        ("gone 101%", 1, "from 0 to 100"),
        (
            "plot bandwidth over bytes",
            1,
            "METRIC [over WORD] [log] TITLE",
        ),
        (
            "fabric one-switch:2\ntraffic bisection\nsweep bytes 1 2",
            3,
            "no bytes to sweep",
        ),
        ("fabric one-switch:2", 1, "has no traffic"),
    ] {
        let error = text.parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
}

fn run(text: &str) -> Vec<Outcome> {
    let scenario: Scenario = text.parse().unwrap();
    perform_all(&scenario, 0, |_, _| {}).unwrap()
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    outcome.get(metric).unwrap().value
}

/// The published experiment with fewer windows: one pair fills a core switch's link, two pairs
/// share it, and adaptive routing moves one route to the other core switch.
#[test]
fn adaptive_routing_doubles_what_two_pairs_get() {
    let short = E1.replace("skip=2 iterations=10", "skip=2 iterations=3");
    let outcomes = run(&short);
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    assert!((bandwidth[0] / 12.38 - 1.0).abs() < 0.01, "{bandwidth:?}");
    assert!(
        (bandwidth[1] / bandwidth[0] - 1.0).abs() < 0.05,
        "{bandwidth:?}"
    );
    assert!((bandwidth[2] / 24.7 - 1.0).abs() < 0.02, "{bandwidth:?}");
    let moved: Vec<u64> = outcomes.iter().map(|one| one.moved).collect();
    assert_eq!(moved, [0, 0, 1]);
    let shares = |outcome: &Outcome| -> Vec<f64> {
        outcome
            .links
            .iter()
            .map(|link| link.percent.round())
            .collect()
    };
    // One core switch's two links are full, the hosts' four are half full.
    assert_eq!(shares(&outcomes[1]), [100.0, 100.0, 50.0, 50.0, 50.0, 50.0]);
    let scenario: Scenario = short.parse().unwrap();
    assert!(report::holds(&scenario, &outcomes));
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("| 12.38 GB/s ± 1 % |"), "{table}");
    let csv = report::csv(&scenario, &outcomes);
    assert_eq!(csv.lines().count(), 1 + 3 * 3);
    assert!(csv.contains("\"two pairs, static\",bandwidth,"), "{csv}");
}

#[test]
fn blocks_of_ports_show_in_the_latencies() {
    let outcomes = run("fabric one-switch:16,radix=48\n\
         traffic mpi_nxnlatbw bytes=1 iterations=2 sessions=1");
    let (near, far) = (
        value(&outcomes[0], "same_block"),
        value(&outcomes[0], "other_block"),
    );
    assert!((far - near - 0.010).abs() < 1e-6, "{near} and {far}");
    assert!((far / 0.93 - 1.0).abs() < 0.02, "{far}");
    assert!(value(&outcomes[0], "asymmetry") < 0.68);
}

/// Fewer uplinks take longer, and a case can be compared with one before it.
/// Nothing is faster than the links, and large messages come near to them.
#[test]
fn curves_over_the_size_stay_within_what_links_allow() {
    let text = "fabric one-switch:2\npairs halves\ncase late\ntraffic osu_latency bytes=1 iterations=2\n\
                sweep bytes 8 4K 4M\ncase wide\ntraffic osu_bibw bytes=8 window=16 iterations=2\n\
                sweep bytes 8 4K 4M";
    let outcomes = run(text);
    let of = |outcome: &Outcome, metric: &str| {
        value(outcome, &format!("{metric}_bound")) / value(outcome, metric)
    };
    let late: Vec<f64> = outcomes[..3].iter().map(|one| of(one, "latency")).collect();
    let wide: Vec<f64> = outcomes[3..]
        .iter()
        .map(|one| 1.0 / of(one, "bandwidth"))
        .collect();
    for near in [late, wide] {
        assert!(near.iter().all(|share| *share < 1.0), "{near:?}");
        assert!(near[0] < 0.01 && near[2] > 0.97, "{near:?}");
    }
}

#[test]
fn uplinks_can_be_taken_away_evenly() {
    let outcomes = run(
        "fabric pgft:2;4,2;1,2;1,2\nengine fattree\ntraffic alltoall bytes=64K\n\
         case all\ncase half\nuplinks 2\nbaseline all\ncase one\nuplinks 1\nbaseline all",
    );
    let times: Vec<f64> = outcomes.iter().map(|one| value(one, "time")).collect();
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    let shorter = value(&outcomes[2], "shorter");
    assert!((shorter - 100.0 * (1.0 - times[2] / times[0])).abs() < 1e-9);
}

#[test]
fn a_seed_gives_the_same_result_again() {
    let text = "fabric fattree:32,radix=8\nlanes 4\ntraffic uniform bytes=2112 span=50us\nlinks on";
    let scenario: Scenario = text.parse().unwrap();
    let of = |seed, threads| {
        let outcome = perform(&scenario.cases[0], seed, threads).unwrap();
        (outcome.measurements, outcome.links, outcome.hops)
    };
    let one = of(1, 1);
    assert!(!one.1.is_empty() && one.2 > 1_000);
    assert_eq!(one, of(1, 1));
    assert_eq!(one, of(1, 2), "on two threads");
    assert_ne!(one, of(2, 1));
}

#[test]
fn what_does_not_end_says_why() {
    let text = "fabric one-switch:2\ntraffic osu_bw\nlimit 1ms";
    let scenario: Scenario = text.parse().unwrap();
    let error = perform(&scenario.cases[0], 0, 1).unwrap_err().to_string();
    assert!(error.contains("not ended after 1 ms"), "{error}");
}

/// The methods change at the published sizes, and each change shows in what a process gets.
#[test]
fn methods_of_sending_show_as_steps() {
    let text = "fabric one-switch:2\ntraffic osu_mbw_mr window=64 skip=1 iterations=4\n\
        plot messages over bytes log Rates\n\
        case psm2\nsweep bytes 8 9 8K 8193 16K 16385 64000 64001\n\
        case opx\nstack opx\nbaseline psm2\nsweep bytes 16 17 8K 8193 16K 16385";
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    let methods: Vec<&str> = outcomes
        .iter()
        .map(|one| one.method.as_deref().unwrap())
        .collect();
    assert_eq!(
        methods[..8],
        [
            "inject",
            "eager",
            "eager",
            "multi-packet eager",
            "multi-packet eager",
            "eager by SDMA",
            "eager by SDMA",
            "rendezvous"
        ]
    );
    assert_eq!(
        methods[8..],
        [
            "inject",
            "eager",
            "eager",
            "multi-packet eager",
            "multi-packet eager",
            "rendezvous"
        ]
    );
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    // A second packet costs more than it brings, a third one a dip, rendezvous pays.
    assert!(bandwidth[3] < 0.85 * bandwidth[2], "{bandwidth:?}");
    assert!(bandwidth[5] < 0.92 * bandwidth[4], "{bandwidth:?}");
    assert!(bandwidth[7] > 1.5 * bandwidth[6], "{bandwidth:?}");
    assert!(bandwidth[13] > 1.3 * bandwidth[12], "{bandwidth:?}");
    // Each size of the second curve is compared with the same size of the first.
    let share = value(&outcomes[10], "of_baseline");
    assert!((share - 100.0 * bandwidth[10] / bandwidth[2]).abs() < 1e-9);
    let svg = chart::draw(&scenario, &outcomes, &scenario.plots[0]).unwrap();
    assert_eq!(svg.matches("<circle").count(), 14);
    assert_eq!(svg.matches("<polyline").count(), 2);
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("| 64001 | rendezvous |"), "{table}");
}

/// Beside copies over sockets a benchmark gets less, beside reads by the cards still less; a low
/// lifetime discards packets and changes little.
#[test]
fn other_traffic_takes_its_share_and_lifetimes_discard() {
    let outcomes = run(
        "fabric mesh:2,hosts=5\npairs 0>5\nmay-not-end on\nlimit 2s\n\
         traffic osu_bibw bytes=64K window=64 skip=1 iterations=2\n\
         case alone\ncase bulk\nbackground bulk\ncase read\nbackground rdma-read\n\
         case low\nbackground bulk\nswitch-lifetime 3",
    );
    let bandwidth: Vec<f64> = outcomes.iter().map(|one| value(one, "bandwidth")).collect();
    assert!(bandwidth[1] < 0.5 * bandwidth[0], "{bandwidth:?}");
    assert!(bandwidth[2] < 0.8 * bandwidth[1], "{bandwidth:?}");
    assert!(bandwidth[3] > 0.8 * bandwidth[1], "{bandwidth:?}");
    let discards: Vec<f64> = outcomes[1..]
        .iter()
        .map(|one| value(one, "discards"))
        .collect();
    assert_eq!(discards[..2], [0.0, 0.0]);
    assert!(discards[2] > 100.0, "{discards:?}");
}

/// About what fair shares give on any two-level tree of 128 hosts under destination routing, 86 %
/// with one path and nearly all with eight, and what adaptive routes and lost links change.
#[test]
fn bisection_bandwidth_is_that_of_fair_shares() {
    let outcomes = run(
        "fabric fattree:128,radix=16\nengine dmodc\ntraffic bisection matchings=100\n\
         case one\ncase seven\nlmc 3\ncase adaptive\nadaptive on algorithm=2 threshold=7\n\
         case gone\ngone 20%",
    );
    let bisection: Vec<f64> = outcomes.iter().map(|one| value(one, "bisection")).collect();
    assert!((bisection[0] - 85.8).abs() < 3.0, "{bisection:?}");
    assert!(bisection[1] > 96.0, "{bisection:?}");
    assert!(bisection[2] > bisection[0] + 2.0, "{bisection:?}");
    assert!(bisection[3] < bisection[0] - 5.0, "{bisection:?}");
}
