//! Service levels from path records, for senders.

use std::sync::Arc;

use weft_fabric::{Lanes, Lid, Sl};

/// Service levels there are.
pub(super) const LEVELS: u8 = 32;

/// For a service level that a user means, the one that the path to a LID has: routes that close no
/// cycle only in several lanes lead each LID in one of them.
#[derive(Debug, Clone, Default)]
pub struct PathLevels {
    /// Lane by LID.
    lanes: Arc<Lanes>,
    /// By lane, then by configured level; empty if there is one lane.
    levels: Arc<[[Sl; LEVELS as usize]]>,
}

impl PathLevels {
    /// From the lanes of routes, and what stands for each level in each lane.
    pub fn new(lanes: &Lanes, in_lane: impl Fn(Sl, u8) -> Sl) -> Self {
        let count = match lanes.count() {
            1 => 0,
            count => count,
        };
        let of_lane = |lane| std::array::from_fn(|level| in_lane(Sl(level as u8), lane));
        Self {
            lanes: Arc::new(lanes.clone()),
            levels: (0..count).map(of_lane).collect(),
        }
    }

    /// The level of the path to a LID.
    #[inline]
    pub fn to(&self, lid: Lid, level: Sl) -> Sl {
        if self.levels.is_empty() {
            return level;
        }
        let of_lane = self.levels.get(usize::from(self.lanes.of(lid)));
        of_lane.map_or(level, |levels| levels[usize::from(level.0 % LEVELS)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_level_of_its_lane() {
        let one = PathLevels::default();
        assert_eq!(one.to(Lid(7), Sl(3)), Sl(3));
        let lanes = Lanes::new(vec![0, 0, 1, 2]);
        let levels = PathLevels::new(&lanes, |level, lane| Sl(level.0 + 4 * lane));
        let told = [0, 1, 2, 3, 4].map(|lid| levels.to(Lid(lid), Sl(1)).0);
        assert_eq!(told, [1, 1, 5, 9, 1]);
    }
}
