//! LIDs: aligned to the LMC, unique, and the same from sweep to sweep and over restarts.

use std::collections::BTreeMap;

use weft_fabric::{Guid, Lid, Lmc, PortNum};
use weft_state::State;

/// Owner of a LID: a node's GUID and its port, port 0 for a switch.
pub(crate) type Owner = (Guid, PortNum);

/// Ports that are remembered although they are gone; beyond that the longest gone are forgotten.
const ABSENT_MAX: usize = 65_536;

/// A port that needs a LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndPort {
    pub owner: Owner,
    pub lmc: Lmc,
    /// The LID that the device has at present, 0 for none; none where that has not been read.
    pub reported: Option<Lid>,
    pub wish: Wish,
}

/// What the configuration says about a port's LID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing.
    Any,
    /// It goes before all others; another one is given where it is taken.
    Before(Lid),
    /// It is this one or none; 0 is none.
    Only(Lid),
}

impl EndPort {
    fn prescribed(&self) -> Option<Lid> {
        match self.wish {
            Wish::Any => None,
            Wish::Before(lid) | Wish::Only(lid) => Some(lid),
        }
    }

    fn may_differ(&self) -> bool {
        !matches!(self.wish, Wish::Only(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
struct Remembered {
    lid: Lid,
    lmc: Lmc,
    /// The assignment at which it was first missing, none while it is there.
    absent_since: Option<u64>,
}

/// Current and former owners of LIDs.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub(crate) struct LidMap {
    remembered: BTreeMap<Owner, Remembered>,
    assignments: u64,
}

/// Assigned LIDs.
struct Taken {
    used: Vec<bool>,
    /// For each LMC, no range below this base is free.
    first_free: [u32; 8],
}

impl Taken {
    fn new(highest: Lid) -> Self {
        let mut used = vec![false; highest.0 as usize + 1];
        used[0] = true;
        Self {
            used,
            first_free: [1; 8],
        }
    }

    fn range(lid: Lid, lmc: Lmc) -> std::ops::Range<usize> {
        lid.0 as usize..(lid.0 as usize).saturating_add(lmc.lids() as usize)
    }

    fn is_free(&self, lid: Lid, lmc: Lmc) -> bool {
        lid.0 != 0
            && lid.0.is_multiple_of(lmc.lids())
            && self
                .used
                .get(Self::range(lid, lmc))
                .is_some_and(|range| !range.contains(&true))
    }

    fn take(&mut self, lid: Lid, lmc: Lmc) -> bool {
        let free = self.is_free(lid, lmc);
        if free {
            self.used[Self::range(lid, lmc)].fill(true);
        }
        free
    }

    fn give_back(&mut self, lid: Lid, lmc: Lmc) {
        if let Some(range) = self.used.get_mut(Self::range(lid, lmc)) {
            range.fill(false);
            self.first_free = [1; 8];
        }
    }

    fn take_first(&mut self, lmc: Lmc) -> Option<Lid> {
        let step = lmc.lids();
        let from = self.first_free[usize::from(lmc.0.min(7))];
        let mut base = from.next_multiple_of(step);
        while (base as usize) < self.used.len() {
            if self.take(Lid(base), lmc) {
                self.first_free[usize::from(lmc.0.min(7))] = base + step;
                return Some(Lid(base));
            }
            base += step;
        }
        self.first_free[usize::from(lmc.0.min(7))] = base;
        None
    }
}

impl LidMap {
    /// Assigns every port of `ports` a base LID up to `highest`, 0 if none is left.
    ///
    /// In order of preference: the configured one, the stored one, the device's current one, the
    /// lowest free. Absent ports keep theirs until the LIDs run out. A port that is not known and has not been read gets
    /// none: it may have one, which it keeps when it can be read.
    pub(crate) fn assign(&mut self, ports: &[EndPort], highest: Lid) -> Vec<Lid> {
        self.assignments += 1;
        let mut taken = Taken::new(highest);
        let mut given = vec![Lid(0); ports.len()];
        self.give(ports, &mut given, &mut taken, |_, port| port.prescribed());
        self.give(ports, &mut given, &mut taken, |map, port| {
            let entry = map.remembered.get(&port.owner);
            entry.filter(|_| port.may_differ()).map(|entry| entry.lid)
        });
        let mut absent = self.keep_absent(ports, &mut taken);
        self.give(ports, &mut given, &mut taken, |_, port| {
            port.reported.filter(|_| port.may_differ())
        });
        let without = ports.iter().zip(&mut given);
        let wants = |port: &EndPort| port.may_differ() && port.reported.is_some();
        for (port, lid) in without.filter(|(port, lid)| lid.0 == 0 && wants(port)) {
            *lid = self.lowest_free(port.lmc, &mut taken, &mut absent);
        }
        self.remember(ports, &given);
        given
    }

    fn give(
        &self,
        ports: &[EndPort],
        given: &mut [Lid],
        taken: &mut Taken,
        wish: impl Fn(&Self, &EndPort) -> Option<Lid>,
    ) {
        for (port, lid) in ports.iter().zip(given).filter(|(_, lid)| lid.0 == 0) {
            if let Some(wanted) = wish(self, port).filter(|wanted| taken.take(*wanted, port.lmc)) {
                *lid = wanted;
            }
        }
    }

    /// Reserves the LIDs of ports that are gone and forgets those that cannot be kept. Returns
    /// those kept, the longest gone last.
    fn keep_absent(&mut self, ports: &[EndPort], taken: &mut Taken) -> Vec<Owner> {
        let mut present: Vec<Owner> = ports.iter().map(|port| port.owner).collect();
        present.sort_unstable();
        let now = self.assignments;
        let mut absent: Vec<(u64, Owner)> = Vec::new();
        self.remembered.retain(|owner, entry| {
            if present.binary_search(owner).is_ok() {
                return true;
            }
            let since = *entry.absent_since.get_or_insert(now);
            let kept = taken.take(entry.lid, entry.lmc);
            if kept {
                absent.push((since, *owner));
            }
            kept
        });
        absent.sort_unstable_by(|a, b| b.cmp(a));
        while absent.len() > ABSENT_MAX {
            if let Some((_, owner)) = absent.pop() {
                self.forget(owner, taken);
            }
        }
        absent.into_iter().map(|(_, owner)| owner).collect()
    }

    fn forget(&mut self, owner: Owner, taken: &mut Taken) {
        if let Some(entry) = self.remembered.remove(&owner) {
            taken.give_back(entry.lid, entry.lmc);
        }
    }

    fn lowest_free(&mut self, lmc: Lmc, taken: &mut Taken, absent: &mut Vec<Owner>) -> Lid {
        loop {
            if let Some(lid) = taken.take_first(lmc) {
                return lid;
            }
            let Some(owner) = absent.pop() else {
                return Lid(0);
            };
            self.forget(owner, taken);
        }
    }

    fn remember(&mut self, ports: &[EndPort], given: &[Lid]) {
        for (port, lid) in ports.iter().zip(given) {
            let entry = Remembered {
                lid: *lid,
                lmc: port.lmc,
                absent_since: None,
            };
            match lid.0 {
                0 => self.remembered.remove(&port.owner),
                _ => self.remembered.insert(port.owner, entry),
            };
        }
    }

    /// Every owner with its base LID and LMC, in order of owner.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = (Owner, Lid, Lmc)> {
        self.remembered
            .iter()
            .map(|(owner, entry)| (*owner, entry.lid, entry.lmc))
    }

    /// The base LID of an owner.
    pub(crate) fn of(&self, owner: Owner) -> Option<Lid> {
        self.remembered.get(&owner).map(|entry| entry.lid)
    }

    /// Gives the LIDs of a node's ports to those of another one, which loses its own.
    pub(crate) fn hand_over(&mut self, from: Guid, to: Guid) {
        let ports = (from, PortNum(0))..=(from, PortNum(u8::MAX));
        let entries: Vec<(Owner, Remembered)> = self
            .remembered
            .range(ports)
            .map(|(owner, entry)| (*owner, *entry))
            .collect();
        for ((node, port), entry) in entries {
            self.remembered.remove(&(node, port));
            self.remembered.insert((to, port), entry);
        }
    }

    /// Entries of a store, all of them absent until seen.
    pub(crate) fn from_entries(entries: impl IntoIterator<Item = (Owner, Lid, Lmc)>) -> Self {
        let remembered = entries.into_iter().map(|(owner, lid, lmc)| {
            let entry = Remembered {
                lid,
                lmc,
                absent_since: Some(0),
            };
            (owner, entry)
        });
        Self {
            remembered: remembered.collect(),
            assignments: 0,
        }
    }
}

#[cfg(test)]
mod tests;
