//! The decision at the end of a discovery.

use weft_fabric::{Lid, Tick};
use weft_wire::enums::SmState;

use super::{Act, Election, QUICK, Verdict, View};

/// Sweeps after a manager has won an election in which one that still discovers may have decided to
/// lead as well, having looked here before.
const RACE_SWEEPS_MAX: u64 = 10;

impl Election {
    /// Decides from the discovered managers which one runs the fabric; also returns the actions to perform
    /// before that, in order.
    pub(in crate::sm) fn elect(&mut self, now: Tick, view: &View) -> (Verdict, Vec<Act>) {
        let verdict = self.verdict(now, view);
        (verdict, std::mem::take(&mut self.acts))
    }

    fn verdict(&mut self, now: Tick, view: &View) -> Verdict {
        if view.whole {
            self.forget_absent_peers(view);
        }
        if self.is_cut_off() {
            return Verdict::Rest;
        }
        if !view.own_link {
            let why = "its own port has no link".to_owned();
            self.take_role(SmState::DISCOVERING, None, why);
            return Verdict::Rest;
        }
        match self.role {
            SmState::MASTER => self.elect_as_master(now, view),
            SmState::DISCOVERING => self.elect_as_newcomer(now, view),
            _ => Verdict::Rest,
        }
    }

    fn elect_as_newcomer(&mut self, now: Tick, view: &View) -> Verdict {
        let own = self.rank(view);
        let master = self.best(view, |peer| peer.info.sm_state_current == SmState::MASTER);
        let better = || self.best(view, |peer| peer.rank() > own);
        if let Some(peer) = master.or_else(better) {
            self.stand_by(now, &peer, "another manager goes before");
            return Verdict::Rest;
        }
        if self.should_ask_again(view) {
            self.sweep();
            return Verdict::Rest;
        }
        if self.mandate.forbids() {
            // Who holds the mandate may be there soon.
            self.watch.poll_at = Some(now + QUICK);
            return Verdict::Rest;
        }
        self.win(view, "no better manager is there")
    }

    /// Whether a manager that did not answer may be a master whose answers were lost. After some
    /// attempts it counts as dead.
    fn should_ask_again(&mut self, view: &View) -> bool {
        let attempts = view.settings.ping_max_fail.max(1);
        let silent = self.watch.silent_in == view.sweep;
        self.watch.fails += u32::from(silent);
        silent && self.watch.fails < attempts
    }

    /// Whether another manager has become master of this manager's own port since the last sweep.
    fn was_replaced(&self, view: &View) -> bool {
        let before = self.own_master_lid;
        before.0 != 0 && before == view.own_lid && before != view.own_master_lid
    }

    fn elect_as_master(&mut self, now: Tick, view: &View) -> Verdict {
        if self.was_replaced(view) {
            // A device that was reset has no master's LID.
            let why = match view.own_master_lid {
                Lid(0) => "its own port was reset",
                _ => "another manager was master meanwhile",
            };
            self.discover_again(why.to_owned());
            return Verdict::Rest;
        }
        let own = self.rank(view);
        let better = self.best(view, |peer| peer.rank() > own);
        self.wait_for_none_but(better.as_ref().map(|peer| peer.info.port_guid));
        match better.map(|peer| (peer.info.sm_state_current, peer)) {
            Some((SmState::MASTER, peer)) => {
                self.tell_handover(view, &peer);
                self.stand_by(now, &peer, "two masters have met and the other is better");
                return Verdict::Rest;
            }
            Some((SmState::STANDBY, peer))
                if self.may_hand_over(now) && self.wait_for_copy(now, peer.info.port_guid) =>
            {
                self.hand_over(now, view, &peer);
                return Verdict::Rest;
            }
            _ => {}
        }
        let is_race = view.sweep - self.won_in <= RACE_SWEEPS_MAX;
        if self.has_rival(view, SmState::MASTER)
            || (is_race && self.has_rival(view, SmState::DISCOVERING))
        {
            // The other one steps down when it has seen this one. Until then it is looked at often.
            self.acts.push(Act::Doubt);
            self.sweep();
        }
        Verdict::Lead
    }

    /// Becomes master.
    fn win(&mut self, view: &View, why: &str) -> Verdict {
        self.take_role(SmState::MASTER, None, why.to_owned());
        if !self.others.peers.is_empty() {
            // Two managers that decided at the same time find each other in another sweep.
            self.sweep();
        }
        if self.has_rival(view, SmState::DISCOVERING) {
            // It may lead for a while, and may have stepped down again when it is met.
            self.acts.push(Act::Doubt);
        }
        self.won_in = view.sweep;
        Verdict::Won
    }
}
