//! `<CableInfo>`: the memory of a port's cable.

use crate::cables::CableMemory;
use crate::import::ImportError;
use crate::import::xml::Element;

/// Bytes of a segment.
const SEGMENT: usize = 8;

/// A memory from its segments of eight bytes; those that are missing are zeros.
pub(super) fn read_cable(element: &Element<'_>) -> Result<CableMemory, ImportError> {
    let mut memory: CableMemory = [0; 128];
    for value in element.all("Value") {
        let segment: usize = value.numbered("Seg")?;
        let place = memory.chunks_exact_mut(SEGMENT).nth(segment);
        let place = place.ok_or_else(|| {
            let what = format!("attribute Seg of <Value> is {segment}");
            ImportError::new(value.line, what, "0 to 15")
        })?;
        place.copy_from_slice(&value.number::<u64>()?.to_be_bytes());
    }
    Ok(memory)
}
