//! Cables of switches, and their connected components.

use weft_fabric::enums::LinkSpeed;
use weft_fabric::{Port, PortMask, PortNum, PortRef, Topology};

use crate::certificate::view::far_end;

/// Port numbers of a switch: 0 to 255.
const PORTS: usize = 256;

/// The other end of a switch's port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Far {
    /// No working cable.
    #[default]
    Nothing,
    /// An end port: an HFI's, or the switch's own port 0.
    End(PortRef),
    /// Another switch, at this port of it, over a link that carries this much.
    Switch {
        to: u32,
        port: u8,
        mtu_bytes: u32,
        rate_mbps: u32,
    },
}

/// All ports of all switches.
#[derive(Debug)]
pub(super) struct Cables {
    far: Vec<Far>,
    /// Rows of each switch's table.
    pub(super) caps: Vec<u32>,
}

impl Cables {
    pub(super) fn new(topology: &Topology) -> Self {
        let switches = topology.switches();
        let mut far = vec![Far::Nothing; switches.len() * PORTS];
        for (index, id) in switches.iter().enumerate() {
            let ports = topology.node(*id).into_iter().flat_map(|node| node.ports());
            for (port, _) in ports {
                far[index * PORTS + usize::from(port.0)] =
                    look(topology, PortRef { node: *id, port });
            }
        }
        let cap = |id| {
            topology
                .node(id)?
                .switch
                .map(|switch| switch.multicast_fdb_cap)
        };
        let caps = switches.iter().map(|id| cap(*id).unwrap_or(0)).collect();
        Self { far, caps }
    }

    pub(super) fn far(&self, switch: usize, port: PortNum) -> Far {
        self.far[switch * PORTS + usize::from(port.0)]
    }

    pub(super) fn len(&self) -> usize {
        self.caps.len()
    }

    /// Joins the switches that the cables of some rows join, each cable once. Where they close a
    /// circle, a switch on it.
    pub(super) fn circle(&self, sets: &mut Sets, row: impl Fn(usize) -> PortMask) -> Option<usize> {
        sets.clear();
        (0..self.len()).find(|switch| {
            let switch = *switch;
            let mask = row(switch);
            let mut ports = mask.iter();
            ports.any(|port| match self.far(switch, port) {
                Far::Switch { to, port: back, .. } => {
                    let both = row(to as usize).contains(PortNum(back));
                    let told = both && (to as usize, back) < (switch, port.0);
                    !told && !sets.join(switch, to as usize)
                }
                _ => false,
            })
        })
    }
}

fn look(topology: &Topology, at: PortRef) -> Far {
    if at.port == PortNum(0) {
        return Far::End(at);
    }
    let Some(end) = far_end(topology, at) else {
        return Far::Nothing;
    };
    let (Some(near), Some(other)) = (topology.port(at), topology.port(end)) else {
        return Far::Nothing;
    };
    match topology.switch_index(end.node) {
        None => Far::End(end),
        Some(to) => Far::Switch {
            to: to.0,
            port: end.port.0,
            mtu_bytes: near.info.mtu_cap.bytes().min(other.info.mtu_cap.bytes()),
            rate_mbps: mbps(near).min(mbps(other)),
        },
    }
}

/// Current send rate of an end, Mb/s: four lanes at 25 Gb/s if it reports none.
fn mbps(end: &Port) -> u32 {
    let info = &end.info;
    let told = |lanes: u32| if lanes == 0 { 4 } else { lanes.min(4) };
    let lanes =
        told(info.link_width_active.lanes()).min(told(info.link_width_downgrade_tx_active.lanes()));
    let lane = match info.link_speed_active {
        LinkSpeed::G12_5 => 12_500,
        _ => 25_000,
    };
    lanes * lane
}

/// Sets of switches.
#[derive(Debug)]
pub(super) struct Sets {
    leader: Vec<u32>,
}

impl Sets {
    pub(super) fn new(switches: usize) -> Self {
        Self {
            leader: (0..switches as u32).collect(),
        }
    }

    /// Every switch by itself again.
    pub(super) fn clear(&mut self) {
        for (index, leader) in self.leader.iter_mut().enumerate() {
            *leader = index as u32;
        }
    }

    pub(super) fn find(&mut self, switch: usize) -> usize {
        let mut at = switch;
        while self.leader[at] as usize != at {
            // Halves the path for later look-ups.
            self.leader[at] = self.leader[self.leader[at] as usize];
            at = self.leader[at] as usize;
        }
        at
    }

    /// Joins two sets; returns whether they were two.
    pub(super) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        let (low, high) = (a.min(b), a.max(b));
        self.leader[high] = low as u32;
        low != high
    }
}
