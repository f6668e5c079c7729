//! DuckDB, which shares no code with Weft, reads every kind of segment and agrees.

use std::path::Path;
use std::process::Command;

use weft_history::{EventRow, PortKey, Reader, Recorder, Sample, Table};

use crate::model::{Counting, Random, START, files};

/// Random questions.
const QUESTIONS: u64 = 36;

/// Answers of DuckDB to queries, a line each: the numbers of the first row.
fn ask(python: &str, queries: &[String]) -> Vec<Vec<u64>> {
    let script = "import duckdb, sys\nfor query in sys.argv[1:]:\n    row = duckdb.sql(query).fetchall()[0]\n    \
                  print(*[0 if value is None else int(value) for value in row])";
    let output = Command::new(python)
        .args(["-c", script])
        .args(queries)
        .output()
        .expect("a Python");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = |line: &str| {
        line.split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect()
    };
    text.lines().map(numbers).collect()
}

/// The files of a table, for a query.
fn parquet(dir: &Path, table: Table) -> String {
    format!(
        "'{}/{}/{}/*.parquet'",
        dir.display(),
        table.name(),
        table.resolution()
    )
    .replace("//", "/")
}

/// A question about a port, and what Weft says: count, sum of a counter, last total.
fn question(dir: &Path, table: Table, key: PortKey, span: (i64, i64), counter: usize) -> String {
    let name = weft_history::COUNTERS[counter];
    format!(
        "select count(*), sum({name}::uint128), arg_max({name}, time) from {} where node_guid = {} and port = {} \
         and epoch_ms(time) > {} and epoch_ms(time) <= {}",
        parquet(dir, table),
        key.guid,
        key.port,
        span.0,
        span.1
    )
}

fn answer(samples: &[Sample], counter: usize) -> Vec<u64> {
    let totals = samples.iter().map(|sample| sample.totals[counter]);
    let last = samples.last().map_or(0, |sample| sample.totals[counter]);
    vec![samples.len() as u64, totals.sum(), last]
}

#[test]
fn duckdb_reads_every_kind_of_segment_and_agrees() {
    let Ok(python) = std::env::var("WEFT_DUCKDB") else {
        weft_peers::not_run("WEFT_DUCKDB names no Python that has duckdb");
        return;
    };
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), 256 << 20).expect("a recorder");
    let mut fabric = Counting::new(11, 9);
    // More than a week, so that there are rows of hours; every 300 s, so that it takes little time.
    let (spacing, count) = (300_000, 288 * 8);
    for number in 0..count {
        recorder
            .image(START + spacing * number, fabric.reading())
            .expect("room");
    }
    let event = |number: u64| EventRow {
        time_ms: START + 1000 * number as i64,
        run: u64::MAX,
        sequence: number,
        kind: ["a", "b"][number as usize % 2].to_owned(),
        guid: number % 3,
        name: "näme".to_owned(),
        port: 255,
        severity: "info".to_owned(),
        message: "said".to_owned(),
        body: "{\"n\":1}".to_owned(),
    };
    recorder
        .events(&(0..500).map(event).collect::<Vec<_>>())
        .expect("room");
    recorder.close().expect("segments");
    for table in Table::ALL {
        let dir = dir.path().join(table.name()).join(table.resolution());
        let is_segment =
            |file: &std::path::PathBuf| file.extension().is_some_and(|kind| kind == "parquet");
        assert!(
            files(&dir).iter().any(is_segment),
            "no segment of {table:?}"
        );
    }
    let reader = Reader::new(dir.path());
    let mut random = Random(12);
    let (mut queries, mut answers) = (Vec::new(), Vec::new());
    let hour = 3_600_000;
    for number in 0..QUESTIONS {
        let table = Table::ALL[number as usize % 4];
        let key = fabric.ports[random.next(9) as usize].key;
        let counter = random.next(8) as usize;
        // Whole hours, of what is rolled up at every resolution.
        let from = START + random.next(80) as i64 * hour;
        let span = (from - 1, from - 1 + (1 + random.next(60) as i64) * hour);
        let step = [0, 60_000, 600_000, hour][number as usize % 4];
        let read = reader.samples(&[key], span, step, &mut |word| panic!("{word}"));
        answers.push(answer(&read.expect("readings")[0], counter));
        queries.push(question(dir.path(), table, key, span, counter));
    }
    queries.push(format!(
        "select count(*), sum(sequence), max(run), max(port), count(distinct node_name), sum((body->>'n')::int) from {} \
         where kind = 'b'",
        parquet(dir.path(), Table::Events)
    ));
    answers.push(vec![
        250,
        (0..500).skip(1).step_by(2).sum(),
        u64::MAX,
        255,
        1,
        250,
    ]);
    let told = ask(&python, &queries);
    assert_eq!(told.len(), answers.len());
    for ((query, told), answer) in queries.iter().zip(told).zip(answers) {
        assert_eq!(told, answer, "{query}");
    }
}
