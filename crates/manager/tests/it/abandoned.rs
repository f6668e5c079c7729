//! Sweeps of a fabric in which many devices fall silent at once.

use crate::common::{World, settings};
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortRef};
use weft_manager::{Command, Event, Input, Settings};

/// Sweeps that end without new routes where more than four devices fall silent.
fn cautious() -> Settings {
    let mut settings = settings();
    (
        settings.sweeps.silent_devices_max,
        settings.sweeps.abandoned_max,
    ) = (4, 2);
    settings
}

fn hosts(world: &World) -> Vec<Guid> {
    let hosts = world.topology.hfis().skip(1);
    hosts.map(|(_, host)| host.guid()).collect()
}

fn silence(world: &mut World, nodes: &[Guid], silent: bool) {
    for node in nodes {
        world.control(Control::Silence {
            node: *node,
            silent,
        });
    }
}

/// For each sweep since then what it has left to do first, none where it ended as it should.
fn first_words(world: &World, since: usize) -> Vec<String> {
    let ended = world.events[since..]
        .iter()
        .filter_map(|event| match event {
            Event::SweepEnded(report) => {
                Some(report.unfinished.first().cloned().unwrap_or_default())
            }
            _ => None,
        });
    ended.collect()
}

#[test]
fn routes_stay_for_two_sweeps_when_many_devices_fall_silent_and_change_with_the_third() {
    let mut settings = cautious();
    // A sweep limited to what a trap reports would not ask the hosts.
    settings.sweeps.ignore_traps = true;
    let mut world = World::new("fattree:16,radix=8", settings);
    world.sweep();
    world.run_for(3.0);
    let since = world.events.len();
    let silent = hosts(&world);
    silence(&mut world, &silent, true);
    // A link between switches is lost at the same time.
    let is_switch = |world: &World, end: PortRef| world.topology.switch_index(end.node).is_some();
    let mut links = world.topology.links();
    let (near, _) = links
        .find(|(a, b)| is_switch(&world, *a) && is_switch(&world, *b))
        .unwrap();
    let node = world.topology.node(near.node).unwrap().guid();
    drop(links);
    let before = world.manager.snapshot();
    world.control(Control::LinkDown {
        node,
        port: near.port,
    });
    let command = Command::Sweep;
    world
        .manager
        .handle(world.now, Input::Command { id: 1, command });
    let ended = |world: &World| first_words(world, since);
    let far = weft_fabric::Tick(u64::MAX);
    assert!(world.run(far, |world| ended(world).len() == 2));
    for (sweep, what) in ended(&world).iter().enumerate() {
        let number = format!("abandoned ({} of at most 2)", sweep + 1);
        assert!(what.starts_with(&number), "{what}");
    }
    assert_eq!(
        world.manager.snapshot().linear,
        before.linear,
        "routes stay"
    );
    assert!(world.run(far, |world| ended(world).len() == 3));
    assert!(
        !ended(&world)[2].starts_with("abandoned"),
        "{:?}",
        ended(&world)
    );
    assert_ne!(
        world.manager.snapshot().linear,
        before.linear,
        "the lost link is avoided"
    );
}

#[test]
fn a_few_silent_devices_delay_nothing() {
    let mut world = World::new("fattree:16,radix=8", cautious());
    world.sweep();
    world.run_for(3.0);
    let since = world.events.len();
    let silent = hosts(&world);
    silence(&mut world, &silent[..4], true);
    world.forced_sweep();
    world.run_for(10.0);
    // One after the other, the devices in the fabric that are silent become many.
    silence(&mut world, &silent[4..8], true);
    world.forced_sweep();
    world.run_for(10.0);
    let words = first_words(&world, since);
    assert!(words.len() > 2, "{words:?}");
    assert!(
        words.iter().all(|word| !word.starts_with("abandoned")),
        "{words:?}"
    );
}
