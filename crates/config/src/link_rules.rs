//! Rules for links with errors: a file of Weft's own, as opafm.xml has no place for them.
//!
//! Omni-Path counts no symbol errors: `LocalLinkIntegrityErrors`, the transfers that a port received with a wrong
//! checksum and that were sent again, stand for them, one bit error each.
//!
//! The default limits are 10⁻¹² over 125 minutes, which is what InfiniBand requires of a link (InfiniBand
//! Architecture Specification, volume 2: bit error rate), and ten times that over 12 minutes. Windows and the factor
//! between the two are those by which NVIDIA's UFM isolates ports (its PDR Deterministic plugin).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_state::State;

use crate::context::{Cx, Findings};
use crate::document;
use crate::finding::{Finding, Problem, Rule, Severity};
use crate::section::{self, One, Section, Sub, section};
use crate::syntax::{BitErrorRateText, HostsText, keyword, keywords, span, u8s, u32s};
use crate::xml::{Document, Id};

/// The outermost element.
const ROOT: &str = "LinkRules";
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// What a rule does with a link that breaks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Action {
    /// Nothing: the rule is not applied.
    #[default]
    Off,
    /// It tells what it would do.
    DryRun,
    /// It puts the link into quarantine.
    Quarantine,
}

keywords! { Action { "off" => Off, "dry-run" => DryRun, "quarantine" => Quarantine } }

/// A bit error rate in units of 10⁻¹⁸.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct BitErrorRate(pub u64);

impl BitErrorRate {
    /// Decimal digits of a unit behind the point.
    pub const DIGITS: u32 = 18;
    /// The least limit: 10⁻¹⁶.
    pub const LEAST: Self = Self(100);
    /// The greatest limit: 10⁻⁶.
    pub const MOST: Self = Self(1_000_000_000_000);

    /// The rate of so many errors among so many bits; the greatest number where there are no bits.
    pub fn of(errors: u64, bits: u128) -> Self {
        let units = u128::from(errors) * 10_u128.pow(Self::DIGITS);
        let units = units.checked_div(bits).unwrap_or(u128::MAX);
        Self(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// Errors among so many bits at this rate, rounded down.
    pub fn errors(self, bits: u128) -> u64 {
        let errors = u128::from(self.0).saturating_mul(bits) / 10_u128.pow(Self::DIGITS);
        u64::try_from(errors).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for BitErrorRate {
    /// With up to three digits behind the point: `1.25e-12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(power) = self.0.checked_ilog10() else {
            return f.write_str("0");
        };
        let scale = 10_u64.pow(power);
        let whole = self.0 / scale;
        let thousandths = u128::from(self.0 % scale) * 1000 / u128::from(scale);
        let digits = format!("{thousandths:03}");
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        let exponent = i64::from(power) - i64::from(Self::DIGITS);
        write!(f, "{whole}{point}{digits}e{exponent}")
    }
}

/// A minute of the day in UTC, 0 to 1439.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
#[serde(transparent)]
pub struct Minute(pub u16);

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

/// When links of hosts may be taken out of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Hosts {
    /// Not at all.
    #[default]
    Never,
    /// At any time.
    Always,
    /// Each day from one minute until before another; past midnight where that comes first.
    Daily {
        /// The first minute.
        from: Minute,
        /// The first minute after it.
        to: Minute,
    },
}

impl Hosts {
    /// Whether they may at a time, in seconds since 1970.
    pub fn may(self, unix_s: u64) -> bool {
        let now = Minute((unix_s % DAY / MINUTE) as u16);
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Daily { from, to } if from < to => from <= now && now < to,
            Self::Daily { from, to } => from <= now || now < to,
        }
    }
}

impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Always => f.write_str("always"),
            Self::Daily { from, to } => write!(f, "{from}-{to}"),
        }
    }
}

section! {
    /// `LinkRules`: rules for links with errors.
    #[derive(Copy, Eq, State)]
    pub struct LinkRules {
        /// How much may be taken out of use.
        bounds: Bounds = Bounds::default(), "Bounds" => Sub;
        /// How long it stays out of use.
        hold: Hold = Hold::default(), "Hold" => Sub;
        /// Errors that link retry repaired.
        symbol_errors: SymbolErrors = SymbolErrors::default(), "SymbolErrors" => Sub;
        /// Packets dropped before they were sent.
        discards: Discards = Discards::default(), "Discards" => Sub;
        /// What the device says about its link.
        link_quality: LinkQuality = LinkQuality::default(), "LinkQuality" => Sub;
    }
    finish |rules: &mut LinkRules, id: Id, cx: &mut Cx<'_>| rules.check(id, cx);
}

section! {
    /// `Bounds`: how much may be taken out of use.
    #[derive(Copy, Eq, State)]
    pub struct Bounds {
        /// Most links in an hour.
        most_per_hour: u32 = 4, "MostPerHour" => One(u32s().within(0, 1000));
        /// Most links at the same time.
        most_at_once: u32 = 16, "MostAtOnce" => One(u32s().within(0, 10_000));
        /// When links of hosts may be.
        hosts: Hosts = Hosts::Never, "Hosts" => One(HostsText);
    }
}

section! {
    /// `Hold`: how long a link stays out of use.
    #[derive(Copy, Eq, State)]
    pub struct Hold {
        /// The first time; doubled each further time.
        first: Duration = Duration::from_secs(HOUR), "First" => One(span(1, 30 * DAY));
        /// The longest; a link that was used for so long begins anew.
        most: Duration = Duration::from_secs(DAY), "Most" => One(span(1, 30 * DAY));
    }
}

section! {
    /// `SymbolErrors`: bit error rates over a short and a long time.
    #[derive(Copy, Eq, State)]
    pub struct SymbolErrors {
        /// What is done.
        action: Action = Action::Off, "Action" => One(keyword());
        /// The short time.
        short_window: Duration = Duration::from_secs(12 * MINUTE), "ShortWindow" => One(span(2, DAY));
        /// Greatest bit error rate over the short time.
        short_limit: BitErrorRate = BitErrorRate(10_000_000), "ShortLimit" => One(BitErrorRateText);
        /// The long time.
        long_window: Duration = Duration::from_secs(125 * MINUTE), "LongWindow" => One(span(2, DAY));
        /// Greatest bit error rate over the long time.
        long_limit: BitErrorRate = BitErrorRate(1_000_000), "LongLimit" => One(BitErrorRateText);
    }
}

section! {
    /// `Discards`: packets that a port dropped before it sent them.
    #[derive(Copy, Eq, State)]
    pub struct Discards {
        /// What is done.
        action: Action = Action::Off, "Action" => One(keyword());
        /// The time over which they are counted.
        window: Duration = Duration::from_secs(12 * MINUTE), "Window" => One(span(2, DAY));
        /// Most packets a second, on the average of the time.
        per_second: u32 = 100, "PerSecond" => One(u32s().within(1, 1_000_000_000));
    }
}

section! {
    /// `LinkQuality`: what a port says about its link, 5 excellent to 1 bad.
    #[derive(Copy, Eq, State)]
    pub struct LinkQuality {
        /// What is done.
        action: Action = Action::Off, "Action" => One(keyword());
        /// The time for which all readings have to be bad.
        window: Duration = Duration::from_secs(12 * MINUTE), "Window" => One(span(2, DAY));
        /// From which value down it is bad.
        at_most: u8 = 2, "AtMost" => One(u8s().within(1, 4));
    }
}

impl LinkRules {
    /// Whether any rule is applied.
    pub fn is_on(&self) -> bool {
        let actions = [
            self.symbol_errors.action,
            self.discards.action,
            self.link_quality.action,
        ];
        actions.iter().any(|action| *action != Action::Off)
    }

    fn check(&self, id: Id, cx: &mut Cx<'_>) {
        let place = |path: &[&str]| cx.document.find_last(id, path).unwrap_or(id);
        let (windows, hold) = (
            place(&["SymbolErrors", "LongWindow"]),
            place(&["Hold", "Most"]),
        );
        if self.symbol_errors.short_window >= self.symbol_errors.long_window {
            let message = "LongWindow is no longer than ShortWindow";
            cx.error(windows, Rule::Conflict, message);
        }
        if self.hold.first > self.hold.most {
            let message = "Most is shorter than First";
            cx.error(hold, Rule::Conflict, message);
        }
    }
}

/// Result of a check of link rules.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedRules {
    /// The rules, unless something was found.
    pub rules: Option<LinkRules>,
    /// Everything that was found, all of it errors, in the order of lines.
    pub findings: Vec<Finding>,
}

/// Reads and checks a file of link rules. `file` is its name, for the findings only.
///
/// Any bytes are allowed as input. What would be a warning in opafm.xml is an error here.
pub fn check_link_rules(bytes: impl AsRef<[u8]>, file: &str) -> CheckedRules {
    let mut findings = Findings::new(file);
    let rules = document(bytes.as_ref(), &mut findings, read);
    let findings: Vec<Finding> = findings.into_list().into_iter().map(strict).collect();
    CheckedRules {
        rules: rules.flatten().filter(|_| findings.is_empty()),
        findings,
    }
}

fn read(document: &Document<'_>, findings: &mut Findings) -> Option<LinkRules> {
    let root = document.root();
    let mut cx = Cx::new(document, findings);
    if document.name(root) != ROOT {
        let message = format!("the outermost element is `{}`", document.name(root));
        let problem = Problem::new(Rule::Count, message);
        cx.add(Severity::Error, root, problem, || ROOT.to_owned());
        return None;
    }
    let mut rules = LinkRules::default();
    section::apply(&mut rules, root, &mut cx);
    Some(rules)
}

/// A finding as an error: nothing is ignored, and the last one of several does not count.
fn strict(finding: Finding) -> Finding {
    let (message, allowed) = match finding.rule {
        Rule::UnknownElement => (
            "this element is not known here".to_owned(),
            tags_around(&finding.path).join(", "),
        ),
        Rule::Duplicate => (
            "the element is repeated".to_owned(),
            "one of each".to_owned(),
        ),
        _ => (finding.message, finding.allowed),
    };
    Finding {
        severity: Severity::Error,
        message,
        allowed,
        ..finding
    }
}

/// The tags of the section that an element is in.
fn tags_around(path: &str) -> Vec<&'static str> {
    let around = path.rsplit('/').nth(1).unwrap_or_default();
    match around {
        "Bounds" => Bounds::tags(),
        "Hold" => Hold::tags(),
        "SymbolErrors" => SymbolErrors::tags(),
        "Discards" => Discards::tags(),
        "LinkQuality" => LinkQuality::tags(),
        _ => LinkRules::tags(),
    }
}
