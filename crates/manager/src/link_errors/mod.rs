//! Links with too many errors: what performance management reads, held against the rules of a file of Weft's own.
//!
//! | module | contents |
//! |---|---|
//! | `readings` | from an image to the counts of each port |
//! | `window` | counts of the last while, in bounded memory |
//!
//! [`ErrorMeter`] only measures. What becomes of a link that breaks a rule is the subnet manager's matter, which
//! gets all such links with each reading ([`crate::Input::LinkErrors`]).
//!
//! A rule is broken when more was counted within its time than its limit allows for the whole of it, so that a link
//! is not judged by less than that; and it stays broken until half of the limit is reached. A reading in which a
//! counter was set to zero, or the link went down, adds nothing, and after the latter the port begins anew.

mod readings;
mod window;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_config::link_rules::{Action, BitErrorRate, LinkRules};
use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;

use crate::pm::Image;
use readings::LastRead;
use window::Window;

/// Ports with errors that are watched at most; errors of further ones are not seen.
pub const PORTS_MAX: usize = 131_072;
/// Limits of links that are told of at most, those that are broken furthest.
pub const TOLD_MAX: usize = 256;

/// A port of a node.
type End = (Guid, PortNum);

/// A rule for links with errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, State)]
pub enum ErrorRule {
    /// Bit error rates.
    SymbolErrors,
    /// Packets dropped before they were sent.
    Discards,
    /// What the device says about its link.
    LinkQuality,
}

impl ErrorRule {
    /// What the rules say about it.
    pub fn action(self, rules: &LinkRules) -> Action {
        match self {
            Self::SymbolErrors => rules.symbol_errors.action,
            Self::Discards => rules.discards.action,
            Self::LinkQuality => rules.link_quality.action,
        }
    }
}

impl fmt::Display for ErrorRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SymbolErrors => "symbol errors",
            Self::Discards => "discards",
            Self::LinkQuality => "link quality",
        })
    }
}

/// A link that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkExcess {
    /// The end that tells.
    pub port: (Guid, PortNum),
    /// The other end.
    pub far: (Guid, PortNum),
    /// The rule.
    pub rule: ErrorRule,
    /// The time over which it was measured.
    pub window: Duration,
    /// What was measured: errors, packets, or the link's quality.
    pub measured: u64,
    /// The most that is allowed; the quality from which down it is bad.
    pub limit: u64,
    /// Bits that the link carries in the time; 0 for rules without a rate.
    pub bits: u64,
    /// Whether it is beyond its limit now; else it was, and is not below half of it yet.
    pub is_over: bool,
}

impl LinkExcess {
    /// The link, whichever end tells: the lower end of the two.
    pub fn link(&self) -> (Guid, PortNum) {
        self.port.min(self.far)
    }

    /// How far beyond its limit, in thousandths.
    fn degree(&self) -> u64 {
        let (part, whole) = match self.rule {
            ErrorRule::LinkQuality => (self.limit + 1, self.measured),
            _ => (self.measured, self.limit),
        };
        part.saturating_mul(1000) / whole.max(1)
    }
}

impl fmt::Display for LinkExcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (measured, limit) = (self.measured, self.limit);
        let within = span(self.window);
        let rate = |errors| BitErrorRate::of(errors, u128::from(self.bits));
        match self.rule {
            ErrorRule::SymbolErrors => write!(
                f,
                "{measured} symbol errors within {within}, bit error rate {}; the limit is {limit}, {}",
                rate(measured),
                rate(limit)
            ),
            ErrorRule::Discards => write!(
                f,
                "{measured} packets dropped within {within}; the limit is {limit}"
            ),
            ErrorRule::LinkQuality => write!(
                f,
                "link quality {measured} for {within}; {limit} and less is bad"
            ),
        }
    }
}

/// A time in its largest whole unit.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// Counts of a port since the reading before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PortReading {
    port: End,
    far: End,
    bits_per_second: u64,
    /// Transfers received with a wrong checksum.
    symbol_errors: u64,
    /// Packets dropped before they were sent.
    discards: u64,
    /// 5 excellent to 1 bad, 0 down.
    quality: u8,
    /// Its link went down since.
    has_been_down: bool,
}

/// What is known of a port that has errors.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Track {
    far: End,
    bits_per_second: u64,
    seen: Tick,
    short: Window,
    long: Window,
    discards: Window,
    /// All readings since then were bad, and the last quality.
    bad: Option<(Tick, u8)>,
    /// Rules that are broken, by place in [`Track::checks`].
    broken: [bool; 4],
}

/// A look at one rule.
struct Check {
    rule: ErrorRule,
    window: Duration,
    measured: u64,
    limit: u64,
    bits: u64,
}

impl Track {
    fn new(reading: &PortReading) -> Self {
        Self {
            far: reading.far,
            bits_per_second: reading.bits_per_second,
            seen: Tick(0),
            short: Window::default(),
            long: Window::default(),
            discards: Window::default(),
            bad: None,
            broken: [false; 4],
        }
    }

    fn read(&mut self, time: (Tick, Tick), reading: &PortReading, rules: &LinkRules) {
        if reading.has_been_down || self.far != reading.far {
            *self = Self::new(reading);
        }
        self.seen = time.1;
        self.bits_per_second = reading.bits_per_second;
        if !reading.has_been_down {
            let (symbol, errors) = (&rules.symbol_errors, reading.symbol_errors);
            self.short.add(time, errors, symbol.short_window);
            self.long.add(time, errors, symbol.long_window);
            let window = rules.discards.window;
            self.discards.add(time, reading.discards, window);
        }
        self.bad = match is_bad(reading.quality, rules) {
            true => Some((self.bad.map_or(time.1, |(since, _)| since), reading.quality)),
            false => None,
        };
    }

    fn advance(&mut self, now: Tick, rules: &LinkRules) {
        let symbol = &rules.symbol_errors;
        self.short.advance(now, symbol.short_window);
        self.long.advance(now, symbol.long_window);
        self.discards.advance(now, rules.discards.window);
        let unread = now.since(self.seen);
        self.bad = self.bad.filter(|_| unread <= rules.link_quality.window);
    }

    /// Whether nothing is left to remember.
    fn is_clean(&self) -> bool {
        let counts = [&self.short, &self.long, &self.discards];
        counts.iter().all(|window| window.sum() == 0) && self.bad.is_none()
    }

    /// The rules that are applied.
    fn checks(&self, now: Tick, rules: &LinkRules) -> [Option<Check>; 4] {
        let (symbol, discards, quality) =
            (&rules.symbol_errors, &rules.discards, &rules.link_quality);
        let rate = |counts: &Window, window: Duration, limit: BitErrorRate| {
            let bits = u128::from(self.bits_per_second) * window.as_nanos() / 1_000_000_000;
            Check {
                rule: ErrorRule::SymbolErrors,
                window,
                measured: counts.sum(),
                limit: limit.errors(bits),
                bits: u64::try_from(bits).unwrap_or(u64::MAX),
            }
        };
        let checks = [
            Some(rate(&self.short, symbol.short_window, symbol.short_limit)),
            Some(rate(&self.long, symbol.long_window, symbol.long_limit)),
            Some(Check {
                rule: ErrorRule::Discards,
                window: discards.window,
                measured: self.discards.sum(),
                limit: u64::from(discards.per_second) * discards.window.as_secs(),
                bits: 0,
            }),
            self.bad
                .filter(|(since, _)| now.since(*since) >= quality.window)
                .map(|(_, measured)| Check {
                    rule: ErrorRule::LinkQuality,
                    window: quality.window,
                    measured: u64::from(measured),
                    limit: u64::from(quality.at_most),
                    bits: 0,
                }),
        ];
        checks.map(|check| check.filter(|check| check.rule.action(rules) != Action::Off))
    }

    /// The rules that are broken, each by its place in [`Self::checks`]. What is not read now is not judged, and not
    /// forgotten at once.
    fn judge(&mut self, port: End, now: Tick, rules: &LinkRules) -> [Option<LinkExcess>; 4] {
        let (is_read, unread) = (self.seen == now, now.since(self.seen));
        let mut checks = self.checks(now, rules);
        std::array::from_fn(|place| {
            let check = checks[place].take().filter(|check| unread <= check.window);
            let is_over = check.as_ref().is_some_and(Check::is_over);
            let is_near = check.as_ref().is_some_and(Check::is_near);
            self.broken[place] = is_over || self.broken[place] && is_near;
            let check = check.filter(|_| self.broken[place])?;
            Some(LinkExcess {
                port,
                far: self.far,
                rule: check.rule,
                window: check.window,
                measured: check.measured,
                limit: check.limit,
                bits: check.bits,
                is_over: is_over && is_read,
            })
        })
    }
}

impl Check {
    fn is_over(&self) -> bool {
        match self.rule {
            ErrorRule::LinkQuality => self.measured <= self.limit,
            _ => self.measured > self.limit,
        }
    }

    /// Whether it is not below half of the limit yet.
    fn is_near(&self) -> bool {
        match self.rule {
            ErrorRule::LinkQuality => self.is_over(),
            _ => self.measured > self.limit / 2,
        }
    }
}

/// What is beyond its limit goes first, then what is acted on, then what is further beyond.
fn rank(excess: &LinkExcess, rules: &LinkRules) -> (bool, bool, u64) {
    let acts = excess.rule.action(rules) == Action::Quarantine;
    (excess.is_over, acts, excess.degree())
}

fn is_bad(quality: u8, rules: &LinkRules) -> bool {
    let at_most = rules.link_quality.at_most;
    let applies = rules.link_quality.action != Action::Off;
    applies && (1..=at_most).contains(&quality)
}

/// Measures the errors of all links of a fabric.
///
/// Ports without errors take no memory, others some 410 bytes each.
#[derive(Debug)]
pub struct ErrorMeter {
    rules: LinkRules,
    tracks: BTreeMap<End, Box<Track>>,
    last: LastRead,
}

impl ErrorMeter {
    /// A meter that has seen nothing.
    pub fn new(rules: LinkRules) -> Self {
        Self {
            rules,
            tracks: BTreeMap::new(),
            last: LastRead::default(),
        }
    }

    /// Changes the rules; with other ones measuring begins anew.
    pub fn reconfigure(&mut self, rules: LinkRules) {
        if self.rules != rules {
            self.clear();
            self.rules = rules;
        }
    }

    /// Forgets everything: this manager does not run the fabric any more.
    pub fn clear(&mut self) {
        self.tracks.clear();
        self.last.clear();
    }

    /// Takes a reading of all counters. Returns the links that break a rule, by their worse end, once for each limit
    /// and those furthest beyond first, at most [`TOLD_MAX`].
    pub fn take(&mut self, image: &Image) -> Vec<LinkExcess> {
        let (tracks, rules) = (&self.tracks, &self.rules);
        let is_watched = |port: End| !tracks.is_empty() && tracks.contains_key(&port);
        let (time, readings) = self
            .last
            .take(image, is_watched, |quality| is_bad(quality, rules));
        self.read(time, readings)
    }

    /// The same, of counts from one moment to another.
    fn read(
        &mut self,
        time: (Tick, Tick),
        readings: impl IntoIterator<Item = PortReading>,
    ) -> Vec<LinkExcess> {
        for reading in readings {
            self.read_port(time, &reading);
        }
        let (rules, now) = (self.rules, time.1);
        let mut told: BTreeMap<(End, usize), LinkExcess> = BTreeMap::new();
        self.tracks.retain(|port, track| {
            track.advance(now, &rules);
            let broken = track.judge(*port, now, &rules).into_iter().enumerate();
            for (place, excess) in broken.filter_map(|(place, excess)| Some((place, excess?))) {
                let worst = told.entry((excess.link(), place)).or_insert(excess);
                if rank(&excess, &rules) > rank(worst, &rules) {
                    *worst = excess;
                }
            }
            !track.is_clean()
        });
        let mut told: Vec<LinkExcess> = told.into_values().collect();
        told.sort_by_key(|excess| (Reverse(rank(excess, &rules)), excess.link()));
        told.truncate(TOLD_MAX);
        told
    }

    fn read_port(&mut self, time: (Tick, Tick), reading: &PortReading) {
        let has_errors = reading.symbol_errors > 0 || reading.discards > 0;
        let is_news = has_errors && !reading.has_been_down || is_bad(reading.quality, &self.rules);
        if let Some(track) = self.tracks.get_mut(&reading.port) {
            track.read(time, reading, &self.rules);
        } else if is_news && self.tracks.len() < PORTS_MAX {
            let mut track = Box::new(Track::new(reading));
            track.read(time, reading, &self.rules);
            self.tracks.insert(reading.port, track);
        }
    }
}

#[cfg(test)]
mod tests;
