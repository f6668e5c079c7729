//! What is known of a fabric and its manager at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::enums::SmState;
use weft_fabric::intended::Intended;
use weft_fabric::{Guid, Snapshot};
use weft_manager::cables::CableMemories;
use weft_manager::pm::Image;
use weft_manager::sm::drains::Drains;
use weft_manager::{BarredPort, UnusedLink};

use crate::errors::ErrorLog;
use crate::losses::LossLog;
use crate::memory::Memory;
use crate::shape::Shape;
use crate::slots::Slots;

/// The connection to the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    /// Datagrams can be sent.
    pub attached: bool,
    /// Since when, seconds since 1970.
    pub since: u64,
}

/// The last sweep that has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastSweep {
    /// When it ended, seconds since 1970.
    pub ended: u64,
    /// Nanoseconds that it took.
    pub elapsed_ns: u64,
    /// Work that failed.
    pub unfinished: Vec<String>,
    /// Links that are up and carry no data.
    pub unused: Vec<UnusedLink>,
}

/// A device whose agent does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silent {
    /// When it first did not, seconds since 1970.
    pub since: u64,
    /// How often it did not.
    pub times: u64,
    /// What it was asked.
    pub attribute: String,
}

/// The manager's requests to devices in the last hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// Smoothed round trip, nanoseconds; none before the first answer.
    pub round_trip_ns: Option<u64>,
    /// Datagrams sent.
    pub sent: u64,
    /// Those that were sent again.
    pub retries: u64,
    /// Requests that were never answered.
    pub timeouts: u64,
}

/// Keeps counts of requests for an hour.
#[derive(Debug, Clone, Default)]
pub struct RequestLog {
    /// Totals at the last look: sent, retries, timeouts.
    last: Option<[u64; 3]>,
    slots: [Slots<12, 300>; 3],
}

impl RequestLog {
    /// Takes the totals since the manager's start: datagrams sent, retries, timeouts.
    pub fn note(&mut self, now: u64, totals: [u64; 3]) {
        let last = self.last.replace(totals).unwrap_or(totals);
        for ((slots, total), last) in self.slots.iter_mut().zip(totals).zip(last) {
            slots.add(now, total.saturating_sub(last));
        }
    }

    /// The counts of the last hour.
    pub fn last_hour(&self, round_trip_ns: Option<u64>) -> Requests {
        let [sent, retries, timeouts] = [0, 1, 2].map(|place: usize| self.slots[place].sum());
        Requests {
            round_trip_ns,
            sent,
            retries,
            timeouts,
        }
    }
}

/// Everything that a page is made of.
#[derive(Debug, Clone)]
pub struct Moment<'a> {
    /// Now, seconds since 1970.
    pub now: u64,
    /// The fabric.
    pub snapshot: &'a Snapshot,
    /// What was there before.
    pub memory: &'a Memory,
    /// The fabric as the topology file has it.
    pub intended: Option<&'a Intended>,
    /// Memories of cables.
    pub cables: &'a CableMemories,
    /// The last reading of all counters; none where nobody reads them.
    pub image: Option<&'a Arc<Image>>,
    /// Errors of links.
    pub errors: &'a ErrorLog,
    /// Losses of links.
    pub losses: &'a LossLog,
    /// Ports whose links are not to be used.
    pub barred: &'a [BarredPort],
    /// What is drained.
    pub drains: &'a Drains,
    /// Devices that do not answer.
    pub silent: &'a BTreeMap<Guid, Silent>,
    /// Role of the manager.
    pub role: SmState,
    /// Requests to devices.
    pub requests: Requests,
    /// The connection to the fabric.
    pub attachment: Attachment,
    /// Why nobody can be asked for the mandate to be master; none where that is not so.
    pub mandate_unknown: Option<&'a str>,
    /// The last sweep; none before the first has ended.
    pub last_sweep: Option<&'a LastSweep>,
    /// Seconds from one sweep to the next, 0 for never.
    pub sweep_interval: u64,
    /// Until when sweeps are paused, seconds since 1970.
    pub paused_until: Option<u64>,
    /// What was computed of nodes and links.
    pub shape: &'a Shape,
}
