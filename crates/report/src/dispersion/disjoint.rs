//! The most of some paths of which no two have anything in common.

/// Number of choices for which both branches are searched; after that the path with the fewest
/// conflicts is taken, and the result may be one too few.
const BRANCHES: u32 = 4096;

/// Given for each path the others that it conflicts with, as bits.
pub(super) fn most_disjoint(conflicts: &[u128], among: u128) -> u32 {
    search(conflicts, among, &mut BRANCHES.clone())
}

fn search(conflicts: &[u128], mut left: u128, branches: &mut u32) -> u32 {
    let mut taken = 0;
    while left != 0 {
        let others = |path: usize| conflicts[path] & left;
        let is_safe = |path: &usize| is_clique(conflicts, others(*path));
        let path = match bits(left).find(is_safe) {
            // Of paths that all conflict with each other one is taken at most: this one.
            Some(path) => path,
            None if *branches == 0 => bits(left)
                .min_by_key(|path| others(*path).count_ones())
                .unwrap_or(0),
            None => {
                *branches -= 1;
                let worst = bits(left)
                    .max_by_key(|path| others(*path).count_ones())
                    .unwrap_or(0);
                let without = left & !(1 << worst);
                let with = 1 + search(conflicts, without & !conflicts[worst], branches);
                return taken + with.max(search(conflicts, without, branches));
            }
        };
        taken += 1;
        left &= !(conflicts[path] | 1 << path);
    }
    taken
}

/// Whether all of some paths conflict with each other.
fn is_clique(conflicts: &[u128], paths: u128) -> bool {
    bits(paths).all(|path| (conflicts[path] | 1 << path) & paths == paths)
}

fn bits(set: u128) -> impl Iterator<Item = usize> {
    let rest = std::iter::successors(Some(set), |set| Some(set & set.wrapping_sub(1)));
    rest.take_while(|set| *set != 0)
        .map(|set| set.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By looking at every choice.
    fn by_trial(conflicts: &[u128]) -> u32 {
        let free = |chosen: &u128| bits(*chosen).all(|path| conflicts[path] & chosen == 0);
        let all = 0..1u128 << conflicts.len();
        all.filter(free).map(u128::count_ones).max().unwrap_or(0)
    }

    #[test]
    fn it_finds_what_trying_all_choices_finds() {
        let mut state = 5u64;
        for round in 0..400 {
            let count = 1 + round % 10;
            let mut conflicts = vec![0u128; count];
            for a in 0..count {
                for b in 0..a {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    if (state >> 40) % 5 < round as u64 % 5 {
                        conflicts[a] |= 1 << b;
                        conflicts[b] |= 1 << a;
                    }
                }
            }
            assert_eq!(
                most_disjoint(&conflicts, (1 << count) - 1),
                by_trial(&conflicts),
                "{conflicts:?}"
            );
        }
    }

    #[test]
    fn many_paths_are_done_in_bounded_time() {
        // A ring of 128: every other one.
        let beside = |path: u32| 1 << ((path + 1) % 128) | 1 << ((path + 127) % 128);
        let ring: Vec<u128> = (0..128).map(beside).collect();
        assert_eq!(most_disjoint(&ring, u128::MAX), 64);
        assert_eq!(most_disjoint(&[0; 128], u128::MAX), 128);
        assert_eq!(most_disjoint(&[u128::MAX; 128], u128::MAX), 1);
    }
}
