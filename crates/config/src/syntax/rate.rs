//! Values of link rules, which carry their units: spans of time, bit error rates and times of day.

use std::time::Duration;

use super::number::shown;
use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::link_rules::{BitErrorRate, Hosts, Minute};

/// A whole number of seconds, minutes or hours with its unit: `90s`, `12min`, `2h`.
pub(crate) struct SpanText {
    low: u64,
    high: u64,
}

/// From `low` to `high` seconds.
pub(crate) const fn span(low: u64, high: u64) -> SpanText {
    SpanText { low, high }
}

const UNITS: [(&str, u64); 3] = [("h", 3600), ("min", 60), ("s", 1)];

/// Seconds in the largest unit that needs no fraction.
fn in_units(seconds: u64) -> String {
    let fits = |(_, unit): &&(&str, u64)| seconds != 0 && seconds.is_multiple_of(*unit);
    let (name, unit) = UNITS.iter().find(fits).unwrap_or(&UNITS[2]);
    format!("{}{name}", seconds / unit)
}

/// Digits and nothing else, as a number.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

impl Syntax for SpanText {
    type Value = Duration;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Duration, Problem> {
        let text = text.trim_ascii();
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let number = digits(number)
            .ok_or_else(|| Problem::form(format!("`{}` begins with no number", shown(text))))?;
        let known = UNITS.iter().find(|(name, _)| unit == *name);
        let (_, seconds) = known.ok_or_else(|| match unit {
            "" => Problem::form(format!("`{}` has no unit", shown(text))),
            unit => Problem::form(format!("`{}` is no unit of time here", shown(unit))),
        })?;
        let seconds = number.saturating_mul(*seconds);
        if !(self.low..=self.high).contains(&seconds) {
            let message = format!("`{}` is out of range", shown(text));
            return Err(Problem::new(Rule::Range, message));
        }
        Ok(Duration::from_secs(seconds))
    }

    fn print(&self, value: &Duration) -> String {
        in_units(value.as_secs())
    }

    fn allowed(&self) -> String {
        format!(
            "{} to {}, a whole number with s, min or h",
            in_units(self.low),
            in_units(self.high)
        )
    }
}

/// A bit error rate in scientific notation: `1e-12`, `2.5e-11`.
pub(crate) struct BitErrorRateText;

impl BitErrorRateText {
    /// Digits of a mantissa, the point left out, at most.
    const DIGITS_MAX: usize = 4;

    fn read(text: &str) -> Option<BitErrorRate> {
        let (mantissa, exponent) = text.split_once("e-")?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let fraction_digits = fraction.len();
        if whole.len() != 1 || !(1..Self::DIGITS_MAX).contains(&fraction_digits) {
            return None;
        }
        let number = digits(whole)? * 10_u64.pow(fraction_digits as u32) + digits(fraction)?;
        let exponent = digits(exponent).filter(|exponent| *exponent <= 99)?;
        // In units of 10^-18, from which the exponent and the digits of the fraction are taken away.
        let power = i64::from(BitErrorRate::DIGITS) - exponent as i64 - fraction_digits as i64;
        let units = match u32::try_from(power) {
            Ok(power) => number.checked_mul(10_u64.checked_pow(power)?)?,
            Err(_) => number / 10_u64.checked_pow(u32::try_from(-power).ok()?)?,
        };
        Some(BitErrorRate(units))
    }
}

impl Syntax for BitErrorRateText {
    type Value = BitErrorRate;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<BitErrorRate, Problem> {
        let text = text.trim_ascii();
        let wrong = || Problem::form(format!("`{}` is no bit error rate", shown(text)));
        let rate = Self::read(text).ok_or_else(wrong)?;
        if !(BitErrorRate::LEAST..=BitErrorRate::MOST).contains(&rate) {
            let message = format!("`{}` is out of range", shown(text));
            return Err(Problem::new(Rule::Range, message));
        }
        Ok(rate)
    }

    fn print(&self, value: &BitErrorRate) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        format!(
            "{} to {}, with one digit before the point and up to three behind it",
            BitErrorRate::LEAST,
            BitErrorRate::MOST
        )
    }
}

/// When links of hosts may be taken out of use: `never`, `always`, or a time of each day.
pub(crate) struct HostsText;

fn minute(text: &str) -> Option<Minute> {
    let (hour, minute) = text.split_once(':')?;
    if hour.len() != 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (digits(hour)?, digits(minute)?);
    (hour < 24 && minute < 60).then_some(Minute((hour * 60 + minute) as u16))
}

impl Syntax for HostsText {
    type Value = Hosts;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Hosts, Problem> {
        let text = text.trim_ascii();
        match text {
            "never" => return Ok(Hosts::Never),
            "always" => return Ok(Hosts::Always),
            _ => {}
        }
        let wrong = || Problem::form(format!("`{}` is no time of each day", shown(text)));
        let (from, to) = text.split_once('-').ok_or_else(wrong)?;
        let (from, to) = (
            minute(from).ok_or_else(wrong)?,
            minute(to).ok_or_else(wrong)?,
        );
        match from == to {
            true => Err(Problem::form(format!(
                "`{}` ends when it begins: `always` or `never` says which is meant",
                shown(text)
            ))),
            false => Ok(Hosts::Daily { from, to }),
        }
    }

    fn print(&self, value: &Hosts) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        "never, always, HH:MM-HH:MM in UTC".to_owned()
    }
}
