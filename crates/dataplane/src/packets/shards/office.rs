//! Exchange between threads between two windows, and the mail of their shards.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::Picos;
use super::super::share::Mail;
use super::super::simulation::Simulation;
use super::barrier::Barrier;

/// Report of one thread about its shards.
#[derive(Debug, Default)]
struct Word {
    /// The first thing that will happen; [`Picos::MAX`] for nothing.
    next: AtomicU64,
    /// Packets in flight.
    packets: AtomicUsize,
}

/// When a run ends, and how far its windows reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) until: Picos,
    /// Nothing that happens now reaches another shard before that.
    pub(super) lookahead: Picos,
    /// Whether to end when no packet is in flight.
    pub(super) drains: bool,
}

/// Everything exists twice, used by turns: a thread that is ahead writes the copy that the others do not read yet.
#[derive(Debug)]
pub(super) struct Office {
    pub(super) barrier: Barrier,
    words: [Vec<Word>; 2],
    /// By sending shard and receiving shard.
    boxes: [Vec<Mutex<Mail>>; 2],
    shards: usize,
}

impl Office {
    pub(super) fn new(threads: usize, shards: usize) -> Self {
        let words = || (0..threads).map(|_| Word::default()).collect();
        let boxes = || (0..shards * shards).map(|_| Mutex::default()).collect();
        Self {
            barrier: Barrier::new(threads),
            words: [words(), words()],
            boxes: [boxes(), boxes()],
            shards,
        }
    }

    /// Reports the next event of a thread's shards.
    pub(super) fn say(&self, turn: usize, thread: usize, next: Option<Picos>, packets: usize) {
        let word = &self.words[turn][thread];
        word.next
            .store(next.unwrap_or(Picos::MAX), Ordering::Release);
        word.packets.store(packets, Ordering::Release);
    }

    /// The end of the next window, from what all have said; none when the run is over.
    pub(super) fn window(&self, turn: usize, bounds: Bounds) -> Option<Picos> {
        let next = self.words[turn].iter();
        let next = next.map(|word| word.next.load(Ordering::Acquire)).min()?;
        if next == Picos::MAX || next > bounds.until || bounds.drains && self.packets(turn) == 0 {
            return None;
        }
        let end = next.saturating_add(bounds.lookahead.saturating_sub(1));
        Some(end.min(bounds.until))
    }

    /// Packets in flight, of all.
    pub(super) fn packets(&self, turn: usize) -> usize {
        let words = self.words[turn].iter();
        words.map(|word| word.packets.load(Ordering::Acquire)).sum()
    }

    /// Puts a shard's mail for others into their boxes.
    pub(super) fn post(&self, turn: usize, shard: usize, simulation: &mut Simulation) {
        simulation.post(|to, mail| {
            let place = &self.boxes[turn][shard * self.shards + to];
            let mut empty = place.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *empty, mail);
        });
    }

    /// A shard takes what others have put into its boxes, in their order.
    pub(super) fn collect(&self, turn: usize, shard: usize, simulation: &mut Simulation) {
        for from in (0..self.shards).filter(|from| *from != shard) {
            let place = &self.boxes[turn][from * self.shards + shard];
            let mut mail = place.lock().unwrap_or_else(PoisonError::into_inner);
            simulation.take_in(&mut mail);
        }
    }
}
