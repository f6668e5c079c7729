//! Devices that lie, and unsolicited datagrams.
#![allow(clippy::unwrap_used)]

use crate::common::{World, settings};
use proptest::prelude::*;
use weft_emulator::io::{Input as ToFabric, Output as FromFabric};
use weft_fabric::{Guid, Lid, Lmc, PKey, PortNum, PortRef, Sl, Tick};
use weft_manager::{Event, Input, Manager, Output, Sa, SaInput, SaSettings, SweepReason};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::aggregate::SegmentHeader;
use weft_wire::sm::trap::TrapPortChangeState;
use weft_wire::sm::{AttributeId, NodeInfo, Notice, PortInfo, SmInfo, SwitchInfo, Trap};
use weft_wire::smp::{DIRECTED_HEADER_LEN, Smp, SmpView};
use weft_wire::{Block, Layout};

/// Runs a bring-up in which every answer to the manager goes through `lie` first.
fn bring_up_with(spec: &str, lie: impl Fn(&mut Packet)) -> (World, Vec<Event>) {
    let mut world = World::new(spec, settings());
    world.manager.handle(world.now, Input::Tick);
    let events = sweep_with(&mut world, lie);
    (world, events)
}

/// Runs a sweep that is due to its end; every answer to the manager goes through `lie` first.
fn sweep_with(world: &mut World, lie: impl Fn(&mut Packet)) -> Vec<Event> {
    let (node, port) = world.own;
    let mut events = Vec::new();
    loop {
        while let Some(output) = world.manager.poll() {
            match output {
                Output::Send(packet) => {
                    let send = ToFabric::Send { node, port, packet };
                    world.emulator.handle(world.now, send).unwrap();
                }
                Output::Plan(input) => world.planner.begin(world.now, input),
                Output::Event(event @ Event::SweepEnded(_)) => {
                    events.push(event);
                    return events;
                }
                Output::Event(event) => events.push(event),
                _ => {}
            }
        }
        if let Some(planned) = world.planner.ready(world.now) {
            world.manager.handle(world.now, planned);
            continue;
        }
        let due = [world.manager.deadline(), world.emulator.deadline()];
        world.now = world.now.max(due.into_iter().flatten().min().unwrap());
        world.emulator.handle(world.now, ToFabric::Tick).unwrap();
        let mut answers = Vec::new();
        while let Some(FromFabric::Deliver { packet, .. }) = world.emulator.poll() {
            answers.push(packet);
        }
        for mut packet in answers {
            lie(&mut packet);
            world.manager.handle(world.now, Input::Received(packet));
        }
        world.manager.handle(world.now, Input::Tick);
    }
}

fn report(events: &[Event]) -> weft_manager::SweepReport {
    match events.last() {
        Some(Event::SweepEnded(report)) => report.clone(),
        other => panic!("{other:?}"),
    }
}

fn has_fault_of(events: &[Event], guid: Guid) -> bool {
    events
        .iter()
        .any(|event| matches!(event, Event::DeviceFault { node: Some(node), .. } if *node == guid))
}

/// Replaces every occurrence of a GUID in an answer's payload.
fn replace(packet: &mut Packet, from: Guid, to: Guid) {
    let (from, to) = (from.0.to_be_bytes(), to.0.to_be_bytes());
    for at in 176..packet.mad.len().saturating_sub(7) {
        if packet.mad[at..at + 8] == from {
            packet.mad[at..at + 8].copy_from_slice(&to);
        }
    }
}

/// Applies `lie` to each attribute in an answer by this directed route, with its content.
fn in_answer_of(route: &[u8], packet: &mut Packet, mut lie: impl FnMut(AttributeId, &mut [u8])) {
    let view = SmpView::parse(&packet.mad).unwrap();
    let hops = usize::from(view.header.hop_count);
    let from = view
        .directed
        .map(|directed| directed.initial_path[1..=hops].to_vec());
    let (attribute, parts) = (view.attribute(), view.header.attribute_modifier);
    if from.as_deref() != Some(route) {
        return;
    }
    let mut rest = &mut packet.mad[DIRECTED_HEADER_LEN..];
    if attribute != AttributeId::AGGREGATE {
        return lie(attribute, rest);
    }
    for _ in 0..parts {
        let (header, behind) = rest.split_at_mut(<SegmentHeader as Layout>::LEN);
        let header = SegmentHeader::decode(header).unwrap();
        let (data, behind) = behind.split_at_mut(usize::from(header.request_length) * 8);
        lie(AttributeId(header.attribute_id), data);
        rest = behind;
    }
}

/// Changes an attribute's content.
fn alter<T: Layout>(data: &mut [u8], change: impl FnOnce(&mut T)) {
    let mut content = T::decode(data).unwrap();
    change(&mut content);
    content.encode(&mut data[..<T as Layout>::LEN]);
}

/// An HFI that answers with a LID that no port can have, whatever is written to it.
#[test]
fn a_reported_lid_that_is_none_counts_as_none() {
    for (lid, lmc) in [
        (Lid::PERMISSIVE, Lmc(0)),
        (Lid(0xEFFF_FFC0), Lmc(7)),
        (Lid(0xEFFF_FFFF), Lmc(1)),
    ] {
        let (mut world, events) = bring_up_with("one-switch:4", |packet| {
            in_answer_of(&[1, 3], packet, |attribute, data| {
                if attribute == AttributeId::PORT_INFO {
                    alter(data, |info: &mut PortInfo| {
                        (info.lid, info.lmc) = (lid, lmc)
                    });
                }
            });
        });
        let report = report(&events);
        assert_eq!((report.hfis, report.switches), (4, 1));
        let snapshot = world.manager.snapshot();
        let topology = &snapshot.topology;
        let lids: Vec<Lid> = topology.end_ports().map(|(_, lid, _)| lid).collect();
        let without = lids.iter().filter(|lid| lid.0 == 0).count();
        assert!(lids.iter().all(|lid| lid.0 < 64), "{lids:?}");
        assert_eq!(without, 1, "{lids:?}");
        let mut sa = Sa::new(SaSettings::default());
        sa.handle(world.now, SaInput::Published(snapshot));
        world
            .manager
            .handle(world.now, Input::Received(trap_128(Lid(2))));
    }
}

/// A switch whose SwitchInfo says that more multicast LIDs are in use than there are, and which answers
/// for each of them.
#[test]
fn a_switch_with_a_boundless_multicast_table_is_read_as_far_as_there_are_multicast_lids() {
    let mut world = World::new("one-switch:4", settings());
    world.sweep();
    world.restart(settings(), None);
    let datagrams = std::cell::Cell::new(0);
    world.manager.handle(world.now, Input::Tick);
    let events = sweep_with(&mut world, |packet| {
        datagrams.set(datagrams.get() + 1);
        assert!(datagrams.get() < 2_000, "no end in sight");
        let mut is_table = false;
        in_answer_of(&[1], packet, |attribute, data| match attribute {
            AttributeId::SWITCH_INFO => alter(data, |info: &mut SwitchInfo| {
                (info.multicast_fdb_cap, info.multicast_fdb_top) = (u32::MAX, u32::MAX - 1);
            }),
            AttributeId::MULTICAST_FDB => is_table = true,
            _ => {}
        });
        if is_table {
            packet.mad[5] = 0;
            packet.mad.resize(2_048, 0);
        }
    });
    assert_eq!(report(&events).unfinished, Vec::<String>::new());
    assert!(datagrams.get() > 70, "all blocks are read");
}

/// A switch that refuses adaptive groups.
#[test]
fn a_switch_that_refuses_its_groups_routes_by_its_linear_table_and_is_asked_again() {
    let mut adaptive = settings();
    adaptive.routing.adaptive = Some(weft_routing::AdaptiveSettings::default());
    let mut world = World::new("fattree:32,radix=8", adaptive);
    let (hfi, _) = world.topology.hfis().next().unwrap();
    let first = PortRef {
        node: hfi,
        port: PortNum(1),
    };
    let switch = world
        .topology
        .node(world.topology.peer(first).unwrap().node)
        .unwrap()
        .guid();
    let refuse = |packet: &mut Packet| {
        let mut refused = false;
        in_answer_of(&[1], packet, |attribute, _| {
            let groups = [AttributeId::PORT_GROUP_TABLE, AttributeId::PORT_GROUP_FDB];
            refused |= groups.contains(&attribute);
        });
        if refused {
            packet.mad[5] = 0x1C;
        }
    };
    let writes = |world: &World| {
        world
            .emulator
            .stats()
            .total(AttributeId::PORT_GROUP_TABLE)
            .1
    };
    let mut before = 0;
    for _ in 0..3 {
        let command = weft_manager::Command::Sweep;
        world
            .manager
            .handle(world.now, Input::Command { id: 1, command });
        let events = sweep_with(&mut world, refuse);
        assert!(has_fault_of(&events, switch), "{events:?}");
        let network = world.emulator.network();
        let held = network
            .switch(network.find(switch).unwrap())
            .unwrap()
            .info();
        assert!(!held.ar_enable || held.ar_pause, "it has no groups");
        assert!(writes(&world) > before, "the groups are written again");
        before = writes(&world);
    }
    world.forced_sweep();
    let network = world.emulator.network();
    for (_, node) in world.topology.nodes().filter(|(_, node)| node.is_switch()) {
        let held = network
            .switch(network.find(node.guid()).unwrap())
            .unwrap()
            .info();
        assert!(held.ar_enable && !held.ar_pause, "{}", node.guid());
    }
}

#[test]
fn a_node_that_claims_another_guid_is_left_out_and_told() {
    let liar = World::new("one-switch:4", settings())
        .topology
        .hfis()
        .nth(2)
        .unwrap()
        .1
        .guid();
    let (world, events) = bring_up_with("one-switch:4", |packet| {
        let node_info = NodeInfo::decode(packet.mad.get(184..).unwrap_or_default());
        if node_info.is_ok_and(|info| info.node_guid == liar && packet.mad[17] == 0x80) {
            replace(packet, liar, Guid(0xBAD));
        }
    });
    let is_told = |event: &Event| match event {
        Event::DeviceRefused(refused) => {
            (refused.neighbour, refused.found.node) == (liar, Guid(0xBAD))
        }
        _ => false,
    };
    assert!(events.iter().any(is_told), "{events:?}");
    let report = report(&events);
    assert_eq!((report.hfis, report.switches), (3, 1));
    assert_eq!(world.manager.snapshot().topology.find(Guid(0xBAD)), None);
}

#[test]
fn a_port_that_names_a_wrong_neighbour_loses_its_link_only() {
    let world = World::new("fattree:16,radix=8", settings());
    let victim = world.topology.hfis().nth(3).unwrap().1.guid();
    let stranger = world.topology.hfis().nth(8).unwrap().1.guid();
    // Switches say that the victim's place is the stranger's.
    let (_, events) = bring_up_with("fattree:16,radix=8", |packet| {
        let own_answer = packet.mad.len() < 700 && packet.mad.get(192..200).is_some();
        if !own_answer {
            replace(packet, victim, stranger);
        }
    });
    let report = report(&events);
    assert_eq!(report.hfis, 15, "{report:?}");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::DeviceFault { .. }))
    );
}

#[test]
fn a_switch_that_does_not_take_its_table_over_is_told_and_not_used() {
    let (_, events) = bring_up_with("fattree:16,radix=8", |packet| {
        let view = SmpView::parse(&packet.mad).unwrap();
        if view.attribute() == AttributeId::LINEAR_FDB && view.header.hop_count == 3 {
            packet.mad[176..240].fill(0xFF);
        }
    });
    let report = report(&events);
    let faults: Vec<_> = events
        .iter()
        .filter(|event| {
            matches!(event, Event::DeviceFault { what, .. } if what.contains("forwarding table"))
        })
        .collect();
    assert!(!faults.is_empty(), "{report:?}");
    assert!(report.active_ports < 64);
    let sent_per_switch = report.sent / u64::from(report.switches);
    assert!(sent_per_switch < 100, "{report:?}");
}

#[test]
fn answers_cut_short_are_no_answers() {
    let (world, events) = bring_up_with("one-switch:4", |packet| {
        if packet.mad.len() > 700 {
            packet.mad.truncate(400);
        }
    });
    let report = report(&events);
    let found = (report.hfis, report.switches, report.active_ports);
    assert_eq!(found, (1, 0, 0), "{report:?}");
    assert!(!report.unfinished.is_empty());
    assert!(world.manager.status().totals.faults > 0);
}

pub(crate) fn trap_128(lid: Lid) -> Packet {
    let trap = Trap::PortChangeState(TrapPortChangeState { lid });
    let notice = Notice::of(&trap, Notice::PRODUCER_SWITCH, lid);
    let smp = Smp {
        method: method::TRAP,
        attribute: AttributeId::NOTICE,
        modifier: 0,
        transaction_id: 0x55,
        m_key: 0,
    };
    let mut mad = Vec::new();
    smp.write_lid_routed(&notice.to_bytes(), &mut mad);
    Packet {
        slid: lid,
        dlid: Lid(1),
        sl: Sl(0),
        pkey: PKey(0x7FFF),
        dest_qp: 0,
        src_qp: 0,
        mad,
    }
}

pub(crate) fn sent(manager: &mut Manager) -> Vec<Packet> {
    let mut sent = Vec::new();
    while let Some(output) = manager.poll() {
        if let Output::Send(packet) = output {
            sent.push(packet);
        }
    }
    sent
}

#[test]
fn a_trap_is_answered_and_a_storm_of_them_causes_one_sweep() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    world
        .manager
        .handle(world.now, Input::Received(trap_128(Lid(5))));
    let answers = sent(&mut world.manager);
    let repress = answers.iter().find(|packet| packet.dlid == Lid(5)).unwrap();
    let view = SmpView::parse(&repress.mad).unwrap();
    assert_eq!(view.header.method, method::TRAP_REPRESS);
    assert_eq!(view.header.transaction_id, 0x55);
    let number = world.manager.status().sweep;
    for _ in 0..1_000 {
        world
            .manager
            .handle(world.now, Input::Received(trap_128(Lid(5))));
    }
    assert_eq!(
        sent(&mut world.manager)
            .iter()
            .filter(|packet| packet.dlid == Lid(5))
            .count(),
        1_000
    );
    world.run_for(10.0);
    let more = world.manager.status().sweep - number;
    assert!(more <= 2, "{more} more sweeps");
    let traps = world
        .reports()
        .iter()
        .filter(|report| report.reason == Some(SweepReason::Trap))
        .count();
    assert!(traps >= 1);
    // The same trap over and over is passed on once.
    assert_eq!(world.manager.status().totals.traps_left, 1_000);
}

#[test]
fn questions_about_the_manager_are_answered() {
    let mut world = World::new("one-switch:4", settings());
    world.sweep();
    let mut mad = Vec::new();
    Smp::get(AttributeId::SM_INFO, 0, 9, 0).write_lid_routed(&[0; 32], &mut mad);
    let packet = Packet {
        mad,
        ..trap_128(Lid(3))
    };
    world.manager.handle(world.now, Input::Received(packet));
    let answers = sent(&mut world.manager);
    let view = SmpView::parse(&answers[0].mad).unwrap();
    assert_eq!(
        (view.header.method, view.header.transaction_id),
        (method::GET_RESP, 9)
    );
    let info = SmInfo::load(view.payload);
    assert_eq!(info.port_guid, world.own.0);
    assert_eq!(info.sm_state_current, weft_fabric::enums::SmState::MASTER);
    assert!(info.act_count > 0);
}

fn packets() -> impl Strategy<Value = Packet> {
    let mad = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        (
            any::<u8>(),
            any::<u8>(),
            any::<u16>(),
            any::<u32>(),
            any::<u32>(),
            prop::collection::vec(any::<u8>(), 0..1900)
        )
            .prop_map(|(class, method, attribute, modifier, id, rest)| {
                let mut mad = vec![
                    0x80,
                    if class % 2 == 0 { 0x81 } else { 0x01 },
                    0x80,
                    method,
                    0x80,
                    0,
                    0,
                    0,
                ];
                mad.extend_from_slice(&u64::from((id % 8) | (1 << 16)).to_be_bytes());
                mad.extend_from_slice(&(attribute % 0x95).to_be_bytes());
                mad.extend_from_slice(&[0, 0]);
                mad.extend_from_slice(&modifier.to_be_bytes());
                mad.extend_from_slice(&rest);
                mad.truncate(2048);
                mad
            }),
    ];
    mad.prop_map(|mad| Packet {
        mad,
        ..trap_128(Lid(7))
    })
}

/// Turns the manager's last request into an answer with other content.
fn answer_with(request: &Packet, status: u16, noise: &[u8]) -> Packet {
    let view = SmpView::parse(&request.mad).unwrap();
    let mut payload = vec![0; 1872];
    for (to, from) in payload.iter_mut().zip(noise.iter().cycle()) {
        *to = *from;
    }
    let mut mad = Vec::new();
    weft_wire::smp::respond(&view, status, &payload, &mut mad);
    Packet {
        mad,
        ..request.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_datagram_makes_the_manager_panic(packets in prop::collection::vec(packets(), 1..20)) {
        let mut manager = Manager::new(settings(), None);
        manager.handle(Tick(0), Input::Tick);
        for (at, packet) in packets.into_iter().enumerate() {
            manager.handle(Tick(at as u64 * 1_000_000), Input::Received(packet));
            while manager.poll().is_some() {}
        }
        prop_assert!(manager.status().outstanding <= settings().requests.outstanding);
    }

    #[test]
    fn no_answer_makes_the_manager_panic_or_run_away(
        noise in prop::collection::vec((any::<u8>(), prop::collection::vec(any::<u8>(), 1..64)), 1..200),
    ) {
        let mut manager = Manager::new(settings(), None);
        let mut now = Tick(0);
        manager.handle(now, Input::Tick);
        for (status, bytes) in &noise {
            let requests = sent(&mut manager);
            let status = if status % 4 == 0 { u16::from(*status) } else { 0 };
            for request in &requests {
                manager.handle(now, Input::Received(answer_with(request, status, bytes)));
            }
            now = manager.deadline().map_or(now, |due| due.max(now));
            manager.handle(now, Input::Tick);
        }
        prop_assert!(manager.status().outstanding <= settings().requests.outstanding);
    }

    #[test]
    fn answers_with_flipped_bits_do_not_harm_for_long(
        flips in prop::collection::vec((0_usize..2048, 0_u8..8), 1..12),
        every in 1_u64..7,
    ) {
        let count = std::cell::Cell::new(0_u64);
        let (mut world, events) = bring_up_with("fattree:8,radix=4", |packet| {
            count.set(count.get() + 1);
            if count.get().is_multiple_of(every) {
                for (at, bit) in &flips {
                    let len = packet.mad.len();
                    if let Some(byte) = packet.mad.get_mut(176 + at % (len - 176).max(1)) {
                        *byte ^= 1 << bit;
                    }
                }
            }
        });
        prop_assert!(matches!(events.last(), Some(Event::SweepEnded(_))));
        // Devices tell the truth again: whatever the manager took from the lies, it finds all of
        // them and their links, once it has lost patience with nodes that only lies spoke of.
        for _ in 0..6 {
            world.forced_sweep();
        }
        let told = world.forced_sweep();
        let links = world.topology.links().count() as u32;
        prop_assert_eq!((told.hfis, told.switches, told.links), (8, 6, links), "{:?}", told);
    }
}

#[test]
fn an_agent_that_does_not_know_aggregates_is_asked_one_by_one() {
    let (_, events) = bring_up_with("one-switch:4", |packet| {
        let view = SmpView::parse(&packet.mad).unwrap();
        // Only the node two hops away is such an old one; it still executed its Sets.
        if view.attribute() == AttributeId::AGGREGATE && view.header.hop_count == 2 {
            packet.mad[5] = 0x0C;
        }
    });
    let report = report(&events);
    assert_eq!((report.hfis, report.active_ports), (4, 8), "{report:?}");
}
