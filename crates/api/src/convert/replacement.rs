//! Replacements of HFIs.

use weft_manager::sm::replacements::{Likeness, Offer, Replaced, Replacement};

use crate::time::span;
use crate::v1;

impl From<Offer> for v1::ReplacementOffer {
    fn from(offer: Offer) -> Self {
        Self {
            old_guid: offer.old.0,
            old_name: offer.old_name,
            new: Some(offer.new.into()),
            place: Some(offer.place.into()),
            likeness: v1::ReplacementLikeness::from(offer.likeness).into(),
        }
    }
}

impl From<Likeness> for v1::ReplacementLikeness {
    fn from(likeness: Likeness) -> Self {
        match likeness {
            Likeness::Description => Self::Description,
            Likeness::Type => Self::Type,
            Likeness::File => Self::File,
        }
    }
}

impl From<Replacement> for v1::Replacement {
    fn from(one: Replacement) -> Self {
        Self {
            old_guid: one.old.0,
            new_guid: one.new.0,
            new_name: one.new_name,
            lid: one.lid.0,
            age: Some(span(one.since)),
            reason: one.reason,
            old_is_back: one.old_is_back,
        }
    }
}

impl From<Replaced> for v1::HfiReplaced {
    fn from(replaced: Replaced) -> Self {
        Self {
            old_guid: replaced.old.0,
            new: Some(replaced.new.into()),
            lid_before: replaced.lid_before.0,
            lid: replaced.lid.map_or(0, |lid| lid.0),
            reason: replaced.reason,
        }
    }
}
