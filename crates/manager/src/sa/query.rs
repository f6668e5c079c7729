//! A request to subnet administration, and the records that go back.

use std::sync::Arc;

use weft_fabric::Lid;
use weft_wire::header::{method, status as mad_status};
use weft_wire::rmpp::CLASS_LEN;
use weft_wire::sa::{SaHeader, status};
use weft_wire::{FieldLayout, Layout};

use crate::gsi::{Answer, Form, Request};

/// Most bytes of one answer; a larger one is refused with NO_RESOURCES.
pub(crate) const ANSWER_BYTES_MAX: usize = 256 << 20;

/// Why there is no answer: a status of the common header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) u16);

impl Refusal {
    /// Nothing matches.
    pub(crate) const NO_RECORDS: Self = Self(status::NO_RECORDS);
    /// The request makes no sense, or is not for this requester.
    pub(crate) const INVALID: Self = Self(status::REQ_INVALID);
    /// No such GID.
    pub(crate) const INVALID_GID: Self = Self(status::REQ_INVALID_GID);
    /// The request says too little.
    pub(crate) const TOO_LITTLE: Self = Self(status::REQ_INSUFFICIENT_COMPONENTS);
    /// No room.
    pub(crate) const NO_RESOURCES: Self = Self(status::NO_RESOURCES);
    /// Not this method with this attribute.
    pub(crate) const METHOD: Self = Self(mad_status::UNSUPPORTED_METHOD_ATTRIB);
    /// Not in this form.
    pub(crate) const VERSION: Self = Self(mad_status::UNSUPPORTED_CLASS_OR_VERSION);
    /// Not yet.
    pub(crate) const BUSY: Self = Self(mad_status::BUSY);
}

/// A request with its class header read.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(crate) request: &'a Request,
    pub(crate) header: SaHeader,
}

impl<'a> Query<'a> {
    pub(crate) fn new(request: &'a Request) -> Self {
        Self {
            request,
            header: SaHeader::decode(&request.class).unwrap_or_default(),
        }
    }

    pub(crate) fn method(&self) -> u8 {
        self.request.mad.method
    }

    pub(crate) fn form(&self) -> Form {
        self.request.form
    }

    /// Whether the component of this bit is meant.
    #[inline]
    pub(crate) fn has(&self, bit: u32) -> bool {
        self.header.component_mask >> bit & 1 == 1
    }

    /// The record of the query.
    pub(crate) fn record<R: Layout>(&self) -> Result<R, Refusal> {
        R::decode(&self.request.data).map_err(|_| Refusal::INVALID)
    }

    /// The LID that a record starts with, when it is meant (component 0 of nearly all records).
    pub(crate) fn lid(&self) -> Option<Lid> {
        let bytes = self.request.data.first_chunk::<4>()?;
        self.has(0).then(|| Lid(u32::from_be_bytes(*bytes)))
    }

    /// The headers of an answer with records `stride` bytes apart.
    pub(crate) fn class_header(&self, stride: usize) -> [u8; CLASS_LEN] {
        let header = SaHeader {
            attribute_offset: (stride / 8) as u16,
            ..self.header
        };
        let mut bytes = [0; CLASS_LEN];
        header.encode(&mut bytes);
        bytes
    }

    /// The answer that gives `outcome` back.
    pub(crate) fn answer(&self, outcome: Result<Found, Refusal>) -> Answer {
        match outcome.and_then(|found| found.checked(self.method())) {
            Ok(found) => Answer {
                status: mad_status::OK,
                class: self.class_header(found.stride),
                data: found.data,
            },
            Err(Refusal(status)) => Answer::refusal(status, self.class_header(0)),
        }
    }
}

/// Records that were found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) data: Arc<Vec<u8>>,
    pub(crate) stride: usize,
    pub(crate) count: usize,
}

impl Found {
    /// One record.
    pub(crate) fn one<R: Layout>(record: &R) -> Self {
        let stride = R::LEN.next_multiple_of(8);
        let mut data = record.to_bytes();
        data.resize(stride, 0);
        Self {
            data: Arc::new(data),
            stride,
            count: 1,
        }
    }

    /// Number of records that the method allows: a table may be empty, anything else is one record.
    fn checked(mut self, method: u8) -> Result<Self, Refusal> {
        let table = matches!(
            method,
            method::GET_TABLE | method::GET_TRACE_TABLE | method::GET_MULTI
        );
        match self.count {
            0 if table => {
                self.stride = 0;
                Ok(self)
            }
            0 => Err(Refusal::NO_RECORDS),
            1 => Ok(self),
            _ if table => Ok(self),
            _ => Err(Refusal(status::TOO_MANY_RECORDS)),
        }
    }
}

/// A record that can be matched, with the field for each bit of the component mask. A field
/// of an inner structure is written `outer.inner`.
pub(crate) trait Record: Layout {
    /// Bit and name.
    const COMPONENTS: &'static [(u32, &'static str)];
}

/// Collects the records that match a query.
#[derive(Debug)]
pub(crate) struct Records {
    data: Vec<u8>,
    stride: usize,
    count: usize,
    /// Bits of a record that must equal the query's.
    mask: Vec<u8>,
    wanted: Vec<u8>,
    full: bool,
}

impl Records {
    /// Takes records as `query` wants them.
    pub(crate) fn new<R: Record>(query: &Query<'_>) -> Self {
        Self::except::<R>(query, 0)
    }

    /// A matcher without the components in `ignored`: the caller handles them.
    pub(crate) fn except<R: Record>(query: &Query<'_>, ignored: u64) -> Self {
        let components = query.header.component_mask & !ignored;
        let mut mask = Vec::new();
        if components != 0 {
            mask.resize(R::LEN, 0);
            for (bit, name) in R::COMPONENTS {
                if components >> bit & 1 == 1 {
                    add_field(R::FIELDS, name, 0, &mut mask);
                }
            }
        }
        let mut wanted = query.request.data.clone();
        wanted.resize(mask.len(), 0);
        Self {
            data: Vec::new(),
            stride: R::LEN.next_multiple_of(8),
            count: 0,
            mask,
            wanted,
            full: false,
        }
    }

    /// Replaces the value to match at `offset`, for example a LID by the base LID.
    pub(crate) fn want(&mut self, offset: usize, bytes: &[u8]) {
        for (to, from) in self.wanted.iter_mut().skip(offset).zip(bytes) {
            *to = *from;
        }
    }

    /// Takes a record if it matches.
    #[inline]
    pub(crate) fn push<R: Layout>(&mut self, record: &R) {
        let Some(start) = self.grow() else {
            return;
        };
        if let Some(to) = self.data.get_mut(start..) {
            record.encode(to);
        }
        self.settle(start);
    }

    /// Adds a record of `head` and `tail`, if it matches.
    #[inline]
    pub(crate) fn push_parts(&mut self, head: &[u8; 8], tail: &[u8]) {
        let Some(start) = self.grow() else {
            return;
        };
        if let Some(to) = self.data.get_mut(start..) {
            let bytes = head.iter().chain(tail);
            to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        }
        self.settle(start);
    }

    fn grow(&mut self) -> Option<usize> {
        let start = self.data.len();
        if start + self.stride > ANSWER_BYTES_MAX {
            self.full = true;
            return None;
        }
        self.data.resize(start + self.stride, 0);
        Some(start)
    }

    fn settle(&mut self, start: usize) {
        let record = self.data.get(start..).unwrap_or_default();
        let compared = self.mask.iter().zip(record.iter().zip(&self.wanted));
        let matches = compared.fold(0, |differs, (mask, (a, b))| differs | mask & (a ^ b)) == 0;
        if matches {
            self.count += 1;
        } else {
            self.data.truncate(start);
        }
    }

    /// Number of records found so far.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The records found.
    pub(crate) fn finish(self) -> Result<Found, Refusal> {
        match self.full {
            true => Err(Refusal::NO_RESOURCES),
            false => Ok(Found {
                data: Arc::new(self.data),
                stride: self.stride,
                count: self.count,
            }),
        }
    }
}

/// Sets the bits that a field has on the wire.
fn add_field(fields: &[FieldLayout], name: &str, base: usize, mask: &mut [u8]) {
    let (head, rest) = match name.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (name, None),
    };
    let Some(field) = fields.iter().find(|field| field.name == head) else {
        return;
    };
    if let Some(rest) = rest {
        add_field(field.parts, rest, base + field.offset, mask);
        return;
    }
    let start = base + field.offset;
    let bits = match field.bits {
        Some((msb, lsb)) => weft_wire::bits::mask(msb, lsb),
        None => u64::MAX,
    };
    let bytes = mask.get_mut(start..start + field.width).unwrap_or_default();
    let last = bytes.len();
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte |= match field.bits {
            Some(_) => (bits >> (8 * (last - 1 - index))) as u8,
            None => 0xFF,
        };
    }
}

/// Whether every component of a record names a field.
#[cfg(test)]
pub(crate) fn names_are_fields<R: Record>() -> bool {
    R::COMPONENTS.iter().all(|(_, name)| {
        let mut mask = vec![0; R::LEN];
        add_field(R::FIELDS, name, 0, &mut mask);
        mask.iter().any(|byte| *byte != 0)
    })
}
