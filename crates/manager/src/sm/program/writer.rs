//! A request under construction for one node.

use weft_fabric::PortNum;
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::sm::{AttributeId, PortInfo, PortModifier, PortStateInfo, SwitchInfo};

use super::needs::Needs;
use crate::ask::batch::{Batch, STATES_PER_REQUEST};
use crate::sm::devices::Device;

/// Puts the remaining work of a node into a request.
///
/// A stage goes through its items in a fixed order. Items that are already correct cost
/// nothing.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub needs: Needs<'a>,
    pub node: u32,
    /// Index of the linear table being written.
    pub step: usize,
    /// The next item of the stage.
    pub cursor: u32,
    pub batch: &'a mut Batch,
}

/// Result of an item.
pub(super) enum Item {
    /// It is in the batch, or there is nothing to do.
    Next,
    /// It does not fit into the batch any more.
    Full,
    /// There are no more items.
    End,
}

impl<'a> Writer<'a> {
    pub(super) fn device(&self) -> &'a Device {
        &self.needs.devices[self.node]
    }

    /// Puts items into the batch until it is full; returns whether any is in it.
    pub(super) fn fill(&mut self, item: impl Fn(&mut Self, u32) -> Item) -> bool {
        loop {
            match item(self, self.cursor) {
                Item::Next => self.cursor += 1,
                Item::Full | Item::End => return !self.batch.is_empty(),
            }
        }
    }

    /// Whether a stage of a single request begins.
    pub(super) fn is_first(&mut self) -> bool {
        std::mem::replace(&mut self.cursor, 1) == 0
    }

    pub(super) fn push(
        &mut self,
        attribute: AttributeId,
        modifier: u32,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Item {
        match self.batch.push(attribute, modifier, len, fill) {
            true => Item::Next,
            false => Item::Full,
        }
    }

    pub(super) fn push_port(&mut self, modifier: PortModifier, info: &PortInfo) -> Item {
        let modifier = modifier.bits();
        self.push(AttributeId::PORT_INFO, modifier, PortInfo::LEN, |to| {
            info.encode(to)
        })
    }

    pub(super) fn push_switch(&mut self, info: &SwitchInfo) -> Item {
        self.push(AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN, |to| {
            info.encode(to)
        })
    }

    /// Sets a state of some of the ports from the first on, in order, as many as fit into a datagram.
    pub(super) fn push_states(&mut self, ports: &[PortNum], wanted: PortState) -> Item {
        let Some((first, last)) = ports.first().copied().zip(ports.last().copied()) else {
            return Item::End;
        };
        let count = usize::from(last.0 - first.0 + 1).min(usize::from(STATES_PER_REQUEST));
        let modifier = PortModifier::range(first, count as u8).bits();
        let asked = PortStateInfo {
            port_state: wanted,
            ..PortStateInfo::default()
        };
        let len = count * PortStateInfo::LEN;
        self.push(AttributeId::PORT_STATE_INFO, modifier, len, |to| {
            for port in ports {
                let block = to
                    .chunks_exact_mut(PortStateInfo::LEN)
                    .nth(usize::from(port.0 - first.0));
                block.into_iter().for_each(|block| asked.encode(block));
            }
        })
    }
}
