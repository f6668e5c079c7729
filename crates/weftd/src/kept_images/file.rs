//! A file with an image: a head, which can be read alone, and the image in parts that are compressed with zstd, each by a
//! thread of its own.
//!
//! Numbers have their lowest byte first. The head: [`MAGIC`], run, sweep, number of images, time, seconds covered, bytes of the
//! image, number of parts, and of each part its length and CRC-32C; then the CRC-32C of the head.

use std::thread;

use weft_manager::pm::{Image, ImageName, Kept};
use zstd::bulk::{compress, decompress};

/// The first bytes of a file.
const MAGIC: &[u8; 16] = b"weft PM images 1";
/// Bytes of a head before the list of parts, and of a part in it.
const BEFORE_PARTS: usize = 16 + 4 + 8 + 4 + 8 + 4 + 8 + 1;
const PART: usize = 4 + 4;
/// Most parts.
const PARTS_MAX: usize = 32;
/// Bytes of the longest head.
pub(super) const HEAD_MAX: usize = BEFORE_PARTS + PARTS_MAX * PART + 4;
/// Bytes of an image: 60,000 hosts have less.
const IMAGE_MAX: u64 = 1 << 30;
/// How hard zstd tries: what more would save is small, as the images are written column by column.
const LEVEL: i32 = 1;

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kept: Kept,
    bytes: u64,
    /// Length and checksum of each part.
    parts: Vec<(u32, u32)>,
}

/// An image that was put together as a file.
pub(super) fn encode(image: &Image, kept: &Kept, divisions: usize) -> Result<Vec<u8>, String> {
    let bytes = image.to_bytes();
    let parts = divisions.clamp(1, PARTS_MAX);
    let chunks: Vec<&[u8]> = split(&bytes, parts).collect();
    let squeezed = side_by_side(&chunks, |chunk| compress(chunk, LEVEL));
    let squeezed: Result<Vec<Vec<u8>>, _> = squeezed.into_iter().collect();
    let squeezed = squeezed.map_err(|error| error.to_string())?;
    let mut out = MAGIC.to_vec();
    out.extend(kept.name.run.to_le_bytes());
    out.extend(kept.name.sweep.to_le_bytes());
    out.extend(kept.images.to_le_bytes());
    out.extend(kept.unix_time.to_le_bytes());
    out.extend(kept.interval_s.to_le_bytes());
    out.extend((bytes.len() as u64).to_le_bytes());
    out.push(squeezed.len() as u8);
    for part in &squeezed {
        let len = u32::try_from(part.len()).map_err(|_| "the image is too large".to_owned())?;
        out.extend(len.to_le_bytes());
        out.extend(crc32c::crc32c(part).to_le_bytes());
    }
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    out.extend(squeezed.concat());
    Ok(out)
}

/// The head at the beginning of a file, and its length.
pub(super) fn head(file: &[u8]) -> Result<(Head, usize), &'static str> {
    const SHORT: &str = "its head ends early";
    let mut rest = file;
    if take::<16>(&mut rest).ok_or(SHORT)? != *MAGIC {
        return Err("it is no file of images");
    }
    let run = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let sweep = u64::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let images = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let unix_time = u64::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let interval_s = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let bytes = u64::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    let [count] = take(&mut rest).ok_or(SHORT)?;
    let mut parts = Vec::new();
    for _ in 0..count {
        let len = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
        let crc = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
        parts.push((len, crc));
    }
    let len = file.len() - rest.len();
    let crc = u32::from_le_bytes(take(&mut rest).ok_or(SHORT)?);
    if crc32c::crc32c(&file[..len]) != crc {
        return Err("the checksum of its head is wrong");
    }
    if bytes > IMAGE_MAX || parts.is_empty() || parts.len() > PARTS_MAX {
        return Err("its head cannot be right");
    }
    let name = ImageName {
        run,
        sweep,
        composite: true,
    };
    let kept = Kept {
        name,
        images,
        unix_time,
        interval_s,
    };
    Ok((Head { kept, bytes, parts }, len + 4))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*taken)
}

/// The image in a file.
pub(super) fn decode(file: &[u8]) -> Result<Image, String> {
    let (head, len) = head(file)?;
    let mut rest = &file[len..];
    let share = head.bytes.div_ceil(head.parts.len() as u64) as usize;
    let mut parts = Vec::new();
    for (len, crc) in &head.parts {
        let split = rest.split_at_checked(*len as usize);
        let (part, after) = split.ok_or("it ends early")?;
        if crc32c::crc32c(part) != *crc {
            return Err("a checksum is wrong".to_owned());
        }
        parts.push(part);
        rest = after;
    }
    let chunks = side_by_side(&parts, |part| decompress(part, share));
    let chunks: Result<Vec<Vec<u8>>, _> = chunks.into_iter().collect();
    let bytes = chunks.map_err(|error| error.to_string())?.concat();
    if bytes.len() as u64 != head.bytes {
        return Err("it has another length than it says".to_owned());
    }
    let image = Image::from_bytes(&bytes).map_err(|error| error.to_string())?;
    match image.kept() == Some(head.kept) {
        true => Ok(image),
        false => Err("it is another image than it says".to_owned()),
    }
}

/// As many parts of the same length, but for the last.
fn split(bytes: &[u8], parts: usize) -> impl Iterator<Item = &[u8]> {
    let share = bytes.len().div_ceil(parts);
    (0..parts).map(move |part| {
        let from = (part * share).min(bytes.len());
        &bytes[from..(from + share).min(bytes.len())]
    })
}

/// Does the work of each part on its own thread.
fn side_by_side<T: Send>(parts: &[&[u8]], work: impl Fn(&[u8]) -> T + Sync) -> Vec<T> {
    let (work, Some((first, others))) = (&work, parts.split_first()) else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let others: Vec<_> = others
            .iter()
            .map(|part| {
                (
                    part,
                    thread::Builder::new().spawn_scoped(scope, move || work(part)),
                )
            })
            .collect();
        let mut done = vec![work(first)];
        for (part, other) in others {
            // What has no thread is done here.
            let other = other.ok().and_then(|other| other.join().ok());
            done.push(other.unwrap_or_else(|| work(part)));
        }
        done
    })
}
