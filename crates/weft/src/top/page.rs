//! Content of a screen, before it meets a terminal.

use serde_json::Value;
use weft_api::v1;

use super::data::Key;
use super::group::Group;
use super::order::Order;
use crate::output::one_line;

/// A title, column headings and lines.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) head: String,
    pub(super) rows: Vec<Row>,
}

/// A line.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) text: String,
    /// What a filter looks at: the text with what of it is cut.
    pub(super) whole: String,
    /// It stands out.
    pub(super) alert: bool,
    /// Where Enter goes.
    pub(super) target: Option<Target>,
    pub(super) json: Value,
}

/// Where Enter goes.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Port(Key),
    /// The links between two nodes, by their GUIDs.
    Pair(u64, u64),
    /// A group of ports.
    Group(Group),
    /// The ports of a group, in an order.
    Ports {
        group: Group,
        order: Option<Order>,
    },
    /// The ports of a virtual fabric.
    Fabric(String),
    /// A virtual fabric at a port.
    FabricPort(String, Key),
}

impl Row {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            whole: text.clone(),
            text,
            ..Self::default()
        }
    }

    /// The parts in as many lines as they need.
    pub(super) fn parts(parts: &[String], width: usize) -> Vec<Self> {
        folded(parts, "  ", width)
            .into_iter()
            .map(Self::plain)
            .collect()
    }

    /// A sentence in as many lines as it needs.
    pub(super) fn sentence(text: &str, width: usize) -> Vec<Self> {
        sentence(text, width).into_iter().map(Self::plain).collect()
    }
}

/// A node's name without that of its HFI, and the port; escaped for terminals.
pub(super) fn end_name(end: Option<&v1::LinkEnd>) -> String {
    let Some(end) = end else {
        return "-".to_owned();
    };
    let port = end.port.unwrap_or_default().port;
    format!("{}:{port}", node_name(end))
}

/// A node's name without that of its HFI, escaped for terminals; its GUID where it has none.
pub(super) fn node_name(end: &v1::LinkEnd) -> String {
    let guid = end.port.unwrap_or_default().node_guid;
    match end.node_name.split(' ').next().unwrap_or_default() {
        "" => format!("{guid:#018x}"),
        name => one_line(name),
    }
}

/// A group's name of at most so many characters, escaped for terminals.
pub(super) fn shown_name(group: &Group, width: usize) -> String {
    cut(&one_line(group.name()), width)
}

/// At most so many characters.
pub(super) fn cut(text: &str, width: usize) -> String {
    match text.chars().count() {
        len if len <= width => text.to_owned(),
        _ => {
            let kept = text.chars().take(width.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

/// Words in lines of at most so many characters.
pub(super) fn sentence(text: &str, width: usize) -> Vec<String> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    folded(&words, " ", width)
}

/// Parts in lines of at most so many characters; what is longer than a line is cut.
fn folded(parts: &[String], gap: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        let part = cut(part, width);
        let length = |line: &String| line.chars().count() + gap.len() + part.chars().count();
        match lines.last_mut().filter(|line| length(line) <= width) {
            Some(line) => *line = format!("{line}{gap}{part}"),
            None => lines.push(part),
        }
    }
    lines
}

/// The first parts that fit into a line, at least one.
pub(super) fn first_parts(parts: &[String], gap: &str, width: usize) -> String {
    let lines = folded(parts, gap, width);
    lines.into_iter().next().unwrap_or_default()
}
