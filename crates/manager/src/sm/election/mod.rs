//! Election of the master among several subnet managers.
//!
//! A manager begins as discovering: it reads the fabric and writes nothing. If another is master
//! already, or a better one is about to be, it becomes standby: it polls the master from time to time,
//! and starts over when polls fail. Otherwise it is master. The higher priority is better,
//! then the lower port GUID. Managers with another SM_Key take no part.
//!
//! [`Election`] sees no node and sends nothing itself: it gets inputs and a [`View`], and
//! returns [`Act`]s, which `managers.rs` carries out.
//!
//! | module | contents |
//! |---|---|
//! | `mandate` | who may become master where that is decided outside the fabric too |
//! | `io` | its inputs, view and actions |
//! | `decide` | the decision at the end of a discovery |
//! | `others` | the other managers |
//! | `standby` | polling the master, and asking one that may be gone |
//! | `handover` | handover to a better manager |
//! | `asked` | requests of other managers |

mod asked;
mod decide;
mod handover;
mod io;
mod mandate;
mod others;
mod standby;

pub(super) use io::{Act, Input, Question, Verdict, View};
pub use mandate::Mandate;
pub(super) use others::Peer;

use std::time::Duration;

use weft_fabric::{Guid, Lid, Tick};
use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::sm::{SmInfo, SmInfoControl};

use super::settings::ElectionSettings;
use handover::Handovers;
use others::{Others, Rank};
use standby::Watch;

/// Maximum delay before a master assumes that it was replaced; must be below a standby's
/// failure-detection time.
const LATE_MAX: Duration = Duration::from_secs(3);
/// Interval of polls after a failed one, and between the election and the
/// first poll.
const QUICK: Duration = Duration::from_secs(1);

/// Tracks whether the manager is called at its deadlines.
#[derive(Debug, Clone, Default, State)]
struct Calls {
    /// The time of the last input.
    now: Tick,
    /// When the next input was due at the latest.
    due: Option<Tick>,
    /// Whether the current sweep writes nothing more.
    cut_off: bool,
}

/// Role of this manager among the others.
#[derive(Debug, Clone, State)]
pub(super) struct Election {
    role: SmState,
    /// The sweep in which it became master.
    won_in: u64,
    /// An operator has restored the normal priority since it became master.
    restored: bool,
    /// Since when it is master.
    master_since: Tick,
    /// MasterSMLID of its own port before the current sweep.
    own_master_lid: Lid,
    watch: Watch,
    handovers: Handovers,
    others: Others,
    mandate: Mandate,
    calls: Calls,
    /// Pending actions, in order.
    #[state(skip)]
    acts: Vec<Act>,
}

impl Default for Election {
    fn default() -> Self {
        Self {
            role: SmState::DISCOVERING,
            won_in: 0,
            restored: false,
            master_since: Tick(0),
            own_master_lid: Lid(0),
            watch: Watch::default(),
            handovers: Handovers::default(),
            others: Others::default(),
            mandate: Mandate::default(),
            calls: Calls::default(),
            acts: Vec::new(),
        }
    }
}

impl Election {
    /// Role of this manager.
    pub(super) fn role(&self) -> SmState {
        self.role
    }

    /// Whether it may change the fabric.
    pub(super) fn is_master(&self) -> bool {
        self.role == SmState::MASTER
    }

    /// Whether it may change the fabric, and no other manager is about to take over.
    pub(super) fn may_write(&self) -> bool {
        self.is_master() && self.handovers.under_way.is_none()
    }

    /// Whether it may sweep: to find the master, or as master.
    pub(super) fn may_sweep(&self) -> bool {
        let role = matches!(self.role, SmState::MASTER | SmState::DISCOVERING);
        role && self.handovers.under_way.is_none()
    }

    /// Whether it became master in this sweep, which has read the fabric already.
    pub(super) fn has_won_in(&self, sweep: u64) -> bool {
        self.won_in == sweep
    }

    /// Port GUID of the manager that this one stands by for.
    pub(super) fn master(&self) -> Option<Guid> {
        self.watch.master
    }

    /// The time of the last input.
    pub(super) fn now(&self) -> Tick {
        self.calls.now
    }

    /// When something is to be done at the latest.
    pub(super) fn deadline(&self) -> Option<Tick> {
        let handover = self.handovers.under_way.map(|handover| handover.until);
        let check = self.watch.check.as_ref().map(|check| check.next);
        let polls = self.watch.poll_at.into_iter().chain(check);
        polls
            .chain(handover)
            .chain(self.handovers.wait_ends())
            .chain(self.standby_due())
            .min()
    }

    /// The other managers, in order of their port GUIDs.
    pub(super) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.others.peers.values()
    }

    /// Whether the current sweep writes nothing more.
    pub(super) fn is_cut_off(&self) -> bool {
        self.calls.cut_off
    }

    /// Processes an input; returns the actions, in order.
    pub(super) fn handle(&mut self, now: Tick, view: &View, input: Input<'_>) -> Vec<Act> {
        match input {
            Input::Begun => self.begin_input(now, view),
            Input::Tick => {
                self.poll_master(now, view);
                self.go_on_checking(now, view);
                self.end_stale_handover(now);
                self.end_wait(now);
                if self.miss_standbys(now) {
                    self.sweep();
                }
            }
            Input::Asked(asked) => self.asked(now, view, asked),
            Input::Found(peer) => self.found(view, peer),
            Input::NotFound(port) => self.not_found(view, port),
            Input::Suspected(master, why) => self.suspected(now, view, master, why),
            Input::Behind(behind) => self.watch.behind = behind,
            Input::OtherSettings(unlike) => self.other_settings(unlike),
            Input::Copied(to) => self.copied(to),
            Input::Mandated(mandate) => self.mandated(now, view, mandate),
            Input::Replaced(why) => self.replaced(why),
            Input::Answered(question, info) => self.answered(now, view, question, info),
            Input::NotAnswered(question) => self.not_answered(now, view, question),
        }
        std::mem::take(&mut self.acts)
    }

    fn answered(&mut self, now: Tick, view: &View, question: Question, info: Option<SmInfo>) {
        match (question, info) {
            (Question::Poll, info) => self.poll_answered(now, view, info),
            (Question::Check, info) => self.check_answered(now, view, info),
            // The other manager is master once it says so itself.
            (Question::Handover, None) => self.end_handover(now),
            _ => {}
        }
    }

    fn not_answered(&mut self, now: Tick, view: &View, question: Question) {
        match question {
            Question::Poll => self.poll_not_answered(now, view),
            Question::Handover => self.end_handover(now),
            // The time for its answer is short, and runs by itself.
            Question::Check | Question::Notice => {}
        }
    }

    /// A sweep begins, which reads the manager's own port again.
    pub(super) fn begin_sweep(&mut self, own_master_lid: Lid) {
        self.own_master_lid = own_master_lid;
    }

    /// The priority that counts at present.
    pub(super) fn priority(&self, settings: &ElectionSettings) -> u8 {
        if let Some(mandated) = self.mandate.priority(self.is_master()) {
            return mandated;
        }
        match self.is_master() && self.others.any_seen && !self.restored {
            true => settings.priority.max(settings.elevated_priority),
            false if self.watch.lags() => 0,
            false => settings.priority,
        }
    }

    /// Whether the elevated priority counts at present.
    pub(super) fn is_elevated(&self, settings: &ElectionSettings) -> bool {
        self.mandate == Mandate::Unneeded && self.priority(settings) > settings.priority
    }

    /// Lets the normal priority count as long as this manager is master; returns whether that changes it.
    pub(super) fn restore_priority(&mut self, settings: &ElectionSettings) -> bool {
        let was_elevated = self.is_elevated(settings);
        self.restored |= was_elevated;
        was_elevated
    }

    fn rank(&self, view: &View) -> Rank {
        Rank::of(self.priority(&view.settings), view.own_port)
    }

    /// SMInfo of this manager, without its key unless `with_key`. The sender fills
    /// in ActCount.
    pub(super) fn own_sm_info(&self, view: &View, with_key: bool) -> SmInfo {
        let election = view.settings;
        let seconds = match self.is_master() {
            true => self.calls.now.since(self.master_since).as_secs(),
            false => 0,
        };
        SmInfo {
            port_guid: view.own_port,
            sm_key: if with_key { election.sm_key } else { 0 },
            act_count: 0,
            elapsed_time: u32::try_from(seconds).unwrap_or(u32::MAX),
            priority: self.priority(&view.settings),
            elevated_priority: election.elevated_priority,
            initial_priority: election.priority,
            sm_state_current: self.role,
        }
    }

    /// Sends Get(SMInfo) to another manager, or a Set with its action.
    fn send(
        &mut self,
        view: &View,
        path: Box<[weft_fabric::PortNum]>,
        control: Option<SmInfoControl>,
        question: Question,
    ) {
        let info = self.own_sm_info(view, true);
        self.acts.push(Act::Send {
            path,
            control,
            info,
            question,
        });
    }

    /// Requests a sweep.
    fn sweep(&mut self) {
        self.acts.push(Act::Sweep);
    }

    /// Changes what this manager is, and tells it.
    fn take_role(&mut self, role: SmState, master: Option<Guid>, why: String) {
        let is_news = self.role != role || self.watch.master != master;
        let takes_over = role == SmState::MASTER && self.role != role;
        if takes_over {
            self.master_since = self.calls.now;
        }
        self.restored &= role == SmState::MASTER;
        self.role = role;
        self.watch.begin(master);
        self.watch.stood_by |= role == SmState::STANDBY;
        self.watch.stood_by &= role != SmState::MASTER;
        self.handovers.under_way = None;
        self.handovers.wait = None;
        self.others.forget_asks();
        self.acts.push(Act::Role {
            role,
            master,
            news: is_news.then_some(why),
            takes_over,
        });
    }

    /// Looks for the master anew.
    fn discover_again(&mut self, why: String) {
        self.take_role(SmState::DISCOVERING, None, why);
        self.sweep();
    }

    /// A master that was not heard of for so long that another may have taken over (its process was
    /// stopped, its machine asleep) writes nothing before it knows.
    fn begin_input(&mut self, now: Tick, view: &View) {
        self.calls.now = now;
        let late = self.calls.due.is_some_and(|due| now > due + LATE_MAX);
        if late {
            self.mandate = self.mandate.doubted();
        }
        if late && self.is_master() {
            self.calls.cut_off = view.sweeping;
            let why = "it did nothing for a while: it was stopped, or had no fabric".to_owned();
            self.take_role(SmState::DISCOVERING, None, why);
            self.acts.push(Act::DropWork);
            self.sweep();
        }
    }

    /// Records when the manager is to be called again.
    pub(super) fn end_input(&mut self, due: Option<Tick>) {
        self.calls.due = due;
    }

    /// The current sweep has ended.
    pub(super) fn end_sweep(&mut self) {
        self.calls.cut_off = false;
    }
}
