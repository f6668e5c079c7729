//! Everything that PortInfo says of a port, as the vendor's tools print it in detail.

mod text;
mod words;
mod xml;

use weft_fabric::Lid;

pub(crate) use text::{is_outdented, lines};
pub(crate) use xml::write_xml;

/// VLs of a port.
const VLS: u8 = 32;
/// Bytes of a flit.
const FLIT: u64 = 8;
/// The LID that every port takes.
const PERMISSIVE: Lid = Lid(u32::MAX);
/// Longest head-of-queue lifetime that is one.
const HOQ_LIFE_MAX: u8 = 19;
