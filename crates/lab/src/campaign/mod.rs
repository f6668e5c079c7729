//! Campaigns: many seeds of one kind of trouble, each judged by the oracles.

pub mod bring_up;
pub mod members;
pub mod scenario;

pub use bring_up::{Outcome, run};
pub use members::Membership;
pub use scenario::Scenario;

/// The command that replays a seed.
pub fn replay_command(seed: u64) -> String {
    format!("cargo run --release -p weft-lab -- bring-up --seed {seed} --trace")
}
