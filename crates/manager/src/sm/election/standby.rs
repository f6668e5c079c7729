//! Standby: polls the master; rediscovers the fabric when polls fail.
//!
//! A master that may be gone, as a standby was told by another way than the fabric, is asked at once and with little
//! patience. What it or its port's agent says decides, and so does silence; what was told does not. A discovery
//! follows in which it is asked again, so that a wrong suspicion costs reads and no write.

use std::time::Duration;

use weft_fabric::{Guid, Tick, text};
use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::sm::SmInfo;

use super::{Act, Election, Mandate, Peer, QUICK, Question, View};

/// Requests, and the time from one to the next and from the last to the verdict.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(30);

/// A master that is being asked.
#[derive(Debug, Clone, State)]
pub(super) struct Check {
    /// When the next request, or the verdict, is due.
    pub next: Tick,
    /// Requests that are left.
    left: u32,
    /// Why it is asked.
    why: String,
    /// What it was told of its registrations is in doubt if it answers.
    doubts: bool,
}

/// State of a standby about its master.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Watch {
    /// Its port GUID.
    pub master: Option<Guid>,
    /// Time of the next poll.
    pub poll_at: Option<Tick>,
    /// Consecutive failed polls of the master; of a newcomer, consecutive discoveries in
    /// which some manager did not answer.
    pub fails: u32,
    /// The sweep in which some manager did not answer last.
    pub silent_in: u64,
    /// The master may be gone, and is being asked.
    pub check: Option<Check>,
    /// The port of a master that was found gone: its silence in the discovery that follows is no news.
    pub given_up: Option<Guid>,
    /// It lacks something of what its master hands on.
    pub behind: bool,
    /// It is inactive since its settings are not its master's.
    pub unlike: bool,
    /// It has been a standby since it began, or was master last.
    pub stood_by: bool,
}

impl Watch {
    /// Another master is to be watched, or none.
    pub(super) fn begin(&mut self, master: Option<Guid>) {
        self.master = master;
        self.poll_at = None;
        self.fails = 0;
        self.check = None;
        self.given_up = None;
        self.unlike = false;
    }

    /// Whether another manager is to be preferred to this standby. One that begins has not heard of anything that it
    /// could lack.
    pub(super) fn lags(&self) -> bool {
        self.behind && self.stood_by
    }
}

impl Election {
    /// Stands by for another manager.
    pub(super) fn stand_by(&mut self, now: Tick, master: &Peer, why: &str) {
        self.stand_by_for(now, master.info.port_guid, why.to_owned());
    }

    /// Stands by for the manager on a port.
    pub(super) fn stand_by_for(&mut self, now: Tick, master: Guid, why: String) {
        self.take_role(SmState::STANDBY, Some(master), why);
        self.watch.poll_at = Some(now + QUICK);
    }

    /// Polls the master when it is due.
    pub(super) fn poll_master(&mut self, now: Tick, view: &View) {
        if self.watch.poll_at.is_none_or(|at| at > now) {
            return;
        }
        self.watch.poll_at = None;
        let master = self.watch.master;
        let master = master.and_then(|guid| self.others.peers.get(&guid));
        let Some(path) = master.map(|peer| peer.path.clone()) else {
            self.discover_again("where the master is, is not known".to_owned());
            return;
        };
        if !view.has_room {
            self.watch.poll_at = Some(now + QUICK);
            return;
        }
        self.send(view, path, None, Question::Poll);
    }

    /// The master, or the agent of its port, has answered.
    pub(super) fn poll_answered(&mut self, now: Tick, view: &View, info: Option<SmInfo>) {
        if self.role != SmState::STANDBY {
            return;
        }
        let Some(info) = info else {
            let why = "the master's port says that no subnet manager runs there";
            self.discover_again(why.to_owned());
            return;
        };
        let expected =
            self.watch.master == Some(info.port_guid) && info.sm_key == view.settings.sm_key;
        if !expected || info.sm_state_current != SmState::MASTER {
            self.poll_failed(now, view, "is no master");
            return;
        }
        self.watch.fails = 0;
        self.watch.poll_at = Some(now + self.mandate.poll_interval(view.settings.ping_interval));
        if let Some(peer) = self.others.peers.get_mut(&info.port_guid) {
            peer.info = info;
        }
        self.acts.push(Act::Publish);
    }

    /// The master did not answer.
    pub(super) fn poll_not_answered(&mut self, now: Tick, view: &View) {
        if self.role == SmState::STANDBY {
            self.poll_failed(now, view, "does not answer");
        }
    }

    fn poll_failed(&mut self, now: Tick, view: &View, what: &str) {
        let settings = view.settings;
        self.watch.fails += 1;
        let fails = self.watch.fails;
        if fails >= settings.ping_max_fail.max(1) {
            let why = format!("the master {what}, {} in a row", text::count(fails, "time"));
            self.discover_again(why);
        } else {
            self.watch.poll_at = Some(now + settings.ping_interval.min(QUICK));
        }
    }

    /// Something new is known of the mandate to be master.
    pub(super) fn mandated(&mut self, now: Tick, view: &View, mandate: Mandate) {
        if std::mem::replace(&mut self.mandate, mandate) == mandate {
            return;
        }
        match self.role {
            SmState::STANDBY => {
                if let Some(why) = mandate.why_look(self.watch.master) {
                    self.look_after_master(now, view, why, false);
                }
            }
            SmState::DISCOVERING | SmState::MASTER => self.acts.push(Act::Sweep),
            _ => {}
        }
        self.acts.push(Act::Publish);
    }

    /// The master on a port may be gone: it is asked, unless it is not this standby's master or is being asked.
    pub(super) fn suspected(&mut self, now: Tick, view: &View, master: Guid, why: &str) {
        if self.watch.master == Some(master) {
            self.look_after_master(now, view, why, true);
        }
    }

    /// Asks the master whether it lives; `doubts`: where it does, its registrations may be others than was told.
    pub(super) fn look_after_master(&mut self, now: Tick, view: &View, why: &str, doubts: bool) {
        if self.role != SmState::STANDBY || self.watch.check.is_some() {
            return;
        }
        self.watch.check = Some(Check {
            next: now,
            left: ATTEMPTS,
            why: why.to_owned(),
            doubts,
        });
        self.go_on_checking(now, view);
    }

    /// Asks once more when it is due; after the last request the master counts as gone.
    pub(super) fn go_on_checking(&mut self, now: Tick, view: &View) {
        let Some(check) = self.watch.check.as_mut().filter(|check| check.next <= now) else {
            return;
        };
        check.next = now + PAUSE;
        let asks = check.left > 0;
        check.left = check.left.saturating_sub(1);
        let peer = |guid| self.others.peers.get(&guid);
        let path = self
            .watch
            .master
            .and_then(peer)
            .map(|peer| peer.path.clone());
        match path {
            Some(path) if asks => {
                if view.has_room {
                    self.send(view, path, None, Question::Check);
                }
            }
            _ => self.give_up("it does not answer"),
        }
    }

    /// The master, or the agent of its port, has answered.
    pub(super) fn check_answered(&mut self, now: Tick, view: &View, info: Option<SmInfo>) {
        let Some(doubts) = self.watch.check.as_ref().map(|check| check.doubts) else {
            return;
        };
        let Some(info) = info else {
            self.give_up("its port says that no subnet manager runs there");
            return;
        };
        self.watch.check = None;
        if doubts {
            // Clients may be promised more meanwhile, of which this standby is not told.
            self.acts.push(Act::DoubtRegistrations);
        }
        self.poll_answered(now, view, Some(info));
    }

    /// The master counts as gone.
    fn give_up(&mut self, what: &str) {
        let (master, check) = (self.watch.master, self.watch.check.take());
        let told = check.map_or_else(String::new, |check| check.why);
        self.discover_again(format!("the master may be gone ({told}), and {what}"));
        self.watch.given_up = master;
    }

    /// Whether the master on a port was just found gone.
    pub(in crate::sm) fn has_given_up(&self, port: Guid) -> bool {
        self.watch.given_up == Some(port)
    }

    /// Discovery has found a port whose manager does not answer.
    pub(super) fn not_found(&mut self, view: &View, port: Guid) {
        if self.watch.given_up != Some(port) {
            self.watch.silent_in = view.sweep;
        }
    }

    /// A standby that has other settings than its master is none until it has the same: it becomes inactive.
    pub(super) fn other_settings(&mut self, unlike: bool) {
        match (unlike, self.role) {
            (true, SmState::STANDBY) => {
                let why = "its settings are not its master's".to_owned();
                self.take_role(SmState::NOT_ACTIVE, self.watch.master, why);
                self.watch.unlike = true;
                self.acts.push(Act::Publish);
            }
            (false, SmState::NOT_ACTIVE) if self.watch.unlike => {
                self.discover_again("its settings are its master's again".to_owned());
            }
            _ => {}
        }
    }

    /// Another manager has become master.
    pub(super) fn replaced(&mut self, why: &str) {
        if self.is_master() {
            self.discover_again(why.to_owned());
        }
    }
}
