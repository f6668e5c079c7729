//! Subnet administration that is given recorded inputs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weft_fabric::key_mask::KeyMask;
use weft_fabric::{Snapshot, Tick};
use weft_manager::{Output, Sa, SaInput, SaOutput};
use weft_state::StateError;

use super::frozen;
use super::input::{SaCall, SaWhat};
use crate::digest::Digest;
use crate::keys::Keys;
use crate::player::words;

/// Snapshots of the manager that are held, beyond which the oldest go: the administration takes the newest that there is.
const SNAPSHOTS_MAX: usize = 256;

/// What became of an input.
pub(crate) enum SaDone {
    /// It was handled and led to this.
    Handled(Vec<SaOutput>),
    /// It led to this and to a panic, with these words.
    Panicked(Vec<SaOutput>, String),
    /// The manager has not published the snapshot of this number.
    NoSnapshot(u64),
    /// The row does not begin with its state.
    Misplaced,
    /// It is no state.
    Refused(StateError),
}

/// The administration, none before its first state.
#[derive(Default)]
pub(crate) struct SaPlayer {
    sa: Option<Sa>,
    /// The recording's time at the moment from which it counts.
    epoch: Tick,
    digest: Digest,
    keys: Keys,
    mask: KeyMask,
    /// The manager's, by their numbers.
    snapshots: BTreeMap<u64, Arc<Snapshot>>,
}

impl SaPlayer {
    pub(crate) fn digest(&self) -> u64 {
        self.digest.value()
    }

    pub(crate) fn sa(&self) -> Option<&Sa> {
        self.sa.as_ref()
    }

    /// What the manager put out.
    pub(crate) fn follow(&mut self, outputs: &[Output]) {
        for output in outputs {
            if let Output::Publish(snapshot) = output {
                self.hold(Arc::clone(snapshot));
            }
        }
    }

    /// The manager has published this.
    pub(crate) fn hold(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshots.insert(snapshot.generation, snapshot);
        while self.snapshots.len() > SNAPSHOTS_MAX {
            self.snapshots.pop_first();
        }
    }

    /// The snapshot of a number as the administration gets it.
    fn snapshot(&mut self, generation: u64) -> Option<Arc<Snapshot>> {
        if generation == 0 {
            return Some(Arc::default());
        }
        self.snapshots = self.snapshots.split_off(&generation);
        let snapshot = self.snapshots.get(&generation)?;
        Some(Arc::new(self.mask.snapshot(snapshot)))
    }

    /// Passes an input to the administration.
    pub(crate) fn run(&mut self, at: Tick, what: &SaWhat) -> SaDone {
        if let SaWhat::Checkpoint(state) = what {
            return self.restore(state);
        }
        let published = match what {
            SaWhat::Published(generation) => match self.snapshot(*generation) {
                Some(snapshot) => Some(snapshot),
                None => return SaDone::NoSnapshot(*generation),
            },
            _ => None,
        };
        let now = Tick(at.0.saturating_sub(self.epoch.0));
        let Some(sa) = &mut self.sa else {
            return SaDone::Misplaced;
        };
        let digest = &mut self.digest;
        let repeat = || repeat(sa, now, what, published, digest);
        let done = catch_unwind(AssertUnwindSafe(repeat));
        let outputs: Vec<SaOutput> = std::iter::from_fn(|| sa.poll()).collect();
        for output in &outputs {
            self.digest.add_sa(output, &mut self.keys);
        }
        match done {
            Ok(()) => SaDone::Handled(outputs),
            Err(panic) => SaDone::Panicked(outputs, words(&*panic)),
        }
    }

    fn restore(&mut self, state: &crate::Checkpoint) -> SaDone {
        // What is made of a fabric that no manager had may not be made at all.
        let read = match catch_unwind(|| frozen::read(state)) {
            Ok(read) => read,
            Err(panic) => return SaDone::Panicked(Vec::new(), words(&*panic)),
        };
        match read {
            Ok((epoch, sa)) => {
                (self.epoch, self.sa) = (epoch, Some(sa));
                self.digest = Digest::default();
                SaDone::Handled(Vec::new())
            }
            Err(error) => SaDone::Refused(error),
        }
    }
}

/// Makes an input once more. What it returns is in the digest.
fn repeat(
    sa: &mut Sa,
    now: Tick,
    what: &SaWhat,
    published: Option<Arc<Snapshot>>,
    digest: &mut Digest,
) {
    let input = match what {
        SaWhat::Tick | SaWhat::Checkpoint(_) => SaInput::Tick,
        SaWhat::Received(packet) => SaInput::Received(packet.clone()),
        SaWhat::Published(_) => SaInput::Published(published.unwrap_or_default()),
        SaWhat::Call(call) => match SaCall::clone(call) {
            SaCall::Cables(memories) => SaInput::Cables(memories),
            SaCall::Congestion(held) => SaInput::Congestion(held),
            SaCall::RegistrationsLost(asked) => SaInput::RegistrationsLost { asked },
            SaCall::Notice(bytes) => SaInput::Notice(bytes),
            SaCall::Reconfigure(settings) => return sa.reconfigure(*settings),
            SaCall::Inherit(inherited) => return digest.returned(sa.inherit(now, &inherited)),
            SaCall::TellGroups => return sa.tell_groups(),
        },
    };
    sa.handle(now, input);
}
