//! Subnet administration beside the manager: its own row of inputs in the same recording.
//!
//! It has a thread of its own, and chunks of its own in the file; a replay takes the inputs of both in the order of their times,
//! which are of one clock. The recording says which fabric the administration had at each of its inputs, by the number of
//! the manager's snapshot; the manager's replay makes that one again before.
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
pub use input::{SaCall, SaRest, SaWhat};
pub(crate) use player::{SaDone, SaPlayer, SaStart};
pub use recorded::RecordedSa;

#[cfg(test)]
mod tests;
