//! Orders of an operator about replacements.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::text::is_hidden;
use weft_fabric::{Guid, Lid, PortNum, Tick};

use super::{Likeness, Offer, REASON_MAX, REPLACEMENTS_MAX, Replacement, Replacements, Successor};
use crate::io::{CommandError, Event, Input, LinkEnd, SweepReason};
use crate::sm::Manager;
use crate::sm::disabled;
use crate::sm::port_change::End;

/// An operator's order to put an HFI in the place of another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacementOrder {
    /// The HFI that is gone, by NodeGUID.
    pub old: Guid,
    /// The one in its place; none for the one that is offered.
    pub new: Option<Guid>,
    /// Why, in the operator's words, at most [`REASON_MAX`] bytes; may be empty.
    pub reason: String,
    /// Only says what would be done.
    pub validate_only: bool,
}

/// What an order does.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Replaced {
    /// The HFI that is gone.
    pub old: Guid,
    /// The one in its place, and its port.
    pub new: LinkEnd,
    /// LID of the new one so far, 0 for none.
    pub lid_before: Lid,
    /// The LID that it gets, that of the old one; none where none is remembered, so that it keeps its own.
    pub lid: Option<Lid>,
    /// The operator's words.
    pub reason: String,
}

/// Why an order is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplacementError {
    /// Another manager runs the fabric, or there is no such node.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The new node is a switch.
    #[error("node {new} is a switch; only HFIs are replaced")]
    Switch {
        /// The node.
        new: Guid,
    },
    /// The old HFI is still there.
    #[error("{old} is in the fabric: what is there is not replaced")]
    StillThere {
        /// The old HFI.
        old: LinkEnd,
    },
    /// Nothing is known of the old HFI.
    #[error(
        "nothing is known of an HFI {old}: no LID is kept for it, it was seen at no port, and the topology file lacks it"
    )]
    Unknown {
        /// The GUID that was given.
        old: Guid,
    },
    /// No HFI has been recognised in its place.
    #[error(
        "no HFI is recognised in the place of {old}; `weft replace list` shows those that are, and \
         `weft replace {old} NEW` names one"
    )]
    NoOffer {
        /// The old HFI.
        old: Guid,
    },
    /// The old HFI has been replaced already.
    #[error("{old} is replaced by {new} already; `weft replace remove {old}` ends that")]
    Already {
        /// The old HFI.
        old: Guid,
        /// The new one.
        new: Guid,
    },
    /// The new HFI is in the place of another one already.
    #[error("{new} replaces {other} already; `weft replace remove {new}` ends that")]
    Taken {
        /// The new HFI.
        new: Guid,
        /// The other one.
        other: Guid,
    },
    /// The new HFI has a name of its own in the topology file.
    #[error("the topology file has {new} itself: it replaces none")]
    Intended {
        /// The new HFI.
        new: Guid,
    },
    /// There is no such replacement.
    #[error("{guid} neither replaces an HFI nor is replaced; `weft replace list` shows what is")]
    None {
        /// The GUID that was given.
        guid: Guid,
    },
    /// The operator's words are too long, or have characters that act on a terminal.
    #[error("the reason is longer than {REASON_MAX} bytes, or has control characters")]
    Reason,
    /// Too many.
    #[error(
        "{REPLACEMENTS_MAX} replacements are kept already, which is the most; remove some first"
    )]
    Many,
}

impl Manager {
    /// The replacements that have been recognised and not confirmed.
    pub fn replacement_offers(&self) -> Vec<Offer> {
        let noted = self.devices.replacements.offers().cloned();
        let by_file = self.planning.plan.routes.unintended.replaced();
        let mut offers: Vec<Offer> = noted.collect();
        for (old, old_name, new, place) in by_file {
            let is_known = offers.iter().any(|offer| offer.new.node == new.node);
            let is_done = self.devices.replacements.successors.contains_key(&old);
            if !is_known && !is_done && self.devices.find(old).is_none() {
                offers.push(Offer {
                    old,
                    old_name: old_name.to_owned(),
                    new: new.clone(),
                    place: place.clone(),
                    likeness: Likeness::File,
                });
            }
        }
        offers.sort_by_key(|offer| (offer.place.node, offer.place.port));
        offers
    }

    /// The replacements in force.
    pub fn replacements(&self, now: Tick) -> Vec<Replacement> {
        let all = self.devices.replacements.successors.iter();
        let all = all.map(|(old, successor)| {
            let new = self
                .devices
                .find(successor.new)
                .map(|new| &self.devices[new]);
            let node = new.and_then(|new| new.observed.node.as_deref());
            let port = new.and_then(|new| new.observed.port(new.end_port()));
            Replacement {
                old: *old,
                new: successor.new,
                new_name: node.map(|node| node.name()).unwrap_or_default(),
                lid: port.map_or(Lid(0), |port| port.lid),
                since: now.since(successor.since),
                reason: successor.reason.clone(),
                old_is_back: self.devices.find(*old).is_some(),
            }
        });
        all.collect()
    }

    /// Puts an HFI in the place of another until [`Self::end_replacement`]: a sweep gives it the LID, and from then on
    /// it counts as the old one. What was ordered of the old one's port, such as a quarantine, goes over to it.
    ///
    /// # Errors
    /// [`ReplacementError`]; nothing has changed then.
    pub fn replace(
        &mut self,
        now: Tick,
        order: ReplacementOrder,
    ) -> Result<Replaced, ReplacementError> {
        let replaced = self.may_replace(&order)?;
        if order.validate_only {
            return Ok(replaced);
        }
        let (old, new) = (order.old, replaced.new.node);
        self.planning.lids.hand_over(old, new);
        self.hand_over_orders(old, new);
        let known = &mut self.devices.replacements;
        known.succeed(now, old, new, order.reason);
        self.devices.name_replaced();
        self.out.event(Event::HfiReplaced(replaced.clone()));
        self.replacements_changed(now);
        Ok(replaced)
    }

    /// Ends the replacement of an HFI, or all of those that one is in the place of. The LID stays. Returns the old ones.
    ///
    /// # Errors
    /// [`ReplacementError::None`], [`ReplacementError::Command`].
    pub fn end_replacement(
        &mut self,
        now: Tick,
        guid: Guid,
    ) -> Result<Vec<Guid>, ReplacementError> {
        self.must_be_master()?;
        let ended = self.devices.replacements.end(guid);
        if ended.is_empty() {
            return Err(ReplacementError::None { guid });
        }
        for (old, new) in &ended {
            self.out.event(Event::ReplacementRemoved {
                old: *old,
                new: self.devices.link_end((*new, PortNum(1))),
            });
        }
        self.devices.name_replaced();
        self.replacements_changed(now);
        Ok(ended.into_iter().map(|(old, _)| old).collect())
    }

    fn replacements_changed(&mut self, now: Tick) {
        // A plan that was made before does not know of it.
        self.planning.epoch += 1;
        self.plan_again();
        self.persist();
        self.sweep
            .request(now, SweepReason::Forced, &self.settings.sweeps);
        self.handle(now, Input::Tick);
    }

    fn may_replace(&self, order: &ReplacementOrder) -> Result<Replaced, ReplacementError> {
        self.must_be_master()?;
        let old = order.old;
        if order.reason.len() > REASON_MAX || order.reason.contains(is_hidden) {
            return Err(ReplacementError::Reason);
        }
        if let Some(there) = self.devices.find(old) {
            let end = (old, self.devices[there].end_port());
            let old = self.devices.link_end(end);
            return Err(ReplacementError::StillThere { old });
        }
        let known = &self.devices.replacements;
        if let Some(Successor { new, .. }) = known.successors.get(&old) {
            return Err(ReplacementError::Already { old, new: *new });
        }
        if known.successors.len() >= REPLACEMENTS_MAX {
            return Err(ReplacementError::Many);
        }
        let new = match order.new {
            Some(new) => new,
            None => self.offered(old)?,
        };
        let number = self.devices.find(new);
        let device = &self.devices[number.ok_or(CommandError::NoNode { node: new })?];
        if device.is_switch() {
            return Err(ReplacementError::Switch { new });
        }
        let file = self.settings.topology.as_ref().map(|file| &file.intended);
        let is_in_file = |guid| file.is_some_and(|file| file.find(guid).is_some());
        if is_in_file(new) {
            return Err(ReplacementError::Intended { new });
        }
        let mut taken = known.successors.iter();
        if let Some((other, _)) = taken.find(|(_, successor)| successor.new == new) {
            return Err(ReplacementError::Taken { new, other: *other });
        }
        let port = device.end_port();
        let kept = self.planning.lids.of((old, port));
        if kept.is_none() && !known.has_seen(old) && !is_in_file(old) {
            return Err(ReplacementError::Unknown { old });
        }
        let held = device.observed.port(port);
        Ok(Replaced {
            old,
            new: self.devices.link_end((new, port)),
            lid_before: held.map_or(Lid(0), |held| held.lid),
            lid: kept,
            reason: order.reason.clone(),
        })
    }

    fn offered(&self, old: Guid) -> Result<Guid, ReplacementError> {
        let offers = self.replacement_offers();
        let mut of_old = offers.iter().filter(|offer| offer.old == old);
        match (of_old.next(), of_old.next()) {
            (Some(offer), None) => Ok(offer.new.node),
            _ => Err(ReplacementError::NoOffer { old }),
        }
    }

    /// Ports that are in quarantine by hand or switched off keep that under their new names.
    fn hand_over_orders(&mut self, old: Guid, new: Guid) {
        let renamed = |(node, port): End| match node == old {
            true => (new, port),
            false => (node, port),
        };
        let by_hand = std::mem::take(&mut self.devices.by_hand.0).into_iter();
        self.devices.by_hand.0 = by_hand
            .map(|(end, placed)| (renamed(end), placed))
            .collect();
        let disabled = std::mem::take(&mut self.commands.disabled).into_iter();
        let disabled = disabled.map(|(end, at)| (renamed(end), renamed(at)));
        self.commands.disabled = disabled.collect();
        let notes = std::mem::take(&mut self.commands.notes);
        self.commands.notes = disabled::rename(notes, renamed);
    }
}

impl Replacements {
    /// Notes a replacement. What the old HFI stood for goes over to the new one.
    fn succeed(&mut self, now: Tick, old: Guid, new: Guid, reason: String) {
        // One that is put back stands for itself again.
        self.successors.remove(&new);
        let before = self.successors.values_mut();
        for successor in before.filter(|successor| successor.new == old) {
            successor.new = new;
        }
        let since = now;
        let successor = Successor { new, since, reason };
        self.successors.insert(old, successor);
        self.withdraw(old, new);
    }

    /// Ends replacements by an old or a new HFI; returns them.
    fn end(&mut self, guid: Guid) -> Vec<(Guid, Guid)> {
        let all = self
            .successors
            .iter()
            .map(|(old, successor)| (*old, successor.new));
        let ended: Vec<(Guid, Guid)> = all
            .filter(|(old, new)| [*old, *new].contains(&guid))
            .collect();
        for (old, _) in &ended {
            self.successors.remove(old);
        }
        ended
    }

    /// Whether an HFI has been seen at a port, or is offered to be replaced.
    fn has_seen(&self, old: Guid) -> bool {
        self.places.contains(old) || self.offers().any(|offer| offer.old == old)
    }
}
