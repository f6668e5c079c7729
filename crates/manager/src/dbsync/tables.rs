//! Registrations as they are copied: tables of records, and these as bytes.

use std::collections::BTreeMap;

use thiserror::Error;
use weft_state::State;
use weft_wire::Layout;
use weft_wire::dbsync::{SubscriberKey, SyncGroup, SyncMember};
use weft_wire::id::{Gid, Guid, PKey};
use weft_wire::sa::{InformInfoRecord, ServiceRecord};

/// Bytes of the number of records.
const COUNT: usize = 4;
/// Messages are padded to a multiple of this.
const PADDING: usize = 8;

/// A multicast group with its members.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct CopiedGroup {
    /// The group; the number of members in it is not used.
    pub group: SyncGroup,
    /// Its members.
    pub members: Vec<SyncMember>,
}

impl CopiedGroup {
    /// GID of the group.
    pub fn mgid(&self) -> Gid {
        let number = u128::from_le_bytes(self.group.mgid_reversed);
        Gid {
            prefix: (number >> 64) as u64,
            interface: Guid(number as u64),
        }
    }

    /// A GID as it stands in a [`SyncGroup`].
    pub fn reversed(mgid: &Gid) -> [u8; 16] {
        (u128::from(mgid.prefix) << 64 | u128::from(mgid.interface.0)).to_le_bytes()
    }
}

/// A subscription.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct CopiedSubscription {
    /// What identifies it.
    pub key: SubscriberKey,
    /// To what.
    pub record: InformInfoRecord,
}

/// What identifies a service: its number, port and partition.
pub type ServiceKey = (u64, Gid, PKey);
/// What identifies a subscription, as on the wire.
pub type SubscriptionKey = Vec<u8>;

/// All registrations of clients at subnet administration.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct Registrations {
    /// Multicast groups, by GID.
    pub groups: BTreeMap<Gid, CopiedGroup>,
    /// Services.
    pub services: BTreeMap<ServiceKey, ServiceRecord>,
    /// Subscriptions to notices.
    pub subscriptions: BTreeMap<SubscriptionKey, CopiedSubscription>,
}

/// Why bytes are no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TableError {
    /// They end within a record.
    #[error("{count} records are announced, and the data end in that at byte {at} of {len}")]
    Short {
        /// Records that are announced.
        count: u32,
        /// Where the record begins.
        at: usize,
        /// Bytes.
        len: usize,
    },
    /// More comes than is announced.
    #[error("{count} records are announced, and {left} bytes follow them")]
    Long {
        /// Records that are announced.
        count: u32,
        /// Bytes after them.
        left: usize,
    },
}

/// A record of a table.
pub(super) trait Record: Sized {
    /// What identifies it.
    type Key: Ord + Clone;
    /// Its key.
    fn key(&self) -> Self::Key;
    /// Appends its bytes.
    fn write(&self, to: &mut Vec<u8>);
    /// Reads it from the start of `bytes`, with the number of bytes taken.
    fn read(bytes: &[u8]) -> Option<(Self, usize)>;
}

impl Record for CopiedGroup {
    type Key = Gid;

    fn key(&self) -> Gid {
        self.mgid()
    }

    fn write(&self, to: &mut Vec<u8>) {
        // A group has no more members than the fabric has LIDs of 16 bits; what exceeds them is left out.
        let member_count = u16::try_from(self.members.len()).unwrap_or(u16::MAX);
        let group = SyncGroup {
            member_count,
            ..self.group
        };
        to.extend_from_slice(&group.to_bytes());
        for member in self.members.iter().take(usize::from(member_count)) {
            to.extend_from_slice(&member.to_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let group = SyncGroup::decode(bytes).ok()?;
        let len = SyncGroup::LEN + usize::from(group.member_count) * SyncMember::LEN;
        let members = bytes.get(SyncGroup::LEN..len)?;
        let members = members.chunks_exact(SyncMember::LEN);
        let members = members.filter_map(|member| SyncMember::decode(member).ok());
        let copied = Self {
            group,
            members: members.collect(),
        };
        Some((copied, len))
    }
}

impl Record for ServiceRecord {
    type Key = ServiceKey;

    fn key(&self) -> ServiceKey {
        (self.service_id, self.service_gid, self.service_p_key)
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.to_bytes());
    }

    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        Some((Self::decode(bytes).ok()?, Self::LEN))
    }
}

impl Record for CopiedSubscription {
    type Key = SubscriptionKey;

    fn key(&self) -> SubscriptionKey {
        self.key.to_bytes()
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.key.to_bytes());
        to.extend_from_slice(&self.record.to_bytes());
    }

    fn read(bytes: &[u8]) -> Option<(Self, usize)> {
        let copied = Self {
            key: SubscriberKey::decode(bytes).ok()?,
            record: InformInfoRecord::decode(bytes.get(SubscriberKey::LEN..)?).ok()?,
        };
        Some((copied, SubscriberKey::LEN + InformInfoRecord::LEN))
    }
}

/// A message with these records.
pub(super) fn encode<'a, R: Record + 'a>(records: impl ExactSizeIterator<Item = &'a R>) -> Vec<u8> {
    let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
    let mut bytes = count.to_be_bytes().to_vec();
    records.for_each(|record| record.write(&mut bytes));
    bytes
}

/// The records of a message. A table without records may lack its count.
///
/// # Errors
/// [`TableError`] when the number of records and the bytes do not fit each other; padding may follow.
pub(super) fn decode<R: Record>(bytes: &[u8]) -> Result<Vec<R>, TableError> {
    let count = bytes
        .first_chunk::<COUNT>()
        .copied()
        .map(u32::from_be_bytes);
    let count = count.unwrap_or(0);
    let mut at = COUNT.min(bytes.len());
    let mut records = Vec::new();
    for _ in 0..count {
        let left = bytes.get(at..).unwrap_or_default();
        let (record, len) = R::read(left).ok_or(TableError::Short {
            count,
            at,
            len: bytes.len(),
        })?;
        records.push(record);
        at += len;
    }
    match bytes.len() - at {
        left if left >= PADDING => Err(TableError::Long { count, left }),
        _ => Ok(records),
    }
}

/// Records by their keys.
pub(super) fn by_key<R: Record>(records: Vec<R>) -> BTreeMap<R::Key, R> {
    records
        .into_iter()
        .map(|record| (record.key(), record))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn group(number: u64, members: usize) -> CopiedGroup {
        let mgid = Gid {
            prefix: 0xFF12_401B_FFFF_0000,
            interface: Guid(number),
        };
        let member = |index| SyncMember {
            index,
            port_guid: Guid(u64::from(index)),
            ..SyncMember::default()
        };
        CopiedGroup {
            group: SyncGroup {
                mgid_reversed: CopiedGroup::reversed(&mgid),
                member_count: members as u16,
                ..SyncGroup::default()
            },
            members: (1..=members as u32).map(member).collect(),
        }
    }

    #[test]
    fn groups_come_back_with_their_members_in_spite_of_padding() {
        let groups = [group(1, 0), group(0xFFFF_FFFF, 3), group(7, 1)];
        let mut bytes = encode(groups.iter());
        assert_eq!(bytes.len(), 4 + 3 * 52 + 4 * 82);
        assert_eq!(decode::<CopiedGroup>(&bytes).unwrap(), groups);
        bytes.resize(bytes.len().next_multiple_of(8), 0xEE);
        assert_eq!(decode::<CopiedGroup>(&bytes).unwrap(), groups);
        assert_eq!(groups[1].mgid().interface, Guid(0xFFFF_FFFF));
    }

    #[test]
    fn the_bytes_of_a_gid_stand_in_reverse_order() {
        let bytes = encode([group(0x1122, 0)].iter());
        assert_eq!(bytes[4..6], [0x22, 0x11]);
        assert_eq!(bytes[18..20], [0x12, 0xFF]);
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        let bytes = encode([group(1, 2)].iter());
        let cut = decode::<CopiedGroup>(&bytes[..bytes.len() - 1]);
        let len = bytes.len() - 1;
        assert_eq!(
            cut,
            Err(TableError::Short {
                count: 1,
                at: 4,
                len
            })
        );
        let mut long = bytes.clone();
        long.extend([0; 8]);
        let long = decode::<CopiedGroup>(&long);
        assert_eq!(long, Err(TableError::Long { count: 1, left: 8 }));
        let huge = [0xFF; 64];
        assert!(decode::<ServiceRecord>(&huge).is_err());
        assert_eq!(decode::<ServiceRecord>(&[]), Ok(Vec::new()));
    }

    #[test]
    fn subscriptions_and_services_come_back() {
        let subscription = CopiedSubscription {
            key: SubscriberKey {
                qpn: 0x1234,
                ib_mode: 1,
                ..SubscriberKey::default()
            },
            ..CopiedSubscription::default()
        };
        let bytes = encode([subscription; 2].iter());
        assert_eq!(bytes.len(), 4 + 2 * 96);
        assert_eq!(decode(&bytes), Ok(vec![subscription; 2]));
        let service = ServiceRecord {
            service_id: 9,
            ..ServiceRecord::default()
        };
        assert_eq!(decode(&encode([service].iter())), Ok(vec![service]));
    }
}
