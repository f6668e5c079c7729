//! Thresholds of error counters, in the form of the vendor's opamon.conf.

use serde::Serialize;
use thiserror::Error;
use weft_wire::pm::Counter;

/// Flits of 8 bytes in 10^6 bytes: data thresholds are in MB.
pub(crate) const FLITS_PER_MB: u64 = 125_000;

/// A value of a port that can have a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// A counter.
    Counter(Counter),
    /// LinkQualityIndicator; bad is what is less.
    Quality,
    /// Lanes that the link has lost.
    LanesDown,
}

/// All items with their names, in the order in which thresholds are listed.
pub(super) const ITEMS: [(Item, &str); 29] = [
    (Item::Counter(Counter::XmitData), "XmitData"),
    (Item::Counter(Counter::RcvData), "RcvData"),
    (Item::Counter(Counter::XmitPkts), "XmitPkts"),
    (Item::Counter(Counter::RcvPkts), "RcvPkts"),
    (
        Item::Counter(Counter::MulticastXmitPkts),
        "MulticastXmitPkts",
    ),
    (Item::Counter(Counter::MulticastRcvPkts), "MulticastRcvPkts"),
    (Item::Quality, "LinkQualityIndicator"),
    (
        Item::Counter(Counter::UncorrectableErrors),
        "UncorrectableErrors",
    ),
    (Item::Counter(Counter::LinkDowned), "LinkDowned"),
    (Item::Counter(Counter::RcvErrors), "RcvErrors"),
    (
        Item::Counter(Counter::ExcessiveBufferOverruns),
        "ExcessiveBufferOverruns",
    ),
    (Item::Counter(Counter::FmConfigErrors), "FMConfigErrors"),
    (
        Item::Counter(Counter::LinkErrorRecovery),
        "LinkErrorRecovery",
    ),
    (
        Item::Counter(Counter::LocalLinkIntegrityErrors),
        "LocalLinkIntegrityErrors",
    ),
    (
        Item::Counter(Counter::RcvRemotePhysicalErrors),
        "RcvRemotePhysicalErrors",
    ),
    (Item::LanesDown, "NumLanesDown"),
    (
        Item::Counter(Counter::XmitConstraintErrors),
        "XmitConstraintErrors",
    ),
    (
        Item::Counter(Counter::RcvConstraintErrors),
        "RcvConstraintErrors",
    ),
    (
        Item::Counter(Counter::RcvSwitchRelayErrors),
        "RcvSwitchRelayErrors",
    ),
    (Item::Counter(Counter::XmitDiscards), "XmitDiscards"),
    (Item::Counter(Counter::SwPortCongestion), "CongDiscards"),
    (Item::Counter(Counter::RcvFecn), "RcvFECN"),
    (Item::Counter(Counter::RcvBecn), "RcvBECN"),
    (Item::Counter(Counter::MarkFecn), "MarkFECN"),
    (Item::Counter(Counter::XmitTimeCong), "XmitTimeCong"),
    (Item::Counter(Counter::XmitWait), "XmitWait"),
    (Item::Counter(Counter::XmitWastedBw), "XmitWastedBW"),
    (Item::Counter(Counter::XmitWaitData), "XmitWaitData"),
    (Item::Counter(Counter::RcvBubble), "RcvBubble"),
];

impl Item {
    /// The counter that it is.
    fn counter(self) -> Option<Counter> {
        match self {
            Self::Counter(counter) => Some(counter),
            Self::Quality | Self::LanesDown => None,
        }
    }

    /// Whether it is data, whose threshold is in MB.
    pub(super) fn is_data(self) -> bool {
        matches!(self, Self::Counter(Counter::XmitData | Counter::RcvData))
    }

    /// The largest threshold.
    fn most(self) -> u64 {
        match self {
            Self::Quality => 5,
            Self::LanesDown => 4,
            _ if self.is_data() => (i64::MAX as u64) / (FLITS_PER_MB / 2),
            Self::Counter(counter) => counter.most().min(u64::MAX - 1),
        }
    }
}

/// Names of counters, in the order in which thresholds are listed.
pub(crate) fn counter_names(counters: &[Counter]) -> Vec<&'static str> {
    let named = ITEMS.iter().filter(|(item, _)| {
        let counter = item.counter();
        counter.is_some_and(|counter| counters.contains(&counter))
    });
    named.map(|(_, name)| *name).collect()
}

/// A line of a file of thresholds that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {why}")]
pub struct ThresholdError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub why: String,
}

/// From which value of each counter on a link has errors. [`Thresholds::default`] are those of the vendor's opamon.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// By place in [`ITEMS`]; 0 for none. Data in MB.
    pub(super) values: [u64; ITEMS.len()],
    /// Whether a value that equals its threshold is bad.
    pub(super) equal: bool,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            values: ITEMS.map(|(item, _)| match item {
                Item::Quality => 4,
                Item::Counter(Counter::LinkDowned) => 3,
                Item::Counter(Counter::XmitConstraintErrors | Counter::RcvConstraintErrors) => 10,
                Item::Counter(
                    Counter::UncorrectableErrors
                    | Counter::RcvErrors
                    | Counter::ExcessiveBufferOverruns
                    | Counter::FmConfigErrors,
                ) => 1,
                _ => 0,
            }),
            equal: false,
        }
    }
}

/// A configured threshold as data.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Threshold {
    pub(super) counter: &'static str,
    /// In MB for data.
    pub(super) threshold: u64,
}

impl Thresholds {
    /// Reads a file in the form of opamon.conf: a name and a number on each line, `#` before comments. What it does not
    /// name has no threshold.
    ///
    /// # Errors
    /// [`ThresholdError`] for the first line that is no threshold.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let mut thresholds = Self {
            values: [0; ITEMS.len()],
            equal: false,
        };
        for (number, line) in text.lines().enumerate() {
            let wrong = |why| ThresholdError {
                line: number + 1,
                why,
            };
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [name, value] => thresholds.set(name, value).map_err(wrong)?,
                _ => return Err(wrong("expected a counter and a number".to_owned())),
            }
        }
        Ok(thresholds)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == "Threshold" {
            self.equal = match value {
                "Greater" => false,
                "Equal" => true,
                _ => return Err(format!("Threshold is '{value}', allowed: Greater, Equal")),
            };
            return Ok(());
        }
        let found = ITEMS.iter().position(|(_, known)| *known == name);
        let place = found.ok_or_else(|| {
            let names = ITEMS.map(|(_, name)| name);
            format!("'{name}' is no counter; there are: {}", names.join(", "))
        })?;
        let most = ITEMS[place].0.most();
        let number = value.parse().ok().filter(|number| *number <= most);
        self.values[place] =
            number.ok_or_else(|| format!("{name} is '{value}', allowed: 0 to {most}"))?;
        Ok(())
    }

    /// Counters with a threshold, in order.
    pub fn counters(&self) -> Vec<Counter> {
        let set = self.set_ones();
        set.filter_map(|(item, _)| item.counter()).collect()
    }

    /// Those that are set, in order.
    pub(super) fn set_ones(&self) -> impl Iterator<Item = (Item, Threshold)> {
        let all = ITEMS.into_iter().zip(self.values);
        all.filter(|(_, threshold)| *threshold != 0)
            .map(|((item, counter), threshold)| (item, Threshold { counter, threshold }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_is_wrong_and_where() {
        let text =
            "# comment\nThreshold Equal # as >=\n\nXmitData 7 # MB\nLinkQualityIndicator\t5\n";
        let read = Thresholds::parse(text).unwrap();
        assert!(read.equal);
        let set: Vec<_> = read
            .set_ones()
            .map(|(_, one)| (one.counter, one.threshold))
            .collect();
        assert_eq!(set, [("XmitData", 7), ("LinkQualityIndicator", 5)]);
        for (wrong, said) in [
            (
                "RcvErrors 1\nRcvErors 1",
                "line 2: 'RcvErors' is no counter; there are: XmitData",
            ),
            (
                "LinkQualityIndicator 6",
                "line 1: LinkQualityIndicator is '6', allowed: 0 to 5",
            ),
            (
                "UncorrectableErrors 256",
                "line 1: UncorrectableErrors is '256', allowed: 0 to 255",
            ),
            ("RcvErrors -1", "line 1: RcvErrors is '-1', allowed: 0 to"),
            ("RcvErrors", "line 1: expected a counter and a number"),
            (
                "Threshold Less",
                "line 1: Threshold is 'Less', allowed: Greater, Equal",
            ),
        ] {
            let error = Thresholds::parse(wrong).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
