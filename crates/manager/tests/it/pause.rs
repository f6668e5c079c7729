//! Pauses of sweeps.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::common::World;
use crate::flapping::world;
use weft_manager::sm::pause::PAUSE_MAX;
use weft_manager::{Command, CommandError, Event, Input, Output};

fn sweeps(world: &World) -> usize {
    let ended = |event: &&Event| matches!(event, Event::SweepEnded(_));
    world.events.iter().filter(ended).count()
}

#[test]
fn no_sweep_begins_in_a_pause_and_one_ends_it() {
    let mut world = world();
    let before = sweeps(&world);
    let time = Duration::from_secs(3600);
    let pause = world.manager.pause_sweeps(world.now, time).unwrap();
    assert_eq!(pause.until, world.now + time);
    world.run_for(3599.0);
    assert_eq!(sweeps(&world), before, "scheduled sweeps wait");
    assert_eq!(world.manager.status().pause, Some(pause));
    world.run_for(10.0);
    assert_eq!(sweeps(&world), before + 1);
    assert_eq!(world.manager.status().pause, None);
    let resumed = |event: &Event| matches!(event, Event::SweepsResumed { .. });
    assert!(world.events.iter().any(resumed));
}

#[test]
fn a_pause_is_bounded_lengthened_and_ended() {
    let mut world = world();
    let manager = &mut world.manager;
    let first = manager
        .pause_sweeps(world.now, Duration::from_secs(1))
        .unwrap();
    let longer = manager.pause_sweeps(world.now, Duration::MAX).unwrap();
    assert_eq!(longer.since, first.since);
    assert_eq!(longer.until, world.now + PAUSE_MAX);
    let command = Command::Sweep;
    manager.handle(world.now, Input::Command { id: 7, command });
    let outputs: Vec<Output> = std::iter::from_fn(|| manager.poll()).collect();
    let refused = |output: &Output| matches!(output, Output::Reply { id: 7, result } if *result == Err(CommandError::Paused));
    assert!(outputs.iter().any(refused));
    assert!(manager.resume_sweeps(world.now));
    assert!(!manager.resume_sweeps(world.now));
    let before = sweeps(&world);
    world.run_for(5.0);
    assert_eq!(sweeps(&world), before + 1);
}
