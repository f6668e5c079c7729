//! Two edge and two core switches with adaptive routing on one edge switch, programmed by hand.

use weft_dataplane::packets::Simulation;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Lid, NodeId, SwitchIndex};

use super::{Program, hosts, network};

/// Two edge switches with four hosts each under two core switches.
pub const FABRIC: &str = "pgft:2;4,2;1,2;1,1";

pub struct Stage {
    pub network: Network,
    pub hosts: Vec<(PortIndex, Lid)>,
    /// The first host's switch, and its uplinks.
    pub edge: NodeId,
    pub uplinks: [u8; 2],
}

/// The fabric with all routes to the second edge's hosts by the first uplink, and both uplinks in
/// the group of all LIDs.
pub fn stage(threshold: u8, lost_only: bool) -> Stage {
    let mut network = network(FABRIC, Program::default());
    let hosts = hosts(&network);
    let uplink = network.peer(hosts[0].0).unwrap();
    let edge = network.node_of(uplink);
    let node = network.topology().node(edge).unwrap();
    let topology = network.topology();
    let up = node.external_ports().filter(|(_, port)| {
        port.peer
            .is_some_and(|peer| topology.switch_index(peer.node).is_some())
    });
    let uplinks: Vec<u8> = up.map(|(number, _)| number.0).collect();
    let uplinks = [uplinks[0], uplinks[1]];
    let far: Vec<Lid> = hosts
        .iter()
        .filter(|(at, _)| network.node_of(network.peer(*at).unwrap()) != edge)
        .map(|(_, lid)| *lid)
        .collect();
    let registers = network.switch_mut(edge).unwrap();
    let mut routes = registers.linear_block(0).unwrap();
    far.iter()
        .for_each(|lid| routes[lid.0 as usize] = uplinks[0]);
    registers.set_linear_block(0, &routes).unwrap();
    registers.set_port_group_fdb_block(0, &[0; 64]).unwrap();
    let mask = uplinks
        .iter()
        .fold(0_u64, |mask, port| mask | 1 << (port - 1));
    let mut groups = [0; 64];
    groups[..8].copy_from_slice(&mask.to_be_bytes());
    registers.set_port_group_block(0, 0, &groups).unwrap();
    let mut info = *registers.info();
    (info.ar_enable, info.ar_algorithm) = (true, 2);
    (info.ar_threshold, info.ar_lost_routes_only) = (threshold, lost_only);
    registers.set_info(&info).unwrap();
    Stage {
        network,
        hosts,
        edge,
        uplinks,
    }
}

impl Stage {
    /// The far hosts by number.
    pub fn far(&self) -> Vec<usize> {
        let there =
            |at: PortIndex| self.network.node_of(self.network.peer(at).unwrap()) != self.edge;
        (0..self.hosts.len())
            .filter(|host| there(self.hosts[*host].0))
            .collect()
    }

    /// The edge switch's place among the switches.
    pub fn switch(&self) -> SwitchIndex {
        self.network.topology().switch_index(self.edge).unwrap()
    }

    /// Number of far hosts served by each uplink.
    pub fn spread(&self, simulation: &Simulation) -> [usize; 2] {
        let routes: Vec<Option<u8>> = self
            .hosts
            .iter()
            .map(|(_, lid)| simulation.route_of(self.switch(), *lid))
            .collect();
        let by = |port: u8| routes.iter().filter(|route| **route == Some(port)).count();
        self.uplinks.map(by)
    }
}
