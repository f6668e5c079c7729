//! Parts as messages: compressed, in pieces that signs of life fit between, with length and checksum.

use std::io::Read;

use weft_api::v1;

use super::parts::{Part, PartKind};

/// Bytes of a piece.
const PIECE: usize = 256 << 10;
/// Most bytes of a part: above what the largest fabric has of any.
const BYTES_MAX: u64 = 256 << 20;
/// Compression level: fast.
const LEVEL: i32 = 1;

/// The messages of a part.
pub(crate) fn pieces(kind: PartKind, part: &Part) -> std::io::Result<Vec<v1::StatePiece>> {
    let bytes = part.bytes.as_deref().unwrap_or_default();
    let packed = zstd::bulk::compress(bytes, LEVEL)?;
    let piece = |data: &[u8]| v1::StatePiece {
        part: kind.code().into(),
        sequence: part.sequence,
        bytes: bytes.len() as u64,
        crc32c: crc32c::crc32c(bytes),
        cleared: part.bytes.is_none(),
        packed_bytes: packed.len() as u64,
        data: data.to_vec(),
    };
    Ok(packed.chunks(PIECE).map(piece).collect())
}

/// A part whose pieces arrive.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    packed: Vec<u8>,
    of: Option<(v1::StatePart, u64)>,
}

impl Assembler {
    /// Takes a piece; returns the part with its last one, and its kind unless only a newer daemon knows it.
    ///
    /// # Errors
    /// In words, where the pieces are no part.
    pub(crate) fn take(
        &mut self,
        piece: &v1::StatePiece,
    ) -> Result<Option<(Option<PartKind>, Part)>, String> {
        if piece.bytes > BYTES_MAX || piece.packed_bytes > BYTES_MAX {
            return Err(format!(
                "a part of {} bytes, at most {BYTES_MAX} are taken",
                piece.bytes.max(piece.packed_bytes)
            ));
        }
        let of = Some((piece.part(), piece.sequence));
        if self.of != of {
            (self.of, self.packed) = (of, Vec::new());
        }
        self.packed.extend_from_slice(&piece.data);
        let (have, all) = (self.packed.len() as u64, piece.packed_bytes);
        if have < all && !piece.data.is_empty() {
            return Ok(None);
        }
        if have != all {
            return Err(format!("a part of {all} bytes came with {have}"));
        }
        self.of = None;
        let packed = std::mem::take(&mut self.packed);
        let bytes = unpack(&packed, piece)?;
        let kind = PartKind::of(piece.part());
        let bytes = (!piece.cleared && kind.is_some()).then(|| bytes.into());
        let sequence = piece.sequence;
        Ok(Some((kind, Part { sequence, bytes })))
    }
}

fn unpack(packed: &[u8], piece: &v1::StatePiece) -> Result<Vec<u8>, String> {
    let wrong = |error: std::io::Error| format!("a part that cannot be unpacked: {error}");
    let reader = zstd::Decoder::new(packed).map_err(wrong)?;
    let mut bytes = Vec::new();
    let mut reader = reader.take(piece.bytes + 1);
    reader.read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 != piece.bytes || crc32c::crc32c(&bytes) != piece.crc32c {
        return Err("a part whose length or checksum is wrong".to_owned());
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Bytes that do not compress.
    fn noise(len: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    #[test]
    fn parts_arrive_as_they_were() {
        for bytes in [None, Some(vec![]), Some(vec![7; 9]), Some(noise(3 * PIECE))] {
            let part = Part {
                sequence: 4,
                bytes: bytes.clone().map(Into::into),
            };
            let sent = pieces(PartKind::Registrations, &part).unwrap();
            let mut assembler = Assembler::default();
            let (last, first) = sent.split_last().unwrap();
            for piece in first {
                assert!(assembler.take(piece).unwrap().is_none());
            }
            let (kind, part) = assembler.take(last).unwrap().unwrap();
            assert_eq!(kind, Some(PartKind::Registrations));
            assert_eq!(part.sequence, 4);
            assert_eq!(part.bytes.as_deref(), bytes.as_deref());
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        let part = Part {
            sequence: 4,
            bytes: Some(noise(100).into()),
        };
        let sent = pieces(PartKind::State, &part).unwrap().remove(0);
        let broken: [fn(&mut v1::StatePiece); 6] = [
            |piece| piece.crc32c ^= 1,
            |piece| piece.bytes -= 1,
            |piece| piece.bytes = u64::MAX,
            |piece| piece.packed_bytes -= 1,
            |piece| piece.data.fill(0),
            |piece| piece.data.clear(),
        ];
        for (place, break_it) in broken.iter().enumerate() {
            let mut piece = sent.clone();
            break_it(&mut piece);
            assert!(Assembler::default().take(&piece).is_err(), "{place}");
        }
        let mut unknown = sent;
        unknown.part = 99;
        let (kind, part) = Assembler::default().take(&unknown).unwrap().unwrap();
        assert_eq!((kind, part.sequence, part.bytes.is_none()), (None, 4, true));
    }
}
