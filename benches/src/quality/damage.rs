//! Damage to a fabric before it is routed.

use weft_fabric::{PortRef, Topology};

/// A state of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    Intact,
    /// This many of a thousand links between switches removed, chosen at random.
    Links(u64),
    /// Two switches of the highest tier gone.
    Spines,
}

impl Damage {
    /// Those that are looked at.
    pub(super) const ALL: [Self; 4] =
        [Self::Intact, Self::Links(10), Self::Links(50), Self::Spines];

    pub(super) fn name(self) -> String {
        match self {
            Self::Intact => "intact".to_owned(),
            Self::Links(per_mille) => format!("{} % of links gone", per_mille / 10),
            Self::Spines => "two spines dead".to_owned(),
        }
    }

    /// Does it.
    pub(super) fn apply(self, topology: &mut Topology) {
        let switches = topology.switches();
        let links: Vec<(PortRef, PortRef)> = topology.links().collect();
        let last: Vec<_> = switches.iter().rev().take(2).copied().collect();
        let mut state = 1u64;
        for (a, b) in links {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let ends = [a, b];
            let between = ends
                .iter()
                .all(|end| topology.switch_index(end.node).is_some());
            let goes = match self {
                Self::Intact => false,
                Self::Links(per_mille) => (state >> 33) % 1000 < per_mille,
                Self::Spines => ends.iter().any(|end| last.contains(&end.node)),
            };
            if between && goes {
                topology.disconnect(a);
            }
        }
    }
}
