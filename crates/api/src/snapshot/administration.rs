//! Multicast groups, virtual fabrics, device groups and nodes in quarantine.

use std::sync::Arc;

use weft_fabric::enums::Mtu;
use weft_fabric::{
    Administration, DeviceGroup, FIRST_MLID, GroupMember, Guid, JoinState, Lid, MLIDS,
    MulticastGroup, PKey, Sl, Snapshot,
};
use weft_wire::Layout;
use weft_wire::id::Gid;
use weft_wire::sa::{DeviceGroupMemberRecord, QuarantinedNodeRecord, VfInfoRecord};

use super::{SnapshotError, chunks, read};
use crate::v1::{self, get_snapshot_response::Part};

/// Members of a group in one part.
const MEMBERS_PER_PART: usize = 8192;

pub(super) fn parts(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> + Send {
    let administration = Arc::clone(&snapshot.administration);
    let groups = 0..administration.groups.len();
    let groups = groups.flat_map({
        let administration = Arc::clone(&administration);
        move |index| {
            administration
                .groups
                .get(index)
                .map_or_else(Vec::new, group_parts)
        }
    });
    let fabrics = 0..administration.virtual_fabrics.len();
    let fabrics = fabrics.filter_map(move |index| {
        let record = administration.virtual_fabrics.get(index)?.to_bytes();
        Some(Part::VirtualFabric(v1::SnapshotVirtualFabric { record }))
    });
    groups.chain(fabrics)
}

fn group_parts(of: &MulticastGroup) -> Vec<Part> {
    let part = |members: &[GroupMember]| Part::Group(group(of, members));
    match of.members.is_empty() {
        true => vec![part(&[])],
        false => of.members.chunks(MEMBERS_PER_PART).map(part).collect(),
    }
}

/// A group with some of its members.
pub(super) fn group(of: &MulticastGroup, members: &[GroupMember]) -> v1::SnapshotGroup {
    let member = |member: &GroupMember| v1::SnapshotGroupMember {
        prefix: member.port.prefix,
        interface: member.port.interface.0,
        joined: member.joined.0.into(),
    };
    v1::SnapshotGroup {
        mgid_prefix: of.mgid.prefix,
        mgid_interface: of.mgid.interface.0,
        mlid: of.mlid.0,
        p_key: of.pkey.0.into(),
        q_key: of.q_key,
        mtu: of.mtu.0.into(),
        rate: of.rate.into(),
        lifetime: of.lifetime.into(),
        sl: of.sl.0.into(),
        hop_limit: of.hop_limit.into(),
        flow_label: of.flow_label,
        t_class: of.t_class.into(),
        permanent: of.permanent,
        members: members.iter().map(member).collect(),
    }
}

pub(super) fn device_groups(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> + Send {
    let groups = snapshot
        .administration
        .device_groups
        .clone()
        .unwrap_or_default();
    groups.into_iter().flat_map(|group| {
        let mut members: Vec<_> = chunks(group.members, MEMBERS_PER_PART).collect();
        if members.is_empty() {
            members.push(Vec::new());
        }
        let name = group.name;
        members.into_iter().map(move |members| {
            Part::DeviceGroup(v1::SnapshotDeviceGroup {
                name: name.clone(),
                members: members.iter().flat_map(Layout::to_bytes).collect(),
            })
        })
    })
}

pub(super) fn quarantined(snapshot: Arc<Snapshot>) -> impl Iterator<Item = Part> + Send {
    let records = snapshot.administration.quarantined.clone();
    let records = chunks(records.unwrap_or_default(), MEMBERS_PER_PART);
    records.map(|records| {
        Part::Quarantined(v1::SnapshotQuarantined {
            records: records.iter().flat_map(Layout::to_bytes).collect(),
        })
    })
}

/// What has come of it.
#[derive(Debug, Default)]
pub(super) struct AdministrationParts {
    groups: Vec<MulticastGroup>,
    virtual_fabrics: Vec<VfInfoRecord>,
    device_groups: Vec<DeviceGroup>,
    quarantined: Vec<QuarantinedNodeRecord>,
}

impl AdministrationParts {
    pub(super) fn group(&mut self, part: v1::SnapshotGroup) -> Result<(), SnapshotError> {
        let group = read_group(part)?;
        match self.groups.last_mut() {
            Some(last) if last.mgid == group.mgid => last.members.extend(group.members),
            _ => self.groups.push(group),
        }
        Ok(())
    }

    pub(super) fn virtual_fabric(&mut self, record: VfInfoRecord) {
        self.virtual_fabrics.push(record);
    }

    pub(super) fn device_group(
        &mut self,
        part: v1::SnapshotDeviceGroup,
    ) -> Result<(), SnapshotError> {
        let members = part.members.chunks(DeviceGroupMemberRecord::LEN);
        let members = members.map(|bytes| read("DeviceGroupMember", bytes));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        match self.device_groups.last_mut() {
            Some(last) if last.name == part.name => last.members.extend(members),
            _ => self.device_groups.push(DeviceGroup {
                name: part.name,
                members,
            }),
        }
        Ok(())
    }

    pub(super) fn quarantined(
        &mut self,
        part: &v1::SnapshotQuarantined,
    ) -> Result<(), SnapshotError> {
        let records = part.records.chunks(QuarantinedNodeRecord::LEN);
        for record in records {
            self.quarantined.push(read("QuarantinedNode", record)?);
        }
        Ok(())
    }

    /// What has come; device groups and nodes in quarantine only where they are known.
    pub(super) fn finish(self, groups_known: bool, quarantined_known: bool) -> Administration {
        Administration {
            groups: Arc::new(self.groups),
            virtual_fabrics: self.virtual_fabrics,
            device_groups: groups_known.then_some(self.device_groups),
            quarantined: quarantined_known.then_some(self.quarantined),
        }
    }
}

fn read_group(part: v1::SnapshotGroup) -> Result<MulticastGroup, SnapshotError> {
    let range = |what, value, allowed| SnapshotError::Range {
        what,
        value,
        allowed,
    };
    if part
        .mlid
        .checked_sub(FIRST_MLID)
        .is_none_or(|entry| entry >= MLIDS)
    {
        return Err(range(
            "the LID of a multicast group",
            part.mlid,
            "0xF0000000 to 0xF0003FFE",
        ));
    }
    let byte = |what, value: u32| u8::try_from(value).map_err(|_| range(what, value, "0 to 255"));
    let member = |member: v1::SnapshotGroupMember| {
        Ok(GroupMember {
            port: Gid {
                prefix: member.prefix,
                interface: Guid(member.interface),
            },
            joined: JoinState(byte("the join state of a member", member.joined)? & 0xF),
        })
    };
    let members = part.members.into_iter().map(member);
    let p_key = part.p_key;
    Ok(MulticastGroup {
        mgid: Gid {
            prefix: part.mgid_prefix,
            interface: Guid(part.mgid_interface),
        },
        mlid: Lid(part.mlid),
        pkey: PKey(
            u16::try_from(p_key).map_err(|_| range("a partition key", p_key, "0 to 65535"))?,
        ),
        q_key: part.q_key,
        mtu: Mtu(byte("the MTU of a group", part.mtu)?),
        rate: byte("the rate of a group", part.rate)?,
        lifetime: byte("the packet lifetime of a group", part.lifetime)?,
        sl: Sl(byte("the service level of a group", part.sl)?),
        hop_limit: byte("the hop limit of a group", part.hop_limit)?,
        flow_label: part.flow_label & 0xF_FFFF,
        t_class: byte("the traffic class of a group", part.t_class)?,
        permanent: part.permanent,
        members: members.collect::<Result<_, SnapshotError>>()?,
    })
}
