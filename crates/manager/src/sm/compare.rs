//! Reading the tables of ports that were in use before this manager, to write only what differs.

use weft_fabric::PortNum;
use weft_wire::enums::PortState;

use super::Manager;
use super::devices::{Observed, TABLE_KINDS};
use super::tables::{Kind, TableId};

impl Manager {
    /// Reads the tables of ports that carry data already, to compare them with what they should be.
    pub(super) fn next_comparison(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let device = &self.devices[node];
        let (first, count) = match device.is_switch() {
            true => (0, u32::from(device.observed.num_ports()) + 1),
            false => (device.end_port().0, 1),
        };
        loop {
            let cursor = self.devices[node].work.cursor;
            if cursor >= TABLE_KINDS as u32 * count {
                return !self.requests.batch.is_empty();
            }
            let kind = Kind::ALL[(cursor / count) as usize];
            let port = PortNum(first + (cursor % count) as u8);
            let unknown =
                self.devices[node].observed.tables(port).ids[kind.index()] == TableId::UNKNOWN;
            let wanted = self.wanted_table(node, port, kind) != TableId::UNKNOWN;
            if unknown && wanted && is_live(&self.devices[node].observed, port) {
                let modifier = kind.modifier(port, 1, false);
                if !self
                    .requests
                    .batch
                    .get(kind.attribute(), modifier, kind.len())
                {
                    return true;
                }
            }
            self.devices[node].work.cursor += 1;
        }
    }
}

/// A port that was in use before this manager knew it.
fn is_live(observed: &Observed, port: PortNum) -> bool {
    observed.port(port).is_some_and(|info| match port.0 {
        0 => info.lid.0 != 0,
        _ => info.port_state >= PortState::ARMED,
    })
}

pub(super) fn needs_comparison(observed: &Observed) -> bool {
    let ports = observed
        .node
        .as_deref()
        .map(|node| node.ports())
        .into_iter()
        .flatten();
    ports.into_iter().any(|(port, _)| {
        is_live(observed, port) && observed.tables(port).ids.contains(&TableId::UNKNOWN)
    })
}
