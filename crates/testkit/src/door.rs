//! Requests of a manager, counted where they enter the emulated fabric.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::Tick;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::smp::SmpView;

/// Time after which an unanswered request counts as finished: the longest timeout of the
/// stock settings (`<RespTimeout>`).
const WAIT_MAX: Duration = Duration::from_millis(250);

/// Counts a manager's requests, retries included.
#[derive(Debug, Clone, Default)]
pub struct Door {
    sent: u64,
    /// When each request was sent last that has no answer yet, by transaction.
    open: BTreeMap<u64, Tick>,
    open_max: usize,
    /// [`Self::sent`] at the beginning of the current sweep.
    sweep_from: Option<u64>,
    /// Requests of each sweep that has ended.
    sweeps: Vec<u64>,
}

impl Door {
    /// A datagram goes in.
    pub fn goes_in(&mut self, now: Tick, packet: &Packet) {
        let Some(transaction) = request(packet, false) else {
            return;
        };
        self.sent += 1;
        // Those that are finished only matter where there would be more than ever.
        if self.open.len() >= self.open_max {
            self.open.retain(|_, since| now.since(*since) < WAIT_MAX);
        }
        self.open.insert(transaction, now);
        self.open_max = self.open_max.max(self.open.len());
    }

    /// A datagram comes out.
    pub fn comes_out(&mut self, packet: &Packet) {
        if let Some(transaction) = request(packet, true) {
            self.open.remove(&transaction);
        }
    }

    /// The manager begins a sweep.
    pub fn sweep_begins(&mut self) {
        self.sweep_from = Some(self.sent);
    }

    /// The manager ends a sweep.
    pub fn sweep_ends(&mut self) {
        let from = self.sweep_from.take();
        self.sweeps.extend(from.map(|from| self.sent - from));
    }

    /// Requests so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Most requests that were without an answer at a time.
    pub fn open_max(&self) -> usize {
        self.open_max
    }

    /// Requests of each sweep that has ended, in order.
    pub fn sweeps(&self) -> &[u64] {
        &self.sweeps
    }
}

/// The transaction of a Get or Set, or of the answer to one.
fn request(packet: &Packet, answer: bool) -> Option<u64> {
    let view = SmpView::parse(&packet.mad).ok()?;
    let wanted: &[u8] = match answer {
        true => &[method::GET_RESP],
        false => &[method::GET, method::SET],
    };
    let header = &view.header;
    wanted
        .contains(&header.method)
        .then_some(header.transaction_id)
}
