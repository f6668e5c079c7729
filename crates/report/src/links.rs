//! `links` and its parts: every cable that carries a link.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::expected::ExpectedLink;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, PortRef, Snapshot, links_upward};

use crate::RULE;
use crate::cable::CableEntry;
use crate::focus::{Count, Detail, Head, Options};
use crate::names::{as_text, as_text_opt, port_guid, rate, rate_code};
use crate::port_counts::CountsEntry;
use crate::xml::{Xml, XmlWriter, port_id};

/// The line over links.
pub(crate) const HEADER: &str = "Rate NodeGUID          Port Type Name";

/// Which links a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those that leave a chassis.
    External,
    /// Those of an HFI.
    Hfi,
    /// Those between switches.
    InterSwitch,
    /// Those between switches of two chassis.
    ExternalInterSwitch,
}

impl Which {
    /// Whether a link is one of them.
    pub(crate) fn has(self, link: &LinkEntry) -> bool {
        let between = [&link.from, &link.to]
            .iter()
            .all(|end| end.node_type == NodeType::SWITCH);
        match self {
            Self::All => true,
            Self::External => !link.internal,
            Self::Hfi => !between,
            Self::InterSwitch => between,
            Self::ExternalInterSwitch => between && !link.internal,
        }
    }

    /// Prefix of a title.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::All => "",
            Self::External => "External ",
            Self::Hfi => "FI ",
            Self::InterSwitch => "Inter-Switch ",
            Self::ExternalInterSwitch => "External Inter-Switch ",
        }
    }

    /// Prefix of an element's name.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::All => "",
            Self::External => "Ext",
            Self::Hfi => "FI",
            Self::InterSwitch => "IS",
            Self::ExternalInterSwitch => "ExtIS",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::All => "Link Summary",
            Self::External => "External Link Summary",
            Self::Hfi => "FI Link Summary",
            Self::InterSwitch => "Inter-Switch Link Summary",
            Self::ExternalInterSwitch => "External Inter-Switch Link Summary",
        }
    }

    fn count_tag(self) -> &'static str {
        match self {
            Self::All => "LinkCount",
            Self::External => "ExternalLinkCount",
            Self::Hfi => "FILinkCount",
            Self::InterSwitch => "ISLinkCount",
            Self::ExternalInterSwitch => "ExternalISLinkCount",
        }
    }
}

/// Links.
#[derive(Debug, Clone, Serialize)]
pub struct LinksReport {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    count: Count,
    /// Those that the focus leaves, in order of their first end's GUID and port.
    pub links: Vec<LinkEntry>,
    #[serde(skip)]
    which: Which,
    #[serde(skip)]
    has_cables: bool,
    #[serde(skip)]
    detail: Detail,
}

/// A link.
#[derive(Debug, Clone, Serialize)]
pub struct LinkEntry {
    /// Current rate of its first end.
    pub rate: String,
    /// The end nearer to the HFIs, the smaller GUID and port where both are as near; on a path, where
    /// packets come from.
    pub from: LinkEnd,
    /// The other end.
    pub to: LinkEnd,
    /// Both ends are in one chassis.
    pub internal: bool,
    /// What the topology file says of it.
    #[serde(flatten)]
    pub(crate) notes: LinkNotes,
}

/// What a topology file says of a link and its cable.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct LinkNotes {
    #[serde(rename = "link_details", skip_serializing_if = "Option::is_none")]
    details: Option<String>,
    #[serde(rename = "cable_label", skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(rename = "cable_length", skip_serializing_if = "Option::is_none")]
    length: Option<String>,
    #[serde(rename = "cable_details", skip_serializing_if = "Option::is_none")]
    cable: Option<String>,
}

/// One end of a link.
#[derive(Debug, Clone, Serialize)]
pub struct LinkEnd {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// GUID of its port, where it has one.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub port_guid: Option<Guid>,
    /// Its port.
    pub port: u8,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Name of the node.
    pub name: String,
    /// What the topology file says of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_details: Option<String>,
    /// What the topology file says of the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) port_details: Option<String>,
    /// What is shown of it at higher levels of detail.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    more: Option<Box<More>>,
}

/// What is shown of an end at higher levels of detail, where it is known.
#[derive(Debug, Clone, Serialize)]
struct More {
    #[serde(skip_serializing_if = "Option::is_none")]
    cable: Option<CableEntry>,
    #[serde(rename = "counters", skip_serializing_if = "Option::is_none")]
    counts: Option<CountsEntry>,
}

/// The level of detail of a report from which its links show cables and counters.
const WITH_MORE: Detail = Detail(3);

impl More {
    fn of(snapshot: &Snapshot, options: &Options, at: PortRef) -> Option<Box<Self>> {
        if options.detail < WITH_MORE {
            return None;
        }
        let more = Self {
            cable: CableEntry::of(snapshot, at),
            counts: options.counts(at),
        };
        (more.cable.is_some() || more.counts.is_some()).then(|| Box::new(more))
    }
}

/// Makes the report on every link.
pub fn links(snapshot: &Snapshot, options: &Options) -> LinksReport {
    links_of(snapshot, options, Which::All)
}

/// Makes the report on some links.
pub fn links_of(snapshot: &Snapshot, options: &Options, which: Which) -> LinksReport {
    let mut total = 0;
    let mut links = Vec::new();
    for (from, to) in links_upward(&snapshot.topology) {
        let link = LinkEntry::new(snapshot, options, from, to);
        let Some(link) = link.filter(|link| which.has(link)) else {
            continue;
        };
        total += 1;
        if options.port(from) || options.port(to) {
            links.push(link);
        }
    }
    LinksReport {
        head: Head::new(which.title(), options),
        count: Count::new(total, links.len(), options),
        links,
        which,
        has_cables: options.has_cables(),
        detail: options.detail,
    }
}

/// Where and how the lines of a link are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Columns before them.
    pub(crate) indent: usize,
    /// Mark of the second end.
    pub(crate) arrow: &'static str,
    /// What is said besides the ends.
    pub(crate) detail: Detail,
}

/// Writes the lines over links, with those of cables or without.
pub(crate) fn write_header(f: &mut fmt::Formatter<'_>, indent: usize, cables: bool) -> fmt::Result {
    writeln!(f, "{:indent$}{HEADER}", "")?;
    write_cable_header(f, indent, cables)
}

/// Writes the lines of cables over links.
pub(crate) fn write_cable_header(
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    cables: bool,
) -> fmt::Result {
    if cables {
        let (label, length) = ("CableLabel", "CableLen");
        writeln!(
            f,
            "{:indent$}    Cable: {label:<LABEL$} {length:<LENGTH$}",
            ""
        )?;
        writeln!(f, "{:indent$}    CableDetails", "")?;
    }
    Ok(())
}

/// Columns of a cable's label.
const LABEL: usize = 57;
/// Columns of a cable's length.
const LENGTH: usize = 10;

impl LinkNotes {
    pub(crate) fn new(link: &ExpectedLink) -> Self {
        Self {
            details: link.details.clone(),
            label: link.cable.label.clone(),
            length: link.cable.length.clone(),
            cable: link.cable.details.clone(),
        }
    }

    /// The cable in a few words.
    pub(crate) fn cable(&self) -> String {
        let parts = [&self.label, &self.length, &self.cable];
        let parts: Vec<&str> = parts
            .into_iter()
            .filter_map(|part| part.as_deref())
            .collect();
        parts.join(", ")
    }

    fn has_cable(&self) -> bool {
        self.label.is_some() || self.length.is_some() || self.cable.is_some()
    }

    /// Writes the lines under a link.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        if let Some(details) = &self.details {
            writeln!(f, "{:indent$}LinkDetails: {details}", "")?;
        }
        if !self.has_cable() {
            return Ok(());
        }
        let [label, length] = [&self.label, &self.length].map(|text| text.as_deref().unwrap_or(""));
        writeln!(f, "{:indent$}Cable: {label:<LABEL$} {length:<LENGTH$}", "")?;
        match &self.cable {
            Some(details) => writeln!(f, "{:indent$}{details}", ""),
            None => Ok(()),
        }
    }

    /// The lines under a port.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(
            self.details
                .as_ref()
                .map(|details| format!("LinkDetails: {details}")),
        );
        if self.has_cable() {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            let (label, length) = (text(&self.label), text(&self.length));
            lines.push(format!(
                "CableLabel: {label:<LABEL$}  CableLen: {length:<LENGTH$}"
            ));
            lines.push(format!("CableDetails: {}", text(&self.cable)));
        }
        lines
    }

    /// Writes the elements in that of a link.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter) {
        to.text_if("LinkDetails", self.details.as_deref());
        if self.has_cable() {
            to.within("Cable", |to| {
                to.text_if("CableLabel", self.label.as_deref());
                to.text_if("CableLength", self.length.as_deref());
                to.text_if("CableDetails", self.cable.as_deref());
            });
        }
    }
}

/// Writes the notes on an end, 0 or 1, of a link.
type Notes<'a> = &'a dyn Fn(&mut fmt::Formatter<'_>, usize) -> fmt::Result;

impl LinkEntry {
    pub(crate) fn new(
        snapshot: &Snapshot,
        options: &Options,
        from: PortRef,
        to: PortRef,
    ) -> Option<Self> {
        Some(Self {
            rate: rate(&snapshot.topology.port(from)?.info),
            from: LinkEnd::new(snapshot, options, from)?,
            to: LinkEnd::new(snapshot, options, to)?,
            internal: is_internal(snapshot, from, to),
            notes: options.link_notes(from),
        })
    }

    /// Writes both ends, with notes on them where the level of detail has more.
    pub(crate) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        layout: Layout,
        notes: Notes<'_>,
    ) -> fmt::Result {
        let Layout {
            indent,
            arrow,
            detail,
        } = layout;
        writeln!(f, "{:indent$}{:>4} {}", "", self.rate, self.from)?;
        self.from.write_notes(f, indent + 4, detail)?;
        self.from.write_more(f, indent + 4, detail)?;
        if detail.lists() {
            notes(f, 0)?;
        }
        writeln!(f, "{:indent$}{arrow:<4} {}", "", self.to)?;
        self.to.write_notes(f, indent + 4, detail)?;
        self.to.write_more(f, indent + 4, detail)?;
        if detail.lists() {
            notes(f, 1)?;
            self.notes.write(f, indent + 4)?;
        }
        Ok(())
    }

    /// Writes the element, with notes on its ends where the level of detail has more.
    pub(crate) fn write_xml(
        &self,
        to: &mut XmlWriter,
        detail: Detail,
        notes: &dyn Fn(&mut XmlWriter, usize),
    ) {
        self.write_xml_around(to, detail, notes, |_| ());
    }

    /// The same, with more elements after its ends.
    pub(crate) fn write_xml_around(
        &self,
        to: &mut XmlWriter,
        detail: Detail,
        notes: &dyn Fn(&mut XmlWriter, usize),
        after: impl FnOnce(&mut XmlWriter),
    ) {
        let attributes = port_id(self.from.guid, self.from.port);
        to.within_as("Link", format_args!("{attributes}"), |to| {
            to.coded("Rate", &self.rate, rate_code(&self.rate));
            to.value("Internal", u8::from(self.internal));
            if detail.lists() {
                self.notes.write_xml(to);
            }
            for (side, end) in [&self.from, &self.to].into_iter().enumerate() {
                end.write_xml(to, detail, |to| {
                    if detail.lists() {
                        notes(to, side);
                    }
                });
            }
            if let Some(cable) = self.to.more.as_ref().and_then(|more| more.cable.as_ref()) {
                cable.write_xml(to, detail.within());
            }
            after(to);
        });
    }
}

/// Whether both ends of a link are in one chassis.
pub(crate) fn is_internal(snapshot: &Snapshot, from: PortRef, to: PortRef) -> bool {
    let [from, to] = [from, to].map(|at| snapshot.topology.node(at.node).map(|node| &node.info));
    let (Some(from), Some(to)) = (from, to) else {
        return false;
    };
    from.system_image_guid == to.system_image_guid
        && (from.system_image_guid != Guid(0) || from.node_guid == to.node_guid)
}

impl LinkEnd {
    pub(crate) fn new(snapshot: &Snapshot, options: &Options, at: PortRef) -> Option<Self> {
        let node = snapshot.topology.node(at.node)?;
        Some(Self {
            guid: node.guid(),
            port_guid: port_guid(&snapshot.topology, at),
            port: at.port.0,
            node_type: node_type(node),
            name: node.name(),
            node_details: options.node_details(at.node),
            port_details: options.port_details(at),
            more: More::of(snapshot, options, at),
        })
    }

    /// The end, without what a topology file says of it.
    pub(crate) fn plain(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        Self::new(snapshot, &Options::default(), at)
    }

    /// Writes what the topology file says of the node and, where the level of detail has more, of
    /// the port.
    pub(crate) fn write_notes(
        &self,
        f: &mut dyn fmt::Write,
        indent: usize,
        detail: Detail,
    ) -> fmt::Result {
        if let Some(details) = &self.node_details {
            writeln!(f, "{:indent$}NodeDetails: {details}", "")?;
        }
        if let Some(details) = self.port_details.as_ref().filter(|_| detail.lists()) {
            writeln!(f, "{:indent$}PortDetails: {details}", "")?;
        }
        Ok(())
    }

    /// Writes what its cable says and what it has counted, where the level of detail has that.
    fn write_more(&self, f: &mut dyn fmt::Write, indent: usize, detail: Detail) -> fmt::Result {
        let Some(more) = &self.more else {
            return Ok(());
        };
        let cable = more.cable.iter();
        let counts = more.counts.iter();
        let lines = cable.flat_map(|cable| cable.lines(detail.below(1)));
        for line in lines.chain(counts.flat_map(|counts| counts.lines(detail.below(3)))) {
            writeln!(f, "{:indent$}{line}", "")?;
        }
        Ok(())
    }

    /// Writes the element, with notes in it.
    pub(crate) fn write_xml(
        &self,
        to: &mut XmlWriter,
        detail: Detail,
        notes: impl FnOnce(&mut XmlWriter),
    ) {
        let attributes = port_id(self.guid, self.port);
        to.within_as("Port", format_args!("{attributes}"), |to| {
            to.value("NodeGUID", self.guid);
            if let Some(guid) = self.port_guid {
                to.value("PortGUID", guid);
            }
            to.value("PortNum", self.port);
            to.node_type(self.node_type);
            to.text("NodeDesc", &self.name);
            to.text_if("NodeDetails", self.node_details.as_deref());
            if detail.lists() {
                to.text_if("PortDetails", self.port_details.as_deref());
            }
            if let Some(counts) = self.more.as_ref().and_then(|more| more.counts.as_ref()) {
                counts.write_xml(to, detail.below(3));
            }
            notes(to);
        });
    }
}

impl Xml for LinkEnd {
    fn xml(&self, to: &mut XmlWriter) {
        self.write_xml(to, Detail::COUNTS, |_| ());
    }
}

impl Xml for LinkEntry {
    fn xml(&self, to: &mut XmlWriter) {
        self.write_xml(to, Detail::COUNTS, &|_, _| ());
    }
}

impl Xml for LinksReport {
    fn xml(&self, to: &mut XmlWriter) {
        let tag = format!("{}LinkSummary", self.which.tag());
        to.within(&tag, |to| {
            self.head.write_xml(to);
            to.value(self.which.count_tag(), self.count.total);
            for link in self.links.iter().filter(|_| self.detail.lists()) {
                link.write_xml(to, self.detail.within(), &|_, _| ());
            }
            self.count.write_xml(to, "MatchingLinks");
        });
    }
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:>3} {}   {}",
            self.guid, self.port, self.node_type, self.name
        )
    }
}

impl fmt::Display for LinksReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let listed = self.detail.lists();
        let (total, prefix) = (self.count.total, self.which.prefix());
        let colon = if listed { ":" } else { "" };
        writeln!(f, "{total} {prefix}Links in Fabric{colon}")?;
        if listed {
            write_header(f, 0, self.has_cables && self.detail.within().lists())?;
        }
        let layout = Layout {
            indent: 0,
            arrow: "<->",
            detail: self.detail.within(),
        };
        for link in self.links.iter().filter(|_| listed) {
            link.write(f, layout, &|_, _| Ok(()))?;
        }
        self.count.write_matching(f, "Links")?;
        writeln!(f, "{RULE}")
    }
}
