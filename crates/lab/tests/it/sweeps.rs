//! Several sweeps of a case, and variables.

use weft_lab::experiment::{
    Case, Measurement, Outcome, Scenario, chart, compare, json_lines, perform_all, report,
};
use weft_routing::EngineKind;

const TAPERS: &str = include_str!("../../../../examples/tapers.scenario");
const HEAD: &str = "fabric pgft:2;4,2;1,2;1,2\ntraffic alltoall bytes=8\n";

fn names(scenario: &Scenario) -> Vec<&str> {
    let names = scenario.cases.iter().map(|case| case.name.as_str());
    names.collect()
}

#[test]
fn each_value_of_a_sweep_meets_each_of_another() {
    let text = format!("{HEAD}case a\nsweep bytes 8 1K\nsweep uplinks 2 1\nsweep lmc 0 1");
    let scenario: Scenario = text.parse().unwrap();
    let wanted = [
        "a, bytes 8, uplinks 2, lmc 0",
        "a, bytes 1K, uplinks 2, lmc 0",
        "a, bytes 8, uplinks 1, lmc 0",
        "a, bytes 1K, uplinks 1, lmc 0",
        "a, bytes 8, uplinks 2, lmc 1",
        "a, bytes 1K, uplinks 2, lmc 1",
        "a, bytes 8, uplinks 1, lmc 1",
        "a, bytes 1K, uplinks 1, lmc 1",
    ];
    assert_eq!(names(&scenario), wanted);
    let told = |case: &Case| {
        let point = case.point.clone().unwrap();
        let swept = ["bytes", "uplinks", "lmc"].map(|word| point.value(word).unwrap());
        (swept, case.uplinks, case.manager.lmc)
    };
    let last = scenario.cases.last().unwrap();
    assert_eq!(told(last), ([1024.0, 1.0, 1.0], Some(1), 1));
    let point = last.point.as_ref().unwrap();
    assert_eq!(point.curve("bytes"), "a, uplinks 1, lmc 1");
    assert_eq!(point.curve("lmc"), "a, bytes 1K, uplinks 1");
}

/// The first sweep of a case is in place of those that all cases have.
#[test]
fn a_case_that_sweeps_has_only_its_own_sweeps() {
    let text = format!("{HEAD}sweep bytes 8 16\nsweep lmc 0 1\ncase a\ncase b\nsweep ranks 1 2");
    let scenario: Scenario = text.parse().unwrap();
    let wanted = [
        "a, bytes 8, lmc 0",
        "a, bytes 16, lmc 0",
        "a, bytes 8, lmc 1",
        "a, bytes 16, lmc 1",
        "b, ranks 1",
        "b, ranks 2",
    ];
    assert_eq!(names(&scenario), wanted);
}

#[test]
fn sweeps_that_cannot_be_are_refused_with_their_line() {
    let numbers = |end: u32| (1..=end).map(|one| format!(" {one}")).collect::<String>();
    for (text, line, what) in [
        (
            "sweep bytes 8\nsweep bytes 16".to_owned(),
            4,
            "sweep bytes is in line 3 already",
        ),
        (
            "sweep bytes 8\nsweep lmc 0\nsweep ranks 1\nsweep lanes 1".to_owned(),
            6,
            "4 sweeps of a case, allowed: 3",
        ),
        (
            format!("sweep bytes{}\nsweep ranks{}", numbers(101), numbers(10)),
            4,
            "1010 cases, allowed: 1000",
        ),
        (
            "sweep bytes 8 16\nsweep lmc 0 9".to_owned(),
            4,
            "from 0 to 7",
        ),
        (
            "sweep bytes 8 16\nsweep lmc 0 1\npublished time above 0 at 8".to_owned(),
            5,
            "at 8: of which sweep? allowed: at bytes VALUE …, lmc VALUE …",
        ),
        (
            "sweep bytes 8\nsweep lmc 0\npublished time above 0 at ranks 1".to_owned(),
            5,
            "ranks is not swept, allowed: bytes, lmc",
        ),
        (
            "sweep bytes 8\nsweep lmc 0\npublished time above 0 at bytes 8 lmc 1".to_owned(),
            5,
            "lmc 1 is not swept, allowed: 0",
        ),
        (
            "sweep bytes 8 16\npublished time above 0 at bytes 8 bytes 16".to_owned(),
            4,
            "has values of bytes twice, allowed: at bytes VALUE …",
        ),
        (
            "sweep bytes 8 16\npublished time above 0 at 8 bytes 16".to_owned(),
            4,
            "has values of bytes twice",
        ),
        (
            "sweep bytes 8 16\nsweep lmc 0 1\npublished time above 0 at bytes 16 lmc 1\n\
             published time above 1 at lmc 1 bytes 8 16"
                .to_owned(),
            6,
            "published time is in line 5 already for some of these values",
        ),
        (
            "case a\nsweep bytes 8 16\nsweep lmc 0 1\ncase a, lmc 1\nsweep bytes 32 64".to_owned(),
            7,
            "cases \"a\" and \"a, lmc 1\" have one curve \"a, lmc 1\"",
        ),
        (
            "published time above 0 at bytes lmc 1".to_owned(),
            3,
            "at WORD VALUE …",
        ),
        (
            "sweep bytes 8\npublished time above 0 at bytes 8\npublished time above 1 at bytes 8"
                .to_owned(),
            5,
            "published time at bytes 8 is in line 4 already",
        ),
        (
            "case a\nsweep bytes 8\nsweep lmc 0\ncase b\nsweep bytes 8\nbaseline a".to_owned(),
            8,
            "only a case that sweeps lmc can be compared",
        ),
    ] {
        let error = format!("{HEAD}{text}").parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
}

/// Figures for some values of each sweep are those of the cases there, in whatever order they are written; one for more
/// counts elsewhere.
#[test]
fn figures_are_published_at_values_of_each_sweep() {
    let text = format!(
        "{HEAD}sweep bytes 8 16\nsweep lmc 0 1\npublished time above 0\n\
         published time above 1 at lmc 1\npublished time above 2 at bytes 16 lmc 1"
    );
    let mut turned: Vec<&str> = text.lines().collect();
    turned[4..].reverse();
    for text in [turned.join("\n"), text] {
        let scenario: Scenario = text.parse().unwrap();
        let figures = scenario.cases.iter().map(|case| {
            assert_eq!(case.published.len(), 1, "{}", case.name);
            case.figure("time").unwrap().with_unit("us")
        });
        let wanted = ["> 0 us", "> 0 us", "> 1 us", "> 2 us"];
        assert_eq!(figures.collect::<Vec<_>>(), wanted);
    }
}

/// A table has both values; a plot over one of them has a curve for each value of the other; results have both.
#[test]
fn results_show_both_values() {
    let scenario: Scenario = TAPERS.parse().unwrap();
    assert_eq!(scenario.cases.len(), 18);
    let outcomes = perform_all(&scenario, 0, |_, _| {}).unwrap();
    let time = |name: &str| {
        let place = names(&scenario).iter().position(|one| *one == name);
        outcomes[place.unwrap()].get("time").unwrap().value
    };
    let (wide, narrow) = (
        time("one LID, bytes 256K, uplinks 4"),
        time("one LID, bytes 256K, uplinks 1"),
    );
    assert!(narrow > 1.5 * wide, "{narrow} and {wide}");
    let four = time("four LIDs, bytes 256K, uplinks 2");
    let one = time("one LID, bytes 256K, uplinks 2");
    let compared = outcomes[9 + 3 + 2].get("shorter").unwrap().value;
    assert!((compared - 100.0 * (1.0 - four / one)).abs() < 1e-9);

    let table = report::table(&scenario, &outcomes);
    assert!(table.contains("\n| bytes | uplinks | "), "{table}");
    assert!(table.contains("\n| 262144 | 1 | "), "{table}");
    let [over_bytes, over_uplinks] = [0, 1].map(|plot| {
        let svg = chart::draw(&scenario, &outcomes, &scenario.plots[plot]).unwrap();
        assert!(!svg.contains("NaN"), "{svg}");
        svg
    });
    assert!(over_bytes.contains(">one LID, uplinks 2<"), "{over_bytes}");
    assert_eq!(over_bytes.matches("<polyline").count(), 6);
    assert!(
        over_uplinks.contains(">one LID, bytes 64K<"),
        "{over_uplinks}"
    );
    assert_eq!(over_uplinks.matches("<polyline").count(), 6);

    let results = || [(&scenario, &outcomes[..])];
    let csv = report::csv(results());
    let line = "\"one LID, bytes 4K, uplinks 2\",time,";
    assert!(csv.contains(line), "{csv}");
    assert!(csv.contains(",\"one LID, uplinks 2\",bytes,4096,"), "{csv}");
    let lines = json_lines(results());
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let one = lines.filter(|line: &serde_json::Value| {
        line["kind"] == "run" && line["swept_2"] == "uplinks" && line["at_2"] == 2.0
    });
    let wanted = ["one LID", "four LIDs"];
    let wanted = wanted.map(|series| [4096.0, 65536.0, 262144.0].map(|at| (series, at)));
    let found: Vec<serde_json::Value> = one.collect();
    let found: Vec<(&str, f64)> = found
        .iter()
        .map(|line| {
            (
                line["series"].as_str().unwrap(),
                line["at"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, wanted.concat());
}

#[test]
fn variables_stand_for_their_values_in_later_lines() {
    let text = "let hosts 8\nlet fabric one-switch:$hosts\nexperiment $hosts on $fabric for 5$\n\
                fabric $fabric\ntraffic alltoall bytes=$hosts\ncase $hosts$hosts\nlet size 64K # bytes\n\
                sweep bytes $hosts $size\ncase b\nhosts $hosts";
    let scenario: Scenario = text.parse().unwrap();
    assert_eq!(scenario.title, "8 on one-switch:8 for 5$");
    assert_eq!(names(&scenario), ["88, bytes 8", "88, bytes 64K", "b"]);
    assert_eq!(scenario.cases[2].hosts, Some(8));
}

#[test]
fn wrong_variables_are_refused_with_what_is_allowed() {
    let many = |count: u32| {
        (0..count)
            .map(|one| format!("let v{one} 1\n"))
            .collect::<String>()
    };
    let long = "x".repeat(16_000);
    for (text, line, what) in [
        (
            "fabric $tree".to_owned(),
            1,
            "$tree has no value, allowed: a line let tree VALUE before",
        ),
        (
            "let a 1\nlet b 2\nfabric $tree".to_owned(),
            3,
            "$tree has no value, allowed: a, b, or a line let tree VALUE before",
        ),
        ("let a".to_owned(), 1, "not of the form NAME VALUE"),
        ("let 2a 1".to_owned(), 1, "begins with a letter"),
        ("let A 1".to_owned(), 1, "a to z, 0 to 9 and _"),
        (
            "let a 1\nlet a 2".to_owned(),
            2,
            "a is set in line 1 already",
        ),
        (many(257), 257, "257 variables, allowed: 256"),
        (
            format!("let a {long}\nexperiment $a$a"),
            2,
            "bytes in a line with its variables, allowed: 16384",
        ),
        (
            format!("let a {long}\n{}", "plot time $a\n".repeat(70)),
            66,
            "bytes in a scenario with its variables, allowed: 1048576",
        ),
    ] {
        let error = text.parse::<Scenario>().unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.what.contains(what), "{error}");
    }
}

/// Words are swept as cases and curves of their own, each compared with the baseline at the same words.
#[test]
fn words_are_swept_as_cases_of_their_own() {
    let text = "fabric fattree:8,radix=4\ntraffic alltoall bytes=8\nsweep engine fattree dmodc\n\
                sweep bytes 8 64\nsweep queueing oldest fifo\ncase a\nplot time over bytes T\n\
                case b\nlmc 1\nbaseline a\n";
    let scenario: Scenario = text.parse().unwrap();
    let names: Vec<&str> = scenario.cases.iter().map(|case| &case.name[..]).collect();
    assert_eq!(names.len(), 2 * 8);
    assert_eq!(names[0], "a, engine fattree, bytes 8, queueing oldest");
    assert_eq!(names[7], "a, engine dmodc, bytes 64, queueing fifo");
    let engine = |at: usize| scenario.cases[at].manager.engine;
    assert_eq!(engine(0), EngineKind::FatTree);
    assert_eq!(engine(1), EngineKind::Dmodc);
    let last = &scenario.cases[15];
    let point = last.point.as_ref().unwrap();
    assert_eq!(point.curve("bytes"), "b, engine dmodc, queueing fifo");
    assert_eq!(
        last.baseline.as_deref(),
        Some("a, engine dmodc, queueing fifo")
    );
    let mut outcomes: Vec<Outcome> = (1..=16)
        .map(|time| Outcome {
            measurements: vec![Measurement {
                metric: "time".into(),
                value: f64::from(time),
                unit: "us".into(),
                spread: None,
            }],
            ..Outcome::default()
        })
        .collect();
    compare(&scenario, &mut outcomes);
    for at in 8..16 {
        let (here, there) = ((at + 1) as f64, (at - 7) as f64);
        let wanted = 100.0 * (1.0 - here / there);
        assert_eq!(
            outcomes[at].get("shorter").unwrap().value,
            wanted,
            "{}",
            names[at]
        );
    }
}

#[test]
fn wrong_words_are_refused_with_what_is_allowed() {
    let head = "fabric one-switch:2\ntraffic osu_latency\n";
    for (lines, told) in [
        ("sweep engine dmodc dmodc", "dmodc is swept twice"),
        (
            "sweep engine dmodk",
            "unknown engine \"dmodk\", allowed: auto, ",
        ),
        (
            "sweep stack tcp",
            "unknown stack \"tcp\", allowed: psm2, opx, verbs, sockets",
        ),
        ("sweep title a", "head-of-queue, adaptive"),
        (
            "plot latency over engine T",
            "unknown thing to sweep \"engine\"",
        ),
        (
            "case a\nsweep stack psm2\ncase b\nsweep stack psm2 opx\nbaseline a",
            "case \"a\" does not sweep all these words of stack",
        ),
        (
            "case a\nsweep stack psm2\ncase b\nbaseline a",
            "only a case that sweeps stack",
        ),
    ] {
        let error = format!("{head}{lines}").parse::<Scenario>().unwrap_err();
        assert!(error.to_string().contains(told), "{lines}: {error}");
    }
}
