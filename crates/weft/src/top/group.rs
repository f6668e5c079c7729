//! The performance manager's groups of ports.

use std::collections::HashSet;

use weft_api::v1;

use super::data::{Data, Key, key};

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Group {
    All,
    Hfis,
    Switches,
    /// One of the configuration, by its name.
    Configured(String),
}

/// A group of the configuration, with its ports of the last image.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    pub(super) name: String,
    pub(super) ports: HashSet<Key>,
}

impl Group {
    /// Those that always exist, then those of the configuration.
    pub(super) fn all(data: &Data) -> Vec<Self> {
        let configured = data.groups.iter();
        let configured = configured.map(|group| Self::Configured(group.name.clone()));
        let built_in = [Self::All, Self::Hfis, Self::Switches].into_iter();
        built_in.chain(configured).collect()
    }

    /// Its name, as in the vendor's tools.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::All => "All",
            Self::Hfis => "HFIs",
            Self::Switches => "SWs",
            Self::Configured(name) => name,
        }
    }

    /// Whether a port is in it.
    pub(super) fn has(&self, data: &Data, end: Option<&v1::LinkEnd>) -> bool {
        let kind = end.map(v1::LinkEnd::node_type);
        match self {
            Self::All => kind.is_some(),
            Self::Hfis => kind == Some(v1::NodeType::Hfi),
            Self::Switches => kind == Some(v1::NodeType::Switch),
            Self::Configured(name) => {
                let mut groups = data.groups.iter();
                let group = groups.find(|group| group.name == *name);
                end.is_some() && group.is_some_and(|group| group.ports.contains(&key(end)))
            }
        }
    }

    /// Its ports in a reading.
    pub(super) fn ports<'a>(&self, data: &'a Data) -> Vec<&'a v1::PortCounters> {
        let ports = data.ports.iter();
        ports
            .filter(|port| self.has(data, port.port.as_ref()))
            .collect()
    }
}
