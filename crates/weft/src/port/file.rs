//! Ports and links of a file as the vendor's tools write and read it.
//!
//! A line is `GUID;PORT;TYPE;NAME`, or that for both ends of a link, and a reason. opaextractsellinks,
//! opaextractbadlinks and opaextractmissinglinks write links, opadisableports keeps links with reasons, and
//! opaenableports and opaledports read either.

use std::collections::BTreeSet;
use std::path::Path;

use weft_api::v1;
use weft_fabric::{Guid, Snapshot};

use super::change::Target;
use crate::connect::Session;
use crate::error::CliError;
use crate::output;

/// Most bytes of a file.
const BYTES_MAX: usize = 4 << 20;
/// Most ports of a file, as the daemon takes them in one call.
const PORTS_MAX: usize = 4096;

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    number: usize,
    near: End,
    far: Option<End>,
    reason: String,
}

/// One end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    /// None where the line leaves it to the name.
    guid: Option<u64>,
    port: u32,
    is_switch: bool,
    name: String,
}

/// The lines of a file, `-` for standard input.
///
/// # Errors
/// That it cannot be read, or what is wrong in which line.
pub(super) fn read(file: &Path) -> Result<Vec<Line>, CliError> {
    let wrong = |why: String| CliError::Content {
        file: file.to_owned(),
        why,
    };
    let bytes = output::read(file)?;
    if bytes.len() > BYTES_MAX {
        let most = BYTES_MAX >> 20;
        return Err(wrong(format!(
            "{} bytes, at most {most} MiB are read",
            bytes.len()
        )));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is no UTF-8 text".to_owned()))?;
    let lines = parse(&text).map_err(wrong)?;
    match lines.is_empty() {
        true => Err(wrong("it names no port".to_owned())),
        false => Ok(lines),
    }
}

fn parse(text: &str) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let fields: Vec<&str> = line.trim_end_matches('\r').split(';').collect();
        // Empty lines, and the headers of opaxmlextract without -H.
        if line.trim().is_empty() || fields[0].ends_with("NodeGUID") {
            continue;
        }
        lines.push(parse_line(number, &fields).map_err(|why| format!("line {number}: {why}"))?);
        if lines.len() > PORTS_MAX {
            return Err(format!("more than {PORTS_MAX} lines, which is the most"));
        }
    }
    Ok(lines)
}

fn parse_line(number: usize, fields: &[&str]) -> Result<Line, String> {
    let near = match fields {
        [guid, port, kind, name, ..] => end(1, [guid, port, kind, name])?,
        _ => {
            return Err(format!(
                "{} fields, expected GUID;PORT;TYPE;NAME, once or twice, and a reason",
                fields.len()
            ));
        }
    };
    let (far, rest) = match fields[4..] {
        [guid, port, kind, name, ref rest @ ..] if is_kind(kind) => {
            (Some(end(5, [guid, port, kind, name])?), rest)
        }
        ref rest => (None, rest),
    };
    let reasons = rest.iter().map(|reason| reason.trim());
    let reasons: Vec<&str> = reasons.filter(|reason| !reason.is_empty()).collect();
    Ok(Line {
        number,
        near,
        far,
        reason: reasons.join("; "),
    })
}

fn is_kind(text: &str) -> bool {
    ["SW", "FI"].contains(&text)
}

/// One end of a line, whose first field has this number.
fn end(first: usize, [guid, port, kind, name]: [&str; 4]) -> Result<End, String> {
    let number = match guid.trim() {
        "" if name.is_empty() => {
            return Err(format!("field {first}: neither a GUID nor a name"));
        }
        "" => None,
        text => {
            let digits = text.strip_prefix("0x").unwrap_or_default();
            let parsed = u64::from_str_radix(digits, 16);
            Some(parsed.map_err(|_| {
                format!("field {first}: '{text}' is no GUID, expected 0x and up to 16 digits")
            })?)
        }
    };
    let parsed = port.trim().parse::<u8>();
    let port = parsed.map_err(|_| {
        let field = first + 1;
        format!("field {field}: '{port}' is no port, expected 0 to 255")
    })?;
    if !is_kind(kind) {
        let field = first + 2;
        return Err(format!(
            "field {field}: '{kind}' is no type of a node, expected SW or FI"
        ));
    }
    Ok(End {
        guid: number,
        port: u32::from(port),
        is_switch: kind == "SW",
        name: name.to_owned(),
    })
}

/// The ports of lines: of a link the switch's where it leads to a host, else the first one; beacons of both.
pub(super) async fn ports(
    session: &Session,
    lines: &[Line],
    action: v1::PortAction,
) -> Result<Vec<Target>, CliError> {
    let needs_names = lines
        .iter()
        .flat_map(|line| [Some(&line.near), line.far.as_ref()])
        .flatten()
        .any(|end| end.guid.is_none());
    let snapshot = match needs_names {
        true => Some(session.snapshot().await?),
        false => None,
    };
    let mut ports: Vec<Target> = Vec::new();
    let mut seen = BTreeSet::new();
    for line in lines {
        for end in line.ends(action) {
            let port = end.id(snapshot.as_ref(), line.number)?;
            // Several lines may name one port.
            if seen.insert((port.node_guid, port.port)) {
                ports.push(Target {
                    port,
                    name: end.name.clone(),
                    reason: line.reason.clone(),
                });
            }
        }
    }
    Ok(ports)
}

impl Line {
    fn ends(&self, action: v1::PortAction) -> Vec<&End> {
        let is_led = matches!(action, v1::PortAction::LedOn | v1::PortAction::LedOff);
        match &self.far {
            Some(far) if is_led => vec![&self.near, far],
            Some(far) if far.is_switch && !self.near.is_switch => vec![far],
            _ => vec![&self.near],
        }
    }
}

impl End {
    fn id(&self, snapshot: Option<&Snapshot>, line: usize) -> Result<v1::PortId, CliError> {
        let of_name = || {
            let nodes = snapshot?.topology.nodes();
            let mut named = nodes.filter(|(_, node)| node.name() == self.name);
            match (named.next(), named.next()) {
                (Some((_, node)), None) => Some(node.guid()),
                _ => None,
            }
        };
        let guid = self.guid.map(Guid).or_else(of_name);
        let guid = guid.ok_or_else(|| {
            let name = &self.name;
            CliError::Refused(format!(
                "line {line}: it has no GUID, and the fabric has no node '{name}', or several"
            ))
        })?;
        Ok(v1::PortId {
            node_guid: guid.0,
            port: self.port,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_tools_are_read() {
        let text = "0x00117501020e0001;47;SW;edge1;0x00117501020c0001;1;SW;core1\n\
                    0x0011750101000011;1;FI;node1 hfi1_0;0x00117501020e0001;1;SW;edge1;bad server;again\r\n\
                    \n0x0011750101000012;1;FI;node2 hfi1_0\n\
                    ;3;SW;edge2;;1;FI;node7 hfi1_0\n\
                    0x00117501020e0001;0;SW;edge1;0x0005\n";
        let lines = parse(text).unwrap();
        let told: Vec<(Option<u64>, u32, bool, &str)> = lines
            .iter()
            .map(|line| {
                (
                    line.near.guid,
                    line.near.port,
                    line.far.is_some(),
                    &line.reason[..],
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (Some(0x0011_7501_020E_0001), 47, true, ""),
                (Some(0x0011_7501_0100_0011), 1, true, "bad server; again"),
                (Some(0x0011_7501_0100_0012), 1, false, ""),
                (None, 3, true, ""),
                (Some(0x0011_7501_020E_0001), 0, false, "0x0005"),
            ]
        );
        let host = &lines[1];
        let ends = |action| -> Vec<&str> {
            let ends = host.ends(action).into_iter();
            ends.map(|end| &end.name[..]).collect()
        };
        assert_eq!(ends(v1::PortAction::Disable), ["edge1"]);
        assert_eq!(ends(v1::PortAction::LedOn), ["node1 hfi1_0", "edge1"]);
    }

    #[test]
    fn what_is_wrong_is_told_by_line_and_field() {
        for (text, expected) in [
            ("0x1;2;SW", "line 1: 3 fields, expected GUID;PORT;TYPE;NAME"),
            ("\n11;2;SW;a", "line 2: field 1: '11' is no GUID"),
            (
                "0x1;256;SW;a",
                "field 2: '256' is no port, expected 0 to 255",
            ),
            ("0x1;2;CA;a", "field 3: 'CA' is no type of a node"),
            ("0x1;2;SW;a;0xg;1;FI;b", "field 5: '0xg' is no GUID"),
            (";2;SW;", "field 1: neither a GUID nor a name"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
        let many = "0x1;2;SW;a\n".repeat(PORTS_MAX + 1);
        assert!(parse(&many).unwrap_err().contains("more than 4096 lines"));
    }
}
