//! Which HFI was last seen at which port.

use std::collections::BTreeMap;

use weft_fabric::Guid;
use weft_state::State;
use weft_wire::sm::NodeDescription;

use super::Likeness;
use crate::sm::port_change::End;

/// Most places that are remembered; beyond that those are forgotten whose HFI is gone.
const PLACES_MAX: usize = 131_072;

/// An HFI as it was last seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct Seen {
    pub(super) guid: Guid,
    pub(super) description: NodeDescription,
    /// VendorID and DeviceID.
    pub(super) kind: (u32, u16),
}

/// The last HFI at each port before one.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Places(BTreeMap<End, Seen>);

impl Places {
    /// Notes an HFI at a port; returns the one that was there before if it was another.
    pub(super) fn note(&mut self, place: End, seen: Seen) -> Option<Seen> {
        let held = self.0.get_mut(&place);
        match held {
            Some(held) if *held == seen => None,
            Some(held) => Some(std::mem::replace(held, seen)).filter(|held| held.guid != seen.guid),
            None => {
                self.0.insert(place, seen);
                None
            }
        }
    }

    /// What an HFI that is at a port now has in common with the one that was there, where that makes them one after
    /// the other.
    pub(super) fn likeness(&self, place: End, before: &Seen, now: &Seen) -> Option<Likeness> {
        if before.description.bytes() == now.description.bytes() {
            return Some(Likeness::Description);
        }
        let mut elsewhere = self.0.iter();
        let was_elsewhere = elsewhere.any(|(at, seen)| *at != place && seen.guid == now.guid);
        (before.kind == now.kind && !was_elsewhere).then_some(Likeness::Type)
    }

    /// Whether an HFI was the last one at some port.
    pub(super) fn contains(&self, guid: Guid) -> bool {
        self.0.values().any(|seen| seen.guid == guid)
    }

    /// Keeps within [`PLACES_MAX`].
    pub(super) fn limit(&mut self, is_present: impl Fn(Guid) -> bool) {
        if self.0.len() > PLACES_MAX {
            self.0.retain(|_, seen| is_present(seen.guid));
        }
    }
}
