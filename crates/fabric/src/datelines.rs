//! Datelines: the links of the rings of a torus where packets change to the other half of their
//! lane.
//!
//! A ring closes a credit cycle in one lane. So each lane has two halves: a packet enters a ring in
//! the first one, and goes on in the second one from the dateline on, the ring's link between its last
//! coordinate and its first. In neither half do all links of a ring wait for each other. Switches
//! change halves by their SCtoSC tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::State;
use weft_wire::id::{Guid, PortNum};

/// Half of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, State)]
pub enum Half {
    /// Up to the dateline of the ring that the packet is in, and outside of rings.
    #[default]
    First,
    /// From the dateline on.
    Second,
}

impl Half {
    /// Both.
    pub const ALL: [Self; 2] = [Self::First, Self::Second];
}

/// Position of a switch's port in rings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub struct RingPort {
    /// The ring among those of the switch, counted from 1; 0 for a port in no ring.
    pub ring: u8,
    /// The dateline is on this port's link.
    pub crosses: bool,
}

impl RingPort {
    /// The half in which a packet leaves through `egress` that came in through this port in `half`.
    pub fn onward(self, egress: Self, half: Half) -> Half {
        let stays = self.ring == egress.ring && self.ring != 0;
        match half {
            _ if egress.crosses => Half::Second,
            Half::Second if stays => Half::Second,
            _ => Half::First,
        }
    }
}

/// Positions of a switch's ports, by port number; those beyond the end are in no ring.
pub type RingPorts = Arc<[RingPort]>;

/// The datelines of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct Datelines {
    switches: BTreeMap<Guid, RingPorts>,
}

impl Datelines {
    /// From the ports of each switch that has ports in rings.
    pub fn new(switches: impl IntoIterator<Item = (Guid, RingPorts)>) -> Self {
        Self {
            switches: switches.into_iter().collect(),
        }
    }

    /// No packet ever changes to another half.
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty()
    }

    /// Positions of a switch's ports.
    pub fn of(&self, switch: Guid) -> &[RingPort] {
        self.switches.get(&switch).map_or(&[], |ports| ports)
    }

    /// Ports on whose links datelines are.
    pub fn crossings(&self) -> impl Iterator<Item = (Guid, PortNum)> {
        self.switches.iter().flat_map(|(guid, ports)| {
            let ports = (0..=u8::MAX).map(PortNum).zip(ports.iter());
            let crossing = ports.filter(|(_, port)| port.crosses);
            crossing.map(|(number, _)| (*guid, number))
        })
    }
}

/// Position of a port among those of its switch.
pub fn ring_port(ports: &[RingPort], port: PortNum) -> RingPort {
    ports.get(usize::from(port.0)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: RingPort = RingPort {
        ring: 0,
        crosses: false,
    };

    fn ring(ring: u8, crosses: bool) -> RingPort {
        RingPort { ring, crosses }
    }

    #[test]
    fn a_packet_is_in_the_second_half_from_the_dateline_to_the_end_of_the_ring() {
        let (first, second) = (Half::First, Half::Second);
        for (ingress, egress, before, after) in [
            (NONE, ring(1, false), first, first),
            (NONE, ring(1, true), first, second),
            (ring(1, false), ring(1, false), first, first),
            (ring(1, false), ring(1, true), first, second),
            (ring(1, true), ring(1, false), second, second),
            (ring(1, false), ring(2, false), second, first),
            (ring(1, false), ring(2, true), second, second),
            (ring(1, true), NONE, second, first),
            (NONE, NONE, second, first),
        ] {
            assert_eq!(ingress.onward(egress, before), after);
        }
    }
}
