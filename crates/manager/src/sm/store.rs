//! State that survives a restart, LIDs, drains, disabled ports and datelines: versioned, bound to one
//! subnet, with a checksum.
//!
//! Big-endian: `WEFTKEPT`, version u32, subnet prefix u64, number of LIDs u32, number of drains u32,
//! number of ports u32 (from version 2 on), number of datelines' ports u32 (from version 3 on); for each
//! LID node GUID u64, base LID u32, port u8, LMC u8; for each drain GUID u64 and port u8, port 0 for a
//! switch as a whole; for each port GUID u64 and port u8, then those of the end where it was disabled; for
//! each port of a dateline GUID u64 and port u8; at the end the CRC32C of everything before it, u32.

use thiserror::Error;
use weft_fabric::{Guid, Lid, Lmc, PortNum};

use super::commands::Disabled;
use super::drains::{Drain, Drains};
use super::lids::LidMap;
use super::plan::Crossings;
use super::port_change::End;

const MAGIC: &[u8; 8] = b"WEFTKEPT";
const VERSION: u32 = 3;
const FIRST_VERSION: u32 = 1;
/// Bytes before the numbers of entries.
const PREFIX: usize = 20;
const LID: usize = 14;
const DRAIN: usize = 9;
const PORT: usize = 18;
const CROSSING: usize = 9;
/// Bytes of an entry of each section. The first version has the first two, each later one another one.
const SECTIONS: [usize; 4] = [LID, DRAIN, PORT, CROSSING];
const CHECKSUM: usize = 4;

/// Stored state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub lids: LidMap,
    pub drains: Drains,
    pub disabled: Disabled,
    pub crossings: Crossings,
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

/// LIDs, drains, ports that are switched off and ports of datelines as bytes.
pub(crate) fn encode(
    (lids, drains, disabled, crossings): (&LidMap, &Drains, &Disabled, &Crossings),
    subnet_prefix: u64,
) -> Vec<u8> {
    let lids = lids.entries();
    let counts = [lids.len(), drains.len(), disabled.len(), crossings.len()];
    let mut bytes = Vec::new();
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    bytes.extend_from_slice(&subnet_prefix.to_be_bytes());
    counts
        .iter()
        .for_each(|count| bytes.extend_from_slice(&(*count as u32).to_be_bytes()));
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
    let ends = disabled.iter().flat_map(|(named, at)| [named, at]);
    for (guid, port) in ends.chain(crossings) {
        bytes.extend_from_slice(&guid.0.to_be_bytes());
        bytes.push(port.0);
    }
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

/// The format version of a state that a newer program wrote, and the newest that this one reads.
pub fn written_by_newer(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = number(bytes.get(..PREFIX)?, 8, 4) as u32;
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
    let [lids, drains, ports, crossings] = sections(bytes)?;
    let found = number(bytes, 12, 8);
    if found != subnet_prefix {
        let expected = subnet_prefix;
        return Err(StoreError::Subnet { found, expected });
    }
    Ok(Kept {
        lids: read_lids(lids)?,
        drains: drains.chunks_exact(DRAIN).map(read_drain).collect(),
        disabled: ports.chunks_exact(PORT).map(read_port).collect(),
        crossings: crossings
            .chunks_exact(CROSSING)
            .map(|bytes| read_end(bytes, 0))
            .collect(),
    })
}

/// The bytes of each section, after version, length and checksum have been found right.
fn sections(bytes: &[u8]) -> Result<[&[u8]; SECTIONS.len()], StoreError> {
    let found = if bytes.len() < PREFIX {
        VERSION
    } else {
        number(bytes, 8, 4) as u32
    };
    if !(FIRST_VERSION..=VERSION).contains(&found) {
        return Err(StoreError::Version { found });
    }
    let count = found as usize + 1;
    let header = PREFIX + count * 4;
    let numbers = bytes.get(PREFIX..header).unwrap_or_default();
    let numbers = numbers
        .chunks_exact(4)
        .map(|bytes| number(bytes, 0, 4) as usize);
    let mut lengths = [0; SECTIONS.len()];
    for ((length, width), number) in lengths.iter_mut().zip(SECTIONS).zip(numbers) {
        *length = number.saturating_mul(width);
    }
    let content = lengths
        .iter()
        .fold(0_usize, |sum, length| sum.saturating_add(*length));
    let expected = content.saturating_add(header + CHECKSUM);
    if bytes.len() != expected {
        let actual = bytes.len();
        return Err(StoreError::Length { actual, expected });
    }
    let (content, _) = bytes.split_at(expected - CHECKSUM);
    let stored = number(bytes, expected - CHECKSUM, 4) as u32;
    let computed = crc32c::crc32c(content);
    if stored != computed {
        return Err(StoreError::Checksum { stored, computed });
    }
    let mut rest = &content[header..];
    Ok(lengths.map(|length| {
        let (section, after) = rest.split_at(length);
        rest = after;
        section
    }))
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
