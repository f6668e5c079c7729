//! Switches, the links between them and the ports that have LIDs, in flat arrays.

use weft_fabric::enums::PortState;
use weft_fabric::{Lid, LinearTables, PortRef, SwitchIndex, Topology};

/// No link.
const NONE: u32 = u32::MAX;

/// A directed link between two switches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The sending switch.
    pub(super) from: u32,
    /// The receiving switch.
    pub(super) to: u32,
    /// Index of the same cable's opposite direction.
    pub(super) back: u32,
    /// The sending port.
    pub(super) port: u8,
}

/// A port with LIDs.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// The HFI port.
    pub(super) at: PortRef,
    /// The switch that it is at, or that it belongs to.
    pub(super) switch: u32,
    /// That switch's port to it, 0 for its own.
    pub(super) port: u8,
    /// Its base LID.
    pub(super) lid: u32,
    /// Number of its LIDs, at most 128.
    pub(super) lids: u32,
}

/// The fabric.
#[derive(Debug)]
pub(super) struct View {
    /// Links by sending switch and port.
    pub(super) links: Vec<Link>,
    first: Vec<u32>,
    /// Link of each switch and port: 256 entries a switch.
    link_at: Vec<u32>,
}

impl View {
    /// Reads the links that are not down.
    pub(super) fn new(topology: &Topology) -> Self {
        let switches = topology.switches();
        let mut view = Self {
            links: Vec::new(),
            first: vec![0],
            link_at: vec![NONE; switches.len() * 256],
        };
        let mut far_ends = Vec::new();
        for (from, &node) in (0u32..).zip(switches) {
            let ports = topology.node(node).into_iter();
            for (port, _) in ports.flat_map(|node| node.external_ports()) {
                let Some(peer) = working_peer(topology, PortRef { node, port }) else {
                    continue;
                };
                if let Some(to) = topology.switch_index(peer.node).filter(|to| to.0 != from) {
                    view.link_at[from as usize * 256 + usize::from(port.0)] =
                        view.links.len() as u32;
                    far_ends.push(to.0 as usize * 256 + usize::from(peer.port.0));
                    view.links.push(Link {
                        from,
                        to: to.0,
                        back: NONE,
                        port: port.0,
                    });
                }
            }
            view.first.push(view.links.len() as u32);
        }
        for (link, far) in view.links.iter_mut().zip(far_ends) {
            link.back = view.link_at[far];
        }
        view
    }

    /// Number of switches.
    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// The links that leave a switch, as numbers.
    pub(super) fn links_of(&self, switch: u32) -> std::ops::Range<u32> {
        self.first[switch as usize]..self.first[switch as usize + 1]
    }

    /// A port with LIDs; none where no cable leads from it to a switch.
    pub(super) fn end(topology: &Topology, at: PortRef) -> Option<End> {
        let info = &topology.port(at)?.info;
        let own = topology.switch_index(at.node).map(|own| (own.0, 0));
        let attached = || {
            let peer = working_peer(topology, at)?;
            Some((topology.switch_index(peer.node)?.0, peer.port.0))
        };
        let (switch, port) = own.or_else(attached)?;
        info.lid.is_unicast().then(|| End {
            at,
            switch,
            port,
            lid: info.lid.0,
            lids: info.lmc.lids(),
        })
    }

    /// Adds the links on the route from a switch to a LID; returns whether the route arrives.
    pub(super) fn walk(
        &self,
        linear: &LinearTables,
        (from, end, lid): (u32, &End, u32),
        links: &mut Vec<u32>,
    ) -> bool {
        let mut at = from;
        for _ in 0..=self.len() {
            let Some(port) = linear.egress(SwitchIndex(at), Lid(lid)) else {
                return false;
            };
            if at == end.switch {
                return port.0 == end.port;
            }
            let link = self.link_at[at as usize * 256 + usize::from(port.0)];
            let Some(next) = self.links.get(link as usize) else {
                return false;
            };
            links.push(link);
            at = next.to;
        }
        false
    }
}

/// The other end of a link that is not down at either end.
fn working_peer(topology: &Topology, at: PortRef) -> Option<PortRef> {
    let peer = topology.peer(at)?;
    let up = |at| {
        topology
            .port(at)
            .is_some_and(|port| port.info.port_state != PortState::DOWN)
    };
    (up(at) && up(peer)).then_some(peer)
}
