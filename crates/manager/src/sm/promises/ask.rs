//! Which tables the next request is for.
//!
//! What there is to read of a node is numbered. Forwarding tables: the blocks of the linear one, then those of the multicast one for
//! each 64 ports. Tables of ports: each kind of all ports, one after the other.

use weft_fabric::PortNum;
use weft_fabric::tables::LFT_BLOCK;
use weft_wire::sm::{AttributeId, BlockModifier, MulticastModifier};

use super::Round;
use crate::ask::batch::{Batch, Reply};
use crate::sm::devices::Device;
use crate::sm::mft::{BLOCK, BLOCK_LEN, rows_in_use};
use crate::sm::settings::Settings;
use crate::sm::tables::{Kind, TableId, mapped_ports};

/// Makes the requests for one node's tables.
pub(super) struct Asker<'a> {
    device: &'a Device,
    /// Blocks of a forwarding table in one datagram.
    most: u32,
    /// Blocks of the linear table.
    linear: u32,
    /// Blocks of the multicast table.
    multicast: u32,
    /// Its slices of 64 ports.
    positions: u32,
}

impl<'a> Asker<'a> {
    pub(super) fn new(device: &'a Device, settings: &Settings) -> Self {
        let observed = &device.observed;
        let switch = observed.switch();
        let top = switch.map_or(0, |switch| switch.linear_fdb_top);
        let top = top.min(settings.lids.highest.0);
        let rows = switch.map_or(0, |switch| rows_in_use(switch.multicast_fdb_top));
        let known = observed.mft.blocks();
        Self {
            device,
            most: settings.requests.blocks() as u32,
            linear: match top {
                0 => 0,
                top => top / LFT_BLOCK as u32 + 1,
            },
            multicast: (rows as usize).div_ceil(BLOCK).min(known) as u32,
            positions: u32::from(observed.num_ports()) / 64 + 1,
        }
    }

    /// The first item from `from` on that is to be read.
    pub(super) fn first(&self, round: Round, from: u32) -> Option<u32> {
        match round {
            Round::Forwarding => {
                let items = self.linear + self.multicast * self.positions;
                (from < items).then_some(from)
            }
            Round::Ports => {
                let items = Kind::ALL.len() as u32 * ports(self.device).1;
                (from..items).find(|item| is_confirmed(self.device, *item))
            }
        }
    }

    /// Puts what fits of the items from `item` on into a request; returns the item after them.
    pub(super) fn ask(&self, round: Round, item: u32, batch: &mut Batch) -> u32 {
        match (round, item.checked_sub(self.linear)) {
            (Round::Forwarding, None) => item + self.ask_linear(item, batch),
            (Round::Forwarding, Some(at)) => item + self.ask_multicast(at, batch),
            (Round::Ports, _) => self.ask_ports(item, batch),
        }
    }

    fn ask_linear(&self, first: u32, batch: &mut Batch) -> u32 {
        let count = self.most.min(self.linear - first);
        let modifier = BlockModifier {
            count: count as u8,
            all_blocks: false,
            block: first,
        };
        let len = count as usize * LFT_BLOCK;
        batch.get(AttributeId::LINEAR_FDB, modifier.bits(), len);
        count
    }

    fn ask_multicast(&self, at: u32, batch: &mut Batch) -> u32 {
        let (position, first) = (at / self.multicast, at % self.multicast);
        let count = self.most.min(self.multicast - first);
        let modifier = MulticastModifier {
            count: count as u8,
            position: position as u8,
            all_blocks: false,
            block: first,
        };
        let len = count as usize * BLOCK_LEN;
        batch.get(AttributeId::MULTICAST_FDB, modifier.bits(), len);
        count
    }

    fn ask_ports(&self, item: u32, batch: &mut Batch) -> u32 {
        let mut next = item;
        while let Some(item) = self.first(Round::Ports, next) {
            let count = self.ask_run(item, batch);
            if count == 0 {
                return item;
            }
            next = item + count;
        }
        Kind::ALL.len() as u32 * ports(self.device).1
    }

    /// Asks for one kind of tables of neighbouring ports, unless that does not fit; returns of how many.
    fn ask_run(&self, item: u32, batch: &mut Batch) -> u32 {
        let external = self.device.observed.num_ports();
        let (first, ports) = ports(self.device);
        let (kind, port) = (Kind::ALL[(item / ports) as usize], item % ports);
        let confirmed = (port..ports).take(usize::from(kind.ports_max()));
        let confirmed = confirmed.zip(item..);
        let run = confirmed.take_while(|(_, item)| is_confirmed(self.device, *item));
        let count = run.count() as u8;
        let at_once = match kind {
            Kind::ScToSc => mapped_ports(external),
            _ => count,
        };
        let modifier = kind.modifier(PortNum(first + port as u8), at_once, false);
        let len = kind.stride(external) * usize::from(count - 1) + kind.len(external);
        match batch.get(kind.attribute(), modifier, len) {
            true => u32::from(count),
            false => 0,
        }
    }
}

/// The first of a node's ports that have tables, and how many there are.
fn ports(device: &Device) -> (u8, u32) {
    match device.is_switch() {
        true => (0, u32::from(device.observed.num_ports()) + 1),
        false => (device.end_port().0, 1),
    }
}

/// Whether it is known what a port holds there.
fn is_confirmed(device: &Device, item: u32) -> bool {
    let (first, ports) = ports(device);
    let kind = Kind::ALL[(item / ports) as usize];
    let port = PortNum(first + (item % ports) as u8);
    device.observed.table(port, kind) != TableId::UNKNOWN
}

/// The item after a table of a port that an agent refused to read.
pub(super) fn item_after(device: &Device, refused: &Reply<'_>) -> Option<u32> {
    let (kind, port, ..) = Kind::of(refused.attribute, refused.modifier)?;
    let (first, ports) = ports(device);
    let port = u32::from(port.0.saturating_sub(first));
    Some(kind as u32 * ports + port + 1)
}
