//! Campaigns: many seeds of one kind of trouble, each judged by the oracles.

pub mod bring_up;
pub mod election;
mod judge;
pub mod maintenance;
pub mod members;
pub mod scenario;

use std::time::Duration;

pub use bring_up::{Outcome, run};
pub use members::Membership;
pub use scenario::Scenario;

/// From one sweep to the next in campaigns: traps may be lost, so this bounds convergence.
const SWEEP_INTERVAL: Duration = Duration::from_secs(10);
/// Events that a failed run shows, from the end.
pub const EVENTS_SHOWN: usize = 60;

/// The command that replays a seed.
pub fn replay_command(campaign: &str, seed: u64) -> String {
    format!("cargo run --release -p weft-lab -- {campaign} --seed {seed} --trace")
}
