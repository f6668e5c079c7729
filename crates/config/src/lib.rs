//! `opafm.xml`, the configuration of an Omni-Path fabric manager, as checked and typed values.
//!
//! [`check`] reads a file and reports all its errors at once, each finding with
//! its line, the path of the element, and the allowed values. Without an error among the
//! findings it also returns a [`Config`]: one [`Instance`] per `Fm`, in which every value has its
//! unit in its type or its name, and the layers of the file (defaults, `Common`, `Fm`) are already
//! merged.
//!
//! Whatever the vendor's `config_check` rejects is rejected; [`Rule::is_stricter_than_vendor`] names
//! the rules that go further. [`Config::effective_xml`] writes the result as a file that both accept.
//!
//! ```
//! let text = "<Config>
//!   <Common><Shared/><Sm><Lmc>9</Lmc></Sm><Fe/><Pm/></Common>
//!   <Fm><Shared/><Sm/><Fe/><Pm/></Fm>
//! </Config>";
//! let checked = weft_config::check(text, "opafm.xml");
//! assert!(checked.config.is_none());
//! assert_eq!(
//!     checked.findings[0].to_string(),
//!     "opafm.xml:2: error: Config/Common/Sm/Lmc: 9 is out of range (allowed: 0 to 7)",
//! );
//! ```
//!
//! Nothing here does input or output, and no input makes it panic: sizes, depth and counts are
//! limited ([`MAX_BYTES`], [`MAX_DEPTH`], [`MAX_ELEMENTS`], [`MAX_FINDINGS`]).

mod context;
mod effective;
mod finding;
mod instance;
mod objects;
mod pattern;
mod reference;
mod secret;
mod section;
mod syntax;
mod value;
mod writer;
mod xml;

pub mod explain;
pub mod fe;
pub mod link_rules;
pub mod pm;
mod rules;
pub mod shared;
pub mod sm;
pub mod vf;

use serde::{Deserialize, Serialize};

pub use context::MAX_FINDINGS;
pub use fe::Fe;
pub use finding::{Finding, Rule, Severity};
pub use instance::Instance;
pub use objects::{
    Application, ApplicationSelect, Applications, DeviceGroup, DeviceGroups, DeviceSelect,
    NodeFacts, NodeType, PmPortGroup, PmPortGroups, QosGroup, QosGroups, VirtualFabric,
    VirtualFabrics,
};
pub use pattern::{NodePattern, PatternError};
pub use pm::{Limit, Pm};
pub use reference::{reference, reference_markdown, stricter_markdown};
pub use secret::is_key;
pub use section::Row;
pub use shared::{Logging, MAX_INSTANCES, Shared, SyslogFacility};
pub use sm::{
    AdaptiveAlgorithm, AdaptiveRouting, FatTreeTopology, LidStrategy, MeshTorusTopology, Multicast,
    PathSelection, RoutingAlgorithm, Sm,
};
pub use value::{
    CoreLimit, Interval, Masked, Mgid, Mtu, Percent, PortPair, Rate, ServiceId, TimeExponent,
};
pub use vf::{
    Membership, PA_SERVICE_ID, ResolvedApplications, ResolvedFabrics, ResolvedMulticastGroup,
    ResolvedQos, ResolvedVirtualFabric, VfError,
};
pub use xml::{MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS};

use context::{Cx, Findings};
use finding::Problem;
use xml::{Document, Id};

/// A whole file: one instance per `Fm`, in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The instances, at most [`MAX_INSTANCES`].
    pub instances: Vec<Instance>,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The configuration, unless there is an error among the findings.
    pub config: Option<Config>,
    /// Everything that was found, in the order of lines.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The findings that forbid the use of the file.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
    }
}

/// Reads and checks a file. `file` is its name, for the findings only.
///
/// Any bytes are allowed as input; this is also the entry for fuzzing.
pub fn check(bytes: impl AsRef<[u8]>, file: &str) -> Checked {
    let mut findings = Findings::new(file);
    let config = document(bytes.as_ref(), &mut findings, instances);
    let config = config.filter(|_| !findings.has_errors());
    Checked {
        config,
        findings: findings.into_list(),
    }
}

/// Reads a document; bytes that are none are a finding.
fn document<T>(
    bytes: &[u8],
    findings: &mut Findings,
    read: impl FnOnce(&Document<'_>, &mut Findings) -> T,
) -> Option<T> {
    let mut refuse = |line: u32, problem: Problem| {
        findings.add(Severity::Error, (line, None), String::new, problem, || {
            "well-formed XML 1.0 in UTF-8".to_owned()
        });
    };
    if bytes.len() > MAX_BYTES {
        refuse(
            0,
            Problem::new(
                Rule::Xml,
                format!("the file has {} bytes, more than {MAX_BYTES}", bytes.len()),
            ),
        );
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let line = xml::line_at(bytes, error.valid_up_to());
            refuse(
                line,
                Problem::new(
                    Rule::Xml,
                    format!("byte {} is not UTF-8", error.valid_up_to()),
                ),
            );
            return None;
        }
    };
    match Document::parse(text) {
        Ok(document) => Some(read(&document, findings)),
        Err(malformed) => {
            refuse(xml::line_at(bytes, malformed.offset), malformed.problem);
            None
        }
    }
}

/// Reads `Config`: each `Fm` on top of the `Common` before it.
fn instances(document: &Document<'_>, findings: &mut Findings) -> Config {
    let root = document.root();
    let mut config = Config::default();
    check_root(document, findings);
    let top = |name: &'static str| {
        document
            .children(root)
            .filter(move |&child| document.name(child) == name)
    };
    let commons: Vec<Id> = top("Common").collect();
    let mut cx = Cx::new(document, findings);
    let mut common = Instance::default();
    common.layers(&commons, &mut cx);
    for (at, fm) in top("Fm").enumerate() {
        let mut cx = Cx::new(document, findings);
        if at >= MAX_INSTANCES {
            cx.error(fm, Rule::Count, format!("more than {MAX_INSTANCES} Fm"));
            break;
        }
        let mut instance = Instance::default();
        instance.layers(&commons, &mut cx);
        cx.in_common = false;
        instance.layer(fm, &mut cx);
        instance.name_unnamed(at);
        rules::check_instance(&mut instance, fm, &mut cx);
        config.instances.push(instance);
    }
    rules::check_config(&config, document, findings);
    config
}

fn check_root(document: &Document<'_>, findings: &mut Findings) {
    let root = document.root();
    let mut cx = Cx::new(document, findings);
    if document.name(root) != "Config" {
        cx.error(
            root,
            Rule::Count,
            format!(
                "the outermost element is `{}`, not `Config`",
                document.name(root)
            ),
        );
        return;
    }
    section::refuse_text(root, &mut cx);
    cx.refuse_attributes(root);
    cx.require(root, &["Common", "Fm"]);
    let mut fm_seen = false;
    for child in document.children(root) {
        match document.name(child) {
            "Fm" => fm_seen = true,
            "Common" if fm_seen => {
                cx.error(
                    child,
                    Rule::StrictOrder,
                    "Common appears after an Fm, which inherits nothing from it",
                );
            }
            "Common" => {}
            "XmlDebug" => cx.warn(
                child,
                Rule::NoEffect,
                "messages of the vendor's parser; without effect here",
            ),
            _ => cx.unknown(child, || vec!["Common", "Fm"]),
        }
    }
}
