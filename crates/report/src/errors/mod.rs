//! `errors`: links with counters beyond their thresholds.

mod thresholds;

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use weft_fabric::{CountsByPort, PortCounts, PortRef, Snapshot, links_upward};
use weft_wire::pm::Counter;

use crate::RULE;
use crate::extent::{Extent, SKIPPED};
use crate::focus::{Detail, Head, Options};
use crate::links::{Layout, LinkEntry, write_header};
use crate::xml::{Xml, XmlWriter};
pub(crate) use thresholds::{FLITS_PER_MB, counter_names};
use thresholds::{ITEMS, Item, Threshold};
pub use thresholds::{ThresholdError, Thresholds};

/// What is said of a value that is not known of the past.
const NOT_KEPT: &str = "of then is not known and not judged";

/// Links with errors.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorsReport {
    #[serde(flatten)]
    head: Head,
    /// Whether a value that equals its threshold is bad.
    equal: bool,
    /// Whether the other ends of links were left out.
    limited: bool,
    thresholds: Vec<Threshold>,
    links_checked: usize,
    total_links: usize,
    /// Links with errors, in order of their first end's GUID and port.
    pub links: Vec<ErrorLink>,
    /// Names of what has a threshold and is not known of the ports, as the quality of links in the past: not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_judged: Vec<&'static str>,
    #[serde(skip)]
    has_cables: bool,
    #[serde(skip)]
    extent: Extent,
    #[serde(skip)]
    detail: Detail,
}

/// A link with errors.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorLink {
    /// The link.
    #[serde(flatten)]
    pub link: LinkEntry,
    /// Values beyond their thresholds, of the first end and the other one.
    pub errors: [Vec<Excess>; 2],
}

/// A value beyond its threshold.
#[derive(Debug, Clone, Serialize)]
pub struct Excess {
    /// Name of the counter.
    pub counter: &'static str,
    /// The value, in MB for data.
    pub value: u64,
    /// The threshold, in MB for data.
    pub threshold: u64,
    #[serde(skip)]
    item: Option<Item>,
}

/// What ports have counted, and which of it is too much.
#[derive(Debug, Clone)]
pub struct Counted {
    /// By port.
    pub counts: Arc<CountsByPort>,
    /// Values that are too high, or too low for the quality of a link.
    pub thresholds: Thresholds,
    /// Whether the other ends of a focus's links are left out.
    pub limited: bool,
}

/// Makes the report.
pub fn errors(snapshot: &Snapshot, options: &Options, counted: &Counted) -> ErrorsReport {
    let Counted {
        counts,
        thresholds,
        limited,
    } = counted;
    let limited = *limited;
    let title = match thresholds.equal {
        true => "Links with errors >= threshold Summary",
        false => "Links with errors > threshold Summary",
    };
    let all = links_upward(&snapshot.topology);
    let total_links = all.len();
    let chosen: Vec<_> = (all.into_iter())
        .filter(|(from, to)| options.port(*from) || options.port(*to))
        .collect();
    let beyond = |at: PortRef| {
        let looked_at = !limited || options.port(at);
        let counts = counts.get(&at).filter(|_| looked_at);
        counts.map_or(Vec::new(), |counts| excesses(counts, thresholds))
    };
    let is_none = thresholds.set_ones().next().is_none();
    let links = chosen.iter().filter_map(|(from, to)| {
        let errors = [beyond(*from), beyond(*to)];
        let link = LinkEntry::new(snapshot, options, *from, *to)?;
        let has_errors = errors.iter().any(|errors| !errors.is_empty());
        has_errors.then_some(ErrorLink { link, errors })
    });
    ErrorsReport {
        head: Head::new(title, options),
        equal: thresholds.equal,
        limited,
        thresholds: thresholds.set_ones().map(|(_, one)| one).collect(),
        links_checked: if is_none { 0 } else { chosen.len() },
        total_links,
        links: links.collect(),
        not_judged: not_judged(counts, thresholds),
        has_cables: options.has_cables(),
        extent: options.extent,
        detail: options.detail,
    }
}

/// What has a threshold and is not known.
fn not_judged(counts: &CountsByPort, thresholds: &Thresholds) -> Vec<&'static str> {
    let is_unknown = counts.values().any(|counts| counts.quality.is_none());
    let unknown = thresholds
        .set_ones()
        .filter(|(item, _)| is_unknown && *item == Item::Quality);
    unknown.map(|(_, threshold)| threshold.counter).collect()
}

/// What of a port is beyond its threshold, in the order of the vendor's report.
fn excesses(counts: &PortCounts, thresholds: &Thresholds) -> Vec<Excess> {
    let mut found: Vec<Excess> = (thresholds.set_ones())
        .filter_map(|(item, Threshold { counter, threshold })| {
            let value = match item {
                Item::Counter(counter) => counts.counters[counter as usize],
                Item::Quality => u64::from(counts.quality?),
                Item::LanesDown => u64::from(counts.lanes_down),
            };
            let unit = if item.is_data() { FLITS_PER_MB } else { 1 };
            let limit = threshold.saturating_mul(unit);
            let is_beyond = match item {
                Item::Quality => value < limit,
                _ => value > limit || thresholds.equal && value == limit,
            };
            is_beyond.then_some(Excess {
                counter,
                value: value / unit,
                threshold,
                item: Some(item),
            })
        })
        .collect();
    found.sort_by_key(|excess| excess.item.map(order));
    found
}

/// Place of an item among those of a port. Those of the link's stability are not in the order of thresholds.
fn order(item: Item) -> usize {
    match item {
        Item::Counter(Counter::LinkDowned) => 7,
        Item::Counter(Counter::UncorrectableErrors) => 8,
        Item::Counter(Counter::FmConfigErrors) => 9,
        Item::Counter(Counter::RcvErrors) => 10,
        Item::Counter(Counter::ExcessiveBufferOverruns) => 11,
        item => ITEMS
            .iter()
            .position(|(known, _)| *known == item)
            .unwrap_or(ITEMS.len()),
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            counter,
            value,
            threshold,
            item,
        } = self;
        match item {
            Some(Item::Quality) => {
                writeln!(f, "    {counter}: {value} Below Threshold: {threshold}")
            }
            Some(item) if item.is_data() => {
                writeln!(
                    f,
                    "    {counter}: {value} MB Exceeds Threshold: {threshold} MB"
                )
            }
            _ => writeln!(f, "    {counter}: {value} Exceeds Threshold: {threshold}"),
        }
    }
}

impl ErrorsReport {
    fn write_thresholds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Configured Thresholds:")?;
        for Threshold { counter, threshold } in &self.thresholds {
            let unit = if is_data(counter) { " MB" } else { "" };
            writeln!(f, "    {counter:<30} {threshold}{unit}")?;
        }
        Ok(())
    }

    fn write_links(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail.within();
        let layout = Layout {
            indent: 0,
            arrow: "<->",
            detail,
        };
        for (number, ErrorLink { link, errors }) in self.links.iter().enumerate() {
            match number {
                0 => write_header(f, 0, self.has_cables && detail.lists())?,
                _ => writeln!(f)?,
            }
            link.write(f, layout, &|f, side| {
                errors[side]
                    .iter()
                    .try_for_each(|excess| write!(f, "{excess}"))
            })?;
        }
        Ok(())
    }
}

/// Suffix of the names of a value's elements.
fn unit(is_data: bool) -> &'static str {
    if is_data { "MB" } else { "" }
}

impl Xml for Excess {
    fn xml(&self, to: &mut XmlWriter) {
        let Self {
            counter,
            value,
            threshold,
            item,
        } = self;
        let unit = unit(item.is_some_and(Item::is_data));
        let lower = if *item == Some(Item::Quality) {
            "Lower"
        } else {
            ""
        };
        to.within(counter, |to| {
            to.value(&format!("Value{unit}"), value);
            to.value(&format!("{lower}Threshold{unit}"), threshold);
        });
        to.value(&format!("{counter}Value{unit}"), value);
        to.value(&format!("{counter}Threshold{unit}"), threshold);
    }
}

impl Xml for ErrorsReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within_remarked("LinkErrors", self.head.title, |to| {
            if !self.extent.has_passing() {
                return to.line(format_args!("<!-- {SKIPPED} -->"));
            }
            self.head.write_xml(to);
            if self.limited {
                to.remark_at_margin("Check limited, will not check neighbor ports");
            }
            to.within("ConfiguredThresholds", |to| {
                for Threshold { counter, threshold } in &self.thresholds {
                    let unit = unit(is_data(counter));
                    to.value(&format!("{counter}{unit}"), threshold);
                }
            });
            for name in &self.not_judged {
                to.remark_at_margin(&format!("{name} {NOT_KEPT}"));
            }
            if self.thresholds.is_empty() {
                to.line(format_args!(
                    "<!-- Report skipped: no thresholds configured -->"
                ));
                return;
            }
            for ErrorLink { link, errors } in self.links.iter().filter(|_| self.detail.lists()) {
                link.write_xml(to, self.detail.within(), &|to, side| {
                    errors[side].iter().for_each(|excess| excess.xml(to));
                });
            }
            to.value("LinksChecked", self.links_checked);
            to.value("TotalLinks", self.total_links);
            to.value("LinksWithErrors", self.links.len());
        });
    }
}

/// Whether a counter of this name counts data.
fn is_data(counter: &str) -> bool {
    matches!(counter, "XmitData" | "RcvData")
}

impl fmt::Display for ErrorsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.extent.has_passing() {
            return writeln!(f, "{}\n{SKIPPED}\n{RULE}", self.head.title);
        }
        write!(f, "{}", self.head)?;
        if self.limited {
            writeln!(f, "Check limited, will not check neighbor ports")?;
        }
        self.write_thresholds(f)?;
        for name in &self.not_judged {
            writeln!(f, "{name} {NOT_KEPT}")?;
        }
        if self.thresholds.is_empty() {
            writeln!(f, "    None")?;
            writeln!(f, "Report skipped: no thresholds configured")?;
            return writeln!(f, "{RULE}");
        }
        if self.detail > Detail::COUNTS {
            self.write_links(f)?;
        }
        writeln!(
            f,
            "{} of {} Links Checked, {} Errors found",
            self.links_checked,
            self.total_links,
            self.links.len()
        )?;
        writeln!(f, "{RULE}")
    }
}
