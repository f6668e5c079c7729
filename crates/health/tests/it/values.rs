//! Faults that the emulator has no switch for, as values: moved cables, links that differ by direction.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weft_fabric::CableMemories;
use weft_fabric::cables::Module;
use weft_fabric::enums::{LinkSpeed, LinkWidth, PhysState, PortState, SmState};
use weft_fabric::export::write_topology;
use weft_fabric::import::import_topology;
use weft_fabric::intended::Intended;
use weft_fabric::{FabricSpec, NodeId, PortNum, PortRef, Snapshot, Topology, TopologyBuilder};
use weft_health::{
    Attachment, Color, ErrorLog, FigureName, Finding, Idle, Kind, LastSweep, LossLog, Memory,
    Moment, Page, Requests, Shape, check,
};
use weft_manager::sm::drains::Drains;

const KEEP: u64 = 86_400;

fn fabric() -> Topology {
    let spec: FabricSpec = "pgft:2;2,4;1,2;1,1;radix=8".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    for id in (0..topology.len() as u32).map(NodeId) {
        let node = topology.node_mut(id).unwrap();
        let ports: Vec<_> = node
            .external_ports()
            .map(|(port, end)| (port, end.peer))
            .collect();
        for (port, _) in ports.iter().filter(|(_, peer)| peer.is_none()) {
            let info = &mut node.port_mut(*port).unwrap().info;
            info.phys_state = PhysState::OFFLINE;
            // As it is when a cable comes in.
            info.link_speed_active = LinkSpeed::G25;
            info.link_width_active = LinkWidth::X4;
        }
    }
    topology
}

pub(crate) fn findings(memory: &Memory, topology: &Topology) -> Vec<Finding> {
    page(memory, topology, None).findings
}

fn page(memory: &Memory, topology: &Topology, intended: Option<&Intended>) -> Page {
    page_with(memory, topology, intended, &CableMemories::default())
}

fn page_with(
    memory: &Memory,
    topology: &Topology,
    intended: Option<&Intended>,
    cables: &CableMemories,
) -> Page {
    let snapshot = Snapshot {
        topology: topology.clone().into(),
        ..Snapshot::default()
    };
    let last_sweep = LastSweep {
        ended: 3_000,
        ..LastSweep::default()
    };
    check(&Moment {
        now: 3_000,
        snapshot: &snapshot,
        memory,
        intended,
        cables,
        image: None,
        errors: &ErrorLog::default(),
        losses: &LossLog::default(),
        barred: &[],
        drains: &Drains::default(),
        silent: &BTreeMap::new(),
        role: SmState::MASTER,
        requests: Requests::default(),
        attachment: Attachment {
            attached: true,
            since: 1,
        },
        mandate_unknown: None,
        last_sweep: Some(&last_sweep),
        sweep_interval: 0,
        paused_until: None,
        shape: &Shape::of(topology, memory, Idle::default()),
    })
}

pub(crate) fn seen(topology: &Topology) -> Memory {
    let mut memory = Memory::default();
    for now in [1_000, 1_100] {
        memory.look(now, topology, KEEP, |_| None);
    }
    memory
}

/// The first link between switches, and a free port at the node of its far end, 0 where there is none.
fn link(topology: &Topology) -> (PortRef, PortRef, PortRef) {
    let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
    let mut links = topology.links();
    let (a, b) = links.find(|(a, b)| is_switch(*a) && is_switch(*b)).unwrap();
    let ports = topology.node(b.node).unwrap().external_ports();
    let mut free = ports.filter(|(_, port)| port.peer.is_none());
    let port = free.next().map_or(PortNum(0), |(port, _)| port);
    (a, b, PortRef { node: b.node, port })
}

#[test]
fn a_cable_in_another_port_is_moved_and_nothing_is_missing() {
    let before = fabric();
    let mut memory = seen(&before);
    let (a, b, free) = link(&before);
    let mut builder = TopologyBuilder::new();
    let mut less = before.clone();
    less.disconnect(a);
    for node in less.nodes_shared() {
        builder.add(std::sync::Arc::clone(node)).unwrap();
    }
    builder.connect(a, free).unwrap();
    let after = builder.build().unwrap();
    memory.look(2_000, &after, KEEP, |_| None);
    let found = findings(&memory, &after);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, Kind::Moved);
    assert_eq!(found[0].a.port, Some(a.port));
    assert_eq!(found[0].b.as_ref().unwrap().port, Some(free.port));
    let was = before.node(b.node).unwrap();
    let expected = format!("port {} of {}", b.port, was.name());
    assert!(found[0].what.contains(&expected), "{found:?}");
    let point = found[0].next.strip_prefix("weft health forget ").unwrap();
    let targets = weft_health::Target::parse(point, &memory).unwrap();
    assert_eq!(memory.forget(&targets).links, 1);
    assert_eq!(findings(&memory, &after), []);
}

#[test]
fn a_link_that_differs_by_direction_is_asymmetric() {
    let mut topology = fabric();
    let (a, b, _) = link(&topology);
    for (end, tx, rx) in [
        (a, LinkWidth::X2, LinkWidth::X4),
        (b, LinkWidth::X4, LinkWidth::X2),
    ] {
        let node = topology.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        info.link_width_downgrade_tx_active = tx;
        info.link_width_downgrade_rx_active = rx;
    }
    let found = findings(&seen(&topology), &topology);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, Kind::Asymmetric);
    assert!(
        found[0]
            .what
            .contains("2 lanes in one direction, 4 lanes in the other"),
        "{found:?}"
    );
}

/// A module of the emulator's, with this power received on lane 3, in 0.1 µW.
fn module(received: u16) -> Module {
    let (mut monitors, mut thresholds) = ([0; 64], [0; 128]);
    monitors[34..42].copy_from_slice(&[0x1F, 0x40].repeat(4));
    monitors[38..40].copy_from_slice(&received.to_be_bytes());
    thresholds[48..56].copy_from_slice(&[0x84, 0xD0, 0x01, 0x90, 0x42, 0x68, 0x03, 0xE8]);
    Module {
        monitors,
        thresholds: Some(thresholds),
    }
}

#[test]
fn a_module_without_enough_light_is_found_at_its_end() {
    let topology = fabric();
    let (a, b, _) = link(&topology);
    let end = |at: PortRef| (topology.node(at.node).unwrap().guid(), at.port);
    let with = |here: u16, there: u16| {
        let mut cables = CableMemories::default();
        for (at, received) in [(a, here), (b, there)] {
            cables.insert(end(at), [0; 128]);
            cables.insert_module(end(at), module(received));
        }
        page_with(&seen(&topology), &topology, None, &cables).findings
    };
    assert_eq!(with(8_000, 8_000), []);
    for (received, at, word) in [
        ((8_000, 300), b, "alarm of 0.040 mW"),
        ((300, 8_000), a, "alarm of 0.040 mW"),
        ((900, 300), b, "alarm of 0.040 mW"),
        ((900, 8_000), a, "warning of 0.10 mW"),
    ] {
        let found = with(received.0, received.1);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].kind, Kind::Module);
        assert_eq!(found[0].color, Color::Yellow);
        assert_eq!((found[0].a.node, found[0].a.port.unwrap()), end(at));
        assert!(found[0].what.contains("on lane 3"), "{found:?}");
        assert!(found[0].what.ends_with(word), "{found:?}");
        let next = format!("weft port show nodeguid:{}:port:{}", end(at).0, end(at).1);
        assert_eq!(found[0].next, next);
    }
}

#[test]
fn a_link_that_enables_less_than_it_supports_is_told() {
    let mut topology = fabric();
    let (a, b, _) = link(&topology);
    for end in [a, b] {
        let node = topology.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        info.link_speed_active = LinkSpeed::G12_5;
    }
    let node = topology.node_mut(b.node).unwrap();
    node.port_mut(b.port).unwrap().info.link_speed_enabled = LinkSpeed::G12_5;
    let found = findings(&seen(&topology), &topology);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, Kind::Degraded);
    assert_eq!(found[0].a.port, Some(b.port));
    assert!(found[0].what.contains("4 lanes at 25000 Mb/s"), "{found:?}");
}

/// The topology file of a fabric.
fn file(topology: &Topology) -> Intended {
    let snapshot = Snapshot {
        topology: topology.clone().into(),
        ..Snapshot::default()
    };
    let mut text = Vec::new();
    write_topology(&snapshot, &mut text).unwrap();
    import_topology(&text).unwrap()
}

#[test]
fn a_topology_file_tells_what_was_never_seen_and_ends_what_it_lacks() {
    let whole = fabric();
    let (a, b, _) = link(&whole);
    let mut less = whole.clone();
    less.disconnect(a);
    for end in [a, b] {
        let node = less.node_mut(end.node).unwrap();
        let info = &mut node.port_mut(end.port).unwrap().info;
        (info.port_state, info.phys_state) = (PortState::DOWN, PhysState::POLLING);
    }
    // Never seen: only the file knows of the link.
    let told = page(&seen(&less), &less, Some(&file(&whole)));
    let kinds: Vec<Kind> = told.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::Unintended], "{told:#?}");
    let unintended = &told.findings[0];
    assert!(
        unintended.what.starts_with("missing link: "),
        "{unintended:?}"
    );
    let mut ends = [unintended.a.port, unintended.b.as_ref().unwrap().port];
    ends.sort();
    let mut expected = [Some(a.port), Some(b.port)];
    expected.sort();
    assert_eq!(ends, expected);
    let topology = told
        .figures
        .iter()
        .find(|one| one.name == FigureName::Topology);
    assert_eq!(topology.unwrap().color, Color::Yellow);

    // Seen before, and not in the file: it is not missed.
    let mut memory = seen(&whole);
    memory.look(2_000, &less, KEEP, |_| None);
    assert_eq!(memory.gone_links().count(), 1);
    memory.follow(&file(&less));
    assert_eq!(memory.gone_links().count(), 0);
    let mut memory = seen(&whole);
    memory.look(2_000, &less, KEEP, |_| None);
    memory.follow(&file(&whole));
    assert_eq!(memory.gone_links().count(), 1, "the file has it");
}

#[test]
fn a_page_of_a_large_fabric_takes_less_than_a_second() {
    let spec: FabricSpec = "fattree:27648".parse().unwrap();
    let whole = spec.generate().unwrap();
    let mut less = whole.clone();
    let (a, ..) = link(&whole);
    let mut start = Instant::now();
    let mut took = || std::mem::replace(&mut start, Instant::now()).elapsed();
    let mut memory = seen(&whole);
    let looks = took();
    less.disconnect(a);
    memory.look(2_000, &less, KEEP, |_| None);
    let bytes = memory.encode(1);
    let stored = took();
    let shape = Shape::of(&less, &memory, Idle::default());
    let shaped = took();
    let page = page(&memory, &less, None);
    let made = took().saturating_sub(shaped);
    eprintln!(
        "two looks {looks:?}, a look and {} bytes {stored:?}, shape {shaped:?}, page {made:?}, {:?}",
        bytes.len(),
        shape.now.least
    );
    assert_eq!(page.counts[&Kind::MissingLink], 1);
    assert!(made < Duration::from_secs(2), "{made:?}");
}
