//! Messages that have come: of each program, of each rank, and one by one.

use super::transfer::Transfer;
use crate::packets::Picos;
use crate::traffic::Histogram;

/// A message that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Its bytes.
    pub bytes: u64,
    /// When it was handed over.
    pub begun: Picos,
    /// When the receiver had all of it.
    pub ended: Picos,
}

/// Messages of a rank that have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankBook {
    /// Bytes of those that it sent.
    pub sent: u64,
    /// Bytes of those that it received.
    pub received: u64,
    /// When the last of either came.
    pub last: Picos,
}

/// Messages of a program that have come.
#[derive(Debug, Clone, Default)]
pub struct ProgramBook {
    /// Its first rank.
    pub first: u32,
    /// Their times from handing over to the moment at which the receiver has all of it.
    pub latencies: Histogram,
    /// Their bytes.
    pub bytes: u64,
    is_traced: bool,
}

/// All of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Books {
    /// In order of their ranks.
    pub(super) programs: Vec<ProgramBook>,
    pub(super) ranks: Vec<RankBook>,
    pub(super) trace: Vec<Message>,
    traced_max: usize,
}

impl Books {
    /// A program whose first rank is `first`.
    pub(super) fn open(&mut self, first: u32) {
        self.programs.push(ProgramBook {
            first,
            ..ProgramBook::default()
        });
    }

    /// Keeps each message of the last program; of all such programs the first `most`.
    pub(super) fn trace(&mut self, most: usize) {
        self.traced_max = most;
        if let Some(program) = self.programs.last_mut() {
            program.is_traced = true;
        }
    }

    /// A message has come.
    pub(super) fn note(&mut self, transfer: &Transfer, now: Picos) {
        let Transfer {
            from,
            to,
            bytes,
            begun,
            ..
        } = *transfer;
        for (rank, sent, received) in [(from, bytes, 0), (to, 0, bytes)] {
            if let Some(rank) = self.ranks.get_mut(rank as usize) {
                rank.sent += sent;
                rank.received += received;
                rank.last = now;
            }
        }
        let after = self.programs.partition_point(|one| one.first <= to);
        let Some(program) = self.programs.get_mut(after.saturating_sub(1)) else {
            return;
        };
        program.latencies.add(now - begun);
        program.bytes += bytes;
        if program.is_traced && self.trace.len() < self.traced_max {
            self.trace.push(Message {
                from,
                to,
                bytes,
                begun,
                ended: now,
            });
        }
    }
}
