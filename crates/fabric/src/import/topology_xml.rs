//! The topology file that `opareport -o topology -x` and `opaxlattopology` write, which opareport compares a
//! fabric with, and PreDefinedTopology of opafm.xml.
//!
//! It is held to what opa-fm asks of it (`TopologyValidate` of the vendor's `topology.c`): at least one cable, both
//! ends of each in `<Nodes>` and consistent with them, one cable a port, and no part that is not joined to the rest.
//! Elements about rates, MTUs and cables are skipped. `<Port>` of a node has its LIDs, for `LidStrategy` topology.

use weft_wire::enums::NodeType;
use weft_wire::id::{Guid, Lid, Lmc, PortNum};

use super::ImportError;
use super::budget::Budget;
use super::xml::{Cursor, Element, Step};
use crate::intended::{
    EndSelector, Intended, IntendedBuilder, IntendedError, IntendedNode, IntendedSm,
};

/// Largest topology file, bytes: three times that of a fabric of 27,648 hosts.
pub const TOPOLOGY_FILE_MAX: u64 = 256 << 20;

/// What the outermost element may be.
pub(super) const ROOTS: [&str; 2] = ["Topology", "Report"];

/// Reads a topology file; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// [`ImportError`] where the text is no well-formed XML of a topology, or its nodes and cables contradict each other.
pub fn import_topology(text: &[u8]) -> Result<Intended, ImportError> {
    let text = super::as_text(text);
    let text = text.trim_start_matches('\u{FEFF}');
    let mut cursor = Cursor::new(text);
    const ALLOWED: &str = "<Topology> or <Report>";
    match cursor.step()? {
        Step::Open(root) if ROOTS.contains(&root.name) => {}
        Step::Open(root) => {
            let what = format!("the document is <{}>", root.name);
            return Err(ImportError::new(root.line, what, ALLOWED));
        }
        Step::Close | Step::End => return Err(cursor.error("no element", ALLOWED)),
    }
    let mut import = Import::default();
    while let Step::Open(section) = cursor.step()? {
        match section.name {
            "Nodes" => import.nodes(&mut cursor)?,
            "LinkSummary" | "ExternalLinkSummary" => import.links(&mut cursor, &section)?,
            _ => cursor.skip()?,
        }
    }
    import.finish()
}

/// Reads a topology file whose LIDs are to be given to the fabric, none above `highest`.
///
/// # Errors
/// Those of [`import_topology`], and [`ImportError`] where a node has no LID, or one that it cannot have.
pub fn import_topology_with_lids(text: &[u8], highest: Lid) -> Result<Intended, ImportError> {
    let intended = import_topology(text)?;
    let checked = intended.check_lids(highest);
    let error = |(line, error): (u64, IntendedError)| {
        let allowed = "a LID of its own for every node, as LidStrategy topology needs";
        ImportError::new(line, error.to_string(), allowed)
    };
    checked.map_err(error)?;
    Ok(intended)
}

#[derive(Default)]
struct Import {
    builder: IntendedBuilder,
    budget: Budget,
    links: Vec<([EndSelector; 2], u64)>,
    has_links: bool,
}

impl Import {
    fn nodes(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        while let Step::Open(list) = cursor.step()? {
            let kind = match list.name {
                "FIs" => NodeType::HFI,
                "Switches" => NodeType::SWITCH,
                "SMs" => {
                    self.sms(cursor)?;
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
        self.builder.node(IntendedNode {
            guid: guid(element, "NodeGUID")?,
            description: described(element),
            node_type: kind,
            line: element.line,
        });
        self.lids(element, kind == NodeType::SWITCH)
    }

    /// LIDs of a node's end ports; those of others mean nothing.
    fn lids(&mut self, node: &Element<'_>, is_switch: bool) -> Result<(), ImportError> {
        for port in node.all("Port") {
            let number = PortNum(port.required("PortNum")?);
            let lid: Option<u32> = port.optional("LID")?;
            if let Some(lid) = lid.filter(|_| is_switch == (number.0 == 0)) {
                let lmc = Lmc(port.optional("LMC")?.unwrap_or(0));
                let added = self.builder.lids(number, Lid(lid), lmc);
                let error = |error: IntendedError| {
                    ImportError::new(port.line, error.to_string(), "one <Port> for each port")
                };
                added.map_err(error)?;
            }
        }
        Ok(())
    }

    fn sms(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        while let Some(sm) = next(cursor, "SM")? {
            self.builder.sm(IntendedSm {
                node_guid: guid(&sm, "NodeGUID")?,
                port_guid: guid(&sm, "PortGUID")?,
            });
        }
        Ok(())
    }

    fn links(&mut self, cursor: &mut Cursor<'_>, list: &Element<'_>) -> Result<(), ImportError> {
        if std::mem::replace(&mut self.has_links, true) {
            let allowed = "one <LinkSummary> or <ExternalLinkSummary>";
            return Err(ImportError::new(
                list.line,
                "a second list of links",
                allowed,
            ));
        }
        if list.name == "ExternalLinkSummary" {
            self.builder.set_external_only();
        }
        while let Some(link) = next(cursor, "Link")? {
            let ends: Vec<&Element<'_>> = link.all("Port").collect();
            let [a, b] = ends[..] else {
                let what = format!("<Link> has {} <Port>", ends.len());
                return Err(ImportError::new(link.line, what, "2"));
            };
            self.links.push(([selector(a)?, selector(b)?], link.line));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Intended, ImportError> {
        let error = |(line, error): (u64, IntendedError)| {
            ImportError::new(line, error.to_string(), "nodes and cables that fit")
        };
        self.builder.end_nodes().map_err(error)?;
        for (ends, line) in self.links {
            let added = self.builder.link(ends, line);
            added.map_err(|why| error((line, why)))?;
        }
        self.builder.build().map_err(error)
    }
}

/// The next element of a name in a list, whole; none at the list's end.
pub(super) fn next<'a>(
    cursor: &mut Cursor<'a>,
    name: &str,
) -> Result<Option<Element<'a>>, ImportError> {
    while let Step::Open(element) = cursor.step()? {
        if element.name == name {
            return cursor.content(element, &[]).map(Some);
        }
        cursor.skip()?;
    }
    Ok(None)
}

fn selector(end: &Element<'_>) -> Result<EndSelector, ImportError> {
    Ok(EndSelector {
        guid: guid(end, "NodeGUID")?,
        description: described(end),
        node_type: node_type(end)?,
        port_guid: guid(end, "PortGUID")?,
        port: PortNum(end.required("PortNum")?),
    })
}

/// A GUID; 0 is none.
fn guid(element: &Element<'_>, name: &str) -> Result<Option<Guid>, ImportError> {
    let guid = element.optional(name)?.map(Guid);
    Ok(guid.filter(|guid| *guid != Guid(0)))
}

fn described(element: &Element<'_>) -> Option<weft_wire::sm::NodeDescription> {
    let has = element.child("NodeDesc").is_some();
    has.then(|| element.description())
}

pub(super) fn node_type(end: &Element<'_>) -> Result<Option<NodeType>, ImportError> {
    if let Some(number) = end.optional("NodeType_Int")? {
        return Ok(Some(NodeType(number)));
    }
    let Some(text) = end.child("NodeType") else {
        return Ok(None);
    };
    match text.text.trim() {
        "FI" | "CA" => Ok(Some(NodeType::HFI)),
        "SW" => Ok(Some(NodeType::SWITCH)),
        other => {
            let what = format!("<NodeType> is {other:?}");
            Err(ImportError::new(text.line, what, "FI or SW"))
        }
    }
}
