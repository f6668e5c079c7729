//! A rank's processors and its part of the HFI's send buffer.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::Sl;

use super::context::ReceiveQueue;
use super::stack::Stack;
use crate::constants::TID_FLOWS;
use crate::packets::Picos;

/// A process on a host.
#[derive(Debug, Clone)]
pub(super) struct Rank {
    /// Number of its host.
    pub(super) host: u32,
    pub(super) stack: Stack,
    /// Its context among its HFI's.
    pub(super) context: u32,
    /// Service level of all messages of its program.
    pub(super) level: Sl,
    /// The processor of its program.
    pub(super) processor: Processor,
    /// The processor of the kernel that receives for it, if one does.
    kernel: Processor,
    /// Receive queue of its context.
    pub(super) queue: ReceiveQueue,
    /// Messages and answers to reads of which its kernel makes the packets, in order.
    pub(super) making: VecDeque<u32>,
    /// Blocks of the send buffer that it may write.
    pub(super) blocks: u32,
    /// Payload of the largest packet that it can write.
    pub(super) payload: u32,
    /// Messages that wait to be written, in order.
    pub(super) writing: VecDeque<u32>,
    /// Windows that it may request now.
    pub(super) windows: u32,
    /// Messages of which it has not requested everything, in order.
    pub(super) asking: VecDeque<u32>,
    /// The path that it takes next to each host.
    paths: BTreeMap<u32, u32>,
    /// Number of messages and requests it has begun; wraps.
    begun: u32,
}

impl Rank {
    /// One of `processes` on its host, with a context of its HFI.
    pub(super) fn new(host: u32, context: u32, stack: Stack, level: Sl, processes: u32) -> Self {
        Self {
            host,
            stack,
            context,
            level,
            processor: Processor::default(),
            kernel: Processor::default(),
            queue: ReceiveQueue::default(),
            making: VecDeque::new(),
            blocks: stack.blocks(processes),
            payload: stack.written_payload(processes),
            writing: VecDeque::new(),
            windows: TID_FLOWS,
            asking: VecDeque::new(),
            paths: BTreeMap::new(),
            begun: 0,
        }
    }

    /// The number of its next message or request.
    pub(super) fn begin(&mut self) -> u32 {
        self.begun = self.begun.wrapping_add(1);
        self.begun
    }

    /// The path of the next window to a host: all of them by turns, beginning with one that depends on
    /// the process (`ips_path_rec.c`).
    pub(super) fn next_path(&mut self, host: u32) -> u32 {
        let next = self.paths.entry(host).or_insert(self.context);
        let path = *next;
        *next = next.wrapping_add(1);
        path
    }

    /// When its program's processor has dealt with something that comes at `now`, takes the endpoint's time in
    /// all, and `work` of the processor.
    pub(super) fn serve(&mut self, now: Picos, work: Picos) -> Picos {
        self.processor.serve(now, self.stack.endpoint, work)
    }

    /// The same of the processor that receives: the kernel's, if that does.
    pub(super) fn receive(&mut self, now: Picos, work: Picos) -> Picos {
        let processor = match self.stack.is_kernel() {
            true => &mut self.kernel,
            false => &mut self.processor,
        };
        processor.serve(now, self.stack.endpoint, work)
    }
}

/// A processor, which does one thing after the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Processor {
    /// It has something to do until then.
    busy_until: Picos,
}

impl Processor {
    /// When it has done work that it can begin at `at`.
    pub(super) fn work_from(&mut self, at: Picos, work: Picos) -> Picos {
        if work == 0 {
            return at;
        }
        self.busy_until = at.max(self.busy_until) + work;
        self.busy_until
    }

    /// When something is done that comes at `now`, takes `endpoint` in all, and `work` of the processor; what
    /// takes no work waits for what is begun, and nothing waits for it.
    fn serve(&mut self, now: Picos, endpoint: Picos, work: Picos) -> Picos {
        let done = (now + endpoint.max(work)).max(self.busy_until + work);
        if work > 0 {
            self.busy_until = done;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::NANO;

    #[test]
    fn work_takes_turns_and_what_takes_none_waits_for_what_is_begun() {
        let mut rank = Rank::new(0, 1, Stack::PSM2, Sl(0), 1);
        assert_eq!(rank.serve(0, 400 * NANO), 400 * NANO);
        assert_eq!(rank.serve(10 * NANO, 400 * NANO), 800 * NANO);
        assert_eq!(rank.serve(10 * NANO, 0), 800 * NANO);
        assert_eq!(rank.serve(10 * NANO, 100 * NANO), 900 * NANO);
        assert_eq!(rank.serve(2_000 * NANO, 0), 2_400 * NANO);
    }

    /// A kernel deals with packets one after the other, whatever its program's processor does.
    #[test]
    fn a_kernel_receives_on_a_processor_of_its_own() {
        let mut rank = Rank::new(0, 1, Stack::VERBS, Sl(0), 1);
        assert_eq!(rank.serve(0, 5_000 * NANO), 5_000 * NANO);
        assert_eq!(rank.receive(0, 900 * NANO), 900 * NANO);
        assert_eq!(rank.receive(0, 100 * NANO), 1_000 * NANO);
        assert_eq!(rank.receive(1_000 * NANO, 0), 1_400 * NANO);
        assert_eq!(rank.receive(1_000 * NANO, 100 * NANO), 1_400 * NANO);
        assert_eq!(rank.receive(2_000 * NANO, 100 * NANO), 2_400 * NANO);
        let mut rank = Rank::new(0, 1, Stack::PSM2, Sl(0), 1);
        assert_eq!(rank.serve(0, 900 * NANO), 900 * NANO);
        assert_eq!(rank.receive(0, 100 * NANO), 1_000 * NANO);
    }
}
