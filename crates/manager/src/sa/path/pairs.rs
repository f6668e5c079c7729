//! Choice of the LID pairs that form the paths between two ports with several LIDs.

use weft_fabric::{Lid, Lmc};

use crate::sa::settings::PathSelection;

/// The LIDs of a port that may be used.
#[derive(Debug, Clone, Copy)]
struct Side {
    base: u32,
    count: u32,
}

impl Side {
    fn new(base: Lid, lmc: Lmc) -> Self {
        Self {
            base: base.0,
            count: lmc.lids(),
        }
    }

    /// Its nth LID, counted round.
    fn lid(&self, n: u32) -> Lid {
        Lid(self.base + n % self.count)
    }
}

/// The pairs, in the order in which paths are given.
#[derive(Debug, Clone)]
pub(crate) struct LidPairs {
    source: Side,
    target: Side,
    selection: PathSelection,
    /// A fixed end, as an offset from its base LID.
    fixed: Fixed,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
enum Fixed {
    Neither,
    Source(u32),
    Target(u32),
    Both(u32, u32),
}

impl LidPairs {
    /// The pairs of two ports (base LID and LMC each); a LID that is given stays.
    pub(crate) fn new(
        selection: PathSelection,
        source: (Lid, Lmc),
        target: (Lid, Lmc),
        source_lid: Option<Lid>,
        target_lid: Option<Lid>,
    ) -> Self {
        let offset = |lid: Option<Lid>, base: Lid| lid.map(|lid| lid.0.saturating_sub(base.0));
        let fixed = match (offset(source_lid, source.0), offset(target_lid, target.0)) {
            (None, None) => Fixed::Neither,
            (Some(source), None) => Fixed::Source(source),
            (None, Some(target)) => Fixed::Target(target),
            (Some(source), Some(target)) => Fixed::Both(source, target),
        };
        Self {
            source: Side::new(source.0, source.1),
            target: Side::new(target.0, target.1),
            selection,
            fixed,
            next: 0,
        }
    }

    /// The pair of offsets at place `n`, none when there are no more; `Some(None)` where a place in the
    /// order is skipped.
    fn place(&self, n: u32) -> Option<Option<(u32, u32)>> {
        let (sources, targets) = (self.source.count, self.target.count);
        match self.fixed {
            Fixed::Both(source, target) => (n == 0).then_some(Some((source, target))),
            Fixed::Source(source) => {
                let target = one_sided(self.selection, source, sources, targets, n)?;
                Some(target.map(|target| (source, target)))
            }
            Fixed::Target(target) => {
                let source = one_sided(self.selection, target, targets, sources, n)?;
                Some(source.map(|source| (source, target)))
            }
            Fixed::Neither => two_sided(self.selection, sources, targets, n),
        }
    }
}

impl Iterator for LidPairs {
    type Item = (Lid, Lid);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let pair = self.place(self.next)?;
            self.next += 1;
            if let Some((source, target)) = pair {
                return Some((self.source.lid(source), self.target.lid(target)));
            }
        }
    }
}

/// Whether a pair is among the pairwise ones: the sides count along together.
fn is_pairwise(source: u32, target: u32, sources: u32, targets: u32) -> bool {
    let shorter = sources.min(targets);
    source % shorter == target % shorter
}

fn two_sided(
    selection: PathSelection,
    sources: u32,
    targets: u32,
    n: u32,
) -> Option<Option<(u32, u32)>> {
    let (shorter, longer) = (sources.min(targets), sources.max(targets));
    let all = |n: u32| (n < sources * targets).then(|| (n / targets, n % targets));
    match selection {
        PathSelection::Minimal => (n < shorter).then_some(Some((n, n))),
        PathSelection::Pairwise => (n < longer).then_some(Some((n % sources, n % targets))),
        PathSelection::SrcDstAll => all(n).map(Some),
        PathSelection::OrderAll if n < longer => Some(Some((n % sources, n % targets))),
        PathSelection::OrderAll => {
            let (source, target) = all(n - longer)?;
            let again = is_pairwise(source, target, sources, targets);
            Some((!again).then_some((source, target)))
        }
    }
}

/// Offsets of the side that is free, where the other is fixed at `fixed` of `own`.
fn one_sided(
    selection: PathSelection,
    fixed: u32,
    own: u32,
    others: u32,
    n: u32,
) -> Option<Option<u32>> {
    let first = fixed % others;
    let pairwise = others.div_ceil(own).max(1);
    match selection {
        PathSelection::Minimal => (n == 0).then_some(Some(first)),
        PathSelection::Pairwise => (n < pairwise).then_some(Some(first + n * own)),
        PathSelection::SrcDstAll => (n < others).then_some(Some(n)),
        PathSelection::OrderAll if n < pairwise => Some(Some(first + n * own)),
        PathSelection::OrderAll => {
            let other = n - pairwise;
            (other < others).then(|| (!is_pairwise(fixed, other, own, others)).then_some(other))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(
        selection: PathSelection,
        lmcs: (u8, u8),
        fixed: (Option<u32>, Option<u32>),
    ) -> Vec<(u32, u32)> {
        let pairs = LidPairs::new(
            selection,
            (Lid(8), Lmc(lmcs.0)),
            (Lid(16), Lmc(lmcs.1)),
            fixed.0.map(|offset| Lid(8 + offset)),
            fixed.1.map(|offset| Lid(16 + offset)),
        );
        pairs.map(|(a, b)| (a.0 - 8, b.0 - 16)).collect()
    }

    #[test]
    fn pairs_come_in_the_order_of_the_selection() {
        use PathSelection::{Minimal, OrderAll, Pairwise, SrcDstAll};
        for (selection, lmcs, expected) in [
            (Minimal, (0, 0), vec![(0, 0)]),
            (Minimal, (1, 1), vec![(0, 0), (1, 1)]),
            (Minimal, (0, 2), vec![(0, 0)]),
            (Pairwise, (0, 1), vec![(0, 0), (0, 1)]),
            (Pairwise, (1, 1), vec![(0, 0), (1, 1)]),
            (Pairwise, (1, 2), vec![(0, 0), (1, 1), (0, 2), (1, 3)]),
            (OrderAll, (1, 1), vec![(0, 0), (1, 1), (0, 1), (1, 0)]),
            (OrderAll, (0, 1), vec![(0, 0), (0, 1)]),
            (SrcDstAll, (1, 1), vec![(0, 0), (0, 1), (1, 0), (1, 1)]),
        ] {
            assert_eq!(
                pairs(selection, lmcs, (None, None)),
                expected,
                "{selection:?} {lmcs:?}"
            );
        }
    }

    #[test]
    fn a_given_lid_stays() {
        use PathSelection::{Minimal, OrderAll, Pairwise, SrcDstAll};
        for (selection, lmcs, fixed, expected) in [
            (Minimal, (1, 1), (Some(1), None), vec![(1, 1)]),
            (Minimal, (2, 0), (Some(3), None), vec![(3, 0)]),
            (Pairwise, (0, 1), (Some(0), None), vec![(0, 0), (0, 1)]),
            (Pairwise, (1, 2), (Some(1), None), vec![(1, 1), (1, 3)]),
            (OrderAll, (1, 1), (Some(1), None), vec![(1, 1), (1, 0)]),
            (SrcDstAll, (1, 1), (Some(1), None), vec![(1, 0), (1, 1)]),
            (OrderAll, (1, 1), (None, Some(1)), vec![(1, 1), (0, 1)]),
            (SrcDstAll, (2, 2), (Some(3), Some(1)), vec![(3, 1)]),
        ] {
            assert_eq!(
                pairs(selection, lmcs, fixed),
                expected,
                "{selection:?} {lmcs:?} {fixed:?}"
            );
        }
    }

    #[test]
    fn every_selection_gives_each_pair_at_most_once() {
        for selection in [
            PathSelection::Minimal,
            PathSelection::Pairwise,
            PathSelection::OrderAll,
            PathSelection::SrcDstAll,
        ] {
            for lmcs in [(0, 3), (3, 0), (1, 2), (2, 2)] {
                let all = pairs(selection, lmcs, (None, None));
                let mut distinct = all.clone();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), all.len(), "{selection:?} {lmcs:?}");
                if matches!(
                    selection,
                    PathSelection::OrderAll | PathSelection::SrcDstAll
                ) {
                    assert_eq!(all.len(), 1 << (lmcs.0 + lmcs.1), "{selection:?} {lmcs:?}");
                }
            }
        }
    }
}
