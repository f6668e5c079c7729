//! HFIs in the place of others: recognised by where the old one was, and kept once an operator has confirmed it.
//!
//! | module | contents |
//! |---|---|
//! | this one | what is known of replacements |
//! | `places` | which HFI was last seen at which port, and what is offered from that |
//! | `settle` | what a sweep makes of it |
//! | `orders` | orders of an operator |
//!
//! The new HFI gets the LID of the old one, and counts as it wherever the configuration or a topology file names
//! its GUIDs ([`weft_fabric::Node::replaces`]). All of it outlasts a restart.

mod orders;
mod places;
mod settle;

use std::collections::BTreeMap;

use weft_fabric::{Guid, Lid, Tick};
use weft_state::State;

pub use orders::{Replaced, ReplacementError, ReplacementOrder};

use crate::io::LinkEnd;
use places::Places;

/// Most replacements that are kept; more are refused.
pub const REPLACEMENTS_MAX: usize = 4_096;
/// Most bytes of an operator's words.
pub const REASON_MAX: usize = 200;

/// An HFI that an operator has put in the place of another.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Successor {
    /// The new HFI.
    pub new: Guid,
    pub since: Tick,
    /// The operator's words.
    pub reason: String,
}

/// Replacements in force, by the old HFI; more than one may have the same new one.
pub(crate) type Successors = BTreeMap<Guid, Successor>;

/// What is known of replacements.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Replacements {
    pub successors: Successors,
    places: Places,
    /// Those that have been recognised, by the new HFI.
    offers: BTreeMap<Guid, Offer>,
}

/// A replacement that has been recognised, for an operator to confirm.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, State)]
pub struct Offer {
    /// The HFI that is gone.
    pub old: Guid,
    /// Its description, as last seen or as the topology file has it.
    pub old_name: String,
    /// The HFI that is in its place, and its port.
    pub new: LinkEnd,
    /// The port at the other end of the cable.
    pub place: LinkEnd,
    /// Why they are taken for one after the other.
    pub likeness: Likeness,
}

/// What two HFIs have in common besides their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, State)]
pub enum Likeness {
    /// The description.
    Description,
    /// The type, and the new one was nowhere else before.
    Type,
    /// The topology file has the old one there, and lacks the new one.
    File,
}

/// A replacement that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The old HFI.
    pub old: Guid,
    /// The new one.
    pub new: Guid,
    /// Its description, empty where it is not in the fabric.
    pub new_name: String,
    /// LID of the new one, 0 where it has none.
    pub lid: Lid,
    /// How long it has been in force.
    pub since: std::time::Duration,
    /// The operator's words.
    pub reason: String,
    /// The old HFI is in the fabric again: each counts for itself until it is gone.
    pub old_is_back: bool,
}

impl Replacements {
    /// The old HFIs by the new ones, those in `present` left out.
    fn by_new(&self, is_present: impl Fn(Guid) -> bool) -> BTreeMap<Guid, Vec<Guid>> {
        let mut by_new: BTreeMap<Guid, Vec<Guid>> = BTreeMap::new();
        let absent = self.successors.iter().filter(|(old, _)| !is_present(**old));
        for (old, successor) in absent {
            by_new.entry(successor.new).or_default().push(*old);
        }
        by_new
    }
}
