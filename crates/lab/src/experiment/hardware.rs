//! Properties of the hardware, and of hosts, that a scenario may set: what is not public, or differs
//! between generations. Registers are the manager's.

use weft_dataplane::constants::{PIO_BLOCK, SWITCH_LATENCY};
use weft_dataplane::packets::{HeadOfQueue, MICRO, NANO, Options, Picos, Queueing};
use weft_dataplane::traffic::mpi::HostSpeed;

use super::values::{Checked, nanos, number, rate, unknown};

/// Longest time of a returning credit: a link carries less than its smallest buffer in it.
const CREDIT_RETURN_MAX: Picos = 2_000_000;
/// Longest time of a processor for a packet.
const PACKET_TIME_MAX: Picos = 100_000_000;
/// Slowest processor that copies, bytes a second: a file of 64 MiB takes a minute.
const COPY_RATE_MIN: u64 = 1_000_000;
/// Time of an agent for a request, and of a datagram over a link and through the switch before it. Assumed, because
/// neither is published: the campaigns' own.
const AGENT_TIME: Picos = 20 * MICRO;
const HOP_TIME: Picos = 100 * NANO;
/// Send buffer of an HFI, bytes: from one process's window to sixteen times the assumed size.
const SEND_BUFFER: (u64, u64) = (64 << 10, 16 << 20);
/// Receive queues: packets (`hfi1`: 32 to 16,352) and bytes (`hfi1`: at least a group of buffers of 8 KiB).
const QUEUE_PACKETS: (u64, u64) = (32, 16_352);
const QUEUE_BYTES: (u64, u64) = (64 << 10, 1 << 30);

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
    pub(super) const KINDS: [&str; 2] = ["queueing", "head-of-queue"];

    /// Settings of a scenario that are numbers, which can be swept.
    pub(super) const NUMBERS: [&str; 11] = [
        "credit-return",
        "block-latency",
        "host-rate",
        "verbs-receive",
        "verbs-send",
        "dma-call",
        "send-buffer",
        "agent-time",
        "hop-time",
        "receive-packets",
        "receive-bytes",
    ];

    /// Applies one of [`Self::KINDS`] or [`Self::NUMBERS`]; returns whether the word is one of them.
    pub(super) fn apply(&mut self, word: &str, rest: &str) -> Checked<bool> {
        match word {
            "queueing" => self.queueing = queueing(rest)?,
            "head-of-queue" => self.head_of_queue = head_of_queue(rest)?,
            "credit-return" => self.credit_return = nanos(rest, CREDIT_RETURN_MAX)?,
            "block-latency" => self.block_latency = nanos(rest, SWITCH_LATENCY)?,
            "agent-time" => self.agent_time = nanos(rest, PACKET_TIME_MAX)?,
            "hop-time" => self.hop_time = nanos(rest, PACKET_TIME_MAX)?,
            "dma-call" => self.hosts.call = nanos(rest, PACKET_TIME_MAX)?,
            "send-buffer" => {
                let (least, most) = SEND_BUFFER;
                self.hosts.send_buffer = (number(rest, least, most)? / u64::from(PIO_BLOCK)) as u32;
            }
            "host-rate" => self.hosts.copy_rate = rate(rest, COPY_RATE_MIN)?,
            "verbs-receive" => self.hosts.verbs_receive = nanos(rest, PACKET_TIME_MAX)?,
            "verbs-send" => self.hosts.verbs_send = nanos(rest, PACKET_TIME_MAX)?,
            "receive-packets" => {
                let (least, most) = QUEUE_PACKETS;
                self.hosts.queue.packets = number(rest, least, most)? as u32;
            }
            "receive-bytes" => {
                let (least, most) = QUEUE_BYTES;
                self.hosts.queue.bytes = number(rest, least, most)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// One of [`Self::NUMBERS`], in its own unit.
    #[cfg(test)]
    pub(super) fn number(&self, word: &str) -> Option<u64> {
        Some(match word {
            "credit-return" => self.credit_return,
            "block-latency" => self.block_latency,
            "host-rate" => self.hosts.copy_rate,
            "verbs-receive" => self.hosts.verbs_receive,
            "verbs-send" => self.hosts.verbs_send,
            "dma-call" => self.hosts.call,
            "send-buffer" => u64::from(self.hosts.send_buffer),
            "agent-time" => self.agent_time,
            "hop-time" => self.hop_time,
            "receive-packets" => u64::from(self.hosts.queue.packets),
            "receive-bytes" => self.hosts.queue.bytes,
            _ => return None,
        })
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
