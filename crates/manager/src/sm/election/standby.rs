//! Standing by: the master is asked whether it lives; when it does not, the fabric is looked at anew.

use weft_fabric::Tick;
use weft_wire::enums::SmState;
use weft_wire::smp::SmpView;

use super::super::{Manager, Tag};
use super::{Peer, QUICK};

impl Manager {
    /// Stands by for another manager.
    pub(super) fn stand_by(&mut self, now: Tick, master: &Peer, why: &str) {
        self.take_role(
            SmState::STANDBY,
            Some(master.info.port_guid),
            why.to_owned(),
        );
        self.standing.poll_at = Some(now + QUICK);
    }

    /// Asks the master whether it lives, when it is time to.
    pub(super) fn poll_master(&mut self, now: Tick) {
        let standing = &mut self.standing;
        if standing.poll_at.is_none_or(|at| at > now) {
            return;
        }
        standing.poll_at = None;
        let master = standing.master.and_then(|guid| standing.peers.get(&guid));
        let Some(path) = master.map(|peer| peer.path.clone()) else {
            self.discover_again(now, "where the master is, is not known".to_owned());
            return;
        };
        if !self.transactions.has_room() {
            self.standing.poll_at = Some(now + QUICK);
            return;
        }
        self.send_sm_info(now, &path, None, Tag::Poll);
    }

    /// The master, or the agent of its port, has answered.
    pub(in super::super) fn poll_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        if self.standing.role != SmState::STANDBY {
            return;
        }
        let Some(info) = Self::answer_of(view) else {
            let why = "the master's port says that no subnet manager runs there";
            self.discover_again(now, why.to_owned());
            return;
        };
        let expected = self.standing.master == Some(info.port_guid)
            && info.sm_key == self.settings.election.sm_key;
        if !expected || info.sm_state_current != SmState::MASTER {
            self.poll_failed(now, "is no master");
            return;
        }
        let interval = self.settings.election.ping_interval;
        let standing = &mut self.standing;
        standing.fails = 0;
        standing.poll_at = Some(now + interval);
        if let Some(peer) = standing.peers.get_mut(&info.port_guid) {
            peer.info = info;
        }
        self.publish();
    }

    /// The master did not answer.
    pub(in super::super) fn poll_not_answered(&mut self, now: Tick) {
        if self.standing.role == SmState::STANDBY {
            self.poll_failed(now, "does not answer");
        }
    }

    fn poll_failed(&mut self, now: Tick, what: &str) {
        let election = self.settings.election;
        let standing = &mut self.standing;
        standing.fails += 1;
        let fails = standing.fails;
        if fails >= election.ping_max_fail.max(1) {
            let why = format!("the master {what}, {fails} times in a row");
            self.discover_again(now, why);
        } else {
            standing.poll_at = Some(now + election.ping_interval.min(QUICK));
        }
    }
}
