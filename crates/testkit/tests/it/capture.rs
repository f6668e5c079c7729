//! Wireshark's dissectors read a capture of a whole bring-up: every packet, and the same values.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::process::Command;

use crate::common::{brought_up, generate, settings};
use weft_fabric::Tick;
use weft_routing::EngineKind;
use weft_testkit::Tap;
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::pcap::Writer;
use weft_wire::sm::aggregate::segments;
use weft_wire::sm::{AttributeId, NodeInfo, PortInfo, SwitchInfo};
use weft_wire::smp::SmpView;

/// Writes down everything that crosses the manager's port.
#[derive(Debug, Default)]
struct Recorder {
    capture: Writer,
    packets: Vec<Packet>,
}

impl Tap for Recorder {
    fn see(&mut self, now: Tick, _: bool, packet: &Packet) {
        self.capture.push(now.0, packet);
        self.packets.push(packet.clone());
    }
}

/// The values of one packet: by tshark's name of the field, in order of occurrence.
type Values = BTreeMap<&'static str, Vec<u64>>;

const HEADER: [&str; 7] = [
    "opa.mad.mgmtclass",
    "opa.mad.classversion",
    "opa.mad.method",
    "opa.mad.transactionid",
    "opa.mad.dr.hopcounter",
    "opa.nodeinfo.nodeguid",
    "opa.mad.baseversion",
];

fn header_values(view: &SmpView<'_>) -> Values {
    let header = &view.header;
    let mut values = Values::from([
        ("opa.mad.baseversion", vec![u64::from(header.base_version)]),
        ("opa.mad.mgmtclass", vec![u64::from(header.mgmt_class)]),
        (
            "opa.mad.classversion",
            vec![u64::from(header.class_version)],
        ),
        ("opa.mad.method", vec![u64::from(header.method)]),
        ("opa.mad.transactionid", vec![header.transaction_id]),
    ]);
    if view.directed.is_some() {
        values.insert("opa.mad.dr.hopcounter", vec![u64::from(header.hop_count)]);
    }
    values
}

/// Values of an attribute, under tshark's names.
fn attribute_values(attribute: AttributeId, count: usize, data: &[u8], values: &mut Values) {
    let mut add = |name, value| values.entry(name).or_default().push(value);
    match attribute {
        AttributeId::NODE_INFO => {
            let info = NodeInfo::decode(data).unwrap();
            add("opa.nodeinfo.nodeguid", info.node_guid.0);
            add("opa.nodeinfo.portguid", info.port_guid.0);
            add("opa.nodeinfo.nodetype", u64::from(info.node_type.0));
            add("opa.nodeinfo.numports", u64::from(info.num_ports));
            add(
                "opa.nodeinfo.localportnum",
                u64::from(info.local_port_num.0),
            );
            add("opa.nodeinfo.partitioncap", u64::from(info.partition_cap));
        }
        AttributeId::SWITCH_INFO => {
            let info = SwitchInfo::decode(data).unwrap();
            add(
                "opa.switchinfo.linearfdbcap",
                u64::from(info.linear_fdb_cap),
            );
            add(
                "opa.switchinfo.linearfdbtop",
                u64::from(info.linear_fdb_top),
            );
            add(
                "opa.switchinfo.lifetimevalue",
                u64::from(info.life_time_value),
            );
            add(
                "opa.switchinfo.multicastmask",
                u64::from(info.multicast_mask),
            );
        }
        AttributeId::PORT_INFO => {
            for block in weft_wire::sm::blocks::decode_blocks::<PortInfo>(data, count) {
                port_values(&block.unwrap(), &mut add);
            }
        }
        _ => {}
    }
}

fn port_values(info: &PortInfo, add: &mut impl FnMut(&'static str, u64)) {
    add("opa.portinfo.lid", u64::from(info.lid.0));
    add("opa.portinfo.lmc", u64::from(info.lmc.0));
    add("opa.portinfo.vl.cap", u64::from(info.vl_cap));
    add(
        "opa.portinfo.neighborportnum",
        u64::from(info.neighbor_port_num.0),
    );
    add(
        "opa.portinfo.linkwidthactive",
        u64::from(info.link_width_active.0),
    );
    add(
        "opa.portinfo.linkspeedactive",
        u64::from(info.link_speed_active.0),
    );
    add("opa.portinfo.operationalvl", u64::from(info.operational_vl));
}

/// All values of a packet; an attribute is read where the datagram carries one that means something.
fn expected(packet: &Packet) -> Values {
    let view = SmpView::parse(&packet.mad).unwrap();
    let mut values = header_values(&view);
    if view.header.method == method::GET {
        return values; // what a Get carries means nothing
    }
    let modifier = view.header.attribute_modifier;
    if view.attribute() == AttributeId::AGGREGATE {
        for segment in segments(view.payload, (modifier & 0xFF) as usize) {
            let segment = segment.unwrap();
            let count = (segment.modifier >> 24).max(1) as usize;
            attribute_values(segment.attribute, count, segment.data, &mut values);
        }
    } else if !view.payload.is_empty() {
        let count = (modifier >> 24).max(1) as usize;
        attribute_values(view.attribute(), count, view.payload, &mut values);
    }
    values
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text
            .parse()
            .unwrap_or_else(|_| panic!("{text:?} is no number")),
    }
}

fn tshark(capture: &[u8], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), capture).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file.path()).args([
        "-T",
        "fields",
        "-E",
        "occurrence=a",
        "-E",
        "aggregator=,",
    ]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = weft_peers::output(&mut command)?;
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(
        text.lines()
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect(),
    )
}

fn check_capture(fabric: &str, lmc: u8) {
    let world = brought_up(
        generate(fabric),
        settings(EngineKind::FatTree, lmc),
        Recorder::default(),
    );
    let Recorder { capture, packets } = world.tap;
    let all: Vec<Values> = packets.iter().map(expected).collect();
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|values| values.keys().copied())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert!(HEADER.iter().all(|name| names.contains(name)), "{names:?}");
    let fields: Vec<&str> = ["_ws.malformed", "_ws.col.Protocol"]
        .into_iter()
        .chain(names.iter().copied())
        .collect();
    let Some(rows) = tshark(capture.bytes(), &fields) else {
        return;
    };
    assert_eq!(rows.len(), packets.len());
    for (index, (row, values)) in rows.iter().zip(&all).enumerate() {
        assert_eq!(row[0], "", "packet {} is malformed", index + 1);
        for (name, theirs) in names.iter().zip(&row[2..]) {
            let theirs: Vec<u64> = theirs
                .split(',')
                .filter(|text| !text.is_empty())
                .map(number)
                .collect();
            let ours = values.get(name).cloned().unwrap_or_default();
            assert_eq!(theirs, ours, "packet {}, {name}", index + 1);
        }
    }
    eprintln!(
        "{fabric}, LMC {lmc}: tshark reads {} packets as we do",
        packets.len()
    );
}

#[test]
fn tshark_reads_a_whole_bring_up_as_we_do() {
    check_capture("pgft:2;3,4;1,2;1,1", 0);
    check_capture("pgft:2;3,4;1,2;1,1", 2);
    check_capture("back-to-back", 0);
}
