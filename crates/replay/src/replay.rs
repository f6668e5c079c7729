//! The replay of a recording: the same code over the same inputs, its outputs compared with those of then.

use std::io::Read;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::{Manager, Output, PlanInput, Sa, SaOutput};

use crate::file::{FileError, Header};
use crate::inputs::{Entry, What, damaged};
use crate::ordered::Ordered;
use crate::player::{Done, Player};
use crate::recorded::Recorded;
use crate::sa::{SaDone, SaPlayer, SaWhat};

/// Whether outputs are those of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// They are, up to here.
    Same,
    /// They are not, here or before.
    Other,
    /// The recording does not say: it ends with this input, at which the manager did not come to its end.
    Unknown,
}

/// One input, and what came of it.
#[derive(Debug)]
pub struct Step {
    /// Counts up from 1.
    pub number: u64,
    /// The manager's time.
    pub at: Tick,
    /// The input.
    pub what: What,
    /// What the manager put out.
    pub outputs: Vec<Output>,
    /// What subnet administration put out.
    pub answers: Vec<SaOutput>,
    /// Whether that was so when it was recorded.
    pub matches: Match,
    /// The manager panicked, with these words, and nothing follows; or subnet administration did.
    pub panic: Option<String>,
}

/// A manager, with the plan that it asked for and has not yet.
pub type ReplayedManager = (Recorded, Option<Arc<PlanInput>>);

/// A replay.
pub struct Replay<R> {
    inputs: Ordered<R>,
    /// What reading the first input came to, until it is asked for.
    first: Option<Result<Option<Entry>, FileError>>,
    player: Player,
    sa: SaPlayer,
    sa_parted: bool,
    steps: u64,
    parted: bool,
    ended: bool,
}

impl<R> std::fmt::Debug for Replay<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Replay({} steps)", self.steps)
    }
}

impl<R: Read> Replay<R> {
    /// Begins a replay.
    ///
    /// # Errors
    /// [`FileError`] where it is no recording, or begins with a checkpoint of another program.
    pub fn new(from: R) -> Result<Self, FileError> {
        let mut inputs = Ordered::new(from)?;
        let first = match inputs.next() {
            Err(error @ FileError::OtherProgram { .. }) => return Err(error),
            first => Some(first),
        };
        Ok(Self {
            inputs,
            first,
            player: Player::default(),
            sa: SaPlayer::default(),
            sa_parted: false,
            steps: 0,
            parted: false,
            ended: false,
        })
    }

    /// What the recording says of itself.
    pub fn header(&self) -> &Header {
        self.inputs.header()
    }

    /// The manager after the last step; none before the first.
    pub fn manager(&self) -> Option<&Manager> {
        self.player.manager().map(|manager| &**manager)
    }

    /// The manager after the last step, with the plan that it asked for and has not yet; none before the first.
    pub fn into_manager(self) -> Option<ReplayedManager> {
        self.player.into_manager()
    }

    /// The manager after the last step as [`Self::into_manager`], and subnet administration where the recording has it, with the
    /// recording's time at the moment from which it counts.
    pub fn into_both(self) -> Option<(ReplayedManager, Option<(Tick, Sa)>)> {
        Some((self.player.into_manager()?, self.sa.into_start()))
    }

    /// Subnet administration after the last step; none before the first of its own.
    pub fn sa(&self) -> Option<&Sa> {
        self.sa.sa()
    }

    /// The byte of the file at which the recording is torn: what follows there is not a whole chunk.
    pub fn torn_at(&self) -> Option<u64> {
        self.inputs.torn_at()
    }

    /// The next step; none at the end.
    ///
    /// # Errors
    /// [`FileError`] where the recording cannot be read from here on.
    #[allow(
        clippy::should_implement_trait,
        reason = "an error ends it, which an iterator's items do not say"
    )]
    pub fn next(&mut self) -> Result<Option<Step>, FileError> {
        if self.ended {
            return Ok(None);
        }
        let next = self.first.take().unwrap_or_else(|| self.inputs.next());
        let Some(entry) = next? else {
            return Ok(None);
        };
        self.steps += 1;
        if let What::Sa(input) = &entry.what {
            let (answers, matches, panic) = self.answer(&entry, input)?;
            let Entry { at, what, .. } = entry;
            return Ok(Some(Step {
                number: self.steps,
                at,
                what,
                outputs: Vec::new(),
                answers,
                matches,
                panic,
            }));
        }
        let Entry {
            at,
            what,
            digest,
            chunk_at,
        } = entry;
        let (outputs, panic) = match self.player.run(at, &what) {
            Done::Handled(outputs) => (outputs, None),
            Done::Panicked(outputs, words) => (outputs, Some(words)),
            // The outputs have parted before, so that another plan was asked for.
            Done::Misplaced if matches!(what, What::Planned(_)) && self.steps > 1 => {
                self.parted = true;
                (Vec::new(), None)
            }
            Done::Refused(error) => {
                return Err(damaged(chunk_at, &format!("its checkpoint: {error}")));
            }
            Done::Misplaced => {
                let why = "a manager is not made, or a checkpoint read, first and once";
                return Err(damaged(chunk_at, why));
            }
        };
        if let (What::Checkpoint(_), Some(manager)) = (&what, self.player.manager()) {
            self.sa.hold(manager.snapshot());
        }
        self.sa.follow(&outputs);
        self.ended = panic.is_some();
        let matches = digest.map_or(Match::Unknown, |recorded| {
            self.parted |= !self.player.has_put_out(recorded) || panic.is_some();
            match self.parted {
                true => Match::Other,
                false => Match::Same,
            }
        });
        Ok(Some(Step {
            number: self.steps,
            at,
            what,
            outputs,
            answers: Vec::new(),
            matches,
            panic,
        }))
    }

    /// An input of subnet administration: what it put out, whether that is as recorded, and the words of a panic.
    fn answer(
        &mut self,
        entry: &Entry,
        what: &SaWhat,
    ) -> Result<(Vec<SaOutput>, Match, Option<String>), FileError> {
        let refused = |why: &str| Err(damaged(entry.chunk_at, why));
        if let SaWhat::Rests(_) = what {
            return Ok((Vec::new(), self.sa_match(), None));
        }
        let is_checkpoint = matches!(what, SaWhat::Checkpoint(_));
        let (answers, panic) = match self.sa.run(entry.at, what) {
            SaDone::Handled(answers) => (answers, None),
            SaDone::Panicked(answers, words) => (answers, Some(words)),
            // The manager's outputs have parted before, so that it has published others.
            SaDone::NoSnapshot(_) if self.parted => {
                self.sa_parted = true;
                (Vec::new(), None)
            }
            SaDone::NoSnapshot(number) => {
                let why =
                    format!("subnet administration has snapshot {number}, which is not published");
                return refused(&why);
            }
            SaDone::Misplaced => {
                return refused("subnet administration does not begin with its state");
            }
            SaDone::Refused(error) => {
                let why = format!("the state of subnet administration: {error}");
                return refused(&why);
            }
        };
        // It begins anew.
        self.sa_parted &= !is_checkpoint;
        let matches = match entry.digest {
            Some(recorded) => {
                self.sa_parted |= !self.sa.has_put_out(recorded) || panic.is_some();
                self.sa_match()
            }
            None => Match::Unknown,
        };
        Ok((answers, matches, panic))
    }

    fn sa_match(&self) -> Match {
        match self.sa_parted {
            true => Match::Other,
            false => Match::Same,
        }
    }
}
