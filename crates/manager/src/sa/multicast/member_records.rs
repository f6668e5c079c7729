//! Records of groups and members, and the output for the subnet manager.

use std::collections::BTreeMap;

use weft_fabric::{Guid, Lid, MulticastGroup};
use weft_wire::id::Gid;
use weft_wire::sa::{IbMcMemberRecord, McMemberRecord};

use super::group::{Group, Joined, Member};
use super::{Groups, Members, Sa, form};
use crate::gsi::Form;
use crate::multicast::MulticastLid;
use crate::rates::mbps;
use crate::sa::dispatch::is_full;
use crate::sa::query::{Found, Query, Records, Refusal};

/// The component that means the group.
const MGID: u32 = 0;
/// Components with selectors, and the join state, which are not compared.
const NOT_COMPARED: u64 = 0x3 << 4 | 0x3 << 8 | 0x3 << 10 | 1 << 17;
/// Excluded components in InfiniBand's form, where the numbers after the lifetime are one lower.
const NOT_COMPARED_IB: u64 = 0x3 << 4 | 0x3 << 8 | 0x3 << 10 | 1 << 16;

/// Groups and members: one record per group, unless the query names the group. Only full members of
/// the management partition see the members; others see groups of their partitions.
pub(crate) fn member_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let trusted = is_full(query.request.from.pkey);
    let requester = sa.view.by_lid(query.request.from.lid);
    let requester = requester.ok_or(Refusal::INVALID)?;
    let mut records = match query.form() {
        Form::Opa => Records::except::<McMemberRecord>(query, NOT_COMPARED),
        Form::Ib => Records::except::<IbMcMemberRecord>(query, NOT_COMPARED_IB),
    };
    let mut push = |record: &McMemberRecord| {
        let before = records.count();
        match query.form() {
            Form::Opa => records.push(record),
            Form::Ib => records.push(&form::narrowed(record)),
        }
        records.count() > before
    };
    for group in sa.groups.all.values() {
        if !trusted && sa.view.key_of(requester, group.pkey).is_none() {
            continue;
        }
        tell_group(group, query.has(MGID) && trusted, trusted, &mut push);
    }
    records.finish()
}

/// Tells of all members, or of the first that matches; of the group alone where there is none.
fn tell_group(
    group: &Group,
    all: bool,
    trusted: bool,
    push: &mut impl FnMut(&McMemberRecord) -> bool,
) {
    if group.members.is_empty() {
        // As with the vendor's manager, what keeps a configured group is a member without a port.
        push(&McMemberRecord {
            join_full_member: group.permanent,
            ..group.record(None)
        });
        return;
    }
    for (gid, member) in &group.members {
        let mut record = group.record(Some((gid, *member)));
        let matched = match trusted {
            true => push(&record),
            false => {
                record.port_gid = Gid::default();
                push(&McMemberRecord {
                    port_gid: Gid::default(),
                    ..group.record(None)
                })
            }
        };
        if matched && !all {
            return;
        }
    }
}

impl Groups {
    /// Groups with their members, for readers.
    pub(crate) fn for_readers(&self) -> Vec<MulticastGroup> {
        self.all.values().map(Group::told).collect()
    }

    /// Groups for the subnet manager to program, in order of LIDs: groups with the same LID together.
    /// Members count as known from then on.
    pub(crate) fn for_manager(&mut self) -> Vec<MulticastLid> {
        (self.members, self.due) = (Members::Known, None);
        let mut lids: BTreeMap<Lid, MulticastLid> = BTreeMap::new();
        let mut ports: BTreeMap<Lid, BTreeMap<Guid, Joined>> = BTreeMap::new();
        for group in self.all.values() {
            let lid = lids.entry(group.lid()).or_insert_with(|| MulticastLid {
                mlid: group.lid(),
                mtu: group.mtu,
                rate: group.rate,
                receivers: Vec::new(),
                senders: Vec::new(),
            });
            lid.mtu = lid.mtu.max(group.mtu);
            if mbps(group.rate) > mbps(lid.rate) {
                lid.rate = group.rate;
            }
            let of_lid = ports.entry(group.lid()).or_default();
            for (gid, Member { joined, .. }) in &group.members {
                of_lid.entry(gid.interface).or_default().0 |= joined.0;
            }
        }
        for (lid, members) in ports {
            if let Some(told) = lids.get_mut(&lid) {
                let (receivers, senders) = members
                    .into_iter()
                    .partition(|(_, joined)| joined.receives());
                told.receivers = guids(receivers);
                told.senders = guids(senders);
            }
        }
        lids.into_values().collect()
    }
}

fn guids(members: Vec<(Guid, Joined)>) -> Vec<Guid> {
    members.into_iter().map(|(guid, _)| guid).collect()
}
