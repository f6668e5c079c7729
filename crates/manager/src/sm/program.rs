//! Writing what differs: settings and tables of ports, and SwitchInfo.
//!
//! A stage goes through its items in a fixed order; `cursor` is the next one. Items that are
//! already as they should be cost nothing.

use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::sm::{AttributeId, PortInfo, PortModifier, PortStateInfo, SwitchInfo};

use super::Manager;
use super::compare::needs_comparison;
use super::devices::{Stage, TABLE_KINDS};
use super::sweep::Gate;
use super::tables::{Kind, TableId};
use super::wanted::port::first_difference;
use super::wanted::switch;

/// Times that a stage starts over for a device that does not do as told; for one that did not in the
/// sweep before, none.
const REPEATS_MAX: u32 = 2;

/// Different things that are remembered as reported of a device in one sweep; beyond that, one may be
/// reported again.
const TOLD_MAX: usize = 16;

/// What became of an item.
enum Item {
    /// It is in the batch, or there is nothing to do.
    Next,
    /// It does not fit into the batch any more.
    Full,
    /// There are no more items.
    End,
}

impl Manager {
    /// Gives every node that answered its work.
    pub(super) fn begin_program(&mut self) {
        let number = self.sweep.number;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            if !device.health.works_in(number) {
                continue;
            }
            device.health.stubborn = !std::mem::take(&mut device.work.told).is_empty();
            let stage = match needs_comparison(&device.observed) {
                true => Stage::Compare,
                false => Stage::WriteNode,
            };
            device.work.enter(stage);
            self.requests
                .schedule
                .make_ready(node, &mut self.devices[node].work);
        }
    }

    /// Puts items into the batch until it is full.
    fn fill(&mut self, node: u32, set: bool, item: impl Fn(&mut Self, u32, u32) -> Item) -> bool {
        self.start_batch(node, set);
        loop {
            let cursor = self.devices[node].work.cursor;
            match item(self, node, cursor) {
                Item::Next => self.devices[node].work.cursor += 1,
                Item::Full | Item::End => return !self.requests.batch.is_empty(),
            }
        }
    }

    /// Settings of an HFI; SwitchInfo, port 0, and what all ports of a switch share.
    pub(super) fn next_node_write(&mut self, node: u32) -> bool {
        match self.devices[node].is_switch() {
            true => self.fill(node, true, Self::switch_item),
            false => self.fill(node, true, Self::hfi_item),
        }
    }

    fn hfi_item(&mut self, node: u32, cursor: u32) -> Item {
        let port = self.devices[node].end_port();
        match cursor as usize {
            0 => self.push_port(node, port),
            item @ 1..=TABLE_KINDS => self.push_table(node, port, Kind::ALL[item - 1]),
            item if item == TABLE_KINDS + 1 => self.push_arm(node, port),
            _ => Item::End,
        }
    }

    /// Arms an HFI's port behind all its settings: the agent stops at the first that fails.
    fn push_arm(&mut self, node: u32, port: PortNum) -> Item {
        let armed = PortStateInfo {
            port_state: PortState::ARMED,
            ..PortStateInfo::default()
        };
        if !self.may_arm(node, port) {
            return Item::Next;
        }
        let modifier = PortModifier::one(port).bits();
        let len = PortStateInfo::LEN;
        self.pushed(AttributeId::PORT_STATE_INFO, modifier, len, |to| {
            armed.encode(to)
        })
    }

    fn switch_item(&mut self, node: u32, cursor: u32) -> Item {
        let all_tables = 2 + TABLE_KINDS;
        match cursor as usize {
            0 => self.push_switch(node),
            1 => self.push_port(node, PortNum(0)),
            item if item < all_tables => self.push_table(node, PortNum(0), Kind::ALL[item - 2]),
            item if item < all_tables + TABLE_KINDS => {
                self.push_shared_table(node, Kind::ALL[item - all_tables])
            }
            item if item == all_tables + TABLE_KINDS => self.push_shared_port(node),
            _ => Item::End,
        }
    }

    fn pushed(
        &mut self,
        attribute: AttributeId,
        modifier: u32,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Item {
        match self.requests.batch.push(attribute, modifier, len, fill) {
            true => Item::Next,
            false => Item::Full,
        }
    }

    fn push_switch(&mut self, node: u32) -> Item {
        let device = &self.devices[node];
        let held = device.observed.switch();
        let pause = self.plan.pause || self.groups_differ(node);
        let Some((held, wanted)) = held.zip(self.wanted_switch_first(node, pause)) else {
            return Item::Next;
        };
        if switch::same_settings(&held, &wanted) {
            return Item::Next;
        }
        self.pushed(AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN, |to| {
            wanted.encode(to)
        })
    }

    fn push_port(&mut self, node: u32, port: PortNum) -> Item {
        match self.port_to_write(node, port) {
            Some(info) => {
                let modifier = PortModifier::one(port).bits();
                self.pushed(AttributeId::PORT_INFO, modifier, PortInfo::LEN, |to| {
                    info.encode(to)
                })
            }
            None => Item::Next,
        }
    }

    fn push_table(&mut self, node: u32, port: PortNum, kind: Kind) -> Item {
        let id = self.table_to_write(node, port, kind);
        if id == TableId::UNKNOWN {
            return Item::Next;
        }
        let modifier = kind.modifier(port, 1, false);
        let content = self.tables.content(id);
        match self
            .requests
            .batch
            .push(kind.attribute(), modifier, kind.len(), |to| {
                to.copy_from_slice(content)
            }) {
            true => Item::Next,
            false => Item::Full,
        }
    }

    /// Whether one Set may go to all external ports of a switch: none of them carries data.
    fn is_quiet(&self, node: u32) -> bool {
        let ports = self.devices[node].observed.node.as_deref();
        ports.is_some_and(|node| {
            node.external_ports()
                .all(|(_, port)| port.info.port_state <= PortState::INIT)
        })
    }

    /// One Set for all external ports where all need the same table.
    fn push_shared_table(&mut self, node: u32, kind: Kind) -> Item {
        if !kind.has_all_ports() || !self.is_quiet(node) {
            return Item::Next;
        }
        let mut wanted = self.devices[node]
            .observed
            .linked_ports()
            .map(|port| self.table_to_write(node, port, kind));
        let first = wanted.next().unwrap_or(TableId::UNKNOWN);
        let mut others = wanted.peekable();
        let several = others.peek().is_some() && others.all(|id| id == first);
        if first == TableId::UNKNOWN || !several {
            return Item::Next;
        }
        let modifier = kind.modifier(PortNum(1), 1, true);
        let content = self.tables.content(first);
        match self
            .requests
            .batch
            .push(kind.attribute(), modifier, kind.len(), |to| {
                to.copy_from_slice(content)
            }) {
            true => Item::Next,
            false => Item::Full,
        }
    }

    /// One Set for all external ports where most need the same PortInfo; the others get theirs
    /// afterwards.
    fn push_shared_port(&mut self, node: u32) -> Item {
        if !self.is_quiet(node) {
            return Item::Next;
        }
        let towards_switch = self.devices[node].observed.linked_ports().filter(|port| {
            self.peer_info(node, *port)
                .is_some_and(|(peer, _)| peer.is_switch())
        });
        let mut needed = towards_switch.filter_map(|port| self.port_to_write(node, port));
        let Some(first) = needed.next().filter(|_| needed.next().is_some()) else {
            return Item::Next;
        };
        let modifier = PortModifier {
            all_ports: true,
            ..PortModifier::one(PortNum(1))
        }
        .bits();
        self.pushed(AttributeId::PORT_INFO, modifier, PortInfo::LEN, |to| {
            first.encode(to)
        })
    }

    /// What single ports of a switch need: tables of neighbouring ports together, then PortInfo.
    pub(super) fn next_port_write(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        let ports = u32::from(self.devices[node].observed.num_ports());
        let tables = TABLE_KINDS as u32 * ports;
        loop {
            let cursor = self.devices[node].work.cursor;
            let port = PortNum((cursor % ports.max(1)) as u8 + 1);
            let advance = if cursor < tables {
                self.push_run(node, port, Kind::ALL[(cursor / ports) as usize])
            } else if cursor < tables + ports {
                match self.push_port(node, port) {
                    Item::Next => Some(1),
                    _ => None,
                }
            } else {
                None
            };
            match advance {
                Some(count) => self.devices[node].work.cursor += u32::from(count),
                None => return !self.requests.batch.is_empty(),
            }
        }
    }

    /// Writes a table of `port` and of those after it that need one of that kind too; returns how
    /// many ports are done, none when the batch is full.
    fn push_run(&mut self, node: u32, port: PortNum, kind: Kind) -> Option<u8> {
        let last = self.devices[node].observed.num_ports();
        let ids: Vec<TableId> = (port.0..=last)
            .take(usize::from(kind.ports_max()))
            .map(|port| self.table_to_write(node, PortNum(port), kind))
            .take_while(|id| *id != TableId::UNKNOWN)
            .collect();
        if ids.is_empty() {
            return Some(1);
        }
        let count = ids.len() as u8;
        let modifier = kind.modifier(port, count, false);
        let len = kind.stride() * (ids.len() - 1) + kind.len();
        let tables = &self.tables;
        let fits = self
            .requests
            .batch
            .push(kind.attribute(), modifier, len, |to| {
                for (block, id) in to.chunks_mut(kind.stride()).zip(&ids) {
                    let content = tables.content(*id);
                    block[..content.len()].copy_from_slice(content);
                }
            });
        fits.then_some(count)
    }

    /// What follows a stage of writing that is done; says whether the node goes on at once.
    pub(super) fn after_writing(&mut self, now: Tick, node: u32) -> bool {
        let stage = self.devices[node].work.stage;
        if stage != Stage::Compare && self.is_left_over(node) {
            let device = &mut self.devices[node];
            device.work.cursor = 0;
            device.work.repeats += 1;
            let most = if device.health.stubborn {
                0
            } else {
                REPEATS_MAX
            };
            if device.work.repeats <= most {
                return true;
            }
            self.does_not_obey(now, node, stage);
            if self.devices[node].health.failed {
                return false;
            }
        }
        let device = &self.devices[node];
        let (is_switch, kept) = (device.is_switch(), device.work.kept);
        let next = match (stage, is_switch) {
            (Stage::Compare, _) => Stage::WriteNode,
            // Nothing has changed at its ports.
            (Stage::WriteNode, true) if !kept => Stage::WritePorts,
            (Stage::WriteNode, true) | (Stage::WritePorts, _) => match self.sweep.gate {
                Gate::Settings => Stage::Ready,
                _ => Stage::WriteTable,
            },
            (Stage::WriteTable, _) => self.after_table(node),
            (Stage::WriteGroups, _) if self.plan.pause => Stage::Ready,
            (Stage::WriteGroups, _) => Stage::Resume,
            (Stage::Resume, _) => Stage::WriteMulticast,
            (Stage::WriteMulticast, _) if self.is_updating() => Stage::Idle,
            (Stage::WriteMulticast, _) => Stage::Arm,
            _ => Stage::Ready,
        };
        self.devices[node].work.enter(next);
        next != Stage::Ready
    }

    /// Whether something of the stage that has just been gone through is still to be written.
    fn is_left_over(&mut self, node: u32) -> bool {
        let device = &mut self.devices[node];
        if device.work.cursor == 0 || !device.work.sent {
            return false;
        }
        let (stage, cursor) = (device.work.stage, std::mem::take(&mut device.work.cursor));
        let left = match stage {
            Stage::WriteNode => self.next_node_write(node),
            Stage::WritePorts => self.next_port_write(node),
            Stage::WriteTable => self.next_table_write(node),
            Stage::WriteGroups => self.next_group_write(node),
            Stage::Resume => self.next_resume(node),
            Stage::WriteMulticast => self.next_multicast_write(node),
            _ => false,
        };
        self.devices[node].work.cursor = cursor;
        left
    }

    /// A device confirms what it was told with other values, again and again.
    fn does_not_obey(&mut self, now: Tick, node: u32, stage: Stage) {
        let guid = self.devices[node].identity.guid;
        let what = match stage {
            Stage::WriteTable => "its forwarding table".to_owned(),
            Stage::WriteMulticast => "its multicast table".to_owned(),
            Stage::WriteGroups | Stage::Resume => "its adaptive routing".to_owned(),
            _ => self.differing_setting(node),
        };
        let told = format!("does not take over {what}");
        if self.tell_once(node, &told) {
            self.sweep.unfinished(format!("node {guid} {told}"));
        }
        // Ports work with a setting that differs; a table that differs leads packets astray.
        if matches!(stage, Stage::WriteTable | Stage::WriteGroups) || !self.has_its_lid(node) {
            self.give_up(now, node);
        }
    }

    /// Reports what a device does in this sweep, once; says whether that was the first time.
    pub(super) fn tell_once(&mut self, node: u32, what: &str) -> bool {
        let device = &mut self.devices[node];
        let first = !device.work.told.iter().any(|told| told == what);
        if first && device.work.told.len() < TOLD_MAX {
            device.work.told.push(what.to_owned());
        }
        if first {
            let guid = device.identity.guid;
            self.out.fault(Some(guid), what);
        }
        first
    }

    /// The first setting or table of a node's ports that is not as it should be.
    fn differing_setting(&self, node: u32) -> String {
        let last = self.devices[node].observed.num_ports();
        let ports = || (0..=last).map(PortNum);
        let setting = ports().find_map(|port| {
            let wanted = self.wanted_port(node, port)?;
            let held = self.devices[node].observed.port(port)?;
            first_difference(&wanted, held).map(|found| found.of_port(port))
        });
        let table = || {
            let kinds = Kind::ALL.into_iter();
            let mut all = kinds.flat_map(|kind| ports().map(move |port| (kind, port)));
            let is_open = |(kind, port): &(Kind, PortNum)| {
                self.devices[node].observed.port(*port).is_some()
                    && self.table_to_write(node, *port, *kind) != TableId::UNKNOWN
            };
            let (kind, port) = all.find(is_open)?;
            Some(format!("{} of its port {port}", kind.attribute()))
        };
        let found = setting.or_else(table);
        found.unwrap_or_else(|| "its SwitchInfo".to_owned())
    }
}
