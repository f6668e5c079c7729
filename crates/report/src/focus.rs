//! Focus and level of detail of a report.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use weft_fabric::{NodeId, PortRef, Snapshot};

use crate::point::Selection;

/// Level of detail, as `opareport -d`: 0 counts, 1 brief, 2 normal, 3 and more details.
/// Data (JSON) always holds everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detail(pub u8);

impl Detail {
    /// Only counts.
    pub const COUNTS: Self = Self(0);
    /// Brief.
    pub const BRIEF: Self = Self(1);
    /// The default of `opareport`.
    pub const USUAL: Self = Self(2);
    /// Everything.
    pub const FULL: Self = Self(3);
}

impl Default for Detail {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Options of a report.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only this part of the fabric.
    pub focus: Option<Focus>,
    /// Level of detail of its text.
    pub detail: Detail,
}

impl Options {
    /// Whether a node belongs in the report.
    pub fn node(&self, node: NodeId) -> bool {
        self.focus
            .as_ref()
            .is_none_or(|focus| focus.nodes.contains(&node))
    }

    /// Whether a port belongs in the report.
    pub fn port(&self, at: PortRef) -> bool {
        self.focus.as_ref().is_none_or(|focus| match &focus.ports {
            Some(ports) => ports.contains(&at),
            None => focus.nodes.contains(&at.node),
        })
    }

    /// Whether the text includes counts of matches.
    pub(crate) fn is_focused(&self) -> bool {
        self.focus.is_some()
    }
}

/// A part of the fabric, with fast lookup.
#[derive(Debug, Clone)]
pub struct Focus {
    lines: Vec<String>,
    nodes: BTreeSet<NodeId>,
    ports: Option<BTreeSet<PortRef>>,
}

impl Focus {
    /// A selection of `snapshot`. With `quiet` the text does not list the selection.
    pub fn new(snapshot: &Snapshot, selection: &Selection, quiet: bool) -> Self {
        let lines = if quiet {
            Vec::new()
        } else {
            selection.lines(snapshot)
        };
        let (nodes, ports) = match selection {
            Selection::Ports(ports) => {
                let nodes = ports.iter().map(|at| at.node).collect();
                (nodes, Some(ports.iter().copied().collect()))
            }
            Selection::Nodes(nodes) | Selection::System { nodes, .. } => {
                (nodes.iter().copied().collect(), None)
            }
        };
        Self {
            lines,
            nodes,
            ports,
        }
    }
}

/// Title and focus at the head of a report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Head {
    title: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    focus: Vec<String>,
}

impl Head {
    pub(crate) fn new(title: &'static str, options: &Options) -> Self {
        let focus = options.focus.as_ref();
        let focus = focus.map_or_else(Vec::new, |focus| focus.lines.clone());
        Self { title, focus }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        if !self.focus.is_empty() {
            writeln!(f, "Focused on:")?;
        }
        for line in &self.focus {
            writeln!(f, "    {line}")?;
        }
        writeln!(f)
    }
}

/// Number of items of one kind, and number within the focus.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Count {
    /// In the fabric.
    pub(crate) total: usize,
    /// In the report, where a focus limits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) matching: Option<usize>,
}

impl Count {
    pub(crate) fn new(total: usize, matching: usize, options: &Options) -> Self {
        let matching = options.is_focused().then_some(matching);
        Self { total, matching }
    }

    /// `N Matching Things Found`, where a focus limits the report.
    pub(crate) fn write_matching(self, f: &mut fmt::Formatter<'_>, things: &str) -> fmt::Result {
        match self.matching {
            Some(matching) => writeln!(f, "{matching} Matching {things} Found"),
            None => Ok(()),
        }
    }
}
