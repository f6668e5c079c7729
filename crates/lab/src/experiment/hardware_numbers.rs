//! The numbers among the properties of the hardware and of hosts, which a scenario can set and sweep.

use weft_dataplane::constants::{PIO_BLOCK, SWITCH_LATENCY};
use weft_dataplane::packets::{NANO, Picos};

use super::hardware::Hardware;
use super::values::{Checked, nanos, number, rate};

/// Longest time of a returning credit: a link carries less than its smallest buffer in it.
const CREDIT_RETURN_MAX: Picos = 2_000_000;
/// Longest time of a processor for a packet.
const PACKET_TIME: Form = Form::Time(100_000_000);
/// Slowest processor that copies, bytes a second: a file of 64 MiB takes a minute.
const COPY_RATE_MIN: u64 = 1_000_000;
/// Send buffer of an HFI, bytes: from one process's window to sixteen times the assumed size.
const SEND_BUFFER: Form = Form::Bytes(64 << 10, 16 << 20, PIO_BLOCK);
/// Receive queues: packets (`hfi1`: 32 to 16,352) and bytes (`hfi1`: at least a group of buffers of 8 KiB).
const QUEUE_PACKETS: Form = Form::Whole(32, 16_352);
const QUEUE_BYTES: Form = Form::Whole(64 << 10, 1 << 30);

/// How a number is written, and what it may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// Nanoseconds, at most this long.
    Time(Picos),
    /// Bytes a second, at least as many.
    Rate(u64),
    /// A whole number between two.
    Whole(u64, u64),
    /// Bytes between two, in whole units.
    Bytes(u64, u64, u32),
}

impl Form {
    /// The value of a text, in its own unit: picoseconds, bytes a second, or what is counted.
    pub(super) fn read(self, text: &str) -> Checked<u64> {
        match self {
            Self::Time(most) => nanos(text, most),
            Self::Rate(least) => rate(text, least),
            Self::Whole(least, most) => number(text, least, most),
            Self::Bytes(least, most, unit) => in_units(number(text, least, most)?, text, unit),
        }
    }

    /// A value where it stands on a curve: nanoseconds, GB/s, or what is counted.
    pub(super) fn on_curve(self, value: u64) -> f64 {
        match self {
            Self::Time(_) => value as f64 / NANO as f64,
            Self::Rate(_) => value as f64 / 1e9,
            Self::Whole(..) | Self::Bytes(..) => value as f64,
        }
    }
}

/// A number of bytes, if it is whole units.
pub(super) fn in_units(bytes: u64, text: &str, unit: u32) -> Checked<u64> {
    match bytes % u64::from(unit) {
        0 => Ok(bytes),
        _ => Err(format!("{text} is no multiple of {unit}")),
    }
}

/// A number of the hardware.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    /// The setting of a scenario.
    pub(super) word: &'static str,
    pub(super) form: Form,
    /// Where it is kept.
    pub(super) field: fn(&mut Hardware) -> &mut u64,
}

impl Number {
    /// All of them.
    pub(super) const ALL: [Self; 12] = [
        new("credit-return", Form::Time(CREDIT_RETURN_MAX), |all| {
            &mut all.credit_return
        }),
        new("block-latency", Form::Time(SWITCH_LATENCY), |all| {
            &mut all.block_latency
        }),
        new("host-rate", Form::Rate(COPY_RATE_MIN), |all| {
            &mut all.hosts.copy_rate
        }),
        new("verbs-receive", PACKET_TIME, |all| {
            &mut all.hosts.verbs_receive
        }),
        new("verbs-send", PACKET_TIME, |all| &mut all.hosts.verbs_send),
        new("dma-call", PACKET_TIME, |all| &mut all.hosts.call),
        new("pin-page", PACKET_TIME, |all| &mut all.hosts.page),
        new("send-buffer", SEND_BUFFER, |all| &mut all.hosts.send_buffer),
        new("agent-time", PACKET_TIME, |all| &mut all.agent_time),
        new("hop-time", PACKET_TIME, |all| &mut all.hop_time),
        new("receive-packets", QUEUE_PACKETS, |all| {
            &mut all.hosts.queue.packets
        }),
        new("receive-bytes", QUEUE_BYTES, |all| {
            &mut all.hosts.queue.bytes
        }),
    ];

    /// The number that a setting sets.
    pub(super) fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word == word)
    }

    /// The settings of all.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|one| one.word)
    }
}

const fn new(word: &'static str, form: Form, field: fn(&mut Hardware) -> &mut u64) -> Number {
    Number { word, form, field }
}
