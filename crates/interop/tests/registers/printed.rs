//! The output of opasmaquery line by line.

use std::collections::BTreeMap;

/// Values by the names of the fields.
pub(crate) type Fields = BTreeMap<String, String>;

/// Lines that repeat the request, or print bits without a meaning.
const ECHOES: [&str; 9] = [
    "Port",
    "Type",
    "BlockNum",
    "blockNum",
    "OutputPort",
    "Ingress Port",
    "Egress Port",
    "pos",
    "PortErrorAction.RcvErrorReserved",
];

/// Members whose names in the header are not those that the tool prints everywhere.
const ALIASES: [(&str, &str); 3] = [
    ("NeighborMTU", "MTUActive"),
    ("PortRcvError", "RcvError"),
    ("Control_Map", "ControlMap"),
];

/// Reads lines of the form `name..... : value`. Where the tool prints an entry of a forwarding table,
/// its name is the LID or group on the line before; where it prints a VL arbitration table, the section comes
/// first.
pub(crate) fn read(text: &str) -> Fields {
    let mut fields = Fields::new();
    let (mut entry, mut section) = (None, String::new());
    let lines = text.lines().filter_map(split);
    for (key, value) in lines.filter(|(key, _)| !ECHOES.contains(&key.as_str())) {
        match key.as_str() {
            "LID" | "PortGroup" if is_table(text) => entry = Some(format!("{key} {value}")),
            "Table Type" => section = format!("{value}."),
            _ => {
                let name = entry.take().unwrap_or(key);
                fields.insert(format!("{section}{name}"), value);
            }
        }
    }
    fields
}

/// Whether the text is of a forwarding table, whose entries are named on lines of their own.
fn is_table(text: &str) -> bool {
    ["LftBlock[", "MftBlock[", "PgftBlock[", "PortGroup."]
        .iter()
        .any(|block| text.contains(block))
}

/// A line's name and value, both in plain form; none where the line only repeats others' bits.
fn split(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(" : ")?;
    let key = plain(key.trim_end_matches('.').trim());
    (!key.contains("AsReg")).then(|| (key, number(value.trim())))
}

/// A name without the vendor's unions and bit-field structures, with plain indices, in the form that
/// both sides have.
pub(crate) fn plain(name: &str) -> String {
    let name = name.split(" (").next().unwrap_or_default();
    let parts = name.split('.').filter(|part| !is_union(part));
    let parts: Vec<String> = parts.map(plain_index).collect();
    let name = parts.join(".");
    let alias = |(header, printed): &(&str, &str)| {
        let rest = name.strip_prefix(header)?;
        Some(format!("{printed}{rest}"))
    };
    ALIASES.iter().find_map(alias).unwrap_or(name)
}

fn is_union(part: &str) -> bool {
    let rest = part.strip_prefix(['s', 'u']);
    rest.is_some_and(|digits| digits.chars().all(|digit| digit.is_ascii_digit()))
        || ["STL_VL_TO_MTU", "addr"].contains(&part)
}

/// `[07]` as `[7]`.
fn plain_index(part: &str) -> String {
    match part.split_once("[0") {
        Some((name, index)) if !index.starts_with(']') => format!("{name}[{index}"),
        _ => part.to_owned(),
    }
}

/// Numbers in hexadecimal form without leading zeros; other values as they are.
fn number(value: &str) -> String {
    let digits = value.strip_prefix("0x").map_or_else(
        || value.parse::<u64>().ok(),
        |digits| u64::from_str_radix(digits, 16).ok(),
    );
    digits.map_or_else(|| value.to_owned(), |number| format!("{number:#x}"))
}
