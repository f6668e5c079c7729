//! One request under construction: one attribute, or several in an Aggregate.

use weft_fabric::PortNum;
use weft_wire::Layout;
use weft_wire::error::DecodeError;
use weft_wire::header::method;
use weft_wire::sm::aggregate::{MAX_SEGMENT_DATA, MAX_SEGMENTS, SegmentHeader, segments};
use weft_wire::sm::{AttributeId, shape};
use weft_wire::smp::{DIRECTED_PAYLOAD_MAX, DirectedRoute, Smp, SmpView};

use super::SkippedWrites;

/// Blocks of a forwarding table in a segment of an Aggregate.
pub(crate) const SEGMENT_BLOCKS: usize = 15;
/// Blocks of a forwarding table in a datagram of their own.
pub(crate) const BLOCKS_MAX: u8 = 29;
/// Ports whose states one datagram carries.
pub(crate) const STATES_PER_REQUEST: u8 = 200;
/// Ports whose PortInfo one datagram carries.
pub(crate) const PORTS_PER_REQUEST: u8 = 7;

/// One attribute in a request, and the position of its data in [`Batch::data`].
#[derive(Debug, Clone, Copy)]
struct Part {
    attribute: AttributeId,
    modifier: u32,
    start: usize,
    len: usize,
}

/// The attributes of one request; reused from request to request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    parts: Vec<Part>,
    data: Vec<u8>,
    payload: Vec<u8>,
    set: bool,
    skips: SkippedWrites,
    limit: usize,
    len: usize,
}

impl Batch {
    /// Starts a request; without `aggregates` it takes one attribute only.
    pub(crate) fn start(&mut self, set: bool, aggregates: bool) {
        self.parts.clear();
        self.data.clear();
        self.set = set;
        self.skips = SkippedWrites::default();
        self.limit = if aggregates { MAX_SEGMENTS } else { 1 };
        self.len = 0;
    }

    /// Leaves writes of these attributes out.
    pub(crate) fn skip(&mut self, skips: SkippedWrites) {
        self.skips = skips;
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether `len` more bytes of data fit in as one more attribute.
    pub(crate) fn fits(&self, len: usize) -> bool {
        let segment = SegmentHeader::LEN + len.next_multiple_of(8);
        match self.parts.len() {
            0 => len <= DIRECTED_PAYLOAD_MAX,
            parts => {
                parts < self.limit
                    && len <= MAX_SEGMENT_DATA
                    && self.parts.iter().all(|part| part.len <= MAX_SEGMENT_DATA)
                    && self.len + segment <= DIRECTED_PAYLOAD_MAX
            }
        }
    }

    /// Adds a read of `len` bytes unless it does not fit; returns whether it was added.
    pub(crate) fn get(&mut self, attribute: AttributeId, modifier: u32, len: usize) -> bool {
        self.push(attribute, modifier, len, |_| {})
    }

    /// Adds a write whose `len` bytes `fill` writes, unless it does not fit; returns whether it was
    /// added, or is left out.
    pub(crate) fn push(
        &mut self,
        attribute: AttributeId,
        modifier: u32,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        if self.set && self.skips.cover(attribute) {
            return true;
        }
        if !self.fits(len) {
            return false;
        }
        let start = self.data.len();
        self.data.resize(start + len, 0);
        fill(&mut self.data[start..]);
        self.parts.push(Part {
            attribute,
            modifier,
            start,
            len,
        });
        self.len += SegmentHeader::LEN + len.next_multiple_of(8);
        true
    }

    /// Number of Sets in it, 0 for a read.
    pub(crate) fn sets(&self) -> u64 {
        if self.set { self.parts.len() as u64 } else { 0 }
    }

    /// The attributes in it.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = AttributeId> + '_ {
        self.parts.iter().map(|part| part.attribute)
    }

    /// The writes of an attribute in it, each with its modifier and its data.
    pub(crate) fn writes(&self, of: AttributeId) -> impl Iterator<Item = (u32, &[u8])> {
        let parts = self.parts.iter();
        let parts = parts.filter(move |part| self.set && part.attribute == of);
        parts.map(|part| (part.modifier, &self.data[part.start..part.start + part.len]))
    }

    /// The request as a directed-route datagram.
    ///
    /// # Errors
    /// [`DecodeError::Value`] when the path has more hops than the format carries.
    pub(crate) fn finish(&mut self, path: &[PortNum], m_key: u64) -> Result<Vec<u8>, DecodeError> {
        let route = DirectedRoute::new(path)?;
        self.payload.clear();
        let (attribute, modifier) = match self.parts.as_slice() {
            [one] => {
                // SMInfo in a request identifies the requester.
                if self.set || one.attribute == AttributeId::SM_INFO {
                    self.payload.extend_from_slice(&self.data);
                }
                (one.attribute, one.modifier)
            }
            many => {
                let count = many.len() as u32;
                self.write_segments();
                (AttributeId::AGGREGATE, count)
            }
        };
        let smp = Smp {
            method: if self.set { method::SET } else { method::GET },
            attribute,
            modifier,
            transaction_id: 0,
            m_key,
        };
        let mut mad =
            Vec::with_capacity(weft_wire::smp::DIRECTED_HEADER_LEN + self.payload.len() + 8);
        smp.write_directed(&route, &self.payload, &mut mad);
        Ok(mad)
    }

    fn write_segments(&mut self) {
        for part in &self.parts {
            let padded = part.len.next_multiple_of(8);
            let header = SegmentHeader {
                attribute_id: part.attribute.0,
                error: false,
                request_length: (padded / 8) as u8,
                attribute_modifier: part.modifier,
            };
            let at = self.payload.len();
            self.payload.resize(at + SegmentHeader::LEN + padded, 0);
            let to = &mut self.payload[at..];
            header.encode(to);
            to[SegmentHeader::LEN..SegmentHeader::LEN + part.len]
                .copy_from_slice(&self.data[part.start..part.start + part.len]);
        }
    }
}

/// Result of one attribute of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Done; the answer's data are valid.
    Done,
    /// The agent refused with this status.
    Refused(u16),
}

/// One attribute of a request with its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub attribute: AttributeId,
    pub modifier: u32,
    /// The request's data; empty for a read that was no Aggregate.
    pub asked: &'a [u8],
    /// The answer's data.
    pub data: &'a [u8],
    pub verdict: Verdict,
}

/// The answer to a request, attribute by attribute. Attributes of an Aggregate after the first
/// refused one are left out: the agent did not process them.
///
/// # Errors
/// A description of the fault when the answer does not have the shape of its request.
pub(crate) fn replies<'a>(
    asked: &SmpView<'a>,
    answer: &SmpView<'a>,
    out: &mut Vec<Reply<'a>>,
) -> Result<(), &'static str> {
    out.clear();
    let status = answer.status();
    if asked.attribute() != AttributeId::AGGREGATE || status != 0 {
        out.push(Reply {
            attribute: asked.attribute(),
            modifier: asked.header.attribute_modifier,
            asked: asked.payload,
            data: answer.payload,
            verdict: if status == 0 {
                Verdict::Done
            } else {
                Verdict::Refused(status)
            },
        });
        return complete(out);
    }
    aggregated(asked, answer, out)
}

fn aggregated<'a>(
    asked: &SmpView<'a>,
    answer: &SmpView<'a>,
    out: &mut Vec<Reply<'a>>,
) -> Result<(), &'static str> {
    let count = asked.header.attribute_modifier as usize;
    let mut came = segments(answer.payload, count);
    for wanted in segments(asked.payload, count).flatten() {
        let got = match came.next() {
            Some(Ok(got)) => got,
            _ => return Err("an Aggregate that is cut short"),
        };
        if (got.attribute, got.modifier, got.data.len())
            != (wanted.attribute, wanted.modifier, wanted.data.len())
        {
            return Err("an Aggregate with other segments than the request");
        }
        let verdict = if got.error {
            Verdict::Refused(0)
        } else {
            Verdict::Done
        };
        out.push(Reply {
            attribute: got.attribute,
            modifier: got.modifier,
            asked: wanted.data,
            data: got.data,
            verdict,
        });
        if got.error {
            break;
        }
    }
    Ok(())
}

/// A single attribute must have all the requested blocks.
fn complete(out: &[Reply<'_>]) -> Result<(), &'static str> {
    let Some(reply) = out.first().filter(|reply| reply.verdict == Verdict::Done) else {
        return Ok(());
    };
    let blocks = match reply.attribute {
        AttributeId::NODE_INFO | AttributeId::NODE_DESCRIPTION | AttributeId::SWITCH_INFO => 1,
        AttributeId::SL_TO_SC | AttributeId::SC_TO_SL | AttributeId::SM_INFO => 1,
        AttributeId::AGGREGATE => return Err("an Aggregate inside out"),
        _ => (reply.modifier >> 24) as usize,
    };
    let needed = shape(reply.attribute).map_or(0, |shape| shape.total(blocks));
    match reply.data.len() >= needed {
        true => Ok(()),
        false => Err("an answer that is cut short"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use weft_wire::smp::respond;

    fn answer(mad: &[u8], status: u16, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let view = SmpView::parse(mad).unwrap();
        let mut payload = view.payload.to_vec();
        change(&mut payload);
        let mut out = Vec::new();
        respond(&view, status, &payload, &mut out);
        out
    }

    fn two_segments() -> Vec<u8> {
        let mut batch = Batch::default();
        batch.start(false, true);
        assert!(batch.get(AttributeId::NODE_INFO, 0, 44));
        assert!(batch.get(AttributeId::SWITCH_INFO, 0, 84));
        batch.finish(&[PortNum(1)], 0).unwrap()
    }

    fn verdicts(request: &[u8], reply: &[u8]) -> Result<Vec<Verdict>, &'static str> {
        let (asked, answer) = (
            SmpView::parse(request).unwrap(),
            SmpView::parse(reply).unwrap(),
        );
        let mut out = Vec::new();
        replies(&asked, &answer, &mut out)?;
        Ok(out.iter().map(|reply| reply.verdict).collect())
    }

    #[test]
    fn an_aggregate_comes_apart_into_its_segments() {
        let request = two_segments();
        let good = verdicts(&request, &answer(&request, 0, |_| {}));
        assert_eq!(good, Ok(vec![Verdict::Done; 2]));
        let first_refused = verdicts(&request, &answer(&request, 0, |data| data[2] |= 0x80));
        assert_eq!(first_refused, Ok(vec![Verdict::Refused(0)]));
        let unsupported = verdicts(&request, &answer(&request, 0x0C, |_| {}));
        assert_eq!(unsupported, Ok(vec![Verdict::Refused(0x0C)]));
    }

    #[test]
    fn an_aggregate_of_another_shape_is_refused() {
        let request = two_segments();
        assert!(verdicts(&request, &answer(&request, 0, |data| data[1] ^= 1)).is_err());
        assert!(verdicts(&request, &answer(&request, 0, |data| data.truncate(60))).is_err());
    }

    #[test]
    fn without_aggregates_one_attribute_fills_a_request() {
        let mut batch = Batch::default();
        batch.start(true, false);
        assert!(batch.push(AttributeId::SL_TO_SC, 0, 32, |to| to.fill(1)));
        assert!(!batch.push(AttributeId::SC_TO_SL, 0, 32, |to| to.fill(1)));
        let mad = batch.finish(&[], 7).unwrap();
        let view = SmpView::parse(&mad).unwrap();
        assert_eq!((view.attribute(), view.m_key), (AttributeId::SL_TO_SC, 7));
        assert_eq!(view.payload, [1; 32]);
    }
}
