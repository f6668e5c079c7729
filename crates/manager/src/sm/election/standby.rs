//! Standby: polls the master; rediscovers the fabric when polls fail.

use weft_fabric::{Guid, Tick, text};
use weft_wire::enums::SmState;
use weft_wire::sm::SmInfo;

use super::check::Check;
use super::{Act, Election, Peer, QUICK, Question, View};

/// State of a standby about its master.
#[derive(Debug, Default)]
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
}

impl Watch {
    /// Another master is to be watched, or none.
    pub(super) fn begin(&mut self, master: Option<Guid>) {
        self.master = master;
        self.poll_at = None;
        self.fails = 0;
        self.check = None;
        self.given_up = None;
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
        self.watch.poll_at = Some(now + view.settings.ping_interval);
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
}
