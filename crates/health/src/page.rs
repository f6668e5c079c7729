//! The page as a value.

use std::collections::BTreeMap;
use std::fmt;

use weft_fabric::{Guid, PortNum};

use crate::gone::Gone;

/// Most findings that are listed; the rest is counted by kind.
pub const LISTED_MAX: usize = 1_000;

/// How bad something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Color {
    /// As it should be.
    #[default]
    Green,
    /// Wrong, and it can wait until the morning.
    Yellow,
    /// Hosts are cut off, or will be by the next loss.
    Red,
}

impl Color {
    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

/// A key figure's subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FigureName {
    /// The connection of the daemon to the fabric.
    Attachment,
    /// HFIs that are up, of those that are known.
    Endpoints,
    /// Whether nodes and cables are as they should be.
    Topology,
    /// Links until switches with hosts are cut off from each other.
    Redundancy,
    /// Links that were lost lately.
    Stability,
    /// Bandwidth that is lost to missing and degraded links, and to congestion.
    Bandwidth,
    /// Answers of devices to the manager.
    Management,
    /// Sweeps of the manager.
    Sweeps,
}

impl FigureName {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 8] = [
        Self::Attachment,
        Self::Endpoints,
        Self::Topology,
        Self::Redundancy,
        Self::Stability,
        Self::Bandwidth,
        Self::Management,
        Self::Sweeps,
    ];

    /// Its name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Attachment => "attachment",
            Self::Endpoints => "endpoints",
            Self::Topology => "topology",
            Self::Redundancy => "redundancy",
            Self::Stability => "stability",
            Self::Bandwidth => "bandwidth",
            Self::Management => "management",
            Self::Sweeps => "sweeps",
        }
    }
}

/// A key figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its subject.
    pub name: FigureName,
    /// How good it is.
    pub color: Color,
    /// Its value in words.
    pub value: String,
    /// From which values on it is yellow and red.
    pub rule: &'static str,
}

/// A kind of finding; within one colour, those that cost more come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A switch that was there is gone.
    MissingSwitch,
    /// A host that was there is gone.
    MissingHost,
    /// A device is not let into the fabric.
    Refused,
    /// An agent does not answer.
    Silent,
    /// A link that was there is gone.
    MissingLink,
    /// A link goes down again and again.
    Flapping,
    /// A link is in quarantine.
    Quarantined,
    /// A link is up and carries no data.
    Unused,
    /// A module is in a port, and there is no link.
    Down,
    /// A link is slower than its ports allow.
    Degraded,
    /// A link is slower in one direction than in the other.
    Asymmetric,
    /// A link has errors now.
    Errors,
    /// A device says that its link is bad.
    Quality,
    /// The module of a cable measures what it should not.
    Module,
    /// Another device is in the place of one.
    Replaced,
    /// A cable is in another port.
    Moved,
    /// Nodes or cables are not as the topology file has them.
    Unintended,
    /// Several nodes have one name.
    SameName,
    /// A port is switched off.
    Disabled,
    /// A switch or link is drained.
    Drained,
    /// Errors that were counted before, and not lately.
    PastErrors,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::MissingSwitch,
        Self::MissingHost,
        Self::Refused,
        Self::Silent,
        Self::MissingLink,
        Self::Flapping,
        Self::Quarantined,
        Self::Unused,
        Self::Down,
        Self::Degraded,
        Self::Asymmetric,
        Self::Errors,
        Self::Quality,
        Self::Module,
        Self::Replaced,
        Self::Moved,
        Self::Unintended,
        Self::SameName,
        Self::Disabled,
        Self::Drained,
        Self::PastErrors,
    ];

    /// Its name in lower case, with underscores.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingSwitch => "missing_switch",
            Self::MissingHost => "missing_host",
            Self::Refused => "refused",
            Self::Silent => "silent",
            Self::MissingLink => "missing_link",
            Self::Flapping => "flapping",
            Self::Quarantined => "quarantined",
            Self::Unused => "unused",
            Self::Down => "down",
            Self::Degraded => "degraded",
            Self::Asymmetric => "asymmetric",
            Self::Errors => "errors",
            Self::Quality => "quality",
            Self::Module => "module",
            Self::Replaced => "replaced",
            Self::Moved => "moved",
            Self::Unintended => "unintended",
            Self::SameName => "same_name",
            Self::Disabled => "disabled",
            Self::Drained => "drained",
            Self::PastErrors => "past_errors",
        }
    }

    /// How bad it is where nothing makes it worse.
    pub fn color(self) -> Color {
        match self {
            Self::Drained | Self::SameName | Self::PastErrors => Color::Green,
            Self::MissingSwitch => Color::Red,
            _ => Color::Yellow,
        }
    }
}

/// A port, or a node, as people find it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// GUID of the node.
    pub node: Guid,
    /// Its name, escaped; empty where it was never told.
    pub name: String,
    /// The port; none for the whole node.
    pub port: Option<PortNum>,
    /// Serial number of the cable in the port; empty where it is not known.
    pub serial: String,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.is_empty() {
            true => write!(f, "{}", self.node)?,
            false => write!(f, "{}", self.name)?,
        }
        match self.port {
            Some(port) => write!(f, " port {port}"),
            None => Ok(()),
        }
    }
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: Kind,
    /// How bad it is.
    pub color: Color,
    /// In one sentence, without the place.
    pub what: String,
    /// The place: a node, a port, or the end of a link that tells.
    pub a: End,
    /// The other end of the link.
    pub b: Option<End>,
    /// Since when, seconds since 1970; none where the daemon does not know it yet.
    pub since: Option<u64>,
    /// How often it happened; 0 where that means nothing.
    pub times: u64,
    /// Hosts that feel it.
    pub hosts: u32,
    /// Names of the first of them, escaped.
    pub host_names: Vec<String>,
    /// What to look at, in words; may be empty.
    pub advice: String,
    /// The command to run next.
    pub next: String,
}

/// The page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// When it was made, seconds since 1970.
    pub unix_time: u64,
    /// Generation of the snapshot that it is about.
    pub generation: u64,
    /// The worst colour of all figures and findings.
    pub color: Color,
    /// The key figures.
    pub figures: Vec<Figure>,
    /// Findings, the most costly first, at most [`LISTED_MAX`].
    pub findings: Vec<Finding>,
    /// All findings by kind, those too that are not listed.
    pub counts: BTreeMap<Kind, u32>,
    /// What was there and is not, also what no finding names.
    pub gone: Gone,
}

impl Finding {
    /// Identifies a finding from one page to the next.
    pub fn key(&self) -> u64 {
        let end = |end: &End| format!("{}/{}", end.node, end.port.unwrap_or(PortNum(0)));
        let b = self.b.as_ref().map_or_else(String::new, end);
        fnv(&format!("{} {} {b}", self.kind.name(), end(&self.a)))
    }
}

/// FNV-1a of 64 bits: the same from one run of the program to the next.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

impl Page {
    /// Findings that are not listed.
    pub fn left_out(&self) -> u32 {
        let all: u32 = self.counts.values().sum();
        all.saturating_sub(self.findings.len() as u32)
    }

    /// Why the page has its colour: the first figure and the first finding that have it.
    pub fn reason(&self) -> String {
        let worst = self.color;
        let figure = self.figures.iter().find(|figure| figure.color == worst);
        let figure = figure.map(|figure| format!("{}: {}", figure.name.name(), figure.value));
        let finding = self.findings.iter().find(|finding| finding.color == worst);
        let finding = finding.map(|finding| format!("{}: {}", finding.a.name, finding.what));
        match worst {
            Color::Green => "everything is as it should be".to_owned(),
            _ => {
                let parts: Vec<String> = figure.into_iter().chain(finding).collect();
                parts.join("; ")
            }
        }
    }
}
