//! What a standby is told of its master's state by another way than the fabric: it counts from the moment at which
//! the standby takes over.
//!
//! A datagram decides who is master, and not what is told here: a suspicion only has the standby ask at once, and
//! with less patience.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weft_fabric::Guid;
use weft_state::State;

use super::store::{self, Kept};
use super::{Manager, Mandate};
use crate::io::Event;

/// Something that a standby is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// What the master would find of its state after a restart: its last [`crate::Output::Persist`].
    State(Vec<u8>),
    /// Whether the members of multicast groups that were told last are those that the master has promised.
    Registrations(bool),
    /// The master on this port may be gone, for this reason.
    MasterSuspected(Guid, String),
    /// This standby lacks something of what its master hands on, or lacks nothing any more.
    Behind(bool),
    /// This standby has other settings than its master and is to be inactive, or has the same again.
    OtherSettings(bool),
    /// To a master: the standbys on these ports have a copy of all registrations; none where no copies are made.
    Copied(Option<BTreeSet<Guid>>),
    /// What is known of the mandate to be master, where that is decided outside the fabric too.
    Mandate(Mandate),
}

/// The master's state, as a standby knows it.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Inheritance {
    state: Option<Vec<u8>>,
    /// The members of multicast groups are the master's.
    registrations: bool,
    /// How often that was doubted since the start.
    doubts: u64,
}

impl Inheritance {
    /// The standby and its master have not heard of each other for a while: clients may have been promised more.
    pub(super) fn doubt_registrations(&mut self) {
        self.registrations = false;
        self.doubts += 1;
    }
}

impl Manager {
    /// How often a standby has ceased to count on what it was told of its master's registrations, since the start.
    pub fn registration_doubts(&self) -> u64 {
        self.inheritance.doubts
    }

    /// Keeps what a standby is told for the moment of a takeover.
    pub(super) fn keep_told(&mut self, told: Told) {
        match told {
            Told::State(state) => self.keep_state(state),
            Told::Registrations(are) => self.inheritance.registrations = are,
            Told::MasterSuspected(..)
            | Told::Behind(_)
            | Told::OtherSettings(_)
            | Told::Copied(_)
            | Told::Mandate(_) => {}
        }
    }

    /// Keeps a state for the moment of a takeover, and has it written as this manager's own.
    fn keep_state(&mut self, state: Vec<u8>) {
        match store::decode(&state, self.settings.subnet_prefix) {
            Ok(kept) => {
                self.devices.keys.heard(kept.term);
                self.out.persist(state.clone());
                self.inheritance.state = Some(state);
            }
            Err(why) => self.out.event(Event::StateRefused {
                why: format!("the master's: {why}"),
            }),
        }
    }

    /// This manager has become master: from now on it has its master's state.
    pub(super) fn inherit(&mut self) {
        let registrations = std::mem::take(&mut self.inheritance.registrations);
        if let Some(state) = self.inheritance.state.take() {
            self.load(&state);
        }
        let known = registrations && self.registrations.members.is_some();
        self.registrations.registering.take_over(known);
    }

    /// Takes a stored state for its own; reports one that cannot be used.
    pub(super) fn load(&mut self, stored: &[u8]) {
        match store::decode(stored, self.settings.subnet_prefix) {
            Ok(Kept {
                lids,
                drains,
                disabled,
                notes,
                quarantine,
                by_hand,
                successors,
                isolation,
                term,
            }) => {
                self.devices.keys.heard(term);
                self.planning.lids = lids;
                self.planning.drains = drains;
                self.commands.disabled = disabled;
                self.commands.notes = notes;
                self.devices.by_hand = by_hand;
                if self.settings.links.flapping.is_some() {
                    self.devices.flapping.restore(quarantine);
                }
                self.devices.replacements.successors = successors;
                if self.settings.links.errors.is_some() {
                    self.devices.isolation.restore(isolation);
                }
                self.out.persisted = stored.to_vec();
            }
            Err(why) => self.out.event(Event::StateRefused {
                why: format!(
                    "{why}; the LIDs of the fabric are learnt again, drains, disabled ports and quarantine are forgotten"
                ),
            }),
        }
    }
}
