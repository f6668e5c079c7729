//! Cables that someone plugs into each other's port.

use std::sync::Arc;

use weft_fabric::enums::LinkDownReason;

use crate::network::{NONE, Network, PortIndex};

impl Network {
    /// Exchanges the cables in two ports, or moves the one of the other to a port without one; with their modules and what is wrong with them. Links go down with the
    /// reason of a port whose module is pulled, and come up where both new ends can.
    pub fn exchange_cables(&mut self, a: PortIndex, b: PortIndex) {
        let (of_a, of_b) = (self.peer(a), self.peer(b));
        if a == b || of_a == Some(b) {
            return;
        }
        for at in [a, b] {
            if self.has_cable(at) {
                self.keep_serial(at);
            }
            self.take_down(at, LinkDownReason::LOCAL_MEDIA_NOT_INSTALLED);
        }
        self.exchange_ends(a, b);
        for (end, peer) in [(a, of_b), (b, of_a)] {
            self.links[end.0 as usize].peer = peer.map_or(NONE, |peer| peer.0);
            if let Some(peer) = peer {
                self.links[peer.0 as usize].peer = end.0;
            }
        }
        let [at_a, at_b] = [a, b].map(|at| self.port_ref(at));
        Arc::make_mut(&mut self.topology).exchange_cables(at_a, at_b);
        for end in [Some(a), Some(b), of_a, of_b].into_iter().flatten() {
            let reason = self.port(end).info().link_down_reason;
            self.set_down(end, reason);
            self.reset_speeds(end);
        }
        self.train(a);
        self.train(b);
    }

    /// Exchanges what belongs to the cables' ends.
    fn exchange_ends(&mut self, a: PortIndex, b: PortIndex) {
        let [end_a, end_b] = [a, b].map(|at| {
            let end = &self.links[at.0 as usize];
            (end.cut, end.lanes, end.slow)
        });
        for (at, (cut, lanes, slow)) in [(a, end_b), (b, end_a)] {
            let end = &mut self.links[at.0 as usize];
            (end.cut, end.lanes, end.slow) = (cut, lanes, slow);
        }
        let bad = [a, b].map(|at| self.bad_cables.remove(&at));
        let optics = [a, b].map(|at| self.optics.remove(&at));
        let ends = [a, b].map(|at| self.cable_ends.remove(&at));
        for (at, end) in [b, a].into_iter().zip(ends) {
            self.cable_ends.extend(end.map(|end| (at, end)));
        }
        for (at, (bad, optics)) in [b, a].into_iter().zip(bad.into_iter().zip(optics)) {
            self.bad_cables.extend(bad.map(|bad| (at, bad)));
            self.optics.extend(optics.map(|optics| (at, optics)));
        }
    }
}
