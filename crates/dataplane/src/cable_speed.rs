//! Cables whose lanes are slower than usual.

use weft_fabric::enums::{LinkDownReason, LinkSpeed};

use crate::network::{Network, PortIndex};

/// What a port at a slow cable supports, as a device of both speeds does.
const BOTH: LinkSpeed = LinkSpeed(LinkSpeed::G12_5.0 | LinkSpeed::G25.0);

impl Network {
    /// Sets whether the lanes of the cable at a port carry 12.5 Gb/s, not 25. Ports at a slow cable support and enable both
    /// speeds, those at another what they did before. A link trains again where that is new to it.
    pub fn set_cable_slow(&mut self, at: PortIndex, slow: bool) {
        let Some(peer) = self.peer(at) else { return };
        let ends = [at, peer];
        if ends
            .iter()
            .all(|end| self.links[end.0 as usize].slow == slow)
        {
            return;
        }
        self.take_down(at, LinkDownReason::SPEED_POLICY);
        for end in ends {
            self.links[end.0 as usize].slow = slow;
            self.reset_speeds(end);
        }
        self.train(at);
    }

    /// Sets the speeds of a port's registers as its cable and the topology want them.
    pub(crate) fn reset_speeds(&mut self, at: PortIndex) {
        let node = self.topology.node(self.node_of(at));
        let Some(made) = node.and_then(|node| node.port(self.number_of(at))) else {
            return;
        };
        let (supported, enabled) = match self.links[at.0 as usize].slow {
            true => (BOTH, BOTH),
            false => (made.info.link_speed_supported, made.info.link_speed_enabled),
        };
        let info = &mut self.ports[at.0 as usize].info;
        (info.link_speed_supported, info.link_speed_enabled) = (supported, enabled);
    }

    /// The highest speed that both ends may use and the cable carries.
    pub(crate) fn common_speed(&self, a: PortIndex, b: PortIndex) -> Option<LinkSpeed> {
        let enabled = |at| self.port(at).info().link_speed_enabled.0;
        let cable = match self.links[a.0 as usize].slow {
            true => LinkSpeed::G12_5.0,
            false => BOTH.0,
        };
        let common = enabled(a) & enabled(b) & cable;
        common.checked_ilog2().map(|bit| LinkSpeed(1 << bit))
    }
}
