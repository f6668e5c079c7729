//! `verifyfis`, `verifysws`, `verifysms` and `verifylinks` with its parts: what differs from a topology file.
//!
//! Each looks at the fabric first and tells what is not as the file has it, then at the file and tells what of it
//! is missing or twice there.

mod links;
mod nodes;
mod sms;

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::expected::ExpectedEnd;
use weft_fabric::{Guid, PortNum};

use crate::RULE;
use crate::expectations::Expectations;
use crate::focus::{Detail, Head, Options};
use crate::xml::XmlWriter;

pub(crate) use links::DUPLICATE;
pub use links::{ExpectedLinkProblem, LinkProblem, VerifyLinksReport, verifylinks};
pub use nodes::{ExpectedNodeProblem, NodeProblem, VerifyNodesReport, verifynodes};
pub use sms::{ExpectedSmProblem, SmProblem, VerifySmsReport, verifysms};

/// What one side of a comparison had.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Checked {
    /// Items that the focus leaves.
    pub checked: usize,
    /// Items.
    pub total: usize,
}

/// Items by what is wrong with them.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Counts {
    /// In the file only.
    pub missing: usize,
    /// In the fabric only.
    pub unexpected: usize,
    /// Links of which one end fits only.
    pub misconnected: usize,
    /// In the file more than once.
    pub duplicate: usize,
    /// In both, with differences.
    pub different: usize,
}

/// Why nothing was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// There is no topology file.
    NoFile,
    /// It has no list of nodes.
    NoNodes,
    /// It has no list of links.
    NoLinks,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoFile => "Report skipped: -T option not specified",
            Self::NoNodes => "Report skipped: no Nodes information provided",
            Self::NoLinks => {
                "Report skipped: no LinkSummary nor ExternalLinkSummary information provided"
            }
        })
    }
}

/// Both sides, and what is wrong with either.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison<F, E> {
    /// Why nothing was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Skipped>,
    /// Items of the fabric.
    pub fabric: Checked,
    /// Those that are not as the file has them.
    pub found: Vec<F>,
    /// Items of the file.
    pub input: Checked,
    /// Those that are missing, twice in the file, or links at other ports.
    pub expected: Vec<E>,
    /// All of them by what is wrong.
    pub counts: Counts,
}

impl<F, E> Comparison<F, E> {
    /// One of nothing yet, with the file, which `lacks` says why it cannot be compared; no file where there is none.
    fn begin(
        options: &Options,
        lacks: impl FnOnce(&Expectations) -> Option<Skipped>,
    ) -> (Self, Option<&Expectations>) {
        let file = options.expected.as_deref();
        let skipped = match file {
            None => Some(Skipped::NoFile),
            Some(file) => lacks(file),
        };
        let compared = Self {
            skipped,
            fabric: Checked::default(),
            found: Vec::new(),
            input: Checked::default(),
            expected: Vec::new(),
            counts: Counts::default(),
        };
        (compared, file.filter(|_| skipped.is_none()))
    }

    fn incorrect(&self) -> usize {
        self.found.len() + self.expected.len()
    }

    /// Writes a report on nodes or subnet managers, whose lines stand under `header` and are parted by empty lines.
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        (head, detail): (&Head, Detail),
        (items, header): (&str, &str),
        found: impl Fn(&F, &mut fmt::Formatter<'_>) -> fmt::Result,
        expected: impl Fn(&E, &mut fmt::Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        if let Some(skipped) = self.skipped {
            return writeln!(f, "{}\n{skipped}\n{RULE}", head.title);
        }
        let listed = detail.lists();
        write!(f, "{head}")?;
        writeln!(f, "{items} Found with incorrect configuration:")?;
        write_list(f, header, self.found.iter().filter(|_| listed), found)?;
        let Checked { checked, total } = self.fabric;
        writeln!(f, "{checked} of {total} Fabric {items} Checked\n")?;
        writeln!(f, "{items} Expected but Missing or Duplicate in input:")?;
        write_list(f, header, self.expected.iter().filter(|_| listed), expected)?;
        let Checked { checked, total } = self.input;
        writeln!(f, "{checked} of {total} Input {items} Checked\n")?;
        writeln!(f, "Total of {} Incorrect {items} found", self.incorrect())?;
        let counts = self.counts;
        writeln!(
            f,
            "{} Missing, {} Unexpected, {} Duplicate, {} Different",
            counts.missing, counts.unexpected, counts.duplicate, counts.different
        )?;
        writeln!(f, "{RULE}")
    }

    /// Writes the elements of a report on nodes or subnet managers but for the last ones.
    fn write_xml(
        &self,
        to: &mut XmlWriter,
        (head, detail): (&Head, Detail),
        items: &str,
        found: impl Fn(&F, &mut XmlWriter),
        expected: impl Fn(&E, &mut XmlWriter),
    ) {
        head.write_xml(to);
        to.line(format_args!(
            "<!-- {items} Found with incorrect configuration -->"
        ));
        let listed = detail.lists();
        for one in self.found.iter().filter(|_| listed) {
            found(one, to);
        }
        to.value(&format!("Fabric{items}Checked"), self.fabric.checked);
        to.value(&format!("TotalFabric{items}"), self.fabric.total);
        let missing = "Expected but Missing or Duplicate in input";
        to.line(format_args!("<!-- {items} {missing} -->"));
        for one in self.expected.iter().filter(|_| listed) {
            expected(one, to);
        }
        to.value(&format!("Input{items}Checked"), self.input.checked);
        to.value(&format!("TotalInput{items}"), self.input.total);
        to.value(&format!("Total{items}Incorrect"), self.incorrect());
    }
}

/// Writes items under a header, parted by empty lines, and an empty line after the last.
fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    header: &str,
    items: impl Iterator<Item = T>,
    write: impl Fn(T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut lead = Some(header);
    for item in items {
        writeln!(f, "{}", lead.take().unwrap_or(""))?;
        write(item, f)?;
    }
    match lead {
        Some(_) => Ok(()),
        None => writeln!(f),
    }
}

/// A port as the fabric has it.
struct FoundEnd<'a> {
    guid: Guid,
    name: &'a str,
    port: PortNum,
    port_guid: Guid,
    node_type: NodeType,
}

/// What differs at a port.
fn end_differences(end: &ExpectedEnd, found: &FoundEnd<'_>) -> Vec<String> {
    let FoundEnd {
        guid,
        name,
        port,
        port_guid,
        node_type,
    } = found;
    let mut all = Vec::new();
    differs(&mut all, end.guid.as_ref(), guid, |other| {
        format!("NodeGuid mismatch: expected: {other} found: {guid}")
    });
    differs(&mut all, end.name.as_deref(), *name, |other| {
        format!("NodeDesc mismatch: expected: '{other}' found: '{name}'")
    });
    differs(&mut all, end.port.as_ref(), port, |other| {
        let (other, port) = (other.0, port.0);
        format!("PortNum mismatch: expected: {other:>3} found: {port:>3}")
    });
    differs(&mut all, end.port_guid.as_ref(), port_guid, |other| {
        format!("PortGuid mismatch: expected: {other} found: {port_guid}")
    });
    differs(&mut all, end.node_type.as_ref(), node_type, |other| {
        format!("NodeType mismatch: expected: {other} found: {node_type}")
    });
    all
}

/// What `Head::tell` takes of an entry: its lines and its XML.
fn told(
    text: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result,
    xml: impl Fn(&mut XmlWriter),
) -> (Vec<String>, String) {
    let text = fmt::from_fn(text).to_string();
    let mut to = XmlWriter::default();
    xml(&mut to);
    (text.lines().map(str::to_owned).collect(), to.into_text())
}

/// Writes a GUID of the file, or as many columns.
fn write_guid(f: &mut fmt::Formatter<'_>, guid: Option<Guid>) -> fmt::Result {
    match guid {
        Some(guid) => write!(f, "{guid}"),
        None => write!(f, "{:18}", ""),
    }
}

/// Notes the difference of one attribute, where the file has it.
fn differs<T: PartialEq + ?Sized>(
    problems: &mut Vec<String>,
    expected: Option<&T>,
    found: &T,
    what: impl FnOnce(&T) -> String,
) {
    if let Some(expected) = expected.filter(|expected| *expected != found) {
        problems.push(what(expected));
    }
}

/// Writes problems, one a line.
fn write_problems<'a>(
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    problems: impl IntoIterator<Item = &'a String>,
) -> fmt::Result {
    let mut problems = problems.into_iter();
    problems.try_for_each(|problem| writeln!(f, "{:indent$}{problem}", ""))
}

/// Writes problems, an element each.
fn problems_xml<'a>(to: &mut XmlWriter, problems: impl IntoIterator<Item = &'a String>) {
    for problem in problems {
        to.text("Problem", problem);
    }
}
