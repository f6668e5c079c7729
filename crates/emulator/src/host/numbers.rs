//! The numbers by which programs keep their transactions apart.

use std::collections::BTreeSet;

/// Numbers that are lent to one holder at a time. One that comes back is lent again after all others
/// have had their turn: late answers to its last holder would come to the next.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Numbers are below this.
    end: u32,
    next: u32,
    lent: BTreeSet<u32>,
}

impl Numbers {
    /// The numbers below `end`, none of them lent.
    pub(super) fn below(end: u32) -> Self {
        Self {
            end,
            next: 0,
            lent: BTreeSet::new(),
        }
    }

    /// Lends a number; none when all are lent.
    pub(super) fn lend(&mut self) -> Option<u32> {
        let free = (self.next..self.end)
            .chain(0..self.next)
            .find(|number| !self.lent.contains(number))?;
        self.lent.insert(free);
        self.next = (free + 1) % self.end;
        Some(free)
    }

    /// Takes a number back.
    pub(super) fn take_back(&mut self, number: u32) {
        self.lent.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_lent_twice_at_a_time_and_each_has_its_turn() {
        let mut numbers = Numbers::below(4);
        let stays = numbers.lend();
        assert_eq!(stays, Some(0));
        for round in 0..10 {
            for number in 1..4 {
                assert_eq!(numbers.lend(), Some(number), "round {round}");
                numbers.take_back(number);
            }
        }
        let all: Vec<Option<u32>> = (0..4).map(|_| numbers.lend()).collect();
        assert_eq!(all, [Some(1), Some(2), Some(3), None]);
    }
}
