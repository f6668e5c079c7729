//! Keys that protect a fabric, masked: recordings leave the machine, M_Keys, SM_Keys and keys of services do not.

pub(crate) mod service;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use weft_manager::Settings;
use weft_manager::sm::reroute::{Arrangement, Condition};
use weft_state::Masks;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class};
use weft_wire::rmpp::{CLASS_AT, DATA_AT};
use weft_wire::sm::aggregate::{segments, segments_mut};
use weft_wire::sm::{AttributeId, Notice, PortInfo};
use weft_wire::smp::{DIRECTED_HEADER_LEN, LID_ROUTED_HEADER_LEN};

/// Upper half of a masked key: `KEY` and a zero.
const MASKED: u64 = 0x4B45_5900;
/// Different keys with a number of their own in the order in which they come; others get one by chance. A fabric has one or two,
/// and as many as services and clients choose.
const KEYS_MAX: usize = 4096;

/// Offset of M_Key in an SMP, and in the contents of attributes.
pub(crate) const SMP_M_KEY: usize = MadHeader::LEN;
const PORT_INFO_M_KEY: usize = 112;
/// From one port's attribute to the next.
const PORT_INFO_STRIDE: usize = PortInfo::LEN.next_multiple_of(8);
const SM_INFO_SM_KEY: usize = 8;
const NOTICE_M_KEY: usize = 32 + 16;
/// A notice about a wrong M_Key (`STL_TRAP_BAD_M_KEY`).
const BAD_M_KEY: u16 = 256;

/// Replaces each key by a number, the same key by the same number. The manager asks of a key only whether it is
/// another one or 0, so that it does the same with masked ones. A masked key stays as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    known: BTreeMap<u64, u64>,
    /// Gives the others their numbers.
    others: RandomState,
}

impl Keys {
    fn mask(&mut self, key: u64) -> u64 {
        if key == 0 || key >> 32 == MASKED {
            return key;
        }
        let next = self.known.len() as u64 + 1;
        match self.known.get(&key) {
            Some(masked) => *masked,
            None if self.known.len() < KEYS_MAX => {
                *self.known.entry(key).or_insert(MASKED << 32 | next)
            }
            None => MASKED << 32 | 1 << 31 | self.others.hash_one(key) >> 33,
        }
    }

    /// A key as it is in a datagram.
    pub(crate) fn masked_bytes(&mut self, key: [u8; 8]) -> [u8; 8] {
        self.mask(u64::from_be_bytes(key)).to_be_bytes()
    }

    fn mask_at(&mut self, bytes: &mut [u8], at: usize) {
        if let Some(field) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<8>) {
            *field = self.masked_bytes(*field);
        }
    }

    /// Masks those of settings.
    pub(crate) fn in_settings(&mut self, settings: &mut Settings) {
        settings.m_key = self.mask(settings.m_key);
        settings.election.sm_key = self.mask(settings.election.sm_key);
    }

    /// Settings with masked keys.
    pub(crate) fn masked(&mut self, mut settings: Settings) -> Settings {
        self.in_settings(&mut settings);
        settings
    }

    /// An arrangement with masked keys.
    pub(crate) fn masked_arrangement(&mut self, mut wanted: Arrangement) -> Arrangement {
        self.in_settings(&mut wanted.settings);
        wanted
    }

    /// A condition with masked keys.
    pub(crate) fn masked_condition(&mut self, condition: Condition) -> Condition {
        match condition {
            Condition::InForce(wanted) => {
                Condition::InForce(Box::new(self.masked_arrangement(*wanted)))
            }
            Condition::Epoch(_) => condition,
        }
    }

    /// Masks those of a datagram of subnet management or subnet administration; others are as they were.
    pub(crate) fn in_datagram(&mut self, mad: &mut [u8]) {
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
        let (attribute, modifier) = (AttributeId(header.attribute_id), header.attribute_modifier);
        if attribute == AttributeId::AGGREGATE {
            for segment in segments_mut(payload, modifier as usize).flatten() {
                self.in_attribute(segment.attribute, segment.data);
            }
        } else {
            self.in_attribute(attribute, payload);
        }
    }

    /// The M_Key of a datagram of subnet management that has no other key, with what is before it and behind it; none of another
    /// one.
    pub(crate) fn around_the_only(mad: &[u8]) -> Option<(&[u8; SMP_M_KEY], &[u8; 8], &[u8])> {
        let (head, rest) = mad.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        (!Self::has_more(mad)).then_some((head, key, rest))
    }

    /// Whether a datagram of subnet management may have a key behind its head.
    fn has_more(mad: &[u8]) -> bool {
        // Read in place: every datagram that the manager sends passes here.
        let Some(head) = mad.first_chunk::<{ MadHeader::LEN }>() else {
            return false;
        };
        let start = match head[1] {
            class::SM_DIRECTED_ROUTE => DIRECTED_HEADER_LEN,
            class::SM_LID_ROUTED => LID_ROUTED_HEADER_LEN,
            _ => return true,
        };
        let payload = mad.get(start..).unwrap_or_default();
        let attribute = AttributeId(u16::from_be_bytes([head[16], head[17]]));
        if attribute != AttributeId::AGGREGATE {
            return has_key(attribute, payload);
        }
        let count = u32::from_be_bytes([head[20], head[21], head[22], head[23]]);
        let mut segments = segments(payload, count as usize).flatten();
        segments.any(|segment| has_key(segment.attribute, segment.data))
    }

    /// Masks the SM_Key of a datagram of subnet administration, the keys of services in it, and that of a notice that is reported.
    fn in_administration(&mut self, mad: &mut [u8]) {
        self.mask_at(mad, CLASS_AT);
        if service::is_record(mad) {
            service::each_half(mad, |half| match half.len() {
                8 => self.mask_at(half, 0),
                // A segment ends within it.
                _ => half.fill(0),
            });
        }
        if service::is_notice(mad) {
            self.in_notice(mad.get_mut(DATA_AT..).unwrap_or_default());
        }
    }

    fn in_attribute(&mut self, attribute: AttributeId, data: &mut [u8]) {
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
    pub(crate) fn in_notice(&mut self, data: &mut [u8]) {
        if Notice::decode(data).is_ok_and(|notice| notice.trap_number == BAD_M_KEY) {
            self.mask_at(data, NOTICE_M_KEY);
        }
    }
}

/// Whether an attribute may have a key that is not 0.
fn has_key(attribute: AttributeId, data: &[u8]) -> bool {
    match attribute {
        AttributeId::SM_INFO | AttributeId::NOTICE => true,
        AttributeId::PORT_INFO => {
            let mut ports = data.chunks(PORT_INFO_STRIDE);
            ports.any(|port| port.get(PORT_INFO_M_KEY..PORT_INFO_M_KEY + 8) != Some(&[0; 8]))
        }
        _ => false,
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
