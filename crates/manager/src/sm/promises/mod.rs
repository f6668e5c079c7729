//! Whether devices still hold the tables that the certificate was made for.
//!
//! A sweep reads no table again: what a device has confirmed counts until something speaks against it. One that said that it
//! wrote a table and did not, or whose table somebody else changed, would never be found. So after a sweep that wrote no
//! forwarding table, tables are read again, one request after the other, node after node: for a hundred requests of sweeps one.
//! A table that is not the confirmed one is told, and read and written by the next sweep.
//!
//! | file | |
//! |---|---|
//! | `ask` | which tables the next request is for |
//! | `compare` | what a device holds, and what it confirmed |

mod ask;
mod compare;

use std::ops::Bound;

use weft_fabric::{Guid, Tick};
use weft_state::State;
use weft_wire::smp::SmpView;

use super::{Manager, Tag};
use crate::ask::batch::{Verdict, replies};
use crate::io::{Event, SweepReason};
use ask::Asker;

/// Requests of sweeps for one of these.
const SHARE: u64 = 100;
/// Requests that may have been put off, as a sweep began before they were sent.
const WAITING_MAX: u64 = 1_000;

/// Tables that are read in turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
enum Round {
    /// Linear and multicast forwarding tables.
    #[default]
    Forwarding,
    /// Tables of ports: of HFIs too, so that a round takes longer.
    Ports,
}

/// How far a round is.
#[derive(Debug, Clone, Copy, Default, State)]
struct Place {
    /// The node whose tables are read, or were read last.
    node: Guid,
    /// The next item of it.
    item: u32,
}

/// Where the reading of tables is.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Promises {
    /// Requests of sweeps for which none of these was sent yet.
    owed: u64,
    /// Every other request is of this round.
    next: Round,
    forwarding: Place,
    ports: Place,
}

impl Promises {
    fn place(&mut self, round: Round) -> &mut Place {
        match round {
            Round::Forwarding => &mut self.forwarding,
            Round::Ports => &mut self.ports,
        }
    }
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

    /// Reads the next tables, if that may be now.
    fn read_promised(&mut self, now: Tick) {
        let is_idle = self.sweep.phase().is_none() && self.requests.transactions.has_room();
        let may = is_idle && self.election.is_master();
        if !may || self.requests.promises.owed < SHARE {
            return;
        }
        let round = self.requests.promises.next;
        self.requests.promises.next = match round {
            Round::Forwarding => Round::Ports,
            Round::Ports => Round::Forwarding,
        };
        let Some((node, item)) = self.next_promised(round) else {
            return;
        };
        self.start_batch(node, false);
        let device = &self.devices[node];
        let asker = Asker::new(device, &self.settings);
        let item = asker.ask(round, item, &mut self.requests.batch);
        let promises = &mut self.requests.promises;
        promises.owed -= SHARE;
        *promises.place(round) = Place {
            node: device.identity.guid,
            item,
        };
        if !self.requests.batch.is_empty() {
            let sweep = self.sweep.number;
            self.send_batch(now, node, Tag::Promise { sweep });
        }
    }

    /// The node whose tables are next, and the first item that is to be read of them.
    fn next_promised(&mut self, round: Round) -> Option<(u32, u32)> {
        let Place { node, item } = *self.requests.promises.place(round);
        let first = |number: u32, from: u32| {
            let device = &self.devices[number];
            let answers = device.health.works_in(self.sweep.number);
            // What was sent and not confirmed may be there or not.
            let is_sure = !device.health.doubtful && device.observed.sent_row.is_none();
            let asker = (answers && is_sure).then(|| Asker::new(device, &self.settings))?;
            Some((number, asker.first(round, from)?))
        };
        let current = self.devices.find(node);
        // In a circle, by their GUIDs.
        let after = (Bound::Excluded(node), Bound::Unbounded);
        let before = (Bound::Unbounded, Bound::Included(node));
        let others = self.devices.by_guid(after);
        let mut others = others.chain(self.devices.by_guid(before));
        current
            .and_then(|number| first(number, item))
            .or_else(|| others.find_map(|number| first(number, 0)))
    }

    /// A device tells what it holds.
    pub(super) fn promise_answered(
        &mut self,
        now: Tick,
        (node, sweep): (u32, u64),
        (request, view): (&[u8], &SmpView<'_>),
    ) {
        // Tables may have been written since it was asked, by another manager too.
        let is_asked = sweep == self.sweep.number && self.sweep.phase().is_none();
        let counts = is_asked && self.election.is_master();
        let device = self.devices.get(node).filter(|_| counts);
        let (Some(device), Ok(asked)) = (device, SmpView::parse(request)) else {
            return;
        };
        let mut parts = Vec::new();
        // What an agent makes of a read that it does not know is no promise.
        let _ = replies(&asked, view, &mut parts);
        let tables = &self.devices.tables;
        let read = parts.iter().filter(|part| part.verdict == Verdict::Done);
        let broken = read
            .filter(|_| !device.health.doubtful)
            .find_map(|part| compare::difference(device, tables, part));
        if let Some(what) = broken {
            self.promise_is_broken(now, node, what);
            return;
        }
        let refused = parts.iter().find(|part| part.verdict != Verdict::Done);
        if let Some(item) = refused.and_then(|part| ask::item_after(device, part)) {
            self.requests.promises.ports.item = item;
        }
        self.read_promised(now);
    }

    /// A table is not what it was confirmed to be: the next sweep reads and writes it.
    fn promise_is_broken(&mut self, now: Tick, node: u32, what: String) {
        let device = &mut self.devices[node];
        device.health.doubtful = true;
        let node = device.identity.guid;
        self.out.totals.promises_broken += 1;
        self.out.event(Event::PromiseBroken { node, what });
        self.sweep
            .request(now, SweepReason::Unfinished, &self.settings.sweeps);
    }
}
