//! Ports interrupt packets as the ranks of service levels say.
#![allow(clippy::unwrap_used)]

use crate::common::{World, fabric, latency, settings};
use weft_dataplane::PortTable;
use weft_fabric::powered_on::let_interleave;
use weft_fabric::{Guid, NodeId, PortNum, Sl, Topology};
use weft_manager::Settings;
use weft_manager::sm::settings::{Level, Preemption};
use weft_wire::Layout;
use weft_wire::sm::{PortInfo, VlArbMatrix};

const FABRIC: &str = "fattree:16,radix=8";
/// Ranks of four service levels, each with a lane of its own.
const RANKS: [u8; 4] = [1, 0, 127, 2];
/// Preemption matrix of these lanes.
const MATRIX: [u32; 4] = [0, 0, 0b1001, 0b0001];

fn ranked(ranks: [u8; 4]) -> Settings {
    let levels = ranks.into_iter().zip(0..).map(|(preempt_rank, sl)| Level {
        sl: Sl(sl),
        bandwidth: 25,
        preempt_rank,
        ..Level::default()
    });
    Settings {
        levels: levels.collect(),
        ..settings()
    }
}

fn interleaving() -> Topology {
    let mut topology = fabric(FABRIC);
    let_interleave(&mut topology);
    topology
}

fn up(topology: Topology, settings: Settings) -> World {
    let mut world = World::with(topology, settings, latency(), None);
    world.sweep();
    world.assert_all_active();
    world
}

/// Registers of a port: its PortInfo and the first rows of its matrix.
fn held(world: &World, (guid, port): (Guid, PortNum)) -> (PortInfo, [u32; 4]) {
    let network = world.emulator.network();
    let device = network.device(network.find(guid).unwrap()).unwrap();
    let registers = network.port(device.port(port).unwrap());
    let matrix = VlArbMatrix::decode(registers.table(PortTable::VlArbMatrix)).unwrap();
    assert_eq!(matrix.matrix[4..], [0; 28]);
    let rows = matrix.matrix.first_chunk().unwrap();
    (*registers.info(), *rows)
}

/// Nest level, distance mode and the limits of preempting packets, of preempted ones, and of the total.
fn limits(info: &PortInfo) -> [u8; 5] {
    assert!(!info.is_vl_marker_enabled);
    [
        info.interleave_max_nest_level_tx_enabled,
        info.interleave_distance_enabled,
        info.preemption_small_pkt_limit,
        info.preemption_large_pkt_limit,
        info.preemption_limit,
    ]
}

#[test]
fn ranks_become_the_matrix_and_sizes_the_limits_of_every_port() {
    let sizes = |small_packet, large_packet, limit| Preemption {
        small_packet,
        large_packet,
        limit,
    };
    for (preemption, wanted) in [
        (Preemption::default(), [1, 1, 7, 7, 16]),
        (sizes(32, 512, 256), [1, 1, 0, 0, 1]),
        (sizes(8_192, 8_192, 65_024), [1, 1, 255, 15, 254]),
        (sizes(64, 1_024, 65_280), [1, 1, 1, 1, 255]),
        (sizes(64, 1_024, 0), [1, 1, 1, 1, 0]),
    ] {
        let mut settings = ranked(RANKS);
        settings.traffic.preemption = preemption;
        let mut world = up(interleaving(), settings);
        for at in world.cabled() {
            let (info, matrix) = held(&world, at);
            assert_eq!((limits(&info), matrix), (wanted, MATRIX), "{at:?}");
            let parts = (info.preemption_min_initial, info.preemption_min_tail);
            assert_eq!(parts, (10, 10), "80 bytes");
        }
        assert_eq!(world.forced_sweep().sets, 0);
    }
}

#[test]
fn it_costs_nothing_while_no_level_may_interrupt_another() {
    let plain = up(fabric(FABRIC), ranked([0; 4])).reports()[0].sent;
    for ranks in [[0; 4], [5; 4], [0, 7, 0, 7]] {
        let world = up(interleaving(), ranked(ranks));
        assert_eq!(world.reports()[0].sent, plain);
        for at in world.cabled() {
            let (info, matrix) = held(&world, at);
            assert_eq!((limits(&info), matrix), ([0, 1, 0, 0, 0], [0; 4]));
        }
    }
}

#[test]
fn a_link_whose_other_end_cannot_interleave_is_left_alone() {
    let mut topology = interleaving();
    let (id, hfi) = topology.hfis().nth(3).unwrap();
    let guid = hfi.guid();
    let port = topology.node_mut(id).unwrap().port_mut(PortNum(1)).unwrap();
    port.info.interleave_max_nest_level_rx_supported = 0;
    let peer = port.peer.unwrap();
    let switch = topology.node(peer.node).unwrap().guid();
    let mut world = up(topology, ranked(RANKS));
    for at in world.cabled() {
        let (info, matrix) = held(&world, at);
        let off = at == (guid, PortNum(1)) || at == (switch, peer.port);
        assert_eq!(info.interleave_max_nest_level_tx_enabled == 0, off);
        assert_eq!(matrix == [0; 4], off, "{at:?}");
    }
    assert_eq!(world.forced_sweep().sets, 0);
}

/// If both ends mark lanes, markers are used instead of nesting.
#[test]
fn markers_go_before_nesting() {
    let mut topology = interleaving();
    for id in (0..topology.len() as u32).map(NodeId) {
        let node = topology.node_mut(id).unwrap();
        let (switch, numbers) = (node.is_switch(), node.ports().map(|(number, _)| number));
        for number in numbers.collect::<Vec<_>>() {
            let info = &mut node.port_mut(number).unwrap().info;
            info.capability_mask3.is_vl_marker_supported = true;
            if !switch {
                info.preemption_max_small_pkt_limit = 3;
                info.interleave_distance_supported = 3;
            }
        }
    }
    let world = up(topology, ranked(RANKS));
    let hfis = world.topology.hfis().map(|(_, node)| node.guid());
    for hfi in hfis {
        let (info, matrix) = held(&world, (hfi, PortNum(1)));
        assert!(info.is_vl_marker_enabled);
        assert_eq!(info.interleave_max_nest_level_tx_enabled, 0);
        // The most that the port can do, and the one distance that the switch's port can do too.
        assert_eq!(info.preemption_small_pkt_limit, 3);
        assert_eq!(info.interleave_distance_enabled, 1);
        assert_eq!(matrix, MATRIX);
    }
}

#[test]
fn ranks_that_are_taken_back_switch_it_off() {
    let mut world = up(interleaving(), ranked(RANKS));
    world.restart(ranked([0; 4]), None);
    world.sweep();
    for at in world.cabled() {
        let (info, _) = held(&world, at);
        assert_eq!(info.interleave_max_nest_level_tx_enabled, 0, "{at:?}");
    }
    assert_eq!(world.forced_sweep().sets, 0);
    world.restart(ranked([3, 2, 1, 0]), None);
    world.sweep();
    for at in world.cabled() {
        let (info, matrix) = held(&world, at);
        assert_eq!(info.interleave_max_nest_level_tx_enabled, 1, "{at:?}");
        assert_eq!(matrix, [0b110, 0b100, 0, 0], "{at:?}");
    }
    assert_eq!(world.forced_sweep().sets, 0);
}
