//! Multicast groups: who is in them, what they allow, and which LIDs they have.
//!
//! | module | what it is about |
//! |---|---|
//! | `form` | records in both forms |
//! | `group` | a group and its members |
//! | `mlids` | LIDs, shared where the configuration says so |
//! | `join` | joining, creating and leaving |
//! | `tell` | records, and what the subnet manager is told |

mod form;
mod group;
mod join;
mod mlids;
mod tell;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use weft_fabric::Tick;
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};

use super::Sa;
use super::settings::VirtualFabric;
use group::Group;
pub(crate) use join::member_changes;
use mlids::Mlids;
pub(crate) use tell::member_records;

/// How long changes are collected before the subnet manager is told: a job that starts makes
/// thousands in a moment.
const COLLECT: Duration = Duration::from_millis(20);

/// MTU of a group that is created without one anywhere (`IB_MTU_2048`).
const MTU_BY_DEFAULT: Mtu = Mtu(4);

/// Hop limit of the groups of the configuration: none.
const HOP_LIMIT: u8 = 0xFF;

/// All groups, in order of their GIDs.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) all: BTreeMap<Gid, Group>,
    mlids: Mlids,
    /// When the subnet manager is told of changes.
    due: Option<Tick>,
    /// Groups that came (true) or went, of which subscribers are told.
    pub(crate) news: Vec<(bool, Gid)>,
    /// GIDs that were given to groups which had none.
    named: u64,
}

impl Groups {
    /// A group has changed.
    pub(crate) fn touch(&mut self, now: Tick) {
        self.due.get_or_insert(now + COLLECT);
    }

    /// When changes are to be told.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Removes a group that nobody keeps alive.
    fn drop_unkept(&mut self, gid: &Gid) {
        let unkept = self
            .all
            .get(gid)
            .is_some_and(|group| !group.permanent && !group.is_kept());
        if unkept && let Some(group) = self.all.remove(gid) {
            self.mlids.release(group.mlid);
            self.news.push((false, *gid));
        }
    }
}

fn gid_of(mgid: weft_config::Mgid) -> Gid {
    Gid {
        prefix: mgid.upper(),
        interface: weft_fabric::Guid(mgid.lower()),
    }
}

impl Sa {
    /// Creates the groups that the virtual fabrics have from the start.
    pub(crate) fn create_configured_groups(&mut self) {
        let fabrics = self.settings.fabrics.clone();
        for fabric in fabrics.iter().filter(|fabric| !fabric.standby) {
            for configured in &fabric.multicast_groups {
                // In order of the GIDs, as the vendor's manager gives out their LIDs.
                let mgids: BTreeSet<_> = configured.mgids.iter().copied().map(gid_of).collect();
                for gid in mgids {
                    let group = self.configured_group(fabric, configured, gid);
                    self.add_configured(group);
                }
            }
        }
    }

    fn configured_group(
        &self,
        fabric: &VirtualFabric,
        configured: &weft_config::ResolvedMulticastGroup,
        mgid: Gid,
    ) -> Group {
        Group {
            q_key: configured.qkey,
            mtu: configured.mtu.code().map_or(MTU_BY_DEFAULT, Mtu),
            rate: configured.rate.code().unwrap_or(16),
            life: self.settings.paths.lifetimes[8],
            sl: configured.sl,
            t_class: configured.tclass as u8,
            flow_label: configured.flow_label,
            hop_limit: HOP_LIMIT,
            permanent: true,
            ..Group::new(mgid, PKey(fabric.pkey.0 | 0x8000))
        }
    }

    /// Adds a group once; without a LID for it, it is left out.
    fn add_configured(&mut self, mut group: Group) {
        if self.groups.all.contains_key(&group.mgid) {
            return;
        }
        let mlid = self
            .groups
            .mlids
            .assign(&self.settings.multicast, &group.mgid, group.pkey);
        if let Some(mlid) = mlid {
            group.mlid = mlid;
            self.groups.all.insert(group.mgid, group);
        }
    }

    /// Members whose ports are gone leave.
    pub(crate) fn forget_lost_members(&mut self, now: Tick) {
        let gids: Vec<Gid> = self.groups.all.keys().copied().collect();
        for gid in gids {
            let view = &self.view;
            let Some(group) = self.groups.all.get_mut(&gid) else {
                continue;
            };
            let before = group.members.len();
            group
                .members
                .retain(|member, _| view.by_guid(member.interface).is_some());
            if group.members.len() != before {
                self.groups.drop_unkept(&gid);
                self.groups.touch(now);
            }
        }
    }
}
