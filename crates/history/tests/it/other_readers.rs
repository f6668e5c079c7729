//! DuckDB and ClickHouse's chdb, which share no code with Weft, read every kind of segment and agree.

use std::path::Path;
use std::process::Command;

use weft_history::{EventRow, PortKey, Reader, Recorder, Sample, Table};

use crate::model::{Counting, Random, START, files};

/// Random questions.
const QUESTIONS: u64 = 100;

/// A program that reads Parquet files.
#[derive(Debug, Clone, Copy)]
enum Judge {
    DuckDb,
    Chdb,
}

impl Judge {
    /// Prints a line for each query: the numbers of the first row.
    fn script(self) -> &'static str {
        match self {
            Self::DuckDb => {
                "import duckdb, sys\nfor query in sys.argv[1:]:\n    row = duckdb.sql(query).fetchall()[0]\n    \
                 print('=', *[0 if value is None else int(value) for value in row])"
            }
            Self::Chdb => {
                "import chdb, sys\nfor query in sys.argv[1:]:\n    print('=', chdb.query(query, 'TSV').bytes().decode().strip())"
            }
        }
    }

    /// Its answers to queries.
    fn ask(self, python: &str, queries: &[String]) -> Vec<Vec<u64>> {
        let mut command = Command::new(python);
        let output = command.args(["-c", self.script()]).args(queries).output();
        let output = output.expect("a Python");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?}: {said}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |word: &str| {
            let number = word.parse();
            number.unwrap_or_else(|_| panic!("{self:?}: {word} is no number: {text}{said}"))
        };
        // They may print other lines, such as how far a long query is.
        let answers = text.lines().filter_map(|line| line.split_once("= "));
        let answers: Vec<Vec<u64>> = answers
            .map(|(_, answer)| answer.split_whitespace().map(number).collect())
            .collect();
        assert_eq!(answers.len(), queries.len(), "{self:?}: {text}{said}");
        answers
    }

    /// The files of a table.
    fn files(self, dir: &Path, table: Table) -> String {
        let mut place = dir.join(table.name());
        if !table.resolution().is_empty() {
            place.push(table.resolution());
        }
        let place = place.display();
        match self {
            Self::DuckDb => format!("'{place}/*.parquet'"),
            Self::Chdb => format!("file('{place}/*.parquet', Parquet)"),
        }
    }

    /// A question about a port: count, sum of a counter, last total.
    fn question(
        self,
        dir: &Path,
        table: Table,
        key: PortKey,
        span: (i64, i64),
        counter: usize,
    ) -> String {
        let name = weft_history::COUNTERS[counter];
        let (values, time) = match self {
            Self::DuckDb => (
                format!("sum({name}::uint128), arg_max({name}, time)"),
                "epoch_ms(time)",
            ),
            Self::Chdb => (
                format!("sum(toUInt128({name})), argMax({name}, time)"),
                "toUnixTimestamp64Milli(time)",
            ),
        };
        format!(
            "select count(*), {values}, min(link_quality) from {} where node_guid = {} and port = {} and {time} > {} and {time} <= {}",
            self.files(dir, table),
            key.guid,
            key.port,
            span.0,
            span.1
        )
    }

    /// A question about events.
    fn of_events(self, dir: &Path) -> String {
        let number = match self {
            Self::DuckDb => "(body->>'n')::int",
            Self::Chdb => "JSONExtractInt(body, 'n')",
        };
        format!(
            "select count(*), sum(sequence), max(run), max(port), count(distinct node_name), sum({number}) from {} \
             where kind = 'b'",
            self.files(dir, Table::Events)
        )
    }
}

fn answer(samples: &[Sample], counter: usize) -> Vec<u64> {
    let totals = samples.iter().map(|sample| sample.values.totals[counter]);
    let last = samples
        .last()
        .map_or(0, |sample| sample.values.totals[counter]);
    let quality = |sample: &Sample| sample.values.link_quality.unwrap_or(u8::MAX);
    let worst = samples.iter().map(quality).min();
    let worst = worst.unwrap_or_default().into();
    vec![samples.len() as u64, totals.sum(), last, worst]
}

#[test]
fn other_programs_read_every_kind_of_segment_and_agree() {
    let Ok(python) = std::env::var("WEFT_PARQUET_READERS") else {
        weft_peers::not_run("WEFT_PARQUET_READERS names no Python that has duckdb and chdb");
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
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
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
        questions.push((table, key, span, counter));
    }
    answers.push(vec![
        250,
        (0..500).skip(1).step_by(2).sum(),
        u64::MAX,
        255,
        1,
        250,
    ]);
    for judge in [Judge::DuckDb, Judge::Chdb] {
        let queries = questions.iter().map(|(table, key, span, counter)| {
            judge.question(dir.path(), *table, *key, *span, *counter)
        });
        let queries: Vec<String> = queries.chain([judge.of_events(dir.path())]).collect();
        let told = judge.ask(&python, &queries);
        assert_eq!(told.len(), answers.len(), "{judge:?}");
        for ((query, told), answer) in queries.iter().zip(&told).zip(&answers) {
            assert_eq!(told, answer, "{judge:?}: {query}");
        }
    }
}
