//! The frames of a log: length, its checksum, checksum of the payload, payload. All numbers are little-endian.
//!
//! A tail that is shorter than its frame says was torn by the end of a write, and is cut. A length has a checksum of
//! its own, so that a flipped bit in it is not taken for a torn tail.

use std::ops::Range;

/// First bytes of a log.
pub(crate) const MAGIC: [u8; 8] = *b"WEFTLOG1";
/// Bytes before the payload.
pub(crate) const HEADER: usize = 12;
/// Largest payload, bytes.
pub(crate) const PAYLOAD_MAX: usize = 64 << 20;

/// Why the frames of a log end where they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the file.
    Whole,
    /// The last one is not complete.
    Torn,
    /// The next one is not as it was written.
    Damaged(&'static str),
}

/// The frames of a log.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Where the payloads lie.
    pub(crate) payloads: Vec<Range<usize>>,
    /// Length of what is right.
    pub(crate) good: usize,
    pub(crate) end: End,
}

/// Bytes of a frame around a payload.
pub(crate) fn encode(payload: &[u8]) -> Vec<u8> {
    // Payloads are limited to PAYLOAD_MAX.
    let len = (payload.len() as u32).to_le_bytes();
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.extend_from_slice(&len);
    frame.extend_from_slice(&crc32c::crc32c(&len).to_le_bytes());
    frame.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Finds the frames of a log.
pub(crate) fn frames(log: &[u8]) -> Frames {
    let mut found = Frames {
        payloads: Vec::new(),
        good: 0,
        end: End::Whole,
    };
    if log.len() < MAGIC.len() {
        let begun = log.is_empty() || MAGIC.starts_with(log) || log.iter().all(|byte| *byte == 0);
        found.end = match begun {
            true => End::Torn,
            false => End::Damaged("it does not begin like a log"),
        };
        return found;
    }
    if log[..MAGIC.len()] != MAGIC {
        found.end = End::Damaged("it does not begin like a log");
        return found;
    }
    found.good = MAGIC.len();
    while found.good < log.len() {
        match next(&log[found.good..]) {
            Ok(len) => {
                let from = found.good + HEADER;
                found.payloads.push(from..from + len);
                found.good = from + len;
            }
            Err(end) => {
                found.end = end;
                break;
            }
        }
    }
    found
}

/// Length of the payload behind a header; none where this is not the header of a frame.
pub(crate) fn payload_len(header: &[u8]) -> Option<usize> {
    let (len, rest) = header.split_first_chunk::<4>()?;
    let (crc, _) = rest.split_first_chunk()?;
    let right = crc32c::crc32c(len) == u32::from_le_bytes(*crc);
    let len = u32::from_le_bytes(*len) as usize;
    (right && len <= PAYLOAD_MAX).then_some(len)
}

/// Length of the payload of the frame at the beginning.
fn next(rest: &[u8]) -> Result<usize, End> {
    let number = |at: usize| {
        let bytes = rest.get(at..at + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    // A file that was made longer before its bytes were there ends in zeros.
    let cut = match rest.iter().all(|byte| *byte == 0) {
        true => Err(End::Torn),
        false => Ok(()),
    };
    let (Some(len), Some(len_crc), Some(crc)) = (number(0), number(4), number(8)) else {
        return Err(End::Torn);
    };
    cut?;
    if crc32c::crc32c(&len.to_le_bytes()) != len_crc || len as usize > PAYLOAD_MAX {
        return Err(End::Damaged("the length of a frame has another checksum"));
    }
    let payload = rest.get(HEADER..HEADER + len as usize).ok_or(End::Torn)?;
    match crc32c::crc32c(payload) == crc {
        true => Ok(len as usize),
        false => Err(End::Damaged("a frame has another checksum")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(payloads: &[&[u8]]) -> Vec<u8> {
        let frames = payloads.iter().flat_map(|payload| encode(payload));
        MAGIC.into_iter().chain(frames).collect()
    }

    #[test]
    fn a_tail_torn_at_any_byte_loses_only_its_frame() {
        let payloads: [&[u8]; 4] = [b"first", b"", b"third frame", b"last"];
        let whole = log(&payloads);
        let ends: Vec<usize> = (0..=4).map(|count| log(&payloads[..count]).len()).collect();
        for len in 0..=whole.len() {
            let found = frames(&whole[..len]);
            let complete = ends.iter().filter(|end| **end <= len).count();
            assert_eq!(found.payloads.len(), complete.saturating_sub(1), "{len}");
            let is_end = ends.contains(&len);
            assert_eq!(
                found.end,
                if is_end { End::Whole } else { End::Torn },
                "{len}"
            );
            for (range, payload) in found.payloads.into_iter().zip(payloads) {
                assert_eq!(&whole[range], payload);
            }
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_seen_and_what_is_before_it_is_kept() {
        let payloads: [&[u8]; 3] = [b"first", b"second", b"third"];
        let whole = log(&payloads);
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let found = frames(&flipped);
            assert!(matches!(found.end, End::Damaged(_)), "bit {bit}: {found:?}");
            assert!(found.good <= bit / 8, "bit {bit}");
            for (range, payload) in found.payloads.into_iter().zip(payloads) {
                assert_eq!(&flipped[range], payload);
            }
        }
    }

    #[test]
    fn zeros_at_the_end_are_a_torn_tail() {
        let mut log = log(&[b"first"]);
        log.extend([0; 100]);
        let found = frames(&log);
        assert_eq!((found.payloads.len(), found.end), (1, End::Torn));
    }
}
