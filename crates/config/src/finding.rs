//! Findings of a check: each has a place, the error, and the allowed values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but its effect may not be the intended one.
    Warning,
}

macro_rules! rules {
    ($( $(#[doc = $doc:literal])+ $name:ident, $stricter:literal; )*) => {
        /// The rule that a finding is about: for programs, which should not parse messages.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Rule { $( $(#[doc = $doc])+ $name, )* }

        impl Rule {
            /// Every rule, in the order of the documentation.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// One sentence for the documentation.
            pub fn explanation(self) -> &'static str {
                match self { $( Self::$name => concat!($($doc),+).trim_ascii_start(), )* }
            }

            /// Whether the vendor's `config_check` accepts files that break this rule.
            pub fn is_stricter_than_vendor(self) -> bool {
                match self { $( Self::$name => $stricter, )* }
            }
        }
    };
}

rules! {
    /// The file is not well-formed XML, not UTF-8, or larger or deeper than the limits.
    Xml, false;
    /// A value has the wrong form: not a number, no unit, an unknown word.
    Form, false;
    /// A value is outside of its range.
    Range, false;
    /// A name is used that no element above it defines.
    Undefined, false;
    /// A name is missing, defined twice, or reserved.
    Name, false;
    /// A required element is missing, or there are too many.
    Count, false;
    /// Two values contradict each other.
    Conflict, false;
    /// The virtual fabrics break a rule of the management partition, of QOS or of bandwidth.
    VirtualFabric, false;
    /// The file that `TopologyFilename` names cannot be read, or is no topology.
    TopologyFile, false;
    /// An element that is unknown in this place: ignored.
    UnknownElement, true;
    /// A repeated element of which only the last one counts.
    Duplicate, true;
    /// A legal value that is replaced: rounded, clamped, or read as a flag.
    Adjusted, true;
    /// An element without effect: disabled, or overruled.
    NoEffect, true;
    /// A value that Weft reads and does not heed, other than the one by which Weft acts anyway: see the column "effect" below.
    Ignored, true;
    /// An attribute, a DTD, text between elements, or blanks around a word: nothing of the kind has a meaning here.
    StrictXml, true;
    /// A number with a sign, with a blank inside, or hexadecimal where that is not allowed: the vendor reads it as something else.
    StrictForm, true;
    /// A section that appears twice in one place: its second copy is not read.
    StrictTwice, true;
    /// A value that the vendor's parser accepts, and that the SM, PM or FE then changes, ignores or crashes on: the tags marked with † below.
    StrictRange, true;
    /// `RoutingAlgorithm` names no algorithm, or its topology section describes an impossible topology.
    StrictRouting, true;
    /// A range whose end is below its start, which matches nothing.
    StrictInterval, true;
    /// A `NodeDesc` pattern with broken brackets, which matches nothing.
    StrictPattern, true;
    /// A GUID 0, which no device has.
    StrictGuid, true;
    /// A `DeviceGroup` that selects nothing.
    StrictEmpty, true;
    /// More QOS groups than service levels.
    StrictServiceLevels, true;
    /// Counts of PM images that do not fit each other.
    StrictImages, true;
    /// A path that must be absolute is not.
    StrictPath, true;
    /// `Common` appears after an `Fm`, which then inherits nothing from it.
    StrictOrder, true;
    /// A value that the vendor's manager supports and Weft does not.
    StrictSupport, true;
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Error or warning.
    pub severity: Severity,
    /// The violated rule.
    pub rule: Rule,
    /// The name of the file, as it was given to the check.
    pub file: String,
    /// The line of the element, from 1; 0 is the file as a whole.
    pub line: u32,
    /// The element, for example `Config/Fm[0]/Sm/Lmc`.
    pub path: String,
    /// The error.
    pub message: String,
    /// The allowed values; empty if the message is complete.
    pub allowed: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{}:{}: {severity}: ", self.file, self.line)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        if !self.allowed.is_empty() {
            write!(f, " (allowed: {})", self.allowed)?;
        }
        Ok(())
    }
}

/// A finding before its place is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) rule: Rule,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }

    /// The problem without its message, which may quote the value.
    pub(crate) fn without_value(self) -> Self {
        Self::new(
            self.rule,
            "the value is not as it should be; keys are not shown",
        )
    }

    pub(crate) fn form(message: impl Into<String>) -> Self {
        Self::new(Rule::Form, message)
    }
}
