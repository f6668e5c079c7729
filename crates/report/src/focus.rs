//! Focus and level of detail of a report.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use weft_fabric::{CountsByPort, NodeId, PortRef, Snapshot};

use crate::expectations::Expectations;
use crate::extent::Extent;
use crate::links::LinkNotes;
use crate::point::{Entries, NotFound, Point, Selection};
use crate::port_counts::CountsEntry;
use crate::xml::XmlWriter;

/// Level of detail of text and XML, as `opareport -d`: 0 counts, 1 brief, 2 normal, 3 and more
/// details. Data (JSON) always holds everything.
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

impl Detail {
    /// The level for what is within an item; 0 stays 0.
    pub(crate) fn within(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The level that is so many lower; 0 stays 0.
    pub(crate) fn below(self, levels: u8) -> Self {
        Self(self.0.saturating_sub(levels))
    }

    /// Whether there is more than counts.
    pub(crate) fn lists(self) -> bool {
        self.0 > 0
    }
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
    /// Level of detail of its text and XML.
    pub detail: Detail,
    /// Data that its text and XML show.
    pub extent: Extent,
    /// Leave out the description of the focus.
    pub quiet: bool,
    /// What a topology file says of the fabric.
    pub expected: Option<Arc<Expectations>>,
    /// What ports have counted, for the levels of detail that show it.
    pub counts: Option<Arc<CountsByPort>>,
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

    /// Whether a node of the topology file belongs in a report on that, by its place there.
    pub(crate) fn node_entry(&self, entry: usize) -> bool {
        self.has_entry(|entries| entries.nodes.contains(&entry))
    }

    /// Whether a link of the topology file does.
    pub(crate) fn link_entry(&self, entry: usize) -> bool {
        self.has_entry(|entries| entries.links.contains(&entry))
    }

    /// Whether a subnet manager of the topology file does.
    pub(crate) fn sm_entry(&self, entry: usize) -> bool {
        self.has_entry(|entries| entries.sms.contains(&entry))
    }

    fn has_entry(&self, has: impl FnOnce(&Entries) -> bool) -> bool {
        self.focus.as_ref().is_none_or(|focus| has(&focus.entries))
    }

    /// The entries of the topology file that the focus names.
    pub(crate) fn entries(&self) -> Option<&Entries> {
        self.focus.as_ref().map(|focus| &focus.entries)
    }

    /// What the topology file says of a node.
    pub(crate) fn node_details(&self, node: NodeId) -> Option<String> {
        self.expected.as_ref()?.node(node)?.details.clone()
    }

    /// What the topology file says of a port.
    pub(crate) fn port_details(&self, at: PortRef) -> Option<String> {
        self.expected.as_ref()?.end(at)?.details.clone()
    }

    /// What the topology file says of a link and its cable, by one of its ports.
    pub(crate) fn link_notes(&self, at: PortRef) -> LinkNotes {
        let link = self.expected.as_ref().and_then(|file| file.link(at));
        link.map_or_else(LinkNotes::default, LinkNotes::new)
    }

    /// Whether the topology file has cables.
    pub(crate) fn has_cables(&self) -> bool {
        self.expected.as_ref().is_some_and(|file| file.has_cables())
    }

    /// What a port has counted, where the report has what does not last.
    pub(crate) fn counts(&self, at: PortRef) -> Option<CountsEntry> {
        let counts = self.counts.as_ref().filter(|_| self.extent.has_passing());
        counts?.get(&at).copied().map(CountsEntry)
    }

    /// Whether the text includes counts of matches.
    pub(crate) fn is_focused(&self) -> bool {
        self.focus.is_some()
    }
}

/// A part of the fabric, with fast lookup.
#[derive(Debug, Clone, Default)]
pub struct Focus {
    lines: Vec<String>,
    xml: String,
    nodes: BTreeSet<NodeId>,
    ports: Option<BTreeSet<PortRef>>,
    entries: Entries,
}

impl Focus {
    /// A selection of `snapshot`; of the options, what the topology file says.
    pub fn new(snapshot: &Snapshot, selection: &Selection, options: &Options) -> Self {
        let (nodes, ports) = match selection {
            Selection::Ports(ports) => {
                let nodes = ports.iter().map(|at| at.node).collect();
                (nodes, Some(ports.iter().copied().collect()))
            }
            Selection::Nodes(nodes) | Selection::System { nodes, .. } => {
                (nodes.iter().copied().collect(), None)
            }
        };
        let mut xml = XmlWriter::default();
        selection.write_xml(snapshot, options, &mut xml);
        Self {
            lines: selection.lines(snapshot, options),
            xml: xml.into_text(),
            nodes,
            ports,
            entries: Entries::default(),
        }
    }

    /// What a point names in a topology file, and in the fabric where it is there; for reports on what differs from the
    /// file. `found` is what it names in `snapshot`.
    ///
    /// # Errors
    /// `found`'s, where the file has nothing of it either.
    pub fn of_point(
        snapshot: &Snapshot,
        point: &Point,
        found: Result<Selection, NotFound>,
        options: &Options,
    ) -> Result<Self, NotFound> {
        let file = options.expected.as_deref();
        let entries = file.map_or_else(Entries::default, |file| point.entries(file));
        let selection = match found {
            Err(NotFound::Nothing { .. }) if !entries.is_empty() => None,
            found => Some(found?),
        };
        let focus = selection.map(|selection| Self::new(snapshot, &selection, options));
        Ok(Self {
            entries,
            ..focus.unwrap_or_default()
        })
    }
}

/// Title and focus at the head of a report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Head {
    pub(crate) title: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    focus: Vec<String>,
    #[serde(skip)]
    xml: String,
    #[serde(skip)]
    quiet: bool,
}

impl Head {
    pub(crate) fn new(title: &'static str, options: &Options) -> Self {
        let focus = options.focus.as_ref().filter(|_| !options.quiet);
        let (focus, xml) = focus.map_or_else(Default::default, |focus| {
            (focus.lines.clone(), focus.xml.clone())
        });
        let quiet = options.quiet;
        Self {
            title,
            focus,
            xml,
            quiet,
        }
    }

    /// Tells entries of a topology file as well: `what` they are, and each as text and as XML.
    pub(crate) fn tell(&mut self, what: &str, entries: &[(Vec<String>, String)]) {
        if self.quiet {
            return;
        }
        let mut xml = XmlWriter::default();
        match entries {
            [] => {}
            [(lines, element)] => {
                let mut lines = lines.iter();
                let first = lines.next();
                self.focus
                    .extend(first.map(|line| format!("{what}: {line}")));
                self.focus.extend(lines.cloned());
                xml.lines(element);
            }
            _ => {
                self.focus.push(format!("{} {what}s:", entries.len()));
                let lines = entries.iter().flat_map(|(lines, _)| lines);
                self.focus.extend(lines.map(|line| format!("    {line}")));
                xml.within(&format!("{}s", what.replace(' ', "")), |to| {
                    to.value("Count", entries.len());
                    entries.iter().for_each(|(_, element)| to.lines(element));
                });
            }
        }
        self.xml += &xml.into_text();
    }

    /// Writes the focus, where there is one.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter) {
        if !self.xml.is_empty() {
            to.within("Focus", |to| to.lines(&self.xml));
        }
    }

    /// Writes the focus, where there is one, and the empty line after it.
    pub(crate) fn write_focus(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.focus.is_empty() {
            writeln!(f, "Focused on:")?;
        }
        for line in &self.focus {
            writeln!(f, "    {line}")?;
        }
        if self.quiet { Ok(()) } else { writeln!(f) }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        self.write_focus(f)
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

    /// The number of matches as an element, where a focus limits the report.
    pub(crate) fn write_xml(self, to: &mut XmlWriter, tag: &str) {
        if let Some(matching) = self.matching {
            to.value(tag, matching);
        }
    }
}
