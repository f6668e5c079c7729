//! LIDs on stable storage: versioned, bound to one subnet, with a checksum.
//!
//! Big-endian: `WEFTLIDS`, version u32, subnet prefix u64, number of entries u32; for each entry
//! node GUID u64, base LID u32, port u8, LMC u8; at the end the CRC32C of all that u32.

use thiserror::Error;
use weft_fabric::{Guid, Lid, Lmc, PortNum};

use super::LidMap;

const MAGIC: &[u8; 8] = b"WEFTLIDS";
const VERSION: u32 = 1;
const HEADER: usize = 24;
const ENTRY: usize = 14;
const CHECKSUM: usize = 4;

/// Why stored LIDs cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum StoreError {
    #[error("the stored LIDs are no LID store: they do not begin with WEFTLIDS")]
    Foreign,
    #[error("the stored LIDs have format version {found}, this program reads version {VERSION}")]
    Version { found: u32 },
    #[error(
        "the stored LIDs have {actual} bytes, {expected} are needed: the file is cut or has something behind its end"
    )]
    Length { actual: usize, expected: usize },
    #[error(
        "the stored LIDs are damaged: checksum {stored:#010x} does not fit the content's {computed:#010x}"
    )]
    Checksum { stored: u32, computed: u32 },
    #[error(
        "the stored LIDs belong to the subnet with prefix {found:#018x}, this one has {expected:#018x}"
    )]
    Subnet { found: u64, expected: u64 },
    #[error("the stored LIDs give node {node} LID {lid} with LMC {lmc}: no such LID range exists")]
    Entry { node: Guid, lid: Lid, lmc: Lmc },
    #[error("the stored LIDs name port {port} of node {node} twice")]
    Twice { node: Guid, port: PortNum },
}

/// The map as bytes.
pub(crate) fn encode(map: &LidMap, subnet_prefix: u64) -> Vec<u8> {
    let entries = map.entries();
    let mut bytes = Vec::with_capacity(HEADER + entries.len() * ENTRY + CHECKSUM);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&subnet_prefix.to_be_bytes());
    bytes.extend_from_slice(&(entries.len() as u32).to_be_bytes());
    for ((node, port), lid, lmc) in entries {
        bytes.extend_from_slice(&node.0.to_be_bytes());
        bytes.extend_from_slice(&lid.0.to_be_bytes());
        bytes.extend_from_slice(&[port.0, lmc.0]);
    }
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    weft_wire::bits::load(bytes, at, width)
}

/// The map that `bytes` hold.
///
/// # Errors
/// [`StoreError`] when they are not what [`encode`] made for this subnet.
pub(crate) fn decode(bytes: &[u8], subnet_prefix: u64) -> Result<LidMap, StoreError> {
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(StoreError::Foreign);
    }
    check_frame(bytes)?;
    let found = number(bytes, 12, 8);
    if found != subnet_prefix {
        let expected = subnet_prefix;
        return Err(StoreError::Subnet { found, expected });
    }
    let body = bytes
        .get(HEADER..bytes.len() - CHECKSUM)
        .unwrap_or_default();
    let entries: Vec<_> = body
        .chunks_exact(ENTRY)
        .map(entry)
        .collect::<Result<_, _>>()?;
    let count = entries.len();
    let map = LidMap::from_entries(entries.iter().copied());
    if map.entries().len() != count {
        return Err(twice(&entries));
    }
    Ok(map)
}

/// Version, length and checksum.
fn check_frame(bytes: &[u8]) -> Result<(), StoreError> {
    let version = number(bytes, 8, 4) as u32;
    if bytes.len() >= HEADER && version != VERSION {
        return Err(StoreError::Version { found: version });
    }
    let count = number(bytes, 20, 4) as usize;
    let expected = count
        .saturating_mul(ENTRY)
        .saturating_add(HEADER + CHECKSUM);
    if bytes.len() != expected {
        let actual = bytes.len();
        return Err(StoreError::Length { actual, expected });
    }
    let (content, _) = bytes.split_at(expected - CHECKSUM);
    let stored = number(bytes, expected - CHECKSUM, 4) as u32;
    let computed = crc32c::crc32c(content);
    match stored == computed {
        true => Ok(()),
        false => Err(StoreError::Checksum { stored, computed }),
    }
}

type Entry = ((Guid, PortNum), Lid, Lmc);

fn entry(bytes: &[u8]) -> Result<Entry, StoreError> {
    let node = Guid(number(bytes, 0, 8));
    let lid = Lid(number(bytes, 8, 4) as u32);
    let port = PortNum(number(bytes, 12, 1) as u8);
    let lmc = Lmc(number(bytes, 13, 1) as u8);
    let valid = lmc <= Lmc::MAX && lid.is_unicast() && lid.0.is_multiple_of(lmc.lids());
    match valid {
        true => Ok(((node, port), lid, lmc)),
        false => Err(StoreError::Entry { node, lid, lmc }),
    }
}

fn twice(entries: &[Entry]) -> StoreError {
    let mut owners: Vec<_> = entries.iter().map(|(owner, ..)| *owner).collect();
    owners.sort_unstable();
    let double = owners.windows(2).find(|pair| pair[0] == pair[1]);
    let (node, port) = double.map_or((Guid(0), PortNum(0)), |pair| pair[0]);
    StoreError::Twice { node, port }
}
