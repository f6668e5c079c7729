//! Registers of emulated devices as a manager knows them.

use weft_dataplane::switch::BLOCK;
use weft_dataplane::{Network, PortIndex, PortTable, SwitchRegisters};
use weft_fabric::enums::{PhysState, PortState};
use weft_fabric::port_tables::{PortTable as Held, channel_maps};
use weft_fabric::tables::block_of;
use weft_fabric::{NodeId, PortNum, SwitchPortGroups};
use weft_manager::sm::device_registers::DeviceRegisters;
use weft_wire::sm::{PortInfo, SwitchInfo};

/// LIDs in a block of the multicast table.
const MLIDS: usize = 8;
/// Parts of 64 ports that a mask has.
const POSITIONS: u8 = 4;

/// Writes what devices hold to those of the network, and sets the states of their ports. Ports without a link stay so, and
/// values that a device does not take stay as they are there.
pub(super) fn write(network: &mut Network, devices: impl Iterator<Item = DeviceRegisters>) {
    let (mut ports, mut switches) = (Vec::new(), Vec::new());
    for device in devices {
        let Some(id) = network.find(device.node.guid()) else {
            continue;
        };
        write_forwarding(network, id, &device);
        for (port, kind, content) in &device.tables {
            write_table(network, id, *port, *kind, content);
        }
        switches.extend(device.node.switch.map(|info| {
            // A one clears it.
            let port_state_change = !info.port_state_change;
            let settings = SwitchInfo {
                port_state_change,
                ..info
            };
            (id, settings)
        }));
        let here = network.device_at(id).ports();
        let held = here.filter_map(|(number, at)| Some((at, device.node.port(number)?.info)));
        ports.extend(held);
    }
    ports
        .iter()
        .for_each(|(at, info)| write_settings(network, *at, info));
    // Both ends of a link are armed before one is active.
    for state in [PortState::ARMED, PortState::ACTIVE] {
        for (at, _) in ports.iter().filter(|(_, info)| info.port_state >= state) {
            network.start_configuration(*at);
            let _ = network.request_state(*at, state, PhysState::NOP);
        }
    }
    for (id, info) in switches {
        if let Some(switch) = network.switch_mut(id) {
            let _ = switch.set_info(&info);
        }
    }
    // They are as they were, so that no trap tells of it.
    network.take_changed();
}

fn write_forwarding(network: &mut Network, id: NodeId, device: &DeviceRegisters) {
    let Some(switch) = network.switch_mut(id) else {
        return;
    };
    for block in 0..device.linear.len().div_ceil(BLOCK) {
        let _ = switch.set_linear_block(block as u32, &block_of(&device.linear, block));
    }
    if let Some(groups) = &device.groups {
        write_groups(switch, groups);
    }
    for (block, rows) in device.multicast.chunks(MLIDS).enumerate() {
        for position in 0..POSITIONS {
            let mut content = [0; BLOCK];
            for (to, row) in content.chunks_exact_mut(8).zip(rows) {
                to.copy_from_slice(&row.word(usize::from(position)).to_be_bytes());
            }
            let _ = switch.set_multicast_block(position, block as u32, &content);
        }
    }
}

fn write_groups(switch: &mut SwitchRegisters, groups: &SwitchPortGroups) {
    let blocks = groups.groups.len().div_ceil(SwitchPortGroups::PER_BLOCK);
    for (block, position) in (0..blocks).flat_map(|block| (0..POSITIONS).map(move |at| (block, at)))
    {
        let content = groups.block(position.into(), block);
        let _ = switch.set_port_group_block(position, block as u8, &content);
    }
    for block in 0..groups.fdb.len().div_ceil(BLOCK) {
        let _ = switch.set_port_group_fdb_block(block as u32, &block_of(&groups.fdb, block));
    }
}

fn write_table(network: &mut Network, id: NodeId, port: PortNum, kind: Held, content: &[u8]) {
    let table = match kind {
        Held::PKeys => PortTable::PKeys,
        Held::SlToSc => PortTable::SlToSc,
        Held::ScToSl => PortTable::ScToSl,
        Held::ScToVlr => PortTable::ScToVlr,
        Held::ScToVlt => PortTable::ScToVlt,
        Held::ScToVlnt => PortTable::ScToVlnt,
        Held::ArbitrationLow => PortTable::VlArbLow,
        Held::ArbitrationHigh => PortTable::VlArbHigh,
        Held::Buffers => PortTable::BufferControl,
        Held::Preemption => PortTable::VlArbMatrix,
        Held::ScToSc => return write_channels(network, id, port, content),
    };
    if let Some(at) = network.device_at(id).port(port) {
        network.write_table(at, table, 0, content);
    }
}

fn write_channels(network: &mut Network, id: NodeId, ingress: PortNum, content: &[u8]) {
    for (map, egress) in channel_maps(content) {
        if let Ok(map) = map.try_into() {
            let pairs = |from: PortNum, to: PortNum| from == ingress && egress.contains(to);
            let _ = network.write_channel_map(id, map, pairs);
        }
    }
}

fn write_settings(network: &mut Network, at: PortIndex, info: &PortInfo) {
    let is_disabled = info.phys_state == PhysState::DISABLED;
    let settings = PortInfo {
        port_state: PortState::NOP,
        phys_state: if is_disabled {
            PhysState::DISABLED
        } else {
            PhysState::NOP
        },
        ..*info
    };
    let _ = network.set_port_info(at, &settings);
    network.set_led(at, info.led_enabled);
}

#[cfg(test)]
#[path = "registers_tests.rs"]
mod tests;
