//! Destinations of results: standard output, a document, plots, files for other programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::experiment::{Outcome, chart, json_lines, parquet_tables, report, tornado};

use super::files::{self, check_directory, directory, replace};
use super::{Arguments, Experiment, stem};

const RESULTS: &str = "<!-- results -->\n";
const END: &str = "<!-- end of results -->";
/// Most bytes of a document.
const DOCUMENT_MAX: u64 = 64 << 20;

/// Checks before the work that results can be written.
pub(super) fn check(arguments: &Arguments, experiments: &[Experiment]) -> Result<(), String> {
    if let Some(document) = &arguments.markdown {
        around(document)?;
        check_directory(directory(document))?;
    }
    if let Some(file) = &arguments.json {
        check_directory(directory(file))?;
    }
    if let Some(tables) = &arguments.parquet {
        make_directory(tables)?;
    }
    let Some(plots) = &arguments.svg else {
        return Ok(());
    };
    let mut stems = BTreeSet::new();
    for experiment in experiments {
        let stem = stem(&experiment.file);
        if !stems.insert(stem.clone()) {
            return Err(format!(
                "two scenarios are called {stem:?}, their plots would have the same names"
            ));
        }
    }
    make_directory(plots)
}

/// Makes a directory where there is none, and checks that files can be written into it.
fn make_directory(directory: &Path) -> Result<(), String> {
    let made = fs::create_dir_all(directory);
    made.map_err(|error| format!("{}: {error}", directory.display()))?;
    check_directory(directory)
}

/// Writes all that is asked for; returns the text to print.
pub(super) fn write(
    arguments: &Arguments,
    experiments: &[Experiment],
    all: &[Vec<Outcome>],
) -> Result<String, String> {
    let mut text = String::new();
    let each = || experiments.iter().zip(all);
    let results = || each().map(|(one, outcomes)| (&one.scenario, &outcomes[..]));
    if let Some(file) = &arguments.json {
        replace(file, json_lines(results()).as_bytes())?;
    }
    if let Some(directory) = &arguments.parquet {
        let tables = parquet_tables(results());
        for (name, content) in tables.map_err(|error| error.to_string())? {
            replace(&directory.join(name), &content)?;
        }
    }
    for (experiment, outcomes) in each() {
        let plots = plots(experiment, outcomes, arguments)?;
        let table = match &arguments.tornado {
            Some(metric) => tornado::table(&experiment.scenario, outcomes, metric),
            None => report::table(&experiment.scenario, outcomes),
        };
        match &arguments.markdown {
            Some(document) => text.push_str(&section(&table, &plots, document)?),
            None => text.push_str(&(table + "\n")),
        }
    }
    if let Some(document) = &arguments.markdown {
        insert(document, &text)?;
        return Ok(String::new());
    }
    Ok(match arguments.csv {
        true => report::csv(results()),
        false => text,
    })
}

/// Writes the plots; their titles and names.
fn plots(
    experiment: &Experiment,
    outcomes: &[Outcome],
    arguments: &Arguments,
) -> Result<Vec<(String, PathBuf)>, String> {
    let Some(directory) = &arguments.svg else {
        return Ok(Vec::new());
    };
    let stem = stem(&experiment.file);
    let mut names = Vec::new();
    if let Some(metric) = &arguments.tornado {
        let plots = tornado::plots(&experiment.scenario, outcomes, metric);
        for ((title, text), number) in plots.into_iter().zip(1..) {
            let file = directory.join(format!("{stem}-tornado-{metric}-{number}.svg"));
            replace(&file, text.as_bytes())?;
            names.push((title, file));
        }
        return Ok(names);
    }
    for (number, plot) in experiment.scenario.plots.iter().enumerate() {
        let Some(text) = chart::draw(&experiment.scenario, outcomes, plot) else {
            continue;
        };
        let file = directory.join(format!("{stem}-{}.svg", number + 1));
        replace(&file, text.as_bytes())?;
        names.push((plot.title.clone(), file));
    }
    Ok(names)
}

/// A section of a document, with links to plots as they are seen from its directory.
fn section(table: &str, plots: &[(String, PathBuf)], document: &Path) -> Result<String, String> {
    let mut text = format!("#{table}\n");
    for (title, file) in plots {
        let way = files::way(directory(document), file)?;
        text.push_str(&format!("{}\n\n", link(title, &way)));
    }
    Ok(text)
}

/// A plot in a document; brackets in its title and spaces in its name would break the link.
fn link(title: &str, way: &str) -> String {
    let title = title.replace('[', "\\[").replace(']', "\\]");
    match way.contains([' ', '(', ')']) {
        true => format!("![{title}](<{way}>)"),
        false => format!("![{title}]({way})"),
    }
}

/// Text before and after the results in a document.
fn around(document: &Path) -> Result<(String, String), String> {
    let text = files::read_text(document, DOCUMENT_MAX)?;
    let parts = text
        .split_once(RESULTS)
        .and_then(|(before, rest)| Some((before.to_owned(), rest.split_once(END)?.1.to_owned())));
    parts.ok_or_else(|| {
        format!(
            "{}: no line {:?} with a line {END:?} after it",
            document.display(),
            RESULTS.trim_end()
        )
    })
}

/// Puts text between the two lines of a document.
fn insert(document: &Path, text: &str) -> Result<(), String> {
    let (before, after) = around(document)?;
    let text = format!("{before}{RESULTS}\n{text}{END}{after}");
    replace(document, text.as_bytes())
}
