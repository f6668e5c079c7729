//! Subnet administration beside the manager: its own row of inputs in the same recording.
//!
//! It has a thread of its own, so that the recording does not say what came first at the two of them. It says which
//! fabric the administration had at each of its inputs, by the number of the manager's snapshot; the manager's replay
//! makes that one again before.
//!
//! | module | contents |
//! |---|---|
//! | `input` | inputs, and the rare ones as bytes |
//! | `recorded` | an administration whose inputs are recorded, in place of [`weft_manager::Sa`] |
//! | `frozen` | its state, with which its row begins |
//! | `player` | an administration that is given inputs |

mod frozen;
mod input;
mod player;
mod recorded;

pub use frozen::FrozenSa;
pub use input::{SaCall, SaWhat};
pub(crate) use player::{SaDone, SaPlayer};
pub use recorded::RecordedSa;

#[cfg(test)]
mod tests;
