//! PortInfo, SwitchInfo and the tables of ports: what differs.

use weft_fabric::PortNum;
use weft_wire::enums::PortState;
use weft_wire::sm::PortModifier;

use super::writer::{Item, Writer};
use crate::sm::tables::{Kind, TableId, mapped_ports};
use crate::sm::wanted::switch;

impl Writer<'_> {
    /// Settings of an HFI; SwitchInfo, port 0, and what all ports of a switch share.
    pub(super) fn write_node(&mut self) -> bool {
        match self.device().is_switch() {
            true => self.fill(Self::switch_item),
            false => self.fill(Self::hfi_item),
        }
    }

    fn hfi_item(&mut self, cursor: u32) -> Item {
        let port = self.device().end_port();
        match cursor as usize {
            0 => self.write_port(port),
            item @ 1..=Kind::SETTINGS => self.write_port_table(port, Kind::ALL[item - 1]),
            item if item == Kind::SETTINGS + 1 => self.arm_behind(port),
            _ => Item::End,
        }
    }

    /// Arms an HFI's port behind all its settings: the agent stops at the first that fails.
    fn arm_behind(&mut self, port: PortNum) -> Item {
        match self.needs.may_arm(self.node, port) {
            true => self.push_states(&[port], PortState::ARMED),
            false => Item::Next,
        }
    }

    fn switch_item(&mut self, cursor: u32) -> Item {
        let all_tables = 2 + Kind::SETTINGS;
        match cursor as usize {
            0 => self.write_switch(),
            1 => self.write_port(PortNum(0)),
            item if item < all_tables => self.write_port_table(PortNum(0), Kind::ALL[item - 2]),
            item if item < all_tables + Kind::SETTINGS => {
                self.write_shared_table(Kind::ALL[item - all_tables])
            }
            item if item == all_tables + Kind::SETTINGS => self.write_shared_port(),
            _ => Item::End,
        }
    }

    fn write_switch(&mut self) -> Item {
        let pause = self.needs.plan.pause || self.needs.groups_differ(self.node);
        let wanted = self.needs.wanted_switch_first(self.node, pause);
        match self.device().observed.switch().zip(wanted) {
            Some((held, wanted))
                if self.needs.rewrites || !switch::same_settings(&held, &wanted) =>
            {
                self.push_switch(&wanted)
            }
            _ => Item::Next,
        }
    }

    fn write_port(&mut self, port: PortNum) -> Item {
        match self.needs.port_to_write(self.node, port) {
            Some(info) => self.push_port(PortModifier::one(port), &info),
            None => Item::Next,
        }
    }

    fn write_port_table(&mut self, port: PortNum, kind: Kind) -> Item {
        match self.needs.table_to_write(self.node, port, kind) {
            TableId::UNKNOWN => Item::Next,
            id => self.push_table(kind, self.table_modifier(kind, port, 1), id),
        }
    }

    /// The attribute modifier for a table of `count` ports from `port` on.
    pub(super) fn table_modifier(&self, kind: Kind, port: PortNum, count: u8) -> u32 {
        match kind {
            Kind::ScToSc => {
                let ports = mapped_ports(self.device().observed.num_ports());
                kind.modifier(port, ports, false)
            }
            _ => kind.modifier(port, count, false),
        }
    }

    /// Maps of service channels, of one ingress port after the other.
    pub(super) fn write_channels(&mut self) -> bool {
        let ports = match self.device().is_switch() {
            true => u32::from(self.device().observed.num_ports()),
            false => 0,
        };
        self.fill(|writer, cursor| match cursor < ports {
            true => writer.write_port_table(PortNum(cursor as u8 + 1), Kind::ScToSc),
            false => Item::End,
        })
    }

    /// P_Key tables of all ports, then which of them check keys.
    pub(super) fn write_keys(&mut self) -> bool {
        let ports: Vec<PortNum> = self.device().ports_with_tables().collect();
        self.fill(|writer, cursor| {
            let cursor = cursor as usize;
            let table = ports.get(cursor);
            let info = cursor.checked_sub(ports.len()).and_then(|at| ports.get(at));
            match (table, info) {
                (Some(port), _) => writer.write_port_table(*port, Kind::PKeys),
                (None, Some(port)) => writer.write_port(*port),
                (None, None) => Item::End,
            }
        })
    }

    fn push_table(&mut self, kind: Kind, modifier: u32, id: TableId) -> Item {
        let content = self.needs.devices.tables.content(id);
        self.push(kind.attribute(), modifier, content.len(), |to| {
            to.copy_from_slice(content)
        })
    }

    /// Whether each port's table of this kind has a datagram of its own.
    fn goes_alone(&self, kind: Kind) -> bool {
        kind == Kind::Buffers && !self.needs.settings.requests.shares_buffer_control
    }

    /// Whether one Set may go to all external ports of a switch: none of them carries data.
    fn is_quiet(&self) -> bool {
        let node = self.device().observed.node.as_deref();
        node.is_some_and(|node| {
            node.external_ports()
                .all(|(_, port)| port.info.port_state <= PortState::INIT)
        })
    }

    /// One Set for all external ports where all need the same table.
    fn write_shared_table(&mut self, kind: Kind) -> Item {
        if !kind.has_all_ports() || self.goes_alone(kind) || !self.is_quiet() {
            return Item::Next;
        }
        let ports = self.device().observed.linked_ports();
        let mut wanted = ports.map(|port| self.needs.table_to_write(self.node, port, kind));
        let Some(first) = wanted.next().filter(|first| *first != TableId::UNKNOWN) else {
            return Item::Next;
        };
        let mut others = wanted.peekable();
        let several = others.peek().is_some() && others.all(|id| id == first);
        if !several {
            return Item::Next;
        }
        self.push_table(kind, kind.modifier(PortNum(1), 1, true), first)
    }

    /// One Set for all external ports where most need the same PortInfo; the others get theirs
    /// afterwards.
    fn write_shared_port(&mut self) -> Item {
        if !self.is_quiet() {
            return Item::Next;
        }
        let (needs, node) = (self.needs, self.node);
        let faces_switch = |port: &PortNum| {
            let peer = needs.peer_info(node, *port);
            peer.is_some_and(|(peer, _)| peer.is_switch())
        };
        let ports = self.device().observed.linked_ports().filter(faces_switch);
        let mut needed = ports.filter_map(|port| needs.port_to_write(node, port));
        let Some(first) = needed.next().filter(|_| needed.next().is_some()) else {
            return Item::Next;
        };
        let modifier = PortModifier {
            all_ports: true,
            ..PortModifier::one(PortNum(1))
        };
        self.push_port(modifier, &first)
    }

    /// Writes the differences of single ports of a switch: tables of neighbouring ports together, then PortInfo.
    pub(super) fn write_ports(&mut self) -> bool {
        let ports = u32::from(self.device().observed.num_ports());
        let tables = Kind::SETTINGS as u32 * ports;
        loop {
            let cursor = self.cursor;
            let port = PortNum((cursor % ports.max(1)) as u8 + 1);
            let advance = if cursor < tables {
                self.write_run(port, Kind::ALL[(cursor / ports) as usize])
            } else if cursor < tables + ports {
                matches!(self.write_port(port), Item::Next).then_some(1)
            } else {
                None
            };
            match advance {
                Some(count) => self.cursor += u32::from(count),
                None => return !self.batch.is_empty(),
            }
        }
    }

    /// Writes a table of `port` and of those after it that need one of that kind too; returns how
    /// many ports are done, none when the batch is full.
    fn write_run(&mut self, port: PortNum, kind: Kind) -> Option<u8> {
        if self.needs.table_to_write(self.node, port, kind) == TableId::UNKNOWN {
            return Some(1);
        }
        let last = self.device().observed.num_ports();
        let most = if self.goes_alone(kind) {
            1
        } else {
            kind.ports_max()
        };
        let ids: Vec<TableId> = (port.0..=last)
            .take(usize::from(most))
            .map(|port| self.needs.table_to_write(self.node, PortNum(port), kind))
            .take_while(|id| *id != TableId::UNKNOWN)
            .collect();
        let count = ids.len() as u8;
        let modifier = self.table_modifier(kind, port, count);
        let (len, stride) = (kind.len(last), kind.stride(last));
        let len = stride * (ids.len() - 1) + len;
        let tables = &self.needs.devices.tables;
        let pushed = self.push(kind.attribute(), modifier, len, |to| {
            for (block, id) in to.chunks_mut(stride).zip(&ids) {
                let content = tables.content(*id);
                block[..content.len()].copy_from_slice(content);
            }
        });
        matches!(pushed, Item::Next).then_some(count)
    }
}
