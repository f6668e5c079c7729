//! The performance manager's own groups of ports.

use weft_api::v1;

/// A group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    All,
    Hfis,
    Switches,
}

pub(super) const GROUPS: [Group; 3] = [Group::All, Group::Hfis, Group::Switches];

impl Group {
    /// Its name, as in the vendor's tools.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Hfis => "HFIs",
            Self::Switches => "SWs",
        }
    }

    /// Whether a port is in it.
    pub(super) fn has(self, end: Option<&v1::LinkEnd>) -> bool {
        let kind = end.map(v1::LinkEnd::node_type);
        match self {
            Self::All => kind.is_some(),
            Self::Hfis => kind == Some(v1::NodeType::Hfi),
            Self::Switches => kind == Some(v1::NodeType::Switch),
        }
    }
}
