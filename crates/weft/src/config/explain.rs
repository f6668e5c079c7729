//! `weft config explain`.

use std::path::Path;
use std::process::ExitCode;

use weft_config::explain::{Explained, Value, explain, find, nearest};
use weft_fabric::text::for_terminal;

use super::refused;
use crate::args::Color;
use crate::error::CliError;
use crate::output;
use crate::style::{PLACE, Styles, WARNING};

pub(super) fn run(
    element: &str,
    file: Option<&Path>,
    instance: usize,
    json: bool,
    color: Color,
) -> Result<ExitCode, CliError> {
    let element = element.trim_matches('/');
    let explained = match file {
        Some(file) => in_file(element, file, instance, color)?,
        None => find(element).into_iter().map(without_values).collect(),
    };
    if explained.is_empty() {
        return Err(unknown(element));
    }
    if json {
        output::json(&explained)?;
        return Ok(ExitCode::SUCCESS);
    }
    let styles = Styles::stdout(color);
    let parts: Vec<String> = explained
        .iter()
        .map(|one| text(one, file, styles))
        .collect();
    output::folded(&parts.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn without_values(row: weft_config::Row) -> Explained {
    Explained {
        row,
        values: Vec::new(),
    }
}

fn in_file(
    element: &str,
    file: &Path,
    instance: usize,
    color: Color,
) -> Result<Vec<Explained>, CliError> {
    let bytes = output::read(file)?;
    let checked = weft_config::check(&bytes, &file.to_string_lossy());
    let Some(config) = &checked.config else {
        return Err(refused(&checked, file, color));
    };
    let count = config.instances.len();
    if instance >= count {
        let why = format!(
            "--instance {instance}: {} has {count} instances, counted from 0",
            file.display()
        );
        return Err(CliError::Usage(why));
    }
    // A checked file is UTF-8.
    let text = String::from_utf8_lossy(&bytes);
    Ok(explain(element, &text, config, instance))
}

fn unknown(element: &str) -> CliError {
    let near = match nearest(element) {
        Some(near) => format!("perhaps `{near}`"),
        None => "all are in docs/configuration.md".to_owned(),
    };
    CliError::Usage(format!("opafm.xml has no element `{element}`: {near}"))
}

fn text(explained: &Explained, file: Option<&Path>, styles: Styles) -> String {
    let row = &explained.row;
    let mut lines = vec![
        styles.paint(PLACE, &row.path),
        format!("  {}", row.meaning),
        field("allowed", &row.allowed),
        field("default", &row.default),
        match row.no_effect {
            None => field("effect", "yes"),
            Some(why) => field("effect", &styles.paint(WARNING, &format!("none: {why}"))),
        },
    ];
    let file = file.map(|file| file.display().to_string());
    if let Some(file) = file {
        lines.extend(
            explained
                .values
                .iter()
                .map(|value| field("value", &valued(value, &file))),
        );
        if explained.values.is_empty() {
            lines.push(field("value", "not in the file"));
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n") + "\n"
}

/// `  NAME      TEXT`; nothing for an empty text.
fn field(name: &str, text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("  {name:8}  {text}"),
    }
}

/// `VALUE  FILE:LINE (PATH)`, escaped.
fn valued(value: &Value, file: &str) -> String {
    let text = match (&value.value, value.line) {
        (Some(value), _) => value.as_str(),
        (None, Some(_)) => "a key, not shown",
        (None, None) => "not set",
    };
    let origin = match (value.line, &value.from) {
        (Some(line), Some(from)) => format!("{file}:{line} ({from})"),
        _ => "the default".to_owned(),
    };
    for_terminal(&format!("{text}  {origin}")).replace('\n', " ")
}
