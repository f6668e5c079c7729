//! Links that are up, or are kept from use: in quarantine, without data, slow, with errors.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use weft_fabric::Topology;
use weft_fabric::enums::{LinkSpeed, LinkWidth};
use weft_fabric::text::count;
use weft_manager::{BarredPort, Standing, UnusedReason};
use weft_wire::sm::PortInfo;

use super::gone::FLAPS;
use super::{Finder, near, point, why};
use crate::errors::PortErrors;
use crate::memory::LinkEnd;
use crate::page::{Finding, Kind};

/// Byte of a cable's memory, in its upper half, with its technology in the upper bits: below 10 optical (SFF-8636).
const TECHNOLOGY: usize = 19;

impl Finder<'_> {
    /// The far end of a link, up or remembered.
    fn far_end(&self, end: LinkEnd) -> Option<LinkEnd> {
        self.peer(end).or_else(|| {
            let mut links = self.moment.memory.gone_links();
            let found = links.find(|((a, b), _)| *a == end || *b == end);
            found.map(|((a, b), _)| if a == end { b } else { a })
        })
    }

    fn link_finding(&self, kind: Kind, what: String, end: LinkEnd) -> (Finding, Vec<LinkEnd>) {
        match self.far_end(end) {
            Some(far) => (self.at_link(kind, what, end, far), vec![end, far]),
            None => (self.begin(kind, what, self.end(end), None), vec![end]),
        }
    }

    /// Ports whose links are not to be used for the time being.
    pub(super) fn barred(&mut self) {
        for barred in self.moment.barred {
            let end = (barred.port.node, barred.port.port);
            // A link that only would be in quarantine is told with its errors.
            let is_left = barred.errors.as_ref().is_some_and(|errors| {
                matches!(errors.standing, Standing::DryRun | Standing::Spared(_))
            });
            if self.is_explained(end) || is_left {
                continue;
            }
            let (kind, what) = barred_words(barred);
            let (mut finding, ends) = self.link_finding(kind, what, end);
            finding.since = Some(self.ago(barred.since));
            finding.times = barred.losses.into();
            finding.next = why(end);
            self.found.push(finding);
            self.explain(ends);
        }
    }

    fn ago(&self, time: Duration) -> u64 {
        self.moment.now.saturating_sub(time.as_secs())
    }

    /// Links that are up and carry no data.
    pub(super) fn unused(&mut self) {
        let unused = self.moment.last_sweep.map(|sweep| &sweep.unused);
        for link in unused.into_iter().flatten() {
            let ends = [&link.a, &link.b].map(|end| (end.node, end.port));
            let is_policy = !matches!(link.reason, UnusedReason::Behind | UnusedReason::NoLid);
            let is_up = self.peer(ends[0]) == Some(ends[1]);
            if !is_policy || !is_up || ends.iter().any(|end| self.is_explained(*end)) {
                continue;
            }
            let (a, b) = near(self, ends[0], ends[1]);
            let what = format!("the link is up and carries no data: {}", link.reason);
            let mut finding = self.at_link(Kind::Unused, what, a, b);
            (finding.advice, finding.next) = match policy(&link.reason) {
                Some(setting) => (
                    format!(
                        "reseat the cable at both ends, then replace it; {setting} in opafm.xml decides what may carry data"
                    ),
                    format!("weft port bounce {}", point(a)),
                ),
                None => (String::new(), why(a)),
            };
            self.found.push(finding);
            self.explain(ends);
        }
    }

    /// Links that are up now and went down again and again.
    pub(super) fn flapping(&mut self) {
        let mut flaps: BTreeMap<(LinkEnd, LinkEnd), (u64, Option<u64>)> = BTreeMap::new();
        for (key, losses, last) in self.moment.losses.at_least(FLAPS) {
            flaps.insert(key, (losses, Some(last)));
        }
        for (end, downs) in self.moment.errors.downs_at_least(FLAPS) {
            if let Some(far) = self.peer(end) {
                let key = (end.min(far), end.max(far));
                let known = flaps.entry(key).or_insert((0, None));
                known.0 = known.0.max(downs);
            }
        }
        for ((a, b), (losses, _)) in flaps {
            if self.peer(a) != Some(b) || self.is_explained(a) || self.is_explained(b) {
                continue;
            }
            let (a, b) = near(self, a, b);
            let times = count(losses, "time");
            let what = format!("the link is up, and went down {times} in the last hour");
            let mut finding = self.at_link(Kind::Flapping, what, a, b);
            finding.times = losses;
            finding.advice = "reseat the cable at both ends, then replace it".to_owned();
            finding.next = why(a);
            self.found.push(finding);
            self.explain([a, b]);
        }
    }

    /// Links that are slower than both ends allow, or in one direction than in the other.
    pub(super) fn degraded(&mut self) {
        for (from, to, a, b) in self.open_links() {
            let info = |at| self.topology.port(at).map(|port| &port.info);
            let (Some(here), Some(there)) = (info(a), info(b)) else {
                continue;
            };
            let Some((kind, what)) = slowness(here, there) else {
                continue;
            };
            let (a, b) = near(self, from, to);
            let mut finding = self.at_link(kind, what, a, b);
            finding.advice = match self.between_switches(a, b) {
                true => "move its data off, then reseat the cable at both ends",
                false => "let it train again; then reseat the cable at both ends",
            }
            .to_owned();
            finding.next = self.remedy(a, b);
            self.found.push(finding);
            self.explain([a, b]);
        }
    }

    fn between_switches(&self, a: LinkEnd, b: LinkEnd) -> bool {
        self.is_switch(a.0) && self.is_switch(b.0)
    }

    /// A link between switches is drained before someone touches it, one of a host trains again.
    fn remedy(&self, a: LinkEnd, b: LinkEnd) -> String {
        match self.between_switches(a, b) {
            true => format!("weft drain {}", point(a)),
            false => format!("weft port bounce {}", point(a)),
        }
    }

    /// Links with errors now; both ends in one finding, of which the worse end comes first.
    pub(super) fn errors(&mut self) {
        let all: BTreeMap<LinkEnd, PortErrors> = self
            .moment
            .errors
            .ports()
            .map(|errors| (errors.port, errors))
            .collect();
        let weight = |errors: &PortErrors| errors.counts.iter().map(|(_, n)| *n).max();
        let mut told = BTreeSet::new();
        for (end, errors) in &all {
            let far = self.peer(*end);
            let both = far.and_then(|far| all.get(&far));
            let is_second = both
                .is_some_and(|other| (weight(other), errors.port) > (weight(errors), other.port));
            let ends = [Some(*end), far];
            if is_second || ends.iter().flatten().any(|end| self.is_explained(*end)) {
                continue;
            }
            let mut what = error_words(errors);
            match (far, both) {
                (Some(_), Some(other)) => what += &format!("; other end: {}", counts_words(other)),
                (Some(_), None) => what += "; only in this direction",
                _ => {}
            }
            let (mut finding, ends) = self.link_finding(Kind::Errors, what, *end);
            finding.since = Some(errors.first);
            finding.times = errors.counts.first().map_or(0, |(_, count)| *count);
            finding.advice = self.cable_advice(*end);
            self.tell_modules(&mut finding, *end);
            finding.next = far.map_or_else(|| why(*end), |far| self.remedy(*end, far));
            self.found.push(finding);
            told.extend(ends);
        }
        self.explain(told);
    }

    /// What to do about a bad cable, by what its memory says that it is.
    fn cable_advice(&self, (guid, port): LinkEnd) -> String {
        let memory = self.moment.cables.get(guid, port);
        let technology = memory.map(|memory| memory[TECHNOLOGY] >> 4);
        match technology {
            Some(0xA..) => "a copper cable: reseat it at both ends, then replace it",
            Some(_) => {
                "an optical cable: look for bends and dirt, reseat it at both ends, then replace it"
            }
            None => "clean and reseat the cable at both ends, then replace it",
        }
        .to_owned()
    }

    /// Links that are bad as their devices say.
    pub(super) fn bad_quality(&mut self) {
        let bad: Vec<(LinkEnd, u8)> = self.moment.errors.bad().collect();
        for (end, quality) in bad {
            let Some(far) = self.peer(end) else { continue };
            if self.is_explained(end) || self.is_explained(far) {
                continue;
            }
            let word = ["down", "bad", "poor", "fair"].get(usize::from(quality));
            let what = format!(
                "the device says that its link is {} ({quality} of 5)",
                word.unwrap_or(&"bad")
            );
            let mut finding = self.at_link(Kind::Quality, what, end, far);
            finding.advice = self.cable_advice(end);
            self.tell_modules(&mut finding, end);
            finding.next = self.remedy(end, far);
            self.found.push(finding);
            self.explain([end, far]);
        }
    }

    /// Errors that were counted since counters were cleared, and not lately; both ends of a link in one finding.
    pub(super) fn past_errors(&mut self) {
        let ever = self.moment.errors.ever();
        let mut all: BTreeMap<LinkEnd, String> = BTreeMap::new();
        for (end, counts) in ever {
            let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
            all.insert(end, counts.collect::<Vec<_>>().join(", "));
        }
        let mut told = BTreeSet::new();
        for (end, counts) in &all {
            if self.is_explained(*end) || told.contains(end) {
                continue;
            }
            let far = self.peer(*end);
            let other = match far.and_then(|far| all.get(&far)) {
                Some(other) => format!("; other end: {other}"),
                None => String::new(),
            };
            let what = format!("counted since the counters were cleared: {counts}{other}");
            let (mut finding, _) = self.link_finding(Kind::PastErrors, what, *end);
            (finding.hosts, finding.host_names) = (0, Vec::new());
            finding.next = why(*end);
            self.found.push(finding);
            told.extend(far);
        }
    }
}

fn barred_words(barred: &BarredPort) -> (Kind, String) {
    let comment = match barred.comment.is_empty() {
        true => String::new(),
        false => format!(": {}", barred.comment),
    };
    match barred.reason {
        UnusedReason::HeldBack { .. } => (
            Kind::Flapping,
            format!(
                "held back, as the link went down {} lately",
                count(barred.losses, "time")
            ),
        ),
        UnusedReason::Quarantined { .. } => (
            Kind::Quarantined,
            format!("in quarantine: {}", barred.reason),
        ),
        UnusedReason::QuarantinedByHand => {
            (Kind::Quarantined, format!("in quarantine by hand{comment}"))
        }
        _ => (
            Kind::Quarantined,
            format!("in quarantine: {}{comment}", barred.reason),
        ),
    }
}

fn counts_words(errors: &PortErrors) -> String {
    let counts = errors.counts.iter();
    let counts = counts.map(|(trouble, count)| format!("{} {count}", trouble.name()));
    counts.collect::<Vec<_>>().join(", ")
}

fn error_words(errors: &PortErrors) -> String {
    let trend = errors
        .trend
        .map_or_else(String::new, |trend| format!(", {}", trend.name()));
    format!("{} in the last hour{trend}", counts_words(errors))
}

/// The widest of a set of widths.
pub(super) fn widest(widths: u16) -> u32 {
    LinkWidth(widths).lanes()
}

/// The fastest of a set of speeds, Mb/s a lane.
pub(super) fn fastest(speeds: u16) -> u32 {
    let best = LinkSpeed(1 << speeds.checked_ilog2().unwrap_or(0));
    best.lane_mbps()
}

/// How a link is slower than both ends allow, as `opareport -o slowlinks` judges it.
fn slowness(a: &PortInfo, b: &PortInfo) -> Option<(Kind, String)> {
    let speed = fastest(a.link_speed_enabled.0 & b.link_speed_enabled.0);
    let width = widest(a.link_width_enabled.0 & b.link_width_enabled.0);
    let lanes = |info: &PortInfo| {
        let trained = info.link_width_active;
        let or_trained = |width: LinkWidth| match width {
            LinkWidth::NOP => trained.lanes(),
            width => width.lanes(),
        };
        [
            or_trained(info.link_width_downgrade_tx_active),
            or_trained(info.link_width_downgrade_rx_active),
        ]
    };
    let ([a_tx, a_rx], [b_tx, b_rx]) = (lanes(a), lanes(b));
    let (there, back) = (a_tx.min(b_rx), b_tx.min(a_rx));
    let speeds = [a, b].map(|info| info.link_speed_active.lane_mbps());
    if there != back || speeds[0] != speeds[1] {
        let what = match there == back {
            true => format!(
                "the two ends run at different speeds: {} and {} Mb/s a lane",
                speeds[0], speeds[1]
            ),
            false => format!(
                "{} in one direction, {} in the other; {width} are enabled",
                count(there, "lane"),
                count(back, "lane")
            ),
        };
        return Some((Kind::Asymmetric, what));
    }
    let mut parts = Vec::new();
    if speeds[0] < speed {
        parts.push(format!("lanes at {} Mb/s instead of {speed}", speeds[0]));
    }
    if there < width {
        let trained = a.link_width_active.lanes();
        let lost = match there < trained {
            true => "; it has lost lanes since it came up",
            false => "",
        };
        let lanes = count(there, "lane");
        parts.push(format!("{lanes} instead of {width}{lost}"));
    }
    (!parts.is_empty()).then(|| {
        let what = format!("the link is slower than enabled: {}", parts.join(", "));
        (Kind::Degraded, what)
    })
}

/// The setting by which the manager leaves a link unused, where one does.
fn policy(reason: &UnusedReason) -> Option<&'static str> {
    match reason {
        UnusedReason::Width { .. } => Some("WidthPolicy"),
        UnusedReason::Speed { .. } => Some("SpeedPolicy"),
        UnusedReason::LostLanes { .. } => Some("MaxDroppedLanes"),
        _ => None,
    }
}

/// Whether a link has its full rate.
pub(crate) fn is_slow(
    topology: &Topology,
    (a, b): (weft_fabric::PortRef, weft_fabric::PortRef),
) -> bool {
    match (topology.port(a), topology.port(b)) {
        (Some(a), Some(b)) => slowness(&a.info, &b.info).is_some(),
        _ => false,
    }
}
