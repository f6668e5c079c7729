//! The documentation of the format, from the same tables as the reader.

use std::fmt::Write;

use crate::fe::{Fe, NO_EXECUTIVE};
use crate::finding::Rule;
use crate::objects::{Applications, DeviceGroups, PmPortGroups, QosGroups, VirtualFabrics};
use crate::pm::Pm;
use crate::section::{Row, Section, mark};
use crate::shared::Shared;
use crate::sm::Sm;

/// Every tag of the format, section by section.
pub fn reference() -> Vec<Row> {
    let mut rows = Vec::new();
    Applications::rows("Applications", &mut rows);
    DeviceGroups::rows("DeviceGroups", &mut rows);
    QosGroups::rows("QOSGroups", &mut rows);
    VirtualFabrics::rows("VirtualFabrics", &mut rows);
    PmPortGroups::rows("PmPortGroups", &mut rows);
    Shared::rows("Shared", &mut rows);
    Sm::rows("Sm", &mut rows);
    let fe = rows.len();
    Fe::rows("Fe", &mut rows);
    mark(&mut rows[fe..], NO_EXECUTIVE);
    Pm::rows("Pm", &mut rows);
    rows
}

/// The tables of `docs/configuration.md`: all tags, and the rules that go further than the vendor's.
pub fn reference_markdown() -> String {
    let rows = reference();
    let section = |row: &Row| {
        row.path
            .rsplit_once('/')
            .map_or("", |(section, _)| section)
            .to_owned()
    };
    let mut sections: Vec<String> = Vec::new();
    for row in &rows {
        if !sections.contains(&section(row)) {
            sections.push(section(row));
        }
    }
    let mut text = String::new();
    for name in sections {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "### {name}\n\n| tag | default | allowed | meaning | effect |\n|---|---|---|---|---|\n"
        );
        for row in rows.iter().filter(|row| section(row) == name) {
            let tag = row.tag();
            let default = if row.default.is_empty() {
                "–".to_owned()
            } else {
                format!("`{}`", row.default)
            };
            let mark = if row.stricter { " †" } else { "" };
            let effect = row
                .no_effect
                .map_or("yes".to_owned(), |why| format!("**none**: {}", cell(why)));
            let _ = writeln!(
                text,
                "| `{tag}` | {default} | {}{mark} | {} | {effect} |",
                cell(&row.allowed),
                cell(&row.meaning)
            );
        }
        text.push('\n');
    }
    text
}

/// The list of `docs/configuration.md` of rules that go further than the vendor's.
pub fn stricter_markdown() -> String {
    let mut text = String::from("| rule | what it is about |\n|---|---|\n");
    for rule in Rule::ALL
        .iter()
        .filter(|rule| rule.is_stricter_than_vendor())
    {
        let _ = writeln!(text, "| {rule:?} | {} |", cell(rule.explanation()));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
