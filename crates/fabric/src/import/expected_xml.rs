//! The topology file of `opareport -T`, read as loosely as opareport does.

use weft_wire::enums::{Mtu, NodeType};
use weft_wire::id::{Guid, PortNum};

use super::ImportError;
use super::budget::Budget;
use super::topology_xml::{ROOTS, next, node_type};
use super::xml::{Cursor, Element, Step};
use crate::expected::{
    Expected, ExpectedCable, ExpectedEnd, ExpectedLink, ExpectedNode, ExpectedSm,
};
use crate::export::escape_name;

/// Rates of links as the vendor's tools call them, with their codes.
const RATES: [(&str, u8); 6] = [
    ("37.5g", 7),
    ("75g", 9),
    ("12.5g", 11),
    ("50g", 12),
    ("25g", 15),
    ("100g", 16),
];

/// Reads a topology file; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// [`ImportError`] where the text is no well-formed XML of a topology, or holds something that is no number where one
/// is needed.
pub fn import_expected(text: &[u8]) -> Result<Expected, ImportError> {
    let text = super::as_text(text);
    let text = text.trim_start_matches('\u{FEFF}');
    let mut cursor = Cursor::new(text);
    match cursor.step()? {
        Step::Open(root) if ROOTS.contains(&root.name) => {}
        _ => return Err(cursor.error("another document", "<Topology> or <Report>")),
    }
    let mut import = Import::default();
    while let Step::Open(section) = cursor.step()? {
        match section.name {
            "Nodes" => import.nodes(&mut cursor)?,
            "LinkSummary" | "ExternalLinkSummary" => import.links(&mut cursor, &section)?,
            _ => cursor.skip()?,
        }
    }
    Ok(import.expected)
}

#[derive(Default)]
struct Import {
    expected: Expected,
    budget: Budget,
}

impl Import {
    fn nodes(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        self.expected.has_nodes = true;
        while let Step::Open(list) = cursor.step()? {
            let kind = match list.name {
                "FIs" => NodeType::HFI,
                "Switches" => NodeType::SWITCH,
                "SMs" => {
                    while let Some(sm) = next(cursor, "SM")? {
                        self.sm(&sm)?;
                    }
                    continue;
                }
                _ => {
                    cursor.skip()?;
                    continue;
                }
            };
            while let Some(node) = next(cursor, "Node")? {
                self.node(&node, kind)?;
            }
        }
        Ok(())
    }

    fn node(&mut self, element: &Element<'_>, kind: NodeType) -> Result<(), ImportError> {
        match kind {
            NodeType::SWITCH => self.budget.switch(element.line, 0)?,
            _ => self.budget.host(element.line)?,
        }
        self.expected.nodes.push(ExpectedNode {
            guid: guid(element, "NodeGUID")?,
            name: name(element),
            node_type: kind,
            details: text(element, "NodeDetails"),
            line: element.line,
        });
        Ok(())
    }

    fn sm(&mut self, element: &Element<'_>) -> Result<(), ImportError> {
        self.budget.host(element.line)?;
        self.expected.sms.push(ExpectedSm {
            end: end(element)?,
            details: text(element, "SMDetails"),
            line: element.line,
        });
        Ok(())
    }

    fn links(&mut self, cursor: &mut Cursor<'_>, list: &Element<'_>) -> Result<(), ImportError> {
        if std::mem::replace(&mut self.expected.has_links, true) {
            let allowed = "one <LinkSummary> or <ExternalLinkSummary>";
            return Err(ImportError::new(
                list.line,
                "a second list of links",
                allowed,
            ));
        }
        while let Some(link) = next(cursor, "Link")? {
            self.link(&link)?;
        }
        Ok(())
    }

    fn link(&mut self, element: &Element<'_>) -> Result<(), ImportError> {
        let mut ends = element.all("Port");
        let mut one = || ends.next().map(end).transpose();
        let ends = [one()?, one()?];
        let internal: Option<u8> = element.optional("Internal")?;
        let cable = element.child("Cable");
        let of_cable = |tag| cable.and_then(|cable| text(cable, tag));
        self.expected.links.push(ExpectedLink {
            rate: rate(element)?,
            mtu: mtu(element)?,
            internal: internal.unwrap_or(0) != 0,
            details: text(element, "LinkDetails"),
            cable: ExpectedCable {
                label: of_cable("CableLabel"),
                length: of_cable("CableLength"),
                details: of_cable("CableDetails"),
            },
            ends,
            line: element.line,
        });
        Ok(())
    }
}

fn end(element: &Element<'_>) -> Result<ExpectedEnd, ImportError> {
    Ok(ExpectedEnd {
        guid: guid(element, "NodeGUID")?,
        port_guid: guid(element, "PortGUID")?,
        port: element.optional("PortNum")?.map(PortNum),
        name: name(element),
        node_type: node_type(element)?,
        details: text(element, "PortDetails"),
    })
}

/// A GUID; 0 is none.
fn guid(element: &Element<'_>, tag: &str) -> Result<Option<Guid>, ImportError> {
    let guid = element.optional(tag)?.map(Guid);
    Ok(guid.filter(|guid| *guid != Guid(0)))
}

fn name(element: &Element<'_>) -> Option<String> {
    element.child("NodeDesc")?;
    let name = escape_name(element.description().bytes());
    (!name.is_empty()).then_some(name)
}

fn text(element: &Element<'_>, tag: &str) -> Option<String> {
    let text = element.child(tag)?.text.to_string();
    (!text.is_empty()).then_some(text)
}

fn rate(element: &Element<'_>) -> Result<Option<String>, ImportError> {
    if let Some(code) = element.optional::<u8>("Rate_Int")? {
        let known = RATES.iter().find(|(_, known)| *known == code);
        return Ok(known.map(|(rate, _)| (*rate).to_owned()));
    }
    let Some(text) = element.child("Rate") else {
        return Ok(None);
    };
    let given = text.text.trim().to_ascii_lowercase();
    let known = RATES
        .iter()
        .find(|(rate, _)| given == *rate || rate.strip_suffix('g') == Some(&given));
    match known {
        Some((rate, _)) => Ok(Some((*rate).to_owned())),
        None => Err(ImportError::new(
            text.line,
            format!("<Rate> is {:?}", text.text.trim()),
            "12.5g, 25g, 37.5g, 50g, 75g, 100g",
        )),
    }
}

fn mtu(element: &Element<'_>) -> Result<Option<Mtu>, ImportError> {
    let Some(bytes) = element.optional::<u32>("MTU")? else {
        return Ok(None);
    };
    let code = (1..=7).map(Mtu).find(|mtu| mtu.bytes() == bytes);
    match code {
        Some(code) => Ok(Some(code)),
        None if bytes == 0 => Ok(None),
        None => Err(ImportError::new(
            element.line_of("MTU"),
            format!("<MTU> is {bytes}"),
            "256, 512, 1024, 2048, 4096, 8192, 10240",
        )),
    }
}
