//! opafm.xml as each release of the vendor has it: the installed stock file, changed back release by release.
//!
//! The differences are those between the elements of `opafm_src.xml` in the vendor's repository at the releases' tags;
//! from 10.10.3 to 10.14.4 there are none.

use weft_config::{Rule, check};

use crate::vendor_config_check::{stock, vendor};

/// A difference from the next newer release.
enum Edit {
    /// Elements that do not exist yet.
    Lacks(&'static [&'static str]),
    /// All sections of this tag in `Common` begin with more, which newer releases do not have.
    Has(&'static str, &'static str),
    /// The same for sections of the instances.
    Instances(&'static str, &'static str),
    /// In all sections of a tag, an element has another name than the newer one.
    Named(&'static str, &'static str, &'static str),
}
use Edit::{Has, Instances, Lacks, Named};

/// The newest release with each form of the file, from the newest down.
const RELEASES: [(&str, &[Edit]); 9] = [
    ("10.14.4", &[]),
    ("10.10.2", &[Lacks(&["TrapHoldDown"])]),
    (
        "10.9.3",
        &[Lacks(&["ProcessErrorInfo", "SweepErrorInfoLogThresholds"])],
    ),
    (
        "10.8.0",
        &[
            Lacks(&["LongTermPortQuarantine", "DsapInUse", "MulticastMask"]),
            Has("MulticastGroup", "<FlowLabel>0x0</FlowLabel>"),
        ],
    ),
    (
        "10.6.0",
        &[
            Lacks(&["QOSGroups", "MLIDShare", "LidStrategy"]),
            Lacks(&["Converge", "PassThrough"]),
        ],
    ),
    (
        "10.5.1",
        &[Lacks(&["CumulativeTimeoutLimit", "EnforceVFPathRecord"])],
    ),
    (
        "10.4.0.0.91",
        &[
            Lacks(&["SwitchCascadeActivateEnable"]),
            Has("Sm", "<MinSupportedVLs>8</MinSupportedVLs>"),
            Instances("Multicast", "<MulticastGroup></MulticastGroup>"),
        ],
    ),
    ("10.1.0", &[Lacks(&["HypercubeTopology"])]),
    (
        "10.0.1",
        &[
            Lacks(&["StartupRetries", "StartupStableWait"]),
            Named("Shared", "SslSecurityEnable", "SslSecurityEnabled"),
            Named(
                "Shared",
                "SslSecurityFmCaCRLEnable",
                "SslSecurityFmCaCRLEnabled",
            ),
            Named("PreDefinedTopology", "Enable", "Enabled"),
            Named("PmPortGroup", "Enable", "Enabled"),
        ],
    ),
];

/// From this release down the vendor's 10.10.3 refuses its own older files, for the empty multicast groups of the
/// instances that do not start.
const REFUSED_BY_THE_VENDOR: &str = "10.4.0.0.91";

/// Each text between `open` and `close`, changed; panics where there is none.
fn within(text: &str, open: &str, close: &str, change: impl Fn(&str) -> String) -> String {
    let mut parts = text.split(open);
    let mut changed = parts.next().unwrap().to_owned();
    let mut count = 0;
    for part in parts {
        let (inner, rest) = part.split_once(close).unwrap();
        changed += &change(inner);
        changed += rest;
        count += 1;
    }
    assert!(count > 0, "no {open} {close}");
    changed
}

fn tags(name: &str) -> (String, String) {
    (format!("<{name}>"), format!("</{name}>"))
}

/// Each section of a tag, with its contents changed.
fn section(text: &str, name: &str, change: impl Fn(&str) -> String) -> String {
    let (open, close) = tags(name);
    within(text, &open, &close, |inner| {
        format!("{open}{}{close}", change(inner))
    })
}

impl Edit {
    fn apply(&self, text: &str) -> String {
        match self {
            Lacks(names) => names.iter().fold(text.to_owned(), |text, name| {
                let (open, close) = tags(name);
                within(&text, &open, &close, |_| String::new())
            }),
            Has(name, more) => section(text, "Common", |common| {
                section(common, name, |inner| format!("{more}{inner}"))
            }),
            Instances(name, more) => {
                let (common, instances) = text.split_once("</Common>").unwrap();
                let instances = section(instances, name, |inner| format!("{more}{inner}"));
                format!("{common}</Common>{instances}")
            }
            Named(name, newer, older) => section(text, name, |inner| {
                let ((open, close), (new_open, new_close)) = (tags(older), tags(newer));
                inner.replace(&new_open, &open).replace(&new_close, &close)
            }),
        }
    }
}

/// Every release's file is accepted without a word about elements that are not known, and the vendor agrees where it
/// accepts its own file.
#[test]
fn the_stock_file_of_every_release_is_accepted() {
    let Some(stock) = stock() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut text = within(&stock, "<!--", "-->", |_| String::new());
    let mut vendor_refuses = false;
    for (release, edits) in RELEASES {
        let before = text.clone();
        text = edits.iter().fold(text, |text, edit| edit.apply(&text));
        assert!(edits.is_empty() || text != before, "{release}");

        let checked = check(&text, "opafm.xml");
        let errors: Vec<_> = checked.errors().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{release}: {errors:#?}");
        let unknown = checked
            .findings
            .iter()
            .filter(|finding| finding.rule == Rule::UnknownElement);
        let unknown: Vec<_> = unknown.map(ToString::to_string).collect();
        assert!(unknown.is_empty(), "{release}: {unknown:#?}");

        let (accepts, said) = vendor(directory.path(), &text);
        vendor_refuses |= release == REFUSED_BY_THE_VENDOR;
        assert_eq!(!accepts, vendor_refuses, "{release}: {said}");
        assert_eq!(
            said.contains("Duplicate MGID"),
            vendor_refuses,
            "{release}: {said}"
        );
    }
}
