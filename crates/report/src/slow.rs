//! Links that are slower than they could be: `slowlinks`, `slowconfiglinks`, `slowconnlinks`,
//! `misconfiglinks`, `misconnlinks`.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::{LinkSpeed, LinkWidth};
use weft_fabric::{PortRef, Snapshot, links_upward};
use weft_wire::sm::PortInfo;

use crate::RULE;
use crate::extent::Extent;
use crate::focus::{Detail, Head, Options};
use crate::links::{Layout, LinkEntry, write_header};
use crate::names::{as_speed, as_width, speed, width};
use crate::xml::{Xml, XmlWriter};

/// A report on slow links: the questions that it asks of a link in turn, each of those that passed
/// the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// `slowlinks`: whether it runs as fast as both ends have enabled.
    Running,
    /// `slowconfiglinks`: also whether both ends have enabled what both can do.
    Configured,
    /// `slowconnlinks`: also whether both ends can do the same.
    Connected,
    /// `misconfiglinks`: only whether both ends have enabled what both can do.
    OnlyConfigured,
    /// `misconnlinks`: only whether both ends can do the same.
    OnlyConnected,
}

/// A question that is asked of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Whether it runs as fast as both ends have enabled.
    Running,
    /// Whether both ends have enabled what both can do.
    Configured,
    /// Whether both ends can do the same.
    Connected,
}

/// Links that are slower than they could be.
#[derive(Debug, Clone, Serialize)]
pub struct SlowReport {
    #[serde(flatten)]
    head: Head,
    /// One for each question.
    pub sections: Vec<SlowSection>,
    #[serde(skip)]
    slow: Slow,
    #[serde(skip)]
    has_cables: bool,
    #[serde(skip)]
    extent: Extent,
    #[serde(skip)]
    detail: Detail,
}

/// The answers to one question.
#[derive(Debug, Clone, Serialize)]
pub struct SlowSection {
    /// The question.
    pub question: Question,
    /// Links in the fabric.
    pub total: usize,
    /// Those that the focus leaves.
    pub checked: usize,
    /// Those of them that are slow.
    pub links: Vec<SlowLink>,
}

/// A link and why it is slow.
#[derive(Debug, Clone, Serialize)]
pub struct SlowLink {
    /// The link.
    #[serde(flatten)]
    pub link: LinkEntry,
    /// Widths and speeds of both its ends.
    pub ends: [Ability; 2],
    /// A port reports several widths or speeds in use, so that nothing can be said.
    pub unknown: bool,
}

/// Widths and speeds of a port.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Ability {
    /// In use.
    pub active: Lanes,
    /// Lanes in use to send.
    #[serde(serialize_with = "as_width")]
    pub tx: LinkWidth,
    /// Lanes in use to receive.
    #[serde(serialize_with = "as_width")]
    pub rx: LinkWidth,
    /// Enabled.
    pub enabled: Lanes,
    /// What the device can do.
    pub supported: Lanes,
}

/// Numbers of lanes and speeds of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lanes {
    /// Lanes when the link comes up.
    #[serde(serialize_with = "as_width")]
    pub width: LinkWidth,
    /// Lanes that may be left later; none for what is in use.
    #[serde(serialize_with = "as_width")]
    pub down_to: LinkWidth,
    /// Speed of a lane.
    #[serde(serialize_with = "as_speed")]
    pub speed: LinkSpeed,
}

/// Makes the report.
pub fn slow(snapshot: &Snapshot, options: &Options, slow: Slow) -> SlowReport {
    let links = links_upward(&snapshot.topology);
    let total = links.len();
    let mut sections: Vec<SlowSection> = slow
        .questions()
        .iter()
        .map(|question| SlowSection {
            question: *question,
            total,
            checked: 0,
            links: Vec::new(),
        })
        .collect();
    for (from, to) in links {
        if !options.port(from) && !options.port(to) {
            continue;
        }
        let slow = SlowLink::new(snapshot, options, from, to);
        for section in &mut sections {
            section.checked += 1;
        }
        let Some(slow) = slow else { continue };
        for at in slow.places(&sections) {
            sections[at].links.push(slow.clone());
        }
    }
    SlowReport {
        head: Head::new(slow.title(), options),
        sections,
        slow,
        has_cables: options.has_cables(),
        extent: options.extent,
        detail: options.detail,
    }
}

impl Slow {
    fn questions(self) -> &'static [Question] {
        use Question::{Configured, Connected, Running};
        match self {
            Self::Running => &[Running],
            Self::Configured => &[Running, Configured],
            Self::Connected => &[Running, Configured, Connected],
            Self::OnlyConfigured => &[Configured],
            Self::OnlyConnected => &[Connected],
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Running => "Links running slower than expected Summary",
            Self::Configured => "Links running slower than supported Summary",
            Self::Connected => "Links running slower than faster port Summary",
            Self::OnlyConfigured => "Links configured slower than supported Summary",
            Self::OnlyConnected => "Links connected with mismatched supported speeds Summary",
        }
    }

    /// Name and remark of the first element.
    fn tag(self) -> &'static str {
        match self {
            Self::Running => "LinksExpected",
            Self::Configured => "LinksRunningSupported",
            Self::Connected => "LinksRunningSlower",
            Self::OnlyConfigured => "LinksConfig",
            Self::OnlyConnected => "LinksMismatched",
        }
    }
}

impl Question {
    fn title(self) -> &'static str {
        match self {
            Self::Running => "Links running slower than expected:",
            Self::Configured => "Links configured to run slower than supported:",
            Self::Connected => "Links connected with mismatched speed potential:",
        }
    }

    /// The report that asks nothing else, for the names of its element.
    fn alone(self) -> Slow {
        match self {
            Self::Running => Slow::Running,
            Self::Configured => Slow::OnlyConfigured,
            Self::Connected => Slow::OnlyConnected,
        }
    }

    /// Whether a link passes.
    fn passes(self, ends: &[Ability; 2]) -> bool {
        let [a, b] = ends;
        match self {
            Self::Running => {
                let best = a.enabled.both(b.enabled);
                ends.iter().all(|end| {
                    let used = [end.tx, end.rx];
                    end.active.speed == best.speed
                        && end.active.width == best.width
                        && used
                            .iter()
                            .all(|used| *used == best.down_to && *used == end.active.width)
                })
            }
            Self::Configured => {
                let best = a.supported.both(b.supported);
                ends.iter().all(|end| end.enabled.best() == best)
            }
            Self::Connected => a.supported.best() == b.supported.best(),
        }
    }

    /// Whether it is about what an extent leaves out.
    fn is_skipped(self, extent: Extent) -> bool {
        self == Self::Configured && !extent.has_settings()
    }

    fn headings(self) -> [&'static str; 2] {
        match self {
            Self::Running => [
                " Active                              Enabled",
                " Lanes, Used(Tx), Used(Rx), Rate,    Lanes,    DownTo,  Rates",
            ],
            Self::Configured => [
                " Enabled                        Supported",
                " Lanes,   Used,   Rate,         Lanes,    DownTo,  Rates",
            ],
            Self::Connected => [" Supported", " Lanes,       DownTo,      Rate"],
        }
    }
}

impl Lanes {
    /// The best of each.
    fn best(self) -> Self {
        Self {
            width: best_width(self.width),
            down_to: best_width(self.down_to),
            speed: best_speed(self.speed),
        }
    }

    /// The best that both have.
    pub(crate) fn both(self, other: Self) -> Self {
        let common = Self {
            width: LinkWidth(self.width.0 & other.width.0),
            down_to: LinkWidth(self.down_to.0 & other.down_to.0),
            speed: LinkSpeed(self.speed.0 & other.speed.0),
        };
        common.best()
    }
}

/// The widest of the widths that exist, none where there is none.
fn best_width(widths: LinkWidth) -> LinkWidth {
    let known = [LinkWidth::X4, LinkWidth::X3, LinkWidth::X2, LinkWidth::X1];
    let best = known.into_iter().find(|one| widths.0 & one.0 != 0);
    best.unwrap_or(LinkWidth::NOP)
}

/// The fastest of the speeds that exist, none where there is none.
fn best_speed(speeds: LinkSpeed) -> LinkSpeed {
    let known = [LinkSpeed::G25, LinkSpeed::G12_5];
    let best = known.into_iter().find(|one| speeds.0 & one.0 != 0);
    best.unwrap_or(LinkSpeed::NOP)
}

impl Ability {
    fn new(info: &PortInfo) -> Self {
        Self {
            active: Lanes {
                width: info.link_width_active,
                down_to: LinkWidth::NOP,
                speed: info.link_speed_active,
            },
            tx: info.link_width_downgrade_tx_active,
            rx: info.link_width_downgrade_rx_active,
            enabled: Lanes {
                width: info.link_width_enabled,
                down_to: info.link_width_downgrade_enabled,
                speed: info.link_speed_enabled,
            },
            supported: Lanes {
                width: info.link_width_supported,
                down_to: info.link_width_downgrade_supported,
                speed: info.link_speed_supported,
            },
        }
    }

    /// What is in use is one width and one speed.
    fn is_known(&self) -> bool {
        let widths = [self.active.width, self.tx, self.rx];
        self.active.speed == best_speed(self.active.speed)
            && widths.iter().all(|width| *width == best_width(*width))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, question: Question) -> fmt::Result {
        let Self {
            active,
            enabled,
            supported,
            ..
        } = self;
        match question {
            Question::Running => writeln!(
                f,
                "     {:<6} {:<9} {:<9} {:<8} {:<9} {:<8} {:<12}",
                width(active.width),
                width(self.tx),
                width(self.rx),
                speed(active.speed),
                width(enabled.width),
                width(enabled.down_to),
                speed(enabled.speed)
            ),
            Question::Configured => writeln!(
                f,
                "     {:<8} {:<7} {:<13} {:<9} {:<8} {:<12}",
                width(enabled.width),
                width(enabled.down_to),
                speed(enabled.speed),
                width(supported.width),
                width(supported.down_to),
                speed(supported.speed)
            ),
            Question::Connected => writeln!(
                f,
                "     {:<12} {:<12} {:<12}",
                width(supported.width),
                width(supported.down_to),
                speed(supported.speed)
            ),
        }
    }

    fn write_xml(&self, to: &mut XmlWriter, question: Question) {
        if question == Question::Running {
            write_width(to, "LinkWidthActive", self.active.width);
            write_width(to, "LinkWidthDnGradeTxActive", self.tx);
            write_width(to, "LinkWidthDnGradeRxActive", self.rx);
            write_speed(to, "LinkSpeedActive", self.active.speed);
        }
        if question != Question::Connected {
            write_width(to, "LinkWidthEnabled", self.enabled.width);
            write_width(to, "LinkWidthDnGradeEnabled", self.enabled.down_to);
            write_speed(to, "LinkSpeedEnabled", self.enabled.speed);
        }
        if question != Question::Running {
            write_width(to, "LinkWidthSupported", self.supported.width);
            write_width(to, "LinkWidthDnGradeSupported", self.supported.down_to);
            write_speed(to, "LinkSpeedSupported", self.supported.speed);
        }
    }
}

/// Writes a width, or a set of them.
pub(crate) fn write_width(to: &mut XmlWriter, tag: &str, value: LinkWidth) {
    to.coded(tag, &width(value), value.0);
}

/// Writes a speed, or a set of them.
pub(crate) fn write_speed(to: &mut XmlWriter, tag: &str, value: LinkSpeed) {
    to.coded(tag, &speed(value), value.0);
}

impl SlowLink {
    fn new(snapshot: &Snapshot, options: &Options, from: PortRef, to: PortRef) -> Option<Self> {
        let port = |at| {
            snapshot
                .topology
                .port(at)
                .map(|port| Ability::new(&port.info))
        };
        let ends = [port(from)?, port(to)?];
        Some(Self {
            link: LinkEntry::new(snapshot, options, from, to)?,
            unknown: !ends.iter().all(Ability::is_known),
            ends,
        })
    }

    /// The sections that list it: that of the first question that it fails, or all where nothing can
    /// be said.
    fn places(&self, sections: &[SlowSection]) -> Vec<usize> {
        if self.unknown {
            return (0..sections.len()).collect();
        }
        let failed = sections
            .iter()
            .position(|section| !section.question.passes(&self.ends));
        failed.into_iter().collect()
    }
}

/// The line in place of what software sets.
const SKIPPED: &str = "Report skipped: -H option specified";
/// The line that stands before a link of which nothing can be said.
const UNKNOWN: &str = " The speed, width, or widthdowngrade value retrieved is not valid. ";

impl SlowSection {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail, has_cables: bool) -> fmt::Result {
        let layout = Layout {
            indent: 0,
            arrow: "<->",
            detail: detail.within(),
        };
        for (index, slow) in self.links.iter().enumerate() {
            if slow.unknown {
                writeln!(f, "{UNKNOWN}")?;
            }
            if !detail.lists() {
                continue;
            }
            if index == 0 {
                self.write_header(f, detail.within(), has_cables)?;
            }
            slow.link.write(f, layout, &|f, side| {
                slow.ends[side].write(f, self.question)
            })?;
        }
        let (checked, total, errors) = (self.checked, self.total, self.links.len());
        writeln!(
            f,
            "{checked} of {total} Links Checked, {errors} Errors found"
        )
    }

    fn write_header(
        &self,
        f: &mut fmt::Formatter<'_>,
        detail: Detail,
        has_cables: bool,
    ) -> fmt::Result {
        write_header(f, 0, has_cables && detail.lists())?;
        if detail.lists() {
            for line in self.question.headings() {
                writeln!(f, "    {line}")?;
            }
            writeln!(f, "{RULE}")?;
        }
        Ok(())
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        for slow in &self.links {
            if slow.unknown {
                to.unindented(UNKNOWN);
            }
            if detail.lists() {
                let note =
                    |to: &mut XmlWriter, side: usize| slow.ends[side].write_xml(to, self.question);
                slow.link.write_xml(to, detail.within(), &note);
            }
        }
        to.value("LinksChecked", self.checked);
        to.value("TotalLinks", self.total);
        to.value("LinksWithErrors", self.links.len());
    }
}

impl Xml for SlowReport {
    fn xml(&self, to: &mut XmlWriter) {
        for (index, section) in self.sections.iter().enumerate() {
            let slow = match index {
                0 => self.slow,
                _ => section.question.alone(),
            };
            to.within_remarked(slow.tag(), slow.title(), |to| {
                if index == 0 {
                    self.head.write_xml(to);
                }
                match section.question.is_skipped(self.extent) {
                    true => to.remark_at_margin(SKIPPED),
                    false => section.write_xml(to, self.detail),
                }
            });
        }
    }
}

impl fmt::Display for SlowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        for section in &self.sections {
            writeln!(f, "{}", section.question.title())?;
            match section.question.is_skipped(self.extent) {
                true => writeln!(f, "{SKIPPED}")?,
                false => section.write(f, self.detail, self.has_cables)?,
            }
        }
        writeln!(f, "{RULE}")
    }
}
