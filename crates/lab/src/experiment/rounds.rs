//! Every rank with every other one, in rounds in which each rank is in one pair at most.

/// The rounds of a tournament of all ranks, each cut into parts of at most `sessions` pairs; 0 is
/// no limit.
pub(super) fn rounds(ranks: u32, sessions: u32) -> Vec<Vec<(u32, u32)>> {
    // One stays, the others rotate around it; with an odd number one is idle.
    let seats = ranks + ranks % 2;
    let part = if sessions == 0 { seats } else { sessions }.max(1) as usize;
    let turn = seats.max(2) - 1;
    (0..turn)
        .flat_map(|round| {
            let seat = |place: u32| match place {
                0 => 0,
                _ => 1 + (place - 1 + round) % turn,
            };
            let pairs = (0..seats / 2).map(|place| (seat(place), seat(seats - 1 - place)));
            let pairs: Vec<_> = pairs.filter(|(a, b)| *a < ranks && *b < ranks).collect();
            let parts: Vec<Vec<_>> = pairs.chunks(part).map(<[_]>::to_vec).collect();
            parts
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_meet_once_and_nobody_twice_in_a_round() {
        for (ranks, sessions) in [(2, 0), (5, 0), (8, 0), (9, 2), (32, 1)] {
            let mut met = BTreeSet::new();
            for round in rounds(ranks, sessions) {
                assert!(sessions == 0 || round.len() <= sessions as usize);
                let mut busy = BTreeSet::new();
                for (a, b) in round {
                    assert!(busy.insert(a) && busy.insert(b), "{ranks}: {a} and {b}");
                    assert!(met.insert((a.min(b), a.max(b))));
                }
            }
            assert_eq!(met.len() as u32, ranks * (ranks - 1) / 2, "{ranks}");
        }
    }
}
