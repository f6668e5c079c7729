//! Properties of the hardware that a scenario sets change what comes out.
#![allow(clippy::unwrap_used)]

use weft_lab::experiment::{Outcome, Scenario, perform};

fn run(text: &str) -> Outcome {
    let scenario: Scenario = text.parse().unwrap();
    perform(&scenario.cases[0], 1, 1).unwrap()
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    outcome.get(metric).unwrap().value
}

/// Copies of five pairs over one link, with a HoqLife of 16 µs: a lane that moves drops nothing
/// where a lifetime is that of its first packet, and inputs that take turns wait less than that.
#[test]
fn discards_depend_on_the_order_of_packets_and_on_the_head_of_queue() {
    let discards = |settings: &str| {
        let text = format!(
            "fabric mesh:2,hosts=5\npairs 0>5\nhoq-life 2\nbackground bulk\nmay-not-end on\nlimit 5ms\n\
             traffic osu_bibw bytes=64K window=64 skip=1 iterations=4\n{settings}"
        );
        value(&run(&text), "discards")
    };
    for (settings, some) in [
        ("", false),
        ("queueing oldest\nhead-of-queue egress-lane", false),
        ("head-of-queue input", true),
        ("queueing round-robin\nhead-of-queue input", false),
        ("queueing fifo\nhead-of-queue input", false),
    ] {
        let discards = discards(settings);
        assert_eq!(discards > 30.0, some, "{settings:?}: {discards}");
        assert_eq!(discards > 0.0, some, "{settings:?}: {discards}");
    }
}

/// A buffer with room for three packets of 8 KiB is full until credits return: the later, the less
/// a link carries. The stock buffer does not depend on it.
#[test]
fn credits_that_return_late_slow_down_links_with_small_buffers() {
    let bandwidth = |settings: &str| {
        let text = format!(
            "fabric mesh:2,hosts=1\ntraffic osu_bw bytes=1M window=8 skip=1 iterations=2\n{settings}"
        );
        value(&run(&text), "bandwidth")
    };
    let small = |time: &str| bandwidth(&format!("buffer 32K\ncredit-return {time}"));
    let (none, some, much) = (small("0ns"), small("184ns"), small("2000ns"));
    assert!(
        none > 1.01 * some && some > 1.2 * much,
        "{none} {some} {much}"
    );
    let stock = (
        bandwidth("credit-return 0ns"),
        bandwidth("credit-return 338ns"),
    );
    assert!((stock.0 / stock.1 - 1.0).abs() < 0.005, "{stock:?}");
}

/// Errors name all settings of the hardware, those to sweep too.
#[test]
fn what_is_allowed_names_settings_of_the_hardware() {
    let refused = |line: &str| line.parse::<Scenario>().unwrap_err().to_string();
    let (set, swept) = (refused("speed 9"), refused("sweep speed 9"));
    let names = |error: &str, word: &str| {
        let (_, allowed) = error.split_once("allowed: ").unwrap();
        allowed.split(", ").any(|one| one == word)
    };
    for word in [
        "credit-return",
        "block-latency",
        "dma-call",
        "send-buffer",
        "agent-time",
        "hop-time",
        "host-rate",
        "verbs-receive",
        "verbs-send",
        "receive-packets",
        "receive-bytes",
        "pin-page",
        "queueing",
        "head-of-queue",
        "registration",
    ] {
        assert!(
            names(&set, word) && names(&swept, word),
            "{word}: {set} {swept}"
        );
    }
}

#[test]
fn a_sweep_takes_times_of_credits() {
    let text = "fabric mesh:2,hosts=1\ntraffic ib_read_bw\nsweep host-rate 500MB/s 2GB/s";
    let scenario: Scenario = text.parse().unwrap();
    let points = scenario.cases.iter().map(|case| {
        let point = case.point.as_ref().unwrap();
        (point.first.value, case.hardware.hosts.copy_rate)
    });
    let wanted = [(0.5, 500_000_000), (2.0, 2_000_000_000)];
    assert_eq!(points.collect::<Vec<_>>(), wanted);
    let scenario: Scenario = "fabric mesh:2,hosts=1\ntraffic osu_bw\nsweep credit-return 0ns 184ns"
        .parse()
        .unwrap();
    let points = scenario.cases.iter().map(|case| {
        let point = case.point.as_ref().unwrap();
        (point.first.value, case.hardware.credit_return)
    });
    assert_eq!(points.collect::<Vec<_>>(), [(0.0, 0), (184.0, 184_000)]);
}

/// Bandwidth of a benchmark that kernels receive depends on their processors; a queue that is shorter
/// than a connection's window stops links.
#[test]
fn hosts_are_as_fast_as_a_scenario_says() {
    let bandwidth = |traffic: &str, settings: &str| {
        let text = format!("fabric one-switch:2\ntraffic {traffic}\n{settings}");
        value(&run(&text), "bandwidth")
    };
    let reads = "ib_read_bw iterations=200";
    // A packet of 4,096 bytes takes 400 ns and a copy.
    let wanted = |rate: f64, packet: f64| 4_096.0 / (packet + 4_096.0 / rate);
    for (settings, rate, packet) in [
        ("", 8.532, 400.0),
        ("host-rate 4.266GB/s", 4.266, 400.0),
        ("verbs-receive 1000ns", 8.532, 1_000.0),
        ("verbs-send 2000ns", f64::INFINITY, 2_000.0),
    ] {
        let found = bandwidth(reads, settings);
        let part = found / wanted(rate, packet);
        assert!((part - 1.0).abs() < 0.02, "{settings}: {found}");
    }
    let bulk = |settings: &str| bandwidth("bulk bytes=16M", settings);
    let part = bulk("host-rate 4.266GB/s") / bulk("");
    assert!((part - 0.5).abs() < 0.05, "{part}");
    let at_rate = bandwidth("bulk bytes=16M rate=500MB/s", "");
    assert!((at_rate / 0.5 - 1.0).abs() < 0.01, "{at_rate}");
}

/// Copies to a host whose kernel is slow: with a queue that is shorter than the connection's window the switch
/// before it drops by its head-of-queue lifetime; the stock queue has room for all of it.
#[test]
fn a_short_queue_of_a_slow_host_makes_switches_drop() {
    let discards = |settings: &str| {
        let text = format!(
            "fabric one-switch:3\npairs 1>0\nhoq-life 0\nverbs-receive 50000ns\nmay-not-end on\nlimit 100ms\n\
             traffic bulk bytes=4M\n{settings}"
        );
        value(&run(&text), "discards")
    };
    assert_eq!(discards(""), 0.0);
    for queue in ["receive-bytes 256K", "receive-packets 32"] {
        assert!(discards(queue) > 0.0, "{queue}");
    }
}
