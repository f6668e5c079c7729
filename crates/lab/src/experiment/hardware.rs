//! Properties of the hardware that a scenario may set: what is not public, or differs between
//! generations. Registers are the manager's.

use weft_dataplane::packets::{HeadOfQueue, Options, Picos, Queueing};

use super::values::{Checked, nanos, unknown};

/// Longest time of a returning credit: a link carries less than its smallest buffer in it.
const CREDIT_RETURN_MAX: Picos = 2_000_000;

/// Properties of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    /// Order of packets at an egress lane of a switch.
    pub queueing: Queueing,
    /// Packet that HoqLife is about.
    pub head_of_queue: HeadOfQueue,
    /// Time of a credit on its way back, besides the cable.
    pub credit_return: Picos,
}

impl Default for Hardware {
    fn default() -> Self {
        let default = Options::default();
        Self {
            queueing: default.queueing,
            head_of_queue: default.head_of_queue,
            credit_return: default.credit_return,
        }
    }
}

impl Hardware {
    /// Settings of a scenario that it has.
    pub(super) const WORDS: [&str; 3] = ["queueing", "head-of-queue", "credit-return"];

    /// Applies one of [`Self::WORDS`].
    pub(super) fn apply(&mut self, word: &str, rest: &str) -> Checked<()> {
        match word {
            "queueing" => self.queueing = queueing(rest)?,
            "head-of-queue" => self.head_of_queue = head_of_queue(rest)?,
            _ => self.credit_return = nanos(rest, CREDIT_RETURN_MAX)?,
        }
        Ok(())
    }

    /// Options of a simulation of it.
    pub(super) fn options(&self, seed: u64) -> Options {
        Options {
            seed,
            queueing: self.queueing,
            head_of_queue: self.head_of_queue,
            credit_return: self.credit_return,
            ..Options::default()
        }
    }
}

fn queueing(text: &str) -> Checked<Queueing> {
    match text {
        "oldest" => Ok(Queueing::Oldest),
        "round-robin" => Ok(Queueing::RoundRobin),
        "fifo" => Ok(Queueing::Fifo),
        _ => Err(unknown("queueing", text, "oldest, round-robin, fifo")),
    }
}

fn head_of_queue(text: &str) -> Checked<HeadOfQueue> {
    match text {
        "egress-lane" => Ok(HeadOfQueue::EgressLane),
        "input" => Ok(HeadOfQueue::Input),
        _ => Err(unknown("head of queue", text, "egress-lane, input")),
    }
}
