//! What ports with data wait for: a port has no credits because the node behind it cannot pass on what it gets. The links
//! that leave that node are followed to the one that is full, or to where nothing is known any more.

use std::collections::BTreeMap;

use super::{JobLink, WAITS};

/// Longest chain of ports that wait for each other.
const STEPS_MAX: usize = 16;

/// For each link that other ones wait for, those that do, itself among them where it waits for what is not known: places
/// in the list.
pub(super) fn causes(links: &[JobLink]) -> BTreeMap<usize, Vec<usize>> {
    let mut leaving: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (place, link) in links.iter().enumerate() {
        leaving.entry(link.from.guid).or_default().push(place);
    }
    let mut causes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, link) in links.iter().enumerate() {
        if link.unusual_wait() >= WAITS {
            let cause = cause(links, &leaving, place);
            causes.entry(cause).or_default().push(place);
        }
    }
    causes
}

fn cause(links: &[JobLink], leaving: &BTreeMap<u64, Vec<usize>>, from: usize) -> usize {
    let mut at = from;
    for _ in 0..STEPS_MAX {
        let behind = leaving.get(&links[at].to.guid).into_iter().flatten();
        // Not back where the data comes from.
        let behind = behind.filter(|place| links[**place].to.guid != links[at].from.guid);
        let rank = |place: &usize| {
            let link = &links[*place];
            let used = link.now.map_or(0.0, |figures| figures.used);
            (
                link.is_full(),
                if link.is_full() {
                    used
                } else {
                    link.unusual_wait()
                },
            )
        };
        let best = behind.copied().max_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        match best {
            Some(next) if links[next].is_full() => return next,
            Some(next) if links[next].unusual_wait() >= WAITS => at = next,
            _ => return at,
        }
    }
    at
}
