//! The fast search: as few loops as give each link its share.

use std::collections::BTreeSet;

use super::Search;
use super::links::{Link, Walk};

impl Search<'_> {
    /// Loops until each link is in `redundancy` of them, or in all that lead over it. Of those that lead over a link
    /// one with the least used links comes first, of several such ones the shortest.
    pub(super) fn find_few(&mut self, redundancy: u32) {
        let mut use_of = vec![0_u32; self.links.cables()];
        let mut known: BTreeSet<Vec<usize>> = BTreeSet::new();
        for start in 0..self.links.len() {
            for first in self.links.of(start) {
                if use_of[first.cable] >= redundancy {
                    continue;
                }
                self.give_share(start, *first, redundancy, &mut use_of, &mut known);
                if self.is_cut_short {
                    return;
                }
            }
        }
    }

    fn give_share(
        &mut self,
        start: usize,
        first: Link,
        redundancy: u32,
        use_of: &mut [u32],
        known: &mut BTreeSet<Vec<usize>>,
    ) {
        let mut loops = self.loops_from(start, &mut vec![first], false);
        loops.retain(|walk| !known.contains(&cables(walk)));
        while use_of[first.cable] < redundancy {
            let used = |walk: &Walk| walk.iter().map(|link| use_of[link.cable]).sum::<u32>();
            let order = |(place, walk): (usize, &Walk)| (used(walk), walk.len(), place);
            let best = loops.iter().enumerate().map(order).min();
            let Some((.., place)) = best else {
                return;
            };
            let walk = loops.remove(place);
            for link in &walk {
                use_of[link.cable] += 1;
            }
            known.insert(cables(&walk));
            if !self.take(walk) {
                return;
            }
        }
    }
}

/// The cables of a loop, which tell it apart from all others but for its direction.
fn cables(walk: &Walk) -> Vec<usize> {
    let mut cables: Vec<usize> = walk.iter().map(|link| link.cable).collect();
    cables.sort_unstable();
    cables
}
