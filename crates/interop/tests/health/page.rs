//! The page of `weft health` and what it names.

use std::collections::BTreeSet;

use serde_json::Value;
use weft_fabric::{Guid, PortNum};

use crate::End;
use crate::lab::Lab;

/// Kinds of findings that tell a node as a whole, with all that hung on it.
const OF_NODES: [&str; 5] = [
    "missing_switch",
    "missing_host",
    "replaced",
    "silent",
    "refused",
];

#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) kind: String,
    color: String,
    what: String,
    /// The place, then the other end of a link.
    ends: Vec<End>,
}

impl Finding {
    /// Only told: it is no fault.
    pub(crate) fn is_note(&self) -> bool {
        self.color == "green"
    }

    /// Whether it has a port, or a node where port 0 stands for that.
    pub(crate) fn has(&self, (guid, port): End) -> bool {
        let mut ends = self.ends.iter();
        ends.any(|end| end.0 == guid && (port == PortNum(0) || end.1 == port))
            || port == PortNum(0) && self.what.contains(&guid.to_string())
    }

    /// Whether it tells a node as a whole.
    fn is_of_node(&self, guid: Guid) -> bool {
        let mut ends = self.ends.iter();
        let is_whole = ends.any(|end| *end == (guid, PortNum(0)));
        is_whole
            || OF_NODES.contains(&&*self.kind) && self.ends.first().is_some_and(|end| end.0 == guid)
            || self.what.contains(&guid.to_string())
    }

    /// Whether it is about one of these ends, or the far end of its cable.
    pub(crate) fn touches(&self, ends: &BTreeSet<End>, lab: &Lab) -> bool {
        let near = |end: &End| {
            ends.contains(end)
                || ends.contains(&(end.0, PortNum(0)))
                || lab
                    .peer(*end)
                    .is_some_and(|far| ends.contains(&far) || ends.contains(&(far.0, PortNum(0))))
        };
        self.ends.iter().any(near)
    }
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) findings: Vec<Finding>,
}

impl Page {
    pub(crate) fn read(text: &str) -> Self {
        let page: Value = serde_json::from_str(text).unwrap();
        let findings = page["findings"].as_array().unwrap().iter();
        let findings = findings.map(|one| {
            let text = |field: &str| one[field].as_str().unwrap().to_owned();
            Finding {
                kind: text("kind"),
                color: text("color"),
                what: text("what"),
                ends: [&one["a"], &one["b"]].into_iter().filter_map(end).collect(),
            }
        });
        Self {
            findings: findings.collect(),
        }
    }

    /// Whether something names a port or node: itself, or the node that is the cause, which is its own one or, of a
    /// cable, that at the other end.
    pub(crate) fn names(&self, end: End, lab: &Lab) -> bool {
        let mut causes = vec![end.0];
        causes.extend(lab.peer(end).map(|far| far.0));
        if end.1 == PortNum(0) {
            causes
                .extend((1..=u8::MAX).filter_map(|port| Some(lab.peer((end.0, PortNum(port)))?.0)));
        }
        let mut findings = self.findings.iter();
        findings
            .any(|finding| finding.has(end) || causes.iter().any(|guid| finding.is_of_node(*guid)))
    }
}

fn end(end: &Value) -> Option<End> {
    let guid = end["guid"].as_str()?.trim_start_matches("0x");
    let port = end["port"].as_u64().unwrap_or(0);
    Some((
        Guid(u64::from_str_radix(guid, 16).unwrap()),
        PortNum(port as u8),
    ))
}
