//! Differences of a fabric from a topology file.

use weft_fabric::intended::{Cable, Difference, End, NodeName};

use crate::v1::{self, TopologyDifferenceKind as Kind};

impl From<Difference> for v1::TopologyDifference {
    fn from(difference: Difference) -> Self {
        let text = difference.to_string();
        let mut message = Self {
            text,
            ..Self::default()
        };
        let kind = match difference {
            Difference::MissingNode { node, at } => {
                message.intended_node = Some(node.into());
                message.at = at.map(Into::into);
                Kind::MissingNode
            }
            Difference::UnexpectedNode { node, at } => {
                message.found_node = Some(node.into());
                message.at = at.map(Into::into);
                Kind::UnexpectedNode
            }
            Difference::ReplacedNode {
                intended,
                found,
                at,
            } => {
                message.intended_node = Some(intended.into());
                message.found_node = Some(found.into());
                message.at = at.map(Into::into);
                Kind::ReplacedNode
            }
            Difference::Description { intended, found } => {
                message.intended_node = Some(intended.into());
                message.found_node = Some(found.into());
                Kind::Description
            }
            Difference::PortGuid { port, .. } => {
                message.at = Some(port.into());
                Kind::PortGuid
            }
            Difference::MissingLink { intended } => {
                message.intended_links = vec![intended.into()];
                Kind::MissingLink
            }
            Difference::UnexpectedLink { found } => {
                message.found_links = vec![found.into()];
                Kind::UnexpectedLink
            }
            Difference::MovedLink { intended, found } => {
                message.intended_links = vec![intended.into()];
                message.found_links = vec![found.into()];
                Kind::MovedLink
            }
            Difference::SwappedLinks { intended, found } => {
                message.intended_links = intended.map(Into::into).to_vec();
                message.found_links = found.map(Into::into).to_vec();
                Kind::SwappedLinks
            }
        };
        message.set_kind(kind);
        message
    }
}

impl From<NodeName> for v1::TopologyNode {
    fn from(node: NodeName) -> Self {
        Self {
            guid: node.guid.map_or(0, |guid| guid.0),
            name: node.name,
        }
    }
}

impl From<End> for v1::TopologyEnd {
    fn from(end: End) -> Self {
        Self {
            node: Some(end.node.into()),
            port: end.port.0.into(),
        }
    }
}

impl From<Cable> for v1::TopologyLink {
    fn from(cable: Cable) -> Self {
        Self {
            a: Some(cable.a.into()),
            b: Some(cable.b.into()),
        }
    }
}
