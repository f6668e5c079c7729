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
        assert_eq!(discards > 100.0, some, "{settings:?}: {discards}");
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

#[test]
fn a_sweep_takes_times_of_credits() {
    let scenario: Scenario = "fabric mesh:2,hosts=1\ntraffic osu_bw\nsweep credit-return 0ns 184ns"
        .parse()
        .unwrap();
    let points = scenario.cases.iter().map(|case| {
        let point = case.point.as_ref().unwrap();
        (point.value, case.hardware.credit_return)
    });
    assert_eq!(points.collect::<Vec<_>>(), [(0.0, 0), (184.0, 184_000)]);
}
