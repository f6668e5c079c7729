//! The program: jobs, stored outcomes and resuming, plots and the document.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use weft_lab::experiment::outcome_store::OutcomeStore;

const SCENARIO: &str = "experiment T: a test\nfabric one-switch:4\n\
    plot latency Latencies\nplot rate over bytes log Rates\n\
    case small\ntraffic osu_latency bytes=1 iterations=2\npublished latency 0.93 5%\n\
    case sizes\ntraffic osu_bw window=2 skip=0 iterations=1\nsweep bytes 8 1K 64K\n\
    case wrong\ntraffic osu_latency bytes=1 iterations=2\npublished latency 2 5%\n";

fn weft_lab(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let command = command.current_dir(directory).arg("run");
    command.args(arguments).arg("t.scenario").output().unwrap()
}

fn stage() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("t.scenario"), SCENARIO).unwrap();
    directory
}

#[test]
fn the_number_of_jobs_changes_nothing_and_a_wrong_figure_is_told() {
    let stage = stage();
    let one = weft_lab(stage.path(), &[]);
    let three = weft_lab(stage.path(), &["--jobs", "3"]);
    assert_eq!(one.status.code(), Some(1));
    let text = String::from_utf8(one.stdout).unwrap();
    assert_eq!(text, String::from_utf8(three.stdout).unwrap());
    assert_eq!(text.matches('✗').count(), 1, "{text}");
    // Nothing of the progress where there is no terminal.
    assert_eq!(String::from_utf8(one.stderr).unwrap(), "");
}

#[test]
fn a_run_goes_on_with_what_was_kept() {
    let stage = stage();
    let state = stage.path().join("state");
    let first = weft_lab(stage.path(), &["--state", "state"]);
    let kept = fs::read_to_string(&state).unwrap();
    assert_eq!(
        kept.lines()
            .filter(|line| line.starts_with("case\t"))
            .count(),
        4,
        "two cases differ in what was published only"
    );
    // A run that resumes from nothing does not overwrite stored outcomes.
    let again = weft_lab(stage.path(), &["--state", "state"]);
    let error = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(error.contains("--resume"), "{error}");
    assert_eq!(fs::read_to_string(&state).unwrap(), kept);
    let metric = kept
        .lines()
        .find(|line| line.starts_with("metric\tlatency\t"))
        .unwrap();
    let other = format!("metric\tlatency\t{:x}\tus", 0.95_f64.to_bits());
    fs::write(&state, kept.replace(metric, &other)).unwrap();
    let damaged = weft_lab(stage.path(), &["--state", "state", "--resume"]);
    assert_eq!(damaged.status.code(), Some(2));
    let error = String::from_utf8(damaged.stderr).unwrap();
    assert!(error.contains("checksum"), "{error}");
    // Without the last case, as an interruption leaves it.
    let mut unfinished = OutcomeStore::from_text(&kept).unwrap();
    unfinished.0.pop();
    fs::write(&state, unfinished.to_text()).unwrap();
    let second = weft_lab(stage.path(), &["--state", "state", "--resume"]);
    assert_eq!(second.stdout, first.stdout);
    assert_eq!(fs::read_to_string(&state).unwrap(), kept);
    // A latency that the model never gives shows that the stored outcome is used.
    unfinished.0[0].1.measurements[0].value = 0.777;
    fs::write(&state, unfinished.to_text()).unwrap();
    let third = weft_lab(stage.path(), &["--state", "state", "--resume"]);
    let text = String::from_utf8(third.stdout).unwrap();
    assert!(text.contains("| small | latency | 0.7770 us |"), "{text}");
}

#[test]
fn the_document_keeps_what_stands_around_its_results() {
    let stage = stage();
    let document = stage.path().join("doc.md");
    fs::write(
        &document,
        "before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n",
    )
    .unwrap();
    let arguments = ["--svg", "plots", "--markdown", "doc.md"];
    let output = weft_lab(stage.path(), &arguments);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let text = fs::read_to_string(&document).unwrap();
    assert!(text.starts_with("before\n<!-- results -->\n"), "{text}");
    assert!(text.ends_with("<!-- end of results -->\nafter\n"), "{text}");
    assert!(
        text.contains("![Rates](plots/t-2.svg)") && !text.contains("old"),
        "{text}"
    );
    for (number, shape) in [(1, "<rect x"), (2, "<circle")] {
        let svg = fs::read_to_string(stage.path().join(format!("plots/t-{number}.svg"))).unwrap();
        assert!(svg.starts_with("<svg ") && svg.contains(shape), "{svg}");
    }
    fs::write(&document, "no marks").unwrap();
    let output = weft_lab(stage.path(), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&document).unwrap(), "no marks");
}

const MARKS: &str = "<!-- results -->\n<!-- end of results -->\n";

#[test]
fn links_lead_from_the_document_to_the_plots() {
    let stage = stage();
    fs::create_dir(stage.path().join("docs")).unwrap();
    let document = stage.path().join("docs/doc.md");
    let whole = stage.path().join("my plots");
    for (plots, link) in [
        ("docs/plots", "](plots/t-1.svg)"),
        ("./docs/plots", "](plots/t-1.svg)"),
        ("plots", "](../plots/t-1.svg)"),
        (whole.to_str().unwrap(), "](<../my plots/t-1.svg>)"),
    ] {
        fs::write(&document, MARKS).unwrap();
        let output = weft_lab(
            stage.path(),
            &["--svg", plots, "--markdown", "./docs/doc.md"],
        );
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let text = fs::read_to_string(&document).unwrap();
        assert!(text.contains(link), "{plots}: {text}");
    }
}

/// A case that would fail shows whether the work has begun.
#[test]
fn what_cannot_be_written_is_told_before_the_work() {
    let stage = stage();
    let text = "fabric one-switch:2\ntraffic osu_bw\nlimit 1us\n";
    fs::write(stage.path().join("t.scenario"), text).unwrap();
    fs::write(stage.path().join("no-marks.md"), "text").unwrap();
    fs::create_dir(stage.path().join("sub")).unwrap();
    fs::copy(
        stage.path().join("t.scenario"),
        stage.path().join("sub/t.scenario"),
    )
    .unwrap();
    for (arguments, what) in [
        (&["--markdown", "no-marks.md"][..], "no line"),
        (&["--markdown", "none.md"], "none.md: No such file"),
        (&["--svg", "no-marks.md"], "no-marks.md: "),
        (&["--svg", "plots", "sub/t.scenario"], "same names"),
        (&["--state", "none/state"], "none/state: No such file"),
        (&[], "not ended"),
    ] {
        let output = weft_lab(stage.path(), arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(error.contains(what), "{arguments:?}: {error}");
    }
}

#[test]
fn csv_has_one_header_and_names_the_experiment() {
    let stage = stage();
    let other = "fabric one-switch:2\ncase a|b\ntraffic osu_latency iterations=1\n";
    fs::write(stage.path().join("other.scenario"), other).unwrap();
    let output = weft_lab(stage.path(), &["other.scenario", "--csv"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("experiment,case,metric").count(), 1, "{text}");
    assert!(text.contains("\nother,a|b,latency,"), "{text}");
    assert!(text.contains("\nT: a test,small,latency,"), "{text}");
    assert!(text.contains(",sizes,bytes,8,,\n"), "{text}");
    // The page in a browser is tested with such a file.
    let page = include_str!("../../../web/page/tests/browser/results.csv");
    assert_eq!(text.lines().next(), page.lines().next());
    let output = weft_lab(stage.path(), &["other.scenario"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n| a\\|b | latency | "), "{text}");
    assert!(text.contains("\n| a\\|b | 0."), "{text}");
}

#[test]
fn a_setting_can_be_taken_instead_of_all_of_its_name() {
    let stage = stage();
    let other = weft_lab(stage.path(), &["--csv", "--set", "sweep bytes 8"]);
    let text = String::from_utf8(other.stdout).unwrap();
    assert!(
        text.contains("sizes, bytes 8,") || text.contains("\"sizes, bytes 8\""),
        "{text}"
    );
    assert!(!text.contains("bytes 1K"), "{text}");
    // Of sweeps and variables those of that name.
    let several = "let bytes 8\nlet iterations 1\nfabric one-switch:2\nsweep lmc 0 1\nsweep ranks 1 2\n\
                   traffic osu_latency bytes=$bytes iterations=$iterations\ncase $bytes\n";
    fs::write(stage.path().join("several.scenario"), several).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let command = command.current_dir(stage.path());
    let set = [
        "--set",
        "sweep ranks 3",
        "--set",
        "let bytes 16",
        "--json",
        "all.jsonl",
    ];
    let output = command
        .args(["run", "several.scenario"])
        .args(set)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = fs::read_to_string(stage.path().join("all.jsonl")).unwrap();
    for wanted in ["\"16, lmc 0, ranks 3\"", "\"16, lmc 1, ranks 3\""] {
        assert!(lines.contains(wanted), "{lines}");
    }
    assert!(!lines.contains("ranks 1"), "{lines}");
    // None of another name.
    for (setting, what) in [
        ("let hosts 4", "no line has this setting"),
        ("sweep bytes 8", "no line has this setting"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
        let command = command.current_dir(stage.path());
        let arguments = ["run", "several.scenario", "--set", setting];
        let refused = command.args(arguments).output().unwrap();
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(error.contains(what), "{setting:?}: {error}");
    }
    for (setting, code, what) in [
        ("speed 3", 2, "no line has this setting"),
        ("", 2, "no line has this setting"),
        ("sweep speed 1", 2, "line 10: unknown thing to sweep"),
    ] {
        let refused = weft_lab(stage.path(), &["--set", setting]);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(code), "{error}");
        assert!(error.contains(what), "{setting:?}: {error}");
    }
}

#[test]
fn endless_files_are_refused() {
    let stage = stage();
    let text = "fabric one-switch:2\ntraffic osu_bw\n";
    fs::write(stage.path().join("t.scenario"), text).unwrap();
    let refused = |arguments: &[&str], what: &str| {
        let output = weft_lab(stage.path(), arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(what), "{error}");
    };
    refused(&["/dev/zero"], "/dev/zero is longer than 1048576 bytes");
    refused(
        &["--state", "/dev/zero", "--resume"],
        "/dev/zero is longer than",
    );
    let config = format!("{text}config /dev/zero\n");
    fs::write(stage.path().join("t.scenario"), config).unwrap();
    refused(&[], "line 3: /dev/zero is longer than");
}

#[test]
fn files_are_looked_for_beside_the_scenario() {
    let stage = tempfile::tempdir().unwrap();
    let fabric = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/four-hosts.ibnetdiscover"
    );
    fs::create_dir(stage.path().join("sub")).unwrap();
    fs::copy(fabric, stage.path().join("sub/four.ibnetdiscover")).unwrap();
    let text = "fabric four.ibnetdiscover\ntraffic osu_latency iterations=1\n";
    fs::write(stage.path().join("sub/s.scenario"), text).unwrap();
    let text = text.replace("four.ibn", "sub/four.ibn");
    fs::write(stage.path().join("t.scenario"), &text).unwrap();
    let output = weft_lab(stage.path(), &["sub/s.scenario"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
    fs::write(stage.path().join("t.scenario"), text.replace("sub/", "")).unwrap();
    let output = weft_lab(stage.path(), &[]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        error.contains("t.scenario: line 1: four.ibnetdiscover: "),
        "{error}"
    );
}

#[test]
fn a_named_file_with_other_contents_makes_another_scenario() {
    let stage = stage();
    let fabric = |name: &str| {
        let text = include_str!("../../../../examples/four-hosts.ibnetdiscover");
        let text = text.replace("edge1", name);
        fs::write(stage.path().join("f.ibnetdiscover"), text).unwrap();
    };
    let text = "fabric f.ibnetdiscover\ntraffic osu_latency iterations=1\n";
    fs::write(stage.path().join("t.scenario"), text).unwrap();
    let kept = || {
        weft_lab(stage.path(), &["--state", "state", "--resume"]);
        let state = fs::read_to_string(stage.path().join("state")).unwrap();
        state.matches("case\t").count()
    };
    fabric("edge1");
    assert_eq!([kept(), kept()], [1, 1]);
    fabric("edge9");
    assert_eq!(kept(), 2);
}

#[test]
fn a_scenario_that_is_given_twice_comes_out_twice() {
    let stage = stage();
    fs::copy(
        stage.path().join("t.scenario"),
        stage.path().join("u.scenario"),
    )
    .unwrap();
    let once = weft_lab(stage.path(), &[]);
    let twice = weft_lab(stage.path(), &["u.scenario", "--state", "state"]);
    let once = String::from_utf8(once.stdout).unwrap();
    let twice_out = String::from_utf8(twice.stdout).unwrap();
    assert_eq!(twice_out, once.repeat(2));
    assert_eq!(twice.status.code(), Some(1));
    // Each case was performed once, and one of two that differ in what was published only.
    let kept = fs::read_to_string(stage.path().join("state")).unwrap();
    assert_eq!(kept.matches("case\t").count(), 4);
}

/// A scenario whose traffic is a file: a message of 1 MiB to each of three hosts.
const FROM_FILE: &str = "experiment F\nfabric one-switch:4\ntraffic file=three.pairs\nlinks on\n\
    published time above 0 given time goes on\n";

fn with_json(stage: &Path) -> Vec<serde_json::Value> {
    fs::write(stage.join("t.scenario"), FROM_FILE).unwrap();
    fs::write(stage.join("three.pairs"), "0 1 1M\n0 2 1M\n0 3 1M\n").unwrap();
    let output = weft_lab(stage, &["--json", "results.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = fs::read_to_string(stage.join("results.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

#[test]
fn results_are_written_as_json_lines() {
    let stage = tempfile::tempdir().unwrap();
    let lines = with_json(stage.path());
    let of = |kind: &str| {
        let lines = lines.iter().filter(|line| line["kind"] == kind);
        lines.collect::<Vec<_>>()
    };
    let count = |kind: &str| of(kind).len();
    assert_eq!(
        ["measurement", "run", "rank", "latency"].map(count),
        [1, 1, 4, 6]
    );
    assert!(count("link") >= 4, "{lines:?}");
    assert_eq!(of("measurement")[0]["verdict"], "given");
    let sent: Vec<u64> = of("rank")
        .iter()
        .map(|line| line["bytes_sent"].as_u64().unwrap())
        .collect();
    assert_eq!(sent, [3 << 20, 0, 0, 0]);
    // The last message has come when the traffic has ended.
    let time = of("measurement")[0]["value"].as_f64().unwrap();
    let longest = of("latency")[5];
    assert_eq!(longest["percentile"], 100.0);
    assert!(
        (longest["us"].as_f64().unwrap() - time).abs() < 1e-6,
        "{longest}"
    );
    let half = of("latency")[0]["us"].as_f64().unwrap();
    assert!(half > 0.0 && half < time, "{half}");
    // What was kept comes back.
    let run = |arguments: &[&str]| weft_lab(stage.path(), arguments);
    assert!(run(&["--state", "state"]).status.success());
    let again = run(&["--state", "state", "--resume", "--json", "again.jsonl"]);
    assert!(again.status.success());
    let read = |name: &str| fs::read_to_string(stage.path().join(name)).unwrap();
    assert_eq!(read("results.jsonl"), read("again.jsonl"));
    let nowhere = run(&["--json", "nowhere/results.jsonl"]);
    assert_eq!(nowhere.status.code(), Some(2));
}

/// What was published and is not measured is a miss, as in tables; several runs have their least and most, and
/// a curve of methods says them.
#[test]
fn json_lines_have_what_tables_have() {
    let stage = tempfile::tempdir().unwrap();
    let text = "experiment S\nfabric one-switch:4\nruns 3\n\
                case a\ntraffic osu_latency iterations=1\nbackground uniform load=0.5\npublished rate 1 5%\n\
                published latency 1 1% given it is\n\
                case b\ntraffic osu_bw skip=0 iterations=1\nsweep bytes 8 1M\n";
    fs::write(stage.path().join("t.scenario"), text).unwrap();
    let output = weft_lab(stage.path(), &["--json", "results.jsonl"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = fs::read_to_string(stage.path().join("results.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    let of = |key: &str, value: &str| lines.iter().find(|line| line[key] == value).unwrap();
    let rate = of("metric", "rate");
    assert_eq!(
        (&rate["case"], &rate["published"], &rate["verdict"]),
        (&"a".into(), &"1 ± 5 %".into(), &"missed".into())
    );
    assert!(rate.get("value").is_none() && rate.get("unit").is_none());
    let latency = of("metric", "latency");
    let [least, value, most] = ["least", "value", "most"].map(|key| latency[key].as_f64().unwrap());
    assert!(least < value && value < most, "{latency}");
    let methods = lines.iter().filter_map(|line| line["method"].as_str());
    assert_eq!(methods.collect::<Vec<_>>(), ["inject", "rendezvous"]);
}

/// The example in Python prints the tables of these results.
#[test]
fn results_are_read_in_python() {
    let Ok(python) = std::env::var("WEFT_PARQUET_READERS") else {
        weft_peers::not_run("WEFT_PARQUET_READERS names no Python that has duckdb");
        return;
    };
    let stage = tempfile::tempdir().unwrap();
    with_json(stage.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/results.py");
    let run = |command: &mut Command| {
        let output = command.current_dir(stage.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let told = run(Command::new(&python).arg(&script).arg("results.jsonl"));
    for part in [
        "metrics: 1\n",
        "\ttime\t",
        "\tgiven\n",
        "ranks: 4\n",
        "\t3145728\n",
        "latencies: 6\n",
    ] {
        assert!(told.contains(part), "{part:?}: {told}");
    }
}

/// The other example in Python prints what happened over time.
#[test]
fn what_happened_over_time_is_read_with_pandas() {
    let Ok(python) = std::env::var("WEFT_PARQUET_READERS") else {
        weft_peers::not_run("WEFT_PARQUET_READERS names no Python that has pandas");
        return;
    };
    let stage = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let command = command.current_dir(stage.path());
    let command = command.args(["run", "--parquet", "results"]);
    let output = command.arg(examples.join("timeline.scenario")).output();
    assert!(output.unwrap().status.success());
    let mut command = Command::new(&python);
    let command = command.current_dir(stage.path());
    let command = command.arg(examples.join("timeline.py")).arg("results");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let told = String::from_utf8(output.stdout).unwrap();
    // A table's lines, without its head.
    let table = |name: &str| {
        let (_, table) = told.split_once(&format!("{name}\n")).unwrap();
        let rows = table.lines().skip(2);
        let rows = rows.map_while(|line| {
            let cells = line.split_whitespace();
            cells
                .map(|cell| cell.parse::<f64>().ok())
                .collect::<Option<Vec<f64>>>()
        });
        rows.collect::<Vec<_>>()
    };
    for (case, at, rate) in [
        ("undisturbed", 8_000.0, 12.6),
        ("half of the lanes go", 11_000.0, 6.3),
    ] {
        let jobs = table(&format!("{case}: GB/s of each job"));
        let own = |at: f64| jobs.iter().find(|row| row[0] == at).unwrap()[1];
        // Alone, beside the other, and alone again. Each message of 1 MiB counts where it comes.
        for (at, rate) in [(1_500.0, 12.6), (3_500.0, 6.3), (at, rate)] {
            assert!((own(at) - rate).abs() < 2.2, "{case}, {at}: {told}");
        }
        let links = table(&format!("{case}: percent of each link"));
        assert_eq!(links.len(), jobs.len());
        assert!(told.contains(&format!("{case}: slowest messages")));
    }
}

/// The file only grows: what is in it stays as it is, an end that was being written is cut off, and no other process writes
/// meanwhile.
#[test]
fn outcomes_are_added_to_the_file() {
    let stage = stage();
    let state = stage.path().join("state");
    let run =
        |arguments: &[&str]| weft_lab(stage.path(), &[&["--state", "state"], arguments].concat());
    let one = run(&["--set", "sweep bytes 8"]);
    assert_eq!(one.status.code(), Some(1));
    let before = fs::read(&state).unwrap();
    let all = run(&["--resume"]);
    let after = fs::read(&state).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
    for cut in [1, 12, 100] {
        fs::write(&state, &after[..after.len() - cut]).unwrap();
        assert_eq!(run(&["--resume"]).stdout, all.stdout, "{cut}");
        assert!(fs::read(&state).unwrap() == after, "{cut}");
    }
    let file = fs::OpenOptions::new().append(true).open(&state).unwrap();
    file.lock().unwrap();
    let refused = run(&["--resume"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(error, "weft-lab: state: another process writes it\n");
    file.unlock().unwrap();
    let old = "weft-lab state 7, version 0.1.0, model 8\nsum\t00000000\n";
    fs::write(&state, old).unwrap();
    let refused = run(&["--resume"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(
        error.contains("state 7") && error.contains("begin anew without --resume"),
        "{error}"
    );
}
