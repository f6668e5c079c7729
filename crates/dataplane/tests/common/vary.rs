//! Further settings that a manager may write, drawn from a seed: maps between levels, channels and
//! lanes, arbitration, adaptive routing, congestion control; and links that came up with few lanes.

use proptest::prelude::*;
use weft_dataplane::packets::Random;
use weft_dataplane::{Network, PortIndex, PortTable};
use weft_fabric::enums::LinkWidth;
use weft_fabric::{NodeId, PortNum, PortRef, SwitchPortGroups, Topology, Vl};
use weft_routing::{AdaptiveSettings, Routed};
use weft_wire::sm::{PortGroupTable, PortInfo, VlArbElement, VlArbTable};

use super::registers::control;
use super::{Program, programmed, routed, rows, topology_for};

/// Differences from a [`Program`].
#[derive(Debug, Clone)]
pub struct Variety {
    /// Random seed.
    pub seed: u64,
    pub maps: Option<Maps>,
    pub arbitration: bool,
    /// Some lanes have no flow control.
    pub lossy: bool,
    pub narrow: bool,
    pub adaptive: Option<Adaptive>,
    /// Threshold of switches, and multiplier of the table of HFIs.
    pub control: Option<(u8, u16)>,
}

#[derive(Debug, Clone, Copy)]
pub struct Maps {
    pub levels: u8,
    /// Some channels lead to lanes that have no credits, do not operate, or that no port has.
    pub strays: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Adaptive {
    pub algorithm: u8,
    pub threshold: u8,
    pub lost_only: bool,
}

pub fn varieties() -> impl Strategy<Value = Variety> {
    let maps = (1_u8..=16, proptest::bool::weighted(0.2));
    let maps = maps.prop_map(|(levels, strays)| Maps { levels, strays });
    let adaptive = (0_u8..3, 0_u8..8, proptest::bool::weighted(0.2));
    let adaptive = adaptive.prop_map(|(algorithm, threshold, lost_only)| Adaptive {
        algorithm,
        threshold,
        lost_only,
    });
    let control = prop_oneof![Just(15_u8), 0_u8..16];
    let parts = (
        any::<u64>(),
        proptest::option::of(maps),
        any::<bool>(),
        proptest::bool::weighted(0.2),
        any::<bool>(),
        proptest::option::of(adaptive),
        proptest::option::of((control, 0_u16..40)),
    );
    parts.prop_map(
        |(seed, maps, arbitration, lossy, narrow, adaptive, control)| Variety {
            seed,
            maps,
            arbitration,
            lossy,
            narrow,
            adaptive,
            control,
        },
    )
}

impl Variety {
    /// Service levels that packets are sent on.
    pub fn levels(&self, program: Program) -> u8 {
        self.maps.map_or(program.lanes, |maps| maps.levels)
    }
}

/// A fabric that is ready for data, routed on shortest paths.
pub fn varied(spec: &str, program: Program, variety: &Variety) -> Network {
    let mut random = Random::new(variety.seed);
    let mut topology = topology_for(spec, program);
    let routed = routed(
        &topology,
        variety.adaptive.map(|_| AdaptiveSettings::default()),
    );
    let rows = rows(&topology, &routed);
    // Routes are those of the whole fabric: shortest paths around narrow links go down and up again.
    if variety.narrow {
        narrow(&mut topology, &mut random);
    }
    let mut network = programmed(topology, &rows, program);
    if let Some(maps) = variety.maps {
        write_maps(&mut network, maps, program.lanes, &mut random);
    }
    if variety.arbitration {
        each_port(&network).for_each(|at| arbitrate(&mut network, at, program.lanes, &mut random));
        change_ports(&mut network, |info| {
            info.vl_high_limit = [0, 1, 2, 255][random.below(4) as usize];
        });
    }
    if variety.lossy {
        change_ports(&mut network, |info| {
            info.flow_control_mask = random.bits() as u32 & random.bits() as u32;
        });
    }
    if let Some(adaptive) = variety.adaptive {
        adapt(&mut network, &routed, adaptive);
    }
    if let Some((threshold, multiplier)) = variety.control {
        control(&mut network, threshold, multiplier);
    }
    network
}

fn each_port(network: &Network) -> std::vec::IntoIter<PortIndex> {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports().map(|(_, at)| at));
    ports.collect::<Vec<_>>().into_iter()
}

fn change_ports(network: &mut Network, mut change: impl FnMut(&mut PortInfo)) {
    for at in each_port(network) {
        let mut info = *network.port(at).info();
        (info.port_state, info.phys_state) = Default::default();
        change(&mut info);
        network.set_port_info(at, &info).unwrap();
    }
}

/// A third of the links come up with one to three of their four lanes.
fn narrow(topology: &mut Topology, random: &mut Random) {
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    let widths = [LinkWidth::X1, LinkWidth::X2, LinkWidth::X3];
    for (end, _) in links {
        let Some(width) = widths.get(random.below(9) as usize) else {
            continue;
        };
        let port = topology.node_mut(end.node).unwrap().port_mut(end.port);
        port.unwrap().info.link_width_active = *width;
    }
}

fn write_maps(network: &mut Network, maps: Maps, lanes: u8, random: &mut Random) {
    let channels = |random: &mut Random| std::array::from_fn(|_| random.below(15) as u8);
    for at in each_port(network) {
        network.write_table(at, PortTable::SlToSc, 0, &channels(random));
        let lane = |_| match maps.strays && random.below(64) == 0 {
            true => random.below(32) as u8,
            false => random.below(u32::from(lanes)) as u8,
        };
        let map: [u8; 32] = std::array::from_fn(lane);
        network.write_table(at, PortTable::ScToVlt, 0, &map);
    }
    if maps.strays {
        change_ports(network, |info| {
            info.operational_vl = 1 + random.below(8) as u8;
        });
    }
    for id in network.topology().switches().to_vec() {
        for kind in 0..3 {
            let pairs = |ingress: PortNum, egress: PortNum| (ingress.0 + egress.0) % 3 == kind;
            let map = channels(random);
            network.write_channel_map(id, &map, pairs).unwrap();
        }
    }
}

/// Lanes in neither, one or both tables, some of them several times.
fn arbitrate(network: &mut Network, at: PortIndex, lanes: u8, random: &mut Random) {
    for table in [PortTable::VlArbHigh, PortTable::VlArbLow] {
        let mut elements = VlArbTable::default();
        let turns = random.below(7) as usize;
        for element in &mut elements.elements[..turns] {
            *element = VlArbElement {
                vl: Vl(random.below(u32::from(lanes)) as u8),
                weight: [0, 1, 32, 255][random.below(4) as usize],
            };
        }
        let mut bytes = [0; 256];
        weft_wire::Layout::encode(&elements, &mut bytes);
        network.write_table(at, table, 0, &bytes);
    }
}

fn adapt(network: &mut Network, routed: &Routed, adaptive: Adaptive) {
    let switches = network.topology().switches().to_vec();
    for (id, groups) in switches.into_iter().zip(&routed.groups().switches) {
        write_groups(network, id, groups);
        let registers = network.switch_mut(id).unwrap();
        let mut info = *registers.info();
        (info.ar_enable, info.ar_lost_routes_only) = (true, adaptive.lost_only);
        (info.ar_algorithm, info.ar_threshold) = (adaptive.algorithm, adaptive.threshold);
        registers.set_info(&info).unwrap();
    }
}

fn write_groups(network: &mut Network, id: NodeId, groups: &SwitchPortGroups) {
    let registers = network.switch_mut(id).unwrap();
    for (block, entries) in groups.fdb.chunks(64).enumerate() {
        let mut content = [0xFF; 64];
        content[..entries.len()].copy_from_slice(entries);
        let block = block as u32;
        registers.set_port_group_fdb_block(block, &content).unwrap();
    }
    let per_block = PortGroupTable::GROUPS as usize;
    for (block, masks) in groups.groups.chunks(per_block).enumerate() {
        let mut content = [0; 64];
        for (slot, mask) in content.chunks_exact_mut(8).zip(masks) {
            // Bit n is port n + 1.
            let ports = (1..=64).filter(|port| mask.contains(PortNum(*port)));
            let word = ports.fold(0_u64, |word, port| word | 1 << (port - 1));
            slot.copy_from_slice(&word.to_be_bytes());
        }
        let block = block as u8;
        registers.set_port_group_block(0, block, &content).unwrap();
    }
}
