//! A group and its members.

use std::collections::BTreeMap;

use weft_fabric::multicast::FIRST_MLID;
use weft_fabric::{GroupMember, Guid, JoinState, Lid, MulticastGroup, Sl};
use weft_state::State;
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::McMemberRecord;

/// Join state of a port: a bit each, as in the record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(crate) struct Joined(pub(crate) u8);

impl Joined {
    /// Sends and receives, and keeps the group alive.
    const FULL: u8 = 1;
    /// Sends and receives.
    const NON: u8 = 2;
    /// Sends only, and keeps the group alive.
    const SEND_ONLY_FULL: u8 = 8;

    /// Join state in a record.
    pub(crate) fn of(record: &McMemberRecord) -> Self {
        let bits = [
            record.join_full_member,
            record.join_non_member,
            record.join_send_only_non_member,
            record.join_send_only_full_member,
        ];
        Self((0..).zip(bits).map(|(bit, set)| u8::from(set) << bit).sum())
    }

    /// Whether a port takes part at all.
    pub(crate) fn any(self) -> bool {
        self.0 != 0
    }

    pub(crate) fn receives(self) -> bool {
        self.0 & (Self::FULL | Self::NON) != 0
    }

    pub(crate) fn keeps(self) -> bool {
        self.0 & (Self::FULL | Self::SEND_ONLY_FULL) != 0
    }

    fn write(self, record: &mut McMemberRecord) {
        record.join_full_member = self.0 & 1 != 0;
        record.join_non_member = self.0 & 2 != 0;
        record.join_send_only_non_member = self.0 & 4 != 0;
        record.join_send_only_full_member = self.0 & 8 != 0;
    }
}

/// A member: how it takes part, and whether another port joined it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(crate) struct Member {
    pub(crate) joined: Joined,
    pub(crate) proxy: bool,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Group {
    pub(crate) mgid: Gid,
    /// Its entry in the multicast tables.
    pub(crate) mlid: u32,
    /// Key of a full member.
    pub(crate) pkey: PKey,
    pub(crate) q_key: u32,
    pub(crate) mtu: Mtu,
    pub(crate) rate: u8,
    pub(crate) life: u8,
    pub(crate) sl: Sl,
    pub(crate) t_class: u8,
    pub(crate) flow_label: u32,
    pub(crate) hop_limit: u8,
    pub(crate) scope: u8,
    /// It stays without members.
    pub(crate) permanent: bool,
    /// GUID of the port that created it; 0 for the configuration.
    pub(crate) creator: Guid,
    /// By GID of the port.
    pub(crate) members: BTreeMap<Gid, Member>,
}

impl Group {
    /// A group without members; its LID is still to be given.
    pub(crate) fn new(mgid: Gid, pkey: PKey) -> Self {
        Self {
            mgid,
            mlid: 0,
            pkey,
            q_key: 0,
            mtu: Mtu(0),
            rate: 0,
            life: 0,
            sl: Sl(0),
            t_class: 0,
            flow_label: 0,
            hop_limit: 0,
            scope: (mgid.prefix >> 48 & 0xF) as u8,
            permanent: false,
            creator: Guid(0),
            members: BTreeMap::new(),
        }
    }

    pub(crate) fn lid(&self) -> Lid {
        Lid(FIRST_MLID + self.mlid)
    }

    /// Whether a member keeps it alive.
    pub(crate) fn is_kept(&self) -> bool {
        self.members.values().any(|member| member.joined.keeps())
    }

    /// The group as a value for readers.
    pub(crate) fn told(&self) -> MulticastGroup {
        let members = self.members.iter().map(|(port, member)| GroupMember {
            port: *port,
            joined: JoinState(member.joined.0),
        });
        MulticastGroup {
            mgid: self.mgid,
            mlid: self.lid(),
            pkey: self.pkey,
            q_key: self.q_key,
            mtu: self.mtu,
            rate: self.rate,
            lifetime: self.life,
            sl: self.sl,
            hop_limit: self.hop_limit,
            flow_label: self.flow_label,
            t_class: self.t_class,
            permanent: self.permanent,
            members: members.collect(),
        }
    }

    /// The record for clients, of a member or of the group alone.
    pub(crate) fn record(&self, member: Option<(&Gid, Member)>) -> McMemberRecord {
        /// "Exactly".
        const EQUAL: u8 = 2;
        let mut record = McMemberRecord {
            mgid: self.mgid,
            q_key: self.q_key,
            mtu_selector: EQUAL,
            mtu: self.mtu,
            t_class: self.t_class,
            p_key: self.pkey,
            rate_selector: EQUAL,
            rate: self.rate,
            pkt_life_time_selector: EQUAL,
            pkt_life_time: self.life,
            sl: self.sl,
            hop_limit: self.hop_limit,
            scope: self.scope,
            mlid: self.lid(),
            ..McMemberRecord::default()
        };
        if let Some((gid, member)) = member {
            record.port_gid = *gid;
            record.proxy_join = member.proxy;
            member.joined.write(&mut record);
        }
        record
    }
}
