//! Sets of ports that a configuration names.

use weft_fabric::{Guid, Node, PortNum};

/// One way to name ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// All end ports.
    All,
    /// The port that the manager runs on.
    This,
    /// Port 0 of every switch (`AllSWE0`).
    AllSwitchPort0,
    /// Every HFI that is cabled to another HFI.
    HfiDirectConnect,
    /// Every HFI whose neighbour lets it manage.
    AllMgmtAllowed,
    /// Every HFI that its neighbour does not let manage (`TFIs`).
    NotMgmtAllowed,
    /// Every HFI.
    Hfis,
    /// Every switch.
    Switches,
    /// A node.
    NodeGuid(Guid),
    /// A port; of a switch, all its ports.
    PortGuid(Guid),
    /// All nodes of a system.
    SystemGuid(Guid),
}

/// A set of ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members(Vec<Selector>);

/// An end port with what decides on its membership.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its node.
    pub node: &'a Node,
    /// The port.
    pub port: PortNum,
    /// The manager runs here.
    pub is_this: bool,
    /// It is cabled to an HFI.
    pub faces_hfi: bool,
}

impl Members {
    /// The ports that any of `selectors` names.
    pub fn of(selectors: impl IntoIterator<Item = Selector>) -> Self {
        Self(selectors.into_iter().collect())
    }

    /// Whether no selector is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the port is in it.
    pub fn contains(&self, port: &Candidate<'_>) -> bool {
        self.0.iter().any(|selector| selector.names(port))
    }
}

impl Selector {
    fn names(&self, candidate: &Candidate<'_>) -> bool {
        let node = candidate.node;
        let is_hfi = !node.is_switch();
        let allowed = || {
            let port = node.port(candidate.port);
            port.is_some_and(|port| port.info.mgmt_allowed)
        };
        match self {
            Self::All => true,
            Self::This => candidate.is_this,
            Self::AllSwitchPort0 => !is_hfi && candidate.port == PortNum(0),
            Self::HfiDirectConnect => is_hfi && candidate.faces_hfi,
            Self::AllMgmtAllowed => is_hfi && allowed(),
            Self::NotMgmtAllowed => is_hfi && !allowed(),
            Self::Hfis => is_hfi,
            Self::Switches => !is_hfi,
            Self::NodeGuid(guid) => node.info.node_guid == *guid,
            Self::PortGuid(guid) => node.info.port_guid == *guid,
            Self::SystemGuid(guid) => node.info.system_image_guid == *guid,
        }
    }
}
