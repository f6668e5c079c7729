//! Several jobs at once, and faults of the fabric while they run.
#![allow(clippy::unwrap_used)]

use weft_lab::experiment::{ExperimentError, Outcome, Scenario, perform, perform_all};

const JOBS: &str = include_str!("../../../../examples/jobs.scenario");
const FAULTS: &str = include_str!("../../../../examples/faults.scenario");

fn run(text: &str) -> Vec<Outcome> {
    let scenario: Scenario = text.parse().unwrap();
    perform_all(&scenario, 0, |_, _| {}).unwrap()
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    let found = outcome.get(metric);
    found.unwrap_or_else(|| panic!("no {metric}")).value
}

#[test]
fn errors_name_what_is_allowed() {
    const HEAD: &str = "fabric one-switch:4\ntraffic osu_bw\n";
    for (line, part) in [
        ("job", "no name of a job"),
        ("job Noise uniform", "no name of a job"),
        ("job a.b uniform", "no name of a job"),
        ("job a", "allowed: osu_bw"),
        ("job a bulk bytes=0", "no whole number from 1"),
        (
            "job a bulk size=1",
            "allowed: bytes, rate, both-ways; beside these",
        ),
        ("job a bulk both-ways=2", "from 0 to 1"),
        ("job a bulk begin=1", "no span of time"),
        ("job a bulk ranks=0", "ranks: \"0\""),
        ("job a bulk pairs=1", "FROM>TO"),
        ("job a osu_bw stack=tcp", "allowed: psm2, opx"),
        (
            "job a bulk stack=opx",
            "allowed: ranks, placement, hosts, pairs, sl, begin",
        ),
        (
            "job a alltoall pairs=0>1",
            "allowed: ranks, placement, hosts, stack, sl, begin",
        ),
        ("job a uniform ranks=4", "allowed: sl, begin"),
        ("job a uniform by=3", "allowed: bytes, load"),
        ("job a shift by=1 span=1ms", "allowed: bytes, load, by"),
        ("job a bulk bytes=8 bytes=16", "bytes is there twice"),
        ("job a bulk begin=1us begin=2us", "begin is there twice"),
        ("job a bulk begin=10s", "too late: the case ends at 10s"),
        ("job a off", "no job a that could be off"),
        (
            "job a bulk\ncase one\njob a off now",
            "has no effect after off",
        ),
        ("background off now", "has no effect after off"),
        ("plot a.rate Rate", "unknown job \"a\", allowed: "),
        ("fault 10s link-down 5%", "too late: the case ends at 10s"),
        ("job a bulk sl=16", "from 0 to 15"),
        ("job a bulk sl=3", "service level \"3\", allowed: 0"),
        ("job a bulk\njob a bulk", "job a is in line 3 already"),
        ("job a bisection", "allowed: all but bisection"),
        ("published a.rate 1 1%", "unknown job \"a\", allowed: "),
        ("job a bulk\npublished a.speed 1 1%", "unknown metric"),
        ("fault 1 link-down 5%", "no span of time"),
        ("fault 1ms", "unknown fault \"\", allowed: link-down"),
        ("fault 1ms link-lanes=5 5%", "from 1 to 4"),
        (
            "fault 1ms link-stuck=up 5%",
            "state of a link \"up\", allowed",
        ),
        ("fault 1ms link-loss=2 5%", "from 0 to 1"),
        ("fault 1ms cable-errors=1000001 5%", "from 0 to 1000000"),
        ("fault 1ms reboot=1ms", "its description is missing"),
        ("fault 1ms link-down", "no link such as"),
        ("fault 1ms link-down :5", "no link such as"),
        ("fault 1ms link-down switch:0", "from 1 to 254"),
        ("fault 1ms link-down 101%", "from 0 to 100"),
        ("fault 1ms node-down", "its description is missing"),
        ("max-dropped-lanes 4", "from 0 to 3"),
        (
            "fault 1ms link-down 5%\nfault 1ms link-down 5%",
            "in line 3 already",
        ),
        (
            "traffic mpi_nxnlatbw\nfault 1ms link-down 5%",
            "line 2 already",
        ),
    ] {
        let error = format!("{HEAD}{line}").parse::<Scenario>().unwrap_err();
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
    let long = format!("{HEAD}fault 1ms node-down {}", "n".repeat(65));
    let error = long.parse::<Scenario>().unwrap_err();
    assert!(
        error
            .what
            .contains("65 bytes in a node's description, allowed: 64")
    );
    let text = "fabric one-switch:4\ntraffic uniform span=1ms\nfault 2ms link-down 5%";
    let error = text.parse::<Scenario>().unwrap_err();
    assert!(
        error.what.contains("too late: the case ends at 2ms"),
        "{error}"
    );
    let text = "fabric one-switch:4\nqos-group base-sl=1\nsl 1\ntraffic osu_bw\njob a bulk";
    let error = text.parse::<Scenario>().unwrap_err();
    assert_eq!(error.line, 5);
    assert!(
        error.what.contains("service level \"0\", allowed: 1"),
        "{error}"
    );
    let text =
        "fabric one-switch:80,radix=96\ntraffic osu_bw\njob a ib_read_bw both-ways=1 ranks=1024";
    let error = text.parse::<Scenario>().unwrap_err();
    let what = "1313280 messages at once";
    assert!(error.what.contains(what), "{error}");
    let many: String = (0..17).map(|n| format!("job j{n} bulk\n")).collect();
    let error = format!("{HEAD}{many}").parse::<Scenario>().unwrap_err();
    assert!(error.what.contains("17 jobs, allowed: 16"), "{error}");
    let text = "fabric one-switch:4\ntraffic mpi_nxnlatbw\nfault 1ms link-down 5%";
    let error = text.parse::<Scenario>().unwrap_err();
    assert_eq!(error.line, 3);
    assert!(error.what.contains("nothing happens to the fabric"));
}

#[test]
fn a_case_takes_over_jobs_and_switches_them_off() {
    let text = "fabric one-switch:4\ntraffic osu_bw\njob a bulk\njob b ib_read_bw\nfault 2us link-down 1%\n\
                case one\njob a off\nfault 1us link-up 1%\ncase two\njob a ib_read_bw iterations=7";
    let scenario: Scenario = text.parse().unwrap();
    let names = |case: usize| {
        let jobs = scenario.cases[case].beside.iter();
        jobs.map(|job| job.name.clone().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(0), names(1)),
        (vec!["b".into()], vec!["b".into(), "a".into()])
    );
    let times = scenario.cases[0]
        .faults
        .iter()
        .map(|fault| fault.at.as_micros());
    assert_eq!(times.collect::<Vec<_>>(), [1, 2]);
}

/// Hosts that share no link do not know of each other; those that do share it.
#[test]
fn each_job_has_results_of_its_own() {
    let outcomes = run("fabric mesh:2,hosts=4\npairs 0>1\n\
         traffic osu_bw bytes=1M window=8 skip=1 iterations=8\n\
         case alone\n\
         case apart\njob reads ib_read_bw pairs=2>6\njob ping osu_latency bytes=8 iterations=50 pairs=3>7\n\
         case shared\npairs 0>4\njob reads ib_read_bw pairs=2>6\njob late ib_read_bw iterations=100 begin=50ms pairs=3>7");
    let [alone, apart, shared] = &outcomes[..] else {
        panic!("{}", outcomes.len());
    };
    assert_eq!(value(alone, "bandwidth"), value(apart, "bandwidth"));
    let reads = value(apart, "reads.bandwidth");
    // What a processor copies: 4,096 bytes in 880 ns.
    assert!((reads / 4.654 - 1.0).abs() < 0.01, "{reads}");
    // A small message waits for about one large packet in each direction.
    let ping = value(apart, "ping.latency");
    assert!((1.0..4.0).contains(&ping), "{ping}");
    // One link for two.
    let sum = value(shared, "bandwidth") + value(shared, "reads.bandwidth");
    assert!(value(shared, "bandwidth") < 0.7 * value(alone, "bandwidth"));
    assert!((sum / 12.36 - 1.0).abs() < 0.03, "{sum}");
    // The late one begins after all else, but for the endless one.
    let late = value(shared, "late.time");
    assert!((late / 1_408.0 - 1.0).abs() < 0.1, "{late}");
    assert!(shared.span > 51_000_000_000, "{}", shared.span);
}

#[test]
fn a_lane_of_its_own_keeps_small_messages_apart() {
    let outcomes = run(JOBS);
    let latency = |case: usize| value(&outcomes[case], "latency");
    assert!(latency(1) > 5.0 * latency(0));
    // Behind the packet that is being sent, 0.66 us, at each of two links at most.
    assert!(latency(2) < latency(0) + 2.0 * 0.66);
    for name in ["copy.bandwidth", "reads.bandwidth", "exchange.time"] {
        assert!(value(&outcomes[1], name) > 0.0 && value(&outcomes[2], name) > 0.0);
    }
    assert!((value(&outcomes[4], "noise.accepted") / 30.0 - 1.0).abs() < 0.05);
}

#[test]
fn a_lost_link_costs_packets_and_the_manager_writes_other_routes() {
    let outcomes = run(FAULTS);
    let of = |case: usize, metric: &str| value(&outcomes[case], metric);
    // MPI: as fast as before when the manager has written the other core's routes.
    assert!(of(1, "discards") > 0.0 && of(2, "discards") == 0.0);
    assert!(of(1, "bandwidth") < 0.5 * of(0, "bandwidth"));
    assert!((of(2, "bandwidth") / of(0, "bandwidth") - 1.0).abs() < 0.01);
    // Sockets: a loss costs milliseconds, and switches that adapt lose less.
    assert!(of(4, "bandwidth") < 0.95 * of(3, "bandwidth"));
    assert!(of(5, "discards") < of(4, "discards"));
    // Packets by a pattern: throughput of one core instead of two, while the link is gone.
    assert!((of(6, "accepted") / 40.0 - 1.0).abs() < 0.01);
    let one_core = (10.0 * 40.0 + 40.0 * 25.0) / 50.0;
    for case in [7, 8, 9] {
        let accepted = of(case, "accepted");
        assert!(
            (accepted / one_core - 1.0).abs() < 0.02,
            "{case}: {accepted}"
        );
    }
    assert!(of(8, "discards") < of(7, "discards"));
    for case in [1, 2, 4, 5, 7, 8, 9] {
        let millis = of(case, "reprogrammed");
        assert!(millis > 0.0 && millis < 5.0, "{case}: {millis}");
    }
    // All drops are at the lost link, according to its registers.
    let dropped = outcomes[4].links.iter().map(|link| link.xmit_discards);
    assert_eq!(dropped.sum::<u64>() as f64, of(4, "discards"));
}

/// A trap soon after a sweep waits for `TrapHoldDown`, a second; then both cores carry packets again.
#[test]
fn a_link_that_comes_back_is_used_again() {
    let text = "fabric pgft:2;4,2;1,2;1,1\nengine shortestpath\nlinks on\n\
                traffic shift by=4 load=0.001 span=1500ms\n\
                fault 10ms link-down edge1:5\nfault 20ms link-up edge1:5";
    let outcome = &run(text)[0];
    let millis = value(outcome, "reprogrammed");
    assert!((980.0..1_000.0).contains(&millis), "{millis}");
    let lost = value(outcome, "discards");
    assert!(lost < 40.0, "{lost}");
}

#[test]
fn what_happens_is_the_same_on_any_number_of_threads() {
    let text = "fabric fattree:32,radix=8\nadaptive on\ntraffic uniform bytes=2112 span=200us load=0.5\n\
                job noise shift by=5 load=0.2 bytes=512 begin=50us\n\
                fault 60us link-down 20%\nfault 250us link-up 20%\nfault 300us node-down core1\nlinks on";
    let scenario: Scenario = text.parse().unwrap();
    let of = |threads| {
        let outcome = perform(&scenario.cases[0], 3, threads).unwrap();
        (outcome.measurements, outcome.links, outcome.hops)
    };
    let one = of(1);
    assert!(
        one.0
            .iter()
            .any(|one| one.metric == "noise.accepted" && one.value > 10.0)
    );
    assert!(
        one.0
            .iter()
            .any(|one| one.metric == "discards" && one.value > 0.0)
    );
    assert_eq!(one, of(2));
    assert_eq!(one, of(3));
}

#[test]
fn what_the_fabric_does_not_have_is_told() {
    let fault = |fault: &str| {
        let text = format!("fabric mesh:2,hosts=2\ntraffic osu_bw\nfault 1ms {fault}");
        let scenario: Scenario = text.parse().unwrap();
        match perform(&scenario.cases[0], 0, 1) {
            Err(ExperimentError::Fault { what }) => what,
            other => panic!("{other:?}"),
        }
    };
    assert!(fault("link-down nowhere:1").contains("no node is called \"nowhere\""));
    assert!(fault("node-down node1 hfi1_0").contains("the manager runs on"));
    assert!(fault("link-down 1%").contains("1 % of the links between switches are none"));
    assert!(fault("node-down nowhere").contains("no node is called \"nowhere\""));
    assert!(fault("link-down switch-0:40").contains("no cable at port 40"));
}

/// A job that ends before a fault happens does not show its effect.
#[test]
fn a_fault_that_comes_too_late_is_an_error() {
    let text = "fabric mesh:2,hosts=2\ntraffic osu_latency iterations=1\nfault 50ms link-down 100%";
    let scenario: Scenario = text.parse().unwrap();
    let error = perform(&scenario.cases[0], 0, 1).unwrap_err().to_string();
    assert!(error.contains("before the event at 50 ms"), "{error}");
}

#[test]
fn what_has_not_begun_says_nothing() {
    let outcomes = run(
        "fabric mesh:2,hosts=2\ncase messages\ntraffic osu_latency iterations=10\n\
         job copy bulk begin=1s pairs=1>3\njob noise uniform begin=1s\n\
         case packets\ntraffic uniform span=100us\njob late shift begin=150us load=0.0001",
    );
    for (case, name) in [(0, "copy"), (0, "noise")] {
        let named = outcomes[case].measurements.iter();
        let mut named = named.filter(|one| one.metric.starts_with(name));
        assert!(named.next().is_none(), "{name}");
    }
    assert!(outcomes[1].get("late.accepted").is_some());
}

/// Whatever happens to a link, it carries no more than it can, and its registers count on.
#[test]
fn links_are_told_at_the_rates_that_they_had() {
    let outcomes = run(
        "fabric pgft:2;4,2;1,2;1,1\nengine shortestpath\nlinks on\nmax-dropped-lanes 3\n\
         traffic shift by=4 span=2ms load=0.5\n\
         case lanes\nfault 3990us link-lanes=1 edge1:5\n\
         case power\nfault 100us node-down core1\nfault 200us node-up core1\n\
         case own link\ntraffic shift by=4 span=2ms\njob other shift by=2\n\
         fault 100us link-down node2 hfi1_0:1",
    );
    for outcome in &outcomes {
        for link in &outcome.links {
            assert!((0.0..100.1).contains(&link.percent), "{link}");
        }
    }
    // Two kinds of packets that one host cannot send: one of each in a packet's time, 4 ms are 6,055.
    let lost = outcomes[2].lost;
    assert!((6_000..40_000).contains(&lost), "{lost}");
}

/// A node that reboots is one that is switched off and on; a link that is stuck on its way up stays down.
#[test]
fn reboots_and_stuck_links_do_as_power_and_cuts() {
    let outcomes = run("fabric pgft:2;4,2;1,2;1,1\nengine shortestpath\nlinks on\n\
         traffic shift by=4 span=2ms load=0.5\n\
         case power\nfault 100us node-down core1\nfault 200us node-up core1\n\
         case reboot\nfault 100us reboot=100us core1\nfault 200us node-up core2\n\
         case cut\nfault 100us link-down edge1:5\nfault 200us link-down edge1:5\n\
         case stuck\nfault 50us link-stuck=polling edge1:5\nfault 100us link-down edge1:5\n\
         fault 200us link-up edge1:5\n\
         case whole\nfault 100us link-loss=0 edge1:5\nfault 200us cable-errors=0 edge1:5");
    let carried = |case: usize| {
        let links = outcomes[case].links.iter();
        let links: Vec<String> = links.map(ToString::to_string).collect();
        (outcomes[case].lost, links)
    };
    assert_eq!(carried(0), carried(1));
    assert_eq!(carried(2), carried(3));
    assert_ne!(carried(3), carried(4));
}
