//! Whole datagrams as text: [`summary`] in a line, [`dump`] in full. Both take any bytes.

mod general;
mod hex;
mod names;
mod sm;

use std::fmt::Write;

use crate::header::{MadHeader, class, status, version};
use crate::layout::Layout;
use crate::sm::AttributeId;
use crate::sm::modifier::Modifier;

/// The datagram in one line: class, method, attribute and where, status, transaction.
pub fn summary(mad: &[u8]) -> String {
    let header = match MadHeader::decode(mad) {
        Ok(header) => header,
        Err(error) => return format!("no datagram: {error}"),
    };
    let mut line = format!(
        "{} {} {}{}",
        names::class(header.mgmt_class),
        names::method(header.method),
        names::attribute(header.mgmt_class, header.attribute_id),
        place(&header),
    );
    match status::code(header.status) {
        status::OK => {}
        code => line += &format!(" status {code:#06x} ({})", names::status(code)),
    }
    if header.mgmt_class == class::SM_DIRECTED_ROUTE {
        let way = if header.status & status::DIRECTION == 0 {
            "out"
        } else {
            "back"
        };
        line += &format!(" {way} hop {}/{}", header.hop_pointer, header.hop_count);
    }
    line + &format!(" tid {:#x} {} bytes", header.transaction_id, mad.len())
}

/// Describes a modifier; empty if it means nothing.
fn place(header: &MadHeader) -> String {
    match (header.attribute_modifier, class::is_sm(header.mgmt_class)) {
        (0, _) => String::new(),
        (bits, true) => format!(" {}", modifier(AttributeId(header.attribute_id), bits)),
        (bits, false) => format!(" [{bits:#x}]"),
    }
}

/// A modifier's fields that are not zero, in brackets.
fn modifier(attribute: AttributeId, bits: u32) -> String {
    let text = match Modifier::decode(attribute, bits) {
        Modifier::Plain(bits) => return format!("[{bits:#x}]"),
        Modifier::Port(value) => value.to_string(),
        Modifier::ScVl(value) => value.to_string(),
        Modifier::PKey(value) => value.to_string(),
        Modifier::VlArb(value) => value.to_string(),
        Modifier::Block(value) => value.to_string(),
        Modifier::Multicast(value) => value.to_string(),
        Modifier::PortGroup(value) => value.to_string(),
        Modifier::ScSc(value) => value.to_string(),
        Modifier::CableInfo(value) => value.to_string(),
        Modifier::Cct(value) => value.to_string(),
        Modifier::Count(value) => value.to_string(),
        Modifier::Aggregate(value) => value.to_string(),
    };
    let fields = text.lines().skip(1).map(str::trim);
    let said: Vec<&str> = fields
        .filter(|field| !field.ends_with(": 0") && !field.ends_with(": false"))
        .collect();
    format!("[{}]", said.join(", "))
}

/// The full datagram: the summary, then headers and content, one field per line.
///
/// Undecodable content is shown in hexadecimal, with the reason.
pub fn dump(mad: &[u8]) -> String {
    let mut out = summary(mad);
    out.push('\n');
    let Ok(header) = MadHeader::decode(mad) else {
        hex::write(mad, &mut out);
        return out;
    };
    let _ = write!(out, "{header}");
    match header.mgmt_class {
        _ if header.base_version != version::OPA && header.mgmt_class != class::SUBN_ADM => {
            hex::write(mad.get(MadHeader::LEN..).unwrap_or_default(), &mut out);
        }
        class::SM_LID_ROUTED | class::SM_DIRECTED_ROUTE => sm::write(mad, &mut out),
        class::PERF => general::write_performance(&header, mad, &mut out),
        class::SUBN_ADM | class::PA => general::write_administration(&header, mad, &mut out),
        _ => hex::write(mad.get(MadHeader::LEN..).unwrap_or_default(), &mut out),
    }
    out
}

/// Adds `text`, each line `indent` spaces further to the right.
fn push_indented(text: &str, indent: usize, out: &mut String) {
    for line in text.lines() {
        let _ = writeln!(out, "{:indent$}{line}", "");
    }
}
