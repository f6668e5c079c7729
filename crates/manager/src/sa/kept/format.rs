//! Registrations as bytes: versioned, bound to one subnet, with a checksum.
//!
//! Big-endian: `WEFTREGS`, version u32, subnet prefix u64, the number of generated GIDs u64,
//! numbers of groups, services and subscriptions u32 each; then these; at the end the CRC32C of everything
//! before it, u32.
//!
//! - A group: MGID 16 bytes, MLID entry u32, P_Key u16, Q_Key u32, MTU u8, rate u8, lifetime u8, SL u8,
//!   traffic class u8, flow label u32, hop limit u8, scope u8, permanent u8, creator u64, number of
//!   members u32; a member: port GID 16 bytes, join state u8, proxy u8.
//! - A service: its registrant u64, remaining seconds of its lease u64 (all ones for ever), the
//!   record as on the wire.
//! - A subscription: its port u64, LID u32, the requested LID u32, SL u8, P_Key u16, queue pair u32,
//!   form u8 (0 OPA, 1 InfiniBand), InformInfo as on the wire.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;
use weft_fabric::multicast::MLIDS;
use weft_fabric::{Guid, Lid, Sl, Tick};
use weft_wire::Layout;
use weft_wire::class_port_info::InformInfo;
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::ServiceRecord;

use crate::gsi::{Form, Requester};
use crate::sa::inform::Subscription;
use crate::sa::multicast::{Group, Joined, Member};
use crate::sa::services::Service;

const MAGIC: &[u8; 8] = b"WEFTREGS";
const VERSION: u32 = 1;
const CHECKSUM: usize = 4;
/// Seconds of a lease that does not end.
const FOR_EVER: u64 = u64::MAX;

/// Stored registrations.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// GIDs that were given to groups which had none.
    pub(super) named: u64,
    pub(super) groups: Vec<Group>,
    pub(super) services: Vec<Service>,
    pub(super) subscriptions: Vec<Subscription>,
}

/// Why stored registrations cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeptError {
    /// Something else.
    #[error("they are no registrations of weftd's: they do not begin with WEFTREGS")]
    Foreign,
    /// Written by a newer or older program.
    #[error("they have format version {found}, this program reads version {VERSION}")]
    Version {
        /// The version.
        found: u32,
    },
    /// Truncated, or longer than their content.
    #[error("they have {actual} bytes, which is not the length of what they hold")]
    Length {
        /// Bytes.
        actual: usize,
    },
    /// Damaged.
    #[error(
        "they are damaged: checksum {stored:#010x} does not fit the content's {computed:#010x}"
    )]
    Checksum {
        /// The stored checksum.
        stored: u32,
        /// The computed checksum.
        computed: u32,
    },
    /// Written for another subnet.
    #[error("they belong to the subnet with prefix {found:#018x}, this one has {expected:#018x}")]
    Subnet {
        /// Theirs.
        found: u64,
        /// The configured one.
        expected: u64,
    },
    /// A value that no registration has.
    #[error("they hold {what} that cannot be")]
    Value {
        /// The invalid field.
        what: &'static str,
    },
}

/// Registrations as bytes; leases are counted from `now`.
pub(super) fn encode<'a>(
    subnet_prefix: u64,
    now: Tick,
    named: u64,
    groups: &BTreeMap<Gid, Group>,
    services: impl ExactSizeIterator<Item = &'a Service>,
    subscriptions: &[Subscription],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(MAGIC);
    put(&mut bytes, 4, VERSION.into());
    put(&mut bytes, 8, subnet_prefix);
    put(&mut bytes, 8, named);
    put(&mut bytes, 4, groups.len() as u64);
    put(&mut bytes, 4, services.len() as u64);
    put(&mut bytes, 4, subscriptions.len() as u64);
    groups
        .values()
        .for_each(|group| put_group(&mut bytes, group));
    services.for_each(|service| put_service(&mut bytes, now, service));
    subscriptions
        .iter()
        .for_each(|one| put_subscription(&mut bytes, one));
    let checksum = crc32c::crc32c(&bytes);
    put(&mut bytes, 4, checksum.into());
    bytes
}

/// The last `width` bytes of a number.
fn put(to: &mut Vec<u8>, width: usize, number: u64) {
    to.extend_from_slice(&number.to_be_bytes()[8 - width..]);
}

fn put_gid(to: &mut Vec<u8>, gid: &Gid) {
    put(to, 8, gid.prefix);
    put(to, 8, gid.interface.0);
}

fn put_group(to: &mut Vec<u8>, group: &Group) {
    put_gid(to, &group.mgid);
    for (width, number) in [
        (4, u64::from(group.mlid)),
        (2, group.pkey.0.into()),
        (4, group.q_key.into()),
        (1, group.mtu.0.into()),
        (1, group.rate.into()),
        (1, group.life.into()),
        (1, group.sl.0.into()),
        (1, group.t_class.into()),
        (4, group.flow_label.into()),
        (1, group.hop_limit.into()),
        (1, group.scope.into()),
        (1, group.permanent.into()),
        (8, group.creator.0),
        (4, group.members.len() as u64),
    ] {
        put(to, width, number);
    }
    for (gid, member) in &group.members {
        put_gid(to, gid);
        put(to, 1, member.joined.0.into());
        put(to, 1, member.proxy.into());
    }
}

fn put_service(to: &mut Vec<u8>, now: Tick, service: &Service) {
    put(to, 8, service.registrant.0);
    let left = service.until.map(|until| until.since(now).as_secs());
    put(to, 8, left.unwrap_or(FOR_EVER));
    to.extend_from_slice(&service.record.to_bytes());
}

fn put_subscription(to: &mut Vec<u8>, one: &Subscription) {
    for (width, number) in [
        (8, one.port.0),
        (4, one.to.lid.0.into()),
        (4, one.to.served_lid.0.into()),
        (1, one.to.sl.0.into()),
        (2, one.to.pkey.0.into()),
        (4, one.to.qp.into()),
        (1, u64::from(one.form == Form::Ib)),
    ] {
        put(to, width, number);
    }
    to.extend_from_slice(&one.info.to_bytes());
}

/// Decodes `bytes`; leases resume at `now`.
///
/// # Errors
/// [`KeptError`] when they are not a result of [`encode`] for this subnet.
pub(super) fn decode(bytes: &[u8], subnet_prefix: u64, now: Tick) -> Result<Kept, KeptError> {
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(KeptError::Foreign);
    }
    let mut from = Reader::new(bytes.get(MAGIC.len()..).unwrap_or_default());
    let cut = KeptError::Length {
        actual: bytes.len(),
    };
    let version = from.number(4).ok_or(cut.clone())? as u32;
    if version != VERSION {
        return Err(KeptError::Version { found: version });
    }
    check(bytes)?;
    from.end(CHECKSUM);
    let found = from.number(8).ok_or(cut.clone())?;
    if found != subnet_prefix {
        return Err(KeptError::Subnet {
            found,
            expected: subnet_prefix,
        });
    }
    let kept = read(&mut from, now).ok_or(cut.clone())?;
    match from.left.is_empty() {
        true => check_values(kept),
        false => Err(cut),
    }
}

fn check(bytes: &[u8]) -> Result<(), KeptError> {
    let (content, stored) = bytes
        .split_last_chunk::<CHECKSUM>()
        .ok_or(KeptError::Length {
            actual: bytes.len(),
        })?;
    let (stored, computed) = (u32::from_be_bytes(*stored), crc32c::crc32c(content));
    match stored == computed {
        true => Ok(()),
        false => Err(KeptError::Checksum { stored, computed }),
    }
}

fn check_values(kept: Kept) -> Result<Kept, KeptError> {
    let mut mgids: Vec<Gid> = kept.groups.iter().map(|group| group.mgid).collect();
    mgids.sort_unstable();
    let twice = mgids.windows(2).any(|pair| pair[0] == pair[1]);
    let entry = kept.groups.iter().any(|group| group.mlid >= MLIDS);
    match (twice, entry) {
        (true, _) => Err(KeptError::Value {
            what: "a multicast group twice",
        }),
        (_, true) => Err(KeptError::Value {
            what: "a multicast LID",
        }),
        _ => Ok(kept),
    }
}

/// Bytes that are still to be read. Each reading gives none where they end too early.
struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    fn new(left: &'a [u8]) -> Self {
        Self { left }
    }

    /// Leaves out the last bytes.
    fn end(&mut self, len: usize) {
        let keep = self.left.len().saturating_sub(len);
        self.left = &self.left[..keep];
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(len)?;
        self.left = left;
        Some(taken)
    }

    fn number(&mut self, width: usize) -> Option<u64> {
        let bytes = self.take(width)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    }

    fn gid(&mut self) -> Option<Gid> {
        Some(Gid {
            prefix: self.number(8)?,
            interface: Guid(self.number(8)?),
        })
    }

    fn record<R: Layout>(&mut self) -> Option<R> {
        R::decode(self.take(R::LEN)?).ok()
    }

    /// Reads `count` items, as far as the bytes go.
    fn many<T>(&mut self, count: u64, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..count).map(|_| one(self)).collect()
    }
}

fn read(from: &mut Reader<'_>, now: Tick) -> Option<Kept> {
    let named = from.number(8)?;
    let [groups, services, subscriptions] = [from.number(4)?, from.number(4)?, from.number(4)?];
    Some(Kept {
        named,
        groups: from.many(groups, read_group)?,
        services: from.many(services, |from| read_service(from, now))?,
        subscriptions: from.many(subscriptions, read_subscription)?,
    })
}

fn read_group(from: &mut Reader<'_>) -> Option<Group> {
    let mgid = from.gid()?;
    let mlid = from.number(4)? as u32;
    let pkey = PKey(from.number(2)? as u16);
    let mut group = Group {
        mlid,
        q_key: from.number(4)? as u32,
        mtu: Mtu(from.number(1)? as u8),
        rate: from.number(1)? as u8,
        life: from.number(1)? as u8,
        sl: Sl(from.number(1)? as u8),
        t_class: from.number(1)? as u8,
        flow_label: from.number(4)? as u32,
        hop_limit: from.number(1)? as u8,
        scope: from.number(1)? as u8,
        permanent: from.number(1)? != 0,
        creator: Guid(from.number(8)?),
        ..Group::new(mgid, pkey)
    };
    let members = from.number(4)?;
    let members = from.many(members, |from| {
        let gid = from.gid()?;
        let joined = Joined(from.number(1)? as u8);
        let proxy = from.number(1)? != 0;
        Some((gid, Member { joined, proxy }))
    })?;
    group.members = members.into_iter().collect();
    Some(group)
}

fn read_service(from: &mut Reader<'_>, now: Tick) -> Option<Service> {
    let registrant = Guid(from.number(8)?);
    let until = match from.number(8)? {
        FOR_EVER => None,
        left => Some(now + Duration::from_secs(left.min(u32::MAX.into()))),
    };
    Some(Service {
        registrant,
        until,
        record: from.record::<ServiceRecord>()?,
    })
}

fn read_subscription(from: &mut Reader<'_>) -> Option<Subscription> {
    Some(Subscription {
        port: Guid(from.number(8)?),
        to: Requester {
            lid: Lid(from.number(4)? as u32),
            served_lid: Lid(from.number(4)? as u32),
            sl: Sl(from.number(1)? as u8),
            pkey: PKey(from.number(2)? as u16),
            qp: from.number(4)? as u32,
        },
        form: match from.number(1)? {
            0 => Form::Opa,
            _ => Form::Ib,
        },
        info: from.record::<InformInfo>()?,
    })
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
