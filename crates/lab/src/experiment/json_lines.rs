//! Results as JSON Lines: an object on each line, for programs that make tables of them.

use serde_json::{Map, Value, json};

use super::perform::Outcome;
use super::rows::{self, Cell, Column, OF_CASE};
use super::scenario::Scenario;

/// All results of experiments. `kind` of a line tells what it is: a `measurement` with what was published of it,
/// or what was published and not measured; the `run` of a case, a `link`, a `rank` of messages, a `latency`, the time within
/// which so many percent of messages or packets have come, a `bucket` of a histogram of them, a `message`; the fabric in an
/// `interval` of time, a job (`job_interval`) and a link (`link_interval`) in it.
pub fn json_lines<'a>(all: impl IntoIterator<Item = (&'a Scenario, &'a [Outcome])>) -> String {
    let mut text = String::new();
    for (scenario, outcomes) in all {
        for (case, outcome) in scenario.cases.iter().zip(outcomes) {
            let mut of_case = Map::new();
            put(&mut of_case, &OF_CASE, &rows::of_case(scenario, case));
            for (table, cells) in rows::rows(case, outcome) {
                let mut line = of_case.clone();
                line.insert("kind".to_owned(), json!(table.name()));
                put(&mut line, table.columns(), &cells);
                text.push_str(&Value::Object(line).to_string());
                text.push('\n');
            }
        }
    }
    text
}

/// What has no value is left out.
fn put(line: &mut Map<String, Value>, columns: &[Column], cells: &[Cell<'_>]) {
    for ((name, _), cell) in columns.iter().zip(cells) {
        let value = match cell {
            Cell::None => continue,
            Cell::Text(text) => json!(text),
            Cell::Real(value) => json!(value),
            Cell::Count(count) => json!(count),
        };
        line.insert((*name).to_owned(), value);
    }
}
