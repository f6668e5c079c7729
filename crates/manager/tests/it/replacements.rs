//! HFIs in the place of others.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_dataplane::PortTable;
use weft_emulator::io::Control;
use weft_fabric::import::import_topology;
use weft_fabric::intended::{Look, Rules};
use weft_fabric::{Guid, Lid, PortNum};
use weft_manager::sm::quarantine::QuarantineOrder;
use weft_manager::sm::replacements::{Likeness, Replaced, ReplacementError, ReplacementOrder};
use weft_manager::sm::settings::{Members, Partition, Selector, TopologySettings};
use weft_manager::{Event, Settings, UnusedReason};

use crate::common::{World, fabric, settings};
use crate::flapping::unused;
use crate::unintended::{faults, file};

/// Two edge switches with two hosts each, and a link to each of two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
const OLD: Guid = Guid(0x0011_7501_0100_0003);
const NEW: Guid = Guid(0x0011_7501_0100_00ff);
const NEWER: Guid = Guid(0x0011_7501_0100_00fe);

fn up(settings: Settings) -> World {
    let mut world = World::new(TREE, settings);
    world.sweep();
    world.run_for(5.0);
    world
}

/// Puts one HFI in the place of another, and lets the manager find it.
fn swap(world: &mut World, node: Guid, new: Guid) {
    world.events.clear();
    world.control(Control::Replace { node, new });
    world.topology = Arc::clone(world.emulator.network().topology());
    world.run_for(5.0);
    world.forced_sweep();
}

fn lid(world: &World, guid: Guid) -> Lid {
    let topology = &world.manager.snapshot().topology;
    let node = topology.node(topology.find(guid).unwrap()).unwrap();
    node.port(PortNum(1)).unwrap().info.lid
}

/// The LID that the emulated HFI itself holds.
fn held(world: &World, guid: Guid) -> Lid {
    let network = world.emulator.network();
    let device = network.device(network.find(guid).unwrap()).unwrap();
    network.port(device.port(PortNum(1)).unwrap()).info().lid
}

fn order(old: Guid, new: Option<Guid>) -> ReplacementOrder {
    ReplacementOrder {
        old,
        new,
        reason: "RMA 4711".to_owned(),
        validate_only: false,
    }
}

fn replace(world: &mut World, old: Guid) -> Result<Replaced, ReplacementError> {
    let replaced = world.manager.replace(world.now, order(old, None));
    world.run_for(5.0);
    world.forced_sweep();
    replaced
}

fn offers(world: &World) -> Vec<(Guid, Guid, Likeness)> {
    let offers = world.manager.replacement_offers().into_iter();
    offers
        .map(|offer| (offer.old, offer.new.node, offer.likeness))
        .collect()
}

#[test]
fn a_new_hfi_is_recognised_and_gets_the_lid_once_that_is_confirmed() {
    let mut world = up(settings());
    let old_lid = lid(&world, OLD);
    assert_eq!(offers(&world), []);
    swap(&mut world, OLD, NEW);
    let new_lid = lid(&world, NEW);
    assert_ne!(new_lid, old_lid, "not before it is confirmed");
    assert_eq!(offers(&world), [(OLD, NEW, Likeness::Description)]);
    let told = world.events.iter().filter_map(|event| match event {
        Event::ReplacementRecognised(offer) => Some((offer.old, offer.old_name.as_str())),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(OLD, "node3 hfi1_0")]);

    let checked = ReplacementOrder {
        validate_only: true,
        ..order(OLD, None)
    };
    let checked = world.manager.replace(world.now, checked).unwrap();
    assert_eq!((checked.lid_before, checked.lid), (new_lid, Some(old_lid)));
    assert_eq!(world.manager.replacements(world.now), []);

    assert_eq!(replace(&mut world, OLD), Ok(checked));
    assert_eq!((lid(&world, NEW), held(&world, NEW)), (old_lid, old_lid));
    assert_eq!(offers(&world), []);
    world.assert_all_active();
    world.walk_all();
    let [in_force] = &world.manager.replacements(world.now)[..] else {
        panic!("one");
    };
    assert_eq!((in_force.old, in_force.new), (OLD, NEW));
    assert_eq!(
        (in_force.lid, in_force.reason.as_str()),
        (old_lid, "RMA 4711")
    );

    let stored = world.persisted.clone();
    world.restart(settings(), stored.as_deref());
    world.sweep();
    assert_eq!(lid(&world, NEW), old_lid);
    assert_eq!(world.manager.replacements(world.now).len(), 1);

    let ended = world.manager.end_replacement(world.now, NEW);
    assert_eq!(ended, Ok(vec![OLD]));
    world.run_for(5.0);
    world.forced_sweep();
    assert_eq!(world.manager.replacements(world.now), []);
    assert_eq!(lid(&world, NEW), old_lid, "the LID stays");
    let none = world.manager.end_replacement(world.now, NEW);
    assert_eq!(none, Err(ReplacementError::None { guid: NEW }));
}

#[test]
fn what_replaces_nothing_is_not_offered() {
    let mut world = up(settings());
    let port = PortNum(1);
    // Out and in again.
    world.control(Control::LinkDown { node: OLD, port });
    world.run_for(5.0);
    world.control(Control::LinkUp { node: OLD, port });
    world.run_for(5.0);
    world.forced_sweep();
    assert_eq!(offers(&world), []);
    // A new one that is gone again, and the old one back.
    swap(&mut world, OLD, NEW);
    assert_eq!(offers(&world).len(), 1);
    swap(&mut world, NEW, OLD);
    assert_eq!(offers(&world), []);
}

#[test]
fn one_that_is_replaced_before_it_was_confirmed_stands_for_the_first() {
    let mut world = up(settings());
    let old_lid = lid(&world, OLD);
    swap(&mut world, OLD, NEW);
    swap(&mut world, NEW, NEWER);
    assert_eq!(offers(&world), [(OLD, NEWER, Likeness::Description)]);
    replace(&mut world, OLD).unwrap();
    assert_eq!(lid(&world, NEWER), old_lid);
}

#[test]
fn a_replacement_is_replaced_itself() {
    let mut world = up(settings());
    let old_lid = lid(&world, OLD);
    swap(&mut world, OLD, NEW);
    replace(&mut world, OLD).unwrap();
    swap(&mut world, NEW, NEWER);
    assert_eq!(offers(&world), [(NEW, NEWER, Likeness::Description)]);
    replace(&mut world, NEW).unwrap();
    assert_eq!(lid(&world, NEWER), old_lid);
    let snapshot = world.manager.snapshot();
    let topology = &snapshot.topology;
    let node = topology.node(topology.find(NEWER).unwrap()).unwrap();
    assert!(node.counts_as(OLD) && node.counts_as(NEW) && node.counts_as(NEWER));
}

/// The card is put back into its host: the second one stands for nothing but what the first does.
#[test]
fn one_that_is_put_back_replaces_its_successor_and_not_itself() {
    let mut world = up(settings());
    swap(&mut world, OLD, NEW);
    replace(&mut world, OLD).unwrap();
    swap(&mut world, NEW, OLD);
    replace(&mut world, NEW).unwrap();
    let all = world.manager.replacements(world.now);
    let pairs: Vec<_> = all.iter().map(|one| (one.old, one.new)).collect();
    assert_eq!(pairs, [(NEW, OLD)]);
    // It can be replaced again.
    swap(&mut world, OLD, NEWER);
    replace(&mut world, OLD).unwrap();
}

#[test]
fn an_old_one_that_is_back_counts_for_itself() {
    let mut world = up(settings());
    swap(&mut world, OLD, NEW);
    replace(&mut world, OLD).unwrap();
    let kept = lid(&world, NEW);
    // In another host.
    swap(&mut world, Guid(0x0011_7501_0100_0004), OLD);
    assert_ne!(lid(&world, OLD), kept);
    assert_eq!(lid(&world, NEW), kept);
    assert!(world.manager.replacements(world.now)[0].old_is_back);
    let snapshot = world.manager.snapshot();
    let topology = &snapshot.topology;
    let node = topology.node(topology.find(NEW).unwrap()).unwrap();
    assert!(!node.counts_as(OLD));
    world.assert_all_active();
}

#[test]
fn wrong_orders_are_refused_and_change_nothing() {
    let mut world = up(settings());
    let there = Guid(0x0011_7501_0100_0002);
    let switch = world.topology.switches()[0];
    let switch = world.topology.node(switch).unwrap().guid();
    swap(&mut world, OLD, NEW);
    let mut refused = |order: ReplacementOrder| {
        let persisted = world.persisted.clone();
        let error = world.manager.replace(world.now, order).unwrap_err();
        assert_eq!(world.persisted, persisted);
        error
    };
    let long = ReplacementOrder {
        reason: "x".repeat(201),
        ..order(OLD, None)
    };
    let hidden = ReplacementOrder {
        reason: "\u{1b}[2J".to_owned(),
        ..order(OLD, None)
    };
    assert_eq!(refused(long), ReplacementError::Reason);
    assert_eq!(refused(hidden), ReplacementError::Reason);
    let unknown = ReplacementError::Unknown { old: NEWER };
    assert_eq!(refused(order(NEWER, Some(NEW))), unknown);
    let none = ReplacementError::NoOffer { old: NEWER };
    assert_eq!(refused(order(NEWER, None)), none);
    let is_switch = ReplacementError::Switch { new: switch };
    assert_eq!(refused(order(OLD, Some(switch))), is_switch);
    let still = refused(order(there, Some(NEW)));
    assert!(matches!(still, ReplacementError::StillThere { .. }));
    let missing = refused(order(OLD, Some(NEWER)));
    assert!(missing.to_string().contains("no node"), "{missing}");
    replace(&mut world, OLD).unwrap();
    let again = world.manager.replace(world.now, order(OLD, None));
    assert_eq!(again, Err(ReplacementError::Already { old: OLD, new: NEW }));
}

/// The keys that the emulated HFI holds.
fn keys(world: &World, guid: Guid) -> Vec<u16> {
    let network = world.emulator.network();
    let device = network.device(network.find(guid).unwrap()).unwrap();
    let port = network.port(device.port(PortNum(1)).unwrap());
    let keys = port.table(PortTable::PKeys).chunks_exact(2);
    let keys = keys.map(|key| u16::from_be_bytes([key[0], key[1]]));
    keys.filter(|key| *key != 0).collect()
}

#[test]
fn a_virtual_fabric_that_names_the_old_one_has_the_new_one_as_its_member() {
    let mut settings = settings();
    settings.partitions.push(Partition {
        key: 5,
        secured: true,
        full: Members::of([Selector::NodeGuid(OLD)]),
        limited: Members::default(),
    });
    let mut world = up(settings);
    assert!(keys(&world, OLD).contains(&0x8005));
    swap(&mut world, OLD, NEW);
    assert!(!keys(&world, NEW).contains(&0x8005), "not before");
    replace(&mut world, OLD).unwrap();
    assert!(keys(&world, NEW).contains(&0x8005));
    world.manager.end_replacement(world.now, OLD).unwrap();
    world.run_for(5.0);
    world.forced_sweep();
    assert!(!keys(&world, NEW).contains(&0x8005), "not any more");
}

#[test]
fn a_quarantine_by_hand_goes_over_to_the_new_one() {
    let mut world = up(settings());
    let quarantine = QuarantineOrder {
        comment: "bad cable".to_owned(),
        force: true,
    };
    let end = (OLD, PortNum(1));
    let put = world.manager.put_in_quarantine(world.now, end, quarantine);
    assert_eq!(put, Ok(()));
    world.run_for(5.0);
    swap(&mut world, OLD, NEW);
    assert_eq!(unused(&world), [], "it is another HFI");
    replace(&mut world, OLD).unwrap();
    assert_eq!(unused(&world), [UnusedReason::QuarantinedByHand]);
    let listed = world.manager.quarantine(world.now);
    assert_eq!(listed[0].port.node, NEW);
    assert_eq!(listed[0].comment, "bad cable");
    assert!(world.manager.release(world.now, (NEW, PortNum(1))));
}

fn compared(look: Look) -> Settings {
    let text = file(&fabric(TREE));
    Settings {
        topology: Some(TopologySettings {
            intended: Arc::new(import_topology(text.as_bytes()).unwrap()),
            rules: Rules::all(look),
            messages_max: 0,
        }),
        ..settings()
    }
}

#[test]
fn the_topology_file_s_hfi_is_the_new_one_from_then_on() {
    let mut world = up(compared(Look::Enforce));
    swap(&mut world, OLD, NEW);
    let told = faults(&world);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].replaces, Some(OLD));
    let text = told[0].to_string();
    assert!(text.ends_with(&format!("weft replace {OLD}")), "{text}");
    assert!(matches!(
        unused(&world)[..],
        [UnusedReason::Unintended { .. }]
    ));
    replace(&mut world, OLD).unwrap();
    assert_eq!(unused(&world), []);
    world.assert_all_active();
    world.walk_all();
}

/// After a restart only the file tells where the old one was.
#[test]
fn the_topology_file_recognises_one_that_was_replaced_while_no_manager_ran() {
    let mut world = up(compared(Look::Warn));
    let old_lid = lid(&world, OLD);
    let stored = world.persisted.clone();
    world.control(Control::Replace {
        node: OLD,
        new: NEW,
    });
    world.restart(compared(Look::Warn), stored.as_deref());
    world.sweep();
    world.run_for(5.0);
    assert_eq!(offers(&world), [(OLD, NEW, Likeness::File)]);
    replace(&mut world, OLD).unwrap();
    assert_eq!(lid(&world, NEW), old_lid);
    assert_eq!(offers(&world), []);
}
