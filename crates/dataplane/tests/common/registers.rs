//! Registers of congestion control, multicast and adaptive routing, set by hand.

use std::collections::BTreeMap;

use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Lid, NodeId};
use weft_wire::Layout;
use weft_wire::sm::{
    CctEntry, HfiCongestionControlTable, HfiCongestionSetting, HfiCongestionSettingEntry,
    MulticastFdb, SwitchCongestionSetting,
};

use super::hosts;

/// Every switch marks from `threshold` on, every HFI reacts on service level 0.
pub fn control(network: &mut Network, threshold: u8, multiplier: u16) {
    let switch = SwitchCongestionSetting {
        control_map: 4,
        threshold,
        ..SwitchCongestionSetting::default()
    };
    let mut hfi = HfiCongestionSetting {
        control_map: 1,
        ..HfiCongestionSetting::default()
    };
    hfi.hfi_congestion_entry_list[0] = HfiCongestionSettingEntry {
        ccti_increase: 1,
        ccti_timer: 10,
        ..HfiCongestionSettingEntry::default()
    };
    let mut table = HfiCongestionControlTable {
        ccti_limit: 63,
        ..HfiCongestionControlTable::default()
    };
    let entries = &mut table.cct_block_list.cct_entry_list;
    for (index, entry) in entries.iter_mut().enumerate() {
        *entry = CctEntry {
            cct_shift: 2,
            cct_multiplier: index as u16 * multiplier,
        };
    }
    let nodes: Vec<_> = network.topology().nodes().map(|(id, _)| id).collect();
    for id in nodes {
        if network.switch(id).is_some() {
            network.write_congestion_setting(id, 0, &switch.to_bytes());
        } else {
            network.write_congestion_setting(id, 0, &hfi.to_bytes());
            network.write_congestion_table(id, 0, &table.to_bytes());
        }
    }
}

/// Writes the row of a group on each switch: the ports of a spanning tree of switches and of all
/// hosts but the last.
pub fn program_group(network: &mut Network, group: u32) {
    let members = hosts(network);
    let members = &members[..members.len() - 1];
    let topology = network.topology().clone();
    let mut rows: BTreeMap<NodeId, u64> = BTreeMap::new();
    let mut add = |network: &Network, at: PortIndex| {
        let row = rows.entry(network.node_of(at)).or_default();
        *row |= 1 << network.number_of(at).0;
    };
    for (host, _) in members {
        add(network, network.peer(*host).unwrap());
    }
    // The first switch reached joins: breadth first from the first one.
    let mut reached = vec![topology.switches()[0]];
    let mut place = 0;
    while place < reached.len() {
        let node = topology.node(reached[place]).unwrap();
        for (number, port) in node.external_ports() {
            let Some(peer) = port.peer else { continue };
            if topology.switch_index(peer.node).is_some() && !reached.contains(&peer.node) {
                reached.push(peer.node);
                let at = network.device_at(reached[place]).port(number).unwrap();
                add(network, at);
                add(network, network.peer(at).unwrap());
            }
        }
        place += 1;
    }
    prune(network, &mut rows);
    write_group(network, group, &rows);
}

/// Writes the ports of a group into switches: bit n is port n.
pub fn write_group(network: &mut Network, group: u32, rows: &BTreeMap<NodeId, u64>) {
    for (id, row) in rows {
        let id = *id;
        let registers = network.switch_mut(id).unwrap();
        let block = group / MulticastFdb::LIDS;
        let mut content = registers.multicast_block(0, block).unwrap();
        let start = (group % MulticastFdb::LIDS) as usize * 8;
        content[start..start + 8].copy_from_slice(&row.to_be_bytes());
        registers.set_multicast_block(0, block, &content).unwrap();
        let mut info = *registers.info();
        info.multicast_fdb_top = Lid::MULTICAST_BASE.0 + group;
        registers.set_info(&info).unwrap();
    }
}

/// Takes switches out that the packets would only be sent to.
fn prune(network: &Network, rows: &mut BTreeMap<NodeId, u64>) {
    let peer = |id: NodeId, row: u64| {
        let number = weft_fabric::PortNum(row.trailing_zeros() as u8);
        network
            .peer(network.device_at(id).port(number).unwrap())
            .unwrap()
    };
    while let Some((id, other)) = rows.iter().find_map(|(id, row)| {
        let other = peer(*id, *row);
        let leaf = row.is_power_of_two() && network.switch(network.node_of(other)).is_some();
        leaf.then_some((*id, other))
    }) {
        rows.remove(&id);
        let row = rows.get_mut(&network.node_of(other)).unwrap();
        *row &= !(1 << network.number_of(other).0);
    }
}

/// Every switch moves lost routes, to any port that leads to another switch, drawn at random.
pub fn adapt(network: &mut Network) {
    for id in network.topology().switches().to_vec() {
        let ports = network.device_at(id).ports();
        let up = ports.filter(|(_, at)| {
            let peer = network.peer(*at).map(|peer| network.node_of(peer));
            peer.is_some_and(|peer| network.switch(peer).is_some())
        });
        let mask = up.fold(0_u64, |mask, (number, _)| mask | 1 << (number.0 - 1));
        let registers = network.switch_mut(id).unwrap();
        registers.set_port_group_fdb_block(0, &[0; 64]).unwrap();
        let mut groups = [0; 64];
        groups[..8].copy_from_slice(&mask.to_be_bytes());
        registers.set_port_group_block(0, 0, &groups).unwrap();
        let mut info = *registers.info();
        (info.ar_enable, info.ar_algorithm) = (true, 0);
        registers.set_info(&info).unwrap();
    }
}
