//! Keys that protect a fabric, masked: recordings leave the machine, M_Keys, SM_Keys and keys of services do not.

pub(crate) mod service;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use weft_manager::Settings;
use weft_manager::sm::reroute::{Arrangement, Condition};
use weft_state::Masks;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class};
use weft_wire::rmpp::{CLASS_AT, DATA_AT};
use weft_wire::sm::aggregate::SegmentHeader;
use weft_wire::sm::{AttributeId, PortInfo};
use weft_wire::smp::{DIRECTED_HEADER_LEN, LID_ROUTED_HEADER_LEN};

/// Upper half of a masked key: `KEY` and a zero.
const MASKED: u64 = 0x4B45_5900;
/// Different keys with a number of their own in the order in which they come; others get one by chance. A fabric has one or two,
/// and as many as services and clients choose.
const KEYS_MAX: usize = 4096;

/// Offset of M_Key in an SMP, and in the contents of attributes.
const SMP_M_KEY: usize = MadHeader::LEN;
const PORT_INFO_M_KEY: usize = 112;
/// From one port's attribute to the next.
const PORT_INFO_STRIDE: usize = PortInfo::LEN.next_multiple_of(8);
const SM_INFO_SM_KEY: usize = 8;
const NOTICE_TRAP: usize = 4;
const NOTICE_M_KEY: usize = 32 + 16;
/// A notice about a wrong M_Key (`STL_TRAP_BAD_M_KEY`).
const BAD_M_KEY: u16 = 256;

/// Replaces each key by a number, the same key by the same number. The manager asks of a key only whether it is
/// another one or 0, so that it does the same with masked ones. A masked key stays as it is.
///
/// Those who have a clone share the numbers: one thread masks what is rare, another one datagrams.
#[derive(Clone, Default)]
pub(crate) struct Keys(Arc<Mutex<Numbers>>);

impl fmt::Debug for Keys {
    /// Without them.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Keys")
    }
}

#[derive(Default)]
struct Numbers {
    known: BTreeMap<u64, u64>,
    /// Gives the others their numbers.
    others: RandomState,
}

impl Keys {
    fn mask(&self, key: u64) -> u64 {
        if key == 0 || key >> 32 == MASKED {
            return key;
        }
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.of(key)
    }

    /// Masks a key in a datagram. Of one that is cut nothing is left.
    fn mask_at(&self, bytes: &mut [u8], at: usize) {
        let field = bytes.get_mut(at..).unwrap_or_default();
        match field.first_chunk_mut::<8>() {
            Some(key) => *key = self.mask(u64::from_be_bytes(*key)).to_be_bytes(),
            None => field.fill(0),
        }
    }

    /// Settings with masked keys.
    pub(crate) fn masked(&self, mut settings: Settings) -> Settings {
        settings.m_key = self.mask(settings.m_key);
        settings.election.sm_key = self.mask(settings.election.sm_key);
        settings
    }

    /// An arrangement with masked keys.
    pub(crate) fn masked_arrangement(&self, mut wanted: Arrangement) -> Arrangement {
        wanted.settings = self.masked(wanted.settings);
        wanted
    }

    /// A condition with masked keys.
    pub(crate) fn masked_condition(&self, condition: Condition) -> Condition {
        match condition {
            Condition::InForce(wanted) => {
                Condition::InForce(Box::new(self.masked_arrangement(*wanted)))
            }
            Condition::Epoch(_) => condition,
        }
    }

    /// Masks those of a datagram of subnet management or subnet administration; others are as they were.
    pub(crate) fn in_datagram(&self, mad: &mut [u8]) {
        let Ok(header) = MadHeader::decode(mad) else {
            return;
        };
        let start = match header.mgmt_class {
            class::SM_DIRECTED_ROUTE => DIRECTED_HEADER_LEN,
            class::SM_LID_ROUTED => LID_ROUTED_HEADER_LEN,
            class::SUBN_ADM => return self.in_administration(mad),
            _ => return,
        };
        self.mask_at(mad, SMP_M_KEY);
        let payload = mad.get_mut(start..).unwrap_or_default();
        match AttributeId(header.attribute_id) {
            AttributeId::AGGREGATE => self.in_segments(payload),
            attribute => self.in_attribute(attribute, payload),
        }
    }

    /// Masks those in all segments of an Aggregate, however many it says that it has, and in what is there of one that is cut.
    fn in_segments(&self, mut payload: &mut [u8]) {
        while let Ok(header) = SegmentHeader::decode(payload) {
            let len = SegmentHeader::LEN + 8 * usize::from(header.request_length);
            let (segment, rest) = payload.split_at_mut(len.min(payload.len()));
            let data = segment.get_mut(SegmentHeader::LEN..).unwrap_or_default();
            self.in_attribute(AttributeId(header.attribute_id), data);
            payload = rest;
        }
    }

    /// Masks the SM_Key of a datagram of subnet administration, the keys in its records, and that of a notice that is reported.
    fn in_administration(&self, mad: &mut [u8]) {
        self.mask_at(mad, CLASS_AT);
        // A segment may end within one.
        service::each_half(mad, |half| self.mask_at(half, 0));
        if service::is_notice(mad) {
            self.in_notice(mad.get_mut(DATA_AT..).unwrap_or_default());
        }
    }

    fn in_attribute(&self, attribute: AttributeId, data: &mut [u8]) {
        match attribute {
            AttributeId::SM_INFO => self.mask_at(data, SM_INFO_SM_KEY),
            AttributeId::NOTICE => self.in_notice(data),
            AttributeId::PORT_INFO => {
                for port in data.chunks_mut(PORT_INFO_STRIDE) {
                    self.mask_at(port, PORT_INFO_M_KEY);
                }
            }
            _ => {}
        }
    }

    /// Masks that of a notice.
    pub(crate) fn in_notice(&self, data: &mut [u8]) {
        let trap = data.get(NOTICE_TRAP..).and_then(<[u8]>::first_chunk);
        if trap == Some(&BAD_M_KEY.to_be_bytes()) {
            self.mask_at(data, NOTICE_M_KEY);
        }
    }
}

impl Numbers {
    fn of(&mut self, key: u64) -> u64 {
        let next = self.known.len() as u64 + 1;
        match self.known.get(&key) {
            Some(masked) => *masked,
            None if self.known.len() < KEYS_MAX => {
                *self.known.entry(key).or_insert(MASKED << 32 | next)
            }
            None => MASKED << 32 | 1 << 31 | self.others.hash_one(key) >> 33,
        }
    }
}

impl Masks for Keys {
    fn key(&mut self, key: u64) -> u64 {
        self.mask(key)
    }

    fn datagram(&mut self, mad: &mut [u8]) {
        self.in_datagram(mad);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "keys_tests.rs"]
mod tests;
