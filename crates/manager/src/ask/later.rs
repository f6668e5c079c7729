//! Requests that were given up without an answer, to be made again later.

use std::time::Duration;

use weft_fabric::Tick;

/// Time until requests are made again for the first time.
const FIRST: Duration = Duration::from_secs(10);
/// Longest time from one attempt to the next.
const LONGEST: Duration = Duration::from_secs(300);

/// Requests that wait until they are made again: after ten seconds, then after twice the time before, at
/// most five minutes. All wait for one moment, so that a silent part of a fabric costs one wake-up.
#[derive(Debug)]
pub(crate) struct Later<T> {
    waiting: Vec<T>,
    due: Option<Tick>,
    pause: Duration,
}

impl<T> Default for Later<T> {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            due: None,
            pause: FIRST,
        }
    }
}

impl<T> Later<T> {
    /// Adds a request that was given up.
    pub(crate) fn add(&mut self, now: Tick, request: T) {
        self.waiting.push(request);
        self.due.get_or_insert(now + self.pause);
    }

    /// The requests that are to be made again now.
    pub(crate) fn take_due(&mut self, now: Tick) -> Vec<T> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.due = None;
        self.pause = (self.pause * 2).min(LONGEST);
        std::mem::take(&mut self.waiting)
    }

    /// Forgets all; the next one waits only the first time again.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// When requests are to be made again, none where none waits.
    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn the_time_from_one_attempt_to_the_next_grows_up_to_a_bound() {
        let mut later = Later::default();
        let mut now = Tick(0);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            later.add(now, 'a');
            later.add(now + Duration::from_secs(1), 'b');
            let due = later.deadline().unwrap_or_default();
            assert!(later.take_due(Tick(due.0 - 1)).is_empty());
            assert_eq!(later.take_due(due), ['a', 'b']);
            assert_eq!(later.deadline(), None);
            pauses.push(due.since(now).as_secs());
            now = due;
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 300, 300, 300]);
        later.add(now, 'c');
        later.clear();
        assert_eq!(later.deadline(), None);
        later.add(now, 'd');
        assert_eq!(later.deadline(), Some(Tick(now.0 + 10 * SECOND)));
    }
}
