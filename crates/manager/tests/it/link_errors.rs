//! Links with errors: measured by performance management, taken out of routes by the subnet manager.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::{World, far_link, settings};
use crate::flapping::{End, init_reason, unused};
use crate::pm_common::Watched;
use crate::quarantine::{guid, listed, peer, routes_over};
use weft_config::link_rules::{Action, Hosts, LinkRules};
use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::PortNum;
use weft_manager::link_errors::{ErrorMeter, ErrorRule, LinkExcess};
use weft_manager::pm::PmSettings;
use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::isolation::OverReason;
use weft_manager::{
    Event, Input, ManagerSettings, Settings, Spared, Standing, SweepReason, UnusedReason,
};
use weft_wire::enums::{LinkInitReason, PortState, SmState};

const REASON: UnusedReason = UnusedReason::Errors {
    rule: ErrorRule::SymbolErrors,
};
/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";

fn rules() -> LinkRules {
    let mut rules = LinkRules::default();
    rules.symbol_errors.action = Action::Quarantine;
    rules.discards.action = Action::DryRun;
    rules
}

fn with(rules: LinkRules) -> Settings {
    let mut settings = settings();
    settings.sweeps.interval = Duration::from_secs(3600);
    settings.links.errors = Some(rules);
    settings
}

/// A running fabric whose manager has rules.
fn world(fabric: &str, rules: LinkRules) -> World {
    let mut world = World::new(fabric, with(rules));
    world.sweep();
    world.run_for(3.0);
    world.events.clear();
    world
}

fn excess(world: &World, port: End, rule: ErrorRule) -> LinkExcess {
    LinkExcess {
        port,
        far: peer(world, port),
        rule,
        window: Duration::from_secs(720),
        measured: 900,
        limit: 742,
        bits: 74_250_000_000_000,
        is_over: true,
    }
}

/// What performance management tells, and five seconds for what follows.
fn tell(world: &mut World, links: &[(End, ErrorRule)]) {
    let all = links.iter().map(|(end, rule)| excess(world, *end, *rule));
    let all = all.collect();
    world.manager.handle(world.now, Input::LinkErrors(all));
    world.run_for(5.0);
}

fn symbols(world: &mut World, ends: &[End]) {
    let links = ends.iter().map(|end| (*end, ErrorRule::SymbolErrors));
    tell(world, &links.collect::<Vec<_>>());
}

fn standings(world: &World) -> Vec<Standing> {
    let standing = |event: &Event| match event {
        Event::LinkErrors(found) => Some(found.standing),
        _ => None,
    };
    world.events.iter().filter_map(standing).collect()
}

fn over(world: &World) -> Vec<(bool, OverReason)> {
    let over = |event: &Event| match event {
        Event::LinkErrorsOver { was_out, why, .. } => Some((*was_out, *why)),
        _ => None,
    };
    world.events.iter().filter_map(over).collect()
}

/// The manager's own link is down for a while, so that it discovers anew; no other manager was master meanwhile.
#[test]
fn a_master_that_discovers_anew_keeps_links_out_of_use() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    symbols(&mut world, &[link]);
    assert_eq!(unused(&world), [REASON]);
    let own = (guid(&world, "node1 hfi1_0"), PortNum(1));
    let (node, port) = own;
    world.control(Control::LinkDown { node, port });
    world.run_for(10.0);
    assert_ne!(world.manager.role(), SmState::MASTER);
    world.control(Control::LinkUp { node, port });
    world.run_for(30.0);
    assert_eq!(world.manager.role(), SmState::MASTER);
    assert_eq!(unused(&world), [REASON]);
    assert_eq!(routes_over(&world, link), 0);
    assert_eq!(over(&world), []);
}

#[test]
fn a_link_is_left_out_for_its_time_and_then_used_again() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    let ends = [link, peer(&world, link)];
    assert!(ends.iter().all(|end| routes_over(&world, *end) > 0));
    symbols(&mut world, &[link]);
    assert_eq!(standings(&world), [Standing::Isolated]);
    let begun = world.events.iter().find_map(|event| match event {
        Event::SweepStarted { reason, .. } => Some(*reason),
        _ => None,
    });
    assert_eq!(begun, Some(SweepReason::LinkErrors));
    assert_eq!(ends.map(|end| routes_over(&world, end)), [0, 0]);
    assert_eq!(unused(&world), [REASON]);
    world.walk_all();
    world.assert_all_active();
    let [entry] = &world.manager.quarantine(world.now)[..] else {
        panic!("one entry is expected");
    };
    assert_eq!((entry.port.node, entry.port.port), link);
    assert!(entry.left > Some(Duration::from_secs(3590)), "{entry:?}");
    assert!(entry.comment.starts_with("900 symbol errors within 12 min"));
    for end in ends {
        let evidence = world.manager.explain(world.now, end).unwrap();
        assert_eq!(evidence.link, LinkUse::LeftOut(REASON));
        assert!(evidence.ends[0].bar.is_some());
    }
    // It stays out of use though its link is lost and comes back.
    let (node, port) = link;
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    world.control(Control::LinkUp { node, port });
    world.run_for(5.0);
    assert_eq!(world.state(node, port), PortState::INIT);
    assert_eq!(init_reason(&world, link), LinkInitReason::QUARANTINED);

    world.events.clear();
    world.run_for(3500.0);
    assert_eq!(over(&world), []);
    world.run_for(100.0);
    assert_eq!(over(&world), [(true, OverReason::Time)]);
    assert_eq!(listed(&world), []);
    assert!(ends.iter().all(|end| routes_over(&world, *end) > 0));
    world.walk_all();
    world.assert_all_active();
}

#[test]
fn a_release_by_hand_at_either_end_works() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    symbols(&mut world, &[link]);
    let far = peer(&world, link);
    assert!(world.manager.release(world.now, far));
    world.run_for(5.0);
    assert_eq!(over(&world), [(true, OverReason::ByHand)]);
    assert!(routes_over(&world, link) > 0);
    assert!(!world.manager.release(world.now, far), "nothing to release");
    // The errors of the window before do not count again.
    symbols(&mut world, &[link]);
    assert!(routes_over(&world, link) > 0);
}

#[test]
fn the_last_path_the_managers_own_link_and_hosts_stay_in_use() {
    let mut world = world(TREE, rules());
    let edge = guid(&world, "edge2");
    let up = [3, 4].map(|port| (edge, PortNum(port)));
    let own = world.own;
    let last = world.topology.hfis().last().unwrap().1.guid();
    let host = (last, PortNum(1));
    symbols(&mut world, &[up[0], up[1], own, host]);
    let spared = [Spared::LastPath, Spared::OwnLink, Spared::Host].map(Standing::Spared);
    assert_eq!(
        standings(&world),
        [Standing::Isolated, spared[0], spared[1], spared[2]]
    );
    assert_eq!(routes_over(&world, up[0]), 0);
    assert!(routes_over(&world, up[1]) > 0);
    world.walk_all();
    let list = world.manager.quarantine(world.now);
    let entries = list.iter().map(|one| one.errors.as_ref().unwrap().standing);
    assert_eq!(entries.filter(|one| *one == Standing::Isolated).count(), 1);
    assert_eq!(list.len(), 4);
    assert!(!world.manager.release(world.now, up[1]), "it is in use");
    // The link that is left fails: the other one is used all the same.
    let (node, port) = up[1];
    world.control(Control::LinkDown { node, port });
    world.run_for(5.0);
    world.walk_all();
    assert!(routes_over(&world, up[0]) > 0, "nothing else is left");
}

#[test]
fn hosts_are_cut_off_where_the_rules_say_so() {
    let mut rules = rules();
    rules.bounds.hosts = Hosts::Always;
    let mut world = world(TREE, rules);
    let last = world.topology.hfis().last().unwrap().1.guid();
    let port = peer(&world, (last, PortNum(1)));
    let own = world.own;
    symbols(&mut world, &[port, own]);
    let own = Standing::Spared(Spared::OwnLink);
    assert_eq!(standings(&world), [Standing::Isolated, own]);
    assert_eq!(routes_over(&world, port), 0);
    world.run_for(3600.0);
    assert!(routes_over(&world, port) > 0);
    world.walk_all();
}

#[test]
fn a_rule_that_only_tells_changes_nothing() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    tell(&mut world, &[(link, ErrorRule::Discards)]);
    tell(&mut world, &[(link, ErrorRule::Discards)]);
    assert_eq!(standings(&world), [Standing::DryRun]);
    assert!(routes_over(&world, link) > 0);
    assert_eq!(unused_now(&mut world), []);
    assert_eq!(listed(&world), [link]);
    tell(&mut world, &[]);
    assert_eq!(over(&world), [(false, OverReason::Below)]);
    assert_eq!(listed(&world), []);
}

fn unused_now(world: &mut World) -> Vec<UnusedReason> {
    world.forced_sweep();
    unused(world)
}

#[test]
fn without_rules_nothing_happens_and_a_reload_without_them_ends_it() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    symbols(&mut world, &[link]);
    let mut settings = with(rules());
    settings.links.errors = None;
    world.manager.reconfigure(world.now, settings);
    world.run_for(5.0);
    assert_eq!(over(&world), [(true, OverReason::Rules)]);
    assert!(routes_over(&world, link) > 0);
    world.events.clear();
    symbols(&mut world, &[link]);
    assert_eq!(standings(&world), []);
    assert_eq!(listed(&world), []);
}

#[test]
fn it_outlasts_a_restart() {
    let mut world = world("fattree:32,radix=8", rules());
    let link = far_link(&world);
    symbols(&mut world, &[link]);
    world.run_for(600.0);
    let before = world.manager.quarantine(world.now);
    let stored = world.persisted.clone();
    world.restart(with(rules()), stored.as_deref());
    world.sweep();
    world.run_for(3.0);
    assert_eq!(routes_over(&world, link), 0);
    let after = world.manager.quarantine(world.now);
    assert_eq!(after[0].comment, before[0].comment);
    assert!(after[0].since >= before[0].since && after[0].left < before[0].left);
    assert_eq!(over(&world), []);
    world.run_for(3000.0);
    assert_eq!(over(&world), [(true, OverReason::Time)]);
    assert!(routes_over(&world, link) > 0);
}

/// Settings of performance management under rules.
fn measured(rules: LinkRules) -> PmSettings {
    let mut all = ManagerSettings::default();
    all.apply_link_rules(rules).unwrap();
    all.pm.unwrap()
}

#[test]
fn what_devices_count_is_measured() {
    let mut rules = rules();
    rules.link_quality.action = Action::DryRun;
    rules.link_quality.window = Duration::from_secs(15);
    let mut watched = Watched::new("fattree:32,radix=8", measured(rules));
    let mut meter = ErrorMeter::new(rules);
    let topology = watched.sweep().roster.snapshot.topology.clone();
    let switch = |end: weft_fabric::PortRef| topology.node(end.node).unwrap();
    let link = topology
        .links()
        .find(|(a, b)| switch(*a).is_switch() && switch(*b).is_switch());
    let (a, b) = link.unwrap();
    let (near, far) = ((switch(a).guid(), a.port), (switch(b).guid(), b.port));
    let errors = |(node, port): End, symbol_errors, discards| Control::CountErrors {
        node,
        port,
        errors: ErrorCounts {
            symbol_errors,
            discards,
            ..ErrorCounts::default()
        },
    };
    assert_eq!(meter.take(&watched.sweep()), []);
    watched.control(errors(near, 700, 0));
    assert_eq!(meter.take(&watched.sweep()), [], "below the limit");
    // An increase far below the unit of the shipped Resolution is seen.
    watched.control(errors(near, 43, 0));
    let told = meter.take(&watched.sweep());
    let [excess] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((excess.port, excess.far), (near, far));
    assert_eq!((excess.measured, excess.limit), (743, 742));
    // Four lanes of 25.78125 Gb/s for 720 s.
    assert_eq!(excess.bits, 74_250_000_000_000);

    let (node, port) = far;
    watched.control(Control::LinkQuality {
        node,
        port,
        quality: 1,
    });
    watched.control(errors(near, 0, 100_000));
    let told = meter.take(&watched.sweep());
    let told: Vec<ErrorRule> = told.iter().map(|excess| excess.rule).collect();
    assert_eq!(told, [ErrorRule::SymbolErrors, ErrorRule::Discards]);
    let mut fresh = ErrorMeter::new(rules);
    let rules_told: Vec<ErrorRule> = (0..4)
        .flat_map(|_| fresh.take(&watched.sweep()))
        .map(|excess| excess.rule)
        .collect();
    assert!(!rules_told.is_empty());
    assert!(
        rules_told
            .iter()
            .all(|rule| *rule == ErrorRule::LinkQuality)
    );
}
