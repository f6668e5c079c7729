//! Words and numbers of a scenario's text.

use std::time::Duration;

use weft_dataplane::packets::{MICRO, NANO, Picos};

/// The value, or the error and the allowed values.
pub(super) type Checked<T> = Result<T, String>;

pub(super) fn unknown(what: &str, text: &str, allowed: &str) -> String {
    format!("unknown {what} {text:?}, allowed: {allowed}")
}

/// Whether something is not too many.
pub(super) fn at_most(count: usize, most: usize, what: &str) -> Checked<()> {
    match count <= most {
        true => Ok(()),
        false => Err(format!("{count} {what}, allowed: {most}")),
    }
}

pub(super) fn number(text: &str, least: u64, most: u64) -> Checked<u64> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let value = digits.parse::<u64>().ok();
    let value = value.and_then(|value| value.checked_mul(factor));
    value
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| format!("{text:?} is no whole number from {least} to {most}"))
}

pub(super) fn decimal(text: &str, most: f64) -> Checked<f64> {
    let value = text.parse::<f64>().ok();
    value
        .filter(|value| (0.0..=most).contains(value))
        .ok_or_else(|| format!("{text:?} is no number from 0 to {most}"))
}

/// A number of either sign.
pub(super) fn signed(text: &str, most: f64) -> Checked<f64> {
    let value = text.parse::<f64>().ok();
    value
        .filter(|value| (-most..=most).contains(value))
        .ok_or_else(|| format!("{text:?} is no number from -{most} to {most}"))
}

/// Longest span, seconds.
const SPAN_MAX: f64 = 3_600.0;

pub(super) fn span(text: &str) -> Checked<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        Some((digits.trim(), *factor))
    });
    let (digits, factor) =
        unit.ok_or_else(|| format!("{text:?} is no span of time such as 5ms, units: us, ms, s"))?;
    let seconds = decimal(digits, SPAN_MAX / factor)? * factor;
    Ok(Duration::from_secs_f64(seconds))
}

/// Nanoseconds, such as 184ns, at most `most`.
pub(super) fn nanos(text: &str, most: Picos) -> Checked<Picos> {
    let most = most / NANO;
    let value = text
        .strip_suffix("ns")
        .and_then(|digits| digits.parse().ok());
    let value = value.filter(|value: &u64| *value <= most);
    let value = value.ok_or_else(|| format!("{text:?} is no time from 0ns to {most}ns"))?;
    Ok(value * NANO)
}

/// Bytes a second, such as 500MB/s or 8.5GB/s, at least `least`.
pub(super) fn rate(text: &str, least: u64) -> Checked<u64> {
    let units = [("GB/s", 1e9), ("MB/s", 1e6)];
    let value = units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        Some(decimal(digits, RATE_MAX / factor).ok()? * factor)
    });
    let value = value.map(|value| value as u64);
    value.filter(|value| *value >= least).ok_or_else(|| {
        let (least, most) = (least as f64 / 1e6, RATE_MAX / 1e9);
        format!("{text:?} is no rate from {least}MB/s to {most}GB/s")
    })
}

/// Highest rate, bytes a second.
const RATE_MAX: f64 = 1e12;

/// A time span above zero.
pub(super) fn some_span(text: &str) -> Checked<Duration> {
    let some = span(text)?;
    match some.is_zero() {
        true => Err(format!("{text:?} is no time at all, allowed: more than 0s")),
        false => Ok(some),
    }
}

pub(super) fn switch(text: &str) -> Checked<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unknown("value", text, "on, off")),
    }
}

/// A time of the scenario's.
pub(super) fn picos(span: Duration) -> Picos {
    Picos::try_from(span.as_nanos().saturating_mul(1_000)).unwrap_or(Picos::MAX)
}

/// Words of the form key=value.
pub(super) struct Values<'a> {
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Values<'a> {
    pub(super) fn read(words: impl Iterator<Item = &'a str>, allowed: &[&str]) -> Checked<Self> {
        let pair = |word: &'a str| {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{word:?} is not of the form key=value"))?;
            if allowed.contains(&key) {
                Ok((key, value))
            } else {
                Err(unknown("key", key, &allowed.join(", ")))
            }
        };
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let (key, value) = pair(word)?;
            if pairs.iter().any(|(other, _)| *other == key) {
                return Err(format!("{key} is there twice"));
            }
            pairs.push((key, value));
        }
        Ok(Self { pairs })
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        let found = self.pairs.iter().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value)
    }

    pub(super) fn number(&self, key: &str, default: u64, least: u64, most: u64) -> Checked<u64> {
        let value = self.get(key);
        let value = value.map_or(Ok(default), |text| number(text, least, most));
        value.map_err(|what| format!("{key}: {what}"))
    }
}

/// A time in us.
pub(super) fn micros(time: Picos) -> f64 {
    time as f64 / MICRO as f64
}
