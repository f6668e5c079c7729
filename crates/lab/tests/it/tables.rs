//! Results as Parquet: what its own reader and those of other programs find is what JSON Lines have.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use serde_json::{Map, Value, json};

/// Each kind of a result: curves, several runs, a figure that was not measured, links, ranks, messages, intervals.
const SCENARIOS: [(&str, &str); 2] = [
    (
        "one.scenario",
        "experiment One: näme\nfabric one-switch:4\nruns 3\nlinks on\n\
         case a\ntraffic osu_latency iterations=1\nbackground uniform load=0.5\npublished rate 1 5%\n\
         case b\ntraffic osu_bw skip=0 iterations=1\nsweep bytes 8 1M\n",
    ),
    (
        "two.scenario",
        "experiment Two\nfabric one-switch:4\nlinks all\nlatencies on\nintervals 20us\nmessages 2\n\
         traffic file=three.pairs\njob io osu_bw bytes=64K window=2 iterations=2\n\
         published time above 0 given time goes on\n",
    ),
];
const KINDS: [&str; 10] = [
    "measurement",
    "run",
    "link",
    "rank",
    "message",
    "latency",
    "bucket",
    "interval",
    "job_interval",
    "link_interval",
];

/// Runs both scenarios with these arguments, which may find that a figure was not reproduced.
fn run(stage: &Path, arguments: &[&str]) {
    for (name, text) in SCENARIOS {
        fs::write(stage.join(name), text).unwrap();
    }
    fs::write(stage.join("three.pairs"), "0 1 1M\n0 2 1M\n0 3 1M\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let command = command.current_dir(stage).arg("run").args(arguments);
    let output = command
        .args(SCENARIOS.map(|(name, _)| name))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

/// Lines of a kind in their order, without the word for it.
fn lines(stage: &Path, kind: &str) -> Vec<Map<String, Value>> {
    let text = fs::read_to_string(stage.join("results.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let of_kind = |mut line: Map<String, Value>| {
        let is_one = line.remove("kind").unwrap() == kind;
        is_one.then_some(line)
    };
    lines.filter_map(of_kind).collect()
}

/// Rows of a file, as lines are: without what has no value.
fn rows(stage: &Path, kind: &str) -> Vec<Map<String, Value>> {
    let file = fs::File::open(stage.join(format!("tables/{kind}.parquet"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let value = |field: &Field| match field {
        Field::Null => None,
        Field::Str(text) => Some(json!(text)),
        Field::Double(value) => Some(json!(value)),
        Field::ULong(count) => Some(json!(count)),
        other => panic!("{kind}: {other:?}"),
    };
    let row = |row: parquet::record::Row| {
        let cells = row.get_column_iter();
        let cells = cells.filter_map(|(name, field)| Some((name.clone(), value(field)?)));
        // Written and read once, as lines are: the reader of JSON rounds in its own way.
        let text = Value::Object(cells.collect()).to_string();
        serde_json::from_str(&text).unwrap()
    };
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|one| row(one.unwrap())).collect()
}

#[test]
fn files_of_parquet_have_the_rows_of_json_lines() {
    let stage = tempfile::tempdir().unwrap();
    let stage = stage.path();
    run(stage, &["--json", "results.jsonl", "--parquet", "tables"]);
    let mut files: Vec<String> = fs::read_dir(stage.join("tables"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut wanted = KINDS.map(|kind| format!("{kind}.parquet"));
    wanted.sort();
    assert_eq!(files, wanted);
    for kind in KINDS {
        let (lines, rows) = (lines(stage, kind), rows(stage, kind));
        assert!(!lines.is_empty(), "{kind}");
        assert_eq!(rows, lines, "{kind}");
    }
}

/// Parts are performed by themselves, and what is put together is what one run writes.
#[test]
fn parts_together_write_the_same_files() {
    let stage = tempfile::tempdir().unwrap();
    let stage = stage.path();
    run(stage, &["--json", "results.jsonl", "--parquet", "whole"]);
    for part in ["1/2", "2/2"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
        let command = command.current_dir(stage).arg("run");
        let command = command.args(SCENARIOS.map(|(name, _)| name));
        let output = command
            .args(["--parts", "parts", "--only", part])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    run(stage, &["--parts", "parts", "--parquet", "tables"]);
    for kind in KINDS {
        let read = |directory: &str| {
            let file = stage.join(directory).join(format!("{kind}.parquet"));
            fs::read(file).unwrap()
        };
        assert!(read("tables") == read("whole"), "{kind}");
    }
}

/// DuckDB compares a file with the lines of its kind, whose columns have the types of the file's; pandas and chdb count
/// rows and sum a column.
const READERS: &str = r#"
import sys, json
import duckdb, pandas, chdb
kind, column, lines = sys.argv[1:4]
table = f"tables/{kind}.parquet"
schema = duckdb.sql(f"describe select * from '{table}'").fetchall()
types = {name: kind for name, kind, *_ in schema}
lines = duckdb.read_json(lines, columns={**types, "kind": "varchar"}, format="newline_delimited")
names = ", ".join(f'"{name}"' for name in types)
lines = duckdb.sql(f"select {names} from lines where kind = '{kind}'")
parquet = duckdb.sql(f"select {names} from '{table}'")
sizes = [len(parquet), len(lines)]
differ = [len(duckdb.sql(f"from {a} except all from {b}")) for a, b in
          [("parquet", "lines"), ("lines", "parquet")]]
frame = pandas.read_parquet(table)
told = chdb.query(f"select count(), sum(\"{column}\") from file('{table}', Parquet)", "JSONCompact")
count, total = json.loads(str(told))["data"][0]
print(json.dumps({"sizes": sizes + [len(frame), int(count)], "differ": differ,
                  "sums": [float(frame[column].sum()), float(total)],
                  "types": types}))
"#;

#[test]
fn other_programs_find_the_same_rows() {
    let Ok(python) = std::env::var("WEFT_PARQUET_READERS") else {
        weft_peers::not_run("WEFT_PARQUET_READERS names no Python that has duckdb and chdb");
        return;
    };
    let stage = tempfile::tempdir().unwrap();
    let stage = stage.path();
    run(stage, &["--json", "results.jsonl", "--parquet", "tables"]);
    let columns = [
        "value",
        "packet_hops",
        "percent",
        "bytes_sent",
        "us",
        "us",
        "count",
        "delivered",
        "came",
        "percent",
    ];
    for (kind, column) in KINDS.iter().zip(columns) {
        let mut command = Command::new(&python);
        let command = command.current_dir(stage).args(["-c", READERS]);
        let output = command.args([kind, column, "results.jsonl"]).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{kind}: {said}");
        let told: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).unwrap();
        let lines = lines(stage, kind);
        let sizes = [lines.len(); 4];
        assert_eq!(told["sizes"], json!(sizes), "{kind}");
        assert_eq!(told["differ"], json!([0, 0]), "{kind}");
        let values = lines.iter().filter_map(|line| line.get(column));
        let sum: f64 = values.map(|value| value.as_f64().unwrap()).sum();
        for other in told["sums"].as_array().unwrap() {
            let other = other.as_f64().unwrap();
            assert!((other - sum).abs() <= 1e-9 * sum.abs(), "{kind}: {other}");
        }
        assert_eq!(told["types"]["case"], "VARCHAR", "{kind}");
    }
}
