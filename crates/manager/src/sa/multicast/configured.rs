//! The groups that virtual fabrics have from the start.

use std::collections::{BTreeMap, BTreeSet};

use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};

use super::group::Group;
use crate::sa::Sa;
use crate::settings::VirtualFabric;

/// MTU of a group that is created without one anywhere (`IB_MTU_2048`).
const MTU_BY_DEFAULT: Mtu = Mtu(4);

/// Hop limit of the groups of the configuration: none.
const HOP_LIMIT: u8 = 0xFF;

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

    /// Groups of partitions that are gone go, with their members, as those of virtual fabrics do that are
    /// on standby (opa-fm, sm_topology.c). A group that the configuration does not name any more stays
    /// while members keep it.
    pub(crate) fn drop_undeclared(&mut self) {
        let full = |key: PKey| PKey(key.0 | 0x8000);
        let mut declared: BTreeMap<Gid, PKey> = BTreeMap::new();
        for fabric in self.settings.active() {
            let named = fabric.multicast_groups.iter();
            let mgids = named.flat_map(|group| group.mgids.iter().copied().map(gid_of));
            for mgid in mgids {
                declared.entry(mgid).or_insert(full(fabric.pkey));
            }
        }
        let keys: BTreeSet<PKey> = self
            .settings
            .active()
            .map(|fabric| full(fabric.pkey))
            .collect();
        let held: Vec<Gid> = self.groups.all.keys().copied().collect();
        for mgid in held {
            let Some(group) = self.groups.all.get_mut(&mgid) else {
                continue;
            };
            let declared = declared.get(&mgid);
            let is_other = declared.is_some_and(|key| *key != group.pkey);
            if is_other || !keys.contains(&group.pkey) {
                self.groups.remove(&mgid);
                continue;
            }
            group.permanent = declared.is_some();
            self.groups.drop_unkept(&mgid);
        }
    }
}
