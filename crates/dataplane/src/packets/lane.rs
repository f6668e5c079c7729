//! Hot state of ports and of their lanes.

use super::Picos;
use super::store::Store;
use crate::network::NONE;

/// Packets in order, linked through [`super::store::Packet::next`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    pub(super) head: u32,
    tail: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

impl Queue {
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(super) fn push(&mut self, store: &mut Store, id: u32) {
        store.get_mut(id).next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            store.get_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, store: &Store) -> Option<u32> {
        let id = self.head;
        (id != NONE).then(|| {
            self.head = store.get(id).next;
            id
        })
    }
}

/// A lane of a port: what waits to be sent on it, the neighbour's buffer, what was sent. One cache
/// line.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub(super) struct Lane {
    /// Packets that want to leave on it; where inputs take turns, the first of each ([`super::feeds`]).
    pub(super) queue: Queue,
    /// Units of the neighbour's buffer that packets of the lane take up.
    pub(super) used: u32,
    /// Units of this node's buffers that all packets that wait for the lane take up.
    pub(super) waiting: u32,
    /// Units of the neighbour's buffer of its own, and most that it may have of the shared ones.
    pub(super) dedicated: u16,
    pub(super) shared: u16,
    /// Flits of the largest packet that may be sent.
    pub(super) largest: u16,
    /// Head-of-queue discards in a row.
    pub(super) discards: u8,
    /// A lifetime timer runs.
    pub(super) timed: bool,
    /// When the packet at the head came to the head.
    pub(super) since: Picos,
    /// Flits and packets sent.
    pub(super) data: u64,
    pub(super) packets: u64,
    /// Time that the packets sent have waited at the head for credits.
    pub(super) wait: Picos,
}

impl Lane {
    /// Units of the shared space that it takes up.
    #[inline]
    pub(super) fn shared_used(&self) -> u32 {
        self.shared_by(self.used)
    }

    /// Units of the shared space in use if the total is `units`.
    #[inline]
    pub(super) fn shared_by(&self, units: u32) -> u32 {
        units.saturating_sub(u32::from(self.dedicated))
    }

    /// Whether it may take `units` more if it has `used`, and all lanes of its port have
    /// `all` of the `limit` shared ones.
    #[inline(always)]
    pub(super) fn may_take(&self, units: u32, used: u32, (all, limit): (u32, u32)) -> bool {
        let after = self.shared_by(used + units);
        let more = after - self.shared_by(used);
        after <= u32::from(self.shared) && (more == 0 || all + more <= limit)
    }
}

impl Port {
    /// It sends, or its queue is empty: the wait is over.
    #[inline(always)]
    pub(super) fn end_wait(&mut self, now: Picos) {
        self.wait += now - self.idle_since.min(now);
        self.idle_since = Picos::MAX;
    }
}

/// Rarely changing counts of one lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rare {
    /// Packets dropped, and those of them dropped because of congestion.
    pub(super) discards: u64,
    pub(super) congestion: u64,
    /// Packets on the link that were lost with it.
    pub(super) lost: u64,
    /// Flit times spent waiting for the rest of a packet.
    pub(super) bubbles: u64,
    /// The lane is stalled until then.
    pub(super) stalled_until: Picos,
}

/// Counts of a port, not of its lanes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Errors {
    /// Packets that its switch could not forward.
    pub(super) relay: u64,
    /// Packets received for another LID.
    pub(super) receive: u64,
    /// Packets dropped before they had a lane.
    pub(super) discards: u64,
    /// Multicast packets sent and received.
    pub(super) groups_sent: u64,
    pub(super) groups_received: u64,
}

/// Received on one lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    pub(super) data: u64,
    pub(super) packets: u64,
}

/// A port, in one cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Port {
    /// The link is sending until then.
    pub(super) free_at: Picos,
    /// Since when something waits for credits and nothing is sent; [`Picos::MAX`] when that is not
    /// so.
    pub(super) idle_since: Picos,
    /// Time so spent.
    pub(super) wait: Picos,
    /// One bit for each lane with packets to send.
    pub(super) waiting: u32,
    /// The other end of the cable, [`NONE`] without one.
    pub(super) peer: u32,
    /// Time of a flit.
    pub(super) flit: u32,
    /// The switch that it is on, [`NONE`] for an HFI.
    pub(super) switch: u32,
    /// Index of port 0 of its switch.
    pub(super) base: u32,
    /// Units of the neighbour's shared space taken up, and all there are.
    pub(super) shared_used: u32,
    pub(super) shared_limit: u16,
    /// Its service channel to lane map, among the different ones.
    pub(super) lane_map: u16,
    /// The link can carry data.
    pub(super) up: bool,
    /// Flits of the neighbour's allocation unit are 2^this.
    pub(super) unit_bits: u8,
    /// The device at the other end is another simulation's.
    pub(super) away: bool,
    /// Flit times of one count of XmitWait.
    pub(super) wait_unit: u8,
    /// A wake-up for `free_at` is in the calendar.
    pub(super) wakes: bool,
    /// Small packets may interrupt large ones.
    pub(super) preempts: bool,
    /// One bit for each lane without flow control.
    pub(super) lossy: u32,
    /// Another one after every time that the link went down.
    pub(super) epoch: u8,
    /// Whether room for the next packet will be announced after a drop.
    pub(super) makes_way: bool,
}
