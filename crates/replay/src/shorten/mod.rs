//! A recording cut down to inputs without which a fault does not show.
//!
//! What remains is given to a new manager each time, and to subnet administration where the fault is its own: an answer that is left
//! out is one that was lost. As the times of timeouts are others then, deadlines come when they are asked for and plans are
//! ready at once ([`Pace::Own`]); where the fault does not show so, both come as they were recorded and stay
//! ([`Pace::Recorded`]). Administration that would get a snapshot that is not published any more gets the newest.
//!
//! | module | contents |
//! |---|---|
//! | `groups` | inputs that are left out as a whole |
//! | `play` | one run |

mod groups;
mod play;

use std::collections::BTreeMap;
use std::io::Read;
use std::iter;
use std::sync::Arc;

use weft_manager::{Output, SaOutput};

use crate::checkpoint::Frozen;
use crate::file::FileError;
use crate::inputs::{Entry, What, damaged};
use crate::ordered::Ordered;
use crate::player::Player;
use crate::recorder::Recorder;
use crate::sa::{SaPlayer, SaStart, SaWhat};

use groups::{Groups, by_input, by_row, by_sender, places};
use play::{Cores, Done, Play};

/// Bytes of inputs up to the fault, and of states that they are played from, at most.
const BYTES_MAX: usize = 2 << 30;

/// What an input led to.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// What the manager put out.
    pub outputs: &'a [Output],
    /// What subnet administration put out.
    pub answers: &'a [SaOutput],
    /// The words with which one of them panicked.
    pub panic: Option<&'a str>,
}

/// Why deadlines and plans come when they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Deadlines as they are asked for, plans at once.
    Own,
    /// As they were recorded.
    Recorded,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortened {
    /// Inputs up to the fault as it was recorded, without deadlines and plans where they come by themselves, and without those of
    /// subnet administration where the fault is the manager's.
    pub before: usize,
    /// Those that remain.
    pub after: usize,
    /// Runs of the manager.
    pub runs: u64,
    /// Whether the fault does not show without any one of them; false where time was up first.
    pub is_least: bool,
    /// How the remaining ones are played.
    pub pace: Pace,
}

/// Why a recording is not cut down.
#[derive(Debug, thiserror::Error)]
pub enum ShortenError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The fault is not in it.
    #[error("the fault does not show in this recording")]
    NotShown,
    /// It shows in the recording, and not when the same inputs are played again.
    #[error("the fault shows in the recording only at exactly its times, it cannot be cut down")]
    NotAgain,
    /// Its inputs do not fit into memory.
    #[error("inputs up to the fault have more than {} GiB", BYTES_MAX >> 30)]
    TooLong,
}

/// Finds the inputs that are needed for what `shows` looks for, and records them anew: the manager's by the first of `recorders`,
/// those of subnet administration by the second. `goes_on` is told the inputs that remain, before each run; false ends the search
/// with what is found.
///
/// # Errors
/// [`ShortenError`].
pub fn shorten(
    from: impl Read,
    recorders: (Recorder, Recorder),
    shows: impl Fn(Shown<'_>) -> bool,
    goes_on: impl FnMut(usize) -> bool,
) -> Result<Shortened, ShortenError> {
    let recorded = up_to_the_fault(from, &shows, BYTES_MAX)?;
    let mut search = Search {
        recorded: &recorded,
        shows,
        goes_on,
        pace: Pace::Own,
        runs: 0,
        is_over: false,
    };
    let mut kept = search.all()?;
    let before = kept.len();
    for group in [by_row, by_sender, by_input] {
        kept = search.reduced(group(&recorded.entries, &kept));
    }
    let (manager, sa) = recorders;
    let player = Player::again(recorded.start.clone()).recording(manager);
    search.play(&kept, Cores::new(player, SaPlayer::recording(sa)));
    Ok(Shortened {
        before,
        after: kept.len(),
        runs: search.runs,
        is_least: !search.is_over,
        pace: search.pace,
    })
}

/// Inputs up to that at which the fault shows first.
struct Recorded {
    entries: Vec<Entry>,
    /// What the checkpoint is restored to with which the recording begins.
    start: Option<Arc<Frozen>>,
    /// The same of states of subnet administration, by their places.
    sa_starts: BTreeMap<usize, SaStart>,
}

fn up_to_the_fault(
    from: impl Read,
    shows: &impl Fn(Shown<'_>) -> bool,
    most: usize,
) -> Result<Recorded, ShortenError> {
    let mut inputs = Ordered::new(from)?;
    let mut cores = Cores::default();
    let mut bytes = 0;
    let mut recorded = Recorded {
        entries: Vec::new(),
        start: None,
        sa_starts: BTreeMap::new(),
    };
    while let Some(entry) = inputs.next()? {
        // What a state is restored to is kept as well, and reckoned as large as its bytes.
        bytes += entry.bytes() + entry.what.state().map_or(0, <[u8]>::len);
        if bytes > most {
            return Err(ShortenError::TooLong);
        }
        let done = cores.run(entry.at, &entry.what);
        if let Done::Refused(error) = &done {
            let why = format!("its checkpoint: {error}");
            return Err(damaged(entry.chunk_at, &why).into());
        }
        let place = recorded.entries.len();
        match &entry.what {
            What::Checkpoint(_) if place == 0 => {
                let restored = cores.manager();
                recorded.start = restored.map(|manager| Arc::new(manager.freeze(entry.at)));
            }
            What::Sa(SaWhat::Checkpoint(_)) => {
                recorded
                    .sa_starts
                    .extend(cores.sa_start().map(|start| (place, start)));
            }
            _ => {}
        }
        let is_of_sa = matches!(entry.what, What::Sa(_));
        recorded.entries.push(entry);
        if done.is_shown(shows) {
            if !is_of_sa {
                // Administration changes nothing of what the manager does.
                recorded
                    .entries
                    .retain(|entry| !matches!(entry.what, What::Sa(_)));
                recorded.sa_starts.clear();
            }
            return Ok(recorded);
        }
        if matches!(done, Done::Panicked { .. }) {
            break;
        }
    }
    Err(ShortenError::NotShown)
}

struct Search<'a, S, G> {
    recorded: &'a Recorded,
    shows: S,
    goes_on: G,
    pace: Pace,
    runs: u64,
    /// Time is up.
    is_over: bool,
}

impl<S: Fn(Shown<'_>) -> bool, G: FnMut(usize) -> bool> Search<'_, S, G> {
    /// What is played in a run.
    fn cores(&self) -> Cores {
        let player = Player::again(self.recorded.start.clone());
        Cores::new(player, SaPlayer::default())
    }

    /// The inputs that may be left out, at a pace at which the fault shows.
    fn all(&mut self) -> Result<Vec<usize>, ShortenError> {
        for pace in [Pace::Own, Pace::Recorded] {
            self.pace = pace;
            let all: Vec<usize> = (1..self.recorded.entries.len())
                .filter(|place| !self.comes_by_itself(*place))
                .collect();
            if self.play(&all, self.cores()) {
                return Ok(all);
            }
        }
        Err(ShortenError::NotAgain)
    }

    /// Whether an input is a deadline or a plan.
    fn comes_by_itself(&self, place: usize) -> bool {
        matches!(
            self.recorded.entries[place].what,
            What::Tick | What::Planned(_) | What::Sa(SaWhat::Tick)
        )
    }

    /// Delta debugging: leaves out one part of the groups after the other, smaller parts where none can be left out.
    fn reduced(&mut self, mut groups: Groups) -> Vec<usize> {
        let mut parts = 2;
        while !groups.is_empty() && !self.is_over {
            parts = parts.min(groups.len());
            let len = groups.len().div_ceil(parts);
            match self.without_a_part(&groups, len) {
                Some(fewer) => {
                    groups = fewer;
                    parts = (parts - 1).max(2);
                }
                None if len == 1 => break,
                None => parts *= 2,
            }
        }
        places(&groups)
    }

    fn without_a_part(&mut self, groups: &Groups, len: usize) -> Option<Groups> {
        for start in (0..groups.len()).step_by(len) {
            let end = (start + len).min(groups.len());
            let fewer: Groups = groups[..start]
                .iter()
                .chain(&groups[end..])
                .cloned()
                .collect();
            let kept = places(&fewer);
            self.is_over = self.is_over || !(self.goes_on)(places(groups).len());
            if self.is_over {
                return None;
            }
            if self.play(&kept, self.cores()) {
                return Some(fewer);
            }
        }
        None
    }

    /// Whether the fault shows with these inputs, and those that come by themselves.
    fn play(&mut self, kept: &[usize], cores: Cores) -> bool {
        self.runs += 1;
        let recorded = self.recorded;
        let mut play = Play::new(cores, self.pace, &self.shows);
        let mut kept = kept.iter().copied().peekable();
        let by_themselves = (0..recorded.entries.len())
            .filter(|place| *place == 0 || self.is_recorded_pace(*place));
        let mut by_themselves = by_themselves.peekable();
        let places = iter::from_fn(|| match (kept.peek(), by_themselves.peek()) {
            (Some(one), Some(other)) if one < other => kept.next(),
            (Some(_), None) => kept.next(),
            _ => by_themselves.next(),
        });
        for place in places {
            let entry = &recorded.entries[place];
            if play.until(entry.at) {
                return true;
            }
            let is_shown = match recorded.sa_starts.get(&place) {
                Some(start) => play.begin_sa(entry.at, start),
                None => play.input(entry.at, &entry.what),
            };
            if is_shown {
                return true;
            }
            if play.is_over() {
                return false;
            }
        }
        false
    }

    fn is_recorded_pace(&self, place: usize) -> bool {
        self.pace == Pace::Recorded && self.comes_by_itself(place)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
