//! The number of requests in flight to all targets together: few at first, more with each answer, fewer when answers
//! are late.
//!
//! Slow start, linear growth and halving as in RFC 5681, counted in requests. Management datagrams have no flow control
//! of their own: where devices, links or this host are slower than requests are made, a fixed number in flight makes every
//! answer later than its timeout, and each is asked for twice.

use weft_fabric::Tick;
use weft_state::State;

/// Requests in flight at first, and at least after late answers.
const LEAST: usize = 32;

/// How many requests may be in flight.
#[derive(Debug, Clone, Copy, State)]
pub(super) struct Window {
    size: usize,
    /// The size from which on it grows by one for a whole window of answers, not for each.
    linear_from: usize,
    /// Answers since the last linear step.
    answers: usize,
    /// The last time it was halved: requests from before it are late for the same reason.
    halved: Option<Tick>,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            size: LEAST,
            linear_from: usize::MAX,
            answers: 0,
            halved: None,
        }
    }
}

impl Window {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A request was answered in time, of `in_flight`; `most` are allowed. A window that was not even half used shows
    /// nothing about a larger one.
    pub(super) fn answered(&mut self, in_flight: usize, most: usize) {
        if self.size >= most || 2 * in_flight < self.size {
            return;
        }
        self.answers += 1;
        if self.size < self.linear_from || self.answers >= self.size {
            self.size += 1;
            self.answers = 0;
        }
    }

    /// The first attempt of a request that was sent at `sent` was not answered in time.
    pub(super) fn late(&mut self, now: Tick, sent: Tick) {
        if self.halved.is_some_and(|halved| sent <= halved) {
            return;
        }
        self.halved = Some(now);
        self.size = (self.size / 2).max(LEAST);
        self.linear_from = self.size;
        self.answers = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_in_a_round_trip_at_first_and_stops_at_the_most_that_is_allowed() {
        let mut window = Window::default();
        (0..LEAST).for_each(|_| window.answered(window.size(), 100));
        assert_eq!(window.size(), 2 * LEAST);
        (0..1_000).for_each(|_| window.answered(window.size(), 100));
        assert_eq!(window.size(), 100);
    }

    #[test]
    fn a_window_of_late_answers_halves_it_once_and_then_it_grows_by_one_for_each_window() {
        let mut window = Window::default();
        (0..1_000).for_each(|_| window.answered(window.size(), 256));
        (0..200).for_each(|sent| window.late(Tick(1_000), Tick(sent)));
        assert_eq!(window.size(), 128);
        (0..128).for_each(|_| window.answered(window.size(), 256));
        assert_eq!(window.size(), 129);
        window.late(Tick(2_000), Tick(1_001));
        assert_eq!(window.size(), 64);
    }

    #[test]
    fn few_requests_do_not_open_it() {
        let mut window = Window::default();
        (0..1_000).for_each(|_| window.answered(1, 256));
        assert_eq!(window.size(), LEAST);
    }

    #[test]
    fn it_never_closes() {
        let mut window = Window::default();
        (1..100).for_each(|time| window.late(Tick(2 * time + 1), Tick(2 * time)));
        assert_eq!(window.size(), LEAST);
    }
}
