//! Transfers as bytes: what may have a key that protects the fabric is written as a datagram, in which keys are masked.

use std::sync::Arc;

use weft_state::{Reader, State, StateError, Writer};

use super::{DATA_AT, Envelope, RmppHeader};
use crate::header::{MadHeader, class};
use crate::layout::Layout;
use crate::rmpp::CLASS_AT;
use crate::sa::attribute;

/// Written as a datagram without data.
impl State for Envelope {
    fn write(&self, to: &mut Writer<'_>) {
        write_message(self, &[], to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mad = Vec::<u8>::read(from)?;
        let class = mad
            .get(CLASS_AT..DATA_AT)
            .and_then(|class| class.try_into().ok());
        match (MadHeader::decode(&mad), class) {
            (Ok(mad), Some(class)) => Ok(Self { mad, class }),
            _ => Err(from.wrong("headers are cut")),
        }
    }
}

/// Writes a message as one datagram.
pub(super) fn write_message(envelope: &Envelope, data: &[u8], to: &mut Writer<'_>) {
    let mut mad = Vec::new();
    envelope.write(&RmppHeader::default(), data, &mut mad);
    to.datagram(&mad);
}

/// The data of a message.
pub(super) fn read_message(from: &mut Reader<'_>) -> Result<Vec<u8>, StateError> {
    let mut mad = Vec::<u8>::read(from)?;
    match mad.len() < DATA_AT {
        true => Err(from.wrong("a message is shorter than its headers")),
        false => Ok(mad.split_off(DATA_AT)),
    }
}

/// Writes an answer: tables are shared by those who get the same, but those that have keys.
pub(super) fn write_answer(envelope: &Envelope, data: &Arc<Vec<u8>>, to: &mut Writer<'_>) {
    match has_keys(envelope) {
        true => write_message(envelope, data, to),
        false => data.write(to),
    }
}

/// Reads one.
pub(super) fn read_answer(
    envelope: &Envelope,
    from: &mut Reader<'_>,
) -> Result<Arc<Vec<u8>>, StateError> {
    match has_keys(envelope) {
        true => read_message(from).map(Arc::new),
        false => State::read(from),
    }
}

/// Whether records of subnet administration may have keys.
fn has_keys(envelope: &Envelope) -> bool {
    let attribute = envelope.mad.attribute_id;
    envelope.mad.mgmt_class == class::SUBN_ADM
        && [attribute::SERVICE_RECORD, attribute::NOTICE].contains(&attribute)
}
