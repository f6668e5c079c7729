//! What a host's library does with a message.

use crate::constants as c;
use crate::packets::Picos;

/// A library's way of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Payload bytes of the largest packet.
    pub payload: u32,
    /// Bytes around the payload.
    pub headers: u32,
    /// Messages beyond this many bytes go by rendezvous.
    pub rendezvous: u64,
    /// Bytes that a receiver asks for at once.
    pub window: u64,
    /// Time of HFI and software at each side of a message or of a control packet.
    pub endpoint: Picos,
}

impl Stack {
    /// PSM2, under MPI.
    pub const PSM2: Self = Self {
        payload: c::PSM2_PAYLOAD,
        headers: c::PSM2_HEADERS,
        rendezvous: c::PSM2_RENDEZVOUS,
        window: c::PSM2_WINDOW,
        endpoint: c::ENDPOINT,
    };

    /// IP in connected mode: everything is sent at once.
    pub const IPOIB: Self = Self {
        payload: c::IPOIB_PAYLOAD,
        headers: c::IPOIB_HEADERS,
        rendezvous: u64::MAX,
        window: u64::MAX,
        endpoint: c::ENDPOINT,
    };

    /// Packets of a message; an empty one has one packet.
    pub fn packets(&self, bytes: u64) -> u32 {
        let packets = bytes.div_ceil(u64::from(self.payload)).max(1);
        packets.min(u64::from(u32::MAX)) as u32
    }

    /// Bytes on the link of packet `number` of a message.
    pub fn packet_bytes(&self, bytes: u64, number: u32) -> u32 {
        let before = u64::from(number) * u64::from(self.payload);
        let payload = bytes.saturating_sub(before).min(u64::from(self.payload));
        payload as u32 + self.headers
    }

    /// Packets of a window.
    pub fn window_packets(&self) -> u32 {
        self.packets(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_packets() {
        let stack = Stack::PSM2;
        for (bytes, packets, last) in [
            (0, 1, 60),
            (1, 1, 61),
            (8_192, 1, 8_252),
            (8_193, 2, 61),
            (4 << 20, 512, 8_252),
        ] {
            assert_eq!(stack.packets(bytes), packets, "{bytes}");
            assert_eq!(stack.packet_bytes(bytes, packets - 1), last, "{bytes}");
        }
        assert_eq!(stack.window_packets(), 16);
    }
}
