//! `verifylinks` and its parts.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::{Mtu, PortState};
use weft_fabric::expected::{ExpectedEnd, ExpectedLink};
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, PortRef, Snapshot, links_upward};

use super::{
    Checked, Comparison, FoundEnd, Skipped, differs, end_differences, problems_xml, told,
    write_guid, write_problems,
};
use crate::RULE;
use crate::expectations::Expectations;
use crate::focus::{Detail, Head, Options};
use crate::links::{
    Layout, LinkEnd, LinkEntry, LinkNotes, Which, write_cable_header, write_header,
};
use crate::names::{port_guid, rate, rate_code};
use crate::xml::{Xml, XmlWriter};

/// What is said of an entry whose port has another link, or another entry.
pub(crate) const DUPLICATE: &str = "Duplicate Port in input or incorrectly cabled";

/// What stands before the only link of a file that a point names.
const LEAD: &str = "Input Link: ";

/// Links that differ.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyLinksReport {
    #[serde(flatten)]
    head: Head,
    /// Links of the fabric and of the file.
    #[serde(flatten)]
    pub compared: Comparison<LinkProblem, ExpectedLinkProblem>,
    #[serde(skip)]
    which: Which,
    #[serde(skip)]
    has_cables: bool,
    #[serde(skip)]
    detail: Detail,
}

/// A link that is not as the file has it.
#[derive(Debug, Clone, Serialize)]
pub struct LinkProblem {
    /// It.
    #[serde(flatten)]
    pub link: LinkEntry,
    /// What differs at each end.
    pub port_differences: [Vec<String>; 2],
    /// What is wrong with the link.
    pub problems: Vec<String>,
}

/// A link of the file that is missing, twice there or at other ports.
#[derive(Debug, Clone, Serialize)]
pub struct ExpectedLinkProblem {
    /// Line of the file, from 1.
    pub line: u64,
    /// Names of its ends, else GUIDs, as far as the file has them.
    pub ends: [Option<String>; 2],
    /// Ports of its ends, as far as the file has them.
    pub ports: [Option<u8>; 2],
    /// What is wrong.
    pub problem: String,
    /// The port that is there instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<LinkEnd>,
    #[serde(flatten)]
    notes: LinkNotes,
    #[serde(skip)]
    link: ExpectedLink,
    /// What is wrong with each end.
    #[serde(skip)]
    duplicates: [bool; 2],
}

/// Makes the report.
pub fn verifylinks(snapshot: &Snapshot, options: &Options, which: Which) -> VerifyLinksReport {
    let lacks = |file: &Expectations| (!file.file.has_links).then_some(Skipped::NoLinks);
    let (compared, file) = Comparison::begin(options, lacks);
    let mut report = VerifyLinksReport {
        head: Head::new(title(which), options),
        compared,
        which,
        has_cables: options.has_cables(),
        detail: options.detail,
    };
    if let Some(file) = file {
        report.tell_focus(options, file);
        report.look_at_fabric(snapshot, options, file);
        report.look_at_file(snapshot, options, file);
    }
    report
}

fn title(which: Which) -> &'static str {
    match which {
        Which::All => "Links Topology Verification",
        Which::External => "External Links Topology Verification",
        Which::Hfi => "FI Links Topology Verification",
        Which::InterSwitch => "Inter-Switch Links Topology Verification",
        Which::ExternalInterSwitch => "External Inter-Switch Links Topology Verification",
    }
}

impl VerifyLinksReport {
    fn tell_focus(&mut self, options: &Options, file: &Expectations) {
        let detail = options.detail;
        let named = options.entries().into_iter().flat_map(|all| &all.links);
        let entries: Vec<_> = named
            .filter_map(|entry| file.file.links.get(*entry))
            .collect();
        // The lines of an only link stand under its words.
        let indent = if entries.len() == 1 { LEAD.len() } else { 0 };
        let told = entries.iter().map(|link| {
            let entry = ExpectedLinkProblem::new(link);
            let (mut lines, xml) = told(
                |f| entry.write_ends(f, detail),
                |to| entry.write_xml_as(to, "InputLink", detail),
            );
            for line in lines.iter_mut().skip(1) {
                line.insert_str(0, &" ".repeat(indent));
            }
            let notes = fmt::from_fn(|f| entry.notes.write(f, 4)).to_string();
            let notes = notes.lines().filter(|_| detail.lists());
            lines.extend(notes.map(str::to_owned));
            (lines, xml)
        });
        self.head.tell("Input Link", &told.collect::<Vec<_>>());
    }

    fn look_at_fabric(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        for (from, to) in links_upward(&snapshot.topology) {
            self.compared.fabric.total += 1;
            let link = LinkEntry::new(snapshot, options, from, to);
            let Some(link) = link.filter(|link| self.which.has(link)) else {
                continue;
            };
            let entries = [from, to].map(|at| file.link_entry(at));
            let mut entries = entries.into_iter().flatten();
            let named = options.port(from) || options.port(to);
            if !named && !entries.any(|entry| options.link_entry(entry)) {
                continue;
            }
            self.compared.fabric.checked += 1;
            match file.link(from) {
                None => {
                    self.compared.counts.unexpected += 1;
                    self.compared.found.push(LinkProblem {
                        link,
                        port_differences: [Vec::new(), Vec::new()],
                        problems: vec!["Unexpected Link".to_owned()],
                    });
                }
                Some(expected) => {
                    let problem = LinkProblem::compare(snapshot, file, link, [from, to], expected);
                    self.compared.counts.different += usize::from(problem.is_some());
                    self.compared.found.extend(problem);
                }
            }
        }
    }

    fn look_at_file(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        self.compared.input.total = file.file.links.len();
        for (entry, (link, ports)) in file.file.links.iter().zip(&file.links).enumerate() {
            if !has(self.which, snapshot, link, *ports) {
                continue;
            }
            let mut places = ports.iter().flatten();
            let named = places.any(|at| options.port(*at));
            if !named && !options.link_entry(entry) {
                continue;
            }
            self.compared.input.checked += 1;
            let mut problem = ExpectedLinkProblem::new(link);
            let elsewhere = |at: PortRef| file.link_entry(at) != Some(entry);
            match *ports {
                [None, None] => {
                    self.compared.counts.missing += 1;
                    problem.problem = "Missing Link".to_owned();
                }
                [Some(a), Some(b)] => {
                    problem.duplicates = [elsewhere(a), elsewhere(b)];
                    if problem.duplicates == [false, false] {
                        continue;
                    }
                    self.compared.counts.duplicate += 1;
                    problem.problem = DUPLICATE.to_owned();
                }
                [Some(at), None] => problem.misconnected(snapshot, options, at, "2nd"),
                [None, Some(at)] => problem.misconnected(snapshot, options, at, "1st"),
            }
            let half = ports.iter().flatten().count() == 1;
            self.compared.counts.misconnected += usize::from(half);
            self.compared.expected.push(problem);
        }
    }
}

/// Whether a link of the file may be one of those that a report is about: as it has it, or as a port
/// of it is connected.
fn has(
    which: Which,
    snapshot: &Snapshot,
    link: &ExpectedLink,
    ports: [Option<PortRef>; 2],
) -> bool {
    let plain = Options::default();
    let peer = |at| snapshot.topology.peer(at);
    let real = ports.iter().flatten();
    let real = real.filter_map(|at| LinkEntry::new(snapshot, &plain, *at, peer(*at)?));
    let real: Vec<LinkEntry> = real.collect();
    let any = |which: Which| real.iter().any(|link| which.has(link));
    let kinds = link
        .ends
        .each_ref()
        .map(|end| end.as_ref().and_then(|end| end.node_type));
    let switches = |kind: &Option<_>| *kind == Some(weft_fabric::enums::NodeType::SWITCH);
    let hfi = |kind: &Option<_>| *kind == Some(weft_fabric::enums::NodeType::HFI);
    // A port without a link is no inside of a chassis.
    let unlinked = ports.iter().flatten().any(|at| peer(*at).is_none());
    let external = !link.internal || unlinked || any(Which::External);
    let between = kinds.iter().all(switches) || any(Which::InterSwitch);
    match which {
        Which::All => true,
        Which::External => external,
        Which::Hfi => kinds.iter().any(hfi) || any(Which::Hfi),
        Which::InterSwitch => between,
        Which::ExternalInterSwitch => external && between,
    }
}

impl LinkProblem {
    /// Compares a link with its entry; none where nothing differs.
    fn compare(
        snapshot: &Snapshot,
        file: &Expectations,
        link: LinkEntry,
        ends: [PortRef; 2],
        expected: &ExpectedLink,
    ) -> Option<Self> {
        let port_differences = ends.map(|at| port_differences(snapshot, file, at));
        let mut problems = Vec::new();
        if port_differences.iter().any(|all| !all.is_empty()) {
            problems.push("Port Attributes Inconsistent".to_owned());
        }
        let port = |at| snapshot.topology.port(at).map(|port| &port.info);
        let (from, to) = (port(ends[0])?, port(ends[1])?);
        let found = rate(from);
        differs(&mut problems, expected.rate.as_ref(), &found, |other| {
            format!("Link Rate mismatch: expected: {other:>4} found: {found:>4}")
        });
        let found = Mtu(from.mtu_cap.0.min(to.mtu_cap.0));
        differs(&mut problems, expected.mtu.as_ref(), &found, |other| {
            let (other, found) = (other.bytes(), found.bytes());
            format!("Link MTU mismatch: expected minimum MTU: {other:>5} found MTU: {found:>5}")
        });
        (!problems.is_empty()).then_some(Self {
            link,
            port_differences,
            problems,
        })
    }
}

fn port_differences(snapshot: &Snapshot, file: &Expectations, at: PortRef) -> Vec<String> {
    let mut all = Vec::new();
    let topology = &snapshot.topology;
    let (Some(node), Some(port)) = (topology.node(at.node), topology.port(at)) else {
        return all;
    };
    if let Some(end) = file.end(at) {
        let found = FoundEnd {
            guid: node.guid(),
            name: &node.name(),
            port: at.port,
            port_guid: port_guid(topology, at).unwrap_or(Guid(0)),
            node_type: node_type(node),
        };
        all = end_differences(end, &found);
    }
    let state = port.info.port_state;
    if state != PortState::ACTIVE {
        all.push(format!("Port not Active: PortState: {state}"));
    }
    all
}

impl ExpectedLinkProblem {
    fn new(link: &ExpectedLink) -> Self {
        let end = |end: &ExpectedEnd| {
            let guid = end.guid.or(end.port_guid).map(|guid| guid.to_string());
            end.name.clone().or(guid).unwrap_or_else(|| "?".to_owned())
        };
        let port = |end: &ExpectedEnd| end.port.map(|port| port.0);

        Self {
            line: link.line,
            ends: link.ends.each_ref().map(|this| this.as_ref().map(end)),
            ports: link
                .ends
                .each_ref()
                .map(|this| this.as_ref().and_then(port)),
            problem: String::new(),
            instead: None,
            notes: LinkNotes::new(link),
            link: link.clone(),
            duplicates: [false, false],
        }
    }

    /// The port of an end as text, nothing where the file does not have it.
    pub(crate) fn port(&self, side: usize) -> String {
        self.ports[side].map_or_else(String::new, |port| port.to_string())
    }

    /// Notes that the other end of the link at a port is not the one in the file.
    fn misconnected(&mut self, snapshot: &Snapshot, options: &Options, at: PortRef, other: &str) {
        let peer = snapshot.topology.peer(at);
        self.instead = peer.and_then(|peer| LinkEnd::new(snapshot, options, peer));
        self.problem = match self.instead {
            Some(_) => format!("Incorrect Link, {other} port found to be:"),
            None => format!("Incorrect Link, {other} port not found"),
        };
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        self.write_ends(f, detail)?;
        if detail.lists() {
            self.notes.write(f, 4)?;
        }
        writeln!(f, "{}", self.problem)?;
        match &self.instead {
            Some(end) => {
                writeln!(f, "     {end}")?;
                end.write_notes(f, 4, Detail::COUNTS)
            }
            None => Ok(()),
        }
    }

    fn write_ends(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        for side in [0, 1] {
            self.write_end(f, side)?;
            let details = self.link.ends[side]
                .as_ref()
                .and_then(|end| end.details.as_ref());
            if let Some(details) = details.filter(|_| detail.lists()) {
                writeln!(f, "    PortDetails: {details}")?;
            }
            if detail.lists() && self.duplicates[side] {
                writeln!(f, "    {DUPLICATE}")?;
            }
        }
        Ok(())
    }

    fn write_end(&self, f: &mut fmt::Formatter<'_>, side: usize) -> fmt::Result {
        let link = &self.link;
        match side {
            0 => write!(f, "{:>4} ", link.rate.as_deref().unwrap_or(""))?,
            _ => write!(f, "<->  ")?,
        }
        match link.mtu.filter(|_| side == 0) {
            Some(mtu) => write!(f, "{:>5} ", mtu.bytes())?,
            None => write!(f, "{:6}", "")?,
        }
        let Some(end) = &link.ends[side] else {
            return writeln!(f);
        };
        write_guid(f, end.guid)?;
        match (end.port, end.port_guid) {
            (Some(port), _) => write!(f, " {:>3}{:15}", port.0, "")?,
            (None, Some(guid)) => write!(f, " {guid}")?,
            (None, None) => write!(f, "{:19}", "")?,
        }
        match end.node_type {
            Some(kind) => write!(f, " {kind}")?,
            None => write!(f, "   ")?,
        }
        match &end.name {
            Some(name) => writeln!(f, " {name}"),
            None => writeln!(f),
        }
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        self.write_xml_as(to, "Link", detail);
    }

    fn write_xml_as(&self, to: &mut XmlWriter, tag: &str, detail: Detail) {
        let link = &self.link;
        to.within_as(tag, format_args!("id=\"{:#018x}\"", self.line), |to| {
            if let Some(rate) = &link.rate {
                to.coded("Rate", rate, rate_code(rate));
            }
            if let Some(mtu) = link.mtu {
                to.value("MTU", mtu.bytes());
            }
            to.value("Internal", u8::from(link.internal));
            if detail.lists() {
                self.notes.write_xml(to);
            }
            for side in [0, 1] {
                self.write_end_xml(to, side, detail);
            }
            if !self.problem.is_empty() {
                to.text("Problem", &self.problem);
            }
            if let Some(end) = &self.instead {
                end.xml(to);
            }
        });
    }

    fn write_end_xml(&self, to: &mut XmlWriter, side: usize, detail: Detail) {
        let Some(end) = &self.link.ends[side] else {
            return;
        };
        to.within_as("Port", format_args!("id=\"{}\"", side + 1), |to| {
            if let Some(guid) = end.guid {
                to.value("NodeGUID", guid);
            }
            if let Some(port) = end.port {
                to.value("PortNum", port);
            }
            if let Some(guid) = end.port_guid {
                to.value("PortGUID", guid);
            }
            if let Some(kind) = end.node_type {
                to.node_type(kind);
            }
            to.text_if("NodeDesc", end.name.as_deref());
            if !detail.lists() {
                return;
            }
            to.text_if("PortDetails", end.details.as_deref());
            if self.duplicates[side] {
                to.text("Problem", DUPLICATE);
            }
        });
    }
}

impl Xml for VerifyLinksReport {
    fn xml(&self, to: &mut XmlWriter) {
        let (detail, prefix) = (self.detail, self.which.prefix());
        let tag = format!("Verify{}Links", self.which.tag());
        to.within_remarked(&tag, title(self.which), |to| {
            if let Some(skipped) = self.compared.skipped {
                return to.line(format_args!("<!-- {skipped} -->"));
            }
            self.head.write_xml(to);
            to.line(format_args!(
                "<!-- {prefix}Links Found with incorrect configuration -->"
            ));
            for problem in self.compared.found.iter().filter(|_| detail.lists()) {
                let ends = |to: &mut XmlWriter, side: usize| {
                    problems_xml(to, &problem.port_differences[side]);
                };
                let after = |to: &mut XmlWriter| problems_xml(to, &problem.problems);
                let link = &problem.link;
                link.write_xml_around(to, detail.within(), &ends, after);
            }
            to.value("FabricLinksChecked", self.compared.fabric.checked);
            to.value("TotalFabricLinks", self.compared.fabric.total);
            let missing = "Links Expected but Missing, Duplicate in input or Incorrect";
            to.line(format_args!("<!-- {prefix}{missing} -->"));
            for problem in self.compared.expected.iter().filter(|_| detail.lists()) {
                problem.write_xml(to, detail.within());
            }
            to.value("InputLinksChecked", self.compared.input.checked);
            to.value("TotalInputLinks", self.compared.input.total);
            to.value("TotalLinksIncorrect", self.compared.incorrect());
            to.value("Missing", self.compared.counts.missing);
            to.value("Unexpected", self.compared.counts.unexpected);
            to.value("Misconnected", self.compared.counts.misconnected);
            to.value("Duplicate", self.compared.counts.duplicate);
            to.value("Different", self.compared.counts.different);
        });
    }
}

impl VerifyLinksReport {
    fn write_found(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail.within();
        let layout = Layout {
            indent: 0,
            arrow: "<->",
            detail,
        };
        for (index, problem) in self.compared.found.iter().enumerate() {
            match index {
                0 => write_header(f, 0, self.has_cables && detail.lists())?,
                _ => writeln!(f)?,
            }
            problem.link.write(f, layout, &|f, side| {
                write_problems(f, 4, &problem.port_differences[side])
            })?;
            write_problems(f, 0, &problem.problems)?;
        }
        if self.compared.found.is_empty() {
            Ok(())
        } else {
            writeln!(f)
        }
    }

    fn write_expected(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail.within();
        for (index, problem) in self.compared.expected.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            } else {
                writeln!(
                    f,
                    "Rate MTU   NodeGUID          Port or PortGUID    Type Name"
                )?;
                write_cable_header(f, 0, self.has_cables && detail.lists())?;
            }
            problem.write(f, detail)?;
        }
        if self.compared.expected.is_empty() {
            Ok(())
        } else {
            writeln!(f)
        }
    }
}

impl fmt::Display for VerifyLinksReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (listed, prefix) = (self.detail.lists(), self.which.prefix());
        if let Some(skipped) = self.compared.skipped {
            return writeln!(f, "{}\n{skipped}\n{RULE}", self.head.title);
        }
        write!(f, "{}", self.head)?;
        writeln!(f, "{prefix}Links Found with incorrect configuration:")?;
        if listed {
            self.write_found(f)?;
        }
        let Checked { checked, total } = self.compared.fabric;
        writeln!(f, "{checked} of {total} Fabric Links Checked\n")?;
        let missing = "Links Expected but Missing, Duplicate in input or Incorrect:";
        writeln!(f, "{prefix}{missing}")?;
        if listed {
            self.write_expected(f)?;
        }
        let Checked { checked, total } = self.compared.input;
        writeln!(f, "{checked} of {total} Input Links Checked\n")?;
        writeln!(
            f,
            "Total of {} Incorrect Links found",
            self.compared.incorrect()
        )?;
        let counts = self.compared.counts;
        writeln!(
            f,
            "{} Missing, {} Unexpected, {} Misconnected, {} Duplicate, {} Different",
            counts.missing,
            counts.unexpected,
            counts.misconnected,
            counts.duplicate,
            counts.different
        )?;
        writeln!(f, "{RULE}")
    }
}
