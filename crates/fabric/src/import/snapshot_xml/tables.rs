//! Forwarding tables of `<SwitchData>`.

use weft_wire::id::PortNum;

use super::administration::mlid;
use crate::import::ImportError;
use crate::import::xml::Element;
use crate::multicast::FIRST_MLID;
use crate::tables::{PortMask, SwitchPortGroups, UNREACHABLE};

/// Most entries of a forwarding table.
const FDB_MAX: u32 = 1 << 20;
/// Most groups of a PortGroup table: a group's number has eight bits and 255 is none.
const GROUPS_MAX: u32 = 256;

/// `<LinearFDB>` or `<PortGroupFDB>` with the size in `<…Size>`.
pub(super) fn read_fdb(data: &Element<'_>, name: &str) -> Result<Vec<u8>, ImportError> {
    let size = read_size(data, &format!("{name}Size"), FDB_MAX)?;
    let mut row = vec![UNREACHABLE; size];
    for value in data.child(name).iter().flat_map(|table| table.all("Value")) {
        let lid: u32 = value.numbered("LID")?;
        let entry = row.get_mut(lid as usize).ok_or_else(|| {
            let what = format!("an entry for LID {lid:#x} of a table of {size}");
            ImportError::new(value.line, what, "LIDs below the size")
        })?;
        *entry = value.number()?;
    }
    Ok(row)
}

/// `<MulticastFDB>`; the size in `<MulticastFDBSize>` is one more than the last multicast LID.
pub(super) fn read_multicast(data: &Element<'_>) -> Result<Vec<PortMask>, ImportError> {
    let size: u32 = data.optional("MulticastFDBSize")?.unwrap_or(0);
    let entries = match size {
        0 => 0,
        size => mlid(size - 1).map_or(0, |last| last.0 - FIRST_MLID + 1),
    };
    let mut row = vec![PortMask::EMPTY; entries as usize];
    let table = data.child("MulticastFDB");
    for value in table.iter().flat_map(|table| table.all("Value")) {
        let lid: u32 = value.numbered("LID")?;
        let entry = mlid(lid).map(|lid| (lid.0 - FIRST_MLID) as usize);
        let ports = entry.and_then(|entry| row.get_mut(entry)).ok_or_else(|| {
            let what = format!("an entry for LID {lid:#x} of a multicast table of size {size:#x}");
            ImportError::new(value.line, what, "multicast LIDs below the size")
        })?;
        let position = match value.attribute("pos") {
            Some(_) => value.numbered("pos")?,
            None => 0,
        };
        if position > 3 {
            let what = format!("attribute pos of <Value> is {position}");
            return Err(ImportError::new(value.line, what, "0 to 3"));
        }
        ports.set_word(position, value.number()?);
    }
    Ok(row)
}

fn read_size(data: &Element<'_>, name: &str, max: u32) -> Result<usize, ImportError> {
    let size: u32 = data.optional(name)?.unwrap_or(0);
    if size > max {
        let line = data.line_of(name);
        let what = format!("<{name}> is {size}");
        return Err(ImportError::new(line, what, format!("0 to {max}")));
    }
    Ok(size as usize)
}

/// Groups up to the last that is listed: the size is that of the hardware's table.
pub(super) fn read_groups(data: &Element<'_>) -> Result<SwitchPortGroups, ImportError> {
    let size = read_size(data, "PortGroupSize", GROUPS_MAX)?;
    let mut groups = Vec::new();
    let elements = data.child("PortGroupElements");
    for value in elements.iter().flat_map(|table| table.all("Value")) {
        let number: u32 = value.numbered("PortGroupNumber")?;
        if number as usize >= size {
            let what = format!("group {number} of a table of {size}");
            return Err(ImportError::new(value.line, what, "groups below the size"));
        }
        let bits: u64 = value.number()?;
        if groups.len() <= number as usize {
            groups.resize(number as usize + 1, PortMask::EMPTY);
        }
        groups[number as usize] = (0..64)
            .filter(|bit| bits >> bit & 1 == 1)
            .map(|bit| PortNum(bit + 1))
            .collect();
    }
    let fdb = if groups.is_empty() {
        Vec::new()
    } else {
        read_fdb(data, "PortGroupFDB")?
    };
    Ok(SwitchPortGroups { groups, fdb })
}
