//! Identifiers: GUIDs, P_Keys, multicast GIDs, service identifiers, their ranges and masks.

use weft_wire::id::{Guid, PKey};

use super::number::{refuse_sign, shown, unsigned};
use super::{Notes, Syntax};
use crate::finding::{Problem, Rule};
use crate::value::{Interval, Masked, Mgid, PortPair, ServiceId};

/// Reads a hexadecimal number, with or without `0x`, as the vendor does for identifiers.
fn hexadecimal(text: &str) -> Result<u64, Problem> {
    let text = text.trim_ascii();
    refuse_sign(text)?;
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))
        .unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Problem::form(format!(
            "`{}` is not a hexadecimal number",
            shown(text)
        )));
    }
    u64::from_str_radix(digits, 16)
        .map_err(|_| Problem::new(Rule::Range, format!("{} does not fit 64 bits", shown(text))))
}

/// A GUID in a list of devices.
pub(crate) struct Guid16;

impl Syntax for Guid16 {
    type Value = Guid;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Guid, Problem> {
        match hexadecimal(text)? {
            0 => Err(Problem::new(Rule::StrictGuid, "no device has the GUID 0")),
            guid => Ok(Guid(guid)),
        }
    }

    fn print(&self, value: &Guid) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        "a hexadecimal number of 64 bits, not 0".to_owned()
    }
}

/// A partition key without the bit of full membership.
pub(crate) struct PKeyText {
    low: u64,
    high: u64,
}

impl PKeyText {
    /// A partition.
    pub(crate) const PARTITION: Self = Self {
        low: 1,
        high: 0x7fff,
    };
    /// The partition of 8-byte packets; 0 is none.
    pub(crate) const B8: Self = Self {
        low: 0,
        high: 0x7ffe,
    };
    /// The partition of 10-byte packets; 0 is none.
    pub(crate) const B10: Self = Self {
        low: 0,
        high: 0x7fff,
    };
}

impl Syntax for PKeyText {
    type Value = PKey;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<PKey, Problem> {
        let number = hexadecimal(text)?;
        if !(self.low..=self.high).contains(&number) {
            return Err(Problem::new(
                Rule::Range,
                format!("{number:#x} is out of range"),
            ));
        }
        Ok(PKey(number as u16)) // At most 0x7fff.
    }

    fn print(&self, value: &PKey) -> String {
        value.to_string()
    }

    fn allowed(&self) -> String {
        format!("{:#x} to {:#x}, hexadecimal", self.low, self.high)
    }
}

/// An identifier that has ranges and masks.
pub(crate) trait Identifier: Copy + Ord {
    const EXAMPLE: &'static str;
    fn read(text: &str) -> Result<Self, Problem>;
    fn write(self) -> String;
}

impl Identifier for ServiceId {
    const EXAMPLE: &'static str = "a hexadecimal number of 64 bits";

    fn read(text: &str) -> Result<Self, Problem> {
        hexadecimal(text).map(Self)
    }

    fn write(self) -> String {
        self.to_string()
    }
}

impl Identifier for Mgid {
    const EXAMPLE: &'static str = "two hexadecimal numbers of 64 bits with `:` between";

    fn read(text: &str) -> Result<Self, Problem> {
        let (upper, lower) = text
            .split_once(':')
            .ok_or_else(|| Problem::form(format!("`{}` has no `:`", shown(text.trim_ascii()))))?;
        Ok(Self::new(hexadecimal(upper)?, hexadecimal(lower)?))
    }

    fn write(self) -> String {
        self.to_string()
    }
}

macro_rules! plain {
    ($($name:ident, $value:ty;)*) => { $(
        /// One identifier.
        pub(crate) struct $name;

        impl Syntax for $name {
            type Value = $value;

            fn parse(&self, text: &str, _: &mut Notes) -> Result<$value, Problem> {
                <$value>::read(text)
            }

            fn print(&self, value: &$value) -> String {
                value.write()
            }

            fn allowed(&self) -> String {
                <$value>::EXAMPLE.to_owned()
            }
        }
    )* };
}

plain! {
    ServiceIdText, ServiceId;
    MgidText, Mgid;
}

/// A range of identifiers, `first-last`.
pub(crate) struct IntervalOf<T>(std::marker::PhantomData<T>);

impl<T> IntervalOf<T> {
    pub(crate) const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Identifier> Syntax for IntervalOf<T> {
    type Value = Interval<T>;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Interval<T>, Problem> {
        let (first, last) = text
            .split_once('-')
            .ok_or_else(|| Problem::form(format!("`{}` has no `-`", shown(text.trim_ascii()))))?;
        let (first, last) = (T::read(first)?, T::read(last)?);
        if first > last {
            let message = format!(
                "the range ends at {}, below its start {}",
                last.write(),
                first.write()
            );
            return Err(Problem::new(Rule::StrictInterval, message));
        }
        Ok(Interval { first, last })
    }

    fn print(&self, value: &Interval<T>) -> String {
        format!("{}-{}", value.first.write(), value.last.write())
    }

    fn allowed(&self) -> String {
        format!("first-last, each {}", T::EXAMPLE)
    }
}

/// An identifier and the mask of the bits that count, `value*mask`.
pub(crate) struct MaskedOf<T>(std::marker::PhantomData<T>);

impl<T> MaskedOf<T> {
    pub(crate) const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Identifier> Syntax for MaskedOf<T> {
    type Value = Masked<T>;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<Masked<T>, Problem> {
        let (value, mask) = text
            .split_once('*')
            .ok_or_else(|| Problem::form(format!("`{}` has no `*`", shown(text.trim_ascii()))))?;
        Ok(Masked {
            value: T::read(value)?,
            mask: T::read(mask)?,
        })
    }

    fn print(&self, value: &Masked<T>) -> String {
        format!("{}*{}", value.value.write(), value.mask.write())
    }

    fn allowed(&self) -> String {
        format!("value*mask, each {}", T::EXAMPLE)
    }
}

/// Two port numbers, `7,8`.
pub(crate) struct PortPairText;

impl Syntax for PortPairText {
    type Value = PortPair;

    fn parse(&self, text: &str, _: &mut Notes) -> Result<PortPair, Problem> {
        let wrong = || {
            Problem::form(format!(
                "`{}` is not two port numbers with a comma",
                shown(text.trim_ascii())
            ))
        };
        let (first, second) = text.split_once(',').ok_or_else(wrong)?;
        let port = |text: &str| match unsigned(text).map_err(|_| wrong())? {
            0 => Err(Problem::new(Rule::StrictRange, "port 0 joins no switches")),
            port => u8::try_from(port)
                .map_err(|_| Problem::new(Rule::Range, format!("port {port} is above 255"))),
        };
        Ok(PortPair {
            first: port(first)?,
            second: port(second)?,
        })
    }

    fn print(&self, value: &PortPair) -> String {
        format!("{},{}", value.first, value.second)
    }

    fn allowed(&self) -> String {
        "two port numbers from 1 to 255 with a comma between".to_owned()
    }
}
