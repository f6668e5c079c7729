//! Properties of the hardware, and of hosts, that a scenario may set: what is not public, or differs
//! between generations. Registers are the manager's.

use weft_dataplane::packets::{HeadOfQueue, MICRO, NANO, Options, Picos, Queueing};
use weft_dataplane::traffic::mpi::HostSpeed;

use super::hardware_numbers::Number;
use super::values::{Checked, unknown};

/// Time of an agent for a request, and of a datagram over a link and through the switch before it. Assumed, because
/// neither is published: the campaigns' own.
const AGENT_TIME: Picos = 20 * MICRO;
const HOP_TIME: Picos = 100 * NANO;
/// Properties of the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    /// Order of packets at an egress lane of a switch.
    pub queueing: Queueing,
    /// Packet that HoqLife is about.
    pub head_of_queue: HeadOfQueue,
    /// Time of a credit on its way back, besides the cable.
    pub credit_return: Picos,
    /// Time of a switch inside a block of ports, head to head.
    pub block_latency: Picos,
    /// Time of an agent for a request, where the manager works during traffic.
    pub agent_time: Picos,
    /// Time of its datagrams over a link and through the switch before it.
    pub hop_time: Picos,
    /// Processors and receive queues of hosts.
    pub hosts: HostSpeed,
}

impl Default for Hardware {
    fn default() -> Self {
        let default = Options::default();
        Self {
            queueing: default.queueing,
            head_of_queue: default.head_of_queue,
            credit_return: default.credit_return,
            block_latency: default.block_latency,
            agent_time: AGENT_TIME,
            hop_time: HOP_TIME,
            hosts: HostSpeed::default(),
        }
    }
}

impl Hardware {
    /// Settings of a scenario that choose among kinds.
    pub(super) const KINDS: [&str; 3] = ["queueing", "head-of-queue", "registration"];

    /// Applies one of [`Self::KINDS`] or of the [`Number`]s; returns whether the word is one of them.
    pub(super) fn apply(&mut self, word: &str, rest: &str) -> Checked<bool> {
        match word {
            "queueing" => self.queueing = queueing(rest)?,
            "head-of-queue" => self.head_of_queue = head_of_queue(rest)?,
            "registration" => self.hosts.cold = is_cold(rest)?,
            _ => match Number::find(word) {
                Some(number) => *(number.field)(self) = number.form.read(rest)?,
                None => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Options of a simulation of it.
    pub(super) fn options(&self, seed: u64) -> Options {
        Options {
            seed,
            queueing: self.queueing,
            head_of_queue: self.head_of_queue,
            credit_return: self.credit_return,
            block_latency: self.block_latency,
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

/// Whether memory of messages is not registered yet.
fn is_cold(text: &str) -> Checked<bool> {
    match text {
        "warm" => Ok(false),
        "cold" => Ok(true),
        _ => Err(unknown("registration", text, "warm, cold")),
    }
}
