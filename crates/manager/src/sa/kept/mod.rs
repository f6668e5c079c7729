//! Keeps registrations of clients over a restart: groups with their LIDs and members, services,
//! subscriptions.
//!
//! The first change since the last write marks the stored registrations stale, before its client has
//! the answer; so storage is never behind what clients were promised. It is rewritten after
//! changes have been collected for a while. Without it a manager asks all hosts to register again.

mod format;

use std::time::Duration;

use weft_fabric::Tick;
use weft_state::State;

pub use format::KeptError;

use super::io::SaOutput;
use super::{Sa, SaSettings};

/// Time for which changes are collected before they are written: the start of a job makes thousands at
/// once.
const COLLECT: Duration = Duration::from_secs(1);

/// State of the stored registrations.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Keeping {
    /// Number of the last change that was seen.
    seen: u64,
    /// When changes are written, none while there are none.
    due: Option<Tick>,
}

impl Keeping {
    /// The state after `changes` changes need not be written.
    pub(super) fn settle(&mut self, changes: u64) {
        self.seen = changes;
    }

    /// When changes are written.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.due
    }
}

impl Sa {
    /// An administration that resumes `now` with stored registrations. It reports its members
    /// to the subnet manager at once; those missing in the first snapshot are removed.
    ///
    /// # Errors
    /// [`KeptError`] when they cannot be used.
    pub fn restored(settings: SaSettings, stored: &[u8], now: Tick) -> Result<Self, KeptError> {
        let mut sa = Self::new(settings);
        sa.now = now;
        let kept = format::decode(stored, sa.settings.subnet_prefix, sa.now)?;
        sa.groups
            .restore(kept.groups, kept.named, &sa.settings.multicast);
        sa.services.restore(kept.services);
        sa.subscriptions.restore(kept.subscriptions);
        sa.drop_undeclared();
        sa.create_configured_groups();
        sa.keeping.settle(sa.changes());
        sa.tell_groups();
        Ok(sa)
    }

    /// Number of changes of stored registrations.
    pub(super) fn changes(&self) -> u64 {
        self.groups.changes + self.services.changes + self.subscriptions.changes
    }

    /// Marks the stored registrations stale, or writes them, after an input.
    pub(super) fn keep(&mut self, now: Tick) {
        let changes = self.changes();
        if std::mem::replace(&mut self.keeping.seen, changes) != changes
            && self.keeping.due.is_none()
        {
            self.outputs.push_back(SaOutput::Stale);
            self.keeping.due = Some(now + COLLECT);
        }
        if self.groups.known_at().is_none() {
            // Changes that waited for members to be known wait no longer.
            let soon = now + COLLECT;
            self.keeping.due = self.keeping.due.map(|due| due.min(soon));
        }
        if self.keeping.due.is_some_and(|due| due <= now) {
            // Until hosts have had time to register again, registrations are incomplete.
            self.keeping.due = self.groups.known_at().map(|at| at.max(now + COLLECT));
            if self.keeping.due.is_none() {
                let bytes = self.encoded(now);
                self.outputs.push_back(SaOutput::Persist(bytes));
            }
        }
    }

    /// The state to store when there are no more inputs; `None` if it is stored already, or if
    /// hosts are still registering.
    pub fn unsaved(&self) -> Option<Vec<u8>> {
        let is_whole = self.groups.known_at().is_none();
        (is_whole && self.keeping.due.is_some()).then(|| self.encoded(self.now))
    }

    pub(super) fn encoded(&self, now: Tick) -> Vec<u8> {
        format::encode(
            self.settings.subnet_prefix,
            now,
            self.groups.named,
            &self.groups.all,
            self.services.all.values(),
            &self.subscriptions.all,
        )
    }
}
