//! Cable memories.

use weft_fabric::PortRef;
use weft_wire::sa::CableInfoRecord;
use weft_wire::sm::CableInfo;

use super::nodes::nodes_of;
use crate::cables::{CABLE_MEMORY, CableMemory};
use crate::sa::Sa;
use crate::sa::query::{Found, Query, Records, Refusal};

/// Components that say which bytes are wanted.
const LENGTH: u32 = 2;
const ADDRESS: u32 = 4;

/// Requested bytes of a memory.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    first: u16,
    last: u16,
}

/// The bytes that a query names, of each cable that is known, up to 64 in a record.
pub(crate) fn cables(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let asked: CableInfoRecord = query.record()?;
    if !(query.has(LENGTH) && query.has(ADDRESS)) {
        return Err(Refusal::TOO_LITTLE);
    }
    let wanted = Wanted {
        first: asked.address,
        last: asked.address.saturating_add(asked.length.into()),
    };
    if !CABLE_MEMORY.contains(&wanted.first) || !CABLE_MEMORY.contains(&wanted.last) {
        return Err(Refusal::INVALID);
    }
    let mut records = Records::except::<CableInfoRecord>(query, 1 << LENGTH | 1 << ADDRESS);
    let end = query
        .lid()
        .and_then(|lid| sa.view.end(sa.view.by_lid(lid)?));
    if let Some(end) = end {
        records.want(0, &end.lid.0.to_be_bytes());
    }
    for (id, node) in nodes_of(&sa.view, query) {
        for (port, held) in node.external_ports() {
            let at = PortRef { node: id, port };
            let known = sa.cables.get(node.guid(), port);
            if let Some((memory, lid)) = known.zip(sa.view.lid_of(at)) {
                let record = CableInfoRecord {
                    lid,
                    port,
                    port_type: held.info.port_type,
                    ..CableInfoRecord::default()
                };
                tell(memory, wanted, &record, &mut records);
            }
        }
    }
    records.finish()
}

fn tell(memory: &CableMemory, wanted: Wanted, head: &CableInfoRecord, records: &mut Records) {
    let start = usize::from(wanted.first - CABLE_MEMORY.start());
    let end = usize::from(wanted.last - CABLE_MEMORY.start());
    let bytes = memory.get(start..=end).unwrap_or_default();
    let parts = bytes.chunks(usize::from(CableInfo::MAX_LEN));
    for (part, address) in parts.zip((wanted.first..).step_by(usize::from(CableInfo::MAX_LEN))) {
        let mut record = CableInfoRecord {
            address,
            length: (part.len() - 1) as u8,
            ..*head
        };
        let to = record.data.iter_mut().zip(part);
        to.for_each(|(to, from)| *to = *from);
        records.push(&record);
    }
}
