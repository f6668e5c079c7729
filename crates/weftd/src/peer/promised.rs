//! The master's registrations, told to a manager again when it does not count on them any more.

use super::follow::Arrived;
use super::parts::{Part, PartKind};

/// The last registrations that were taken of a master.
#[derive(Debug, Default)]
pub(super) struct Promised {
    last: Option<Part>,
    /// How often the manager had doubted them when they were last looked at.
    doubts: u64,
}

impl Promised {
    /// These are taken.
    pub(super) fn take(&mut self, part: Part) {
        self.last = Some(part);
    }

    /// At a sign of life: adds the last ones to what has arrived, where the manager has doubted them since the last sign
    /// and newer ones are not there. They hold: before a master promises clients more, it tells followers that what they
    /// have does not hold (`Offer::void_registrations`), and signs and parts of a connection come in order.
    pub(super) fn tell_again(&mut self, doubts: u64, arrived: &mut Vec<Arrived>) {
        let is_doubted = std::mem::replace(&mut self.doubts, doubts) != doubts;
        let is_here = |(kind, _): &Arrived| *kind == Some(PartKind::Registrations);
        if is_doubted && !arrived.iter().any(is_here) {
            let last = self.last.clone();
            arrived.extend(last.map(|part| (Some(PartKind::Registrations), part)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sequence: u64) -> Part {
        Part {
            sequence,
            bytes: None,
        }
    }

    /// Numbers of the parts that are told at a sign of life.
    fn told(promised: &mut Promised, doubts: u64, arrived: &[(PartKind, u64)]) -> Vec<u64> {
        let arrived = arrived.iter();
        let mut arrived = arrived
            .map(|(kind, number)| (Some(*kind), part(*number)))
            .collect();
        promised.tell_again(doubts, &mut arrived);
        arrived.iter().map(|(_, part)| part.sequence).collect()
    }

    #[test]
    fn registrations_are_told_again_once_for_each_doubt_at_the_next_sign_of_life() {
        let mut promised = Promised::default();
        assert!(told(&mut promised, 1, &[]).is_empty(), "there are none yet");
        promised.take(part(7));
        assert!(told(&mut promised, 1, &[]).is_empty(), "nobody doubts them");
        assert_eq!(told(&mut promised, 2, &[(PartKind::State, 8)]), [8, 7]);
        assert!(told(&mut promised, 2, &[]).is_empty());
        let newer = [(PartKind::Registrations, 9)];
        assert_eq!(told(&mut promised, 3, &newer), [9]);
        promised.take(part(9));
        assert_eq!(told(&mut promised, 5, &[]), [9]);
    }
}
