//! Totals as bytes, so that they outlast the daemon: versioned, with a checksum.
//!
//! Big-endian: `WEFTCNTS`, version u32, seconds since 1970 of the last image u64, number of ports u32; for each port
//! node GUID u64, port u8, then numbers of variable length, seven bits a byte, low ones first, the highest bit set where
//! one more follows: seconds since 1970 of the first reading, counters that were set to zero after the last one, number
//! of bridges, time of the last, then twice (last reading, what the device no longer has) the counters that are not 0 as
//! bits, the first one lowest, and each of them. In version 2 follow, as many of them first as a u32, the ports whose
//! counters somebody had set to zero: GUID, port, seconds since 1970 and the totals then. At the end the CRC32C of
//! everything before it, u32. Lanes are left out. Version 1 is written while nobody had anything set to zero, so that an
//! earlier weftd reads it.

use std::sync::Arc;

use thiserror::Error;
use weft_fabric::{Guid, PortNum};
use weft_wire::pm::Counter;

use super::absent::Absent;
use super::begun::Begun;
use super::bridge::Lost;
use super::{Key, PortTotals, key};
use crate::pm::Counters;

const MAGIC: &[u8; 8] = b"WEFTCNTS";
/// Without, and with what ports had counted when their counters were set to zero.
const PLAIN: u32 = 1;
const VERSION: u32 = 2;
const CHECKSUM: usize = 4;
/// Usual bytes of a port.
const PORT: usize = 48;

/// Why stored totals cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeptError {
    /// Something else.
    #[error("they are no totals of weftd's: they do not begin with WEFTCNTS")]
    Foreign,
    /// Of another version.
    #[error("they have format version {found}, this program reads version {PLAIN} and {VERSION}")]
    Version {
        /// Theirs.
        found: u32,
    },
    /// Damaged.
    #[error("they are cut or damaged: the checksum does not fit")]
    Checksum,
    /// Not what the checksum's writer would have written.
    #[error("they have no whole entry at byte {at}")]
    Entry {
        /// Offset in the file.
        at: usize,
    },
}

impl PortTotals {
    /// Totals as bytes, none before the first image.
    pub fn encode(&self) -> Option<Vec<u8>> {
        let image = self.image.as_ref()?;
        let none = Lost::default();
        let mut out = Vec::with_capacity(image.roster.ports.len() * PORT);
        out.extend_from_slice(MAGIC);
        let is_plain = self.begun.is_empty();
        let version = if is_plain { PLAIN } else { VERSION };
        out.extend_from_slice(&version.to_be_bytes());
        out.extend_from_slice(&image.unix_time.to_be_bytes());
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let mut count = 0u32;
        let mut put = |key: &Key, raw: &Counters, cleared: u32, since: u64| {
            let lost = self.lost.get(key).unwrap_or(&none);
            out.extend_from_slice(&key.0.0.to_be_bytes());
            out.push(key.1.0);
            for number in [
                since,
                cleared.into(),
                lost.bridges.into(),
                lost.bridged_unix_s,
            ] {
                put_number(&mut out, number);
            }
            put_counters(&mut out, raw);
            put_counters(&mut out, &lost.counters);
            count += 1;
        };
        for place in 0..image.roster.ports.len() {
            let known = image.raw(place).zip(key(&image.roster, place));
            if let Some((raw, key)) = known {
                let since = self.since.get(place).copied().unwrap_or_default();
                put(&key, raw.counters, raw.cleared, since);
            }
        }
        for (key, one) in self.absent.iter() {
            put(key, &one.counters, one.cleared, one.since_unix_s);
        }
        out[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
        if !is_plain {
            self.put_begun(&mut out);
        }
        let checksum = crc32c::crc32c(&out);
        out.extend_from_slice(&checksum.to_be_bytes());
        Some(out)
    }

    /// Totals of an earlier daemon, which go on when their ports are read again.
    ///
    /// # Errors
    /// [`KeptError`] where `bytes` are not a result of [`PortTotals::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, KeptError> {
        if !bytes.starts_with(MAGIC) {
            return Err(KeptError::Foreign);
        }
        let (content, stored) = bytes
            .split_last_chunk::<CHECKSUM>()
            .ok_or(KeptError::Checksum)?;
        let mut from = Reader {
            all: content,
            at: MAGIC.len(),
        };
        let found = from.fixed(4)? as u32;
        if ![PLAIN, VERSION].contains(&found) {
            return Err(KeptError::Version { found });
        }
        if crc32c::crc32c(content) != u32::from_be_bytes(*stored) {
            return Err(KeptError::Checksum);
        }
        let written = from.fixed(8)?;
        let mut totals = Self::default();
        let absent = Arc::make_mut(&mut totals.absent);
        let lost = Arc::make_mut(&mut totals.lost);
        for _ in 0..from.fixed(4)? {
            let (key, one, gone) = from.port(written)?;
            absent.insert(key, one);
            if gone != Lost::default() {
                lost.insert(key, gone);
            }
        }
        if found == VERSION {
            let begun = Arc::make_mut(&mut totals.begun);
            for _ in 0..from.fixed(4)? {
                let (key, one) = from.begun()?;
                begun.insert(key, one);
            }
        }
        match from.at == content.len() {
            true => Ok(totals),
            false => Err(from.wrong()),
        }
    }

    fn put_begun(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.begun.len() as u32).to_be_bytes());
        for (key, begun) in self.begun.iter() {
            out.extend_from_slice(&key.0.0.to_be_bytes());
            out.push(key.1.0);
            put_number(out, begun.unix_s);
            put_counters(out, &begun.counters);
        }
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_counters(out: &mut Vec<u8>, counters: &Counters) {
    let present = counters.iter().enumerate();
    let present = present.filter(|(_, counter)| **counter != 0);
    put_number(out, present.fold(0, |bits, (place, _)| bits | 1 << place));
    let present = counters.iter().filter(|counter| **counter != 0);
    present.for_each(|counter| put_number(out, *counter));
}

/// Bytes that are read in order.
struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self) -> KeptError {
        KeptError::Entry { at: self.at }
    }

    fn byte(&mut self) -> Result<u8, KeptError> {
        let byte = self.all.get(self.at).copied().ok_or(self.wrong())?;
        self.at += 1;
        Ok(byte)
    }

    fn fixed(&mut self, width: usize) -> Result<u64, KeptError> {
        (0..width).try_fold(0, |number, _| Ok(number << 8 | u64::from(self.byte()?)))
    }

    fn number(&mut self) -> Result<u64, KeptError> {
        let mut number = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                return Err(self.wrong());
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.wrong())
    }

    fn narrow(&mut self) -> Result<u32, KeptError> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| self.wrong())
    }

    fn counters(&mut self) -> Result<Counters, KeptError> {
        let present = self.number()?;
        if present >> Counter::COUNT != 0 {
            return Err(self.wrong());
        }
        let mut counters = [0; Counter::COUNT];
        for (place, counter) in counters.iter_mut().enumerate() {
            if present >> place & 1 == 1 {
                *counter = self.number()?;
            }
        }
        Ok(counters)
    }

    fn key(&mut self) -> Result<Key, KeptError> {
        Ok((Guid(self.fixed(8)?), PortNum(self.byte()?)))
    }

    fn begun(&mut self) -> Result<(Key, Begun), KeptError> {
        let (key, unix_s) = (self.key()?, self.number()?);
        let counters = self.counters()?;
        Ok((key, Begun { counters, unix_s }))
    }

    fn port(&mut self, written: u64) -> Result<(Key, Absent, Lost), KeptError> {
        let key = self.key()?;
        let (since_unix_s, cleared) = (self.number()?, self.narrow()?);
        let (bridges, bridged_unix_s) = (self.narrow()?, self.number()?);
        let absent = Absent {
            since_unix_s,
            cleared,
            left_unix_s: written,
            counters: self.counters()?,
            ..Absent::default()
        };
        let lost = Lost {
            counters: self.counters()?,
            bridges,
            bridged_unix_s,
            ..Lost::default()
        };
        Ok((key, absent, lost))
    }
}
