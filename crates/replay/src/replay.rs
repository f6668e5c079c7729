//! The replay of a recording: the same code over the same inputs, its outputs compared with those of then.

use std::io::Read;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::{Manager, Output, PlanInput};

use crate::file::{FileError, Header};
use crate::inputs::{Entry, Inputs, What};
use crate::player::{Done, Player};
use crate::recorded::Recorded;

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
    /// Whether that was so when it was recorded.
    pub matches: Match,
    /// The manager panicked, with these words; nothing follows.
    pub panic: Option<String>,
}

/// A replay.
pub struct Replay<R> {
    inputs: Inputs<R>,
    /// What reading the first input came to, until it is asked for.
    first: Option<Result<Option<Entry>, FileError>>,
    player: Player,
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
        let mut inputs = Inputs::new(from)?;
        let first = match inputs.next() {
            Err(error @ FileError::OtherProgram { .. }) => return Err(error),
            first => Some(first),
        };
        Ok(Self {
            inputs,
            first,
            player: Player::default(),
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
    pub fn into_manager(self) -> Option<(Recorded, Option<Arc<PlanInput>>)> {
        self.player.into_manager()
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
        let Some(Entry { at, what, digest }) = next? else {
            return Ok(None);
        };
        self.steps += 1;
        let (outputs, panic) = match self.player.run(at, &what) {
            Done::Handled(outputs) => (outputs, None),
            Done::Panicked(outputs, words) => (outputs, Some(words)),
            // The outputs have parted before, so that another plan was asked for.
            Done::Misplaced if matches!(what, What::Planned(_)) && self.steps > 1 => {
                self.parted = true;
                (Vec::new(), None)
            }
            Done::Refused(error) => {
                return Err(self.inputs.damaged(&format!("its checkpoint: {error}")));
            }
            Done::Misplaced => {
                let why = "a manager is not made, or a checkpoint read, first and once";
                return Err(self.inputs.damaged(why));
            }
        };
        self.ended = panic.is_some();
        let matches = digest.map_or(Match::Unknown, |recorded| {
            self.parted |= panic.is_some() || !recorded.is(self.player.digest());
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
            matches,
            panic,
        }))
    }
}
