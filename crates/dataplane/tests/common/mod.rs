//! Fabrics whose registers are programmed by hand, and traffic for them.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

pub mod cases;
pub mod registers;
pub mod stage;
pub mod vary;

use std::sync::Arc;

use weft_dataplane::packets::{Notice, Parcel, Picos, Random, Simulation, Traffic};
use weft_dataplane::{Network, PortIndex, PortTable};
use weft_fabric::enums::{Mtu, PhysState, PortState};
use weft_fabric::powered_on::let_interleave;
use weft_fabric::{FabricSpec, Lid, Lmc, NodeId, PortNum, Sl, SwitchIndex, Topology};
use weft_routing::{AdaptiveSettings, EngineKind, Routed, Settings, route};
use weft_wire::Layout;
use weft_wire::sm::{BufferControlTable, PortInfo, VlArbMatrix, VlBufferLimits, VlMtus, XmitQ};

/// Settings of a fabric.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub lanes: u8,
    /// Units of 64 bytes for each lane, and shared by all.
    pub dedicated: u16,
    pub shared: u16,
    pub mtu: Mtu,
    /// Head-of-line lifetime of switch ports; unlimited from 20 on.
    pub hoq_life: u8,
    pub stall_count: u8,
    pub switch_life: u8,
    pub preempt: Option<Preempt>,
}

/// Preemption matrix, and the steps of each limit.
#[derive(Debug, Clone, Copy)]
pub struct Preempt {
    pub matrix: [u32; 8],
    pub small: u8,
    pub large: u8,
    pub limit: u8,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            lanes: 1,
            dedicated: 400,
            shared: 1_000,
            mtu: Mtu::B8192,
            hoq_life: 31,
            stall_count: 0,
            switch_life: 31,
            preempt: None,
        }
    }
}

/// A described fabric with a LID for each end port.
pub fn topology(spec: &str) -> Topology {
    let spec: FabricSpec = spec.parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let ends: Vec<_> = topology.end_ports().map(|(end, _, _)| end).collect();
    for (index, end) in ends.into_iter().enumerate() {
        let port = topology.node_mut(end.node).unwrap().port_mut(end.port);
        port.unwrap().info.lid = Lid(index as u32 + 1);
        let node = topology.node_mut(end.node).unwrap();
        node.port_mut(end.port).unwrap().info.lmc = Lmc(0);
    }
    topology
}

/// A fabric that is ready for data, routed on shortest paths.
pub fn network(spec: &str, program: Program) -> Network {
    let topology = topology_for(spec, program);
    let rows = rows(&topology, &routed(&topology, None));
    programmed(topology, &rows, program)
}

/// A described fabric with LIDs, whose ports support the program.
pub fn topology_for(spec: &str, program: Program) -> Topology {
    let mut topology = topology(spec);
    if program.preempt.is_some() {
        let_interleave(&mut topology);
    }
    topology
}

/// Shortest paths, and the groups that adaptive routing takes them from.
pub fn routed(topology: &Topology, adaptive: Option<AdaptiveSettings>) -> Routed {
    let settings = Settings {
        engine: EngineKind::ShortestPath,
        adaptive,
        ..Settings::default()
    };
    route(topology, &settings).unwrap()
}

/// The linear table of each switch.
pub fn rows(topology: &Topology, routed: &Routed) -> Vec<Vec<u8>> {
    let row = |index| routed.linear().row(SwitchIndex(index as u32)).to_vec();
    (0..topology.switches().len()).map(row).collect()
}

/// A fabric that is ready for data, with these tables.
pub fn programmed(topology: Topology, rows: &[Vec<u8>], program: Program) -> Network {
    let topology = Arc::new(topology);
    let mut network = Network::new(topology.clone());
    for (id, _) in topology.nodes() {
        let ports: Vec<_> = network.device_at(id).ports().collect();
        for (number, at) in ports {
            set_port(&mut network, at, number, program);
        }
    }
    for (index, row) in rows.iter().enumerate() {
        let id = topology.switches()[index];
        set_routes(&mut network, id, row, program);
    }
    for (id, _) in topology.nodes() {
        let ports: Vec<_> = network.device_at(id).ports().collect();
        ports
            .into_iter()
            .for_each(|(_, at)| activate(&mut network, at));
    }
    network
}

fn set_port(network: &mut Network, at: PortIndex, number: PortNum, program: Program) {
    let topology = network.topology().clone();
    let node = topology.node(network.node_of(at)).unwrap();
    let mut info = *network.port(at).info();
    info.lid = node.port(number).unwrap().info.lid;
    (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
    info.neighbor_mtu = VlMtus::uniform(program.mtu);
    info.vl_high_limit = 255;
    info.xmit_q = [XmitQ {
        vl_stall_count: program.stall_count,
        hoq_life: program.hoq_life,
    }; 32];
    if let Some(preempt) = program.preempt {
        set_preemption(network, at, &mut info, preempt);
    }
    network.set_port_info(at, &info).unwrap();
    set_buffers(network, at, program);
    let map: [u8; 32] = std::array::from_fn(|sc| sc as u8 % program.lanes);
    network.write_table(at, PortTable::ScToVlt, 0, &map);
}

/// Writes the limits of all lanes.
pub fn set_buffers(network: &mut Network, at: PortIndex, program: Program) {
    let mut buffers = BufferControlTable {
        tx_overall_shared_limit: program.shared,
        ..BufferControlTable::default()
    };
    for lane in &mut buffers.vl[..usize::from(program.lanes)] {
        *lane = VlBufferLimits {
            tx_dedicated_limit: program.dedicated,
            tx_shared_limit: program.shared,
        };
    }
    let mut bytes = [0; 132];
    buffers.encode(&mut bytes);
    network.write_table(at, PortTable::BufferControl, 0, &bytes);
}

fn set_preemption(network: &mut Network, at: PortIndex, info: &mut PortInfo, preempt: Preempt) {
    info.interleave_max_nest_level_tx_enabled = 1;
    (info.preemption_min_initial, info.preemption_min_tail) = (10, 10);
    info.preemption_small_pkt_limit = preempt.small;
    info.preemption_large_pkt_limit = preempt.large;
    info.preemption_limit = preempt.limit;
    let mut matrix = VlArbMatrix::default();
    matrix.matrix[..8].copy_from_slice(&preempt.matrix);
    network.write_table(at, PortTable::VlArbMatrix, 0, &matrix.to_bytes());
}

pub fn set_routes(network: &mut Network, id: NodeId, row: &[u8], program: Program) {
    let registers = network.switch_mut(id).unwrap();
    let mut info = *registers.info();
    info.linear_fdb_top = row.len() as u32 - 1;
    info.life_time_value = program.switch_life;
    registers.set_info(&info).unwrap();
    for (block, entries) in row.chunks(64).enumerate() {
        let mut content = [0xFF; 64];
        content[..entries.len()].copy_from_slice(entries);
        registers.set_linear_block(block as u32, &content).unwrap();
    }
}

fn activate(network: &mut Network, at: PortIndex) {
    let Some(peer) = network.peer(at) else { return };
    // Its other end may have come first.
    if network.state(at) == PortState::ACTIVE {
        return;
    }
    for state in [PortState::ARMED, PortState::ACTIVE] {
        for end in [at, peer] {
            network.start_configuration(end);
            network.request_state(end, state, PhysState::NOP).unwrap();
        }
    }
}

/// The HFIs' ports with their LIDs.
pub fn hosts(network: &Network) -> Vec<(PortIndex, Lid)> {
    let hfis = network.topology().hfis();
    hfis.map(|(id, _)| {
        let at = network.device_at(id).port(PortNum(1)).unwrap();
        (at, network.port(at).info().lid)
    })
    .collect()
}

/// A packet of a flow: its tag is source, destination and number.
pub fn parcel(
    hosts: &[(PortIndex, Lid)],
    from: usize,
    to: usize,
    number: u32,
    sl: u8,
    bytes: u32,
) -> Parcel {
    Parcel {
        from: hosts[from].0,
        dlid: hosts[to].1,
        sl: Sl(sl),
        bytes,
        tag: (from as u64) << 48 | (to as u64) << 32 | u64::from(number),
    }
}

/// Keeps all notices.
#[derive(Debug, Default)]
pub struct Log {
    pub notices: Vec<(Picos, Notice)>,
}

impl Traffic for Log {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        self.notices.push((simulation.now(), notice));
    }
}

/// Every host always has a packet to a random other one.
#[derive(Debug)]
pub struct Saturated {
    pub hosts: Vec<(PortIndex, Lid)>,
    pub random: Random,
    pub lanes: u8,
    pub bytes: u32,
    pub delivered: u64,
}

impl Saturated {
    pub fn new(network: &Network, seed: u64, lanes: u8, bytes: u32) -> Self {
        Self {
            hosts: hosts(network),
            random: Random::new(seed),
            lanes,
            bytes,
            delivered: 0,
        }
    }

    pub fn start(&mut self, simulation: &mut Simulation) {
        (0..self.hosts.len()).for_each(|from| self.next(simulation, from));
    }

    fn next(&mut self, simulation: &mut Simulation, from: usize) {
        let others = self.hosts.len() as u32 - 1;
        let to = (from + 1 + self.random.below(others) as usize) % self.hosts.len();
        let sl = self.random.below(u32::from(self.lanes)) as u8;
        simulation.send(parcel(&self.hosts, from, to, 0, sl, self.bytes));
    }
}

impl Traffic for Saturated {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Room(at) => {
                let from = self.hosts.iter().position(|(host, _)| *host == at).unwrap();
                self.next(simulation, from);
            }
            Notice::Delivered(_) => self.delivered += 1,
            _ => {}
        }
    }
}
