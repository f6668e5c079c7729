//! Processing of attributes read from a node.

use std::sync::Arc;

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Guid, Node, Port, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::{NodeType, PortState};
use weft_wire::sm::{
    AttributeId, BlockModifier, NodeDescription, NodeInfo, PortInfo, PortModifier, PortStateInfo,
    SwitchInfo, decode_blocks,
};

use super::Manager;
use super::admission::{Rejection, check};
use super::devices::is_up;
use super::devices::{
    Device, Lft, LidReading, Observed, PortTables, Stage, reported_external_port, reported_port,
};
use super::settings::AdmissionSettings;
use crate::ask::batch::Reply;

/// Most external ports of a switch: port numbers are bytes, 255 is not a port.
const PORTS_MAX: u8 = 254;

impl Manager {
    /// Processes an attribute that was read.
    pub(super) fn learn(&mut self, now: Tick, node: u32, reply: &Reply<'_>) {
        let device = &mut self.devices[node];
        match (reply.attribute, device.work.stage) {
            (AttributeId::NODE_INFO, _) => {
                device.work.reading.identity.info = NodeInfo::decode(reply.data).ok();
            }
            (AttributeId::NODE_DESCRIPTION, _) => {
                device.work.reading.identity.description = NodeDescription::decode(reply.data).ok();
            }
            (AttributeId::SWITCH_INFO, _) => {
                device.work.reading.identity.switch = SwitchInfo::decode(reply.data).ok();
            }
            (AttributeId::PORT_INFO, Stage::Identify) => {
                let port = PortInfo::decode(reply.data).ok();
                device.work.reading.identity.port = port.map(reported_port);
            }
            (AttributeId::PORT_INFO, _) => self.learn_ports(node, reply),
            (AttributeId::PORT_STATE_INFO, _) => self.learn_states(now, node, reply),
            (AttributeId::LINEAR_FDB, _) => learn_table(&mut device.work.reading.lft, reply),
            (AttributeId::MULTICAST_FDB, _) => self.devices[node].confirm_multicast(reply),
            _ => self.devices.learn_port_table(node, reply),
        }
    }

    fn learn_states(&mut self, now: Tick, node: u32, reply: &Reply<'_>) {
        let modifier = PortModifier::from_bits(reply.modifier);
        let blocks = decode_blocks::<PortStateInfo>(reply.data, usize::from(modifier.count));
        for (offset, block) in blocks.flatten().enumerate() {
            let port = PortNum(modifier.port.0.saturating_add(offset as u8));
            self.note_loss(now, node, port, &block);
            let device = &mut self.devices[node];
            // A port whose link bounced has lost the mark of this sweep's first look.
            let marked = !modifier.start_of_sm_configuration && block.is_sm_configuration_started;
            let same = device
                .observed
                .port(port)
                .is_some_and(|held| held.port_state == block.port_state);
            let known = marked && same && device.observed.read_ports.contains(port);
            let behind = device
                .observed
                .port(port)
                .map(|held| held.neighbor_node_guid);
            let changed = learn_state(&mut device.observed, port, &block) && !known;
            if let Some(guid) = behind.filter(|_| block.port_state <= PortState::INIT) {
                self.doubt_key_behind(guid);
            }
            if block.port_state < PortState::INIT {
                self.near_link_is_lost(node, port);
            }
            let device = &mut self.devices[node];
            if changed {
                device.work.reading.ports.insert(port);
            } else {
                device.work.reading.ports.remove(port);
                self.expand(node, port);
            }
        }
    }

    fn learn_ports(&mut self, node: u32, reply: &Reply<'_>) {
        let modifier = PortModifier::from_bits(reply.modifier);
        let blocks = decode_blocks::<PortInfo>(reply.data, usize::from(modifier.count));
        for (offset, block) in blocks.flatten().map(reported_external_port).enumerate() {
            let port = PortNum(modifier.port.0.saturating_add(offset as u8));
            let device = &mut self.devices[node];
            device.work.reading.ports.remove(port);
            if is_up(&block) {
                device.observed.read_ports.insert(port);
            } else {
                device.observed.forget_port(port);
            }
            let block = PortInfo {
                local_port_num: port,
                ..block
            };
            device.observed.update_port(port, |held| *held = block);
            self.near_link_changed(node, port);
            self.expand(node, port);
        }
    }
}

/// Makes a node of what came, or changes it where it is known.
pub(super) fn complete_identity(
    device: &mut Device,
    admission: &AdmissionSettings,
) -> Result<(), Rejection> {
    let identity = std::mem::take(&mut *device.work.reading.identity);
    let (Some(info), Some(description), Some(mut port)) =
        (identity.info, identity.description, identity.port)
    else {
        return Err("does not identify itself".to_owned().into());
    };
    check(device, &info, description, &port, admission)?;
    check_identity(&info, identity.switch.as_ref())?;
    let number = match identity.switch {
        Some(_) => PortNum(0),
        None => port.local_port_num,
    };
    if identity.switch.is_none() && !(1..=info.num_ports).contains(&number.0) {
        return Err(format!("answers from port {number}, it has {}", info.num_ports).into());
    }
    port.local_port_num = number;
    device.identity.entered = number;
    device.identity.lids = LidReading {
        before: device.observed.port(number).map(|held| held.lid),
        reported: port.lid,
    };
    device.settle_doubt();
    note_resets(
        &mut device.observed,
        identity.switch.as_ref(),
        number,
        &port,
    );
    let info = NodeInfo {
        local_port_num: PortNum(0),
        ..info
    };
    renew_node(&mut device.observed, info, description, identity.switch)?;
    device.identity.m_key = (port.m_key != 0).then_some(port.m_key);
    device.observed.read_ports.insert(number);
    device.observed.update_port(number, |held| *held = port);
    Ok(())
}

fn learn_table(lft: &mut Lft, reply: &Reply<'_>) {
    let first = BlockModifier::from_bits(reply.modifier).block as usize;
    let count = usize::from(BlockModifier::from_bits(reply.modifier).count);
    for (offset, block) in reply.data.chunks_exact(LFT_BLOCK).take(count).enumerate() {
        lft.confirm(first + offset, block);
    }
}

fn check_identity(info: &NodeInfo, switch: Option<&SwitchInfo>) -> Result<(), String> {
    let is_switch = info.node_type == NodeType::SWITCH;
    if info.node_guid == Guid(0) || !(is_switch || info.node_type == NodeType::HFI) {
        return Err(format!(
            "has node type {}, allowed: HFI and switch",
            info.node_type
        ));
    }
    if info.num_ports == 0 || info.num_ports > PORTS_MAX {
        return Err(format!(
            "has {} ports, allowed: 1 to {PORTS_MAX}",
            info.num_ports
        ));
    }
    if is_switch != switch.is_some() {
        return Err("is a switch without SwitchInfo".into());
    }
    Ok(())
}

/// Discards state that a node has lost: all of a node that was power-cycled, and the tables of an HFI
/// whose link came up again. Where a link was not armed before it went down, only the LID tells.
fn note_resets(
    observed: &mut Observed,
    switch: Option<&SwitchInfo>,
    number: PortNum,
    port: &PortInfo,
) {
    let Some(held) = observed.port(number).copied() else {
        return;
    };
    let before = observed.switch();
    let reset = match (switch, before) {
        (Some(now), Some(before)) => now.linear_fdb_top != before.linear_fdb_top,
        _ => port.port_state == PortState::INIT && held.port_state != PortState::INIT,
    };
    if reset || port.lid != held.lid {
        observed.forget_tables();
    }
}

fn renew_node(
    observed: &mut Observed,
    info: NodeInfo,
    description: NodeDescription,
    switch: Option<SwitchInfo>,
) -> Result<(), String> {
    let same_shape = observed.node.as_ref().is_some_and(|node| {
        node.info.num_ports == info.num_ports && node.is_switch() == switch.is_some()
    });
    if !same_shape {
        let count = usize::from(info.num_ports) + usize::from(switch.is_some());
        let first = u8::from(switch.is_none());
        let ports = (0..count).map(|index| Port {
            info: PortInfo {
                port_state: PortState::DOWN,
                local_port_num: PortNum(first + index as u8),
                ..PortInfo::default()
            },
            peer: None,
        });
        let node = Node::new(info, description, switch, ports.collect());
        observed.node = Some(Arc::new(node.map_err(|error| error.to_string())?));
        observed.port_tables = vec![PortTables::default(); count];
        observed.read_ports = weft_fabric::PortMask::EMPTY;
        observed.forget_tables();
        return Ok(());
    }
    let Some(node) = observed.node.as_mut() else {
        return Ok(());
    };
    if (node.info, node.description, node.switch) != (info, description, switch) {
        let node = Arc::make_mut(node);
        (node.info, node.description, node.switch) = (info, description, switch);
    }
    Ok(())
}

/// Records the state of a port; returns whether its PortInfo has to be read.
fn learn_state(observed: &mut Observed, port: PortNum, now: &PortStateInfo) -> bool {
    let Some(held) = observed.port(port).copied() else {
        return false;
    };
    let up = now.port_state >= PortState::INIT;
    let read = observed.read_ports.contains(port);
    let bounced = now.port_state == PortState::INIT && held.port_state != PortState::INIT;
    if !up || bounced || !read {
        observed.forget_port(port);
    }
    observed.update_port(port, |info| {
        info.led_enabled = now.led_enabled;
        info.is_sm_configuration_started = now.is_sm_configuration_started;
        info.neighbor_normal = now.neighbor_normal;
        info.offline_disabled_reason = now.offline_disabled_reason;
        info.phys_state = now.phys_state;
        info.port_state = now.port_state;
        info.link_width_downgrade_tx_active = now.link_width_downgrade_tx_active;
        info.link_width_downgrade_rx_active = now.link_width_downgrade_rx_active;
        if !up {
            info.neighbor_node_guid = Guid(0);
            info.neighbor_port_num = PortNum(0);
        }
    });
    up && (!read || now.port_state != held.port_state || now.port_state == PortState::INIT)
}
