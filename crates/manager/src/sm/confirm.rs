//! Confirmation of writes by their answers: only this changes the observed state of a device.

use std::sync::Arc;

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::header::status;
use weft_wire::sm::{
    AttributeId, BlockModifier, PortInfo, PortModifier, PortStateInfo, SwitchInfo, decode_blocks,
};

use super::Manager;
use super::devices::{Device, Devices, Stage, reported_external_port, reported_port};
use super::tables::Kind;
use super::wanted::port::take_settings;
use crate::ask::batch::Reply;

/// Further results of a write's answer.
#[derive(Debug)]
pub(super) enum News {
    /// The node's end port passes on the request to register again.
    Registers,
    /// The partitions of a port have changed.
    Partitions(PortNum),
    /// A port is not in the requested state.
    DidNotFollow(PortNum, PortStateInfo),
}

impl Devices {
    /// Processes the answer to a successful Set, or one that reports the ports' states anyway.
    fn confirm(&mut self, node: u32, reply: &Reply<'_>) -> Vec<News> {
        let mut news = Vec::new();
        match reply.attribute {
            AttributeId::SWITCH_INFO => self.confirm_switch(node, reply),
            AttributeId::PORT_INFO => self.confirm_port(node, reply, &mut news),
            AttributeId::PORT_STATE_INFO => self.confirm_states(node, reply, &mut news),
            AttributeId::LINEAR_FDB => self.confirm_table(node, reply),
            AttributeId::MULTICAST_FDB => self[node].confirm_multicast(reply),
            attribute if is_of_groups(attribute) => {
                // A part that the device did not take over.
                let held = reply.data.get(..reply.asked.len());
                self[node].observed.groups_refused |= held != Some(reply.asked);
            }
            _ => self.confirm_port_tables(node, reply, &mut news),
        }
        news
    }

    fn confirm_switch(&mut self, node: u32, reply: &Reply<'_>) {
        let device = &mut self[node];
        let (Ok(info), Some(held)) = (
            SwitchInfo::decode(reply.data),
            device.observed.node.as_mut(),
        ) else {
            return;
        };
        if held.switch != Some(info) {
            Arc::make_mut(held).switch = Some(info);
        }
    }

    fn confirm_port(&mut self, node: u32, reply: &Reply<'_>, news: &mut Vec<News>) {
        let modifier = PortModifier::from_bits(reply.modifier);
        let Ok(info) = PortInfo::decode(reply.data) else {
            return;
        };
        let first = match self[node].is_switch() {
            true => modifier.port,
            false => self[node].end_port(),
        };
        let info = match first == self[node].end_port() {
            true => reported_port(info),
            false => reported_external_port(info),
        };
        if modifier.all_ports {
            // The answer shows the first port; the others have taken over the same settings.
            for port in self[node].observed.linked_ports() {
                let device = &mut self[node];
                device
                    .observed
                    .update_port(port, |held| take_settings(held, &info));
            }
            return;
        }
        let device = &mut self[node];
        if first == device.end_port() {
            device.identity.m_key = (info.m_key != 0).then_some(info.m_key);
            let asked = PortInfo::decode(reply.asked);
            if asked.is_ok_and(|asked| asked.client_reregister) {
                news.push(News::Registers);
            }
        }
        device.observed.update_port(first, |held| {
            *held = PortInfo {
                local_port_num: first,
                client_reregister: false,
                ..info
            };
        });
    }

    /// Records the states of ports as reported by the device.
    fn confirm_states(&mut self, node: u32, reply: &Reply<'_>, news: &mut Vec<News>) {
        let modifier = PortModifier::from_bits(reply.modifier);
        let count = usize::from(modifier.count);
        let asked = decode_blocks::<PortStateInfo>(reply.asked, count);
        let held = decode_blocks::<PortStateInfo>(reply.data, count);
        for (offset, (asked, held)) in asked.flatten().zip(held.flatten()).enumerate() {
            let device = &mut self[node];
            let port = match device.is_switch() {
                true => PortNum(modifier.port.0.saturating_add(offset as u8)),
                false => device.end_port(),
            };
            device.observed.update_port(port, |info| {
                info.port_state = held.port_state;
                info.phys_state = held.phys_state;
                info.neighbor_normal = held.neighbor_normal;
                info.is_sm_configuration_started = held.is_sm_configuration_started;
                info.led_enabled = held.led_enabled;
            });
            let wanted = asked.port_state != PortState::NOP;
            if wanted && held.port_state < asked.port_state {
                news.push(News::DidNotFollow(port, held));
            }
        }
    }

    fn confirm_port_tables(&mut self, node: u32, reply: &Reply<'_>, news: &mut Vec<News>) {
        let Some((kind, first, count, all)) = Kind::of(reply.attribute, reply.modifier) else {
            return;
        };
        let ports = self[node].observed.num_ports();
        let (len, stride) = (kind.len(ports), kind.stride(ports));
        if all {
            let asked = reply.asked.get(..len).unwrap_or_default();
            if reply.data.get(..len) == Some(asked) {
                let id = self.tables.intern(asked);
                for port in self[node].observed.linked_ports() {
                    self[node].observed.set_table(port, kind, id);
                }
            }
            return;
        }
        for offset in 0..count {
            let at = usize::from(offset) * stride;
            let asked = reply.asked.get(at..at + len).unwrap_or_default();
            if !asked.is_empty() && reply.data.get(at..at + len) == Some(asked) {
                let id = self.tables.intern(asked);
                let port = PortNum(first.0.saturating_add(offset));
                let port = table_port(&self[node], port, kind);
                self[node].observed.set_table(port, kind, id);
                if kind == Kind::PKeys {
                    news.push(News::Partitions(port));
                }
            }
        }
    }

    /// Keeps a table of a port that was read.
    pub(super) fn learn_port_table(&mut self, node: u32, reply: &Reply<'_>) {
        let Some((kind, port, _, _)) = Kind::of(reply.attribute, reply.modifier) else {
            return;
        };
        let len = kind.len(self[node].observed.num_ports());
        if let Some(held) = reply.data.get(..len) {
            let port = table_port(&self[node], port, kind);
            let id = self.tables.intern(held);
            self[node].observed.set_table(port, kind, id);
        }
    }

    fn confirm_table(&mut self, node: u32, reply: &Reply<'_>) {
        let device = &mut self[node];
        for (block, held) in confirmed_blocks(reply) {
            device.observed.lft.confirm(block, held);
        }
    }
}

/// The blocks of a linear table that a switch has taken over, with their numbers.
fn confirmed_blocks<'a>(reply: &Reply<'a>) -> impl Iterator<Item = (usize, &'a [u8])> {
    let modifier = BlockModifier::from_bits(reply.modifier);
    let count = usize::from(modifier.count);
    let asked = reply.asked.chunks_exact(LFT_BLOCK).take(count);
    let blocks = asked.zip(reply.data.chunks_exact(LFT_BLOCK)).enumerate();
    blocks
        .filter(|(_, (asked, held))| asked == held)
        .map(move |(offset, (_, held))| (modifier.block as usize + offset, held))
}

impl Manager {
    /// Processes the answer to a successful Set.
    pub(super) fn confirm(&mut self, node: u32, reply: &Reply<'_>) {
        if reply.attribute == AttributeId::LINEAR_FDB {
            let guid = self.devices[node].identity.guid;
            let blocks = confirmed_blocks(reply).count() as u32;
            self.sweep.written.add(guid, blocks);
        }
        for news in self.devices.confirm(node, reply) {
            let device = &self.devices[node];
            match news {
                News::Registers => {
                    let registering = &mut self.registrations.registering;
                    registering.confirmed(device.identity.guid);
                }
                News::Partitions(port) => {
                    self.registrations.registering.rejoins(device, port);
                }
                News::DidNotFollow(port, held) => self.did_not_follow(node, port, &held),
            }
        }
    }

    /// An agent refused an attribute.
    pub(super) fn refused(
        &mut self,
        now: Tick,
        node: u32,
        cursor: u32,
        set: bool,
        reply: &Reply<'_>,
        code: u16,
    ) {
        if set && reply.attribute == AttributeId::PORT_STATE_INFO {
            // The answer has the ports' states anyway.
            self.confirm(node, reply);
            return;
        }
        let is_multicast = set && reply.attribute == AttributeId::MULTICAST_FDB;
        if is_multicast && self.settings.requests.trusts_multicast {
            self.confirm(
                node,
                &Reply {
                    data: reply.asked,
                    ..*reply
                },
            );
            return;
        }
        let device = &mut self.devices[node];
        let in_aggregate = code == status::OK;
        if in_aggregate && !device.health.single {
            device.health.single = true;
            device.work.cursor = device.work.cursor.min(cursor);
            return;
        }
        let guid = device.identity.guid;
        let verb = if set { "write" } else { "read" };
        if device.work.stage == Stage::Compare {
            return; // what cannot be read is written
        }
        let attribute = reply.attribute;
        let what = format!("refuses to {verb} {attribute} with status {code:#06x}");
        if set {
            device.observed.groups_refused |= is_of_groups(attribute);
            self.out.fault_once(device, &what);
        } else {
            self.out.fault(Some(guid), what);
            self.give_up(now, node);
        }
    }
}

/// Whether an attribute is a table of adaptive groups.
fn is_of_groups(attribute: AttributeId) -> bool {
    matches!(
        attribute,
        AttributeId::PORT_GROUP_TABLE | AttributeId::PORT_GROUP_FDB
    )
}

/// The port that a table belongs to: an HFI has one, and some tables belong to port 0.
pub(super) fn table_port(device: &Device, port: PortNum, kind: Kind) -> PortNum {
    match kind.of_end_ports() || !device.is_switch() {
        true => device.end_port(),
        false => port,
    }
}
