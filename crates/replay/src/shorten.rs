//! A recording cut down to inputs without which a fault does not show.
//!
//! What remains is given to a new manager each time: an answer that is left out is one that was lost. As the times of
//! timeouts are others then, deadlines come when the manager asks for them and plans are ready at once ([`Pace::Own`]);
//! where the fault does not show so, both come as they were recorded and stay ([`Pace::Recorded`]).

use std::collections::BTreeMap;
use std::io::Read;
use std::iter;
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::Output;
use weft_wire::smp::SmpView;

use crate::checkpoint::Frozen;
use crate::file::FileError;
use crate::inputs::{Entry, Inputs, What};
use crate::player::{Done, Player};
use crate::recorder::Recorder;

/// Bytes of inputs up to the fault at most.
const BYTES_MAX: usize = 2 << 30;
/// Deadlines that may follow one another without time passing.
const STANDING_MAX: u32 = 100_000;

/// What an input led to.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// What the manager put out.
    pub outputs: &'a [Output],
    /// The words with which it panicked.
    pub panic: Option<&'a str>,
}

/// Why deadlines and plans come when they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Deadlines as the manager asks for them, plans at once.
    Own,
    /// As they were recorded.
    Recorded,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortened {
    /// Inputs up to the fault as it was recorded, without deadlines and plans where they come by themselves.
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

/// Finds the inputs that are needed for what `shows` looks for, and records them anew by `recorder`. `goes_on` is told the
/// inputs that remain, before each run; false ends the search with what is found.
///
/// # Errors
/// [`ShortenError`].
pub fn shorten(
    from: impl Read,
    recorder: Recorder,
    shows: impl Fn(Shown<'_>) -> bool,
    goes_on: impl FnMut(usize) -> bool,
) -> Result<Shortened, ShortenError> {
    let (entries, start) = up_to_the_fault(from, &shows)?;
    let mut search = Search {
        entries: &entries,
        start,
        shows,
        goes_on,
        pace: Pace::Own,
        runs: 0,
        is_over: false,
    };
    let mut kept = search.all()?;
    let before = kept.len();
    for group in [by_sender, by_input] {
        kept = search.reduced(group(&entries, &kept));
    }
    let player = search.player().recording(recorder);
    search.play(&kept, player);
    Ok(Shortened {
        before,
        after: kept.len(),
        runs: search.runs,
        is_least: !search.is_over,
        pace: search.pace,
    })
}

/// What the checkpoint is restored to with which a recording begins.
type Start = Option<Arc<Frozen>>;

/// Inputs up to that at which the fault shows first.
fn up_to_the_fault(
    from: impl Read,
    shows: &impl Fn(Shown<'_>) -> bool,
) -> Result<(Vec<Entry>, Start), ShortenError> {
    let mut inputs = Inputs::new(from)?;
    let (mut player, mut entries, mut bytes) = (Player::default(), Vec::new(), 0);
    let mut start = None;
    while let Some(entry) = inputs.next()? {
        // A fault is the manager's.
        if matches!(entry.what, What::Sa(_)) {
            continue;
        }
        bytes += bytes_of(&entry);
        if bytes > BYTES_MAX {
            return Err(ShortenError::TooLong);
        }
        let done = player.run(entry.at, &entry.what);
        if let Done::Refused(error) = &done {
            return Err(inputs.damaged(&format!("its checkpoint: {error}")).into());
        }
        if matches!(entry.what, What::Checkpoint(_)) && entries.is_empty() {
            let restored = player.manager();
            start = restored.map(|manager| Arc::new(manager.freeze(entry.at)));
        }
        entries.push(entry);
        if is_shown(&done, shows) {
            return Ok((entries, start));
        }
        if matches!(done, Done::Panicked(..)) {
            break;
        }
    }
    Err(ShortenError::NotShown)
}

/// Memory that an input takes.
fn bytes_of(entry: &Entry) -> usize {
    let held = match &entry.what {
        What::Received(packet) => packet.mad.len(),
        What::Checkpoint(checkpoint) => checkpoint.bytes().len(),
        What::Tick | What::Planned(_) | What::Call(_) | What::Sa(_) => 0,
    };
    size_of::<Entry>() + held
}

fn is_shown(done: &Done, shows: &impl Fn(Shown<'_>) -> bool) -> bool {
    match done {
        Done::Handled(outputs) => shows(Shown {
            outputs,
            panic: None,
        }),
        Done::Panicked(outputs, words) => shows(Shown {
            outputs,
            panic: Some(words),
        }),
        Done::Misplaced | Done::Refused(_) => false,
    }
}

/// Places of inputs, in groups of which each is left out as a whole.
type Groups = Vec<Vec<usize>>;

/// Datagrams by their sender, those behind one port one after the other; other inputs each by itself.
fn by_sender(entries: &[Entry], kept: &[usize]) -> Groups {
    let mut groups: BTreeMap<(Vec<u8>, usize), Vec<usize>> = BTreeMap::new();
    for &place in kept {
        let key = match &entries[place].what {
            What::Received(packet) => match SmpView::parse(&packet.mad) {
                Ok(view) if view.directed.is_some() => {
                    let hops = usize::from(view.header.hop_count);
                    let route = view.directed.map(|route| route.initial_path);
                    let path = route.iter().flatten().skip(1).take(hops);
                    (path.copied().collect(), 0)
                }
                _ => (packet.slid.0.to_be_bytes().to_vec(), usize::MAX),
            },
            _ => (Vec::new(), place.saturating_add(1)),
        };
        groups.entry(key).or_default().push(place);
    }
    groups.into_values().collect()
}

fn by_input(_: &[Entry], kept: &[usize]) -> Groups {
    kept.iter().map(|place| vec![*place]).collect()
}

struct Search<'a, S, G> {
    entries: &'a [Entry],
    start: Start,
    shows: S,
    goes_on: G,
    pace: Pace,
    runs: u64,
    /// Time is up.
    is_over: bool,
}

impl<S: Fn(Shown<'_>) -> bool, G: FnMut(usize) -> bool> Search<'_, S, G> {
    /// The player of a run.
    fn player(&self) -> Player {
        Player::again(self.start.clone())
    }

    /// The inputs that may be left out, at a pace at which the fault shows.
    fn all(&mut self) -> Result<Vec<usize>, ShortenError> {
        for pace in [Pace::Own, Pace::Recorded] {
            self.pace = pace;
            let all: Vec<usize> = (1..self.entries.len())
                .filter(|place| !self.comes_by_itself(*place))
                .collect();
            if self.play(&all, self.player()) {
                return Ok(all);
            }
        }
        Err(ShortenError::NotAgain)
    }

    /// Whether an input is a deadline or a plan.
    fn comes_by_itself(&self, place: usize) -> bool {
        matches!(self.entries[place].what, What::Tick | What::Planned(_))
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
            if self.play(&kept, self.player()) {
                return Some(fewer);
            }
        }
        None
    }

    /// Whether the fault shows with these inputs, and those that come by themselves.
    fn play(&mut self, kept: &[usize], player: Player) -> bool {
        self.runs += 1;
        let mut play = Play {
            player,
            pace: self.pace,
            now: Tick(0),
            is_over: false,
            shows: &self.shows,
        };
        let mut kept = kept.iter().copied().peekable();
        let by_themselves =
            (0..self.entries.len()).filter(|place| *place == 0 || self.is_recorded_pace(*place));
        let mut by_themselves = by_themselves.peekable();
        let places = iter::from_fn(|| match (kept.peek(), by_themselves.peek()) {
            (Some(one), Some(other)) if one < other => kept.next(),
            (Some(_), None) => kept.next(),
            _ => by_themselves.next(),
        });
        for place in places {
            let entry = &self.entries[place];
            if play.until(entry.at) || play.input(entry.at, &entry.what) {
                return true;
            }
            if play.is_over {
                return false;
            }
        }
        false
    }

    fn is_recorded_pace(&self, place: usize) -> bool {
        self.pace == Pace::Recorded && self.comes_by_itself(place)
    }
}

fn places(groups: &Groups) -> Vec<usize> {
    let mut places: Vec<usize> = groups.iter().flatten().copied().collect();
    places.sort_unstable();
    places
}

/// One run of the manager.
struct Play<'a, S> {
    player: Player,
    pace: Pace,
    now: Tick,
    /// The manager has panicked: nothing follows.
    is_over: bool,
    shows: &'a S,
}

impl<S: Fn(Shown<'_>) -> bool> Play<'_, S> {
    /// The deadlines before an input; returns whether the fault shows.
    fn until(&mut self, at: Tick) -> bool {
        let mut standing = 0;
        while self.pace == Pace::Own && standing < STANDING_MAX && !self.is_over {
            let manager = self.player.manager();
            let due = manager.and_then(|manager| manager.deadline());
            let Some(due) = due.filter(|due| *due <= at) else {
                return false;
            };
            standing = match due > self.now {
                true => 0,
                false => standing + 1,
            };
            if self.input(due.max(self.now), &What::Tick) {
                return true;
            }
        }
        false
    }

    /// An input, and the plans that it leads to; returns whether the fault shows.
    fn input(&mut self, at: Tick, what: &What) -> bool {
        if self.is_over {
            return false;
        }
        self.now = self.now.max(at);
        let what = match (what, self.player.plan()) {
            // Another number, where what led to it is left out.
            (What::Planned(_), Some(last)) => &What::Planned(last),
            (what, _) => what,
        };
        if self.run(what) {
            return true;
        }
        while let Some(plan) = self.player.plan() {
            if self.pace != Pace::Own || self.is_over {
                return false;
            }
            if self.run(&What::Planned(plan)) {
                return true;
            }
        }
        false
    }

    /// Runs the manager over an input; returns whether the fault shows.
    fn run(&mut self, what: &What) -> bool {
        let done = self.player.run(self.now, what);
        self.is_over = matches!(done, Done::Panicked(..));
        is_shown(&done, self.shows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_counts_with_all_its_bytes() {
        let entry = |what| Entry {
            at: Tick(0),
            what,
            digest: None,
        };
        let checkpoint = What::Checkpoint(vec![0; 5000].into());
        let more = bytes_of(&entry(checkpoint)) - bytes_of(&entry(What::Tick));
        assert_eq!(more, 5000);
    }
}
