//! Amounts that are more than a number: sizes in steps, shares, multipliers and limits that may be
//! words.

use super::number::{refuse_sign, shown, u32s, unsigned};
use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::pm::Limit;
use crate::value::{CoreLimit, Percent};

/// A size that devices know in steps: `MIN`, `MAX`, `INF` or a number, rounded up.
pub(crate) struct Steps {
    low: u32,
    high: u32,
    step: u32,
    endless: Option<u32>,
}

/// Numbers of bytes from `low` to `high` in steps.
pub(crate) const fn steps(low: u32, high: u32, step: u32) -> Steps {
    Steps {
        low,
        high,
        step,
        endless: None,
    }
}

impl Steps {
    /// 0 for never, and `INF`, kept as this number.
    pub(crate) const fn or_endless(mut self, number: u32) -> Self {
        self.endless = Some(number);
        self
    }

    fn word(&self, text: &str) -> Option<u32> {
        let words = [
            ("MIN", Some(self.low)),
            ("MAX", Some(self.high)),
            ("INF", self.endless),
        ];
        words
            .iter()
            .find(|(word, _)| text.eq_ignore_ascii_case(word))
            .and_then(|&(_, number)| number)
    }
}

impl Syntax for Steps {
    type Value = u32;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<u32, Problem> {
        let text = text.trim_ascii();
        if let Some(number) = self.word(text) {
            return Ok(number);
        }
        refuse_sign(text)?;
        if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Problem::form(format!(
                "`{}` is neither a number nor one of the words",
                shown(text)
            )));
        }
        let number = unsigned(text)?;
        if self.endless.is_some() && number == 0 {
            return Ok(0);
        }
        let near = number.clamp(u64::from(self.low), u64::from(self.high)) as u32; // Between two 32-bit numbers.
        let used = near.next_multiple_of(self.step);
        if u64::from(used) != number {
            notes.push(Problem::new(
                Rule::Adjusted,
                format!("{number} is no possible size, {used} is used"),
            ));
        }
        Ok(used)
    }

    fn print(&self, value: &u32) -> String {
        if Some(*value) == self.endless {
            "INF".to_owned()
        } else {
            value.to_string()
        }
    }

    fn allowed(&self) -> String {
        let endless = if self.endless.is_some() {
            ", 0, INF"
        } else {
            ""
        };
        format!(
            "{} to {} in steps of {}, MIN, MAX{endless}",
            self.low, self.high, self.step
        )
    }
}

/// A percentage: with its sign (`50%`), or a bare number where the format has none.
pub(crate) struct PercentText {
    sign: bool,
    low: u8,
    stricter: bool,
}

/// A percentage with its sign, at least 1.
pub(crate) const fn percent(low: u8) -> PercentText {
    PercentText {
        sign: true,
        low,
        stricter: false,
    }
}

/// A percentage with its sign, which the vendor does not check.
pub(crate) const fn unchecked_percent() -> PercentText {
    PercentText {
        sign: true,
        low: 0,
        stricter: true,
    }
}

/// A percentage written as a number alone.
pub(crate) const fn percent_number() -> PercentText {
    PercentText {
        sign: false,
        low: 0,
        stricter: false,
    }
}

impl Syntax for PercentText {
    type Value = Percent;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Percent, Problem> {
        let rule = |problem: Problem| {
            if self.stricter {
                Problem::new(Rule::StrictRange, problem.message)
            } else {
                problem
            }
        };
        self.read(text.trim_ascii()).map_err(rule)
    }

    fn print(&self, value: &Percent) -> String {
        format!("{}{}", value.0, if self.sign { "%" } else { "" })
    }

    fn allowed(&self) -> String {
        let sign = if self.sign { "%" } else { "" };
        format!("{}{sign} to 100{sign}", self.low)
    }

    fn may_be_empty(&self) -> bool {
        self.stricter
    }

    fn is_stricter(&self) -> bool {
        self.stricter
    }
}

impl PercentText {
    fn read(&self, text: &str) -> Result<Percent, Problem> {
        let digits = if self.sign {
            text.strip_suffix('%')
                .ok_or_else(|| Problem::form(format!("`{}` has no percent sign", shown(text))))?
        } else {
            text
        };
        match unsigned(digits)? {
            number if number > 100 => Err(Problem::new(
                Rule::Range,
                format!("{number} is more than 100 percent"),
            )),
            number if number < u64::from(self.low) => Err(Problem::new(
                Rule::Range,
                format!("{number} percent is too little"),
            )),
            number => Ok(Percent(number as u8)), // At most 100.
        }
    }
}

/// A multiplier from 1 to 128, kept as its binary logarithm, rounded up.
pub(crate) struct LifetimeMultiplier;

pub(crate) const fn lifetime_multiplier() -> LifetimeMultiplier {
    LifetimeMultiplier
}

impl Syntax for LifetimeMultiplier {
    type Value = u8;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<u8, Problem> {
        let number = unsigned(text)?;
        if !(1..=128).contains(&number) {
            return Err(Problem::new(
                Rule::Range,
                format!("{number} is out of range"),
            ));
        }
        let power = number.next_power_of_two();
        if power != number {
            notes.push(Problem::new(
                Rule::Adjusted,
                format!("{number} is no power of two, {power} is used"),
            ));
        }
        Ok(power.trailing_zeros() as u8) // At most 7.
    }

    fn print(&self, value: &u8) -> String {
        (1_u32 << (*value).min(7)).to_string()
    }

    fn allowed(&self) -> String {
        "1 to 128, powers of two".to_owned()
    }
}

/// The size of a core file: bytes, with `K`, `M` or `G`, or `unlimited`; below 8192 a bare number counts megabytes.
pub(crate) struct CoreLimitText;

pub(crate) const fn core_limit() -> CoreLimitText {
    CoreLimitText
}

impl Syntax for CoreLimitText {
    type Value = CoreLimit;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<CoreLimit, Problem> {
        if text.eq_ignore_ascii_case("unlimited") {
            return Ok(CoreLimit::Unlimited);
        }
        let (digits, unit) = match text.bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], Some(1 << 10)),
            Some(b'M' | b'm') => (&text[..text.len() - 1], Some(1 << 20)),
            Some(b'G' | b'g') => (&text[..text.len() - 1], Some(1 << 30)),
            _ => (text, None),
        };
        if digits.starts_with("0x") {
            return Err(Problem::new(
                Rule::StrictForm,
                format!("`{}` is hexadecimal", shown(text)),
            ));
        }
        refuse_sign(digits)?;
        if digits.trim_ascii_end() != digits {
            return Err(Problem::new(
                Rule::StrictForm,
                format!("`{}` has a blank inside", shown(text)),
            ));
        }
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Problem::form(format!("`{}` is not a size", shown(text))));
        }
        let number = unsigned(digits)?;
        let unit = unit.unwrap_or(if number < 8192 { 1 << 20 } else { 1 });
        let bytes = number.checked_mul(unit);
        bytes.map(CoreLimit::Bytes).ok_or_else(|| {
            Problem::new(
                Rule::Range,
                format!("{} bytes do not fit 64 bits", shown(text)),
            )
        })
    }

    fn print(&self, value: &CoreLimit) -> String {
        match *value {
            CoreLimit::Unlimited => "unlimited".to_owned(),
            CoreLimit::Bytes(0) => "0".to_owned(),
            CoreLimit::Bytes(bytes) if bytes % (1 << 30) == 0 => format!("{}G", bytes >> 30),
            CoreLimit::Bytes(bytes) if bytes % (1 << 20) == 0 => format!("{}M", bytes >> 20),
            CoreLimit::Bytes(bytes) if bytes % (1 << 10) == 0 => format!("{}K", bytes >> 10),
            CoreLimit::Bytes(bytes) => bytes.to_string(),
        }
    }

    fn allowed(&self) -> String {
        "bytes, with K, M or G; below 8192 megabytes; or unlimited".to_owned()
    }

    fn may_be_empty(&self) -> bool {
        true
    }
}

/// `Unlimited`, or a number.
pub(crate) struct LimitText;

pub(crate) const fn limit() -> LimitText {
    LimitText
}

impl Syntax for LimitText {
    type Value = Limit;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<Limit, Problem> {
        if text.trim_ascii().eq_ignore_ascii_case("unlimited") {
            return Ok(Limit::Unlimited);
        }
        u32s().parse(text, notes).map(Limit::At)
    }

    fn print(&self, value: &Limit) -> String {
        match value {
            Limit::Unlimited => "Unlimited".to_owned(),
            Limit::At(number) => number.to_string(),
        }
    }

    fn allowed(&self) -> String {
        format!("Unlimited, or {}", u32s().range())
    }
}
