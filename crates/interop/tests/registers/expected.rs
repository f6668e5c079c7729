//! Content of a register structure, by the vendor's names of its fields.

use std::net::{Ipv4Addr, Ipv6Addr};

use weft_wire::bits::load;
use weft_wire::{FieldLayout, Layout};

use crate::printed::{Fields, plain};

/// Members that the tool does not print.
const UNPRINTED: [&str; 6] = [
    "MaxLID",
    "ReplayDepthH.BufferDepthH",
    "ReplayDepthH.WireDepthH",
    "CollectiveCap",
    "CollectiveTop",
    "CapabilityMaskCollectives.AsReg16",
];
/// Values for which it prints words.
const WORDS: [(&str, &str, &str); 3] = [
    ("NodeType", "0x1", "FI"),
    ("NodeType", "0x2", "SW"),
    ("CapabilityMask3.VLSchedulingConfig", "0x0", "VLArb"),
];

/// The fields of a structure; arrays element by element.
pub(crate) fn fields<T: Layout>(registers: &T) -> Fields {
    let mut fields = Fields::new();
    add(&mut fields, "", T::FIELDS, &registers.to_bytes());
    fields.retain(|name, _| !UNPRINTED.contains(&name.as_str()));
    fields.into_iter().map(as_printed).collect()
}

fn as_printed((name, value): (String, String)) -> (String, String) {
    let known = |(field, number, _): &&(&str, &str, &str)| *field == name && *number == value;
    let word = WORDS.iter().find(known).map(|(_, _, word)| *word);
    (name, word.map_or(value, str::to_owned))
}

fn add(fields: &mut Fields, prefix: &str, layout: &[FieldLayout], bytes: &[u8]) {
    for field in layout {
        let name = format!("{prefix}{}", plain(field.vendor));
        let content = &bytes[field.offset..field.offset + field.width];
        let size = field.width / field.count;
        match (field.count, field.parts) {
            _ if text(&name, content).is_some() => {
                fields.extend(text(&name, content).map(|text| (name, text)));
            }
            (1, []) => {
                fields.insert(name, hex(field, content));
            }
            (1, parts) => add(fields, &format!("{name}."), parts, content),
            (_, []) => fields.extend(
                content
                    .chunks(size)
                    .enumerate()
                    .map(|(index, element)| (format!("{name}[{index}]"), hex(field, element))),
            ),
            (_, parts) => {
                for (index, element) in content.chunks(size).enumerate() {
                    add(fields, &format!("{name}[{index}]."), parts, element);
                }
            }
        }
    }
}

/// Fields printed as text: addresses, and masks of 256 ports in four words.
fn text(name: &str, bytes: &[u8]) -> Option<String> {
    if name.ends_with("IPV6") {
        return Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).to_string());
    }
    if name.ends_with("IPV4") {
        return Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).unwrap()).to_string());
    }
    let words = || {
        bytes
            .chunks(8)
            .map(|word| format!("{:016x}", load(word, 0, 8)))
    };
    name.ends_with("_Mask")
        .then(|| words().collect::<Vec<_>>().join(" "))
}

/// The bits of one register in hexadecimal form.
fn hex(field: &FieldLayout, bytes: &[u8]) -> String {
    let register = load(bytes, 0, bytes.len());
    let value = field.bits.map_or(register, |(first, last)| {
        register >> last & (u64::MAX >> (63 - (first - last)))
    });
    format!("{value:#x}")
}

/// Numbers by names, in hexadecimal form.
pub(crate) fn numbers(named: impl IntoIterator<Item = (String, u64)>) -> Fields {
    let named = named.into_iter();
    named
        .map(|(name, value)| (name, format!("{value:#x}")))
        .collect()
}
