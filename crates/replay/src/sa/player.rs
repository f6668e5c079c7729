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
use super::recorded::RecordedSa;
use crate::digest::Compared;
use crate::inputs::Expected;
use crate::player::words;
use crate::recorder::Recorder;

/// Snapshots of the manager that are held, beyond which the oldest go: the administration takes the newest that there is.
const SNAPSHOTS_MAX: usize = 256;

/// An administration, and the recording's time at the moment from which it counts.
pub(crate) type SaStart = (Tick, Sa);

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
    sa: Option<RecordedSa>,
    /// Where its inputs are recorded again.
    recorder: Option<Recorder>,
    /// The recording's time at the moment from which it counts.
    epoch: Tick,
    compared: Compared,
    mask: KeyMask,
    /// The manager's, by their numbers.
    snapshots: BTreeMap<u64, Arc<Snapshot>>,
}

impl SaPlayer {
    /// One whose inputs are recorded.
    pub(crate) fn recording(recorder: Recorder) -> Self {
        Self {
            recorder: Some(recorder),
            ..Self::default()
        }
    }

    /// Whether its outputs so far have the recorded digest.
    pub(crate) fn has_put_out(&mut self, recorded: Expected) -> bool {
        self.compared.is(recorded)
    }

    pub(crate) fn sa(&self) -> Option<&Sa> {
        self.sa.as_deref()
    }

    pub(crate) fn into_start(self) -> Option<SaStart> {
        Some((self.epoch, self.sa?.into_sa()))
    }

    /// The same as it is now.
    pub(crate) fn start(&self) -> Option<SaStart> {
        Some((self.epoch, self.sa()?.clone()))
    }

    /// When its deadline is, in the recording's time.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        let due = self.sa()?.deadline()?;
        Some(Tick(self.epoch.0.saturating_add(due.0)))
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

    /// The snapshot that the administration can have in place of one: that, or else the newest; 0 is a fabric that is not known.
    pub(crate) fn at_hand(&self, generation: u64) -> u64 {
        match self.snapshots.contains_key(&generation) {
            true => generation,
            false => self.snapshots.last_key_value().map_or(0, |(last, _)| *last),
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
        let published = match what {
            SaWhat::Checkpoint(state) => return self.restore(at, state),
            SaWhat::Rests(_) => return SaDone::Handled(Vec::new()),
            SaWhat::Published(generation) => match self.snapshot(*generation) {
                Some(snapshot) => Some(snapshot),
                None => return SaDone::NoSnapshot(*generation),
            },
            _ => None,
        };
        let now = self.since(at);
        let Some(sa) = &mut self.sa else {
            return SaDone::Misplaced;
        };
        let compared = &mut self.compared;
        let repeat = || repeat(sa, now, what, published, compared);
        let done = catch_unwind(AssertUnwindSafe(repeat));
        let outputs: Vec<SaOutput> = std::iter::from_fn(|| sa.poll()).collect();
        for output in &outputs {
            self.compared.add(|to| to.add_sa(output));
        }
        match done {
            Ok(()) => SaDone::Handled(outputs),
            Err(panic) => SaDone::Panicked(outputs, words(&*panic)),
        }
    }

    /// The administration's time.
    fn since(&self, at: Tick) -> Tick {
        Tick(at.0.saturating_sub(self.epoch.0))
    }

    fn restore(&mut self, at: Tick, state: &crate::Checkpoint) -> SaDone {
        // What is made of a fabric that no manager had may not be made at all.
        let read = match catch_unwind(|| frozen::read(state)) {
            Ok(read) => read,
            Err(panic) => return SaDone::Panicked(Vec::new(), words(&*panic)),
        };
        match read {
            Ok(start) => {
                self.begin(at, start);
                SaDone::Handled(Vec::new())
            }
            Err(error) => SaDone::Refused(error),
        }
    }

    /// Goes on with this administration.
    pub(crate) fn begin(&mut self, at: Tick, (epoch, sa): SaStart) {
        self.epoch = epoch;
        self.compared = Compared::default();
        let now = self.since(at);
        match &mut self.sa {
            Some(running) => running.replace(now, sa),
            None => {
                let recorder = self.recorder.take().map(|recorder| (recorder, epoch));
                self.sa = Some(RecordedSa::new(now, sa, recorder));
            }
        }
    }

    /// Passes on the inputs that are recorded so far.
    pub(crate) fn flush(&mut self, at: Tick) {
        let now = self.since(at);
        if let Some(sa) = &mut self.sa {
            sa.flush(now);
        }
    }
}

/// Makes an input once more. What it returns is in the digest.
fn repeat(
    sa: &mut RecordedSa,
    now: Tick,
    what: &SaWhat,
    published: Option<Arc<Snapshot>>,
    compared: &mut Compared,
) {
    let input = match what {
        SaWhat::Tick | SaWhat::Checkpoint(_) | SaWhat::Rests(_) => SaInput::Tick,
        SaWhat::Received(packet) => SaInput::Received(packet.clone()),
        SaWhat::Published(_) => SaInput::Published(published.unwrap_or_default()),
        SaWhat::Call(call) => match SaCall::clone(call) {
            SaCall::Cables(memories) => SaInput::Cables(memories),
            SaCall::Congestion(held) => SaInput::Congestion(held),
            SaCall::RegistrationsLost(asked) => SaInput::RegistrationsLost { asked },
            SaCall::Notice(bytes) => SaInput::Notice(bytes),
            SaCall::Reconfigure(settings) => return sa.reconfigure(now, *settings),
            SaCall::Inherit(inherited) => {
                let is_whole = sa.inherit(now, &inherited);
                return compared.add(|to| to.returned(is_whole));
            }
            SaCall::TellGroups => return sa.tell_groups(now),
        },
    };
    sa.handle(now, input);
}
