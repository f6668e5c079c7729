//! Packets in flight, in one array with a free list.

use weft_fabric::{Lid, Sl, Vl};

use super::Picos;
use crate::network::{NONE, PortIndex};

/// A packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parcel {
    /// The HFI's port that sends it.
    pub from: PortIndex,
    /// Destination.
    pub dlid: Lid,
    /// On which service level.
    pub sl: Sl,
    /// Bytes on the link, headers included; 1 to 65,535 × 8.
    pub bytes: u32,
    /// The sender's words, handed back at delivery.
    pub tag: u64,
}

/// A packet that has arrived, tail included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The HFI's port, or port 0 of a switch.
    pub at: PortIndex,
    /// The destination that it was sent to.
    pub dlid: Lid,
    /// The sender's words.
    pub tag: u64,
    /// Flits of 8 bytes.
    pub flits: u16,
    /// Links crossed.
    pub hops: u8,
    /// When it was handed over for sending.
    pub born: Picos,
}

/// A packet that was dropped; a counter of the port records it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The port that dropped it.
    pub at: PortIndex,
    /// The lane on which it would have left, or on which it came.
    pub vl: Vl,
    /// The sender's words.
    pub tag: u64,
    /// When it was handed over for sending.
    pub born: Picos,
}

/// A packet in flight, in one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
pub(super) struct Packet {
    pub(super) tag: u64,
    pub(super) born: Picos,
    /// When its head came into the switch where it is.
    pub(super) entered: Picos,
    /// When it may leave the switch at the earliest.
    pub(super) ready: Picos,
    /// When its tail may leave the switch at the earliest.
    pub(super) tail: Picos,
    /// The next one in its queue, or the next free place.
    pub(super) next: u32,
    /// The port whose buffer it is in, or that it flies to; [`NONE`] at its sender.
    pub(super) ingress: u32,
    pub(super) dlid: u32,
    /// The port that it was first sent by.
    pub(super) from: u32,
    pub(super) flits: u16,
    /// The service level that it was sent on.
    pub(super) sl: u8,
    pub(super) sc: u8,
    /// The lane whose buffer it takes up.
    pub(super) lane: u8,
    pub(super) hops: u8,
    /// The link's epoch when it was sent.
    pub(super) epoch: u8,
    /// Marks of congestion control.
    pub(super) marks: u8,
}

/// All packets in flight.
#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    packets: Vec<Packet>,
    free: u32,
    used: usize,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            packets: Vec::new(),
            free: NONE,
            used: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    pub(super) fn add(&mut self, packet: Packet) -> u32 {
        self.used += 1;
        let place = self.free;
        if let Some(slot) = self.packets.get_mut(place as usize) {
            self.free = slot.next;
            *slot = packet;
            return place;
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }

    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Packet {
        let packet = self.packets[id as usize];
        self.packets[id as usize].next = self.free;
        self.free = id;
        self.used -= 1;
        packet
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Bytes that it takes.
    pub(super) fn memory(&self) -> usize {
        self.packets.capacity() * size_of::<Packet>()
    }
}
