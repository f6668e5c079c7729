//! Orders for ports by operators: what would be cut off, what is kept of them, and the registers that they write.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{World, fabric, far_link, settings};
use weft_emulator::Options;
use weft_fabric::enums::{LinkSpeed, LinkWidth, PhysState, PortState};
use weft_fabric::{Guid, PortNum, PortRef, Tick};
use weft_manager::{
    Command, CommandError, DisabledPort, DisabledState, Input, LinkChange, PortAction, PortNote,
    PortOrder, Reply,
};
use weft_wire::sm::PortInfo;

type End = (Guid, PortNum);

const DISABLE: PortAction = PortAction::Disable;

fn up(spec: &str) -> World {
    let mut world = World::new(spec, settings());
    world.sweep();
    world.run_for(3.0);
    world
}

fn order(world: &mut World, order: PortOrder) -> Result<Reply, CommandError> {
    let now = world.now;
    let command = Command::Port(order);
    world.manager.handle(now, Input::Command { id: 1, command });
    world.run_for(5.0);
    world.replies.pop().unwrap().1
}

fn change(world: &mut World, end: End, action: PortAction) -> Result<Reply, CommandError> {
    order(world, PortOrder::new(end, action))
}

fn end(world: &World, at: PortRef) -> End {
    (world.topology.node(at.node).unwrap().guid(), at.port)
}

/// The ends of all links between a switch that the manager's is not and other switches, and the host ports of it.
fn far_switch(world: &World) -> (Vec<End>, Vec<End>) {
    let (guid, _) = far_link(world);
    let id = world.topology.find(guid).unwrap();
    let ends = world.topology.node(id).unwrap().external_ports();
    let ends = ends.filter_map(|(port, held)| Some((PortRef { node: id, port }, held.peer?)));
    let is_switch =
        |(_, peer): &(PortRef, PortRef)| world.topology.switch_index(peer.node).is_some();
    let (links, hosts): (Vec<_>, Vec<_>) = ends.partition(is_switch);
    let named =
        |ends: Vec<(PortRef, PortRef)>| ends.into_iter().map(|(at, _)| end(world, at)).collect();
    (named(links), named(hosts))
}

/// Which of these a list refuses because something would be cut off.
fn cuts(world: &World, ends: &[End], action: PortAction, force: bool) -> Vec<bool> {
    let may = world.manager.may_change(ends, action, force).unwrap();
    let is_cut = |result: &Result<(), CommandError>| match result {
        Ok(()) => false,
        Err(CommandError::CutsOff { .. }) => true,
        Err(other) => panic!("{other}"),
    };
    may.iter().map(is_cut).collect()
}

#[test]
fn links_that_cut_something_off_only_together_are_refused_together() {
    let mut world = up("fattree:16,radix=8");
    let (links, hosts) = far_switch(&world);
    assert!(links.len() > 1 && !hosts.is_empty());
    for link in &links {
        assert_eq!(cuts(&world, &[*link], DISABLE, false), [false]);
    }
    let with_host: Vec<End> = links
        .iter()
        .copied()
        .chain(hosts.first().copied())
        .collect();
    let mut refused = vec![true; links.len()];
    refused.push(false);
    assert_eq!(cuts(&world, &with_host, DISABLE, false), refused);
    assert_eq!(
        cuts(&world, &with_host, DISABLE, true),
        vec![false; refused.len()]
    );
    assert_eq!(
        cuts(&world, &links[1..], DISABLE, false),
        vec![false; links.len() - 1]
    );
    assert_eq!(
        cuts(&world, &hosts, DISABLE, false),
        vec![false; hosts.len()]
    );
    // One after the other: the last one is refused, and nothing is sent.
    let (last, others) = links.split_last().unwrap();
    for link in others {
        assert_eq!(change(&mut world, *link, DISABLE), Ok(Reply::PortChanged));
    }
    let refused = change(&mut world, *last, DISABLE).unwrap_err();
    let CommandError::CutsOff { count, names, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(
        *count,
        1 + hosts.len(),
        "the switch and its hosts: {refused}"
    );
    let id = world.topology.find(last.0).unwrap();
    let name = world.topology.node(id).unwrap().name().to_string();
    assert!(names.starts_with(&name), "{refused}");
    assert_eq!(world.state(last.0, last.1), PortState::ACTIVE);
    let forced = PortOrder {
        force: true,
        ..PortOrder::new(*last, DISABLE)
    };
    assert_eq!(order(&mut world, forced), Ok(Reply::PortChanged));
    assert_eq!(world.state(last.0, last.1), PortState::DOWN);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A sweep after an order may find the switch over the very link that the next order takes down.
    #[test]
    fn orders_reach_a_switch_at_any_step_of_the_sweeps_between_them(
        links in Just(vec![0, 1, 2, 3]).prop_shuffle(),
        (agent_latency_ns, hop_latency_ns) in (0..40_000u64, 0..2_000u64),
        pauses in vec(prop_oneof![0..100u32, 0..1_000u32, 0..5_000u32], 2),
    ) {
        let options = Options { agent_latency_ns, hop_latency_ns, ..Options::default() };
        let mut world = World::with(fabric("fattree:16,radix=8"), settings(), options, None);
        world.sweep();
        world.run_for(0.3);
        let (ends, _) = far_switch(&world);
        prop_assert_eq!(ends.len(), links.len());
        for (order, link) in links[1..].iter().enumerate() {
            let command = Command::Port(PortOrder::new(ends[*link], DISABLE));
            let id = order as u64;
            world.manager.handle(world.now, Input::Command { id, command });
            prop_assert!(world.run(Tick(u64::MAX), |world| world.replies.len() == order + 1));
            prop_assert_eq!(&world.replies[order].1, &Ok(Reply::PortChanged));
            let micros = pauses.get(order).copied().unwrap_or_default();
            world.run_for(f64::from(micros) / 1e6);
        }
    }
}

#[test]
fn a_switch_is_reached_on_another_way_when_the_one_to_it_is_disabled() {
    let mut world = up("fattree:16,radix=8");
    let (links, _) = far_switch(&world);
    // All but one, each begun as soon as the one before is answered.
    let now = world.now;
    for (id, link) in (0..).zip(&links[1..]) {
        let command = Command::Port(PortOrder::new(*link, DISABLE));
        world.manager.handle(now, Input::Command { id, command });
    }
    let start = world.now;
    let count = links.len() - 1;
    assert!(world.run(Tick(u64::MAX), |world| world.replies.len() == count));
    for (id, reply) in &world.replies {
        assert_eq!(*reply, Ok(Reply::PortChanged), "{id}");
    }
    // Nothing waited for answers on a way that is gone.
    assert!(
        world.now.since(start) < Duration::from_millis(100),
        "{:?}",
        world.now.since(start)
    );
    world.run_for(3.0);
    for link in &links[1..] {
        assert_eq!(world.state(link.0, link.1), PortState::DOWN);
    }
    assert_eq!(world.state(links[0].0, links[0].1), PortState::ACTIVE);
    world.walk_all();
}

#[test]
fn the_managers_own_link_is_left_alone_by_force_too() {
    let mut world = up("fattree:16,radix=8");
    let own = world.own;
    for action in [
        DISABLE,
        PortAction::Bounce,
        PortAction::Link(LinkChange {
            width: Some(LinkWidth::X1),
            speed: None,
        }),
    ] {
        let forced = PortOrder {
            force: true,
            ..PortOrder::new(own, action)
        };
        let refused = order(&mut world, forced).unwrap_err();
        assert!(matches!(refused, CommandError::OwnLink { .. }), "{refused}");
    }
    assert_eq!(world.state(own.0, own.1), PortState::ACTIVE);
    assert_eq!(
        change(&mut world, own, PortAction::Led(true)),
        Ok(Reply::PortChanged)
    );
    assert!(register(&world, own).led_enabled);
}

/// What a port's register holds.
fn register(world: &World, (node, port): End) -> PortInfo {
    let network = world.emulator.network();
    let device = network.device(network.find(node).unwrap()).unwrap();
    *network.port(device.port(port).unwrap()).info()
}

#[test]
fn a_beacon_is_switched_on_and_off_and_told() {
    let mut world = up("fattree:16,radix=8");
    let link = far_link(&world);
    let sweeps = world.reports().len();
    for on in [true, false] {
        assert_eq!(
            change(&mut world, link, PortAction::Led(on)),
            Ok(Reply::PortChanged)
        );
        assert_eq!(register(&world, link).led_enabled, on);
        let snapshot = world.manager.snapshot();
        let node = snapshot.topology.find(link.0).unwrap();
        let at = PortRef { node, port: link.1 };
        assert_eq!(snapshot.topology.port(at).unwrap().info.led_enabled, on);
        assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
    }
    assert_eq!(world.reports().len(), sweeps, "no sweep is needed for it");
}

fn narrow(width: LinkWidth) -> PortAction {
    PortAction::Link(LinkChange {
        width: Some(width),
        speed: None,
    })
}

#[test]
fn a_link_trains_again_with_the_width_that_is_enabled() {
    let mut world = up("fattree:16,radix=8");
    let link = far_link(&world);
    let all = register(&world, link).link_width_enabled;
    assert_eq!(register(&world, link).link_width_active, LinkWidth::X4);
    assert_eq!(
        change(&mut world, link, narrow(LinkWidth::X2)),
        Ok(Reply::PortChanged)
    );
    let held = register(&world, link);
    assert_eq!(held.link_width_enabled, LinkWidth::X2);
    assert_eq!(held.link_width_active, LinkWidth::X2);
    // A sweep leaves it.
    world.forced_sweep();
    assert_eq!(register(&world, link).link_width_enabled, LinkWidth::X2);
    let trained = world.emulator.network().state_changes();
    assert_eq!(
        change(&mut world, link, narrow(LinkWidth::X2)),
        Ok(Reply::PortChanged)
    );
    assert_eq!(
        world.emulator.network().state_changes(),
        trained,
        "it is so already"
    );
    assert_eq!(
        change(&mut world, link, narrow(all)),
        Ok(Reply::PortChanged)
    );
    assert_eq!(register(&world, link).link_width_active, LinkWidth::X4);
    world.assert_all_active();
    for (width, speed, expected) in [
        (
            Some(LinkWidth(0x10)),
            None,
            "cannot have width 5x, it can have width 1x,2x,3x,4x",
        ),
        (None, Some(LinkSpeed::G12_5), "cannot have speed 12.5Gb"),
        (Some(LinkWidth(0)), None, "cannot have width none"),
    ] {
        let action = PortAction::Link(LinkChange { width, speed });
        let order = PortOrder {
            force: true,
            ..PortOrder::new(link, action)
        };
        let refused = self::order(&mut world, order).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn widths_that_the_policy_refuses_count_as_taking_the_link_away() {
    let world = up("fattree:16,radix=8");
    let (links, _) = far_switch(&world);
    let refused = vec![true; links.len()];
    assert_eq!(cuts(&world, &links, narrow(LinkWidth::X1), false), refused);
    let none = vec![false; links.len()];
    assert_eq!(cuts(&world, &links, narrow(LinkWidth::X4), false), none);
    assert_eq!(cuts(&world, &links, PortAction::Bounce, false), none);
}

fn listed(world: &World) -> Vec<DisabledPort> {
    world.manager.disabled_ports()
}

#[test]
fn why_a_port_is_off_outlasts_a_restart_until_it_is_enabled() {
    let mut world = up("fattree:16,radix=8");
    let (links, hosts) = far_switch(&world);
    let (link, host) = (links[0], hosts[0]);
    let note = |reason: &str| PortNote {
        reason: reason.to_owned(),
        author: "root@head1".to_owned(),
        peer: "192.0.2.1".to_owned(),
    };
    for (end, reason) in [(link, "bad cable"), (host, "dead server")] {
        let order = PortOrder {
            note: note(reason),
            ..PortOrder::new(end, DISABLE)
        };
        assert_eq!(self::order(&mut world, order), Ok(Reply::PortChanged));
    }
    let told = |world: &World| -> Vec<(String, String, Option<String>, DisabledState)> {
        let all = listed(world).into_iter().map(|port| {
            let (note, _) = port.noted.unwrap();
            let far = port.far.map(|far| far.name);
            (port.port.name, note.reason, far, port.state)
        });
        all.collect()
    };
    let before = told(&world);
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(
        before.iter().all(|port| port.3 == DisabledState::Off),
        "{before:?}"
    );
    let reasons: BTreeSet<&str> = before.iter().map(|port| &port.1[..]).collect();
    assert_eq!(reasons, BTreeSet::from(["bad cable", "dead server"]));
    assert!(
        before
            .iter()
            .any(|port| port.2.as_ref().unwrap().starts_with("node")),
        "{before:?}"
    );
    let stored = world.persisted.clone().unwrap();
    world.restart(settings(), Some(&stored));
    world.sweep();
    world.run_for(3.0);
    assert_eq!(told(&world), before);
    assert_eq!(world.state(link.0, link.1), PortState::DOWN);
    for end in [link, host] {
        assert_eq!(
            change(&mut world, end, PortAction::Enable),
            Ok(Reply::PortChanged)
        );
    }
    assert_eq!(listed(&world), []);
    world.assert_all_active();
}

#[test]
fn ports_that_others_switch_off_or_on_are_told_as_such() {
    let mut world = up("fattree:16,radix=8");
    let (links, _) = far_switch(&world);
    let (ours, theirs) = (links[0], links[1]);
    assert_eq!(change(&mut world, ours, DISABLE), Ok(Reply::PortChanged));
    let at = listed(&world)[0].port.end;
    for (end, state) in [(at, PhysState::POLLING), (theirs, PhysState::DISABLED)] {
        let network = world.emulator.network_mut();
        let device = network.device(network.find(end.0).unwrap()).unwrap();
        let port = device.port(end.1).unwrap();
        network.request_state(port, PortState::DOWN, state).unwrap();
    }
    world.forced_sweep();
    let states: Vec<(End, DisabledState)> = listed(&world)
        .iter()
        .map(|port| (port.port.end, port.state))
        .collect();
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(
        states.contains(&(at, DisabledState::EnabledElsewhere)),
        "{states:?}"
    );
    assert!(
        states.contains(&(theirs, DisabledState::Found)),
        "{states:?}"
    );
}

#[test]
fn words_that_cannot_be_kept_are_refused() {
    let mut world = up("fattree:16,radix=8");
    let link = far_link(&world);
    for (reason, author) in [
        ("x".repeat(201), String::new()),
        ("a\u{1b}[2J".into(), String::new()),
        (String::new(), "y".repeat(101)),
    ] {
        let note = PortNote {
            reason,
            author,
            peer: String::new(),
        };
        let order = PortOrder {
            note,
            ..PortOrder::new(link, DISABLE)
        };
        let refused = self::order(&mut world, order).unwrap_err();
        assert!(
            matches!(refused, CommandError::Reason | CommandError::Author),
            "{refused}"
        );
    }
    assert_eq!(world.state(link.0, link.1), PortState::ACTIVE);
}
