//! Multicast groups: their members, parameters and LIDs.
//!
//! | module | contents |
//! |---|---|
//! | `form` | records in both forms |
//! | `group` | a group and its members |
//! | `mlids` | LIDs, shared as configured |
//! | `join` | joining, creating and leaving |
//! | `configured` | the groups that virtual fabrics have from the start |
//! | `storms` | ports that end groups too often |
//! | `member_records` | records, and the output for the subnet manager |

mod configured;
mod form;
mod group;
mod join;
mod member_records;
mod mlids;
mod storms;

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::Tick;
use weft_state::State;
use weft_wire::id::Gid;

use super::Sa;
use super::settings::MulticastSettings;
pub(crate) use group::{Group, Joined, Member};
pub(crate) use join::member_changes;
pub(crate) use member_records::member_records;
use mlids::Mlids;
pub use storms::MulticastStormSettings;
use storms::MulticastStorms;

/// Time for which changes are collected before the subnet manager receives them: the start of a job makes
/// thousands at once.
const COLLECT: Duration = Duration::from_millis(20);

/// After a takeover members count as known when no host has registered for so long: longer than the
/// kernel waits before it repeats a join (3 s; drivers/infiniband/core/multicast.c, `send_join`), so that
/// one lost datagram does not count as the end.
const QUIET: Duration = Duration::from_secs(4);
/// They count as known after so long at the latest.
const LONGEST: Duration = Duration::from_secs(15);

/// Whether the members are known, so that the subnet manager may receive them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
enum Members {
    /// Not at all.
    #[default]
    Unknown,
    /// Hosts are about to be asked to register again.
    Expected,
    /// Hosts are registering again, until then at the latest.
    Coming(Tick),
    /// They are.
    Known,
}

/// All groups, in order of their GIDs.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Groups {
    pub(crate) all: BTreeMap<Gid, Group>,
    mlids: Mlids,
    members: Members,
    /// Time at which the subnet manager receives the changes.
    due: Option<Tick>,
    /// Counts changes.
    pub(crate) changes: u64,
    /// Groups that were created (true) or removed, for reports to subscribers.
    pub(crate) news: Vec<(bool, Gid)>,
    /// GIDs that were given to groups which had none.
    pub(crate) named: u64,
    storms: MulticastStorms,
}

impl Groups {
    /// A group has changed.
    pub(crate) fn touch(&mut self, now: Tick) {
        self.changes += 1;
        match self.members {
            Members::Unknown | Members::Expected => {}
            Members::Coming(last) => self.due = Some(last.min(now + QUIET)),
            Members::Known => {
                self.due.get_or_insert(now + COLLECT);
            }
        }
    }

    /// Expects hosts to register again, after all was forgotten.
    pub(crate) fn expect(&mut self, now: Tick, hosts: usize) {
        self.changes += 1;
        (self.members, self.due) = match hosts {
            0 => (Members::Known, Some(now)),
            _ => (Members::Expected, None),
        };
    }

    /// A new snapshot: ports that have to register are being asked now, or have been in part.
    pub(crate) fn asked(&mut self, now: Tick) {
        if self.members == Members::Expected {
            self.members = Members::Coming(now + LONGEST);
        }
        if let Members::Coming(last) = self.members {
            self.due = Some(last.min(now + QUIET));
        }
    }

    /// When members will be known, none when they are.
    pub(crate) fn known_at(&self) -> Option<Tick> {
        match self.members {
            Members::Unknown | Members::Expected => Some(Tick(u64::MAX)),
            Members::Coming(last) => Some(self.due.unwrap_or(last)),
            Members::Known => None,
        }
    }

    /// All groups and members go.
    pub(crate) fn clear(&mut self) {
        let changes = self.changes + 1;
        *self = Self {
            changes,
            ..Self::default()
        };
    }

    /// Takes what an earlier administration held; a group whose LID is not there any more is left out.
    pub(crate) fn restore(&mut self, groups: Vec<Group>, named: u64, settings: &MulticastSettings) {
        self.clear();
        self.named = named;
        self.members = Members::Known;
        for group in groups {
            let (mgid, pkey, entry) = (&group.mgid, group.pkey, group.mlid);
            if self.mlids.claim(settings, mgid, pkey, entry) {
                self.all.insert(group.mgid, group);
            }
        }
    }

    /// Time at which changes are output.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Removes a group without members that is not configured; whether there was one.
    fn drop_unkept(&mut self, gid: &Gid) -> bool {
        let unkept = self
            .all
            .get(gid)
            .is_some_and(|group| !group.permanent && !group.is_kept());
        if unkept {
            self.remove(gid);
        }
        unkept
    }

    fn remove(&mut self, gid: &Gid) {
        if let Some(group) = self.all.remove(gid) {
            self.mlids.release(group.mlid);
            self.news.push((false, *gid));
            self.changes += 1;
        }
    }
}

impl Sa {
    /// Members whose ports are gone, or have lost the group's partition, leave.
    pub(crate) fn forget_lost_members(&mut self, now: Tick) {
        let gids: Vec<Gid> = self.groups.all.keys().copied().collect();
        for gid in gids {
            let view = &self.view;
            let Some(group) = self.groups.all.get_mut(&gid) else {
                continue;
            };
            let before = group.members.len();
            let pkey = group.pkey;
            group.members.retain(|member, _| {
                let end = view.by_guid(member.interface);
                end.is_some_and(|end| view.key_of(end, pkey) == Some(pkey))
            });
            if group.members.len() != before {
                self.groups.drop_unkept(&gid);
                self.groups.touch(now);
            }
        }
    }
}
