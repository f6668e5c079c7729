//! Syntax of an element's text: one small type for each kind of text.

mod address;
mod amount;
mod number;
mod rate;
mod text;
mod time;
mod word;

pub(crate) use address::{
    Guid16, IntervalOf, MaskedOf, MgidText, PKeyText, PortPairText, ServiceIdText,
};
pub(crate) use amount::{
    core_limit, lifetime_multiplier, limit, percent, percent_number, steps, unchecked_percent,
};
pub(crate) use number::{
    GuidNumber, Named, bits32, flag, named, signed32, strict_flag, u8s, u16s, u32s, u64s,
};
pub(crate) use rate::{BitErrorRateText, HostsText, span};
pub(crate) use text::{Pattern, Text, reference};
pub(crate) use time::{
    hours, lifetime, lifetime_code, micros, millis, minutes, seconds, timeout, timeout_code,
};
pub(crate) use word::{Keyword, Words, keyword, keywords, mtu_code, or_number, rate_code};

use crate::finding::Problem;

/// Remarks that do not stop a value from being used.
pub(crate) type Notes = Vec<Problem>;

/// The kinds of objects that other elements name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Application,
    DeviceGroup,
    QosGroup,
    VirtualFabric,
    PmPortGroup,
}

impl Kind {
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::DeviceGroup => "DeviceGroup",
            Self::QosGroup => "QOSGroup",
            Self::VirtualFabric => "VirtualFabric",
            Self::PmPortGroup => "PmPortGroup",
        }
    }
}

/// Reads and writes the text of an element.
pub(crate) trait Syntax {
    type Value;

    /// Reads a text; blanks at its ends are still there.
    fn parse(&self, text: &str, notes: &mut Notes) -> Result<Self::Value, Problem>;

    /// Writes a value so that `parse` returns it again.
    fn print(&self, value: &Self::Value) -> String;

    /// Allowed values, for messages and for the documentation.
    fn allowed(&self) -> String;

    /// Whether an empty element counts as an absent one.
    fn may_be_empty(&self) -> bool {
        false
    }

    /// Whether the vendor's parser lets other texts pass.
    fn is_stricter(&self) -> bool {
        false
    }

    /// Kind of object that the text refers to, if any.
    fn refers_to(&self) -> Option<Kind> {
        None
    }
}
