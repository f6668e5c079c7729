//! What a sweep makes of replacements: which HFI counts as which, and which are offered.

use std::sync::Arc;

use weft_fabric::{Guid, Node};

use super::places::Seen;
use super::{Offer, Replacements};
use crate::io::Event;
use crate::sm::Manager;
use crate::sm::devices::{Device, Devices};
use crate::sm::port_change::End;

/// Most replacements that are offered at once.
const OFFERS_MAX: usize = 4_096;

impl Manager {
    /// Looks for replacements among the nodes that a sweep has found.
    pub(in crate::sm) fn settle_replacements(&mut self) {
        self.devices.name_replaced();
        for offer in self.devices.recognise() {
            self.out.event(Event::ReplacementRecognised(offer));
        }
    }
}

impl Devices {
    /// Tells each node in whose place it is. An HFI that is back counts for itself.
    pub(super) fn name_replaced(&mut self) {
        let by_new = self.replacements.by_new(|guid| self.find(guid).is_some());
        for device in self.iter_mut() {
            let replaced = by_new.get(&device.identity.guid);
            let replaced = replaced.map_or(&[][..], Vec::as_slice);
            let node = device.observed.node.as_mut();
            if let Some(node) = node.filter(|node| node.replaces != replaced) {
                Arc::make_mut(node).replaces = replaced.to_vec();
            }
        }
    }

    /// Notes where HFIs are; returns replacements that are new.
    fn recognise(&mut self) -> Vec<Offer> {
        let mut known = std::mem::take(&mut self.replacements);
        known.places.limit(|guid| self.find(guid).is_some());
        let still = |new: &Guid, offer: &mut Offer| {
            let at = self.find(*new).and_then(|new| self[new].identity.found_by);
            let is_there = at == Some((offer.place.node, offer.place.port));
            is_there && self.find(offer.old).is_none() && !known.successors.contains_key(&offer.old)
        };
        let mut ended = known.offers.clone();
        known.offers.retain(still);
        ended.retain(|new, _| !known.offers.contains_key(new));
        let mut new = Vec::new();
        for device in self.iter() {
            let Some((place, before, now)) = known.note(device) else {
                continue;
            };
            let Some(likeness) = known.places.likeness(place, &before, &now) else {
                continue;
            };
            // One that was replaced before anybody confirmed it stands for the first one.
            let first = ended.get(&before.guid);
            let (old, old_name) = match first {
                Some(first) => (first.old, first.old_name.clone()),
                None => (before.guid, escaped(&before)),
            };
            let is_gone = self.find(old).is_none() && !known.successors.contains_key(&old);
            if is_gone && known.offers.len() < OFFERS_MAX {
                let offer = Offer {
                    old,
                    old_name,
                    new: self.link_end((now.guid, device.end_port())),
                    place: self.link_end(place),
                    likeness,
                };
                known.offers.insert(now.guid, offer.clone());
                new.push(offer);
            }
        }
        self.replacements = known;
        new
    }
}

impl Replacements {
    /// Notes where a device is if it is an HFI; returns the place, the HFI that was there before, and this one.
    fn note(&mut self, device: &Device) -> Option<(End, Seen, Seen)> {
        let node = device.observed.node.as_deref();
        let node = node.filter(|node| !node.is_switch())?;
        let (place, now) = (device.identity.found_by?, seen(node));
        let before = self.places.note(place, now)?;
        Some((place, before, now))
    }

    /// What is offered, by what was noted.
    pub(super) fn offers(&self) -> impl Iterator<Item = &Offer> {
        self.offers.values()
    }

    /// Ends what is offered of two HFIs.
    pub(super) fn withdraw(&mut self, old: Guid, new: Guid) {
        self.offers
            .retain(|at, offer| *at != new && offer.old != old);
    }
}

fn seen(node: &Node) -> Seen {
    Seen {
        guid: node.guid(),
        description: node.description,
        kind: (node.info.vendor_id, node.info.device_id),
    }
}

fn escaped(seen: &Seen) -> String {
    weft_fabric::export::escape_name(seen.description.bytes())
}
