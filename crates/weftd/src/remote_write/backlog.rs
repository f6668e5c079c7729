//! Requests that wait for their receiver.

use std::collections::VecDeque;

/// Bytes that wait at most; the oldest requests are dropped then. Requests of 4.4 KB each 15 seconds, as of 1,152 hosts, wait
/// for two days and a half.
const BYTES_MAX: usize = 64 << 20;

/// A request as it is sent, and the samples in it.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) body: Vec<u8>,
    pub(super) samples: u64,
}

/// The oldest first.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    requests: VecDeque<Request>,
    bytes: usize,
}

impl Backlog {
    /// Adds a request; returns the samples that are dropped for it.
    pub(super) fn push(&mut self, request: Request) -> u64 {
        self.bytes += request.body.len();
        self.requests.push_back(request);
        let mut dropped = 0;
        while self.bytes > BYTES_MAX {
            dropped += self.pop().map_or(0, |oldest| oldest.samples);
        }
        dropped
    }

    /// The oldest.
    pub(super) fn first(&self) -> Option<&Request> {
        self.requests.front()
    }

    /// Takes the oldest.
    pub(super) fn pop(&mut self) -> Option<Request> {
        let oldest = self.requests.pop_front()?;
        self.bytes -= oldest.body.len();
        Some(oldest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_where_there_is_no_room() {
        let mut backlog = Backlog::default();
        let request = |samples| Request {
            body: vec![0; BYTES_MAX / 2],
            samples,
        };
        let dropped = [1, 2, 3, 4].map(|samples| backlog.push(request(samples)));
        assert_eq!(dropped, [0, 0, 1, 2]);
        assert_eq!(backlog.first().unwrap().samples, 3);
        assert_eq!(backlog.pop().unwrap().samples, 3);
        assert_eq!(backlog.pop().unwrap().samples, 4);
        assert!(backlog.pop().is_none());
        assert_eq!(backlog.push(request(5)), 0);
    }
}
