//! Whether switches still hold the tables that the certificate was made for.
//!
//! A sweep reads no forwarding table again: what a switch has confirmed counts until something speaks against it. One that said that it
//! wrote a table and did not, or whose table somebody else changed, would never be found. So after a sweep that wrote no table,
//! tables are read again, one request after the other, switch after switch: for a hundred requests of sweeps one. A table
//! that is not the confirmed one is told, and read and written by the next sweep.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Guid, Tick};
use weft_state::State;
use weft_wire::sm::{AttributeId, BlockModifier};
use weft_wire::smp::SmpView;

use super::{Manager, Tag};
use crate::io::{Event, SweepReason};

/// Requests of sweeps for one of these.
const SHARE: u64 = 100;
/// Requests that may have been put off, as a sweep began before they were sent.
const WAITING_MAX: u64 = 1_000;

/// Where the reading of tables is.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Promises {
    /// Requests of sweeps for which none of these was sent yet.
    owed: u64,
    /// The switch whose table is read, or was read last.
    switch: Guid,
    /// The next block of it.
    block: u32,
}

impl Manager {
    /// A sweep has ended: reads tables again if it wrote none.
    pub(super) fn keep_watch(&mut self, now: Tick) {
        let promises = &mut self.requests.promises;
        promises.owed = (promises.owed + self.sweep.report.sent).min(SHARE * WAITING_MAX);
        if self.sweep.report.tables.blocks == 0 {
            self.read_promised(now);
        }
    }

    /// Reads the next blocks of a table, if that may be now.
    fn read_promised(&mut self, now: Tick) {
        let is_idle = self.sweep.phase().is_none() && self.requests.transactions.has_room();
        let may = is_idle && self.election.is_master();
        if !may || self.requests.promises.owed < SHARE {
            return;
        }
        let Some((node, left)) = self.next_promised() else {
            return;
        };
        let promises = &mut self.requests.promises;
        let (first, count) = (
            promises.block,
            left.min(self.settings.requests.blocks() as u32),
        );
        promises.owed -= SHARE;
        promises.block += count;
        let modifier = BlockModifier {
            count: count as u8,
            all_blocks: false,
            block: first,
        };
        let len = count as usize * LFT_BLOCK;
        self.start_batch(node, false);
        let batch = &mut self.requests.batch;
        if batch.get(AttributeId::LINEAR_FDB, modifier.bits(), len) {
            let sweep = self.sweep.number;
            self.send_batch(now, node, Tag::Promise { sweep });
        }
    }

    /// The switch whose table is next, and how many of its blocks are left.
    fn next_promised(&mut self) -> Option<(u32, u32)> {
        let Promises { switch, block, .. } = self.requests.promises;
        let blocks = |node: u32| {
            let device = &self.devices[node];
            let answers = device.health.works_in(self.sweep.number);
            // What was sent and not confirmed may be there or not.
            let is_sure = !device.health.doubtful && device.observed.sent_row.is_none();
            let top = device
                .observed
                .switch()
                .filter(|_| answers && is_sure)?
                .linear_fdb_top;
            let top = top.min(self.settings.lids.highest.0);
            (top > 0).then_some(top / LFT_BLOCK as u32 + 1)
        };
        let current = self.devices.find(switch);
        let left = current.and_then(|node| Some((node, blocks(node)?.checked_sub(block)?)));
        if let Some((node, left)) = left.filter(|(_, left)| *left > 0) {
            return Some((node, left));
        }
        let switches = self.devices.numbers().filter_map(|node| {
            let blocks = blocks(node)?;
            Some((self.devices[node].identity.guid, node, blocks))
        });
        // In a circle, by their GUIDs.
        let (guid, node, blocks) = switches.min_by_key(|(guid, ..)| (*guid <= switch, *guid))?;
        (self.requests.promises.switch, self.requests.promises.block) = (guid, 0);
        Some((node, blocks))
    }

    /// A switch tells what it holds.
    pub(super) fn promise_answered(
        &mut self,
        now: Tick,
        (node, sweep): (u32, u64),
        view: &SmpView<'_>,
    ) {
        // Tables may have been written since it was asked, by another manager too.
        let is_asked = sweep == self.sweep.number && self.sweep.phase().is_none();
        let counts = is_asked && self.election.is_master();
        let Some(device) = self.devices.get_mut(node).filter(|_| counts) else {
            return;
        };
        let modifier = BlockModifier::from_bits(view.header.attribute_modifier);
        let blocks = view.payload.chunks_exact(LFT_BLOCK);
        let mut blocks = (modifier.block as usize..).zip(blocks.take(modifier.count.into()));
        let lft = &device.observed.lft;
        let broken = blocks.find_map(|(block, entries)| lft.difference(block, entries));
        if let Some(entry) = broken.filter(|_| view.status() == 0 && !device.health.doubtful) {
            device.health.doubtful = true;
            let node = device.identity.guid;
            self.out.totals.promises_broken += 1;
            self.out.event(Event::PromiseBroken {
                node,
                what: entry.to_string(),
            });
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
            return;
        }
        self.read_promised(now);
    }
}
