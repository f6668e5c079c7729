//! Choice of destinations.

use crate::packets::Random;

/// A pattern of traffic among hosts 0 to `hosts` - 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Each packet to a random other host.
    Uniform,
    /// Each host to one other, each from one other.
    Permutation(Vec<u32>),
    /// Each host to the one at this distance.
    Shift(u32),
    /// Each packet to one host with a probability in percent, else to a random other one, as all of
    /// that host's own.
    Hotspot {
        /// The host that all want.
        to: u32,
        /// Percent of the packets.
        percent: u32,
    },
}

impl Pattern {
    /// A random permutation without fixed points: one circle through all hosts.
    pub fn random_permutation(hosts: u32, random: &mut Random) -> Self {
        let mut order: Vec<u32> = (0..hosts).collect();
        random.shuffle(&mut order);
        let mut to = vec![0; hosts as usize];
        for (place, from) in order.iter().enumerate() {
            to[*from as usize] = order[(place + 1) % order.len()];
        }
        Self::Permutation(to)
    }

    /// In a torus of `side` hosts along each dimension, each host to the one just less than half way around every
    /// ring. Hosts beyond the largest such torus send nothing.
    pub fn tornado(hosts: u32, side: u32) -> Self {
        by_coordinates(hosts, side, |place| {
            place.map(|at| (at + side.div_ceil(2) - 1) % side).collect()
        })
    }

    /// In a grid of `side` hosts along each dimension, each host to the one whose coordinates are its own in
    /// reverse order. Hosts beyond the largest such grid send nothing.
    pub fn transpose(hosts: u32, side: u32) -> Self {
        by_coordinates(hosts, side, |place| place.rev().collect())
    }

    /// Destination of a host's next packet; `None` if it does not send.
    #[inline]
    pub fn next(&self, from: u32, hosts: u32, random: &mut Random) -> Option<u32> {
        let to = match self {
            Self::Uniform => other(from, hosts, random),
            Self::Permutation(to) => to.get(from as usize).copied()?,
            Self::Shift(by) => (from + by) % hosts.max(1),
            Self::Hotspot { to, percent } => match random.below(100) < *percent && *to != from {
                true => *to,
                false => other(from, hosts, random),
            },
        };
        (to != from && to < hosts).then_some(to)
    }
}

/// Each host to the one at the coordinates that `to` makes of its own, the first one changing fastest.
fn by_coordinates(
    hosts: u32,
    side: u32,
    to: impl Fn(std::vec::IntoIter<u32>) -> Vec<u32>,
) -> Pattern {
    let side = side.max(2);
    let dimensions = hosts.checked_ilog(side).unwrap_or_default();
    let coordinates = |host: u32| -> Vec<u32> {
        let digits = (0..dimensions).map(|digit| host / side.pow(digit) % side);
        digits.collect()
    };
    let host = |place: Vec<u32>| place.iter().rev().fold(0, |host, at| host * side + at);
    let grid = 0..side.pow(dimensions);
    Pattern::Permutation(
        grid.map(|from| host(to(coordinates(from).into_iter())))
            .collect(),
    )
}

/// A random host that is not `from`.
#[inline]
fn other(from: u32, hosts: u32, random: &mut Random) -> u32 {
    let to = random.below(hosts.saturating_sub(1));
    to + u32::from(to >= from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn nobody_sends_to_itself_and_a_permutation_reaches_all() {
        let mut random = Random::new(5);
        for hosts in [2, 3, 17, 128] {
            let permutation = Pattern::random_permutation(hosts, &mut random);
            let patterns = [Pattern::Uniform, Pattern::Shift(1), permutation.clone()];
            for pattern in patterns {
                for from in 0..hosts {
                    let to = pattern.next(from, hosts, &mut random).unwrap();
                    assert!(to != from && to < hosts, "{pattern:?}: {from} to {to}");
                }
            }
            let mut reached: Vec<u32> = (0..hosts)
                .map(|from| permutation.next(from, hosts, &mut random).unwrap())
                .collect();
            reached.sort_unstable();
            assert_eq!(reached, (0..hosts).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_hotspot_gets_its_share() {
        let mut random = Random::new(1);
        let pattern = Pattern::Hotspot { to: 3, percent: 40 };
        let hits = (0..10_000).filter(|_| pattern.next(0, 10, &mut random) == Some(3));
        let hits = hits.count();
        // 40 % of the packets, and a ninth of the others.
        assert!(hits.abs_diff(4_667) < 200, "{hits}");
        // A sender at full load continues when a packet has left: it must always get a destination.
        assert!((0..1_000).all(|_| pattern.next(3, 10, &mut random).is_some()));
    }

    fn targets(pattern: Pattern) -> Vec<u32> {
        match pattern {
            Pattern::Permutation(to) => to,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tornado_goes_just_less_than_half_way_around_each_ring() {
        // Two steps of five along the first dimension, and two along the second.
        let to = targets(Pattern::tornado(25, 5));
        assert_eq!((to[0], to[3], to[24]), (12, 10, 6));
        let to = targets(Pattern::tornado(64, 4));
        assert_eq!((to[0], to[3]), (21, 20));
    }

    #[test]
    fn a_transpose_reverses_coordinates_and_leaves_the_diagonal_alone() {
        let to = targets(Pattern::transpose(64, 4));
        assert_eq!((to[1], to[16], to[4], to[21]), (16, 1, 4, 21));
        assert_eq!(targets(Pattern::transpose(70, 8)).len(), 64);
    }
}
