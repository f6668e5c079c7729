//! What a simulation is told besides the registers: properties of the hardware.

use super::Picos;
use super::calendar::Order;
use crate::constants;

/// Order in which packets of one egress lane leave a switch, and what they hold up in its input
/// buffers (head-of-line blocking). Not public for Omni-Path. A SwitchLifetime is looked at for the
/// first packet of an egress lane, which is the oldest one with [`Self::Oldest`] alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Queueing {
    /// In virtual output queues (VOQ): one that waits for its egress port holds up no other. At an
    /// egress lane the oldest goes first, of whatever input.
    #[default]
    Oldest,
    /// In virtual output queues; at an egress lane the inputs take turns, packet by packet. Copies of
    /// multicast packets that hold no input buffer take no turns: they queue as they come.
    RoundRobin,
    /// In one queue for each input port and lane: the head holds up all behind it. Of the heads for
    /// one egress lane the oldest goes first.
    Fifo,
}

/// Packet that a head-of-queue lifetime (HoqLife) is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HeadOfQueue {
    /// The first one of an egress lane ("at the Head of a Switch Egress Port", opafm.xml;
    /// InfiniBand's HOQLife is that of "the head of a VL queue"): it ends only in a lane that stands
    /// still, and one step in the queue begins it anew.
    #[default]
    EgressLane,
    /// The first one of each input for an egress lane: it ends too if other inputs go first for
    /// too long ("the head of queue packet has to enter the fabric", the study of discards).
    Input,
}

/// Options of a simulation besides the registers.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seed of all that is random in switches.
    pub seed: u64,
    /// Queueing discipline of switches.
    pub queueing: Queueing,
    /// Packet that a head-of-queue lifetime is about.
    pub head_of_queue: HeadOfQueue,
    /// Order of two events of one moment.
    pub order: Order,
    /// Switch, head to head, between blocks of ports.
    pub switch_latency: Picos,
    /// Latency inside a block of ports.
    pub block_latency: Picos,
    /// Along every cable.
    pub cable: Picos,
    /// From a packet's tail leaving a buffer to the use of its credits at the other end of the cable,
    /// besides the cable's latency.
    pub credit_return: Picos,
    /// From the tail's arrival at an HFI to its delivery; its buffer is free then.
    pub receive: Picos,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            queueing: Queueing::default(),
            head_of_queue: HeadOfQueue::default(),
            order: Order::default(),
            switch_latency: constants::SWITCH_LATENCY,
            block_latency: constants::BLOCK_LATENCY,
            cable: constants::CABLE,
            credit_return: constants::CREDIT_RETURN,
            receive: 0,
        }
    }
}
