//! Reading the tables of ports that were in use before this manager, to write only what differs.

use weft_fabric::PortNum;
use weft_wire::enums::PortState;

use super::writer::{Item, Writer};
use crate::sm::devices::Observed;
use crate::sm::tables::{Kind, TableId};

impl Writer<'_> {
    /// Reads the tables of ports that carry data already, to compare them with the plan.
    pub(super) fn compare(&mut self) -> bool {
        let device = self.device();
        let (first, count) = match device.is_switch() {
            true => (0, u32::from(device.observed.num_ports()) + 1),
            false => (device.end_port().0, 1),
        };
        self.fill(|writer, cursor| {
            if cursor >= Kind::SETTINGS as u32 * count {
                return Item::End;
            }
            let kind = Kind::ALL[(cursor / count) as usize];
            let port = PortNum(first + (cursor % count) as u8);
            writer.read_table(port, kind)
        })
    }

    fn read_table(&mut self, port: PortNum, kind: Kind) -> Item {
        let observed = &self.device().observed;
        // The quick answers first: this looks at every table of every port.
        let is_unknown = observed.table(port, kind) == TableId::UNKNOWN;
        let is_wanted = || self.needs.planned_table(self.node, port, kind) != TableId::UNKNOWN;
        if !(is_unknown && is_live(observed, port) && is_wanted()) {
            return Item::Next;
        }
        let modifier = self.table_modifier(kind, port, 1);
        let len = kind.len(self.device().observed.num_ports());
        self.push(kind.attribute(), modifier, len, |_| {})
    }
}

/// A port that was in use before this manager knew it.
pub(crate) fn is_live(observed: &Observed, port: PortNum) -> bool {
    observed.port(port).is_some_and(|info| match port.0 {
        0 => info.lid.0 != 0,
        _ => info.port_state >= PortState::ARMED,
    })
}

/// Whether something of a node was in use before this manager and has not been read.
pub(crate) fn needs_comparison(observed: &Observed) -> bool {
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
