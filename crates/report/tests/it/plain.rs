//! Short tables for people say what the reports in opareport's layout do.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::import::{import_expected, import_fabric};
use weft_report::{Expectations, Kind, Mood, Options, Plain, Request, Sample};

use crate::opareport::committed;

fn table(name: &str, snapshot: &str, topology: Option<&str>) -> Plain {
    let snapshot = import_fabric(snapshot.as_bytes()).unwrap();
    let expected = topology.map(|text| {
        let file = import_expected(text.as_bytes()).unwrap();
        Arc::new(Expectations::new(&snapshot, file))
    });
    let request = Request {
        snapshot: &snapshot,
        options: Options {
            expected,
            ..Options::default()
        },
        ends: None,
        sample: Sample::default(),
        counted: None,
    };
    (Kind::named(name).unwrap().plain().unwrap())(&request)
}

fn lines(table: &Plain) -> Vec<String> {
    table.rows.iter().map(|row| row.cells.join(" | ")).collect()
}

#[test]
fn links_with_both_ends_and_what_is_slow() {
    let links = table("links", &committed(), None);
    assert_eq!(links.summary, "8 links");
    assert_eq!(lines(&links)[0], "100g | node1 hfi1_0 | 1 | edge1 | 1");
    let slow = table("slowlinks", &committed(), None);
    assert_eq!(
        lines(&slow),
        ["75g | edge1 | 48 | core2 | 1 | 3 of 4 lanes"]
    );
    assert_eq!(slow.rows[0].mood, Mood::Warning);
    let others = table("otherports", &committed(), None);
    assert_eq!(lines(&others)[0], "core1 | SW | 46 | 3-48");
    assert_eq!(others.summary, "180 ports of 4 nodes without a link");
}

#[test]
fn what_differs_from_a_topology_file() {
    let topology = "<Topology><LinkSummary><Link><Cable><CableLabel>S7</CableLabel></Cable>\
        <Port><NodeDesc>node1 hfi1_0</NodeDesc><PortNum>1</PortNum></Port>\
        <Port><NodeDesc>edge1</NodeDesc><PortNum>1</PortNum></Port></Link>\
        <Link><Port><NodeDesc>node9</NodeDesc><PortNum>1</PortNum></Port>\
        <Port><NodeDesc>edge1</NodeDesc><PortNum>9</PortNum></Port></Link></LinkSummary></Topology>";
    let verify = table("verifylinks", &committed(), Some(topology));
    assert_eq!(verify.rows.len(), 8, "{verify:?}");
    let last = verify.rows.last().unwrap();
    assert_eq!(last.cells.join(" | "), "node9 | 1 | edge1 | 9 | missing");
    assert_eq!(last.mood, Mood::Error);
    assert!(verify.summary.starts_with("1 missing, 7 not in the file, "));
    let links = table("links", &committed(), Some(topology));
    assert_eq!(links.rows[0].cells.last().unwrap(), "S7");
}
