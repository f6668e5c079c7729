//! What results hang on.

use std::fs;
use std::process::{Command, Output};

use weft_lab::experiment::{
    Measurement, Outcome, Registry, Scenario, json_lines, perform_all, report, tornado,
};

const TEXT: &str = "experiment T\nfabric one-switch:2\n\
    case latency\ntraffic osu_latency bytes=8 iterations=2\n\
    case reads\ntraffic ib_read_bw iterations=50\nhost-rate 5GB/s\n";

fn run(text: &str, metric: &str) -> (Scenario, Vec<Outcome>) {
    let scenario: Scenario = text.parse().unwrap();
    let scenario = tornado::spread(&scenario, metric, &Registry::default()).unwrap();
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    (scenario, outcomes)
}

/// The cells of the row of an assumed constant in the table of a case.
fn row(table: &str, case: &str, word: &str) -> Option<Vec<String>> {
    let (_, from) = table.split_once(&format!("\n{case}: "))?;
    let rows = from
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let row = rows.find(|cells| cells[1] == word)?;
    Some(
        row[1..row.len() - 1]
            .iter()
            .map(|cell| (*cell).to_owned())
            .collect(),
    )
}

/// A switch that takes 10 ns less or more inside a block makes the latency shorter or longer by that; what has no part
/// in it changes nothing.
#[test]
fn a_result_changes_by_what_an_assumed_constant_changes() {
    let (scenario, outcomes) = run(TEXT, "latency");
    assert_eq!(scenario.cases.len(), 1 + 12 + 1 + 12);
    let latency = |name: &str| {
        let place = scenario.cases.iter().position(|case| case.name == name);
        outcomes[place.unwrap()].get("latency").unwrap().value
    };
    let base = latency("latency");
    let [less, more] =
        ["90ns", "110ns"].map(|text| latency(&format!("latency, block-latency {text}")));
    assert!((base - less - 0.010).abs() < 1e-9, "{base} {less}");
    assert!((more - base - 0.010).abs() < 1e-9, "{base} {more}");
    let table = tornado::table(&scenario, &outcomes, "latency");
    assert!(
        table.starts_with("## T, what latency hangs on\n\nlatency: latency 0.9"),
        "{table}"
    );
    let first = table.lines().nth(6).unwrap();
    assert!(
        first.starts_with("| block-latency | 100ns | 90ns to 110ns |"),
        "{table}"
    );
    let change = 100.0 * 0.010 / base;
    let cells = row(&table, "latency", "block-latency").unwrap();
    assert_eq!(cells[5], format!("-{change:.2}, +{change:.2}"), "{table}");
    for word in ["buffer", "host-rate", "send-buffer"] {
        let cells = row(&table, "latency", word).unwrap();
        assert_eq!(cells[5], "+0.00, +0.00", "{word}: {table}");
    }
    for word in ["verbs-receive", "pin-page", "agent-time"] {
        assert_eq!(row(&table, "latency", word), None, "{word}: {table}");
    }
    assert!(!table.contains("reads"), "{table}");
}

/// What a case sets is not assumed there; a processor that takes longer for each packet reads less.
#[test]
fn what_a_case_sets_is_not_assumed() {
    let (scenario, outcomes) = run(TEXT, "bandwidth");
    let table = tornado::table(&scenario, &outcomes, "bandwidth");
    assert_eq!(row(&table, "reads", "host-rate"), None, "{table}");
    let cells = row(&table, "reads", "verbs-receive").unwrap();
    let [fast, slow] = [&cells[3], &cells[4]].map(|cell| cell.parse::<f64>().unwrap());
    // A packet of 4,096 bytes takes 200 or 800 ns, and its copy at 5 GB/s.
    let rate = |nanos: f64| 4_096.0 / (nanos + 4_096.0 / 5.0);
    assert!((fast / rate(200.0) - 1.0).abs() < 0.05, "{fast}");
    assert!((slow / rate(800.0) - 1.0).abs() < 0.05, "{slow}");
    let plots = tornado::plots(&scenario, &outcomes, "bandwidth");
    let [(title, svg)] = &plots[..] else {
        panic!("{}", plots.len());
    };
    assert_eq!(title, "What bandwidth hangs on: reads");
    assert!(svg.contains(">verbs-receive, 200ns to 800ns<"), "{svg}");
    assert_eq!(svg.matches("fill-opacity").count(), 12, "{svg}");
    assert!(!svg.contains("NaN"), "{svg}");
}

/// Nor is what it sets to the very value that is assumed, in a line or a sweep.
#[test]
fn the_default_is_set_too() {
    let head = "fabric one-switch:2\ntraffic osu_latency iterations=1\n";
    for (line, word) in [
        ("dma-call 1000ns", "dma-call"),
        ("buffer 136K", "buffer"),
        ("sweep hop-time 50ns 100ns", "hop-time"),
    ] {
        let scenario: Scenario = format!("{head}{line}\ncase a").parse().unwrap();
        let scenario = tornado::spread(&scenario, "latency", &Registry::default()).unwrap();
        let constants: Vec<&str> = (scenario.cases.iter())
            .filter_map(|case| Some(case.constant()?.word.as_str()))
            .collect();
        assert!(!constants.contains(&word), "{line}: {constants:?}");
        assert!(
            constants.contains(&"credit-return"),
            "{line}: {constants:?}"
        );
    }
}

/// The scenario with the metric of its cases set to these values, the first without another assumption.
fn set_to(metric: &'static str, unit: &'static str, values: [f64; 3]) -> (String, String) {
    let text = "experiment T\nfabric one-switch:2\ntraffic osu_latency iterations=1\ncase a";
    let scenario: Scenario = text.parse().unwrap();
    let mut scenario = tornado::spread(&scenario, metric, &Registry::default()).unwrap();
    scenario.cases.truncate(3);
    let outcomes = values.map(|value| Outcome {
        measurements: vec![Measurement {
            metric: metric.into(),
            value,
            unit: unit.into(),
            spread: None,
        }],
        ..Outcome::default()
    });
    let (_, svg) = tornado::plots(&scenario, &outcomes, metric).remove(0);
    (tornado::table(&scenario, &outcomes, metric), svg)
}

/// More is a positive change, of what is below 0 too; of 0 changes are no percentages.
#[test]
fn changes_have_the_sign_of_the_difference() {
    let change = |table: &str| row(table, "a", "buffer").unwrap()[5].clone();
    let (table, _) = set_to("shorter", "%", [-20.0, -30.0, -10.0]);
    assert_eq!(change(&table), "-50.00, +50.00");
    let (table, svg) = set_to("discards", "packets", [0.0, 0.0, 7.0]);
    assert_eq!(change(&table), "+0.00, +7.00");
    assert!(table.contains("| change, packets |"), "{table}");
    assert!(svg.contains(">change in packets: "), "{svg}");
    let widths: Vec<f64> = widths(&svg);
    assert!(widths[0] > 100.0, "{svg}");
}

/// Widths of a plot's bars, as they are drawn one over the other.
fn widths(svg: &str) -> Vec<f64> {
    let bars = svg.lines().filter(|line| line.contains("fill-opacity"));
    let width = |line: &str| line.split('"').nth(5)?.parse().ok();
    bars.filter_map(width).collect()
}

/// Of two changes of one sign the longer one is behind the other.
#[test]
fn the_shorter_bar_is_in_front() {
    for values in [[100.0, 110.0, 150.0], [100.0, 150.0, 110.0]] {
        let (_, svg) = set_to("latency", "us", values);
        let widths = widths(&svg);
        assert_eq!(widths.len(), 2, "{svg}");
        assert!(widths[0] > 4.0 * widths[1], "{widths:?}");
    }
}

/// A case is compared with its baseline under the same assumption.
#[test]
fn a_baseline_takes_the_same_value() {
    let text = "fabric one-switch:2\ntraffic osu_latency bytes=8 iterations=2\n\
                case a\ncase b\nbaseline a\n";
    let (scenario, outcomes) = run(text, "shorter");
    for (case, outcome) in scenario.cases.iter().zip(&outcomes) {
        if case.name.starts_with('b') {
            assert_eq!(outcome.get("shorter").unwrap().value, 0.0, "{}", case.name);
        }
    }
}

/// The value of a metric of the case of a name.
fn value(scenario: &Scenario, outcomes: &[Outcome], name: &str, metric: &str) -> f64 {
    let place = scenario.cases.iter().position(|case| case.name == name);
    let outcome = &outcomes[place.unwrap_or_else(|| panic!("{name}"))];
    let found = outcome.get(metric);
    found.unwrap_or_else(|| panic!("{name}: {metric}")).value
}

/// Where sizes are swept, a case at a bound is compared with its baseline at the same size and bound, or as it is
/// where the baseline sets the constant itself; it has the bounds of links and its step, which is none of the
/// published figures.
#[test]
fn a_case_at_a_bound_keeps_its_place_in_a_sweep() {
    let text = "fabric one-switch:2\ntraffic osu_bw iterations=2 skip=1 window=4\nsweep bytes 8 64K\n\
                published step above 1000000\ncase a\ndma-call 500ns\ncase b\nbaseline a\n";
    let (scenario, outcomes) = run(text, "of_baseline");
    let value = |name: &str, metric: &str| value(&scenario, &outcomes, name, metric);
    for (here, there) in [
        (
            "b, bytes 64K, credit-return 0ns",
            "a, bytes 64K, credit-return 0ns",
        ),
        ("b, bytes 64K, dma-call 2000ns", "a, bytes 64K"),
    ] {
        let wanted = 100.0 * value(here, "bandwidth") / value(there, "bandwidth");
        assert!(
            (value(here, "of_baseline") / wanted - 1.0).abs() < 1e-12,
            "{here}"
        );
        let bound = value(here, "bandwidth_bound");
        assert_eq!(bound, value("b, bytes 64K", "bandwidth_bound"));
        let small = here.replace("64K", "8");
        let wanted = 100.0 * (value(here, "messages") / value(&small, "messages") - 1.0);
        assert!((value(here, "step") / wanted - 1.0).abs() < 1e-9, "{here}");
    }
    let table = tornado::table(&scenario, &outcomes, "of_baseline");
    assert!(!table.contains('–'), "{table}");
    assert_eq!(report::verdicts(&scenario, &outcomes).missed, 4);
    let lines = json_lines([(&scenario, &outcomes[..])]);
    let place = "{\"assumed\":\"dma-call\",\"assumed_at\":2000.0,\"at\":65536.0,\"case\":\"b, ";
    assert!(lines.contains(place), "{}", &lines[..2_000]);
}

/// A case whose name is that of another one at a bound is not taken for it.
#[test]
fn a_case_is_not_taken_for_another_one_at_a_bound() {
    let case = "case a\ntraffic osu_bw bytes=64K iterations=2 skip=1 window=4\n";
    let other = "case a, dma-call 500ns\ntraffic osu_bw bytes=8 iterations=2 skip=1 window=1\n";
    let told = |text: &str| {
        let (scenario, outcomes) = run(&format!("fabric one-switch:2\n{text}"), "bandwidth");
        let table = tornado::table(&scenario, &outcomes, "bandwidth");
        row(&table, "a", "dma-call").unwrap()
    };
    assert_eq!(told(&format!("{other}{case}")), told(case));
}

#[test]
fn the_program_prints_and_draws_it() {
    let stage = tempfile::tempdir().unwrap();
    let stage = stage.path();
    fs::write(stage.join("t.scenario"), TEXT).unwrap();
    let weft_lab = |arguments: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
        let command = command.current_dir(stage).args(["run", "t.scenario"]);
        command.args(arguments).output().unwrap()
    };
    let output = weft_lab(&[
        "--tornado",
        "latency",
        "--svg",
        "plots",
        "--json",
        "all.jsonl",
    ]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(row(&text, "latency", "block-latency").is_some(), "{text}");
    let svg = fs::read_to_string(stage.join("plots/t-tornado-latency-1.svg")).unwrap();
    assert!(svg.contains(">What latency hangs on: latency<"), "{svg}");
    let lines = fs::read_to_string(stage.join("all.jsonl")).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let swept = lines.filter(|line: &serde_json::Value| {
        line["kind"] == "run"
            && line["case"].as_str().unwrap().starts_with("latency, ")
            && line["assumed"] == "block-latency"
    });
    let at: Vec<f64> = swept
        .map(|line| line["assumed_at"].as_f64().unwrap())
        .collect();
    assert_eq!(at, [90.0, 110.0]);
    let refused = weft_lab(&["--tornado", "speed"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        error.contains("--tornado: unknown metric \"speed\", allowed: bandwidth"),
        "{error}"
    );
    let refused = weft_lab(&["--tornado", "bisection"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let wanted = "--tornado: no case that assumes a constant has bisection, measured: bandwidth";
    assert!(error.contains(wanted), "{error}");
    let refused = weft_lab(&["--tornado", "latency", "--csv"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(String::from_utf8(refused.stdout).unwrap(), "");
    let many: String = (0..100).map(|one| format!("case {one}\n")).collect();
    let text = format!("fabric one-switch:2\ntraffic osu_latency\n{many}");
    fs::write(stage.join("t.scenario"), text).unwrap();
    let refused = weft_lab(&["--tornado", "latency"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        error.contains("cases at the bounds of assumed constants, allowed: 1000"),
        "{error}"
    );
}
