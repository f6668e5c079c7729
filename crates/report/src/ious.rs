//! `ious`: I/O units. No device of Omni-Path has one, and no manager looks for them.

use std::fmt;

use serde::Serialize;
use weft_fabric::Snapshot;

use crate::RULE;
use crate::focus::{Count, Detail, Head, Options};
use crate::xml::{Xml, XmlWriter};

/// The I/O units: none.
#[derive(Debug, Clone, Serialize)]
pub struct IousReport {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    count: Count,
    #[serde(skip)]
    detail: Detail,
}

/// Makes the report.
pub fn ious(_: &Snapshot, options: &Options) -> IousReport {
    IousReport {
        head: Head::new("IOU Summary", options),
        count: Count::new(0, 0, options),
        detail: options.detail,
    }
}

impl Xml for IousReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("IOUSummary", |to| {
            self.head.write_xml(to);
            to.within("IOUs", |to| {
                to.value("ConnectedIOUCount", self.count.total);
                self.count.write_xml(to, "MatchingIOUs");
            });
        });
    }
}

impl fmt::Display for IousReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        let colon = if self.detail.lists() { ":" } else { "" };
        writeln!(f, "{} IOUs in Fabric{colon}", self.count.total)?;
        self.count.write_matching(f, "IOUs")?;
        writeln!(f, "{RULE}")
    }
}
