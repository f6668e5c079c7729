//! Switches as destinations: many follow each other, and are then routed to at once.

use weft_state::State;

use crate::network::Network;
use crate::paths::{Candidates, Paths};

/// A switch as a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct Target {
    /// The switch.
    pub(super) switch: u32,
    /// First LID.
    pub(super) lid: u32,
    /// Number of LIDs, 0 for a switch that has none.
    pub(super) lids: u32,
    /// Its column.
    pub(super) column: u32,
    /// Number that selects one of its candidates.
    pub(super) number: u32,
    /// It has one LID, and so has the switch before; LID and number go on from that one's.
    follows: bool,
}

/// The switches in order; `number` selects one of a switch's candidates.
pub(super) fn targets(
    network: &Network,
    paths: &Paths,
    number: impl Fn(usize) -> u32,
) -> Vec<Target> {
    let mut next = None;
    let target = |switch| {
        let own = network.management(switch);
        let (lid, lids) = own.map_or((0, 0), |end| (end.lid.0, end.lmc.lids()));
        let number = number(switch);
        let follows = lids == 1 && next == Some((lid, number));
        next = (lids == 1).then_some((lid + 1, number.wrapping_add(1)));
        Target {
            switch: switch as u32,
            lid,
            lids,
            column: paths.column(switch) as u32,
            number,
            follows,
        }
    };
    (0..network.len()).map(target).collect()
}

/// The switches, as many at once as follow each other and have the same candidates.
pub(super) fn stretches<'a>(
    targets: &'a [Target],
    candidates: &'a Candidates,
) -> impl Iterator<Item = &'a [Target]> {
    let set = |target: &Target| candidates.set(target.column as usize);
    targets.chunk_by(move |before, target| target.follows && set(before) == set(target))
}
