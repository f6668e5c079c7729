//! Aggregate, attribute 0x0080: several attributes in one datagram.

use crate::bits::{load, store};
use crate::error::DecodeError;
use crate::layout::{Layout, layout};
use crate::sm::AttributeId;

layout! {
    /// Header of each segment (`STL_AGGREGATE`).
    pub struct SegmentHeader: 8, "STL_AGGREGATE" {
        /// Attribute of the segment.
        attribute_id: u16 = u16 @ 0, "AttributeID";
        /// The agent could not do it; it did not look at the segments that follow.
        error: bool = u16 @ 2 [15:15], "Result.s.Error";
        /// Bytes of data in units of 8.
        request_length: u8 = u16 @ 2 [6:0], "Result.s.RequestLength";
        /// Modifier of the segment's attribute.
        attribute_modifier: u32 = u32 @ 4, "AttributeModifier";
    }
}

/// Most segments in a datagram (`MAX_AGGREGATE_ATTRIBUTES`).
pub const MAX_SEGMENTS: usize = 117;
/// Most bytes of data in a segment (`STL_MAX_PAYLOAD_AGGREGATE`).
pub const MAX_SEGMENT_DATA: usize = 1016;

/// One attribute of an Aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Attribute.
    pub attribute: AttributeId,
    /// The agent could not do it.
    pub error: bool,
    /// Attribute modifier.
    pub modifier: u32,
    /// Content, padded to a multiple of 8 bytes.
    pub data: &'a [u8],
}

/// Reads the segments of an Aggregate in order; ends after the first error.
#[derive(Debug, Clone)]
pub struct Segments<'a> {
    rest: &'a [u8],
    left: usize,
}

/// The segments of an Aggregate, `count` of them from the attribute modifier.
pub fn segments(payload: &[u8], count: usize) -> Segments<'_> {
    Segments {
        rest: payload,
        left: count.min(MAX_SEGMENTS),
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Result<Segment<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let segment = split(self.rest).map(|(header, end)| {
            let (head, rest) = self.rest.split_at(end);
            self.rest = rest;
            Segment {
                attribute: AttributeId(header.attribute_id),
                error: header.error,
                modifier: header.attribute_modifier,
                data: head.get(SegmentHeader::LEN..).unwrap_or_default(),
            }
        });
        if segment.is_err() {
            self.left = 0;
        }
        Some(segment)
    }
}

/// The first segment's header and where the segment ends; it ends inside `bytes`.
fn split(bytes: &[u8]) -> Result<(SegmentHeader, usize), DecodeError> {
    let header = SegmentHeader::decode(bytes)?;
    let end = SegmentHeader::LEN + 8 * usize::from(header.request_length);
    DecodeError::take("Aggregate segment", bytes, end)?;
    Ok((header, end))
}

/// One attribute of an Aggregate that an agent answers in place.
#[derive(Debug)]
pub struct SegmentMut<'a> {
    /// Attribute.
    pub attribute: AttributeId,
    /// Attribute modifier.
    pub modifier: u32,
    /// Content, padded to a multiple of 8 bytes.
    pub data: &'a mut [u8],
    header: &'a mut [u8],
}

impl SegmentMut<'_> {
    /// Sets or clears the mark that the agent could not do it.
    pub fn set_error(&mut self, error: bool) {
        let result = load(self.header, 2, 2) & 0x7FFF;
        store(self.header, 2, 2, result | u64::from(error) << 15);
    }
}

/// Passes the segments of an Aggregate for changes, in order; ends after the first error.
#[derive(Debug)]
pub struct SegmentsMut<'a> {
    rest: &'a mut [u8],
    left: usize,
}

/// The segments of an Aggregate for changes, `count` of them from the attribute modifier.
pub fn segments_mut(payload: &mut [u8], count: usize) -> SegmentsMut<'_> {
    SegmentsMut {
        rest: payload,
        left: count.min(MAX_SEGMENTS),
    }
}

impl<'a> Iterator for SegmentsMut<'a> {
    type Item = Result<SegmentMut<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let rest = std::mem::take(&mut self.rest);
        let (parsed, end) = match split(rest) {
            Ok(found) => found,
            Err(error) => {
                self.left = 0;
                return Some(Err(error));
            }
        };
        let (segment, rest) = rest.split_at_mut(end);
        self.rest = rest;
        let (header, data) = segment.split_at_mut(SegmentHeader::LEN);
        Some(Ok(SegmentMut {
            attribute: AttributeId(parsed.attribute_id),
            modifier: parsed.attribute_modifier,
            data,
            header,
        }))
    }
}

/// Builds the payload of an Aggregate.
#[derive(Debug, Clone, Default)]
pub struct AggregateBuilder {
    payload: Vec<u8>,
    count: usize,
}

impl AggregateBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a segment with `data`, padded to a multiple of 8 bytes, unless it would not fit into
    /// `capacity` bytes, or into a segment, or be one too many. Returns whether it was added.
    pub fn push(
        &mut self,
        attribute: AttributeId,
        modifier: u32,
        data: &[u8],
        capacity: usize,
    ) -> bool {
        let len = data.len().next_multiple_of(8);
        let end = self.payload.len() + SegmentHeader::LEN + len;
        if len > MAX_SEGMENT_DATA || end > capacity || self.count == MAX_SEGMENTS {
            return false;
        }
        let header = SegmentHeader {
            attribute_id: attribute.0,
            error: false,
            request_length: (len / 8) as u8,
            attribute_modifier: modifier,
        };
        self.payload.extend_from_slice(&header.to_bytes());
        self.payload.extend_from_slice(data);
        self.payload.resize(end, 0);
        self.count += 1;
        true
    }

    /// Adds a segment that reads: `len` bytes of zeros to be filled in.
    pub fn push_get(
        &mut self,
        attribute: AttributeId,
        modifier: u32,
        len: usize,
        capacity: usize,
    ) -> bool {
        let zeros = [0; MAX_SEGMENT_DATA];
        match zeros.get(..len) {
            Some(data) => self.push(attribute, modifier, data, capacity),
            None => false,
        }
    }

    /// Segments so far: the attribute modifier of the datagram.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The payload.
    pub fn finish(self) -> Vec<u8> {
        self.payload
    }

    /// The payload so far.
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }
}
