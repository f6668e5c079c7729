//! Traps that the next sweep answers.

use weft_fabric::{Lid, Lmc};
use weft_state::State;

use crate::io::ReportedChange;

/// Traps that are remembered; later ones are not told.
const TRAPS_MAX: usize = 16;

/// Traps that have reported a change since the last sweep began, in order.
#[derive(Debug, Clone, Default, State)]
pub(in crate::sm) struct ReportedChanges(Vec<ReportedChange>);

impl ReportedChanges {
    pub(in crate::sm) fn add(&mut self, trap: ReportedChange) {
        if self.0.len() < TRAPS_MAX {
            self.0.push(trap);
        }
    }

    /// What a node has reported needs no sweep.
    pub(in crate::sm) fn forget(&mut self, (base, lmc): (Lid, Lmc)) {
        let own = base.0..base.0.saturating_add(lmc.lids());
        self.0.retain(|trap| !own.contains(&trap.lid.0));
    }

    /// Those for the sweep that begins.
    pub(super) fn take(&mut self) -> Vec<ReportedChange> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_and_those_of_a_node_are_forgotten() {
        let mut reported = ReportedChanges::default();
        for number in 1..=40 {
            let lid = Lid(number as u32 % 2 + 4);
            let what = "link".to_owned();
            reported.add(ReportedChange { number, lid, what });
        }
        reported.forget((Lid(4), Lmc(0)));
        let left: Vec<u64> = reported.take().iter().map(|trap| trap.number).collect();
        assert_eq!(left, [1, 3, 5, 7, 9, 11, 13, 15]);
        assert!(reported.take().is_empty());
    }
}
