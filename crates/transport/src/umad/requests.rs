//! Translation of transaction identifiers for the kernel.
//!
//! The kernel puts its own number into the upper half of a request's identifier, and refuses a
//! second request with the identifier of a pending one. So each request, retries included,
//! is sent under a unique number, and its answer gets the program's identifier back. The segments of one request, and
//! the acknowledgements of its answer, share a number: both sides know the transfer by it.

use std::collections::VecDeque;

/// Requests that are remembered; the oldest is forgotten first.
const REMEMBERED_MAX: usize = 65_536;
/// Transfers that are remembered; the oldest is forgotten first.
const TRANSFERS_MAX: usize = 256;

/// Requests that may be answered.
#[derive(Debug)]
pub(super) struct Requests {
    next: u32,
    /// By the lower bits of the number: the number itself and the program's identifier.
    sent: Vec<(u32, u64)>,
    /// Requests in segments: class and identifier of the program, and the number.
    transfers: VecDeque<((u8, u64), u32)>,
}

impl Requests {
    pub(super) fn new() -> Self {
        Self {
            next: 1,
            sent: vec![(0, 0); REMEMBERED_MAX],
            transfers: VecDeque::new(),
        }
    }

    /// The identifier under which a request goes out.
    pub(super) fn outgoing(&mut self, id: u64) -> u64 {
        let number = self.next;
        // 0 stands for an empty place.
        self.next = self.next.checked_add(1).unwrap_or(1);
        self.sent[number as usize % REMEMBERED_MAX] = (number, id);
        u64::from(number)
    }

    /// The identifier under which a datagram of a transfer goes out, by the class and the program's identifier.
    pub(super) fn outgoing_segment(&mut self, class: u8, id: u64) -> u64 {
        let mut transfers = self.transfers.iter();
        if let Some((_, number)) = transfers.find(|(key, _)| *key == (class, id)) {
            return u64::from(*number);
        }
        let number = self.outgoing(id);
        if self.transfers.len() >= TRANSFERS_MAX {
            self.transfers.pop_front();
        }
        self.transfers.push_back(((class, id), number as u32));
        number
    }

    /// The program's identifier of the answered request; `None` if there is no such request.
    pub(super) fn incoming(&self, id: u64) -> Option<u64> {
        let number = id as u32;
        let (sent, original) = self.sent[number as usize % REMEMBERED_MAX];
        (sent == number && number != 0).then_some(original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_its_request_s_identifier_whatever_the_kernel_puts_above() {
        let mut requests = Requests::new();
        let kernel = 0x1234_5678_u64 << 32;
        let ids = [0x1122_3344_5566_7788, 7, 7];
        let sent = ids.map(|id| requests.outgoing(id));
        assert_ne!(
            sent[1], sent[2],
            "a repeated request has a number of its own"
        );
        for (id, sent) in ids.into_iter().zip(sent) {
            assert_eq!(requests.incoming(sent | kernel), Some(id));
        }
        assert_eq!(requests.incoming(kernel), None);
        assert_eq!(requests.incoming(99), None);
    }

    #[test]
    fn the_oldest_request_is_forgotten_first() {
        let mut requests = Requests::new();
        let first = requests.outgoing(1);
        let second = requests.outgoing(2);
        for id in 0..REMEMBERED_MAX as u64 - 1 {
            requests.outgoing(id);
        }
        assert_eq!(requests.incoming(first), None);
        assert_eq!(requests.incoming(second), Some(2));
    }

    #[test]
    fn segments_of_a_request_share_a_number() {
        let mut requests = Requests::new();
        let first = requests.outgoing_segment(0x31, 5);
        assert_eq!(requests.outgoing_segment(0x31, 5), first);
        assert_ne!(requests.outgoing_segment(0x03, 5), first);
        assert_eq!(requests.incoming(first), Some(5));
        for id in 100..100 + TRANSFERS_MAX as u64 {
            requests.outgoing_segment(0x31, id);
        }
        assert_ne!(requests.outgoing_segment(0x31, 5), first, "it is forgotten");
    }

    #[test]
    fn numbers_start_over() {
        let mut requests = Requests::new();
        requests.next = u32::MAX;
        let last = requests.outgoing(5);
        let first = requests.outgoing(6);
        assert_eq!((last, first), (u64::from(u32::MAX), 1));
        assert_eq!(requests.incoming(first), Some(6));
    }
}
