//! Cables that someone pulls, and new ones that someone plugs in.

use std::sync::Arc;

use weft_fabric::PortRef;
use weft_fabric::enums::{LinkDownReason, PortState};

use crate::network::{NONE, Network, PortIndex};

impl Network {
    /// Pulls the cable at a port out of both its ends, with its modules and what is wrong with them.
    pub fn pull_cable(&mut self, at: PortIndex) {
        let Some(peer) = self.peer(at) else { return };
        self.end_training(at);
        self.take_down(at, LinkDownReason::LOCAL_MEDIA_NOT_INSTALLED);
        let port = self.port_ref(at);
        Arc::make_mut(&mut self.topology).disconnect(port);
        for end in [at, peer] {
            let link = &mut self.links[end.0 as usize];
            (link.peer, link.cut, link.lanes, link.slow) = (NONE, false, u8::MAX, false);
            self.bad_cables.remove(&end);
            self.optics.remove(&end);
            self.cable_ends.remove(&end);
            let reason = self.port(end).info().link_down_reason;
            self.set_down(end, reason);
            self.reset_speeds(end);
        }
    }

    /// Plugs a new cable into two ports; those that are there are pulled. Ports of one switch make a loop. The link comes
    /// up where both ends can.
    pub fn plug_cable(&mut self, a: PortIndex, b: PortIndex) {
        if a == b {
            return;
        }
        for end in [a, b] {
            self.pull_cable(end);
        }
        let [at_a, at_b] = [a, b].map(|end| self.port_ref(end));
        Arc::make_mut(&mut self.topology).plug_cable(at_a, at_b);
        for (end, peer) in [(a, b), (b, a)] {
            self.links[end.0 as usize].peer = peer.0;
        }
        self.name_cable(a);
        for end in [a, b] {
            debug_assert_eq!(self.state(end), PortState::DOWN);
            let reason = self.port(end).info().link_down_reason;
            self.set_down(end, reason);
        }
        self.train(a);
    }

    pub(crate) fn port_ref(&self, at: PortIndex) -> PortRef {
        PortRef {
            node: self.node_of(at),
            port: self.number_of(at),
        }
    }
}
