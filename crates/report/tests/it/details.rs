//! What higher levels of detail add (cables, tables, counters), and points about cables, against opareport on the same
//! snapshot.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::cables::Module;
use weft_fabric::import::{SnapshotParts, import_fabric, import_fabric_parts};
use weft_fabric::{Guid, PortNum, Snapshot};
use weft_report::{Kind, MakeError, Needs, Options, Point, REPORTS, Request, Sample};

use crate::opareport::{Judged, as_far_as_snapshots_go, committed};

/// Fields of a cable: offset in page 0, and bytes.
type Fields = &'static [(usize, &'static [u8])];

/// Fields of QSFP cables, and of QSFP-DD cables.
const QSFP: Fields = &[
    (128, &[0x11]),
    (148, b"ACME Cables & Co"),
    (165, &[0x00, 0x11, 0x75]),
    (184, b"A "),
    (212, b"240131L1"),
];
const QSFP_DD: Fields = &[
    (128, &[0x18]),
    (129, b"Double <Density>"),
    (145, &[0xAB, 0xCD, 0xEF]),
    (164, b"B2"),
    (182, b"230704  "),
];

/// Cables of every kind.
const CABLES: [(Fields, Fields); 9] = [
    (
        QSFP,
        &[
            (130, &[0x23]),
            (146, &[3]),
            (147, &[0xA0]),
            (168, b"CU-3M           "),
            (196, b"SN0001          "),
        ],
    ),
    (
        QSFP,
        &[
            (130, &[0x23]),
            (146, &[10]),
            (147, &[0x00]),
            (168, b"AOC-10M         "),
            (196, b"SN0002          "),
            (129, &[0x80]),
        ],
    ),
    (
        QSFP,
        &[
            (130, &[0x0C]),
            (146, &[50]),
            (147, &[0x40]),
            (168, b"XCVR-0123456789A"),
            (196, b"SN-0123456789ABC"),
            (129, &[0x01]),
        ],
    ),
    (
        QSFP,
        &[
            (130, &[0x23]),
            (146, &[5]),
            (147, &[0xC0]),
            (168, b"ACT-5M          "),
            (196, b"SN0004          "),
            (129, &[0x02]),
        ],
    ),
    (
        QSFP,
        &[
            (128, &[0x0D]),
            (130, &[0x24]),
            (146, &[7]),
            (147, &[0x80]),
            (168, b"OTHER           "),
            (196, b"SN0005          "),
            (129, &[0xC0]),
        ],
    ),
    (
        QSFP,
        &[
            (128, &[0x77]),
            (130, &[0x01]),
            (146, &[0xFF]),
            (147, &[0xB0]),
            (168, b"EQ              "),
            (196, b"SN0006          "),
            (129, &[0x03]),
        ],
    ),
    (
        QSFP_DD,
        &[
            (203, &[0x23]),
            (202, &[0x19]),
            (212, &[0x0A]),
            (201, &[6]),
            (148, b"DD-CU           "),
            (166, b"SN0007          "),
        ],
    ),
    (
        QSFP_DD,
        &[
            (203, &[0x23]),
            (202, &[0x83]),
            (212, &[0x00]),
            (201, &[19]),
            (148, b"DD-AOC          "),
            (166, b"SN0008          "),
        ],
    ),
    (
        QSFP_DD,
        &[
            (203, &[0x0D]),
            (202, &[0x43]),
            (212, &[0x06]),
            (201, &[40]),
            (148, b"DD-XCVR         "),
            (166, b"SN0009          "),
        ],
    ),
];

/// The committed fabric with a cable in each port that takes one but a few.
fn with_cables() -> String {
    const END: &str = "</PortInfo>";
    let text = committed();
    let ports = text.split_inclusive(END).enumerate();
    let ports = ports.map(|(number, port)| match port.strip_suffix(END) {
        Some(port) if port.contains("<PortType_Int>0x04<") && number % 7 != 3 => {
            format!("{port}{}{END}", cable(number % CABLES.len()))
        }
        _ => port.to_owned(),
    });
    ports.collect()
}

/// The element of a cable.
fn cable(which: usize) -> String {
    let mut memory = [0; 128];
    let (form, cable) = CABLES[which];
    for (at, bytes) in form.iter().chain(cable) {
        memory[at - 128..at - 128 + bytes.len()].copy_from_slice(bytes);
    }
    let segments = memory.chunks_exact(8).enumerate();
    let segments = segments.map(|(number, bytes)| {
        let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("<Value Seg=\"{number:#x}\">0x{bytes}</Value>\n")
    });
    format!(
        "<CableInfo>\n{}</CableInfo>\n",
        segments.collect::<String>()
    )
}

/// Text without the power class, in whose place opareport prints the revision.
fn comparable(text: &str) -> String {
    let text = as_far_as_snapshots_go(text);
    let lines = text.lines().filter(|line| !line.contains(" PowerClass: "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn cables_tables_and_counters_at_higher_levels() {
    let judged = Judged::new(&with_cables(), &[3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for name in [
        "nodes",
        "comps",
        "links",
        "extlinks",
        "slowlinks",
        "slowconnlinks",
    ] {
        for points in [&[][..], &["-F", "node:edge1"]] {
            if judged.judge_comparable(name, points, comparable).is_none() {
                return;
            }
        }
    }
}

#[test]
fn points_about_cables() {
    let judged = Judged::new(&with_cables(), &[2]);
    for point in [
        "cabinftype:optical",
        "cabinftype:passive_copper",
        "cabinftype:active_copper",
        "cabinftype:unknown",
        "cabinflenpat:10m",
        "cabinflenpat:3*",
        "cabinflenpat:?",
        "cabinfvendnamepat:ACME*",
        "cabinfvendnamepat:Double ?Density?",
        "cabinfvendpnpat:CU-3M",
        "cabinfvendpnpat:DD-*",
        "cabinfvendrevpat:A",
        "cabinfvendsnpat:SN000[1-3]*",
        "cabinfvendsnpat:SN-0123456789ABC",
    ] {
        for name in ["brnodes", "links"] {
            if judged.judge(name, &["-F", point]).is_none() {
                return;
            }
        }
    }
    let without = import_fabric(committed().as_bytes()).unwrap();
    let point = Point::parse("cabinftype:optical", &|_| unreachable!()).unwrap();
    let refused = point.select(&without).unwrap_err().to_string();
    assert!(
        refused.starts_with("the point needs memories of cables"),
        "{refused}"
    );
}

fn request(snapshot: &Snapshot) -> Request<'_> {
    Request {
        snapshot,
        options: Options::default(),
        ends: None,
        sample: Sample::default(),
        counted: None,
    }
}

/// The report that opareport makes of a running fabric only; a test with a running one compares it.
#[test]
fn the_health_of_cables() {
    let without = import_fabric(committed().as_bytes()).unwrap();
    let refused = Kind::named("cablehealth").unwrap().make(&request(&without));
    assert_eq!(refused.map(|_| ()).unwrap_err(), MakeError::NoCables);
    let mut snapshot = import_fabric(with_cables().as_bytes()).unwrap();
    let at = (Guid(0x0011_7501_0100_0011), PortNum(1));
    assert!(snapshot.cables.get(at.0, at.1).is_some());
    let mut monitors = [0; 64];
    monitors[22..24].copy_from_slice(&0x2A80_u16.to_be_bytes());
    monitors[26..28].copy_from_slice(&33_000_u16.to_be_bytes());
    monitors[34..36].copy_from_slice(&8_700_u16.to_be_bytes());
    monitors[56..58].copy_from_slice(&10_000_u16.to_be_bytes());
    let module = Module {
        monitors,
        thresholds: None,
    };
    Arc::make_mut(&mut snapshot.cables).insert_module(at, module);
    let report = Kind::named("cablehealth")
        .unwrap()
        .make(&request(&snapshot));
    let report = report.unwrap();
    let text = report.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[1]), ("", "Cable Health Report"));
    assert!(
        lines[2].starts_with("Pri Node Name;Pri Node Type;"),
        "{text}"
    );
    assert_eq!(lines[2].matches(';').count(), 40);
    let all = lines[3..].iter();
    assert!(
        all.clone().all(|line| line.matches(';').count() == 40),
        "{text}"
    );
    assert_eq!(lines.len() - 3, snapshot.topology.links().count());
    let measured = "0x0011750101000011;0x1;  1;42.50;3.30;0.87;0.00;0.00;0.00;0.00;0.00;0.00;1.00;";
    assert!(all.clone().any(|line| line.contains(measured)), "{text}");
    assert!(
        text.contains(";NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;NA;"),
        "{text}"
    );
}

/// What is left out of a file changes no report that does not look at it.
#[test]
fn reports_need_no_more_of_a_file_than_they_say() {
    let text = with_cables();
    let whole = import_fabric(text.as_bytes()).unwrap();
    let parts = SnapshotParts {
        routes: false,
        counts: false,
        cables: false,
        ..SnapshotParts::ALL
    };
    let less = import_fabric_parts(text.as_bytes(), parts).unwrap();
    assert!(less.lacking.routes && less.lacking.cables && less.counts.is_none());
    assert!(!less.lacking.port_tables);
    let few = SnapshotParts {
        port_tables: false,
        lanes: false,
        ..parts
    };
    let few = import_fabric_parts(text.as_bytes(), few).unwrap();
    assert!(few.lacking.port_tables && few.lacking.buffers);
    let mut compared = 0;
    for kind in REPORTS.iter().filter(|kind| !kind.uses_routes()) {
        let of_file = |needs: &Needs| *needs == Needs::PortTables;
        let shown = match kind.needs.iter().any(of_file) {
            true => &less,
            false => &few,
        };
        let [whole, shown] = [&whole, shown].map(|snapshot| kind.make(&request(snapshot)));
        if let (Ok(whole), Ok(shown)) = (whole, shown) {
            assert_eq!(whole.to_string(), shown.to_string(), "{}", kind.name);
            compared += 1;
        }
    }
    assert!(compared >= 25, "{compared}");
}
