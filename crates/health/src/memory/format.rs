//! What was there before, as bytes: versioned, with a checksum.
//!
//! Big-endian: `WEFTSEEN`, version u32, subnet prefix u64, the time of the last look u64, numbers of nodes, links and
//! ages u32 each; then these; at the end the CRC32C of everything before it, u32. Times are seconds since 1970.
//!
//! - A node: GUID u64, first time u64, last time u64 (0 while it is there), flags u8 (1 switch, 2 proven), length of
//!   its name u8, the name in UTF-8, at most 255 bytes.
//! - A link: GUID u64 and port u8 of each end, first time u64, last time u64 (0 while it is there), flags u8
//!   (2 proven), rate in Mb/s u32, serial number of the cable 16 bytes.
//! - An age: key of a finding u64, its first time u64.

use thiserror::Error;
use weft_fabric::{Guid, PortNum};

use super::{AGES_MAX, KnownLink, KnownNode, LINKS_MAX, Memory, NODES_MAX, Seen};

const MAGIC: &[u8; 8] = b"WEFTSEEN";
const VERSION: u32 = 1;
const CHECKSUM: usize = 4;
const SWITCH: u8 = 1;
const PROVEN: u8 = 2;
const NAME_MAX: usize = 255;

/// Why a stored memory cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// Something else.
    #[error("it is no memory of weftd's: it does not begin with WEFTSEEN")]
    Foreign,
    /// Written by another version of the program.
    #[error("it has format version {found}, this program reads version {VERSION}")]
    Version {
        /// The version.
        found: u32,
    },
    /// Truncated, or longer than its content.
    #[error("it has {actual} bytes, which is not the length of what it holds")]
    Length {
        /// Bytes.
        actual: usize,
    },
    /// Damaged.
    #[error("it is damaged: checksum {stored:#010x} does not fit the content's {computed:#010x}")]
    Checksum {
        /// The stored checksum.
        stored: u32,
        /// The computed checksum.
        computed: u32,
    },
    /// Written for another subnet.
    #[error("it belongs to the subnet with prefix {found:#018x}, this one has {expected:#018x}")]
    Subnet {
        /// Its prefix.
        found: u64,
        /// The configured one.
        expected: u64,
    },
    /// A value that cannot be.
    #[error("it holds {0} that cannot be")]
    Value(&'static str),
}

impl Memory {
    /// As bytes for a file.
    pub fn encode(&self, subnet_prefix: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        put(&mut bytes, 4, VERSION.into());
        put(&mut bytes, 8, subnet_prefix);
        put(&mut bytes, 8, self.looked);
        for count in [self.nodes.len(), self.links.len(), self.ages.len()] {
            put(&mut bytes, 4, count as u64);
        }
        for (guid, node) in &self.nodes {
            put(&mut bytes, 8, guid.0);
            put_seen(&mut bytes, &node.seen, u8::from(node.is_switch) * SWITCH);
            let name = shortened(&node.name);
            put(&mut bytes, 1, name.len() as u64);
            bytes.extend_from_slice(name.as_bytes());
        }
        for ((a, b), link) in &self.links {
            for (guid, port) in [a, b] {
                put(&mut bytes, 8, guid.0);
                put(&mut bytes, 1, port.0.into());
            }
            put_seen(&mut bytes, &link.seen, 0);
            put(&mut bytes, 4, link.mbps.into());
            bytes.extend_from_slice(&link.serial);
        }
        for (key, since) in &self.ages {
            put(&mut bytes, 8, *key);
            put(&mut bytes, 8, *since);
        }
        let checksum = crc32c::crc32c(&bytes);
        put(&mut bytes, 4, checksum.into());
        bytes
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    /// [`MemoryError`], also where the file is of another subnet.
    pub fn decode(bytes: &[u8], subnet_prefix: u64) -> Result<Self, MemoryError> {
        let actual = bytes.len();
        let length = MemoryError::Length { actual };
        if !bytes.starts_with(MAGIC) {
            return Err(MemoryError::Foreign);
        }
        let mut head = Reader(&bytes[MAGIC.len()..]);
        let version = head.take(4).ok_or(length.clone())? as u32;
        if version != VERSION {
            return Err(MemoryError::Version { found: version });
        }
        let content = actual.checked_sub(CHECKSUM).ok_or(length.clone())?;
        let stored = Reader(&bytes[content..]).take(4).ok_or(length.clone())? as u32;
        let computed = crc32c::crc32c(&bytes[..content]);
        if stored != computed {
            return Err(MemoryError::Checksum { stored, computed });
        }
        let mut from = Reader(bytes.get(MAGIC.len() + 4..content).ok_or(length.clone())?);
        let found = from.take(8).ok_or(length.clone())?;
        if found != subnet_prefix {
            let expected = subnet_prefix;
            return Err(MemoryError::Subnet { found, expected });
        }
        let memory = from.memory(&length)?;
        match from.0.is_empty() {
            true => Ok(memory),
            false => Err(length),
        }
    }
}

/// The last `width` bytes of a number.
fn put(to: &mut Vec<u8>, width: usize, number: u64) {
    to.extend_from_slice(&number.to_be_bytes()[8 - width..]);
}

fn put_seen(to: &mut Vec<u8>, seen: &Seen, flags: u8) {
    put(to, 8, seen.first);
    put(to, 8, seen.gone.unwrap_or(0));
    put(to, 1, (flags | (u8::from(seen.is_proven) * PROVEN)).into());
}

/// The first bytes of a name, to the end of a character.
fn shortened(name: &str) -> &str {
    let mut end = name.len().min(NAME_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// Bytes that are left.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of so many bytes.
    fn take(&mut self, width: usize) -> Option<u64> {
        let taken = self.bytes(width)?.iter();
        Some(taken.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn memory(&mut self, length: &MemoryError) -> Result<Memory, MemoryError> {
        let mut memory = Memory::default();
        let mut number = |width| self.take(width).ok_or_else(|| length.clone());
        memory.looked = number(8)?;
        let [nodes, links, ages] = [number(4)?, number(4)?, number(4)?];
        for (count, most, what) in [
            (nodes, NODES_MAX, "more nodes"),
            (links, LINKS_MAX, "more links"),
            (ages, AGES_MAX, "more findings"),
        ] {
            if count > most as u64 {
                return Err(MemoryError::Value(what));
            }
        }
        for _ in 0..nodes {
            let (guid, node) = self.node().ok_or_else(|| length.clone())??;
            memory.nodes.insert(guid, node);
        }
        for _ in 0..links {
            let (key, link) = self.link().ok_or_else(|| length.clone())?;
            if key.0 >= key.1 {
                return Err(MemoryError::Value("a link with its ends in an order"));
            }
            memory.links.insert(key, link);
        }
        for _ in 0..ages {
            let age = self.take(8).zip(self.take(8));
            let (key, since) = age.ok_or_else(|| length.clone())?;
            memory.ages.insert(key, since);
        }
        Ok(memory)
    }

    fn seen(&mut self) -> Option<(Seen, u8)> {
        let (first, gone) = (self.take(8)?, self.take(8)?);
        let flags = self.take(1)? as u8;
        let seen = Seen {
            first,
            gone: Some(gone).filter(|gone| *gone != 0),
            is_proven: flags & PROVEN != 0,
        };
        Some((seen, flags))
    }

    fn node(&mut self) -> Option<Result<(Guid, KnownNode), MemoryError>> {
        let guid = Guid(self.take(8)?);
        let (seen, flags) = self.seen()?;
        let len = self.take(1)? as usize;
        let Ok(name) = std::str::from_utf8(self.bytes(len)?) else {
            return Some(Err(MemoryError::Value("a name in bytes")));
        };
        let node = KnownNode {
            name: name.to_owned(),
            is_switch: flags & SWITCH != 0,
            seen,
        };
        Some(Ok((guid, node)))
    }

    fn link(&mut self) -> Option<(super::LinkKey, KnownLink)> {
        let mut end = || Some((Guid(self.take(8)?), PortNum(self.take(1)? as u8)));
        let key = (end()?, end()?);
        let (seen, _) = self.seen()?;
        let mbps = self.take(4)? as u32;
        let serial = *self.bytes(16)?.first_chunk()?;
        Some((key, KnownLink { mbps, serial, seen }))
    }
}
