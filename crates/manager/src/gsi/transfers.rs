//! Answers that go in segments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use weft_fabric::{Lid, Tick};
use weft_state::State;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{Abort, Envelope, Progress, RmppHeader, Sender, kind, status};

use super::message::{Form, Requester};
use super::server::{Key, Limits};
use crate::ask::rtt::RoundTrip;

/// An answer in transfer.
#[derive(Debug, Clone, State)]
struct Transfer {
    to: Requester,
    form: Form,
    envelope: Envelope,
    sender: Sender,
    bytes: usize,
    /// It is in the list of those that may send.
    queued: bool,
    /// The queue in which its segments count, and their number.
    counted: (Lane, usize),
    /// It ends at this time whatever happens.
    until: Tick,
    /// The receiver's ACK is due.
    due: Tick,
    /// Doubles with each timeout in a row.
    backoff: u32,
    round_trip: RoundTrip,
    /// The segment whose ACK is measured, and when it could be sent.
    probe: Option<(u32, Tick)>,
    /// The acknowledged segment after which a resend was requested; once is enough.
    resent_after: Option<u32>,
}

/// Queue in which a transfer waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
enum Lane {
    /// Its receiver has answered so far.
    Prompt,
    /// Its receiver was silent when an ACK was due.
    Retried,
}

/// Transfers that may send, and the segments in flight of their queue.
#[derive(Debug, Clone, Default, State)]
struct Ready {
    keys: VecDeque<Key>,
    segments: usize,
    segments_max: usize,
}

/// Answers in transfer: bounded in number, bytes and time.
#[derive(Debug, Clone, State)]
pub(super) struct Transfers {
    all: BTreeMap<Key, Transfer>,
    per_requester: BTreeMap<Lid, usize>,
    /// By [`Lane`].
    ready: [Ready; 2],
    /// The time of the last input.
    now: Tick,
    timers: BTreeSet<(Tick, Key)>,
    /// Estimate over all transfers: the initial value of a new one.
    round_trip: RoundTrip,
    bytes: usize,
    limits: Limits,
}

/// A finished transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Not yet.
    No,
    /// All has arrived.
    Done,
    /// It was given up, by either side.
    Failed,
}

impl Transfers {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            all: BTreeMap::new(),
            per_requester: BTreeMap::new(),
            ready: [limits.segments, limits.segments_retried].map(|most| Ready {
                // With less none would ever be sent.
                segments_max: most.max(1),
                ..Ready::default()
            }),
            now: Tick(0),
            timers: BTreeSet::new(),
            round_trip: RoundTrip::default(),
            bytes: 0,
            limits,
        }
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.all.contains_key(key)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether one more may begin for this requester.
    pub(super) fn has_room(&self, lid: Lid) -> bool {
        let own = self.per_requester.get(&lid).copied().unwrap_or(0);
        self.all.len() < self.limits.transfers && own < self.limits.transfers_per_requester
    }

    /// Whether `bytes` more may wait to be sent. The only transfer may have any size.
    pub(super) fn has_bytes(&self, bytes: usize) -> bool {
        self.all.is_empty() || self.bytes.saturating_add(bytes) <= self.limits.transfer_bytes
    }

    /// Begins a transfer.
    pub(super) fn begin(
        &mut self,
        now: Tick,
        key: Key,
        to: Requester,
        form: Form,
        envelope: Envelope,
        data: std::sync::Arc<Vec<u8>>,
    ) {
        self.now = now;
        let bytes = data.len();
        let transfer = Transfer {
            to,
            form,
            envelope,
            sender: Sender::new(envelope, data, form.data_max(), self.limits.retries),
            bytes,
            queued: false,
            counted: (Lane::Prompt, 0),
            until: now + self.limits.transfer_patience,
            due: now,
            backoff: 0,
            round_trip: RoundTrip::default(),
            probe: Some((1, now)),
            resent_after: None,
        };
        self.bytes += bytes;
        *self.per_requester.entry(to.lid).or_default() += 1;
        self.all.insert(key, transfer);
        self.arm(now, key);
        self.queue(key);
    }

    /// The next segment that may be sent: as many as the receiver's window allows of one answer, then
    /// of the next, because few complete answers are worth more than many partial ones.
    pub(super) fn poll(&mut self) -> Option<Packet> {
        [Lane::Prompt, Lane::Retried]
            .into_iter()
            .find_map(|lane| self.poll_lane(lane))
    }

    fn poll_lane(&mut self, lane: Lane) -> Option<Packet> {
        let mut mad = Vec::new();
        loop {
            let ready = self.ready.get(lane as usize)?;
            let key = *ready.keys.front()?;
            if ready.segments >= ready.segments_max {
                return None;
            }
            if let Some(transfer) = self.all.get_mut(&key) {
                if transfer.sender.poll(&mut mad) {
                    transfer.form.pad(&mut mad);
                    let packet = transfer.to.packet(mad);
                    self.sent(key);
                    return Some(packet);
                }
                transfer.queued = false;
            }
            self.ready[lane as usize].keys.pop_front();
        }
    }

    /// A segment has been sent. The time for its ACK, and the round trip, begin now: it may have
    /// waited its turn for long.
    fn sent(&mut self, key: Key) {
        let Some(transfer) = self.all.get_mut(&key) else {
            return;
        };
        let last = transfer.sender.acknowledged() + transfer.sender.in_flight();
        let ends = last == transfer.sender.window_end() || transfer.sender.in_flight() == 1;
        if let Some((segment, since)) = &mut transfer.probe
            && *segment == last
        {
            *since = self.now;
        }
        self.count(&key);
        if ends {
            self.arm(self.now, key);
        }
    }

    /// Updates the number of a transfer's segments in flight.
    fn count(&mut self, key: &Key) {
        let Some(transfer) = self.all.get_mut(key) else {
            return;
        };
        let lane = match transfer.backoff {
            0 => Lane::Prompt,
            _ => Lane::Retried,
        };
        let (before, counted) = transfer.counted;
        self.ready[before as usize].segments -= counted;
        let segments = transfer.sender.in_flight() as usize;
        transfer.counted = (lane, segments);
        self.ready[lane as usize].segments += segments;
    }

    /// Processes an ACK, STOP or ABORT.
    pub(super) fn control(
        &mut self,
        now: Tick,
        key: Key,
        rmpp: &RmppHeader,
    ) -> (Ended, Option<Packet>) {
        self.now = now;
        let Some(transfer) = self.all.get_mut(&key) else {
            return (Ended::No, None);
        };
        let acknowledged = transfer.sender.acknowledged();
        let window = transfer.sender.window_end();
        match transfer.sender.handle(rmpp) {
            Ok(Progress::Done) => {
                self.measure(now, &key);
                self.remove(&key);
                (Ended::Done, None)
            }
            Ok(Progress::Continue) => {
                let moved = transfer.sender.acknowledged() > acknowledged;
                let opened = transfer.sender.window_end() > window;
                if moved || opened {
                    self.advance(now, key);
                } else {
                    self.resend(now, key);
                }
                (Ended::No, None)
            }
            Err(abort) => {
                let told = matches!(rmpp.rmpp_type, kind::STOP | kind::ABORT);
                let packet = (!told).then(|| transfer.abort(&abort));
                self.remove(&key);
                (Ended::Failed, packet)
            }
        }
    }

    /// The window moved on.
    fn advance(&mut self, now: Tick, key: Key) {
        self.measure(now, &key);
        if let Some(transfer) = self.all.get_mut(&key) {
            transfer.backoff = 0;
            transfer.resent_after = None;
            transfer.probe = Some((transfer.sender.window_end(), now));
        }
        self.count(&key);
        self.arm(now, key);
        self.queue(key);
    }

    /// The receiver repeated an acknowledgement: it lacks the next segment. One
    /// such ACK is enough; the rest of a window's worth of them means the same.
    fn resend(&mut self, now: Tick, key: Key) {
        let Some(transfer) = self.all.get_mut(&key) else {
            return;
        };
        let acknowledged = transfer.sender.acknowledged();
        let lacking = transfer.sender.sent() > acknowledged;
        if !lacking || transfer.resent_after == Some(acknowledged) {
            return;
        }
        transfer.resent_after = Some(acknowledged);
        transfer.probe = None;
        transfer.sender.rewind();
        self.count(&key);
        self.arm(now, key);
        self.queue(key);
    }

    /// Measures the round trip, unless a segment was resent: then it is unknown which was acknowledged.
    fn measure(&mut self, now: Tick, key: &Key) {
        let Some(transfer) = self.all.get_mut(key) else {
            return;
        };
        let acknowledged = transfer.sender.acknowledged();
        let Some((_, since)) = transfer
            .probe
            .take_if(|(segment, _)| acknowledged >= *segment)
        else {
            return;
        };
        let measured = u64::try_from(now.since(since).as_nanos()).unwrap_or(u64::MAX);
        transfer.round_trip.sample(measured);
        self.round_trip.sample(measured);
    }

    /// Timeout of an ACK: the larger estimate of this transfer and of all,
    /// as they share the path; doubled after each consecutive timeout, within bounds.
    fn wait(&self, transfer: &Transfer) -> Duration {
        let own = transfer.round_trip.timeout_ns();
        let measured = own.max(self.round_trip.timeout_ns());
        let base = measured.map_or(self.limits.ack_first, Duration::from_nanos);
        let base = base.clamp(self.limits.ack_floor, self.limits.ack_ceiling);
        (base * (1 << transfer.backoff.min(8))).min(self.limits.ack_ceiling)
    }

    fn arm(&mut self, now: Tick, key: Key) {
        let Some(transfer) = self.all.get(&key) else {
            return;
        };
        let due = (now + self.wait(transfer)).min(transfer.until);
        if let Some(transfer) = self.all.get_mut(&key) {
            self.timers.remove(&(transfer.due, key));
            transfer.due = due;
            self.timers.insert((due, key));
        }
    }

    fn queue(&mut self, key: Key) {
        if let Some(transfer) = self.all.get_mut(&key)
            && !transfer.queued
        {
            transfer.queued = true;
            let (lane, _) = transfer.counted;
            self.ready[lane as usize].keys.push_back(key);
        }
    }

    fn remove(&mut self, key: &Key) {
        let Some(transfer) = self.all.remove(key) else {
            return;
        };
        self.timers.remove(&(transfer.due, *key));
        self.bytes -= transfer.bytes;
        if let Some(count) = self.per_requester.get_mut(&transfer.to.lid) {
            *count -= 1;
            if *count == 0 {
                self.per_requester.remove(&transfer.to.lid);
            }
        }
        let (lane, counted) = transfer.counted;
        self.ready[lane as usize].segments -= counted;
        if transfer.queued {
            for ready in &mut self.ready {
                ready.keys.retain(|queued| queued != key);
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Tick> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Resends overdue segments, or gives up with an ABORT.
    pub(super) fn expire(&mut self, now: Tick, resent: &mut u64) -> Vec<Packet> {
        self.now = now;
        let mut aborts = Vec::new();
        while let Some((due, key)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, key));
            if let Some(abort) = self.timeout(now, key, resent) {
                aborts.push(abort);
            }
        }
        aborts
    }

    fn timeout(&mut self, now: Tick, key: Key, resent: &mut u64) -> Option<Packet> {
        let transfer = self.all.get_mut(&key)?;
        let over = transfer.until <= now;
        if !over && transfer.sender.in_flight() == 0 {
            // None of its segments is in flight: it waits its turn.
            self.arm(now, key);
            return None;
        }
        let ended = match over {
            true => Err(Abort {
                status: status::TOTAL_TIME_TOO_LONG,
                reason: "the transfer took too long",
            }),
            false => transfer.sender.timeout(),
        };
        if let Err(abort) = ended {
            let packet = transfer.abort(&abort);
            self.remove(&key);
            return Some(packet);
        }
        *resent += 1;
        transfer.backoff += 1;
        transfer.probe = None;
        transfer.resent_after = None;
        self.count(&key);
        self.arm(now, key);
        self.queue(key);
        None
    }
}

impl Transfer {
    /// An ABORT from the sending side.
    fn abort(&self, abort: &Abort) -> Packet {
        let rmpp = RmppHeader {
            rmpp_version: weft_wire::rmpp::header::VERSION,
            rmpp_type: kind::ABORT,
            active: true,
            rmpp_status: abort.status,
            ..RmppHeader::default()
        };
        let mut mad = Vec::new();
        self.envelope.write(&rmpp, &[], &mut mad);
        self.form.pad(&mut mad);
        self.to.packet(mad)
    }
}
