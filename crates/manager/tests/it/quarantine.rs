//! Ports that an operator puts into quarantine.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::{World, far_link, settings};
use crate::flapping::{End, flap, init_reason, unused, world};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum, PortRef, Tick};
use weft_manager::sm::evidence::{EndEvidence, Evidence, LinkUse, way_round};
use weft_manager::sm::quarantine::{COMMENT_MAX, QuarantineError, QuarantineOrder};
use weft_manager::sm::settings::FlapSettings;
use weft_manager::{CommandError, Event, Settings, UnusedReason};
use weft_wire::enums::{LinkInitReason, PortState};

/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
const BY_HAND: UnusedReason = UnusedReason::QuarantinedByHand;

/// LIDs that a switch's own table leads to a port.
pub(crate) fn routes_over(world: &World, (node, port): End) -> usize {
    let network = world.emulator.network();
    let switch = network.switch(network.find(node).unwrap()).unwrap();
    let lids = (1..0xC000).map(Lid);
    lids.filter(|lid| switch.egress(*lid) == Some(port)).count()
}

/// The other end of a cable.
pub(crate) fn peer(world: &World, (node, port): End) -> End {
    let topology = &world.topology;
    let node = topology.find(node).unwrap();
    let peer = topology.peer(PortRef { node, port }).unwrap();
    (topology.node(peer.node).unwrap().guid(), peer.port)
}

pub(crate) fn guid(world: &World, name: &str) -> Guid {
    let mut nodes = world.topology.nodes().map(|(_, node)| node);
    nodes.find(|node| node.name() == name).unwrap().guid()
}

fn put(world: &mut World, end: End, comment: &str) -> Result<(), QuarantineError> {
    let order = QuarantineOrder {
        comment: comment.to_owned(),
        force: false,
    };
    let done = world.manager.put_in_quarantine(world.now, end, order);
    world.run_for(5.0);
    done
}

pub(crate) fn listed(world: &World) -> Vec<End> {
    let ports = world.manager.quarantine(world.now).into_iter();
    ports.map(|one| (one.port.node, one.port.port)).collect()
}

#[test]
fn a_port_in_quarantine_is_in_no_route_until_it_is_released_by_either_end() {
    for far in [false, true] {
        let mut world = world();
        let link = far_link(&world);
        let ends = [link, peer(&world, link)];
        assert!(ends.iter().all(|end| routes_over(&world, *end) > 0));
        put(&mut world, link, "errors since Monday").unwrap();
        assert_eq!(ends.map(|end| routes_over(&world, end)), [0, 0]);
        world.walk_all();
        world.assert_all_active();
        assert_eq!(unused(&world), [BY_HAND]);
        for end in ends {
            assert_eq!(init_reason(&world, end), LinkInitReason::QUARANTINED);
        }
        let told = world.events.iter().filter_map(|event| match event {
            Event::PortQuarantined { by_hand, .. } => by_hand.clone(),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), ["errors since Monday"]);

        // Neither time nor other thresholds end it.
        world.run_for(3600.0);
        let mut settings = settings();
        settings.links.flapping = None;
        world.manager.reconfigure(world.now, settings);
        world.forced_sweep();
        let list = world.manager.quarantine(world.now);
        assert_eq!(listed(&world), [link]);
        assert_eq!((list[0].reason, list[0].left), (BY_HAND, None));
        assert_eq!(list[0].comment, "errors since Monday");
        assert!(list[0].since > Duration::from_secs(3600));
        assert_eq!(ends.map(|end| routes_over(&world, end)), [0, 0]);

        world.events.clear();
        let by = ends[usize::from(far)];
        assert!(world.manager.release(world.now, by));
        world.run_for(5.0);
        let released = |event: &&Event| matches!(event, Event::PortReleased(_));
        assert_eq!(world.events.iter().filter(released).count(), 1);
        assert_eq!(listed(&world), []);
        assert!(ends.iter().all(|end| routes_over(&world, *end) > 0));
        world.assert_all_active();
        assert!(!world.manager.release(world.now, by), "nothing to release");
    }
}

#[test]
fn a_link_that_comes_up_in_quarantine_stays_in_init() {
    let mut world = world();
    let (node, port) = far_link(&world);
    world.control(Control::LinkDown { node, port });
    world.run_for(2.0);
    put(&mut world, (node, port), "").unwrap();
    world.control(Control::LinkUp { node, port });
    world.run_for(5.0);
    assert_eq!(world.state(node, port), PortState::INIT);
    assert_eq!(unused(&world), [BY_HAND]);
    world.walk_all();
    assert!(world.manager.release(world.now, (node, port)));
    world.run_for(5.0);
    world.assert_all_active();
}

#[test]
fn losses_in_quarantine_do_not_end_it_and_their_own_end_does_not_either() {
    let mut world = world();
    let link = far_link(&world);
    put(&mut world, link, "").unwrap();
    flap(&mut world, link, 30);
    world.events.clear();
    world.run_for(20.0 * 60.0);
    assert_eq!(listed(&world), [link], "the window is over");
    assert_eq!(world.manager.quarantine(world.now)[0].left, None);
    let near = |event: &&Event| match event {
        Event::PortReleased(port) => (port.node, port.port) == link,
        _ => false,
    };
    assert_eq!(world.events.iter().filter(near).count(), 0);
    assert_eq!(world.state(link.0, link.1), PortState::INIT);
}

#[test]
fn the_only_way_to_switches_is_refused_and_used_if_it_becomes_that_later() {
    let mut world = World::new("pgft:2;4,4;1,1;1,1", settings());
    world.sweep();
    let link = far_link(&world);
    let refused = put(&mut world, link, "");
    assert!(matches!(refused, Err(QuarantineError::LastWay { .. })));
    assert_eq!(listed(&world), []);

    let mut world = World::new(TREE, settings());
    world.sweep();
    let edge = guid(&world, "edge2");
    let up = [3, 4].map(|port| (edge, PortNum(port)));
    put(&mut world, up[0], "").unwrap();
    let refused = put(&mut world, up[1], "");
    assert!(matches!(refused, Err(QuarantineError::LastWay { .. })));
    assert_eq!(listed(&world), [up[0]]);
    assert_eq!(routes_over(&world, up[0]), 0);
    world.walk_all();
    let (node, port) = up[1];
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    world.walk_all();
    assert!(routes_over(&world, up[0]) > 0, "nothing else is left");
    world.control(Control::LinkUp { node, port });
    world.run_for(5.0);
    assert_eq!(routes_over(&world, up[0]), 0);
    world.walk_all();
}

#[test]
fn a_hosts_link_has_to_be_forced_and_the_managers_own_cannot_be() {
    let mut world = world();
    let hosts: Vec<Guid> = world.topology.hfis().map(|(_, host)| host.guid()).collect();
    let (own, last) = (hosts[0], *hosts.last().unwrap());
    let end = (last, PortNum(1));
    let port = peer(&world, end);
    for end in [end, port] {
        let refused = put(&mut world, end, "");
        assert!(matches!(refused, Err(QuarantineError::Host { .. })));
    }
    let own = (own, PortNum(1));
    for end in [own, peer(&world, own)] {
        let force = QuarantineOrder {
            force: true,
            ..QuarantineOrder::default()
        };
        let refused = world.manager.put_in_quarantine(world.now, end, force);
        let own = |error| {
            matches!(
                error,
                QuarantineError::Command(CommandError::OwnLink { .. })
            )
        };
        assert!(refused.is_err_and(own));
    }
    assert_eq!(listed(&world), []);
    assert!(routes_over(&world, port) > 0);
    let force = QuarantineOrder {
        force: true,
        ..QuarantineOrder::default()
    };
    let done = world.manager.put_in_quarantine(world.now, port, force);
    assert_eq!(done, Ok(()));
    world.run_for(5.0);
    assert_eq!(listed(&world), [port]);
    assert_eq!(routes_over(&world, port), 0, "cut off");
    assert!(world.manager.release(world.now, end));
    world.run_for(5.0);
    world.walk_all();
}

#[test]
fn what_is_no_link_and_no_reason_is_refused() {
    let mut world = World::new(TREE, settings());
    world.sweep();
    let (node, port) = (guid(&world, "core1"), PortNum(1));
    for (end, comment, expected) in [
        ((Guid(1), port), "", "no node 0x"),
        ((node, PortNum(200)), "", "has no port 200"),
        ((node, PortNum(0)), "", "has no port 0"),
        ((node, port), "a\u{1b}[2J", "has control characters"),
        ((node, PortNum(4)), "", "has no link"),
        (
            (node, port),
            &"x".repeat(COMMENT_MAX + 1),
            "longer than 200",
        ),
    ] {
        let said = put(&mut world, end, comment).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(listed(&world), []);
}

/// When a port's link was lost, by the test's clock.
fn lost_at(world: &World, evidence: &EndEvidence) -> Vec<Tick> {
    let at = |age: &Duration| Tick(world.now.0 - age.as_nanos() as u64);
    evidence.losses.iter().map(at).collect()
}

#[test]
fn the_evidence_has_every_loss_with_its_time_and_what_routes_do() {
    let mut world = world();
    let link = far_link(&world);
    let other = peer(&world, link);
    let evidence = world.manager.explain(world.now, link).unwrap();
    let ends = |evidence: &Evidence| -> Vec<End> {
        let ends = evidence.ends.iter();
        ends.map(|end| (end.port.node, end.port.port)).collect()
    };
    assert_eq!(ends(&evidence), [link, other]);
    assert!(
        evidence
            .ends
            .iter()
            .all(|end| end.losses.is_empty() && end.bar.is_none())
    );
    assert_eq!(evidence.link, LinkUse::Used);
    let FlapSettings { window, high, low } = evidence.thresholds.unwrap();
    assert_eq!((window, high, low), (Duration::from_secs(900), 25, 0));
    let direct = way_round(&world.manager.snapshot(), link);
    assert_eq!(direct.len(), 1, "over the link itself: {direct:?}");

    let mut downs = Vec::new();
    for _ in 0..30 {
        downs.push(world.now);
        flap(&mut world, link, 1);
        world.run_for(4.0);
    }
    let evidence = world.manager.explain(world.now, link).unwrap();
    for end in &evidence.ends {
        let seen = lost_at(&world, end);
        assert_eq!(seen.len(), downs.len());
        for (seen, down) in seen.iter().zip(&downs) {
            assert!(
                seen.since(*down) < Duration::from_millis(500),
                "{seen:?} {down:?}"
            );
        }
        let left = end.bar.as_ref().unwrap().left.unwrap();
        let last = *seen.last().unwrap();
        assert_eq!(
            world.now + left,
            last + window,
            "a window after the last loss"
        );
    }
    let losses = UnusedReason::Quarantined { losses: 25 };
    assert_eq!(evidence.link, LinkUse::LeftOut(losses));
    let round = way_round(&world.manager.snapshot(), link);
    let leaves = |end: End| round.iter().any(|hop| (hop.node, hop.port) == end);
    assert!(round.len() > 1 && !leaves(link), "{round:?}");
    assert_eq!(round[0].node, link.0);

    // Losses older than the window do not count any more.
    world.run_for(901.0);
    let evidence = world.manager.explain(world.now, link).unwrap();
    assert!(
        evidence
            .ends
            .iter()
            .all(|end| end.losses.is_empty() && end.bar.is_none())
    );
    assert_eq!(evidence.link, LinkUse::Used);
}

#[test]
fn the_evidence_tells_links_that_are_down_needed_or_soon_left_out() {
    let mut world = World::new(TREE, settings());
    world.sweep();
    let edge = guid(&world, "edge2");
    let up = [3, 4].map(|port| (edge, PortNum(port)));
    let use_of = |world: &World, end| world.manager.explain(world.now, end).unwrap().link;
    let order = QuarantineOrder::default();
    let done = world.manager.put_in_quarantine(world.now, up[0], order);
    assert_eq!(done, Ok(()));
    assert_eq!(use_of(&world, up[0]), LinkUse::UsedUntilSweep);
    world.run_for(5.0);
    assert_eq!(
        use_of(&world, peer(&world, up[0])),
        LinkUse::LeftOut(BY_HAND)
    );
    let (node, port) = up[1];
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    assert_eq!(use_of(&world, up[1]), LinkUse::Down);
    assert_eq!(use_of(&world, up[0]), LinkUse::UsedAllTheSame);
    let refused = world.manager.explain(world.now, (node, PortNum(99)));
    assert!(matches!(refused, Err(CommandError::NoPort { .. })));
}

/// Settings with which a third loss puts a port into quarantine.
fn third_loss() -> Settings {
    let mut settings = settings();
    settings.links.flapping = Some(FlapSettings {
        high: 3,
        ..FlapSettings::default()
    });
    settings
}

/// A fabric with one link in quarantine by hand and another one that went down too often, after a minute without a
/// manager; the manager has started again and not swept yet.
fn restarted(settings: Settings) -> (World, [End; 2]) {
    let mut world = World::new("pgft:2;4,4;1,4;1,1;radix=8", third_loss());
    world.sweep();
    let edge = guid(&world, "edge2");
    let links = [5, 6].map(|port| (edge, PortNum(port)));
    put(&mut world, links[0], "bad cable").unwrap();
    for _ in 0..3 {
        flap(&mut world, links[1], 1);
        world.run_for(4.0);
    }
    assert_eq!(links.map(|link| routes_over(&world, link)), [0, 0]);
    let stored = world.persisted.clone();
    world.now = world.now + Duration::from_secs(60);
    world.restart(settings, stored.as_deref());
    (world, links)
}

#[test]
fn quarantine_outlasts_a_restart_with_its_reason_and_the_time_that_is_left() {
    let (mut world, links) = restarted(third_loss());
    let ends = [links[0], links[1], peer(&world, links[1])];
    // The switch has lost its tables: all that is in them is written by the first sweep.
    for control in [
        Control::NodeDown { node: links[0].0 },
        Control::NodeUp { node: links[0].0 },
    ] {
        world.control(control);
    }
    assert_eq!(links.map(|link| routes_over(&world, link)), [0, 0]);
    world.sweep();
    assert!(routes_over(&world, (links[0].0, PortNum(7))) > 0);
    for link in links {
        assert_eq!(routes_over(&world, link), 0, "{link:?}");
        assert_eq!(routes_over(&world, peer(&world, link)), 0, "{link:?}");
    }
    assert_eq!(unused(&world).len(), 2);
    world.run_for(5.0);
    world.walk_all();

    let list = world.manager.quarantine(world.now);
    let mut names: Vec<End> = ends.to_vec();
    names.sort_unstable();
    assert_eq!(listed(&world), names);
    let by_hand = list.iter().find(|one| one.reason == BY_HAND).unwrap();
    assert_eq!(
        (by_hand.comment.as_str(), by_hand.left),
        ("bad cable", None)
    );
    assert!(by_hand.since > Duration::from_secs(60));
    let evidence = world.manager.explain(world.now, links[1]).unwrap();
    let lost = lost_at(&world, &evidence.ends[0]);
    assert_eq!(lost.len(), 3);
    let end = lost[2] + Duration::from_secs(900);
    let left = evidence.ends[0].bar.as_ref().unwrap().left.unwrap();
    assert_eq!(world.now + left, end);

    let before_it_ends = end.since(world.now) - Duration::from_secs(1);
    world.run_for(before_it_ends.as_secs_f64());
    assert_eq!(routes_over(&world, links[1]), 0);
    world.run_for(5.0);
    assert!(routes_over(&world, links[1]) > 0, "its time is over");
    assert_eq!(listed(&world), [links[0]]);
    assert!(world.manager.release(world.now, links[0]));
    world.run_for(5.0);
    assert!(routes_over(&world, links[0]) > 0);
    let stored = world.persisted.clone();
    world.restart(third_loss(), stored.as_deref());
    world.sweep();
    assert_eq!(listed(&world), [], "a release outlasts a restart too");
}

#[test]
fn what_went_down_too_often_is_forgotten_where_losses_do_not_count_any_more() {
    let mut settings = third_loss();
    settings.links.flapping = None;
    let (mut world, links) = restarted(settings);
    world.sweep();
    world.run_for(5.0);
    assert_eq!(listed(&world), [links[0]]);
    assert_eq!(routes_over(&world, links[0]), 0);
    assert!(routes_over(&world, links[1]) > 0);
}
