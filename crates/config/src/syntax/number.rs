//! Numbers: decimal, or hexadecimal after `0x`, with the vendor's field widths.

use std::marker::PhantomData;

use weft_wire::id::Guid;

use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};

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

/// Treatment of a number outside of its range but within the vendor's field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// The vendor refuses it too.
    Refused,
    /// The vendor lets it pass, and something breaks later.
    Stricter,
    /// The vendor puts it to the nearest bound.
    Clamped,
    /// The vendor refuses low values and caps high ones.
    Capped,
    /// The vendor refuses high values and raises low ones.
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
