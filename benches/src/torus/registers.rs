//! OpenSM's tables in the registers of the packet model.
//!
//! InfiniBand has the service level in the packet, and each switch looks its VL up by ingress, egress and level.
//! Here the packet has a service channel that switches may change by ingress and egress, and the VL follows from
//! the channel. So a channel stands for a level in a VL, and a switch's change keeps the level.

use std::collections::{BTreeMap, BTreeSet};

use weft_dataplane::{Network, PortIndex, PortTable};
use weft_fabric::{Lid, NodeId, PortNum, PortRef, SwitchIndex};

use super::Ready;
use super::peer::{LaneMap, Tables};
use crate::Failure;

/// The channel of management datagrams.
const MANAGEMENT: u8 = 15;
/// Service channels there are.
const CHANNELS: usize = 32;
/// Levels of torus-2QoS without its second quality of service.
const LEVELS: u8 = 8;
/// LIDs in a block of a linear table.
const BLOCK: u32 = 64;

fn failed(why: String) -> Failure {
    Failure::OpenSm {
        engine: "torus-2QoS".to_owned(),
        why,
    }
}

/// Writes tables over those of a fabric, and cuts links.
pub(super) fn write(ready: Ready, cuts: &[PortRef], tables: &Tables) -> Result<Ready, Failure> {
    let Ready {
        mut network, hosts, ..
    } = ready;
    for cut in cuts {
        if let Some(at) = network
            .device(cut.node)
            .and_then(|node| node.port(cut.port))
        {
            network.cut_cable(at);
        }
    }
    let channels = Channels::of(tables)?;
    channels.write_ports(&mut network, tables);
    for index in 0..network.topology().switches().len() {
        let index = SwitchIndex(index as u32);
        let id = network.topology().switches()[index.0 as usize];
        write_routes(&mut network, index, id, tables)?;
        channels.write_changes(&mut network, id, tables)?;
    }
    Ok(Ready {
        network,
        hosts: hosts.with_levels_of_paths(tables.levels.clone().into()),
        engine: "torus-2QoS".to_owned(),
    })
}

/// Routes to hosts, whose LIDs are not the same on both sides.
fn write_routes(
    network: &mut Network,
    index: SwitchIndex,
    id: NodeId,
    tables: &Tables,
) -> Result<(), Failure> {
    let hosts: Vec<NodeId> = network.topology().hfis().map(|(node, _)| node).collect();
    let lid_of = |node: NodeId| {
        let port = tables.topology.node(node)?.port(PortNum(1))?;
        Some(port.info.lid)
    };
    for node in hosts {
        let at = network.device_at(node).port(PortNum(1));
        let Some(lid) = at.map(|at| network.port(at).info().lid) else {
            continue;
        };
        let egress = lid_of(node).and_then(|theirs| tables.linear.egress(index, theirs));
        let egress = egress.map_or(weft_fabric::UNREACHABLE, |port| port.0);
        write_route(network, id, lid, egress)
            .ok_or_else(|| failed(format!("the route to LID {lid} is refused")))?;
    }
    Ok(())
}

fn write_route(network: &mut Network, id: NodeId, lid: Lid, egress: u8) -> Option<()> {
    let registers = network.switch_mut(id)?;
    let mut block = registers.linear_block(lid.0 / BLOCK).ok()?;
    block[(lid.0 % BLOCK) as usize] = egress;
    registers.set_linear_block(lid.0 / BLOCK, &block).ok()
}

/// The channel of each level in each VL that some map has.
struct Channels(BTreeMap<(u8, u8), u8>);

impl Channels {
    fn of(tables: &Tables) -> Result<Self, Failure> {
        let in_maps = tables.lanes.values();
        let pairs = in_maps.flat_map(|map| (0..LEVELS).map(|sl| (sl, map[usize::from(sl)])));
        let pairs: BTreeSet<(u8, u8)> = pairs.collect();
        let numbers = (0..CHANNELS as u8).filter(|number| *number != MANAGEMENT);
        if pairs.len() >= CHANNELS {
            return Err(failed(format!(
                "{} pairs of SL and VL, at most 31 fit",
                pairs.len()
            )));
        }
        Ok(Self(pairs.into_iter().zip(numbers).collect()))
    }

    fn channel(&self, sl: u8, map: &LaneMap) -> u8 {
        let pair = (sl, map[usize::from(sl)]);
        self.0.get(&pair).copied().unwrap_or(MANAGEMENT)
    }

    /// Each channel's VL at all ports, and the channels of levels at those of hosts.
    fn write_ports(&self, network: &mut Network, tables: &Tables) {
        let mut lanes: [u8; CHANNELS] = [MANAGEMENT; CHANNELS];
        for ((_, vl), channel) in &self.0 {
            lanes[usize::from(*channel)] = *vl;
        }
        let ports: Vec<(NodeId, PortIndex)> = network
            .devices()
            .flat_map(|(id, device)| device.ports().map(move |(_, at)| (id, at)))
            .collect();
        for (id, at) in ports {
            for table in [PortTable::ScToVlt, PortTable::ScToVlr, PortTable::ScToVlnt] {
                network.write_table(at, table, 0, &lanes);
            }
            if let Some(map) = tables.lanes.get(&(id, PortNum(0), PortNum(0))) {
                let channels: Vec<u8> = (0..LEVELS).map(|sl| self.channel(sl, map)).collect();
                network.write_table(at, PortTable::SlToSc, 0, &channels);
            }
        }
    }

    /// The change of channels between each pair of ports of a switch.
    fn write_changes(
        &self,
        network: &mut Network,
        id: NodeId,
        tables: &Tables,
    ) -> Result<(), Failure> {
        let of_switch = (id, PortNum(0), PortNum(0))..=(id, PortNum(255), PortNum(255));
        for ((_, ingress, egress), map) in tables.lanes.range(of_switch) {
            let mut changes: [u8; CHANNELS] = std::array::from_fn(|sc| sc as u8);
            for ((sl, _), channel) in &self.0 {
                changes[usize::from(*channel)] = self.channel(*sl, map);
            }
            let pair = (*ingress, *egress);
            network
                .write_channel_map(id, &changes, |from, to| (from, to) == pair)
                .map_err(|_| failed(format!("node {} is no switch", id.0)))?;
        }
        Ok(())
    }
}
