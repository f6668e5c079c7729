//! Writes one packet of every kind into a capture, has tshark dissect it, and compares the values
//! that tshark finds with ours. Which of its fields are which of ours is in
//! `tests/data/tshark_fields.txt`.
#![allow(clippy::unwrap_used)]

mod cases;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weft_wire::packet::Packet;
use weft_wire::registry::ALL;
use weft_wire::{FieldLayout, bits, pcap};

use cases::{Case, cases, entry};

/// The values of a structure's fields as tshark shows them, by path: `PortInfo.lid`. A structure
/// inside has its own name, an array of structures has its field's: `PortInfo.xmit_q.hoq_life`.
fn values(
    prefix: &str,
    fields: &[FieldLayout],
    bytes: &[u8],
    out: &mut BTreeMap<String, Vec<String>>,
) {
    for field in fields {
        let inner = ALL
            .iter()
            .find(|entry| entry.fields == field.parts && field.count == 1);
        let path = match inner {
            Some(entry) => entry.name.to_owned(),
            None => format!("{prefix}.{}", field.name),
        };
        let element = field.width / field.count;
        for index in 0..field.count {
            let at = field.offset + index * element;
            let part = &bytes[at..at + element];
            if field.parts.is_empty() {
                out.entry(path.clone())
                    .or_default()
                    .push(shown(part, field.bits));
            } else {
                values(&path, field.parts, part, out);
            }
        }
    }
}

/// A number without leading zeros, longer values byte for byte.
fn shown(bytes: &[u8], range: Option<(u32, u32)>) -> String {
    match (bytes.len(), range) {
        (width @ ..=8, Some((msb, lsb))) => {
            format!("{:x}", bits::load_bits(bytes, 0, width, msb, lsb))
        }
        (width @ ..=8, None) => format!("{:x}", bits::load(bytes, 0, width)),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// tshark's values in the same form.
fn trimmed(values: &[String]) -> Vec<String> {
    let trim = |value: &String| match value.len() {
        ..=16 => {
            let digits = value.trim_start_matches('0');
            if digits.is_empty() { "0" } else { digits }.to_lowercase()
        }
        _ => value.clone(),
    };
    values.iter().map(trim).collect()
}

/// `count` bytes a time in one value, for fields that tshark takes as a whole.
fn joined(bytes: &[String], count: usize) -> Vec<String> {
    let join = |bytes: &[String]| bytes.iter().map(|byte| format!("{byte:0>2}")).collect();
    let values: Vec<String> = bytes.chunks(count).map(join).collect();
    trimmed(&values)
}

/// The table: our path `Structure.field`, tshark's field; with a number N before it and a colon
/// where tshark takes N of our bytes as one value.
fn table() -> Vec<(&'static str, &'static str)> {
    include_str!("../../data/tshark_fields.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split_once(' ').unwrap())
        .collect()
}

/// Values that tshark should find in a packet, by its field names.
fn expected(
    case: &Case,
    table: &[(&'static str, &'static str)],
) -> BTreeMap<&'static str, Vec<String>> {
    let mut expected: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, at) in &case.parts {
        let entry = entry(name);
        let mut ours = BTreeMap::new();
        values(
            name,
            entry.fields,
            &case.packet.mad[*at..at + entry.len],
            &mut ours,
        );
        for (path, theirs) in table {
            let Some(values) = ours.get(*path) else {
                continue;
            };
            let (theirs, values) = match theirs.split_once(':') {
                Some((count, theirs)) => (theirs, joined(values, count.parse().unwrap())),
                None => (*theirs, values.clone()),
            };
            expected.entry(theirs).or_default().extend(values);
        }
    }
    expected
}

/// Addressing that tshark should find in front of the datagram.
fn addressing(packet: &Packet) -> [(&'static str, u32); 7] {
    [
        ("opa.9b.slid", packet.slid.0 & 0xFFFF),
        ("opa.9b.dlid", packet.dlid.0 & 0xFFFF),
        ("opa.9b.sl", u32::from(packet.sl.0)),
        ("opa.9b.lnh", 2),
        ("opa.bth.p_key", u32::from(packet.pkey.0)),
        ("opa.bth.destqp", packet.dest_qp),
        ("opa.deth.srcqp", packet.src_qp),
    ]
}

/// Differences between a packet as we wrote it and as tshark reads it; `compared` collects the
/// lines of the table that were used.
fn differences(
    case: &Case,
    packet: &crate::common::Dissected,
    table: &[(&'static str, &'static str)],
    compared: &mut BTreeSet<&'static str>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    if packet.is_malformed() {
        wrong.push("malformed".to_owned());
    }
    for (theirs, ours) in addressing(&case.packet) {
        let values = trimmed(packet.values(theirs));
        if values != [format!("{ours:x}")] {
            wrong.push(format!("{theirs}: ours {ours:x}, theirs {values:?}"));
        }
    }
    let expected = expected(case, table);
    let shown = expected
        .iter()
        .filter(|(theirs, _)| !packet.values(theirs).is_empty());
    for (theirs, ours) in shown {
        compared.insert(theirs);
        let values = trimmed(packet.values(theirs));
        if values != *ours {
            wrong.push(format!("{theirs}: ours {ours:?}, theirs {values:?}"));
        }
    }
    wrong
}

#[test]
fn tshark_reads_what_we_write() {
    let cases = cases();
    let mut writer = pcap::Writer::new();
    for (index, case) in cases.iter().enumerate() {
        writer.push(
            1_700_000_000_000_000_000 + index as u64 * 1_000,
            &case.packet,
        );
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("every_attribute.pcap");
    let Some(packets) = crate::common::dissect(writer.bytes(), &path) else {
        return;
    };
    assert_eq!(packets.len(), cases.len());
    let (table, mut wrong, mut compared) = (table(), Vec::new(), BTreeSet::new());
    for (case, packet) in cases.iter().zip(&packets) {
        for text in differences(case, packet, &table, &mut compared) {
            wrong.push(format!("{:?}: {text}", case.parts));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let field = |theirs: &'static str| theirs.rsplit(':').next().unwrap();
    let unused: Vec<_> = table
        .iter()
        .filter(|(_, theirs)| !compared.contains(field(theirs)))
        .collect();
    assert!(
        unused.is_empty(),
        "in the table, but in no packet: {unused:?}"
    );
    println!(
        "{} packets, {} of tshark's fields compared",
        packets.len(),
        compared.len()
    );
}
