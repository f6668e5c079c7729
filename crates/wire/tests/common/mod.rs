//! tshark, Wireshark's dissector on the command line (Debian: `tshark`), which checks captures.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// tshark's dissection of one packet: for each field its values, in order, in
/// hexadecimal as they are in the packet, bit ranges shifted to the right.
#[derive(Debug, Default)]
pub(crate) struct Dissected {
    /// Values by field name.
    pub(crate) fields: BTreeMap<String, Vec<String>>,
}

impl Dissected {
    /// Whether tshark found the packet malformed or too short.
    pub(crate) fn is_malformed(&self) -> bool {
        ["_ws.malformed", "_ws.short"]
            .iter()
            .any(|name| self.fields.contains_key(*name))
    }

    /// The values of a field, none when it is not there.
    pub(crate) fn values(&self, name: &str) -> &[String] {
        self.fields.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Dissects `capture` with tshark, through the file `path`, if tshark is installed.
pub(crate) fn dissect(capture: &[u8], path: &Path) -> Option<Vec<Dissected>> {
    std::fs::write(path, capture).unwrap();
    let mut tshark = Command::new("tshark");
    let output = weft_peers::output(tshark.arg("-r").arg(path).args(["-T", "pdml"]))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark fails: {errors}");
    Some(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads PDML, which has one element a line.
fn parse(pdml: &str) -> Vec<Dissected> {
    let mut packets = Vec::new();
    for line in pdml.lines().map(str::trim) {
        if line.starts_with("<packet>") {
            packets.push(Dissected::default());
        }
        let (Some(packet), Some(name)) = (packets.last_mut(), attribute(line, "name")) else {
            continue;
        };
        let value = attribute(line, "value").unwrap_or_default();
        packet
            .fields
            .entry(name.to_owned())
            .or_default()
            .push(value.to_owned());
    }
    packets
}

/// The value of an element's attribute.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}
