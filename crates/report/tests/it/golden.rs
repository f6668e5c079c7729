//! Reports equal, byte for byte, the output of opareport 10.10 for the same snapshot.
#![allow(clippy::unwrap_used)]

use weft_fabric::Snapshot;
use weft_fabric::import::import_fabric;
use weft_report::{Detail, Focus, Options, Point};

fn data(name: &str) -> String {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn snapshot() -> Snapshot {
    import_fabric(data("fattree4.snapshot.xml").as_bytes()).unwrap()
}

fn select(snapshot: &Snapshot, text: &str) -> weft_report::Selection {
    let point = Point::parse(text, &|_| unreachable!()).unwrap();
    point.select(snapshot).unwrap()
}

fn report(name: &str, snapshot: &Snapshot, options: &Options) -> String {
    match name {
        "nodes" => weft_report::nodes(snapshot, options).to_string(),
        "links" => weft_report::links(snapshot, options).to_string(),
        "comps" => weft_report::comps(snapshot, options).to_string(),
        "lids" => weft_report::lids(snapshot, options).to_string(),
        "linear" => weft_report::linear(snapshot, options).to_string(),
        other => panic!("no report {other}"),
    }
}

#[test]
fn reports_as_opareport_prints_them() {
    let snapshot = snapshot();
    for name in ["nodes", "links", "comps", "lids", "linear"] {
        let text = report(name, &snapshot, &Options::default());
        assert_eq!(text, data(&format!("{name}.txt")), "{name}");
    }
}

#[test]
fn a_route_as_opareport_prints_it() {
    let snapshot = snapshot();
    let from = select(&snapshot, "nodepat:node1*");
    let to = select(&snapshot, "nodepat:node3*");
    let report = weft_report::route(&snapshot, &from, &to, &Options::default()).unwrap();
    assert_eq!(report.to_string(), data("route.txt"));
}

/// Effect of `-F` and `-d` on each report; opareport's own words, shortened to the differences.
#[test]
fn focus_and_detail() {
    let snapshot = snapshot();
    for (name, point, detail, expected) in [
        (
            "lids",
            "nodepat:edge1",
            2,
            "LID Summary\nFocused on:\n    Node: 0x00117501020e0001 SW edge1\n\n8 LID(s) in Fabric:\n   LID(Range) NodeGUID          Port Type Name\n0x0005        0x00117501020e0001   0 SW edge1\n1 Reported LID(s)\n",
        ),
        (
            "lids",
            "lid:5:port:1",
            2,
            "    Port:   1\n        in Node: 0x00117501020e0001 SW edge1\n\n8 LID(s) in Fabric:\n0 Reported LID(s)\n",
        ),
        ("lids", "sm", 0, "\n8 LID(s) in Fabric\n1 Reported LID(s)\n"),
        (
            "links",
            "rate:75g",
            2,
            "    2 Ports:\n          1\n            in Node: 0x00117501020c0002 SW core2\n         48\n            in Node: 0x00117501020e0001 SW edge1\n\n8 Links in Fabric:\n",
        ),
        (
            "links",
            "rate:75g",
            2,
            "<->  0x00117501020c0002   1 SW   core2\n1 Matching Links Found\n",
        ),
        (
            "links",
            "sm",
            0,
            "\n8 Links in Fabric\n1 Matching Links Found\n",
        ),
        (
            "links",
            "nodetype:FI",
            2,
            "Focused on:\n    4 Nodes:\n        0x0011750101000011 FI node1 hfi1_0\n",
        ),
        (
            "links",
            "systemguid:0x00117501020e0001",
            2,
            "    System: 0x00117501020e0001\n        Node: 0x00117501020e0001 SW edge1\n\n",
        ),
        (
            "nodes",
            "systemguid:0x0011750101000011",
            0,
            "\n4 Connected FIs in Fabric\n1 Matching FIs Found\n4 Connected Switches in Fabric\n0 Matching Switches Found\n1 Connected SMs in Fabric\n1 Matching SMs Found\n",
        ),
        (
            "nodes",
            "lid:5:port:1",
            2,
            "    5 Connected Ports:\n        PortNum:   1\n            Neighbor:  Name: node1 hfi1_0\n                NodeGUID: 0x0011750101000011 Type: FI PortNum:   1\n            Width:    4 Speed:    25Gb Downgraded?  No\n1 Matching Switches Found\n\n1 Connected SMs in Fabric:\n0 Matching SMs Found\n",
        ),
        (
            "nodes",
            "portguid:0x0011750101000011",
            1,
            "    1 Connected Ports\n1 Matching FIs Found\n",
        ),
        (
            "comps",
            "sm",
            1,
            "    SystemImageGUID: 0x0011750101000011\n    1 Connected Nodes\n1 Matching Systems Found\n\n1 Connected SMs in Fabric:\n    State: Master      Name: node1 hfi1_0\n        NodeGUID: 0x0011750101000011 Type: FI\n1 Matching SMs Found\n",
        ),
        (
            "linear",
            "sm",
            2,
            "\n4 Connected Switches in Fabric:\n0 Reported Switch(es)\n",
        ),
        (
            "linear",
            "lid:7",
            0,
            "\n4 Connected Switches in Fabric\n1 Reported Switch(es)\n",
        ),
    ] {
        let focus = Focus::new(&snapshot, &select(&snapshot, point), &Options::default());
        let options = Options {
            focus: Some(focus),
            detail: Detail(detail),
            ..Options::default()
        };
        let text = report(name, &snapshot, &options);
        assert!(
            text.contains(expected),
            "{name} -F {point} -d {detail}:\n{text}"
        );
    }
}

#[test]
fn points_that_name_nothing_say_what_was_looked_for() {
    let snapshot = snapshot();
    for (text, expected) in [
        ("lid:99", "no port that is LID 0x0063 in the fabric"),
        ("node:nosuch", "no node named 'nosuch' in the fabric"),
        (
            "nodetype:FI:port:9",
            "no port that is port 9 of a HFI in the fabric",
        ),
        (
            "portstate:armed",
            "no port that is in state Armed in the fabric",
        ),
    ] {
        let point = Point::parse(text, &|_| unreachable!()).unwrap();
        let error = point.select(&snapshot).unwrap_err().to_string();
        assert_eq!(error, expected, "{text}");
    }
}

#[test]
fn data_holds_what_the_text_says() {
    let snapshot = snapshot();
    let links = serde_json::to_value(weft_report::links(&snapshot, &Options::default())).unwrap();
    assert_eq!(links["total"], 8);
    assert_eq!(links["links"][5]["rate"], "75g");
    assert_eq!(links["links"][5]["to"]["guid"], "0x00117501020c0002");
    let nodes = serde_json::to_value(weft_report::nodes(&snapshot, &Options::default())).unwrap();
    assert_eq!(
        nodes["switches"]["list"][0]["switch"]["adaptive_routing"],
        0x9430
    );
    let (from, to) = (select(&snapshot, "lid:1"), select(&snapshot, "lid:3"));
    let route = weft_report::route(&snapshot, &from, &to, &Options::default()).unwrap();
    let route = serde_json::to_value(route).unwrap();
    assert_eq!(
        route["routes"][0]["paths"][0]["outcome"]["state"],
        "complete"
    );
    assert_eq!(
        route["routes"][0]["paths"][0]["hops"][1]["to"]["name"],
        "core2"
    );
}

#[test]
fn a_host_is_called_with_or_without_its_hfi() {
    let snapshot = snapshot();
    for (short, long) in [
        ("node:node1", "node:node1 hfi1_0"),
        ("node:node1:port:1", "node:node1 hfi1_0:port:1"),
    ] {
        assert_eq!(select(&snapshot, short), select(&snapshot, long));
    }
    let point = Point::parse("node:node99", &|_| unreachable!()).unwrap();
    let error = point.select(&snapshot).unwrap_err().to_string();
    assert!(
        error.starts_with("no node named 'node99' (there are 'node1 hfi1_0', 'node2 hfi1_0'"),
        "{error}"
    );
}
