//! Assignment of ranks to pairs of a benchmark.

/// Pairs by rank; each rank is in one at most.
#[derive(Debug, Clone)]
pub(super) struct PairOf {
    /// Place of the pair by rank, `usize::MAX` where there is none.
    places: Vec<usize>,
}

impl PairOf {
    pub(super) fn new(pairs: &[(u32, u32)]) -> Self {
        let ranks = pairs.iter().flat_map(|(a, b)| [*a, *b]).max();
        let mut places = vec![usize::MAX; ranks.map_or(0, |most| most as usize + 1)];
        for (index, (a, b)) in pairs.iter().enumerate() {
            places[*a as usize] = index;
            places[*b as usize] = index;
        }
        Self { places }
    }

    /// The place of a rank's pair.
    #[inline]
    pub(super) fn rank(&self, rank: u32) -> Option<usize> {
        let place = self.places.get(rank as usize).copied();
        place.filter(|place| *place != usize::MAX)
    }
}
