//! State that survives a restart, LIDs, drains, disabled ports, ports in quarantine and replaced HFIs: versioned,
//! bound to one subnet, with a checksum.
//!
//! Big-endian: `WEFTKEPT`, version u32, subnet prefix u64, number of LIDs u32, number of drains u32,
//! number of ports u32 (from version 2 on), bytes of quarantines and bytes of those by hand u32 (from
//! version 3 on), bytes of replacements u32, number of links with errors and of times at which such links were taken out
//! of use u32 (from version 4 on), bytes of the notes on disabled ports u32 (from version 5 on), number of terms u32, 1 (version 6); for each LID node GUID u64, base LID u32, port u8, LMC u8; for each drain GUID u64 and
//! port u8, port 0 for a switch as a whole; for each port GUID u64 and port u8, then those of the end where
//! it was disabled; for each quarantine GUID u64, port u8, losses at its beginning u32, beginning u64, end
//! u64, number of losses u8 and their times u64; for each by hand GUID u64, port u8, beginning u64, length
//! u8 and text of the comment; for each replacement GUIDs of the old and the new HFI u64, beginning u64, length u8 and
//! text of the reason; for each link with errors both ends, rule u8, window, measured, limit, bits, number of
//! offences u32, beginning, end (0 where it is in use again) and return, u64 where not said otherwise; the times u64; for each note GUID and port of the end that was disabled, time u64,
//! reason, author, address and name of the node, each with its length u8, kind of the node u8 (0 HFI, 1 switch), and
//! whether GUID and port, name and kind of the other end follow, u8; the number of the term u64; at
//! the end the CRC32C of everything before it, u32. Times are nanoseconds of the manager's time.
//!
//! Where there was no term yet, as without fencing, version 5 is written, which programs before read.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;
use weft_fabric::{Guid, Lid, Lmc, PortNum, Tick};

use super::commands::Disabled;
use super::disabled::{Called, Noted, Notes};
use super::drains::{Drain, Drains};
use super::flapping::Sentence;
use super::isolation::{KeptIsolation, Offender};
use super::keys::TERM_MAX;
use super::lids::LidMap;
use super::port_change::End;
use super::quarantine::{ByHand, Placed};
use super::replacements::{Successor, Successors};
use crate::io::PortNote;
use crate::link_errors::{ErrorRule, LinkExcess};

const MAGIC: &[u8; 8] = b"WEFTKEPT";
const VERSION: u32 = 6;
/// Without a term.
const TERMLESS_VERSION: u32 = 5;
const FIRST_VERSION: u32 = 1;
/// Where the sizes of the sections begin.
const SIZES: usize = 20;
/// Header of the first version, which had two sections.
const FIRST_HEADER: usize = SIZES + 2 * 4;
const LID: usize = 14;
const DRAIN: usize = 9;
const PORT: usize = 18;
const OFFENDER: usize = 2 * DRAIN + 1 + 4 * TIME + 4 + 3 * TIME;
const TIME: usize = 8;
const TERM: usize = 8;
/// Bytes for each unit of a section's size.
const UNITS: [usize; 10] = [LID, DRAIN, PORT, 1, 1, 1, OFFENDER, TIME, 1, TERM];
const CHECKSUM: usize = 4;

/// Stored state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub lids: LidMap,
    pub drains: Drains,
    pub disabled: Disabled,
    pub notes: Notes,
    pub quarantine: BTreeMap<End, Sentence>,
    pub by_hand: ByHand,
    pub successors: Successors,
    pub isolation: KeptIsolation,
    /// Number of the last term of a master; 0 where there was none.
    pub term: u64,
}

/// State to store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keep<'a> {
    pub lids: &'a LidMap,
    pub drains: &'a Drains,
    pub disabled: &'a Disabled,
    pub notes: &'a Notes,
    pub quarantine: &'a BTreeMap<End, Sentence>,
    pub by_hand: &'a ByHand,
    pub successors: &'a Successors,
    pub isolation: &'a KeptIsolation,
    pub term: u64,
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
    #[error("its list of ports in quarantine is not whole")]
    Quarantine,
    #[error("its list of replaced HFIs is not whole")]
    Replacements,
    #[error("its list of disabled ports is not whole")]
    Disabled,
    #[error("its term of a master is {term}, the last one is {TERM_MAX}")]
    Term { term: u64 },
}

/// State as bytes.
pub(super) fn encode(keep: Keep<'_>, subnet_prefix: u64) -> Vec<u8> {
    let lids = keep.lids.entries();
    let (quarantine, by_hand, successors, notes) = (
        quarantine_bytes(keep.quarantine),
        by_hand_bytes(keep.by_hand),
        successor_bytes(keep.successors),
        note_bytes(keep.notes),
    );
    let sizes = [
        lids.len(),
        keep.drains.len(),
        keep.disabled.len(),
        quarantine.len(),
        by_hand.len(),
        successors.len(),
        keep.isolation.offenders.len(),
        keep.isolation.taken.len(),
        notes.len(),
        usize::from(keep.term > 0),
    ];
    let (version, count) = match keep.term {
        0 => (TERMLESS_VERSION, sizes.len() - 1),
        _ => (VERSION, sizes.len()),
    };
    let sections = sizes.iter().zip(UNITS).map(|(size, unit)| size * unit);
    let len = SIZES + 4 * count + sections.sum::<usize>() + CHECKSUM;
    let mut bytes = Vec::with_capacity(len);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes.extend_from_slice(&subnet_prefix.to_be_bytes());
    for size in &sizes[..count] {
        bytes.extend_from_slice(&(*size as u32).to_be_bytes());
    }
    for (end, lid, lmc) in lids {
        bytes.extend_from_slice(&end.0.0.to_be_bytes());
        bytes.extend_from_slice(&lid.0.to_be_bytes());
        bytes.extend_from_slice(&[end.1.0, lmc.0]);
    }
    for drain in keep.drains {
        put_end(
            &mut bytes,
            match *drain {
                Drain::Switch(guid) => (guid, PortNum(0)),
                Drain::Link(guid, port) => (guid, port),
            },
        );
    }
    let disabled = keep.disabled.iter().flat_map(|(named, at)| [named, at]);
    disabled.for_each(|end| put_end(&mut bytes, *end));
    bytes.extend_from_slice(&quarantine);
    bytes.extend_from_slice(&by_hand);
    bytes.extend_from_slice(&successors);
    put_isolation(&mut bytes, keep.isolation);
    bytes.extend_from_slice(&notes);
    if keep.term > 0 {
        bytes.extend_from_slice(&keep.term.to_be_bytes());
    }
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes
}

fn put_end(bytes: &mut Vec<u8>, (guid, port): End) {
    bytes.extend_from_slice(&guid.0.to_be_bytes());
    bytes.push(port.0);
}

fn put_isolation(bytes: &mut Vec<u8>, isolation: &KeptIsolation) {
    for one in &isolation.offenders {
        let excess = &one.excess;
        put_end(bytes, excess.port);
        put_end(bytes, excess.far);
        bytes.push(match excess.rule {
            ErrorRule::SymbolErrors => 0,
            ErrorRule::Discards => 1,
            ErrorRule::LinkQuality => 2,
        });
        let window = u64::try_from(excess.window.as_nanos()).unwrap_or(u64::MAX);
        for number in [window, excess.measured, excess.limit, excess.bits] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(&one.offences.to_be_bytes());
        let until = one.until.unwrap_or(Tick(0));
        for at in [one.since, until, one.returned] {
            bytes.extend_from_slice(&at.0.to_be_bytes());
        }
    }
    for at in &isolation.taken {
        bytes.extend_from_slice(&at.0.to_be_bytes());
    }
}

fn quarantine_bytes(quarantine: &BTreeMap<End, Sentence>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (end, sentence) in quarantine {
        put_end(&mut bytes, *end);
        bytes.extend_from_slice(&sentence.count.to_be_bytes());
        bytes.extend_from_slice(&sentence.since.0.to_be_bytes());
        bytes.extend_from_slice(&sentence.until.0.to_be_bytes());
        bytes.push(sentence.losses.len() as u8);
        for at in &sentence.losses {
            bytes.extend_from_slice(&at.0.to_be_bytes());
        }
    }
    bytes
}

fn by_hand_bytes(by_hand: &ByHand) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (end, placed) in &by_hand.0 {
        put_end(&mut bytes, *end);
        put_words(&mut bytes, placed.since, &placed.comment);
    }
    bytes
}

fn successor_bytes(successors: &Successors) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (old, successor) in successors {
        bytes.extend_from_slice(&old.0.to_be_bytes());
        bytes.extend_from_slice(&successor.new.0.to_be_bytes());
        put_words(&mut bytes, successor.since, &successor.reason);
    }
    bytes
}

fn note_bytes(notes: &Notes) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (end, noted) in notes {
        put_end(&mut bytes, *end);
        put_words(&mut bytes, noted.since, &noted.note.reason);
        put_text(&mut bytes, &noted.note.author);
        put_text(&mut bytes, &noted.note.peer);
        put_called(&mut bytes, &noted.near);
        bytes.push(u8::from(noted.far.is_some()));
        if let Some((far, called)) = &noted.far {
            put_end(&mut bytes, *far);
            put_called(&mut bytes, called);
        }
    }
    bytes
}

fn put_called(bytes: &mut Vec<u8>, called: &Called) {
    put_text(bytes, &called.name);
    bytes.push(u8::from(called.is_switch));
}

/// A time, and an operator's words.
fn put_words(bytes: &mut Vec<u8>, since: Tick, words: &str) {
    bytes.extend_from_slice(&since.0.to_be_bytes());
    put_text(bytes, words);
}

/// A text of at most 255 bytes.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text.as_bytes()[..text.floor_char_boundary(255)];
    bytes.push(text.len() as u8);
    bytes.extend_from_slice(text);
}

/// The format version of a state that a newer program wrote, and the newest that this one reads.
pub fn written_by_newer(bytes: &[u8]) -> Option<(u32, u32)> {
    let found = number(bytes.get(..FIRST_HEADER)?, 8, 4) as u32;
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
    let [
        lids,
        drains,
        ports,
        quarantine,
        by_hand,
        successors,
        offenders,
        taken,
        notes,
        term,
    ] = sections(bytes)?;
    let found = number(bytes, 12, 8);
    if found != subnet_prefix {
        let expected = subnet_prefix;
        return Err(StoreError::Subnet { found, expected });
    }
    Ok(Kept {
        lids: read_lids(lids)?,
        drains: drains.chunks_exact(DRAIN).map(read_drain).collect(),
        disabled: ports.chunks_exact(PORT).map(read_port).collect(),
        notes: read_notes(notes).ok_or(StoreError::Disabled)?,
        quarantine: read_quarantine(quarantine).ok_or(StoreError::Quarantine)?,
        by_hand: read_by_hand(by_hand).ok_or(StoreError::Quarantine)?,
        successors: read_successors(successors).ok_or(StoreError::Replacements)?,
        isolation: read_isolation(offenders, taken).ok_or(StoreError::Quarantine)?,
        term: read_term(term)?,
    })
}

/// The bytes of each section, after version, length and checksum have been found right; empty for those that the
/// version does not have.
fn sections(bytes: &[u8]) -> Result<[&[u8]; UNITS.len()], StoreError> {
    let count = match number(bytes, 8, 4) as u32 {
        1 => 2,
        2 => 3,
        3 => 5,
        4 => 8,
        TERMLESS_VERSION => 9,
        VERSION => UNITS.len(),
        found if bytes.len() >= FIRST_HEADER => return Err(StoreError::Version { found }),
        _ => UNITS.len(),
    };
    let mut lens = [0; UNITS.len()];
    for (index, len) in lens.iter_mut().enumerate().take(count) {
        let size = number(bytes, SIZES + 4 * index, 4) as usize;
        *len = size.saturating_mul(UNITS[index]);
    }
    let header = SIZES + 4 * count;
    let content = lens.iter().copied().fold(0, usize::saturating_add);
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
    Ok(lens.map(|len| {
        let (section, after) = rest.split_at(len);
        rest = after;
        section
    }))
}

fn read_term(bytes: &[u8]) -> Result<u64, StoreError> {
    let term = number(bytes, 0, bytes.len().min(TERM));
    match term <= TERM_MAX {
        true => Ok(term),
        false => Err(StoreError::Term { term }),
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

/// Takes a number of `N` bytes from the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_at_checked(N)?;
    *bytes = rest;
    Some(number(first, 0, N))
}

fn take_end(bytes: &mut &[u8]) -> Option<End> {
    Some((Guid(take::<8>(bytes)?), PortNum(take::<1>(bytes)? as u8)))
}

fn take_time(bytes: &mut &[u8]) -> Option<Tick> {
    take::<8>(bytes).map(Tick)
}

fn read_quarantine(mut bytes: &[u8]) -> Option<BTreeMap<End, Sentence>> {
    let mut found = BTreeMap::new();
    while !bytes.is_empty() {
        let end = take_end(&mut bytes)?;
        let count = take::<4>(&mut bytes)? as u32;
        let (since, until) = (take_time(&mut bytes)?, take_time(&mut bytes)?);
        let losses = 0..take::<1>(&mut bytes)?;
        let losses = losses
            .map(|_| take_time(&mut bytes))
            .collect::<Option<_>>()?;
        let sentence = Sentence {
            count,
            since,
            until,
            losses,
        };
        found.insert(end, sentence);
    }
    Some(found)
}

fn read_by_hand(mut bytes: &[u8]) -> Option<ByHand> {
    let mut found = BTreeMap::new();
    while !bytes.is_empty() {
        let end = take_end(&mut bytes)?;
        let (since, comment) = take_words(&mut bytes)?;
        found.insert(end, Placed { since, comment });
    }
    Some(ByHand(found))
}

fn read_successors(mut bytes: &[u8]) -> Option<Successors> {
    let mut found = Successors::new();
    while !bytes.is_empty() {
        let [old, new] = [take::<8>(&mut bytes)?, take::<8>(&mut bytes)?].map(Guid);
        let (since, reason) = take_words(&mut bytes)?;
        if old == new {
            return None;
        }
        found.insert(old, Successor { new, since, reason });
    }
    Some(found)
}

fn read_notes(mut bytes: &[u8]) -> Option<Notes> {
    let mut found = Notes::new();
    while !bytes.is_empty() {
        let end = take_end(&mut bytes)?;
        let (since, reason) = take_words(&mut bytes)?;
        let note = PortNote {
            reason,
            author: take_text(&mut bytes)?,
            peer: take_text(&mut bytes)?,
        };
        let near = take_called(&mut bytes)?;
        let far = match take::<1>(&mut bytes)? {
            0 => None,
            _ => Some((take_end(&mut bytes)?, take_called(&mut bytes)?)),
        };
        let noted = Noted {
            since,
            note,
            near,
            far,
        };
        found.insert(end, noted);
    }
    Some(found)
}

fn take_called(bytes: &mut &[u8]) -> Option<Called> {
    Some(Called {
        name: take_text(bytes)?,
        is_switch: take::<1>(bytes)? != 0,
    })
}

/// A time, and an operator's words.
fn take_words(bytes: &mut &[u8]) -> Option<(Tick, String)> {
    Some((take_time(bytes)?, take_text(bytes)?))
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let len = take::<1>(bytes)? as usize;
    let (words, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    String::from_utf8(words.to_vec()).ok()
}

fn read_isolation(offenders: &[u8], taken: &[u8]) -> Option<KeptIsolation> {
    let offenders = offenders.chunks_exact(OFFENDER).map(read_offender);
    let taken = taken.chunks_exact(TIME).map(|at| Tick(number(at, 0, TIME)));
    Some(KeptIsolation {
        offenders: offenders.collect::<Option<_>>()?,
        taken: taken.collect(),
    })
}

fn read_offender(mut bytes: &[u8]) -> Option<Offender> {
    let bytes = &mut bytes;
    let (port, far) = (take_end(bytes)?, take_end(bytes)?);
    let rule = match take::<1>(bytes)? {
        0 => ErrorRule::SymbolErrors,
        1 => ErrorRule::Discards,
        2 => ErrorRule::LinkQuality,
        _ => return None,
    };
    let excess = LinkExcess {
        port,
        far,
        rule,
        window: Duration::from_nanos(take::<8>(bytes)?),
        measured: take::<8>(bytes)?,
        limit: take::<8>(bytes)?,
        bits: take::<8>(bytes)?,
        is_over: true,
    };
    Some(Offender {
        excess,
        offences: take::<4>(bytes)? as u32,
        since: take_time(bytes)?,
        until: take_time(bytes).map(|at| (at != Tick(0)).then_some(at))?,
        returned: take_time(bytes)?,
    })
}

fn read_end(bytes: &[u8], at: usize) -> End {
    let guid = Guid(number(bytes, at, 8));
    (guid, PortNum(number(bytes, at + 8, 1) as u8))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
