//! Service levels for the lanes that destinations are spread over: in lane 0 a level keeps its
//! number, in each other lane it has one that the configuration does not use.

use weft_fabric::Sl;

use crate::sm::settings::Level;

/// Service levels that path records can carry.
const LEVELS: u8 = 16;
/// Most data lanes that are handed out.
pub(crate) const LANES_MAX: u8 = 8;

/// Level that replaces another one in each lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneLevels {
    /// The configured ones, ascending, at least one.
    used: Vec<Sl>,
    free: Vec<Sl>,
}

impl LaneLevels {
    /// From the configured levels, in any order, some maybe twice. Those that are `overlaid` on others keep their
    /// numbers in all lanes.
    pub(crate) fn new(
        levels: impl IntoIterator<Item = Sl>,
        overlaid: impl IntoIterator<Item = Sl>,
    ) -> Self {
        let mut used: Vec<Sl> = levels.into_iter().collect();
        used.sort_unstable();
        used.dedup();
        if used.is_empty() {
            used.push(Sl(0));
        }
        let overlaid: Vec<Sl> = overlaid.into_iter().collect();
        let all = (0..LEVELS).map(Sl);
        let free = all.filter(|sl| !used.contains(sl) && !overlaid.contains(sl));
        let free = free.collect();
        Self { used, free }
    }

    /// The assignment for settings.
    pub(crate) fn of(levels: &[Level]) -> Self {
        let is_own = |level: &&Level| level.overlays.is_none();
        let own = levels.iter().filter(is_own).map(|level| level.sl);
        Self::new(own, levels.iter().map(|level| level.sl))
    }

    /// Number of levels.
    pub(crate) fn count(&self) -> u8 {
        self.used.len().min(usize::from(LEVELS)) as u8
    }

    /// Number of lanes that each level can have on ports with `virtual_lanes` data lanes.
    pub(crate) fn lanes(&self, virtual_lanes: u8) -> u8 {
        let most = virtual_lanes.min(LANES_MAX);
        (most / self.count()).max(1)
    }

    /// Level that replaces a level in a lane; the level itself if there is no such lane.
    pub(crate) fn in_lane(&self, level: Sl, lane: u8) -> Sl {
        let place = self.used.iter().position(|used| *used == level);
        let extra = || {
            let before = usize::from(lane.checked_sub(1)?) * self.used.len();
            self.free.get(before + place?).copied()
        };
        extra().unwrap_or(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_has_its_own_in_each_lane() {
        for (used, virtual_lanes, lanes) in [
            (vec![0], 8, 8),
            (vec![], 8, 8),
            (vec![0], 20, 8),
            (vec![3, 0, 3], 8, 4),
            (vec![1, 2, 5], 8, 2),
            (vec![0, 1, 2, 3, 4], 8, 1),
            (vec![0], 1, 1),
        ] {
            let levels = LaneLevels::new(used.iter().map(|sl| Sl(*sl)), []);
            assert_eq!(levels.lanes(virtual_lanes), lanes, "{used:?}");
            let mut given: Vec<Sl> = Vec::new();
            for level in levels.used.clone() {
                assert_eq!(levels.in_lane(level, 0), level);
                given.extend((0..lanes).map(|lane| levels.in_lane(level, lane)));
            }
            let count = given.len();
            given.sort_unstable();
            given.dedup();
            assert_eq!(given.len(), count, "{used:?}");
            assert!(given.iter().all(|sl| sl.0 < LEVELS));
        }
    }

    #[test]
    fn a_level_that_is_overlaid_has_one_number_in_all_lanes() {
        let levels = LaneLevels::new([Sl(0)], [Sl(1)]);
        assert_eq!((levels.count(), levels.lanes(8)), (1, 8));
        let of = |sl| (0..3).map(move |lane| levels.in_lane(Sl(sl), lane).0);
        assert!(of.clone()(0).eq([0, 2, 3]) && of(1).eq([1, 1, 1]));
    }
}
