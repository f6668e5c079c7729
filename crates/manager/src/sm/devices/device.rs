//! One node of the fabric.

use weft_fabric::{Guid, Lid, Node, PortNum};
use weft_state::State;
use weft_wire::enums::PortState;

use super::health::Health;
use super::lft::Lft;
use super::observed::Observed;
use super::work::Work;
use crate::sm::keys::Tried;

/// Identity of a node and its route.
#[derive(Debug, Clone, State)]
pub(crate) struct Identity {
    pub guid: Guid,
    /// Egress ports of the directed route to it.
    pub path: Box<[PortNum]>,
    /// Its neighbour says that it is a switch.
    pub said_switch: bool,
    /// The port by which it was reached.
    pub entered: PortNum,
    /// The port that it was found behind; none for the manager's own node.
    pub found_by: Option<(Guid, PortNum)>,
    /// Number of its own port there, as its neighbour says.
    pub said_port: PortNum,
    /// What its end port said about its LID when it was read last.
    pub lids: LidReading,
    /// Its key, where it has told one.
    #[state(key)]
    pub m_key: Option<u64>,
    /// Terms whose keys it does not have, while it has told none.
    pub tried: Tried,
}

/// The LID of an end port, when it was read.
#[derive(Debug, Clone, Copy, Default, State)]
pub(crate) struct LidReading {
    /// As it was known before; none where nothing was.
    pub before: Option<Lid>,
    pub reported: Lid,
}

/// A node as the manager knows it.
#[derive(Debug, Clone, State)]
pub(crate) struct Device {
    pub identity: Identity,
    pub observed: Observed,
    pub work: Work,
    pub health: Health,
}

impl Device {
    pub(super) fn new(guid: Guid, said_switch: bool) -> Self {
        let identity = Identity {
            guid,
            path: Box::default(),
            said_switch,
            entered: PortNum(0),
            found_by: None,
            said_port: PortNum(0),
            lids: LidReading::default(),
            m_key: None,
            tried: Tried::default(),
        };
        Self {
            identity,
            observed: Observed::default(),
            work: Work::default(),
            health: Health::default(),
        }
    }

    /// Whether it is a switch, by its own word or else by its neighbour's.
    pub(crate) fn is_switch(&self) -> bool {
        let node = self.observed.node.as_deref();
        node.map_or(self.identity.said_switch, Node::is_switch)
    }

    /// Its name with its GUID; one that has never told its name has the GUID alone.
    pub(crate) fn label(&self) -> String {
        let guid = self.identity.guid;
        match self.observed.node.as_deref().map(Node::name) {
            Some(name) if !name.is_empty() => format!("{name} ({guid})"),
            _ => format!("node {guid}"),
        }
    }

    /// Its port that has a LID: a switch's port 0, an HFI's port by which it was reached.
    pub(crate) fn end_port(&self) -> PortNum {
        if self.is_switch() {
            PortNum(0)
        } else {
            self.identity.entered
        }
    }

    /// The ports that have tables: all of a switch, an HFI's port by which it was reached.
    pub(crate) fn ports_with_tables(&self) -> impl Iterator<Item = PortNum> + use<> {
        let (first, last) = match self.is_switch() {
            true => (0, self.observed.num_ports()),
            false => (self.identity.entered.0, self.identity.entered.0),
        };
        (first..=last).map(PortNum)
    }

    /// Whether its end port says that a subnet manager runs there.
    pub(crate) fn names_sm(&self) -> bool {
        let port = self.observed.port(self.end_port());
        port.is_some_and(|info| info.capability_mask.is_sm)
    }

    /// Discards, now that it answers, state that it may not hold any more. The linear table of a switch stays
    /// the best estimate until it has been read.
    pub(crate) fn settle_doubt(&mut self) {
        if self.health.doubtful {
            self.observed.forget_other_tables();
            self.observed.read_ports = weft_fabric::PortMask::EMPTY;
            self.health.doubtful = self.is_switch();
        }
    }

    /// Doubts the tables of a switch none of whose links has stayed above state Init: it may have been
    /// power-cycled after the last look at it, and its SwitchInfo written since.
    pub(crate) fn doubt_after_loss_of_links(&mut self) {
        let is_in_use = |port| {
            let info = self.observed.port(port);
            info.is_some_and(|info| info.port_state > PortState::INIT)
        };
        let mut ports = (1..=self.observed.num_ports()).map(PortNum);
        if ports.any(is_in_use) || matches!(self.observed.lft, Lft::Unknown) {
            return;
        }
        self.observed.forget_other_tables();
        self.health.doubtful = true;
    }

    /// Its linear table has been read.
    pub(crate) fn take_reading(&mut self) {
        self.observed.lft = std::mem::take(&mut self.work.reading.lft);
        self.observed.sent_row = None;
        // Another manager may have written while it was read.
        self.health.foreign &= self.health.doubtful;
    }
}
