//! Campaigns: many seeds of one kind of trouble, each judged by the oracles.

pub mod attacks;
pub mod bring_up;
pub mod election;
pub mod faults;
mod judge;
mod links;
pub mod maintenance;
pub mod members;
mod parts;
mod planning;
mod programs;
pub mod scenario;
mod watch;

use std::fmt;
use std::time::Duration;

use weft_fabric::Tick;
use weft_manager::io::Event;

use crate::digest::Digest;
use crate::oracle::Breach;
use crate::world::World;

pub use bring_up::{Outcome, run};
pub use links::FROM_SEED as LINK_FAULTS_FROM_SEED;
pub use members::Membership;
pub use planning::FROM_SEED as PLANNING_FROM_SEED;
pub use scenario::Scenario;

/// The world of a campaign with one manager.
type DigestedWorld = World<Digest>;

/// From one sweep to the next in campaigns: traps may be lost, so this bounds convergence.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);
/// Events that a failed run shows, from the end.
pub const EVENTS_SHOWN: usize = 60;

/// A line for each broken rule.
fn breach_lines(breaches: &[Breach]) -> String {
    let lines = breaches.iter();
    lines.map(|breach| format!("  BROKEN {breach}\n")).collect()
}

/// A line for something at a moment.
fn dated_line(at: Tick, what: impl fmt::Display) -> String {
    format!("  {:>13} ns  {what}\n", at.0)
}

/// Broken rules, what was done, and the last `max` events of several managers, with their numbers.
fn story(
    breaches: &[Breach],
    steps: &[(Tick, String)],
    events: &[(Tick, usize, Event)],
    max: usize,
) -> String {
    let steps = steps.iter().map(|(at, step)| dated_line(*at, step));
    let shown = events.len().saturating_sub(max);
    let events = events[shown..].iter();
    let events = events
        .map(|(at, number, event)| dated_line(*at, format_args!("manager {number}: {event:?}")));
    breach_lines(breaches) + &steps.chain(events).collect::<String>()
}

/// A line for each of the last `max` events.
fn event_lines(events: &[(Tick, Event)], max: usize) -> String {
    let shown = events.len().saturating_sub(max);
    let lines = events[shown..].iter();
    let line = |(at, event): &(Tick, Event)| dated_line(*at, format_args!("{event:?}"));
    lines.map(line).collect()
}

/// A line on how long plans take, where they take time.
fn planning_line(planning: Duration) -> String {
    match planning {
        Duration::ZERO => String::new(),
        time => format!("  plans take {} ns\n", time.as_nanos()),
    }
}

/// The command that replays a seed.
pub fn replay_command(campaign: &str, seed: u64) -> String {
    format!("cargo run --release -p weft-lab -- {campaign} --seed {seed} --trace")
}
