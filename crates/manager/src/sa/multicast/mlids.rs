//! Multicast LIDs: one a group, or a few for all groups of a kind.

use std::collections::{BTreeMap, BTreeSet};

use weft_config::Mgid;
use weft_config::sm::MlidShare;
use weft_fabric::multicast::MLIDS;
use weft_state::State;
use weft_wire::id::{Gid, PKey};

use crate::sa::settings::MulticastSettings;

/// The LIDs in use.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Mlids {
    /// By entry: how many groups have it, and to which share and partition it belongs.
    used: BTreeMap<u32, Use>,
}

#[derive(Debug, Clone, Copy, State)]
struct Use {
    groups: u32,
    /// Rule of the configuration, and partition; `None` for a LID of its own.
    share: Option<(usize, PKey)>,
}

impl Mlids {
    /// An entry for a group; none when the table is full. Groups that a rule puts together get
    /// entries of their own until the rule's number is reached, then the one that fewest have, of
    /// their own partition where there is one.
    pub(crate) fn assign(
        &mut self,
        settings: &MulticastSettings,
        mgid: &Gid,
        pkey: PKey,
    ) -> Option<u32> {
        let mgid = Mgid::new(mgid.prefix, mgid.interface.0);
        let rule = settings.shares.iter().position(|share| share.matches(mgid));
        let share = rule.map(|rule| (rule, pkey));
        let fresh = match rule.and_then(|rule| settings.shares.get(rule)) {
            Some(limits) => self.may_grow(limits, rule.unwrap_or(0), pkey),
            None => true,
        };
        let entry = match fresh.then(|| self.free(settings)).flatten() {
            Some(entry) => entry,
            None => self.least_used(rule?, pkey)?,
        };
        let held = self.used.entry(entry).or_insert(Use { groups: 0, share });
        held.groups += 1;
        Some(entry)
    }

    /// Gives a group the entry that it had before; returns whether the table has it, for a group of that
    /// kind.
    pub(crate) fn claim(
        &mut self,
        settings: &MulticastSettings,
        mgid: &Gid,
        pkey: PKey,
        entry: u32,
    ) -> bool {
        let mgid = Mgid::new(mgid.prefix, mgid.interface.0);
        let rule = settings.shares.iter().position(|share| share.matches(mgid));
        let share = rule.map(|rule| (rule, pkey));
        let is_free = self.used.get(&entry).is_none_or(|held| {
            let shared = held.share.zip(share);
            shared.is_some_and(|(held, share)| held.0 == share.0)
        });
        let is_there = entry < settings.mlids_max.min(MLIDS);
        if is_free && is_there {
            let held = self.used.entry(entry).or_insert(Use { groups: 0, share });
            held.groups += 1;
        }
        is_free && is_there
    }

    /// A group gives its entry back.
    pub(crate) fn release(&mut self, entry: u32) {
        if let Some(held) = self.used.get_mut(&entry) {
            held.groups -= 1;
            if held.groups == 0 {
                self.used.remove(&entry);
            }
        }
    }

    /// Whether a rule lets its groups have one more entry.
    fn may_grow(&self, limits: &MlidShare, rule: usize, pkey: PKey) -> bool {
        let of_rule = self.of_rule(rule).count() as u64;
        let of_key = self.of_rule(rule).filter(|(_, key)| *key == pkey).count() as u64;
        let most = limits.max_mlids.map_or(u64::MAX, u64::from);
        let most_of_key = match limits.max_mlids_per_pkey {
            0 => u64::MAX,
            most => most.into(),
        };
        of_rule < most && of_key < most_of_key
    }

    fn of_rule(&self, rule: usize) -> impl Iterator<Item = (u32, PKey)> + '_ {
        self.used.iter().filter_map(move |(entry, held)| {
            let (of, key) = held.share?;
            (of == rule).then_some((*entry, key))
        })
    }

    /// The lowest free entry.
    fn free(&self, settings: &MulticastSettings) -> Option<u32> {
        let most = settings.mlids_max.min(MLIDS);
        if self.used.len() as u64 >= u64::from(most) {
            return None;
        }
        let taken: BTreeSet<u32> = self.used.keys().copied().collect();
        (0..most).find(|entry| !taken.contains(entry))
    }

    fn least_used(&self, rule: usize, pkey: PKey) -> Option<u32> {
        let load = |entry: &u32| self.used.get(entry).map_or(0, |held| held.groups);
        let own = self.of_rule(rule).filter(|(_, key)| *key == pkey);
        let own = own.map(|(entry, _)| entry).min_by_key(load);
        own.or_else(|| self.of_rule(rule).map(|(entry, _)| entry).min_by_key(load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_fabric::Guid;

    fn gid(n: u64) -> Gid {
        Gid {
            prefix: 0xFF12_601B_FFFF_0000,
            interface: Guid(0x0001_FF00_0000 + n),
        }
    }

    fn shared(most: u32, per_key: u32) -> MulticastSettings {
        let share = MlidShare {
            enable: true,
            mgid_mask: Some(Mgid::new(0xFFFF_FFFF_0000_0000, 0xFFFF_FF00_0000)),
            mgid_value: Some(Mgid::new(0xFF12_601B_0000_0000, 0x0001_FF00_0000)),
            max_mlids: Some(most),
            max_mlids_per_pkey: per_key,
        };
        MulticastSettings {
            shares: vec![share],
            ..MulticastSettings::default()
        }
    }

    #[test]
    fn a_rule_bounds_the_lids_of_its_groups() {
        let mut mlids = Mlids::default();
        let settings = shared(3, 2);
        let key = PKey(0x8001);
        let given: Vec<u32> = (0..5)
            .map(|n| mlids.assign(&settings, &gid(n), key).unwrap_or(99))
            .collect();
        assert_eq!(given, [0, 1, 0, 1, 0], "two for a partition");
        assert_eq!(mlids.assign(&settings, &gid(9), PKey(0x8002)), Some(2));
        assert_eq!(
            mlids.assign(&settings, &gid(10), PKey(0x8003)),
            Some(2),
            "three in all: the emptiest"
        );
        let other = Gid {
            prefix: 0xFF12_401B_0000_0000,
            interface: Guid(1),
        };
        assert_eq!(mlids.assign(&settings, &other, key), Some(3));
    }

    #[test]
    fn what_is_given_back_is_given_again() {
        let settings = MulticastSettings {
            mlids_max: 2,
            ..MulticastSettings::default()
        };
        let mut mlids = Mlids::default();
        let next = |mlids: &mut Mlids, n| mlids.assign(&settings, &gid(n), PKey(0x8001));
        assert_eq!(
            [
                next(&mut mlids, 0),
                next(&mut mlids, 1),
                next(&mut mlids, 2)
            ],
            [Some(0), Some(1), None]
        );
        mlids.release(0);
        assert_eq!(next(&mut mlids, 3), Some(0));
    }
}
