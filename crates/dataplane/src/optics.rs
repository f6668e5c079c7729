//! What the modules at the ends of optical cables measure: cables between switches are optical, all others copper.

use crate::network::{NONE, Network, PortIndex};

/// Registers of a module, in the units of SFF-8636; lanes 1 to 4 are at 0 to 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Optics {
    /// 1/256 °C.
    pub temperature: i16,
    /// Supply voltage, 100 µV.
    pub voltage: u16,
    /// Power received while the other end sends, 0.1 µW.
    pub receive_power: [u16; 4],
    /// Current of the lasers, 2 µA.
    pub bias: [u16; 4],
    /// Power sent, 0.1 µW.
    pub transmit_power: [u16; 4],
}

impl Default for Optics {
    /// 40 °C, 3.3 V, 0.8 mW received, 7 mA, 1 mW sent.
    fn default() -> Self {
        Self {
            temperature: 40 << 8,
            voltage: 33_000,
            receive_power: [8_000; 4],
            bias: [3_500; 4],
            transmit_power: [10_000; 4],
        }
    }
}

impl Network {
    /// Whether the cable at a port is optical.
    pub fn is_optical(&self, at: PortIndex) -> bool {
        let is_switch = |end: PortIndex| self.links[end.0 as usize].switch != NONE;
        is_switch(at) && self.peer(at).is_some_and(is_switch)
    }

    /// What the module in a port measures; none of a copper cable, or without one.
    pub fn optics(&self, at: PortIndex) -> Option<Optics> {
        let peer = self.peer(at).filter(|_| self.is_optical(at))?;
        let mut optics = self.optics_set(at);
        let is_lit = self.device_at(self.node_of(peer)).is_powered();
        if !is_lit || self.links[at.0 as usize].cut {
            optics.receive_power = [0; 4];
        }
        Some(optics)
    }

    /// What it measures while the other end sends.
    pub fn optics_set(&self, at: PortIndex) -> Optics {
        self.optics.get(&at).copied().unwrap_or_default()
    }

    /// Sets what the module in a port measures.
    pub fn set_optics(&mut self, at: PortIndex, optics: Optics) {
        self.optics.insert(at, optics);
    }
}
