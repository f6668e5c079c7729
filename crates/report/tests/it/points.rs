//! The point syntax: valid and invalid points, error messages, and that nothing panics.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_fabric::enums::{Mtu, PhysState, PortState};
use weft_fabric::{CableKind, CableText, Guid, Lid, PortNum};
use weft_report::point::{
    CableMatch, Comparison, Glob, NodeMatch, Note, Point, PointError, PortMatch, StateMatch,
};

fn no_file(file: &str) -> Result<String, String> {
    Err(format!("{file} is not there"))
}

fn parse(text: &str) -> Result<Point, PointError> {
    Point::parse(text, &no_file)
}

fn name(name: &str) -> NodeMatch {
    NodeMatch::Name(name.to_owned())
}

#[test]
fn understands_every_keyword() {
    let host = Guid(0x0011_7501_0100_0011);
    let lid3 = || NodeMatch::Lid(Lid(3));
    let pattern = |text| NodeMatch::Pattern(Glob::new(text));
    for (text, expected) in [
        (
            "gid:0xfe80000000000000:0x0011750101000011",
            Point::Gid {
                prefix: 0xfe80 << 48,
                guid: host,
            },
        ),
        ("lid:3", Point::Lid(Lid(3))),
        ("lid:0x03", Point::Lid(Lid(3))),
        ("lid:3:node", Point::Nodes(lid3())),
        ("lid:3:port:1", Point::NodePort(lid3(), PortNum(1))),
        ("portguid:0x0011750101000011", Point::PortGuid(host)),
        (
            "nodeguid:0x0011750101000011",
            Point::Nodes(NodeMatch::Guid(host)),
        ),
        (
            "nodeguid:0x0011750101000011:port:0x2f",
            Point::NodePort(NodeMatch::Guid(host), PortNum(47)),
        ),
        (
            "systemguid:0x0011750101000011",
            Point::Nodes(NodeMatch::System(host)),
        ),
        ("node:node1 hfi1_0", Point::Nodes(name("node1 hfi1_0"))),
        (
            "node:node1 hfi1_0:port:1",
            Point::NodePort(name("node1 hfi1_0"), PortNum(1)),
        ),
        (
            r#"node:"node1 hfi1_0":port:1"#,
            Point::NodePort(name("node1 hfi1_0"), PortNum(1)),
        ),
        (
            r#"node:"MF0;a:MCS8500/L16/U2""#,
            Point::Nodes(name("MF0;a:MCS8500/L16/U2")),
        ),
        (
            r"node:MF0;a\:MCS8500/L16/U2:port:3",
            Point::NodePort(name("MF0;a:MCS8500/L16/U2"), PortNum(3)),
        ),
        (r#"node:"a \" b""#, Point::Nodes(name("a \" b"))),
        (r"node:a\\b", Point::Nodes(name(r"a\b"))),
        ("nodepat:node*", Point::Nodes(pattern("node*"))),
        (
            r#"nodepat:"NodeA hfi1_0":port:1"#,
            Point::NodePort(pattern("NodeA hfi1_0"), PortNum(1)),
        ),
        (r"nodepat:MF0\:*", Point::Nodes(pattern(r"MF0\:*"))),
        (
            "nodetype:SW",
            Point::Nodes(NodeMatch::Type { switch: true }),
        ),
        (
            "nodetype:FI:port:1",
            Point::NodePort(NodeMatch::Type { switch: false }, PortNum(1)),
        ),
        (
            "rate:37.5g",
            Point::Ports(PortMatch::Rate { half_gigabits: 75 }),
        ),
        (
            "portstate:armed",
            Point::Ports(PortMatch::State(StateMatch::Is(PortState::ARMED))),
        ),
        (
            "portstate:notactive",
            Point::Ports(PortMatch::State(StateMatch::NotActive)),
        ),
        (
            "portphysstate:recovery",
            Point::Ports(PortMatch::PhysState(PhysState::RECOVERY)),
        ),
        ("mtucap:10240", Point::Ports(PortMatch::MtuCap(Mtu::B10240))),
        ("led:on", Point::Ports(PortMatch::Led(true))),
        (
            "linkcrcNE:per_lane",
            Point::Ports(PortMatch::LinkCrc {
                mode: 8,
                negated: true,
            }),
        ),
        ("ldr", Point::Ports(PortMatch::LinkDownReason(None))),
        ("ldr:33", Point::Ports(PortMatch::LinkDownReason(Some(33)))),
        (
            "linkcrc:12-16/lane",
            Point::Ports(PortMatch::LinkCrc {
                mode: 8,
                negated: false,
            }),
        ),
        (
            "linkqual:0",
            Point::Ports(PortMatch::Quality(Comparison::Equal, 0)),
        ),
        (
            "linkqualLE:3",
            Point::Ports(PortMatch::Quality(Comparison::AtMost, 3)),
        ),
        (
            "linkqualGE:4",
            Point::Ports(PortMatch::Quality(Comparison::AtLeast, 4)),
        ),
        (
            "nodedetpat:compute*:port:1",
            Point::NodePort(NodeMatch::Details(Glob::new("compute*")), PortNum(1)),
        ),
        (
            "labelpat:S1345*",
            Point::Noted(Note::CableLabel, Glob::new("S1345*")),
        ),
        (
            "lengthpat:11m",
            Point::Noted(Note::CableLength, Glob::new("11m")),
        ),
        (
            "cabledetpat:*",
            Point::Noted(Note::CableDetails, Glob::new("*")),
        ),
        (
            "linkdetpat:*core ISL*",
            Point::Noted(Note::LinkDetails, Glob::new("*core ISL*")),
        ),
        (
            "portdetpat:*mgmt*",
            Point::Noted(Note::PortDetails, Glob::new("*mgmt*")),
        ),
        (
            "smdetpat:primary*",
            Point::Noted(Note::SmDetails, Glob::new("primary*")),
        ),
        ("sm", Point::Sm),
        (
            "route:node:node1:port:1:lid:3",
            Point::Route(
                Box::new(Point::NodePort(name("node1"), PortNum(1))),
                Box::new(Point::Lid(Lid(3))),
            ),
        ),
        (
            "cabinftype:passive_copper",
            Point::Cable(CableMatch::Kind(CableKind::PassiveCopper)),
        ),
        (
            "cabinflenpat:1?m",
            Point::Cable(CableMatch::Length(Glob::new("1?"))),
        ),
        (
            "cabinfvendsnpat:W*",
            Point::Cable(CableMatch::Text(CableText::SerialNumber, Glob::new("W*"))),
        ),
    ] {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn refuses_with_what_is_allowed() {
    for (text, expected) in [
        ("", "the point is empty; it begins with one of gid, lid,"),
        (
            "bogus:1",
            "no keyword 'bogus'; it begins with one of gid, lid, portguid",
        ),
        ("NODE:x", "no keyword 'NODE'"),
        ("lid", "character 4: expected ':' and a number, found ''"),
        ("lid:", "character 5: expected a number of up to 32 bits"),
        ("lid:x", "found 'x'"),
        ("lid:-1", "found '-1'"),
        ("lid:+1", "found '+1'"),
        ("lid:0x1ffffffff", "up to 32 bits"),
        ("lid:3:foo", "character 6: expected the end, found ':foo'"),
        ("lid:3:port:256", "a number from 0 to 255, found '256'"),
        ("node:", "expected a name, found ''"),
        (
            "node:MF0:CORE",
            r"a name that holds a colon goes in double quotes or with '\:'",
        ),
        (r#"node:"open"#, "a name that ends with"),
        ("nodetype:XX", "expected FI or SW, found 'XX'"),
        ("rate:12g", "expected 25g, 50g, 75g, 100g"),
        ("portstate:active:", "expected the end, found ':'"),
        (
            "portstate:xx",
            "down, init, armed, active, notactive or initarmed",
        ),
        ("mtucap:1", "2048, 4096, 8192 or 10240"),
        ("route:lid:1", "expected ':POINT', the other end"),
        ("route:route:sm:sm:sm", "no keyword 'route'"),
        (
            "nodepatfile:hosts.txt",
            "cannot read 'hosts.txt': hosts.txt is not there",
        ),
        ("linkqual:6", "expected a number from 0 to 5, found '6'"),
        ("linkqualLT:5", "no keyword 'linkqualLT'"),
        ("labelpat:", "expected a name, found ''"),
        ("labelpat:a:port:1", "expected the end, found ':port:1'"),
        (
            "ioctype:SRP",
            "'ioctype' needs I/O controllers, which Omni-Path does not have",
        ),
        (
            "cabinftype:copper",
            "expected optical, passive_copper, active_copper or unknown",
        ),
        ("cabinfvendpnpat:", "expected a name, found ''"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let long = format!("node:{}", "x".repeat(5000));
    assert_eq!(parse(&long), Err(PointError::TooLong { actual: 5005 }));
}

#[test]
fn reads_pattern_files() {
    let file = |_: &str| Ok("# hosts\nnode1*\n\n edge?\n".to_owned());
    let point = Point::parse("nodepatfile:/a:b", &file).unwrap();
    let expected = NodeMatch::Patterns(vec![Glob::new("node1*"), Glob::new("edge?")]);
    assert_eq!(point, Point::Nodes(expected));
    let pairs = |_: &str| Ok("node*:edge1\n".to_owned());
    let point = Point::parse("nodepairpatfile:f", &pairs).unwrap();
    assert_eq!(
        point,
        Point::Pairs(vec![(Glob::new("node*"), Glob::new("edge1"))])
    );
    let broken = |_: &str| Ok("node1\n".to_owned());
    let error = Point::parse("nodepairpatfile:f", &broken)
        .unwrap_err()
        .to_string();
    assert!(error.contains("'node1' is no PATTERN:PATTERN"), "{error}");
}

proptest! {
    #[test]
    fn never_panics(text in ".{0,60}") {
        let _ = parse(&text);
    }

    #[test]
    fn never_panics_after_a_keyword(
        keyword in prop::sample::select(weft_report::point::KEYWORDS),
        rest in r#"[:"\\a-z0-9é*\[\]-]{0,20}"#,
    ) {
        let _ = parse(&format!("{keyword}{rest}"));
        let _ = parse(&format!("route:{keyword}{rest}"));
    }

    #[test]
    fn every_name_can_be_quoted(name in "[^\0]{1,63}") {
        let escaped = name.replace('\\', r"\\").replace('"', r#"\""#);
        let point = parse(&format!("node:\"{escaped}\":port:9")).unwrap();
        prop_assert_eq!(point, Point::NodePort(NodeMatch::Name(name), PortNum(9)));
    }

    #[test]
    fn every_name_can_be_escaped(name in "[^\0\"]{1,63}") {
        let escaped = name.replace('\\', r"\\").replace(':', r"\:");
        let point = parse(&format!("node:{escaped}")).unwrap();
        prop_assert_eq!(point, Point::Nodes(NodeMatch::Name(name)));
    }
}
