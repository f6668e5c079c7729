//! Dragonflies of Kim, Dally, Scott and Abts ("Technology-driven, highly-scalable dragonfly topology", 2008): groups of
//! switches that are all cabled to each other, and cables between all groups.

use std::fmt;

use super::{Described, Family, GenerateError, Size, Studied, Wiring, in_range};
use crate::constants::SWITCH_PORTS;

pub(super) const FAMILY: Family = Family {
    name: "dragonfly",
    form: "dragonfly:HOSTS,SWITCHES,GLOBAL",
    options: (&["hosts", "switches", "global", "groups", "radix"], 3),
    read: |arguments| {
        let switches: u32 = arguments.required("switches")?;
        let global: u32 = arguments.required("global")?;
        Ok(Described::new(Dragonfly {
            hosts: arguments.required("hosts")?,
            switches,
            global,
            groups: arguments
                .number("groups")?
                .unwrap_or(groups_most(switches, global)),
            radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        }))
    },
};

/// Groups, if each has one cable to each other.
pub(super) fn groups_most(switches: u32, global: u32) -> u32 {
    switches.saturating_mul(global).saturating_add(1)
}

/// A dragonfly.
#[derive(Debug)]
struct Dragonfly {
    /// p: hosts on each switch.
    hosts: u32,
    /// a: switches of a group.
    switches: u32,
    /// h: cables of a switch to other groups.
    global: u32,
    /// g: groups; with fewer than a·h + 1, as many cables between each two as there are ports for.
    groups: u32,
    radix: u8,
}

impl Studied for Dragonfly {
    fn wiring(&self) -> Result<Wiring, GenerateError> {
        let [p, a, h, g] = [self.hosts, self.switches, self.global, self.groups].map(u64::from);
        in_range("switches of a group", a, 1, u64::from(self.radix))?;
        in_range(
            "cables of a switch to other groups",
            h,
            1,
            self.radix.into(),
        )?;
        in_range("number of groups", g, 2, a * h + 1)?;
        let switches = a * g;
        let mut wiring = Wiring::new(
            self.radix,
            &Size {
                switches,
                hosts: switches * p,
                cables: switches * (a - 1) / 2 + switches * h / 2,
                ports: p + a - 1 + h,
            },
        )?;
        for group in 0..self.groups {
            for switch in 0..self.switches {
                wiring.add(format!("group{}-{}", group + 1, switch + 1), self.hosts);
            }
        }
        for group in 0..self.groups {
            let switch = |number: u32| group * self.switches + number;
            for a in 0..self.switches {
                (a + 1..self.switches).for_each(|b| wiring.connect(switch(a), switch(b)));
            }
        }
        let place = |group: u32, port: u32| group * self.switches + port / self.global;
        connect_groups(&mut wiring, self.groups, self.switches * self.global, place);
        Ok(wiring)
    }

    fn most_hosts(&self) -> u64 {
        let of = [self.switches, self.groups].map(u64::from);
        of.iter()
            .fold(self.hosts.into(), |all, one| all.saturating_mul(*one))
    }
}

/// Cables between all groups, the same number between each two, in Kim's order: cable k of a group leads to the k-th
/// other group. `place` tells the switch that has a group's k-th cable.
pub(super) fn connect_groups(
    wiring: &mut Wiring,
    groups: u32,
    ports: u32,
    place: impl Fn(u32, u32) -> u32,
) {
    let others = groups - 1;
    for round in 0..ports / others {
        for a in 0..groups {
            for b in a + 1..groups {
                // Of its others, b is number b - 1 for a, and a number a for b.
                let first = round * others;
                wiring.connect(place(a, first + b - 1), place(b, first + a));
            }
        }
    }
}

impl fmt::Display for Dragonfly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            hosts,
            switches,
            global,
            groups,
            radix,
        } = self;
        write!(
            f,
            "dragonfly:{hosts},{switches},{global},groups={groups},radix={radix}"
        )
    }
}
