//! Compiled schedules of GOAL, as LogGOPSim's `txt2bin` writes them for its simulator.
//!
//! Numbers have the least significant byte first. A file has a
//! word of 8 bytes by which it is known, the number of ranks (4 bytes), the highest processor and HFI (a byte each),
//! for each rank where its part begins and ends (8 bytes each, counted from behind the first word), and the parts
//! in order. A part has the numbers of its operations and of those that wait for nothing (4 bytes each), the latter's
//! places (4 bytes each), its operations ([`Raw`], 39 bytes each, in the order of its fields), and the places of
//! operations that wait for others (4 bytes each), to which each operation refers by two ranges: of those that wait
//! for its end, and of those that wait for its beginning.

use weft_dataplane::packets::NANO;
use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::parse_goal::COMPUTE_MAX;
use super::parse_traffic::BYTES_MAX;
use super::size::RANKS_MAX;
use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most};

/// First word of a schedule, and of one that LogGOPSim has used up (`--save-mem`).
const COOKIE: u64 = 4223;
const USED_UP: u64 = 2342;

/// Whether a file is a compiled schedule.
pub(super) fn is_compiled(content: &[u8]) -> bool {
    let word = Bytes(content).u64();
    matches!(word, Some(COOKIE | USED_UP))
}

/// The operations of each rank.
///
/// # Errors
/// The first rank and operation that is wrong, and what is allowed.
pub(super) fn read(content: &[u8]) -> Checked<Vec<RankSchedule>> {
    let mut bytes = Bytes(content);
    match bytes.u64() {
        Some(COOKIE) => {}
        Some(USED_UP) => {
            return Err("used up by LogGOPSim with --save-mem: compile it again".to_owned());
        }
        _ => return Err("no compiled schedule of GOAL".to_owned()),
    }
    let body = bytes.0;
    let head = (bytes.u32(), bytes.take(2));
    let (Some(count), Some(_)) = head else {
        return Err(ended("the header"));
    };
    if !(1..=RANKS_MAX).contains(&u64::from(count)) {
        return Err(format!("{count} ranks, allowed: 1 to {RANKS_MAX}"));
    }
    let table = bytes.take(count as usize * 16);
    let mut table = Bytes(table.ok_or_else(|| ended("the table of ranks"))?);
    let (mut place, mut operations) = (body.len() - bytes.0.len(), 0);
    let mut ranks = Vec::new();
    for rank in 0..count {
        let told = |what: String| format!("rank {rank}: {what}");
        let (from, to) = (table.usize(), table.usize());
        let part = from.zip(to).filter(|(from, _)| *from == place);
        let part = part.and_then(|(from, to)| body.get(from..to));
        let Some(part) = part else {
            let what = "its part does not lie behind that of the rank before, in the file";
            return Err(told(what.to_owned()));
        };
        place += part.len();
        let schedule = Part::read(part, count, &mut operations).map_err(told)?;
        ranks.push(schedule);
    }
    if place != body.len() {
        let left = body.len() - place;
        return Err(format!("{left} bytes behind the last rank"));
    }
    matched(&ranks)?;
    Ok(ranks)
}

fn ended(what: &str) -> String {
    format!("the file ends in {what}")
}

/// Bytes that have not been read.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn usize(&mut self) -> Option<usize> {
        self.u64().and_then(|value| value.try_into().ok())
    }

    /// So many numbers of four bytes.
    fn list(&mut self, count: u32) -> Option<List<'a>> {
        let bytes = (count as usize).checked_mul(4)?;
        self.take(bytes).map(List)
    }
}

/// Numbers of four bytes.
#[derive(Clone, Copy)]
struct List<'a>(&'a [u8]);

impl<'a> List<'a> {
    /// Those of a range; `None` where it is not in the list.
    fn range(self, (count, first): (u32, u32)) -> Option<Vec<u32>> {
        let first = (first as usize).checked_mul(4)?;
        let mut rest = Bytes(match count {
            0 => &[],
            _ => self.0.get(first..)?,
        });
        Some(rest.list(count)?.all().collect())
    }

    fn all(self) -> impl Iterator<Item = u32> + 'a {
        let (words, _) = self.0.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word))
    }
}

/// An operation as it is in the file.
struct Raw {
    /// Number of operations that it waits for.
    waits: u32,
    kind: u8,
    peer: u32,
    size: u64,
    tag: u32,
    processor: u8,
    hfi: u8,
    /// Ranges of the list: number and first place.
    ended: (u32, u32),
    begun: (u32, u32),
}

impl Raw {
    fn read(bytes: &mut Bytes<'_>) -> Option<Self> {
        Some(Self {
            waits: bytes.u32()?,
            kind: bytes.u8()?,
            peer: bytes.u32()?,
            size: bytes.u64()?,
            tag: bytes.u32()?,
            processor: bytes.u8()?,
            hfi: bytes.u8()?,
            ended: (bytes.u32()?, bytes.u32()?),
            begun: (bytes.u32()?, bytes.u32()?),
        })
    }

    fn operation(&self, ranks: u32) -> Checked<Operation> {
        if self.hfi != 0 {
            return Err(format!("nic {}, allowed: 0, hosts have one HFI", self.hfi));
        }
        let peer = || match self.peer < ranks {
            true => Ok(self.peer),
            false => Err(format!("rank {}, allowed: 0 to {}", self.peer, ranks - 1)),
        };
        let size = |most: u64, unit: &str| match self.size <= most {
            true => Ok(self.size),
            false => Err(format!("{} {unit}, allowed: at most {most}", self.size)),
        };
        Ok(match self.kind {
            1 => Operation::Send {
                to: peer()?,
                bytes: size(BYTES_MAX, "bytes")?,
                tag: self.tag,
            },
            2 => {
                size(BYTES_MAX, "bytes")?;
                Operation::Receive {
                    from: peer()?,
                    tag: self.tag,
                }
            }
            3 => Operation::Compute {
                span: size(COMPUTE_MAX, "ns")? * NANO,
                processor: self.processor.into(),
            },
            other => {
                return Err(format!(
                    "kind {other}, allowed: 1 (send), 2 (recv), 3 (calc)"
                ));
            }
        })
    }
}

/// The part of a rank.
struct Part<'a> {
    operations: Vec<Raw>,
    /// Operations that wait for nothing.
    free: List<'a>,
    /// Operations that wait for others.
    list: List<'a>,
}

impl<'a> Part<'a> {
    /// `all` counts operations of all ranks.
    fn read(part: &'a [u8], ranks: u32, all: &mut usize) -> Checked<RankSchedule> {
        let part = Self::split(part, all)?;
        part.check_list()?;
        let mut schedule = RankSchedule::default();
        for (number, raw) in part.operations.iter().enumerate() {
            let told = |what: String| format!("operation {number}: {what}");
            schedule.add(raw.operation(ranks).map_err(told)?);
            let waiting = |range: (u32, u32)| {
                let waiting = part.list.range(range);
                waiting.ok_or_else(|| {
                    let (count, first) = range;
                    told(format!(
                        "{count} dependencies from {first} on are not in the list"
                    ))
                })
            };
            schedule.ended[number] = waiting(raw.ended)?;
            schedule.begun[number] = waiting(raw.begun)?;
        }
        part.check(&schedule)?;
        match schedule.circle() {
            None => Ok(schedule),
            Some(stuck) => Err(format!(
                "operation {stuck} waits for itself, through what it requires"
            )),
        }
    }

    fn split(part: &'a [u8], all: &mut usize) -> Checked<Self> {
        let mut bytes = Bytes(part);
        let short = || "its part is too short for its operations".to_owned();
        let (count, free) = bytes.u32().zip(bytes.u32()).ok_or_else(short)?;
        let free = bytes.list(free).ok_or_else(short)?;
        *all = all.saturating_add(count as usize);
        at_most(*all, OPERATIONS_MAX, "statements")?;
        let read = |_| Raw::read(&mut bytes);
        let operations: Option<Vec<Raw>> = (0..count).map(read).collect();
        Ok(Self {
            operations: operations.ok_or_else(short)?,
            free,
            list: List(bytes.0),
        })
    }

    /// Each place of the list belongs to one operation, so that what is read is no longer than the file.
    fn check_list(&self) -> Checked<()> {
        let ranges = self.operations.iter();
        let listed = ranges.map(|raw| u64::from(raw.ended.0) + u64::from(raw.begun.0));
        let (listed, bytes) = (listed.sum::<u64>(), self.list.0.len() as u64);
        match listed.checked_mul(4) == Some(bytes) {
            true => Ok(()),
            false => Err(format!(
                "{listed} dependencies in a list of {bytes} bytes, allowed: 4 bytes each"
            )),
        }
    }

    /// Whether all that the file says twice agrees.
    fn check(&self, schedule: &RankSchedule) -> Checked<()> {
        let mut waits = vec![0; self.operations.len()];
        for waiting in schedule.ended.iter().chain(&schedule.begun).flatten() {
            let count = waits.get_mut(*waiting as usize);
            *count.ok_or_else(|| format!("operation {waiting} is required and not there"))? += 1;
        }
        let wrong = self.operations.iter().zip(&waits);
        let wrong = wrong
            .enumerate()
            .find(|(_, (raw, waits))| raw.waits != **waits);
        if let Some((number, (raw, waits))) = wrong {
            let said = raw.waits;
            return Err(format!(
                "operation {number} waits for {waits}, and for {said} by its own account"
            ));
        }
        let free = waits.iter().zip(0..).filter(|(waits, _)| **waits == 0);
        match free.map(|(_, number)| number).eq(self.free.all()) {
            true => Ok(()),
            false => Err("the list of operations that wait for nothing is wrong".to_owned()),
        }
    }
}
