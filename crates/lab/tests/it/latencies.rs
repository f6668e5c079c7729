//! Times of messages and packets of every kind of traffic: in tables, lines, kept outcomes and plots.
#![allow(clippy::unwrap_used)]

use weft_lab::experiment::outcome_store::OutcomeStore;
use weft_lab::experiment::{Latencies, Outcome, Scenario, chart, json_lines, perform_all, report};

fn run(text: &str) -> (Scenario, Vec<Outcome>) {
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = perform_all(&scenario, 1, |_, _| ());
    let outcomes = outcomes.map_err(|(case, error)| format!("{case}: {error}"));
    (scenario, outcomes.unwrap())
}

fn error(text: &str) -> String {
    text.parse::<Scenario>().unwrap_err().to_string()
}

/// Time, us, within which so many percent have come.
fn micros(of: &Latencies, percent: f64) -> f64 {
    of.histogram.percentile(percent).unwrap() as f64 / 1e6
}

const ALL: &str = "fabric one-switch:4\nlatencies on\n\
    case exchange\ntraffic alltoall bytes=64K\n\
    case window\ntraffic osu_bw bytes=4K window=8 skip=0 iterations=4\n\
    case trips\ntraffic osu_latency bytes=8 skip=2 iterations=5\n\
    case spectrum\ntraffic mpi_nxnlatbw bytes=8 skip=0 iterations=1\n\
    case reads\ntraffic ib_read_bw bytes=4K iterations=8\n\
    case packets\ntraffic uniform bytes=2112 load=0.5 span=50us\n\
    case two\ntraffic osu_latency bytes=8 iterations=50\njob io uniform bytes=8256 load=0.3\n\
    job more osu_bw bytes=1M window=4 skip=0 iterations=2\nbackground uniform bytes=2112 load=0.1\n";

#[test]
fn every_kind_of_traffic_has_its_times() {
    let (scenario, outcomes) = run(ALL);
    let jobs: Vec<Vec<Option<&str>>> = outcomes
        .iter()
        .map(|outcome| {
            outcome
                .latencies
                .iter()
                .map(|of| of.job.as_deref())
                .collect()
        })
        .collect();
    let own = vec![None];
    let with_jobs = vec![None, Some("io"), Some("more")];
    assert_eq!(jobs[..6], vec![own; 6]);
    assert_eq!(jobs[6], with_jobs);
    let counts = outcomes
        .iter()
        .map(|one| one.latencies[0].histogram.count());
    let counts: Vec<u64> = counts.collect();
    // Each rank to each; two pairs with windows and their answers; trips to and fro, before time is taken too; each pair
    // in both directions, to and fro; reads of each pair.
    let pairs = 2;
    assert_eq!(counts[0], 4 * 3);
    assert_eq!(counts[1], pairs * 4 * (8 + 1));
    assert_eq!(counts[2], pairs * 2 * (2 + 5));
    assert_eq!(counts[3], 6 * 2 * 2);
    assert_eq!(counts[4], pairs * 8);
    assert!(counts[5] > 500, "{counts:?}");
    // Where nothing disturbs, all times are the benchmark's.
    let trips = outcomes[2].get("latency").unwrap().value;
    for percent in [50.0, 99.99] {
        let found = micros(&outcomes[2].latencies[0], percent);
        assert!((found / trips - 1.0).abs() < 0.004, "{found} for {trips}");
    }
    // The longest packet is the longest of the metric.
    let io = outcomes[6].get("io.latency_max").unwrap().value;
    assert_eq!(micros(&outcomes[6].latencies[1], 100.0), io);
    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("| case | count | p50 | p90 | p99 | p99.9 | p99.99 | longest |"));
    for row in [
        "\n| exchange | 12 | ",
        "\n| two, io | ",
        "\n| two, more | 20 | ",
    ] {
        assert!(table.contains(row), "{row:?}: {table}");
    }
    kept_and_written(&scenario, outcomes);
}

/// Outcomes come back whole, and lines have their buckets.
fn kept_and_written(scenario: &Scenario, outcomes: Vec<Outcome>) {
    let text = json_lines([(scenario, &outcomes[..])]);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let counted = |case: &str, job: Option<&str>| {
        let of = |line: &&serde_json::Value| {
            line["kind"] == "bucket" && line["case"] == case && line["job"].as_str() == job
        };
        let buckets = lines.iter().filter(of);
        buckets
            .map(|line| line["count"].as_u64().unwrap())
            .sum::<u64>()
    };
    for (case, outcome) in scenario.cases.iter().zip(&outcomes) {
        for of in &outcome.latencies {
            let count = of.histogram.count();
            assert_eq!(
                counted(&case.name, of.job.as_deref()),
                count,
                "{}",
                case.name
            );
        }
    }
    let named = outcomes.iter().zip(0..);
    let named = named.map(|(outcome, number)| (format!("{number}"), outcome.clone()));
    let kept = OutcomeStore(named.collect());
    let back = OutcomeStore::from_text(&kept.to_text()).unwrap();
    for ((_, back), outcome) in back.0.iter().zip(&outcomes) {
        assert_eq!(back.latencies, outcome.latencies);
    }
}

/// Runs with other seeds are counted together; without the setting nothing is printed.
#[test]
fn several_runs_are_counted_together() {
    let text = "fabric one-switch:4\nruns 3\ntraffic uniform bytes=2112 load=0.5 span=20us\n";
    let (scenario, together) = run(text);
    let one = |seed: u64| {
        let alone: Scenario = text.replace("runs 3", "runs 1").parse().unwrap();
        weft_lab::experiment::perform(&alone.cases[0], seed, 1).unwrap()
    };
    let mut counted = one(1).latencies.remove(0).histogram;
    for seed in [2, 3] {
        counted.merge(&one(seed).latencies[0].histogram);
    }
    assert_eq!(together[0].latencies[0].histogram, counted);
    assert!(!report::table(&scenario, &together).contains("p99.99"));
    assert!(!json_lines([(&scenario, &together[..])]).contains("\"bucket\""));
}

/// The number of threads changes nothing.
#[test]
fn threads_count_the_same_packets() {
    let text =
        "fabric fattree:32,radix=8\nlanes 4\ntraffic uniform bytes=2112 load=0.7 span=30us\n";
    let scenario: Scenario = text.parse().unwrap();
    let of = |threads| {
        let outcome = weft_lab::experiment::perform(&scenario.cases[0], 1, threads);
        outcome.unwrap().latencies
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn times_are_plotted_as_shares() {
    let text = "experiment T\nfabric one-switch:4\nplot latencies Within\nplot latencies log Longer\n\
                latencies on\ntraffic uniform bytes=2112 span=30us\n\
                case low\ntraffic uniform bytes=2112 load=0.2 span=30us\ncase full\n\
                case not\nlatencies off\n";
    let (scenario, outcomes) = run(text);
    for plot in &scenario.plots {
        let svg = chart::draw(&scenario, &outcomes, plot).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 2, "{svg}");
        assert!(svg.contains(">low</text>") && !svg.contains(">not</text>"));
        let up = if plot.logarithmic {
            "% longer"
        } else {
            "% within"
        };
        assert!(svg.contains(up), "{svg}");
        for line in svg.split("<polyline points=\"").skip(1) {
            let places = line.split('"').next().unwrap().split(' ');
            let places: Vec<(f64, f64)> = places
                .map(|place| place.split_once(',').unwrap())
                .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
                .collect();
            assert!(places.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            // Upwards is less.
            let rises = places.windows(2).all(|pair| pair[0].1 >= pair[1].1);
            let falls = places.windows(2).all(|pair| pair[0].1 <= pair[1].1);
            assert!(if plot.logarithmic { falls } else { rises });
        }
    }
    let none = error("fabric one-switch:4\nplot latencies Times\ntraffic osu_latency");
    assert!(none.starts_with("line 2: no case has the times"), "{none}");
    let over = error("fabric one-switch:4\nplot latencies over bytes Times\ntraffic osu_latency");
    assert!(over.contains("without over"), "{over}");
}
