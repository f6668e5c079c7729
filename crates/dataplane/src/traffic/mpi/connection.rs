//! Congestion window of a TCP connection.
//!
//! It begins with ten segments and grows by one for each that arrives until the first loss, then by about
//! half a segment per round trip. A loss that later segments reveal
//! takes three tenths of it away, once for all segments in flight, and so does a loss that a probe
//! reveals after a silence; a timeout leaves one segment (RFC 5681, RFC 8312 in the
//! region where it grows as RFC 5681 would: round trips here take microseconds, its cubic takes seconds).
//!
//! Not modelled: answers as packets; the probe, which is sent with all that is missing.

use std::collections::VecDeque;

use super::nic::Mpi;
use crate::constants as c;
use crate::packets::{Picos, Simulation};

/// A connection's sender.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// Maximum number of segments in flight.
    window: u32,
    /// Window size in segments below which the window doubles.
    threshold: u32,
    /// Progress towards the next segment of the window.
    gained: u32,
    /// Packets that were given to the engines and have not arrived.
    flying: u32,
    /// Packets that were in flight at the last loss and have not arrived.
    recovering: u32,
    /// Packets that have arrived since the last whole segment.
    arrived: u32,
    /// Messages of which something was not given to the engines yet.
    waiting: VecDeque<u32>,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            window: c::TCP_INITIAL_WINDOW,
            threshold: u32::MAX,
            gained: 0,
            flying: 0,
            recovering: 0,
            arrived: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl Connection {
    /// A packet has arrived, of which a segment has `packets`.
    fn arrives(&mut self, packets: u32) {
        self.flying -= 1;
        self.recovering = self.recovering.saturating_sub(1);
        self.arrived += 1;
        if self.arrived >= packets {
            self.arrived = 0;
            self.grow();
        }
    }

    fn grow(&mut self) {
        let (gain, full) = c::TCP_GROWTH;
        self.gained += if self.window < self.threshold {
            full * self.window
        } else {
            gain
        };
        if self.gained >= full * self.window {
            self.gained = 0;
            self.window = (self.window + 1).min(c::TCP_SEGMENTS);
        }
    }

    /// Later segments have shown that one was lost.
    fn shrink(&mut self) {
        if self.recovering == 0 {
            self.threshold = self.reduced();
            self.window = self.threshold;
            self.gained = 0;
            self.recovering = self.flying;
        }
    }

    /// A timeout has ended; further ones, of other segments or of the same, change nothing more.
    fn collapse(&mut self) {
        if self.window > 1 {
            self.threshold = self.reduced();
        }
        self.window = 1;
        self.gained = 0;
        self.recovering = self.flying;
    }

    fn reduced(&self) -> u32 {
        let (left, of) = c::TCP_REDUCTION;
        (self.window * left / of).max(2)
    }
}

impl Mpi {
    /// Whether a rank sends over TCP.
    #[inline]
    pub(super) fn is_tcp(&self, rank: u32) -> bool {
        self.ranks[rank as usize].stack.is_tcp()
    }

    fn connection(&mut self, from: u32, to: u32) -> &mut Connection {
        self.connections.entry((from, to)).or_default()
    }

    /// A message is given to its connection.
    pub(super) fn stream(&mut self, simulation: &mut Simulation, id: u32) {
        let transfer = self.transfers.get(id);
        let (from, to) = (transfer.from, transfer.to);
        self.connection(from, to).waiting.push_back(id);
        self.fill(simulation, from, to);
    }

    /// Passes segments to the engines while the window has room.
    fn fill(&mut self, simulation: &mut Simulation, from: u32, to: u32) {
        let segment = self.ranks[from as usize].stack.segment_packets();
        loop {
            let connection = self.connections.entry((from, to)).or_default();
            let Some(id) = connection.waiting.front().copied() else {
                return;
            };
            let transfer = self.transfers.get_mut(id);
            let next = segment.min(transfer.packets - transfer.granted);
            let room = connection.window * segment;
            if connection.flying > 0 && connection.flying + next > room {
                return;
            }
            connection.flying += next;
            transfer.granted += next;
            if transfer.granted == transfer.packets {
                connection.waiting.pop_front();
            }
            self.list(simulation, id);
        }
    }

    /// A packet of a connection has arrived.
    pub(super) fn acknowledge(&mut self, simulation: &mut Simulation, from: u32, to: u32) {
        let segment = self.ranks[from as usize].stack.segment_packets();
        self.connection(from, to).arrives(segment);
        self.fill(simulation, from, to);
    }

    /// Later segments of a connection have shown that one was lost.
    pub(super) fn slow_down(&mut self, from: u32, to: u32) {
        self.connection(from, to).shrink();
    }

    /// A connection's sender has heard nothing of a segment for a while.
    pub(super) fn hears_nothing(&mut self, from: u32, to: u32, timeout: Picos) {
        let connection = self.connection(from, to);
        if timeout < c::TCP_RESEND {
            connection.shrink();
        } else {
            connection.collapse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: u32 = 8;

    /// Fills the window and lets all of it arrive.
    fn round(connection: &mut Connection) {
        let packets = connection.window * PACKETS;
        connection.flying = packets;
        (0..packets).for_each(|_| connection.arrives(PACKETS));
    }

    #[test]
    fn a_window_doubles_until_a_loss_and_grows_by_nine_seventeenths_after_it() {
        let mut connection = Connection::default();
        let windows = [20, 40, 64, 64].map(|_| {
            round(&mut connection);
            connection.window
        });
        assert_eq!(windows, [20, 40, 64, 64]);
        connection.flying = 64 * PACKETS;
        connection.shrink();
        connection.shrink();
        assert_eq!(connection.window, 44, "once for all that was on its way");
        (0..64 * PACKETS).for_each(|_| connection.arrives(PACKETS));
        let before = connection.window;
        (0..17).for_each(|_| round(&mut connection));
        assert!(
            (before + 8..=before + 9).contains(&connection.window),
            "{before} {}",
            connection.window
        );
        connection.shrink();
        assert_eq!(connection.window, (before + 9) * 7 / 10);
    }

    #[test]
    fn a_time_out_leaves_one_segment_and_two_are_the_least_to_grow_to() {
        let mut connection = Connection::default();
        for _ in 0..2 {
            connection.collapse();
            assert_eq!((connection.window, connection.threshold), (1, 7));
        }
        round(&mut connection);
        assert_eq!(connection.window, 2);
        connection.collapse();
        assert_eq!((connection.window, connection.threshold), (1, 2));
    }
}
