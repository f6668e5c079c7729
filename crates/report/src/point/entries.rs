//! Entries of a topology file that a point names, whether the fabric has them or not.

use std::collections::BTreeSet;

use weft_fabric::enums::NodeType;
use weft_fabric::expected::{ExpectedEnd, ExpectedLink};
use weft_fabric::{Guid, PortNum, hfi_port_guid};

use super::{NodeMatch, Note, Point, PortMatch};
use crate::expectations::Expectations;
use crate::names::rate_called;

/// Places of entries in a topology file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries {
    pub(crate) nodes: BTreeSet<usize>,
    pub(crate) links: BTreeSet<usize>,
    pub(crate) sms: BTreeSet<usize>,
}

impl Entries {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty() && self.sms.is_empty()
    }
}

/// What is said of a node: GUID, name and kind.
type Said<'a> = (Option<Guid>, Option<&'a str>, Option<NodeType>);

impl Point {
    /// The entries of a topology file that it names, as the vendor's tools choose them: of points about what devices report
    /// there are none.
    pub fn entries(&self, file: &Expectations) -> Entries {
        match self {
            Self::Gid { guid, .. } | Self::PortGuid(guid) => of_ends(
                file,
                |said| said.0.is_some_and(|node| is_port_of(*guid, node)),
                |end| end.port_guid == Some(*guid),
            ),
            Self::Nodes(NodeMatch::Details(pattern))
            | Self::NodePort(NodeMatch::Details(pattern), _) => Entries {
                nodes: places(&file.file.nodes, |node| {
                    let details = node.details.as_ref();
                    details.is_some_and(|details| pattern.matches(details))
                }),
                ..Entries::default()
            },
            Self::Nodes(nodes) => {
                let of = |said: Said<'_>| nodes.is_said(said);
                of_ends(file, of, |end| of(said(end)))
            }
            Self::NodePort(nodes, port) => {
                let of = |said: Said<'_>| nodes.is_said(said);
                of_ends(file, of, |end| of(said(end)) && end.port == Some(*port))
            }
            Self::Ports(PortMatch::Rate { half_gigabits }) => {
                let rate = rate_called(*half_gigabits);
                of_links(file, |link| link.rate.as_ref() == Some(&rate))
            }
            Self::Ports(PortMatch::MtuCap(mtu)) => of_links(file, |link| link.mtu == Some(*mtu)),
            Self::Noted(Note::SmDetails, pattern) => Entries {
                sms: places(&file.file.sms, |sm| {
                    let details = sm.details.as_ref();
                    details.is_some_and(|details| pattern.matches(details))
                }),
                ..Entries::default()
            },
            Self::Noted(note, pattern) => of_links(file, |link| {
                let mut texts = note.texts(link).into_iter().flatten();
                texts.any(|text| pattern.matches(text))
            }),
            Self::Lid(_)
            | Self::Ports(_)
            | Self::Sm
            | Self::Cable(_)
            | Self::Route(..)
            | Self::Pairs(_) => Entries::default(),
        }
    }
}

/// Whether a PortGUID is that of a port of a node.
fn is_port_of(port: Guid, node: Guid) -> bool {
    let ports = [1, 2].map(|number| hfi_port_guid(node, PortNum(number)));
    port == node || ports.contains(&port)
}

fn said(end: &ExpectedEnd) -> Said<'_> {
    (end.guid, end.name.as_deref(), end.node_type)
}

fn places<T>(entries: &[T], is_named: impl Fn(&T) -> bool) -> BTreeSet<usize> {
    let entries = entries.iter().enumerate();
    let named = entries.filter(|(_, entry)| is_named(entry));
    named.map(|(place, _)| place).collect()
}

/// Nodes, and subnet managers and links by their ends.
fn of_ends(
    file: &Expectations,
    node: impl Fn(Said<'_>) -> bool,
    end: impl Fn(&ExpectedEnd) -> bool,
) -> Entries {
    Entries {
        nodes: places(&file.file.nodes, |one| {
            node((one.guid, one.name.as_deref(), Some(one.node_type)))
        }),
        sms: places(&file.file.sms, |sm| end(&sm.end)),
        links: places(&file.file.links, |link| {
            link.ends.iter().flatten().any(&end)
        }),
    }
}

fn of_links(file: &Expectations, is_named: impl Fn(&ExpectedLink) -> bool) -> Entries {
    Entries {
        links: places(&file.file.links, is_named),
        ..Entries::default()
    }
}

impl Note {
    /// What a file says of a link or its ends.
    fn texts(self, link: &ExpectedLink) -> [Option<&String>; 2] {
        match self {
            Self::CableLabel => [link.cable.label.as_ref(), None],
            Self::CableLength => [link.cable.length.as_ref(), None],
            Self::CableDetails => [link.cable.details.as_ref(), None],
            Self::LinkDetails => [link.details.as_ref(), None],
            Self::PortDetails => link
                .ends
                .each_ref()
                .map(|end| end.as_ref()?.details.as_ref()),
            Self::SmDetails => [None, None],
        }
    }
}

impl NodeMatch {
    /// Whether a node of which this is said is one of them.
    fn is_said(&self, (guid, name, kind): Said<'_>) -> bool {
        match self {
            Self::Guid(wanted) => guid == Some(*wanted),
            Self::Name(wanted) => name == Some(wanted),
            Self::Pattern(pattern) => name.is_some_and(|name| pattern.matches(name)),
            Self::Patterns(all) => {
                name.is_some_and(|name| all.iter().any(|pattern| pattern.matches(name)))
            }
            Self::Type { switch } => kind.is_some_and(|kind| (kind == NodeType::SWITCH) == *switch),
            Self::Lid(_) | Self::System(_) | Self::Details(_) => false,
        }
    }
}
