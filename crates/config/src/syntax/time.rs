//! Times: a number whose unit the tag fixes, or a text with its own unit that becomes an exponent.

use std::time::Duration;

use super::number::{Number, shown, u32s, u64s, unsigned};
use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::value::TimeExponent;

/// A number of fixed units of time.
pub(crate) struct Span {
    number: Number<u64>,
    nanoseconds: u64,
}

macro_rules! spans {
    ($($(#[doc = $doc:literal])+ $name:ident, $unit:literal, $nanoseconds:expr;)*) => { $(
        $(#[doc = $doc])+
        pub(crate) const fn $name() -> Span {
            // The vendor's fields have 32 bits and take the highest number as "not given".
            Span { number: u64s().within(0, u32::MAX as u64 - 1).unit($unit), nanoseconds: $nanoseconds }
        }
    )* };
}

spans! {
    /// A number of microseconds.
    micros, "µs", 1_000;
    /// A number of milliseconds.
    millis, "ms", 1_000_000;
    /// A number of seconds.
    seconds, "s", 1_000_000_000;
    /// A number of minutes.
    minutes, "min", 60_000_000_000;
    /// A number of hours.
    hours, "h", 3_600_000_000_000;
}

impl Span {
    pub(crate) const fn within(mut self, low: u64, high: u64) -> Self {
        self.number = self.number.within(low, high);
        self
    }

    /// 0 besides the range: off.
    pub(crate) const fn or_zero(mut self) -> Self {
        self.number = self.number.or_zero();
        self
    }

    pub(crate) const fn strictly(mut self, low: u64, high: u64) -> Self {
        self.number = self.number.strictly(low, high);
        self
    }
}

impl Syntax for Span {
    type Value = Duration;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<Duration, Problem> {
        let number = self.number.read(text, notes)?;
        Ok(Duration::from_nanos(self.nanoseconds)
            .saturating_mul(u32::try_from(number).unwrap_or(u32::MAX)))
    }

    fn print(&self, value: &Duration) -> String {
        self.number.write(
            u64::try_from(value.as_nanos() / u128::from(self.nanoseconds)).unwrap_or(u64::MAX),
        )
    }

    fn allowed(&self) -> String {
        self.number.range()
    }

    fn is_stricter(&self) -> bool {
        self.number.is_stricter()
    }
}

/// A time with its unit, as an exponent of 4.096 µs.
pub(crate) struct Timeout {
    aging: bool,
}

/// A time as part of PathRecords and class port information.
pub(crate) const fn timeout() -> Timeout {
    Timeout { aging: false }
}

/// Packet lifetime: at most 2 s, to which longer times and `infinite` are cut.
pub(crate) const fn lifetime() -> Timeout {
    Timeout { aging: true }
}

const UNITS: &[(&str, u128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The largest time that devices know: an exponent of 31.
const LONGEST_NS: u128 = 4096 << 31;

fn with_unit(text: &str) -> Result<TimeExponent, Problem> {
    let text = text.trim_ascii();
    let hexadecimal = text.starts_with("0x");
    let is_digit =
        |c: char| c.is_ascii_digit() || hexadecimal && (c.is_ascii_hexdigit() || c == 'x');
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    let number = unsigned(&text[..end])?;
    let unit = text[end..].trim_ascii();
    if unit.is_empty() {
        return Err(Problem::form(format!("`{}` has no unit", shown(text))));
    }
    let known = UNITS
        .iter()
        .find(|(name, _)| unit.eq_ignore_ascii_case(name));
    let (_, scale) =
        known.ok_or_else(|| Problem::form(format!("`{}` is no unit of time", shown(unit))))?;
    Ok(TimeExponent::at_least(
        (u128::from(number) * scale).min(LONGEST_NS),
    ))
}

impl Syntax for Timeout {
    type Value = TimeExponent;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<TimeExponent, Problem> {
        let endless = text.trim_ascii().eq_ignore_ascii_case("infinite");
        let time = if self.aging && endless {
            TimeExponent::MAX
        } else {
            with_unit(text)?
        };
        Ok(if self.aging {
            limited(time, notes)
        } else {
            time
        })
    }

    fn print(&self, value: &TimeExponent) -> String {
        // A whole number of the largest unit is more than half of the time, so it rounds up to it.
        let nanoseconds = value.duration().as_nanos();
        let (unit, scale) = match nanoseconds {
            1_000_000_000.. => ("s", 1_000_000_000),
            1_000_000.. => ("ms", 1_000_000),
            _ => ("us", 1_000),
        };
        format!("{}{unit}", nanoseconds / scale)
    }

    fn allowed(&self) -> String {
        let endless = if self.aging {
            " up to 2s, or infinite"
        } else {
            ""
        };
        format!(
            "a number with ns, us, ms, s, m or h{endless}; rounded up to 4.096 µs times a power of two"
        )
    }
}

/// Devices would take larger exponents as "never": the vendor and Weft do not go there.
fn limited(time: TimeExponent, notes: &mut Notes) -> TimeExponent {
    if time <= TimeExponent::MAX_LIFETIME {
        return time;
    }
    notes.push(Problem::new(
        Rule::Adjusted,
        "longer than 2 s, which is used",
    ));
    TimeExponent::MAX_LIFETIME
}

/// The exponent itself.
pub(crate) struct Code {
    aging: bool,
}

/// The exponent of a lifetime: larger ones become 19.
pub(crate) const fn lifetime_code() -> Code {
    Code { aging: true }
}

/// The exponent of a timeout.
pub(crate) const fn timeout_code() -> Code {
    Code { aging: false }
}

impl Syntax for Code {
    type Value = TimeExponent;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<TimeExponent, Problem> {
        let number = u32s().read(text, notes)?;
        let time = TimeExponent(u8::try_from(number).unwrap_or(u8::MAX));
        if self.aging {
            return Ok(limited(time, notes));
        }
        if time > TimeExponent::MAX {
            return Err(Problem::new(
                Rule::StrictRange,
                format!("{number} is out of range"),
            ));
        }
        Ok(time)
    }

    fn print(&self, value: &TimeExponent) -> String {
        value.0.to_string()
    }

    fn allowed(&self) -> String {
        format!(
            "0 to {}: 4.096 µs times two to that power",
            if self.aging { 19 } else { 31 }
        )
    }
}
