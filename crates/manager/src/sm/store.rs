//! State that survives a restart, LIDs, drains and disabled ports: versioned, bound to one
//! subnet, with a checksum.
//!
//! Big-endian: `WEFTKEPT`, version u32, subnet prefix u64, number of LIDs u32, number of drains u32,
//! number of ports u32 (from version 2 on); for each LID node GUID u64, base LID u32, port u8, LMC u8;
//! for each drain GUID u64 and port u8, port 0 for a switch as a whole; for each port GUID u64 and
//! port u8, then those of the end where it was disabled; at the end the CRC32C of everything before it, u32.

use thiserror::Error;
use weft_fabric::{Guid, Lid, Lmc, PortNum};

use super::commands::Disabled;
use super::drains::{Drain, Drains};
use super::lids::LidMap;
use super::port_change::End;

const MAGIC: &[u8; 8] = b"WEFTKEPT";
const VERSION: u32 = 2;
const HEADER: usize = 32;
/// Version 1 had no ports and no number of them.
const FIRST_VERSION: u32 = 1;
const FIRST_HEADER: usize = 28;
const LID: usize = 14;
const DRAIN: usize = 9;
const PORT: usize = 18;
const CHECKSUM: usize = 4;

/// Stored state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub lids: LidMap,
    pub drains: Drains,
    pub disabled: Disabled,
}

/// Why the stored state cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum StoreError {
    #[error("it is no state of weftd's: it does not begin with WEFTKEPT")]
    Foreign,
    #[error(
        "it has format version {found}, this program reads versions {FIRST_VERSION} to {VERSION}"
    )]
    Version { found: u32 },
    #[error(
        "it has {actual} bytes, {expected} are needed: the file is cut or has something behind its end"
    )]
    Length { actual: usize, expected: usize },
    #[error("it is damaged: checksum {stored:#010x} does not fit the content's {computed:#010x}")]
    Checksum { stored: u32, computed: u32 },
    #[error("it belongs to the subnet with prefix {found:#018x}, this one has {expected:#018x}")]
    Subnet { found: u64, expected: u64 },
    #[error("it assigns node {node} LID {lid} with LMC {lmc}: no such LID range exists")]
    Lid { node: Guid, lid: Lid, lmc: Lmc },
    #[error("it names port {port} of node {node} twice")]
    Twice { node: Guid, port: PortNum },
}

/// LIDs, drains and ports that are switched off as bytes.
pub(crate) fn encode(
    (lids, drains, disabled): (&LidMap, &Drains, &Disabled),
    subnet_prefix: u64,
) -> Vec<u8> {
    let lids = lids.entries();
    let sections = lids.len() * LID + drains.len() * DRAIN + disabled.len() * PORT;
    let len = HEADER + sections + CHECKSUM;
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&subnet_prefix.to_be_bytes());
    bytes.extend_from_slice(&(lids.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&(drains.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&(disabled.len() as u32).to_be_bytes());
    for ((node, port), lid, lmc) in lids {
        bytes.extend_from_slice(&node.0.to_be_bytes());
        bytes.extend_from_slice(&lid.0.to_be_bytes());
        bytes.extend_from_slice(&[port.0, lmc.0]);
    }
    for drain in drains {
        let (guid, port) = match *drain {
            Drain::Switch(guid) => (guid, 0),
            Drain::Link(guid, port) => (guid, port.0),
        };
        bytes.extend_from_slice(&guid.0.to_be_bytes());
        bytes.push(port);
    }
    for (guid, port) in disabled.iter().flat_map(|(named, at)| [named, at]) {
        bytes.extend_from_slice(&guid.0.to_be_bytes());
        bytes.push(port.0);
    }
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The format version of a state that a newer program wrote, and the newest that this one reads.
pub fn written_by_newer(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = number(bytes.get(..HEADER)?, 8, 4) as u32;
    let newer = bytes.starts_with(MAGIC) && found > VERSION;
    newer.then_some((found, VERSION))
}

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    weft_wire::bits::load(bytes, at, width)
}

/// Decodes `bytes`.
///
/// # Errors
/// [`StoreError`] when they are not a result of [`encode`] for this subnet.
pub(crate) fn decode(bytes: &[u8], subnet_prefix: u64) -> Result<Kept, StoreError> {
    if bytes.get(..MAGIC.len()) != Some(MAGIC) {
        return Err(StoreError::Foreign);
    }
    let [lids, drains, ports] = sections(bytes)?;
    let found = number(bytes, 12, 8);
    if found != subnet_prefix {
        let expected = subnet_prefix;
        return Err(StoreError::Subnet { found, expected });
    }
    Ok(Kept {
        lids: read_lids(lids)?,
        drains: drains.chunks_exact(DRAIN).map(read_drain).collect(),
        disabled: ports.chunks_exact(PORT).map(read_port).collect(),
    })
}

/// The bytes of the LIDs, the drains and the ports, after version, length and checksum have been
/// found right.
fn sections(bytes: &[u8]) -> Result<[&[u8]; 3], StoreError> {
    let version = number(bytes, 8, 4) as u32;
    let header = match version {
        VERSION => HEADER,
        FIRST_VERSION => FIRST_HEADER,
        found if bytes.len() >= FIRST_HEADER => return Err(StoreError::Version { found }),
        _ => HEADER,
    };
    let section = |at, width| (number(bytes, at, 4) as usize).saturating_mul(width);
    let (lids, drains) = (section(20, LID), section(24, DRAIN));
    let ports = match version {
        VERSION => section(28, PORT),
        _ => 0,
    };
    let content = lids.saturating_add(drains).saturating_add(ports);
    let expected = content.saturating_add(header + CHECKSUM);
    if bytes.len() != expected {
        let actual = bytes.len();
        return Err(StoreError::Length { actual, expected });
    }
    let (content, _) = bytes.split_at(expected - CHECKSUM);
    let stored = number(bytes, expected - CHECKSUM, 4) as u32;
    let computed = crc32c::crc32c(content);
    match stored == computed {
        true => {
            let (lids, rest) = content[header..].split_at(lids);
            let (drains, ports) = rest.split_at(drains);
            Ok([lids, drains, ports])
        }
        false => Err(StoreError::Checksum { stored, computed }),
    }
}

type Entry = ((Guid, PortNum), Lid, Lmc);

fn read_lids(bytes: &[u8]) -> Result<LidMap, StoreError> {
    let entries = bytes.chunks_exact(LID).map(read_lid);
    let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
    let map = LidMap::from_entries(entries.iter().copied());
    if map.entries().len() < entries.len() {
        return Err(twice(&entries));
    }
    Ok(map)
}

fn read_lid(bytes: &[u8]) -> Result<Entry, StoreError> {
    let node = Guid(number(bytes, 0, 8));
    let lid = Lid(number(bytes, 8, 4) as u32);
    let port = PortNum(number(bytes, 12, 1) as u8);
    let lmc = Lmc(number(bytes, 13, 1) as u8);
    let valid = lmc <= Lmc::MAX && lid.is_unicast() && lid.0.is_multiple_of(lmc.lids());
    match valid {
        true => Ok(((node, port), lid, lmc)),
        false => Err(StoreError::Lid { node, lid, lmc }),
    }
}

fn twice(entries: &[Entry]) -> StoreError {
    let mut owners: Vec<_> = entries.iter().map(|(owner, ..)| *owner).collect();
    owners.sort_unstable();
    let double = owners.windows(2).find(|pair| pair[0] == pair[1]);
    let (node, port) = double.map_or((Guid(0), PortNum(0)), |pair| pair[0]);
    StoreError::Twice { node, port }
}

fn read_drain(bytes: &[u8]) -> Drain {
    match read_end(bytes, 0) {
        (guid, PortNum(0)) => Drain::Switch(guid),
        (guid, port) => Drain::Link(guid, port),
    }
}

/// A port's two names: as it is called, and where it was switched off.
fn read_port(bytes: &[u8]) -> (End, End) {
    (read_end(bytes, 0), read_end(bytes, DRAIN))
}

fn read_end(bytes: &[u8], at: usize) -> End {
    let guid = Guid(number(bytes, at, 8));
    (guid, PortNum(number(bytes, at + 8, 1) as u8))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
