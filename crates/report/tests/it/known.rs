//! Points about more than the fabric, and reports about less of it, against opareport on the same snapshot.
#![allow(clippy::unwrap_used)]

use weft_fabric::import::import_fabric;
use weft_report::Point;

use crate::opareport::{FOCUSED, Judged, changed, committed, topologies};

/// Points about what a topology file says.
const NOTED: &[&str] = &[
    "nodedetpat:a ?switch?",
    "nodedetpat:*:port:1",
    "labelpat:S1 ? S?",
    "lengthpat:3m",
    "cabledetpat:copper*",
    "linkdetpat:a [l]ink",
    "portdetpat:?*port",
    "smdetpat:a *",
];

#[test]
fn points_about_a_topology_file() {
    let judged = Judged::new(&committed(), &[1, 2]).expecting(&topologies()[0]);
    for point in NOTED {
        for name in ["nodes", "links", "brcomps"] {
            if judged.judge(name, &["-F", point]).is_none() {
                return;
            }
        }
    }
    let snapshot = import_fabric(committed().as_bytes()).unwrap();
    let point = Point::parse("labelpat:S*", &|_| unreachable!()).unwrap();
    let refused = point.select(&snapshot).unwrap_err();
    assert_eq!(refused.to_string(), "the point needs a topology file");
}

/// The committed fabric with links of another quality.
#[test]
fn points_about_the_quality_of_links() {
    let text = changed(
        &committed(),
        "node1 hfi1_0",
        "1",
        "LinkQualityIndicator",
        "2",
    );
    let text = changed(&text, "core1", "2", "LinkQualityIndicator", "4");
    let judged = Judged::new(&text, &[2]);
    for point in [
        "linkqual:2",
        "linkqual:4",
        "linkqual:5",
        "linkqualLE:4",
        "linkqualGE:4",
        "linkqualLE:2",
    ] {
        for name in ["brnodes", "links"] {
            if judged.judge(name, &["-F", point]).is_none() {
                return;
            }
        }
    }
}

/// A file for people who are not to see the names of hosts.
#[test]
fn reports_without_names() {
    let judged = Judged::new(&committed(), &[0, 1, 2]);
    for name in FOCUSED {
        for points in [&["-N"][..], &["-N", "-F", "node:edge1"]] {
            if judged.judge(name, points).is_none() {
                return;
            }
        }
    }
    let text = judged.ours("nodes", &["-N"], 2, None);
    assert!(
        text.contains("xxxxxxxxxx") && !text.contains("edge1"),
        "{text}"
    );
    judged.judge("route", &["-N", "-S", "lid:1", "-D", "node:node3 hfi1_0"]);
}
