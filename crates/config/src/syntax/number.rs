//! Numbers: decimal, or hexadecimal after `0x`, with the vendor's field widths.

use std::marker::PhantomData;

use weft_wire::id::Guid;

use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::pm::Limit;
use crate::value::{CoreLimit, Percent};

/// Reads an unsigned number as the vendor does: decimal, or hexadecimal after `0x`.
pub(crate) fn unsigned(text: &str) -> Result<u64, Problem> {
    let text = text.trim_ascii();
    refuse_sign(text)?;
    let (digits, radix) = text
        .strip_prefix("0x")
        .map_or((text, 10), |digits| (digits, 16));
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(Problem::form(format!("`{}` is not a number", shown(text))));
    }
    u64::from_str_radix(digits, radix)
        .map_err(|_| Problem::new(Rule::Range, format!("{} does not fit 64 bits", shown(text))))
}

/// Signs have no meaning in unsigned numbers, although C reads them.
pub(super) fn refuse_sign(text: &str) -> Result<(), Problem> {
    let digits = text.strip_prefix(['+', '-']);
    if digits.is_some_and(|digits| digits.starts_with(|digit: char| digit.is_ascii_hexdigit())) {
        return Err(Problem::new(
            Rule::StrictForm,
            format!("`{}` has a sign", shown(text)),
        ));
    }
    Ok(())
}

/// A text short enough for a message.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

/// What happens to a number outside of its range but within the vendor's field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// The vendor refuses it too.
    Refused,
    /// The vendor lets it pass, and something breaks later.
    Stricter,
    /// The vendor puts it to the nearest bound.
    Clamped,
    /// The vendor refuses what is too low and puts to the bound what is too high.
    Capped,
    /// The vendor refuses what is too high and puts to the bound what is too low.
    Raised,
}

/// An unsigned number of a given width and range.
pub(crate) struct Number<T> {
    width: u64,
    low: u64,
    high: u64,
    outside: Outside,
    zero: bool,
    hexadecimal: bool,
    unit: &'static str,
    value: PhantomData<T>,
}

impl<T> Number<T> {
    const fn of_width(width: u64) -> Self {
        Self {
            width,
            low: 0,
            high: width,
            outside: Outside::Refused,
            zero: false,
            hexadecimal: false,
            unit: "",
            value: PhantomData,
        }
    }

    /// The range that the vendor enforces as well.
    pub(crate) const fn within(mut self, low: u64, high: u64) -> Self {
        self.low = low;
        self.high = high;
        self
    }

    /// The range that the vendor does not enforce.
    pub(crate) const fn strictly(mut self, low: u64, high: u64) -> Self {
        self.outside = Outside::Stricter;
        self.within(low, high)
    }

    /// The range to whose bounds the vendor silently puts other values.
    pub(crate) const fn clamped(mut self, low: u64, high: u64) -> Self {
        self.outside = Outside::Clamped;
        self.within(low, high)
    }

    /// The range to whose end the vendor silently puts higher values, while it refuses lower ones.
    pub(crate) const fn capped(mut self, low: u64, high: u64) -> Self {
        self.outside = Outside::Capped;
        self.within(low, high)
    }

    /// The range to whose start the vendor silently puts lower values, while it refuses higher ones.
    pub(crate) const fn raised(mut self, low: u64, high: u64) -> Self {
        self.outside = Outside::Raised;
        self.within(low, high)
    }

    /// 0 besides the range: off.
    pub(crate) const fn or_zero(mut self) -> Self {
        self.zero = true;
        self
    }

    pub(crate) const fn hex(mut self) -> Self {
        self.hexadecimal = true;
        self
    }

    pub(super) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    pub(super) fn read(&self, text: &str, notes: &mut Notes) -> Result<u64, Problem> {
        let number = unsigned(text)?;
        if number > self.width {
            return Err(Problem::new(
                Rule::Range,
                format!(
                    "{number} is above the largest number of this field, {}",
                    self.width
                ),
            ));
        }
        if (self.low..=self.high).contains(&number) || self.zero && number == 0 {
            return Ok(number);
        }
        let wrong = format!("{number} is out of range");
        match self.outside {
            Outside::Capped if number > self.high => Ok(self.nearest(number, &wrong, notes)),
            Outside::Raised if number < self.low => Ok(self.nearest(number, &wrong, notes)),
            Outside::Refused | Outside::Capped | Outside::Raised => {
                Err(Problem::new(Rule::Range, wrong))
            }
            Outside::Stricter => Err(Problem::new(Rule::StrictRange, wrong)),
            Outside::Clamped => Ok(self.nearest(number, &wrong, notes)),
        }
    }

    fn nearest(&self, number: u64, wrong: &str, notes: &mut Notes) -> u64 {
        let used = number.clamp(self.low, self.high);
        notes.push(Problem::new(
            Rule::Adjusted,
            format!("{wrong}, {used} is used"),
        ));
        used
    }

    pub(super) fn write(&self, number: u64) -> String {
        if self.hexadecimal {
            format!("{number:#x}")
        } else {
            number.to_string()
        }
    }

    pub(super) fn range(&self) -> String {
        let space = if self.unit.is_empty() { "" } else { " " };
        let range = match (self.low, self.high) {
            (low, high) if self.hexadecimal && high > 9 => format!("{low:#x} to {high:#x}"),
            (low, high) => format!("{low} to {high}"),
        };
        let zero = if self.zero { "0, or " } else { "" };
        format!("{zero}{range}{space}{}", self.unit)
    }
}

macro_rules! widths {
    ($($name:ident, $int:ty;)*) => { $(
        /// A number of this width, as wide as the vendor's field.
        pub(crate) const fn $name() -> Number<$int> {
            Number::of_width(<$int>::MAX as u64)
        }

        impl Syntax for Number<$int> {
            type Value = $int;

            fn parse(&self, text: &str, notes: &mut Notes) -> Result<$int, Problem> {
                // `read` keeps numbers within the width of the type.
                self.read(text, notes).map(|number| number as $int)
            }

            fn print(&self, value: &$int) -> String {
                self.write(u64::from(*value))
            }

            fn allowed(&self) -> String {
                self.range()
            }

            fn is_stricter(&self) -> bool {
                self.outside == Outside::Stricter
            }
        }
    )* };
}

widths! {
    u8s, u8;
    u16s, u16;
    u32s, u32;
    u64s, u64;
}

/// 32 bits that are flags: written in hexadecimal.
pub(crate) const fn bits32() -> Number<u32> {
    u32s().hex()
}

/// A switch: 0 or 1.
pub(crate) struct Flag {
    strict: bool,
}

/// A switch that other numbers turn on as well.
pub(crate) const fn flag() -> Flag {
    Flag { strict: false }
}

/// A switch for which the vendor refuses other numbers where it counts.
pub(crate) const fn strict_flag() -> Flag {
    Flag { strict: true }
}

impl Syntax for Flag {
    type Value = bool;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<bool, Problem> {
        match unsigned(text)? {
            0 => Ok(false),
            1 => Ok(true),
            number if number < u64::from(u8::MAX) && !self.strict => {
                notes.push(Problem::new(
                    Rule::Adjusted,
                    format!("{number} is taken as 1"),
                ));
                Ok(true)
            }
            number => Err(Problem::new(
                Rule::StrictRange,
                format!("{number} is neither 0 nor 1"),
            )),
        }
    }

    fn print(&self, value: &bool) -> String {
        u8::from(*value).to_string()
    }

    fn allowed(&self) -> String {
        "0 or 1".to_owned()
    }
}

/// A number with a sign.
pub(crate) struct Signed {
    low: i32,
}

/// A number of bytes, or −1.
pub(crate) const fn signed32(low: i32) -> Signed {
    Signed { low }
}

impl Syntax for Signed {
    type Value = i32;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<i32, Problem> {
        let text = text.trim_ascii();
        let number = match text.strip_prefix('-') {
            Some(digits) => unsigned(digits).map(|number| -i128::from(number)),
            None => unsigned(text).map(i128::from),
        }?;
        let _ = notes;
        let number = i32::try_from(number)
            .map_err(|_| Problem::new(Rule::Range, format!("{number} does not fit 32 bits")))?;
        if number < self.low {
            return Err(Problem::new(
                Rule::StrictRange,
                format!("{number} is out of range"),
            ));
        }
        Ok(number)
    }

    fn print(&self, value: &i32) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        format!("{} to {}", self.low, i32::MAX)
    }
}

/// A GUID that may be 0 for "none".
pub(crate) struct GuidNumber;

impl Syntax for GuidNumber {
    type Value = Guid;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Guid, Problem> {
        unsigned(text).map(Guid)
    }

    fn print(&self, value: &Guid) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        "a number of 64 bits; 0 is none".to_owned()
    }
}

/// A number that the code base knows under a name of its own.
pub(crate) struct Named<T, N> {
    number: Number<N>,
    wrap: fn(N) -> T,
    unwrap: fn(&T) -> N,
}

/// A number kept in a newtype.
pub(crate) const fn named<T, N>(
    number: Number<N>,
    wrap: fn(N) -> T,
    unwrap: fn(&T) -> N,
) -> Named<T, N> {
    Named {
        number,
        wrap,
        unwrap,
    }
}

impl<T, N> Syntax for Named<T, N>
where
    Number<N>: Syntax<Value = N>,
{
    type Value = T;

    fn parse(&self, text: &str, notes: &mut Notes) -> Result<T, Problem> {
        self.number.parse(text, notes).map(self.wrap)
    }

    fn print(&self, value: &T) -> String {
        self.number.print(&(self.unwrap)(value))
    }

    fn allowed(&self) -> String {
        self.number.allowed()
    }

    fn is_stricter(&self) -> bool {
        self.number.is_stricter()
    }
}

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
