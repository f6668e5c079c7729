//! What is to be forgotten, as people name it: points of nodes that may be gone.

use thiserror::Error;
use weft_fabric::{Guid, PortNum};

use super::Memory;

/// A node that is remembered, or a port of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// GUID of the node.
    pub node: Guid,
    /// The port; none for the node with all its links.
    pub port: Option<PortNum>,
}

/// Why a point names nothing that is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PointError {
    /// It is no such point.
    #[error(
        "{0:?} is no point of a node or port that may be gone; allowed: nodeguid:GUID, node:NAME, each with or without \
         :port:N, a name that holds a colon in double quotes"
    )]
    Form(String),
    /// Nothing of that name or GUID is remembered.
    #[error("nothing is remembered of {0}; `weft health` names what is missing")]
    Unknown(String),
}

impl Target {
    /// The targets of a point: `nodeguid:GUID`, `node:NAME`, each with or without `:port:N`.
    ///
    /// # Errors
    /// [`PointError`].
    pub fn parse(point: &str, memory: &Memory) -> Result<Vec<Self>, PointError> {
        let form = || PointError::Form(point.chars().take(200).collect());
        let (kind, rest) = point.split_once(':').ok_or_else(form)?;
        let (node, port) = split_port(rest).ok_or_else(form)?;
        let guids: Vec<Guid> = match kind {
            "nodeguid" => vec![guid(node).ok_or_else(form)?],
            "node" if !node.is_empty() => {
                let named = memory.nodes.iter().filter(|(_, known)| known.name == node);
                named.map(|(guid, _)| *guid).collect()
            }
            _ => return Err(form()),
        };
        let is_known = |guid: &Guid| {
            let is_of = |end: &(Guid, PortNum)| end.0 == *guid;
            let mut links = memory.links.keys();
            memory.nodes.contains_key(guid) || links.any(|(a, b)| is_of(a) || is_of(b))
        };
        let known: Vec<Self> = guids
            .into_iter()
            .filter(is_known)
            .map(|node| Self { node, port })
            .collect();
        match known.is_empty() {
            true => Err(PointError::Unknown(point.chars().take(200).collect())),
            false => Ok(known),
        }
    }
}

/// A name, which may be quoted, and the port behind it.
fn split_port(text: &str) -> Option<(&str, Option<PortNum>)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => match text.split_once(':') {
            Some((name, _)) => text.split_at(name.len()),
            None => (text, ""),
        },
    };
    match rest {
        "" => Some((name, None)),
        rest => {
            let port = rest.strip_prefix(":port:")?.parse().ok()?;
            Some((name, Some(PortNum(port))))
        }
    }
}

fn guid(text: &str) -> Option<Guid> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.ok().map(Guid)
}
