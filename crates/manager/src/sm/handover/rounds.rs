//! One round of writes after the other, until every port has its planned table.

use super::Handover;
use super::judge::judge;
use crate::sm::Manager;
use crate::sm::devices::Stage;

/// Rounds of writes after the first one: reading what was not known, losses, gains.
const ROUNDS_MAX: u32 = 3;

impl Manager {
    /// Works out which ports wait for others in the first round of writes.
    pub(in crate::sm) fn begin_handover(&mut self) {
        let judgement = judge(&self.planning.plan, &self.devices);
        self.planning.plan.handover = Handover {
            meanwhile: judgement.meanwhile(&mut self.devices),
            untouched: &judgement.later() | &judgement.unread,
            rounds: 0,
        };
    }

    /// Begins another round of writes where ports still wait for their planned tables; returns whether there is
    /// something to write.
    pub(in crate::sm) fn hand_over(&mut self) -> bool {
        if !self.planning.plan.handover.is_open() {
            return false;
        }
        let judgement = judge(&self.planning.plan, &self.devices);
        let handover = &mut self.planning.plan.handover;
        handover.meanwhile = judgement.meanwhile(&mut self.devices);
        handover.untouched = judgement.later();
        handover.rounds += 1;
        if handover.rounds <= ROUNDS_MAX && self.begin_keys() {
            return true;
        }
        let waiting = self.planning.plan.handover.meanwhile.len();
        if waiting > 0 {
            self.sweep.unfinished(format!(
                "{waiting} P_Key tables wait for ports that have not given up partitions which others are to have"
            ));
        }
        false
    }

    /// Gives their P_Key tables to the nodes that need some.
    fn begin_keys(&mut self) -> bool {
        let mut any = false;
        for node in self.devices.numbers() {
            if self.devices[node].work.stage == Stage::Ready && self.needs().lacks_keys(node) {
                let work = &mut self.devices[node].work;
                self.requests.schedule.begin(node, work, Stage::WriteKeys);
                any = true;
            }
        }
        any
    }
}
