//! What subnet administration knows besides the devices: multicast groups with their members, virtual fabrics,
//! device groups and nodes in quarantine.

use std::sync::Arc;

use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, Lid, PKey, Sl};
use weft_wire::sa::{DeviceGroupMemberRecord, QuarantinedNodeRecord, VfInfoRecord};

/// How a port takes part in a multicast group: a bit each, as `STL_MCMEMBER_RECORD` has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JoinState(pub u8);

impl JoinState {
    /// Sends and receives, and keeps the group alive.
    pub const FULL: u8 = 1;
    /// Sends and receives.
    pub const NON: u8 = 2;
    /// Sends only.
    pub const SEND_ONLY_NON: u8 = 4;
    /// Sends only, and keeps the group alive.
    pub const SEND_ONLY_FULL: u8 = 8;

    /// Whether one of the bits is set.
    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// A port in a multicast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMember {
    /// GID of the port.
    pub port: Gid,
    /// How it takes part.
    pub joined: JoinState,
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its GID.
    pub mgid: Gid,
    /// Its LID, 0xF0000000 to 0xF0003FFE; groups may share one.
    pub mlid: Lid,
    /// Partition key of a full member.
    pub pkey: PKey,
    /// Queue key.
    pub q_key: u32,
    /// Largest packet.
    pub mtu: Mtu,
    /// Static rate (`IB_STATIC_RATE`).
    pub rate: u8,
    /// Maximum packet lifetime: 4.096 µs × 2^value.
    pub lifetime: u8,
    /// Service level.
    pub sl: Sl,
    /// Hop limit.
    pub hop_limit: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Traffic class.
    pub t_class: u8,
    /// Stays without members.
    pub permanent: bool,
    /// In order of the ports' GIDs.
    pub members: Vec<GroupMember>,
}

/// A device group of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceGroup {
    /// Its name.
    pub name: String,
    /// Its ports with a link, in the order of subnet administration.
    pub members: Vec<DeviceGroupMemberRecord>,
}

/// What subnet administration knows at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Administration {
    /// Multicast groups, in order of their GIDs where the manager tells of them.
    pub groups: Arc<Vec<MulticastGroup>>,
    /// The virtual fabrics that carry traffic, in the order of the configuration.
    pub virtual_fabrics: Vec<VfInfoRecord>,
    /// Device groups in the order of the configuration; none where they are not known, as in files of `opareport`.
    pub device_groups: Option<Vec<DeviceGroup>>,
    /// Nodes that no data reaches; none where they are not known, as in files of `opareport`.
    pub quarantined: Option<Vec<QuarantinedNodeRecord>>,
}
