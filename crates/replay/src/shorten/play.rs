//! One run of the manager, and of subnet administration where there are inputs of it.

use weft_fabric::Tick;
use weft_manager::{Output, SaOutput};
use weft_state::StateError;

use super::{Pace, Shown};
use crate::inputs::What;
use crate::player::{self, Player};
use crate::recorded::Recorded;
use crate::sa::{SaDone, SaPlayer, SaStart, SaWhat};

/// Deadlines that may follow one another without time passing.
const STANDING_MAX: u32 = 100_000;

/// Both of them.
#[derive(Default)]
pub(super) struct Cores {
    player: Player,
    sa: SaPlayer,
    /// The last input was of subnet administration.
    is_at_sa: bool,
}

/// What became of an input.
pub(super) enum Done {
    /// It was handled and led to this.
    Handled(Vec<Output>, Vec<SaOutput>),
    /// It led to this and to a panic, with these words.
    Panicked {
        outputs: Vec<Output>,
        answers: Vec<SaOutput>,
        words: String,
    },
    /// The input is no input now.
    Misplaced,
    /// It is no checkpoint.
    Refused(StateError),
}

impl Done {
    pub(super) fn is_shown(&self, shows: &impl Fn(Shown<'_>) -> bool) -> bool {
        match self {
            Self::Handled(outputs, answers) => shows(Shown {
                outputs,
                answers,
                panic: None,
            }),
            Self::Panicked {
                outputs,
                answers,
                words,
            } => shows(Shown {
                outputs,
                answers,
                panic: Some(words),
            }),
            Self::Misplaced | Self::Refused(_) => false,
        }
    }
}

impl Cores {
    pub(super) fn new(player: Player, sa: SaPlayer) -> Self {
        Self {
            player,
            sa,
            is_at_sa: false,
        }
    }

    pub(super) fn manager(&self) -> Option<&Recorded> {
        self.player.manager()
    }

    pub(super) fn sa_start(&self) -> Option<SaStart> {
        self.sa.start()
    }

    /// Passes an input to the one that it is for.
    pub(super) fn run(&mut self, at: Tick, what: &What) -> Done {
        let What::Sa(what) = what else {
            self.turn_to(at, false);
            return self.run_manager(at, what);
        };
        self.turn_to(at, true);
        match self.sa.run(at, what) {
            SaDone::Handled(answers) => Done::Handled(Vec::new(), answers),
            SaDone::Panicked(answers, words) => Done::Panicked {
                outputs: Vec::new(),
                answers,
                words,
            },
            SaDone::NoSnapshot(_) | SaDone::Misplaced => Done::Misplaced,
            SaDone::Refused(error) => Done::Refused(error),
        }
    }

    fn run_manager(&mut self, at: Tick, what: &What) -> Done {
        let done = self.player.run(at, what);
        if let (What::Checkpoint(_), Some(manager)) = (what, self.player.manager()) {
            self.sa.hold(manager.snapshot());
        }
        match done {
            player::Done::Handled(outputs) => {
                self.sa.follow(&outputs);
                Done::Handled(outputs, Vec::new())
            }
            player::Done::Panicked(outputs, words) => Done::Panicked {
                outputs,
                answers: Vec::new(),
                words,
            },
            player::Done::Misplaced => Done::Misplaced,
            player::Done::Refused(error) => Done::Refused(error),
        }
    }

    /// Where inputs are recorded again, those of both are in the file in the order in which they come.
    fn turn_to(&mut self, at: Tick, is_at_sa: bool) {
        match (std::mem::replace(&mut self.is_at_sa, is_at_sa), is_at_sa) {
            (true, false) => self.sa.flush(at),
            (false, true) => self.player.flush(),
            _ => {}
        }
    }

    /// The next deadline of both, at which it is an input.
    fn deadline(&self) -> Option<(Tick, What)> {
        let manager = self.manager().and_then(|manager| manager.deadline());
        match (manager, self.sa.deadline()) {
            (Some(due), Some(other)) if other < due => Some((other, What::Sa(SaWhat::Tick))),
            (Some(due), _) => Some((due, What::Tick)),
            (None, due) => due.map(|due| (due, What::Sa(SaWhat::Tick))),
        }
    }
}

/// One run.
pub(super) struct Play<'a, S> {
    cores: Cores,
    pace: Pace,
    now: Tick,
    /// One of them has panicked: nothing follows.
    is_over: bool,
    shows: &'a S,
}

impl<'a, S: Fn(Shown<'_>) -> bool> Play<'a, S> {
    pub(super) fn new(cores: Cores, pace: Pace, shows: &'a S) -> Self {
        Self {
            cores,
            pace,
            now: Tick(0),
            is_over: false,
            shows,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The deadlines before an input; returns whether the fault shows.
    pub(super) fn until(&mut self, at: Tick) -> bool {
        let mut standing = 0;
        while self.pace == Pace::Own && standing < STANDING_MAX && !self.is_over {
            let due = self.cores.deadline();
            let Some((due, what)) = due.filter(|(due, _)| *due <= at) else {
                return false;
            };
            standing = match due > self.now {
                true => 0,
                false => standing + 1,
            };
            if self.input(due.max(self.now), &what) {
                return true;
            }
        }
        false
    }

    /// Subnet administration goes on with this state; nothing shows at that.
    pub(super) fn begin_sa(&mut self, at: Tick, start: &SaStart) -> bool {
        self.now = self.now.max(at);
        self.cores.turn_to(self.now, true);
        self.cores.sa.begin(self.now, start.clone());
        false
    }

    /// An input, and the plans that it leads to; returns whether the fault shows.
    pub(super) fn input(&mut self, at: Tick, what: &What) -> bool {
        if self.is_over {
            return false;
        }
        self.now = self.now.max(at);
        let what = match (what, self.cores.player.plan()) {
            // Other numbers, where what led to these is left out.
            (What::Planned(_), Some(last)) => &What::Planned(last),
            (What::Sa(SaWhat::Published(number)), _) => {
                &What::Sa(SaWhat::Published(self.cores.sa.at_hand(*number)))
            }
            (what, _) => what,
        };
        if self.run(what) {
            return true;
        }
        while let Some(plan) = self.cores.player.plan() {
            if self.pace != Pace::Own || self.is_over {
                return false;
            }
            if self.run(&What::Planned(plan)) {
                return true;
            }
        }
        false
    }

    /// Runs an input; returns whether the fault shows.
    fn run(&mut self, what: &What) -> bool {
        let done = self.cores.run(self.now, what);
        self.is_over = matches!(done, Done::Panicked { .. });
        done.is_shown(self.shows)
    }
}
