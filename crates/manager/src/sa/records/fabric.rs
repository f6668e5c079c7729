//! The fabric as a whole: its counts, and costs from switch to switch.

use std::collections::BTreeMap;

use weft_fabric::enums::{LinkSpeed, LinkWidth, PortState};
use weft_fabric::{NodeId, Port, PortNum, PortRef, PortTable, SwitchIndex, Topology};
use weft_wire::Layout;
use weft_wire::pm::PortMask;
use weft_wire::sa::{
    DeviceTreeMemberRecord, FabricInfoRecord, ScScRecord, SwitchCost, SwitchCostRecord,
};
use weft_wire::sm::ScScMap;

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::view::View;

type Answered = Result<Found, Refusal>;

pub(crate) fn fabric_info(view: &View, _: &Query<'_>) -> Answered {
    let topology = &view.snapshot.topology;
    let mut info = FabricInfoRecord {
        num_hfis: topology.hfis().count() as u32,
        num_switches: topology.switches().len() as u32,
        ..FabricInfoRecord::default()
    };
    for (from, to) in topology.links() {
        count_link(topology, from, to, &mut info);
    }
    Ok(Found::one(&info))
}

fn count_link(topology: &Topology, from: PortRef, to: PortRef, info: &mut FabricInfoRecord) {
    let nodes = topology.node(from.node).zip(topology.node(to.node));
    let ports = topology.port(from).zip(topology.port(to));
    let (Some((a, b)), Some((near, far))) = (nodes, ports) else {
        return;
    };
    let switches = a.is_switch() && b.is_switch();
    let internal = a.info.system_image_guid == b.info.system_image_guid;
    let counter = match (switches, internal) {
        (true, true) => &mut info.num_internal_isls,
        (true, false) => &mut info.num_external_isls,
        (false, true) => &mut info.num_internal_hfi_links,
        (false, false) => &mut info.num_external_hfi_links,
    };
    *counter += 1;
    let omitted = near.info.port_state == PortState::INIT;
    let degraded = !omitted && is_degraded(near, far);
    let counter = match (switches, omitted, degraded) {
        (true, true, _) => &mut info.num_omitted_isls,
        (false, true, _) => &mut info.num_omitted_hfi_links,
        (true, _, true) => &mut info.num_degraded_isls,
        (false, _, true) => &mut info.num_degraded_hfi_links,
        _ => return,
    };
    *counter += 1;
}

/// Whether a link is below the best width or speed that is enabled at both ends.
fn is_degraded(near: &Port, far: &Port) -> bool {
    let (a, b) = (&near.info, &far.info);
    let width = LinkWidth(a.link_width_enabled.0 & b.link_width_enabled.0).lanes();
    let common = a.link_speed_enabled.0 & b.link_speed_enabled.0;
    let fastest = [LinkSpeed::G25, LinkSpeed::G12_5]
        .into_iter()
        .find(|speed| common & speed.0 != 0);
    let speed = fastest.map_or(0, LinkSpeed::lane_mbps);
    let slow = |port: &Port| {
        port.width().lanes() != width || port.info.link_speed_active.lane_mbps() != speed
    };
    slow(near) || slow(far)
}

pub(crate) fn device_tree(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<DeviceTreeMemberRecord>(view, query);
    for (id, node) in nodes_of(view, query) {
        let Some(end) = view.ends_of(id).next().and_then(|end| view.end(end)) else {
            continue;
        };
        let mut active = PortMask::default();
        let up = |port: &Port| port.info.port_state == PortState::ACTIVE;
        node.ports()
            .filter(|(_, port)| up(port))
            .for_each(|(number, _)| active.insert(number));
        records.push(&DeviceTreeMemberRecord {
            lid: end.lid,
            num_ports: node.info.num_ports,
            node_type: node.info.node_type,
            port_mask_act: active,
            guid: end.guid,
            system_image_guid: node.info.system_image_guid,
            node_description: node.description,
            ..DeviceTreeMemberRecord::default()
        });
    }
    records.finish()
}

/// Maps of service channels between the ports of a switch. Where none was written or read, channels stay
/// as they are: the power-on state of switches.
pub(crate) fn sc_sc_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<ScScRecord>(view, query);
    for (id, node) in nodes_of(view, query).filter(|(_, node)| node.is_switch()) {
        let Some(lid) = lid_of_switch(view, id) else {
            continue;
        };
        let up = |port: &Port| port.info.port_state > PortState::DOWN;
        let linked = node.external_ports().filter(|(_, port)| up(port));
        for (input_port, _) in linked.clone() {
            let tables = &view.snapshot.port_tables;
            let at = PortRef {
                node: id,
                port: input_port,
            };
            let maps = tables.table(at, PortTable::ScToSc).unwrap_or_default();
            for (output_port, _) in linked.clone() {
                let map = maps
                    .chunks(ScScMap::LEN)
                    .nth(usize::from(output_port.0) - 1);
                let map = map.and_then(|map| ScScMap::decode(map).ok());
                records.push(&ScScRecord {
                    lid,
                    input_port,
                    output_port,
                    map: map.unwrap_or_else(ScScMap::identity),
                    ..ScScRecord::default()
                });
            }
        }
    }
    records.finish()
}

fn lid_of_switch(view: &View, node: NodeId) -> Option<weft_fabric::Lid> {
    view.lid_of(PortRef {
        node,
        port: PortNum(0),
    })
}

/// Costs from switch to switch: all of one row, or without a LID the half of the matrix below the
/// diagonal.
pub(crate) fn switch_costs(view: &View, query: &Query<'_>) -> Answered {
    let mut records = Records::except::<SwitchCostRecord>(query, 1);
    let topology = &view.snapshot.topology;
    let mut order: Vec<(weft_fabric::Lid, SwitchIndex)> = (0..)
        .zip(topology.switches())
        .filter_map(|(index, id)| Some((lid_of_switch(view, *id)?, SwitchIndex(index))))
        .collect();
    order.sort_unstable();
    let only = query.lid();
    for (lid, switch) in &order {
        if only.is_some_and(|only| only != *lid) {
            continue;
        }
        let costs = costs_from(topology, *switch);
        let row: Vec<SwitchCost> = order
            .iter()
            .filter(|(other, _)| only.is_some() || other < lid)
            .filter_map(|(other, index)| {
                let value = *costs.get(index)?;
                Some(little_endian(*other, value))
            })
            .collect();
        // As with the vendor's manager, the last record of a switch is one that is not full.
        let full = row.chunks_exact(64);
        let rest = full.remainder();
        for part in full.chain([rest]) {
            let mut record = SwitchCostRecord {
                slid: *lid,
                ..SwitchCostRecord::default()
            };
            record
                .cost
                .iter_mut()
                .zip(part)
                .for_each(|(to, from)| *to = *from);
            records.push(&record);
        }
    }
    records.finish()
}

/// A cost as the vendor's manager and clients have it on the wire: little-endian, unlike all else.
fn little_endian(dlid: weft_fabric::Lid, value: u16) -> SwitchCost {
    SwitchCost {
        dlid: weft_fabric::Lid(dlid.0.swap_bytes()),
        value: value.swap_bytes(),
    }
}

/// Least costs from a switch to all that it reaches. A link costs 12, more when it lacks lanes.
fn costs_from(topology: &Topology, from: SwitchIndex) -> BTreeMap<SwitchIndex, u16> {
    let mut settled = BTreeMap::new();
    let mut waiting = std::collections::BTreeSet::from([(0_u16, from)]);
    while let Some((cost, switch)) = waiting.pop_first() {
        if settled.contains_key(&switch) {
            continue;
        }
        settled.insert(switch, cost);
        let node = topology.switches().get(switch.0 as usize);
        let Some(node) = node.and_then(|id| topology.node(*id)) else {
            continue;
        };
        for (_, port) in node.external_ports() {
            let next = port.peer.and_then(|peer| topology.switch_index(peer.node));
            let lanes = port.width().lanes().clamp(1, 4) as u16;
            let active = port.info.port_state == PortState::ACTIVE;
            if let Some(next) = next.filter(|next| active && !settled.contains_key(next)) {
                waiting.insert((cost.saturating_add(LANES_COST / lanes), next));
            }
        }
    }
    settled
}

/// Cost of a link of one lane.
const LANES_COST: u16 = 48;
