//! A master that may be gone, as a standby was told by another way than the fabric: it is asked at once and with
//! little patience. What it or its port's agent says decides, and so does silence; what was told does not. A discovery
//! follows in which it is asked again, so that a wrong suspicion costs reads and no write.

use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_wire::enums::SmState;
use weft_wire::sm::SmInfo;

use super::{Act, Election, Question, View};

/// Requests, and the time from one to the next and from the last to the verdict.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);

/// A master that is being asked.
#[derive(Debug)]
pub(super) struct Check {
    /// When the next request, or the verdict, is due.
    pub next: Tick,
    /// Requests that are left.
    left: u32,
    /// Why it is asked.
    why: String,
}

impl Election {
    /// The master on a port may be gone: it is asked, unless it is not this standby's master or is being asked.
    pub(super) fn suspected(&mut self, now: Tick, view: &View, master: Guid, why: &str) {
        let counts = self.role == SmState::STANDBY && self.watch.master == Some(master);
        if !counts || self.watch.check.is_some() {
            return;
        }
        self.watch.check = Some(Check {
            next: now,
            left: ATTEMPTS,
            why: why.to_owned(),
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
        if self.watch.check.is_none() {
            return;
        }
        let Some(info) = info else {
            self.give_up("its port says that no subnet manager runs there");
            return;
        };
        self.watch.check = None;
        // Clients may be promised more meanwhile, of which this standby is not told.
        self.acts.push(Act::DoubtRegistrations);
        self.poll_answered(now, view, Some(info));
    }

    /// The master counts as gone.
    fn give_up(&mut self, what: &str) {
        let (master, check) = (self.watch.master, self.watch.check.take());
        let told = check.map_or_else(String::new, |check| check.why);
        self.discover_again(format!("the master may be gone ({told}), and {what}"));
        self.watch.given_up = master;
    }

    /// Discovery has found a port whose manager does not answer.
    pub(super) fn not_found(&mut self, view: &View, port: Guid) {
        if self.watch.given_up != Some(port) {
            self.watch.silent_in = view.sweep;
        }
    }

    /// Another manager has become master of this one's port.
    pub(super) fn replaced(&mut self) {
        if self.is_master() {
            self.discover_again("its own port names another master".to_owned());
        }
    }
}
