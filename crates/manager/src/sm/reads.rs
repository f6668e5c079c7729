//! Reads of discovery: the next request of each of its stages.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Guid, PortNum};
use weft_wire::Layout;
use weft_wire::sm::{
    AttributeId, BlockModifier, MulticastModifier, NodeDescription, NodeInfo, PortInfo,
    PortModifier, PortStateInfo, Repeated, SwitchInfo,
};

use super::devices::{Device, Stage};
use super::mft::BLOCK_LEN;
use super::tables::{Kind, TableId, mapped_ports};
use crate::ask::batch::{Batch, PORTS_PER_REQUEST, STATES_PER_REQUEST};

/// A request of discovery under construction for one node.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub device: &'a Device,
    /// The next item of the stage.
    pub cursor: u32,
    pub batch: &'a mut Batch,
    /// Blocks of a table in one datagram.
    pub blocks: usize,
    /// The sweep looks at ports for the first time: marks them, so that a link that bounces shows.
    pub marks: bool,
    /// Blocks of the multicast table, and slices of 64 ports.
    pub multicast: (usize, usize),
}

impl Reader<'_> {
    /// Puts the next request into the batch, as much as fits; returns whether there is one.
    pub(super) fn next(&mut self, stage: Stage) -> bool {
        match stage {
            Stage::Identify => self.ask_identity(),
            Stage::Rearm => self.rearm(),
            Stage::States => self.ask_states(),
            Stage::Ports => self.ask_ports(),
            Stage::ReadTable => self.ask_table(),
            Stage::ReadChannels => self.ask_channels(1),
            Stage::ReadAllChannels => self.ask_channels(self.device.observed.num_ports()),
            Stage::ReadMulticast => self.ask_multicast(),
            _ => false,
        }
    }

    fn ask_identity(&mut self) -> bool {
        let identity = &self.device.identity;
        let own_port = PortNum(u8::from(!identity.said_switch));
        let port = PortModifier::one(own_port).starting_configuration().bits();
        let items = [
            (AttributeId::NODE_INFO, 0, NodeInfo::LEN),
            (AttributeId::NODE_DESCRIPTION, 0, NodeDescription::LEN),
            (AttributeId::PORT_INFO, port, PortInfo::LEN),
            (AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN),
        ];
        let count = match (identity.guid, identity.said_switch) {
            (Guid(0), _) => 1,
            (_, true) => 4,
            (_, false) => 3,
        };
        for (attribute, modifier, len) in items.iter().take(count).skip(self.cursor as usize) {
            if !self.batch.get(*attribute, *modifier, *len) {
                break;
            }
            self.cursor += 1;
        }
        !self.batch.is_empty()
    }

    /// Writes the switch's record of a state change back, so that the next change causes a trap. This
    /// comes before the states are read: later changes are reported.
    fn rearm(&mut self) -> bool {
        let info = self.device.observed.switch();
        let Some(info) = info.filter(|_| self.cursor == 0) else {
            return false;
        };
        self.cursor = 1;
        let info = SwitchInfo {
            port_state_change: true,
            ..info
        };
        let len = SwitchInfo::LEN;
        let attribute = AttributeId::SWITCH_INFO;
        self.batch.push(attribute, 0, len, |to| info.encode(to))
    }

    fn ask_states(&mut self) -> bool {
        let first = self.cursor as u8 + 1;
        let ports = self.device.observed.num_ports();
        if u32::from(ports) <= self.cursor {
            return false;
        }
        let count = (ports - self.cursor as u8).min(STATES_PER_REQUEST);
        self.cursor += u32::from(count);
        let mut modifier = PortModifier::range(PortNum(first), count);
        if self.marks {
            modifier = modifier.starting_configuration();
        }
        let len = usize::from(count) * PortStateInfo::STRIDE;
        let attribute = AttributeId::PORT_STATE_INFO;
        self.batch.get(attribute, modifier.bits(), len)
    }

    /// Neighbouring ports in one read, ports apart from each other as an Aggregate.
    fn ask_ports(&mut self) -> bool {
        let wanted = self.device.work.reading.ports;
        let mut budget = PORTS_PER_REQUEST;
        while budget > 0 {
            let from = self.cursor;
            let Some(first) = wanted.iter().find(|port| u32::from(port.0) >= from) else {
                break;
            };
            let run = (first.0..=u8::MAX).take_while(|port| wanted.contains(PortNum(*port)));
            let count = run.take(usize::from(budget)).count() as u8;
            let modifier = PortModifier::range(first, count).starting_configuration();
            let len = PortInfo::STRIDE * usize::from(count - 1) + PortInfo::LEN;
            // Runs longer than a segment can hold fill a request of their own.
            if !self.batch.get(AttributeId::PORT_INFO, modifier.bits(), len) {
                break;
            }
            self.cursor = u32::from(first.0) + u32::from(count);
            budget -= count;
        }
        !self.batch.is_empty()
    }

    fn ask_table(&mut self) -> bool {
        let left = self.device.work.reading.blocks.saturating_sub(self.cursor);
        let count = (left as usize).min(self.blocks);
        if count == 0 {
            return false;
        }
        let modifier = BlockModifier {
            count: count as u8,
            all_blocks: false,
            block: self.cursor,
        };
        self.cursor += count as u32;
        let attribute = AttributeId::LINEAR_FDB;
        self.batch
            .get(attribute, modifier.bits(), count * LFT_BLOCK)
    }

    /// Maps of service channels from ingress ports up to `last` that are not known.
    fn ask_channels(&mut self, last: u8) -> bool {
        let observed = &self.device.observed;
        let ports = observed.num_ports();
        while self.cursor < u32::from(last) {
            let port = PortNum(self.cursor as u8 + 1);
            let kind = Kind::ScToSc;
            if observed.table(port, kind) == TableId::UNKNOWN {
                let modifier = kind.modifier(port, mapped_ports(ports), false);
                if !self.batch.get(kind.attribute(), modifier, kind.len(ports)) {
                    break;
                }
            }
            self.cursor += 1;
        }
        !self.batch.is_empty()
    }

    fn ask_multicast(&mut self) -> bool {
        let (blocks, positions) = self.multicast;
        let cursor = self.cursor as usize;
        if cursor >= blocks * positions {
            return false;
        }
        let (position, first) = (cursor / blocks, cursor % blocks);
        let count = (blocks - first).min(self.blocks);
        let modifier = MulticastModifier {
            count: count as u8,
            position: position as u8,
            all_blocks: false,
            block: first as u32,
        };
        self.cursor += count as u32;
        let attribute = AttributeId::MULTICAST_FDB;
        self.batch
            .get(attribute, modifier.bits(), count * BLOCK_LEN)
    }
}
