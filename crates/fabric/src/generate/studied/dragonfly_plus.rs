//! Dragonfly+ of Shpiner and others ("Dragonfly+: low cost topology for scaling datacenters", 2017): groups are trees of
//! two tiers, and their spines have the cables between all groups.

use std::fmt;

use super::dragonfly::{connect_groups, groups_most};
use super::{Described, Family, GenerateError, Size, Studied, Wiring, in_range};
use crate::constants::SWITCH_PORTS;

pub(super) const FAMILY: Family = Family {
    name: "dragonfly-plus",
    form: "dragonfly-plus:HOSTS,LEAVES,SPINES,GLOBAL",
    options: (
        &["hosts", "leaves", "spines", "global", "groups", "radix"],
        4,
    ),
    read: |arguments| {
        let spines: u32 = arguments.required("spines")?;
        let global: u32 = arguments.required("global")?;
        Ok(Described::new(DragonflyPlus {
            hosts: arguments.required("hosts")?,
            leaves: arguments.required("leaves")?,
            spines,
            global,
            groups: arguments
                .number("groups")?
                .unwrap_or(groups_most(spines, global)),
            radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        }))
    },
};

/// A dragonfly+.
#[derive(Debug)]
struct DragonflyPlus {
    /// Hosts on each leaf.
    hosts: u32,
    /// Leaves of a group, each with a cable to each of its spines.
    leaves: u32,
    /// Spines of a group.
    spines: u32,
    /// Cables of a spine to other groups.
    global: u32,
    /// Groups; with fewer than spines × global + 1, as many cables between each two as there are ports for.
    groups: u32,
    radix: u8,
}

impl Studied for DragonflyPlus {
    fn wiring(&self) -> Result<Wiring, GenerateError> {
        let radix = u64::from(self.radix);
        let [p, l, s, h, g] = [
            self.hosts,
            self.leaves,
            self.spines,
            self.global,
            self.groups,
        ]
        .map(u64::from);
        in_range("leaves of a group", l, 1, radix)?;
        in_range("spines of a group", s, 1, radix)?;
        in_range("cables of a spine to other groups", h, 1, radix)?;
        in_range("number of groups", g, 2, s * h + 1)?;
        let mut wiring = Wiring::new(
            self.radix,
            &Size {
                switches: g * (l + s),
                hosts: g * l * p,
                cables: g * (l * s + s * h / 2 + 1),
                ports: (p + s).max(l + h),
            },
        )?;
        for group in 1..=self.groups {
            (1..=self.leaves)
                .for_each(|leaf| wiring.add(format!("leaf{group}-{leaf}"), self.hosts));
            (1..=self.spines).for_each(|spine| wiring.add(format!("spine{group}-{spine}"), 0));
        }
        let spine =
            |group: u32, number: u32| group * (self.leaves + self.spines) + self.leaves + number;
        for group in 0..self.groups {
            for leaf in 0..self.leaves {
                let leaf = spine(group, leaf) - self.leaves;
                (0..self.spines).for_each(|number| wiring.connect(leaf, spine(group, number)));
            }
        }
        let place = |group: u32, port: u32| spine(group, port / self.global);
        connect_groups(&mut wiring, self.groups, self.spines * self.global, place);
        Ok(wiring)
    }

    fn most_hosts(&self) -> u64 {
        let of = [self.leaves, self.groups].map(u64::from);
        of.iter()
            .fold(self.hosts.into(), |all, one| all.saturating_mul(*one))
    }
}

impl fmt::Display for DragonflyPlus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hosts,
            leaves,
            spines,
            global,
            groups,
            radix,
        } = self;
        write!(
            f,
            "dragonfly-plus:{hosts},{leaves},{spines},{global},groups={groups},radix={radix}"
        )
    }
}
