//! Content of a screen, before it meets a terminal.

use serde_json::Value;
use weft_api::v1;
use weft_fabric::text::for_terminal;

use super::data::Key;
use super::order::Order;

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
    /// The ports, with a filter and an order.
    Ports {
        filter: String,
        order: Option<Order>,
    },
}

impl Row {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A node's name without that of its HFI, and the port; escaped for terminals.
pub(super) fn end_name(end: Option<&v1::LinkEnd>) -> String {
    let Some(end) = end else {
        return "-".to_owned();
    };
    let port = end.port.unwrap_or_default();
    let name = match end.node_name.as_str() {
        "" => format!("{:#018x}", port.node_guid),
        name => name.to_owned(),
    };
    let name = name.split(' ').next().unwrap_or_default();
    format!("{}:{}", one_line(name), port.port)
}

/// Text from outside on one line: without ends of lines and tabs, and escaped for terminals.
pub(super) fn one_line(text: &str) -> String {
    for_terminal(&text.replace(['\n', '\t'], " ")).into_owned()
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
