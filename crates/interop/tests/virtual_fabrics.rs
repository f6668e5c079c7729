//! Virtual fabrics are what the vendor's manager makes of the same file: its own tools say so.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use weft_emulator::Options;
use weft_fabric::{FabricSpec, Snapshot, Topology};
use weft_interop::Fabric;
use weft_interop::vendor_sm::{Share, SmSettings, VendorSm, turn, write_config};
use weft_manager::ManagerSettings;
use weft_manager::vf::{Fabrics, Listed};
use weft_peers::{VENDOR_SM, program};
use weft_testkit::world::{NoTap, Wait, World};

const PATIENCE: Duration = Duration::from_secs(60);
/// The host that the manager and the tools run on.
const HOST: &str = "node1";

/// A virtual fabric with everything that the tools show, of some ports only, at the end of the section.
const BLUE: &str = "<VirtualFabric><Name>Blue</Name><Enable>1</Enable><PKey>0x0055</PKey><Security>1</Security>\
    <QOS>1</QOS><BaseSL>5</BaseSL><MulticastSL>6</MulticastSL><PreemptRank>3</PreemptRank><Bandwidth>15%</Bandwidth>\
    <FlowControlDisable>1</FlowControlDisable><MaxMTU>4096</MaxMTU><MaxRate>25g</MaxRate><Member>Front</Member>\
    <LimitedMember>Back</LimitedMember><Application>Blue</Application></VirtualFabric>\n</VirtualFabrics>";
const CHANGES: [(&str, &str); 3] = [
    (
        "</Applications>",
        "<Application><Name>Blue</Name><ServiceID>0x9901</ServiceID></Application></Applications>",
    ),
    (
        "</DeviceGroups>",
        "<DeviceGroup><Name>Front</Name><NodeDesc>node2 hfi1_0</NodeDesc></DeviceGroup>\
         <DeviceGroup><Name>Back</Name><NodeDesc>node7 hfi1_0</NodeDesc></DeviceGroup></DeviceGroups>",
    ),
    ("</VirtualFabrics>", BLUE),
];

#[test]
fn both_managers_make_the_same_of_a_file() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        changes: &CHANGES,
        shares: &[Share::Percent(20), Share::High],
        ..SmSettings::default()
    };
    let spec: FabricSpec = "fattree:8,radix=4".parse().unwrap();
    let topology = spec.generate().unwrap();
    let fabric = Fabric::of(topology.clone(), Options::default());
    let sm = VendorSm::start(&fabric, HOST, &settings);
    sm.swept(1, PATIENCE);
    let theirs = fabric.run(HOST, "opasaquery -o vfinfo").text;
    let members = fabric.run(HOST, "opareport -q -o vfmember").text;

    let text = std::fs::read_to_string(write_config(&fabric, HOST, &settings)).unwrap();
    let config = weft_config::check(text, "opafm.xml").config.unwrap();
    let settings = ManagerSettings::from_config(&config.instances[0]).unwrap();
    let snapshot = brought_up(topology, &settings);
    let fabrics = Fabrics::new(&snapshot, &settings.sa);
    let list = fabrics.list();
    let ours: Vec<String> = list.iter().map(info).collect();
    for (ours, theirs) in ours.iter().zip(infos(&theirs)) {
        assert_eq!(*ours, theirs);
    }
    assert_eq!(ours.len(), 5, "{theirs}");
    assert_eq!(our_members(&fabrics), their_members(&members), "{members}");
}

/// The fabric as Weft's manager has brought it up.
fn brought_up(topology: Topology, settings: &ManagerSettings) -> Snapshot {
    let topology = std::sync::Arc::new(topology);
    let mut world = World::new(topology, Options::default(), settings.sm.clone(), NoTap).unwrap();
    assert_eq!(world.bring_up(PATIENCE).unwrap(), Wait::Done);
    world.snapshot().as_ref().clone()
}

/// A virtual fabric as `opasaquery -o vfinfo` prints it, without what is queried and its Select.
fn info(listed: &Listed<'_>) -> String {
    let fabric = listed.fabric;
    let multicast = match fabric.multicast_sl == fabric.sl {
        true => String::new(),
        false => format!(" McastSL: {}", fabric.multicast_sl.0),
    };
    let limit = |value: u32, unit: &str| match value {
        0 => "unlimited".to_owned(),
        value => format!("{value}{unit}"),
    };
    let options = [
        (fabric.security, 1),
        (fabric.qos, 2),
        (fabric.flow_control_disable, 4),
    ];
    let options = options.iter().filter(|(set, _)| *set).map(|(_, bit)| bit);
    let qos = match (fabric.qos, fabric.high_priority) {
        (false, _) => "Disabled".to_owned(),
        (true, true) => "HighPriority".to_owned(),
        (true, false) => format!("Bandwidth: {}%", fabric.bandwidth),
    };
    format!(
        "{} {} PKey: {:#x} SL: {}{multicast} MaxMtu: {} MaxRate: {} Options: {:#04x} QOS: {qos} \
         PreemptionRank: {}",
        listed.index,
        fabric.name,
        fabric.member_key(false).0,
        fabric.sl.0,
        limit(fabric.max_mtu.map_or(0, |mtu| mtu.bytes()), ""),
        limit(fabric.max_rate_mbps() / 1_000, "g"),
        options.sum::<u32>(),
        fabric.preemption_rank
    )
}

/// The same of each virtual fabric that the tool has printed.
fn infos(text: &str) -> impl Iterator<Item = String> {
    let blocks = text.split("vFabric Index: ").skip(1);
    blocks.map(|block| {
        let words: Vec<&str> = block.split_whitespace().collect();
        let value = |name: &str| {
            let at = words.iter().position(|word| *word == name);
            at.map(|at| words[at + 1].trim_end_matches(':'))
        };
        let of = |name: &str| value(name).unwrap_or_default();
        let multicast = value("McastSL:").map_or_else(String::new, |sl| format!(" McastSL: {sl}"));
        let qos = match of("QOS:") {
            "Bandwidth" => format!("Bandwidth: {}", of("Bandwidth:")),
            other => other.to_owned(),
        };
        format!(
            "{} {} PKey: {} SL: {}{multicast} MaxMtu: {} MaxRate: {} Options: {} QOS: {qos} PreemptionRank: {}",
            words[0],
            of("Name:"),
            of("PKey:"),
            of("SL:"),
            of("MaxMtu:"),
            of("MaxRate:"),
            of("Options:"),
            of("PreemptionRank:")
        )
    })
}

/// A host with the name, index and service levels of a virtual fabric that it is in. Channels and lanes are numbered in
/// the order of service levels by Weft, and in that of virtual fabrics by the vendor's manager.
type Row = (String, String);

fn our_members(fabrics: &Fabrics<'_>) -> BTreeSet<Row> {
    let list = fabrics.list();
    let rows = list.iter().flat_map(|listed| {
        let fabric = listed.fabric;
        let multicast = match fabric.multicast_sl == fabric.sl {
            true => "N/A".to_owned(),
            false => fabric.multicast_sl.0.to_string(),
        };
        let row = format!(
            "{} {} {} {multicast}",
            fabric.name, listed.index, fabric.sl.0
        );
        let topology = &fabrics.snapshot().topology;
        let nodes = fabrics
            .members(fabric)
            .map(|member| topology.node(member.at.node).unwrap());
        let hosts = nodes.filter(|node| !node.is_switch());
        hosts.map(move |node| (node.name(), row.clone()))
    });
    rows.collect()
}

/// The rows of each host in the report. It lists a switch by what its ports let pass.
fn their_members(text: &str) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let mut node = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_some_and(|next| next.starts_with("LID ")) {
            node = line.trim();
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [name, index, sl, _, _, multicast, _, _] = words[..]
            && index.parse::<u32>().is_ok()
            && node.starts_with("node")
        {
            rows.insert((node.to_owned(), format!("{name} {index} {sl} {multicast}")));
        }
    }
    rows
}
