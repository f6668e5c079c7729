//! What a manager becomes at the end of a discovery.

use std::sync::Arc;

use weft_fabric::{Guid, Lid, Lmc, Tick};
use weft_wire::enums::SmState;

use super::super::Manager;
use super::super::devices::{Device, Stage};
use super::super::discover::is_up;
use super::super::plan::Plan;
use super::Peer;
use crate::io::SweepReason;

/// Sweeps after a manager has won an election in which one that still discovers may have decided to
/// lead as well, having looked here before.
const RACE_SWEEPS_MAX: u64 = 10;

/// What follows a discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Verdict {
    /// Plan and write.
    Lead,
    /// Discovery goes on: switches are to report changes to this manager from now on.
    GoOn,
    /// The sweep ends here, nothing is written.
    Rest,
}

impl Manager {
    /// Decides, with what discovery has found, who runs the fabric.
    pub(in super::super) fn elect(&mut self, now: Tick) -> Verdict {
        if self.sweep.near.is_none() {
            self.forget_absent_peers();
        }
        if self.standing.is_cut_off() {
            return Verdict::Rest;
        }
        if !self.has_link() {
            let why = "its own port has no link".to_owned();
            self.take_role(SmState::DISCOVERING, None, why);
            return Verdict::Rest;
        }
        match self.standing.role() {
            SmState::MASTER => self.elect_as_master(now),
            SmState::DISCOVERING => self.elect_as_newcomer(now),
            _ => Verdict::Rest,
        }
    }

    fn has_link(&self) -> bool {
        let own = self.devices.own();
        own.and_then(|device| device.observed.port(device.end_port()))
            .is_some_and(is_up)
    }

    /// The best of those other managers that take part and that `wanted` names.
    fn best(&self, wanted: impl Fn(&Peer) -> bool) -> Option<Peer> {
        let key = self.settings.election.sm_key;
        let takes_part = |peer: &&Peer| {
            peer.info.sm_key == key && peer.info.sm_state_current != SmState::NOT_ACTIVE
        };
        let peers = self.standing.peers.values();
        let wanted = peers.filter(takes_part).filter(|peer| wanted(peer));
        wanted.max_by_key(|peer| peer.rank()).cloned()
    }

    /// Whether another manager that takes part is in this state.
    fn has_rival(&self, state: SmState) -> bool {
        self.best(|peer| peer.info.sm_state_current == state)
            .is_some()
    }

    fn elect_as_newcomer(&mut self, now: Tick) -> Verdict {
        let own = self.rank();
        let master = self.best(|peer| peer.info.sm_state_current == SmState::MASTER);
        let better = || self.best(|peer| peer.rank() > own);
        if let Some(peer) = master.or_else(better) {
            self.stand_by(now, &peer, "another manager goes before");
            return Verdict::Rest;
        }
        if self.should_ask_again() {
            self.request_sweep(now, SweepReason::Election);
            return Verdict::Rest;
        }
        self.lead(now, "no better manager is there")
    }

    /// Whether a manager that did not answer may be a master whose answers were lost. After some
    /// attempts it counts as dead.
    fn should_ask_again(&mut self) -> bool {
        let attempts = self.settings.election.ping_max_fail.max(1);
        let standing = &mut self.standing;
        let silent = standing.silent_in == self.sweep.number;
        standing.fails += u32::from(silent);
        silent && standing.fails < attempts
    }

    /// MasterSMLID of this manager's own port.
    fn own_master_lid(&self) -> Lid {
        let own = self.devices.own();
        own.and_then(|device| device.observed.port(device.end_port()))
            .map_or(Lid(0), |info| info.master_sm_lid)
    }

    /// Notes whom the own port takes for master, before it is asked again.
    pub(in super::super) fn note_own_master(&mut self) {
        self.standing.own_master_lid = self.own_master_lid();
    }

    /// Whether somebody else has made himself master of this manager's own port since the last sweep.
    fn was_replaced(&self) -> bool {
        let before = self.standing.own_master_lid;
        before.0 != 0 && before == self.plan.sm_lid() && before != self.own_master_lid()
    }

    fn elect_as_master(&mut self, now: Tick) -> Verdict {
        if self.was_replaced() {
            // A device that was reset has no master's LID.
            let why = match self.own_master_lid() {
                Lid(0) => "its own port was reset",
                _ => "another manager was master meanwhile",
            };
            self.discover_again(now, why.to_owned());
            return Verdict::Rest;
        }
        let own = self.rank();
        let better = self.best(|peer| peer.rank() > own);
        match better.map(|peer| (peer.info.sm_state_current, peer)) {
            Some((SmState::MASTER, peer)) => {
                self.tell_handover(now, &peer);
                self.stand_by(now, &peer, "two masters have met and the other is better");
                return Verdict::Rest;
            }
            Some((SmState::STANDBY, peer)) if self.may_hand_over(now) => {
                self.hand_over(now, &peer);
                return Verdict::Rest;
            }
            _ => {}
        }
        let is_race = self.sweep.number - self.standing.won_in <= RACE_SWEEPS_MAX;
        if self.has_rival(SmState::MASTER) || (is_race && self.has_rival(SmState::DISCOVERING)) {
            // The other one steps down when it has seen this one. Until then it is looked at often.
            self.devices.doubt_all();
            self.request_sweep(now, SweepReason::Election);
        }
        Verdict::Lead
    }

    /// Becomes master. Switches note one change at a time, and tell it to their master: those notes
    /// are cleared, and what changed since is read, before anything is planned.
    fn lead(&mut self, now: Tick, why: &str) -> Verdict {
        self.take_role(SmState::MASTER, None, why.to_owned());
        if !self.standing.peers.is_empty() {
            // Who decided at the same time is met again.
            self.request_sweep(now, SweepReason::Election);
        }
        if self.has_rival(SmState::DISCOVERING) {
            // It may lead for a while, and may have stepped down again when it is met.
            self.devices.doubt_all();
        }
        let number = self.sweep.number;
        self.standing.won_in = number;
        let mut any = false;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            let switch = device.observed.switch();
            let noted = switch.is_some_and(|switch| switch.port_state_change);
            if noted && device.health.works_in(number) {
                device.work.enter(Stage::Rearm);
                self.make_ready(node);
                any = true;
            }
        }
        if any { Verdict::GoOn } else { Verdict::Lead }
    }

    /// Takes the fabric as it is: readers see it, and nothing is to be written. Nodes are numbered anew
    /// in each sweep, so that what was planned for the old numbers must not be taken for theirs.
    pub(in super::super) fn plan_nothing(&mut self) {
        self.settle_links();
        let held = |device: &Device| {
            let port = device.observed.port(device.end_port());
            port.map_or((Lid(0), Lmc(0)), |info| (info.lid, info.lmc))
        };
        self.plan = Plan {
            topology: Arc::new(self.confirmed_topology()),
            lids: self.devices.iter().map(held).collect(),
            ..Plan::default()
        };
    }

    /// Port GUID of the master: this manager's, or that of the one that it stands by for.
    pub(in super::super) fn master_guid(&self) -> Option<Guid> {
        match self.standing.is_master() {
            true => Some(self.devices.own_port_guid()),
            false => self.standing.master,
        }
    }
}
