//! Message handling of a host's library.

use std::fmt;

use super::transfer::Transfer;
use crate::constants as c;
use crate::packets::Picos;

/// Method of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Inside the header of one packet that the processor writes.
    Inject,
    /// In one packet that the processor writes.
    Eager,
    /// In several packets that the processor writes.
    MultiEager,
    /// At once, by the DMA engines.
    Dma,
    /// By the DMA engines, when the receiver has requested it.
    Rendezvous,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inject => "inject",
            Self::Eager => "eager",
            Self::MultiEager => "multi-packet eager",
            Self::Dma => "eager by SDMA",
            Self::Rendezvous => "rendezvous",
        })
    }
}

/// Recovery of lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// PSM2's: the receiver drops packets after a lost one and sends one NAK, the
    /// sender goes back to it and resends everything from there. If nothing follows, the sender queries
    /// the receiver after a timeout.
    Psm2,
    /// A reliable connection's: as PSM2's, but after a timeout the sender goes back by itself;
    /// a reader requests missing data again.
    Connection,
    /// TCP's: the IP packet is lost, and sent again after three later ones or a timeout.
    Tcp,
}

/// Send parameters of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Payload bytes of the largest packet.
    pub payload: u32,
    /// Bytes around the payload.
    pub headers: u32,
    /// Messages up to this many bytes travel inside the header.
    pub inject: u64,
    /// Messages up to this many bytes are written by the processor.
    pub pio: u64,
    /// Messages beyond this many bytes go by rendezvous.
    pub rendezvous: u64,
    /// Bytes that a receiver requests at once.
    pub window: u64,
    /// Time of HFI and software at each side of a message or of a control packet.
    pub endpoint: Picos,
    /// The part of it in which the receiving processor is busy, for each packet.
    pub receive: Picos,
    /// Number of times that a processor copies each byte sent or received eagerly: on the sending
    /// side, and on the receiving side.
    pub copies: (u64, u64),
    /// Recovery of lost packets.
    pub recovery: Recovery,
    /// Bytes a second that a processor copies.
    pub copy_rate: u64,
    /// Time of the kernel's processor to make a packet of verbs.
    pub send: Picos,
    /// Time of the system call that hands a message to the DMA engines.
    pub call: Picos,
    /// Blocks of the HFI's send buffer, which its processes share.
    pub send_buffer: u32,
    /// Room in the receive queue of a process's context.
    pub queue: Queue,
    /// Time of the processor to register a page of a message that the DMA engines send or that the card places; none where
    /// all memory is registered already, or never is.
    pub registers: Option<Picos>,
}

/// Room in a receive queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// Packets.
    pub packets: u64,
    /// Bytes of their data.
    pub bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self::STOCK
    }
}

impl Queue {
    /// The driver's.
    const STOCK: Self = Self {
        packets: c::RECEIVE_HEADERS,
        bytes: c::RECEIVE_EAGER,
    };
}

/// Properties of hosts that are assumed, or that an administrator sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostSpeed {
    /// Bytes a second that a processor copies.
    pub copy_rate: u64,
    /// Time of a kernel's processor for a packet that it receives, besides copies.
    pub verbs_receive: Picos,
    /// Time of a kernel's processor to make a packet of verbs.
    pub verbs_send: Picos,
    /// Time of the system call that hands a message to the DMA engines.
    pub call: Picos,
    /// Bytes of an HFI's send buffer.
    pub send_buffer: u64,
    /// Room in receive queues.
    pub queue: Queue,
    /// Messages are in memory that has not been registered: nothing is in the caches of PSM2 and of the driver.
    pub cold: bool,
    /// Time to register a page of it.
    pub page: Picos,
}

impl Default for HostSpeed {
    fn default() -> Self {
        Self {
            copy_rate: c::COPY_RATE,
            verbs_receive: c::VERBS_RECEIVE,
            verbs_send: c::VERBS_SEND,
            call: c::SDMA_CALL,
            send_buffer: u64::from(c::PIO_BLOCKS * c::PIO_BLOCK),
            queue: Queue::default(),
            cold: false,
            page: c::PIN_PAGE,
        }
    }
}

impl Stack {
    /// PSM2, under MPI.
    pub const PSM2: Self = Self {
        payload: c::PSM2_PAYLOAD,
        headers: c::PSM2_HEADERS,
        inject: c::PSM2_TINY,
        pio: c::PSM2_PIO,
        rendezvous: c::PSM2_RENDEZVOUS,
        window: c::PSM2_WINDOW,
        endpoint: c::ENDPOINT,
        receive: c::PSM2_RECEIVE,
        copies: (0, 1),
        recovery: Recovery::Psm2,
        copy_rate: c::COPY_RATE,
        send: 0,
        call: c::SDMA_CALL,
        send_buffer: c::PIO_BLOCKS,
        queue: Queue::STOCK,
        registers: None,
    };

    /// OPX, the libfabric provider, under MPI. Its window and its recovery are assumed to be
    /// PSM2's; its own sources keep packets after a lost one and resend only that one.
    pub const OPX: Self = Self {
        headers: c::OPX_HEADERS,
        inject: c::OPX_INJECT,
        pio: c::OPX_PIO,
        rendezvous: c::OPX_PIO,
        receive: c::OPX_RECEIVE,
        ..Self::PSM2
    };

    /// IP in connected mode: everything is sent at once. The kernel's verbs receive packets; the program
    /// copies the data out of its socket.
    pub const IPOIB: Self = Self {
        payload: c::IPOIB_PAYLOAD,
        headers: c::IPOIB_HEADERS,
        inject: 0,
        pio: 0,
        rendezvous: u64::MAX,
        window: u64::MAX,
        endpoint: c::ENDPOINT,
        receive: c::VERBS_RECEIVE,
        copies: (1, 1),
        recovery: Recovery::Tcp,
        copy_rate: c::COPY_RATE,
        send: 0,
        call: c::SDMA_CALL,
        send_buffer: c::PIO_BLOCKS,
        queue: Queue::STOCK,
        registers: None,
    };

    /// A file copied over a socket.
    pub const BULK: Self = Self {
        copies: (c::BULK_COPIES, c::BULK_COPIES),
        ..Self::IPOIB
    };

    /// Verbs. The card has no part in them: the kernel of the host that sends, or is read from, makes each packet,
    /// that of the receiver or reader copies its data to where it belongs (`hfi1`, `hfi1_make_rc_req`, `rc_rcv_resp`,
    /// `rvt_copy_sge`).
    pub const VERBS: Self = Self {
        payload: c::VERBS_PAYLOAD,
        copies: (0, 0),
        recovery: Recovery::Connection,
        send: c::VERBS_SEND,
        ..Self::IPOIB
    };

    /// The stack on hosts of another speed.
    #[must_use]
    pub fn on(self, host: &HostSpeed) -> Self {
        Self {
            copy_rate: host.copy_rate,
            call: host.call,
            send_buffer: (host.send_buffer / u64::from(c::PIO_BLOCK)) as u32,
            queue: host.queue,
            registers: (host.cold && !self.is_kernel()).then_some(host.page),
            receive: if self.is_kernel() {
                host.verbs_receive
            } else {
                self.receive
            },
            send: if self.is_connection() {
                host.verbs_send
            } else {
                self.send
            },
            ..self
        }
    }

    /// Whether the kernel receives: it copies the data of each packet once more than the receiving side's
    /// `copies`, on a processor of its own, and its HFI waits for room in its queue.
    pub fn is_kernel(&self) -> bool {
        self.recovery != Recovery::Psm2
    }

    /// Whether a kernel makes its packets, for a reliable connection.
    pub fn is_connection(&self) -> bool {
        self.recovery == Recovery::Connection
    }

    /// Whether it sends over TCP.
    #[inline]
    pub fn is_tcp(&self) -> bool {
        self.recovery == Recovery::Tcp
    }

    /// The stack with the payload of packets limited to an MTU.
    #[must_use]
    pub fn within(self, mtu: Option<u32>) -> Self {
        Self {
            payload: mtu.map_or(self.payload, |mtu| self.payload.min(mtu)),
            ..self
        }
    }

    /// Method of sending a message, if the processor may write packets of `payload` bytes.
    pub fn method(&self, bytes: u64, payload: u32) -> Method {
        if bytes > self.rendezvous {
            Method::Rendezvous
        } else if bytes > self.pio || self.pio == 0 {
            Method::Dma
        } else if bytes <= self.inject {
            Method::Inject
        } else if bytes <= u64::from(payload) {
            Method::Eager
        } else {
            Method::MultiEager
        }
    }

    /// The largest payload that a process can write as one packet where `processes` share the
    /// HFI's send buffer.
    pub fn written_payload(&self, processes: u32) -> u32 {
        let room = self.blocks(processes) * c::PIO_BLOCK;
        room.saturating_sub(self.headers)
            .clamp(c::PIO_BLOCK, self.payload)
    }

    /// Blocks of the send buffer that each of `processes` has; at least two.
    pub fn blocks(&self, processes: u32) -> u32 {
        let share = self.send_buffer / processes.max(1);
        share.clamp(2, c::PIO_BLOCKS_MAX)
    }

    /// Time of a processor to copy `bytes` bytes `copies` times.
    pub fn copy_time(&self, bytes: u64, copies: u64) -> Picos {
        let picos = u128::from(bytes) * u128::from(copies) * 1_000_000_000_000;
        Picos::try_from(picos / u128::from(self.copy_rate.max(1))).unwrap_or(Picos::MAX)
    }

    /// Time of a processor to register memory of `bytes` bytes, which begins a page; 0 where it need not.
    pub fn registering(&self, bytes: u64) -> Picos {
        let page = self.registers.unwrap_or(0);
        page.saturating_mul(bytes.div_ceil(c::PAGE))
    }

    /// Bytes on the link of a message of `bytes`: in TCP's segments with their headers, else the same.
    pub fn on_link(&self, bytes: u64) -> u64 {
        if !self.is_tcp() {
            return bytes;
        }
        let packets = bytes.div_ceil(c::IPOIB_MTU - c::TCP_HEADERS);
        bytes + packets * (c::TCP_HEADERS + c::IPOIB_ENCAPSULATION)
    }

    /// Packets of a message of which each carries `payload` bytes; an empty one has one packet.
    pub fn packets(bytes: u64, payload: u32) -> u32 {
        let packets = bytes.div_ceil(u64::from(payload)).max(1);
        packets.min(u64::from(u32::MAX)) as u32
    }

    /// Bytes on the link of packet `number` of a message.
    pub fn packet_bytes(&self, bytes: u64, payload: u32, number: u32) -> u32 {
        if bytes <= self.inject {
            return self.headers;
        }
        let before = u64::from(number) * u64::from(payload);
        let left = bytes.saturating_sub(before).min(u64::from(payload));
        left as u32 + self.headers
    }

    /// Bytes of data in the packet of a message that came last; what travels in the header is none.
    pub(super) fn data_bytes(&self, transfer: &Transfer) -> u32 {
        let place = transfer.received - 1;
        let bytes = self.packet_bytes(transfer.bytes, transfer.payload, place);
        bytes.saturating_sub(self.headers)
    }

    /// Size of a packet that answers or requests, headers included, bytes.
    pub fn control_bytes(&self) -> u32 {
        match self.recovery {
            Recovery::Tcp => self.headers + (c::IPOIB_ENCAPSULATION + c::TCP_HEADERS) as u32,
            Recovery::Psm2 | Recovery::Connection => self.headers,
        }
    }

    /// Time without an answer after which `packets` sent together are queried or resent.
    pub fn timeout(&self, packets: u32) -> Picos {
        match self.recovery {
            Recovery::Psm2 => c::PSM2_RESEND * u64::from(packets),
            Recovery::Connection => c::VERBS_RESEND,
            Recovery::Tcp => c::TCP_PROBE,
        }
    }

    /// The next timeout after one of this length.
    pub fn timeout_after(&self, timeout: Picos) -> Picos {
        let longer = timeout * c::RESEND_FACTOR;
        match self.recovery {
            Recovery::Psm2 => longer.min(c::PSM2_RESEND_MAX),
            Recovery::Connection => c::VERBS_RESEND,
            Recovery::Tcp => longer.clamp(c::TCP_RESEND, c::TCP_RESEND_MAX),
        }
    }

    /// Packets of a window.
    pub fn window_packets(&self) -> u32 {
        Self::packets(self.window, self.payload)
    }

    /// Packets of an IP packet.
    pub fn segment_packets(&self) -> u32 {
        Self::packets(c::IPOIB_MTU, self.payload)
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
            (8, 1, 60),
            (9, 1, 69),
            (8_192, 1, 8_252),
            (8_193, 2, 61),
            (4 << 20, 512, 8_252),
        ] {
            assert_eq!(Stack::packets(bytes, stack.payload), packets, "{bytes}");
            let length = stack.packet_bytes(bytes, stack.payload, packets - 1);
            assert_eq!(length, last, "{bytes}");
        }
        assert_eq!(stack.window_packets(), 16);
    }

    #[test]
    fn methods_change_at_the_published_sizes_and_with_the_send_buffer() {
        use Method::{Dma, Eager, Inject, MultiEager, Rendezvous};
        for (stack, processes, steps) in [
            (
                Stack::OPX,
                1,
                &[
                    (16, Inject),
                    (8_192, Eager),
                    (16_384, MultiEager),
                    (16_385, Rendezvous),
                ][..],
            ),
            (
                Stack::OPX,
                128,
                &[
                    (16, Inject),
                    (8_128, Eager),
                    (8_129, MultiEager),
                    (16_385, Rendezvous),
                ],
            ),
            (
                Stack::PSM2,
                48,
                &[
                    (8, Inject),
                    (8_192, Eager),
                    (16_384, MultiEager),
                    (64_000, Dma),
                    (64_001, Rendezvous),
                ],
            ),
        ] {
            let payload = stack.written_payload(processes);
            for (bytes, method) in steps {
                assert_eq!(stack.method(*bytes, payload), *method, "{bytes}");
            }
        }
    }
}
