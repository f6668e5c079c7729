//! Messages to segments, for agents that leave RMPP to the kernel.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_wire::Layout;
use weft_wire::header::{class, version};
use weft_wire::packet::Packet;
use weft_wire::rmpp::header::VERSION;
use weft_wire::rmpp::{RMPP_AT, RmppHeader, kind};

use super::deadlines::Deadlines;
use super::requests::Key;
use super::{Message, PortId};

/// Bytes of an InfiniBand datagram.
const IB_LEN: usize = 256;
/// Default timeout of an acknowledgement.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
/// Default number of retries.
const DEFAULT_RETRIES: u32 = 3;
/// Most transfers of a process.
pub const TRANSFERS_MAX: usize = 4096;
/// Maximum total size of all messages in flight, bytes.
pub const TRANSFER_BYTES_MAX: usize = 512 << 20;

/// Size of a full datagram, by its base version.
pub fn segment_len(mad: &[u8]) -> usize {
    match mad.first() {
        Some(&version::OPA) => Packet::MAD_LEN_MAX,
        _ => IB_LEN,
    }
}

/// Bytes before the data that a segment carries, for classes that have segments.
pub fn header_len(mgmt_class: u8) -> Option<usize> {
    match mgmt_class {
        class::SUBN_ADM => Some(56),
        // Device management, device administration and the InfiniBand SCSI class.
        0x06 | 0x10 | 0x12 => Some(64),
        0x30..=0x4F => Some(40),
        _ => None,
    }
}

/// A segmented message in flight.
#[derive(Debug)]
pub struct Transfer {
    /// Agent's key.
    agent: u32,
    /// Addresses of the segments; its datagram is the whole message.
    packet: Packet,
    /// The message returned to its program on failure, and its port.
    pub returned: (PortId, Message),
    header: usize,
    segment: usize,
    next: u32,
    acknowledged: u32,
    window_last: u32,
    /// The program's timeout; zero: no answer is expected.
    pub timeout: Duration,
    /// The program's number of retries.
    pub retries: u32,
    retries_left: u32,
    deadline: Duration,
}

/// Effect of the other side's datagram.
#[derive(Debug)]
pub enum Progress {
    /// The transfer continues.
    Continue,
    /// All has arrived; the last segment, should it be wanted again.
    Done(Box<Transfer>, Packet),
    /// The other side does not want it.
    Refused(Box<Transfer>),
}

impl Transfer {
    /// A transfer of the whole message in `packet`, whose class has segments of that header.
    pub fn new(
        agent: u32,
        packet: Packet,
        returned: (PortId, Message),
        header: usize,
        (timeout, retries): (Duration, u32),
    ) -> Self {
        let again = match timeout.is_zero() {
            true => DEFAULT_RETRIES,
            false => retries,
        };
        Self {
            agent,
            segment: segment_len(&packet.mad),
            packet,
            returned,
            header,
            next: 1,
            acknowledged: 0,
            window_last: 1,
            timeout,
            retries,
            retries_left: again,
            deadline: Duration::ZERO,
        }
    }

    fn payload(&self) -> usize {
        self.segment - self.header
    }

    fn segments(&self) -> u32 {
        let data = self.packet.mad.len().saturating_sub(self.header);
        data.div_ceil(self.payload()).max(1) as u32
    }

    fn interval(&self) -> Duration {
        match self.timeout.is_zero() {
            true => DEFAULT_TIMEOUT,
            false => self.timeout,
        }
    }

    /// Sends the segments that the window allows.
    fn pump(&mut self, now: Duration, out: &mut Vec<Packet>) {
        while self.next <= self.window_last.min(self.segments()) {
            out.push(self.cut(self.next));
            self.next += 1;
        }
        self.deadline = now + self.interval();
    }

    fn cut(&self, number: u32) -> Packet {
        let count = self.segments();
        let whole = &self.packet.mad;
        let start = self.header + (number as usize - 1) * self.payload();
        let end = (start + self.payload()).min(whole.len());
        let part = whole.get(start..end).unwrap_or_default();
        let own_header = self.header - RMPP_AT - RmppHeader::LEN;
        let data = whole.len().saturating_sub(self.header);
        let rmpp = RmppHeader {
            rmpp_version: VERSION,
            rmpp_type: kind::DATA,
            r_resp_time: 0x1F,
            first: number == 1,
            last: number == count,
            active: true,
            rmpp_status: 0,
            segment_num: number,
            payload_len: match number {
                1 => (data + own_header * count as usize) as u32,
                _ if number == count => (part.len() + own_header) as u32,
                _ => 0,
            },
        };
        let mut mad = Vec::with_capacity(self.header + part.len());
        mad.extend_from_slice(whole.get(..self.header).unwrap_or_default());
        mad.extend_from_slice(part);
        rmpp.encode(mad.get_mut(RMPP_AT..).unwrap_or_default());
        // Field by field: the whole message is not to be copied for each segment.
        let Packet {
            slid,
            dlid,
            sl,
            pkey,
            dest_qp,
            src_qp,
            ..
        } = self.packet;
        Packet {
            slid,
            dlid,
            sl,
            pkey,
            dest_qp,
            src_qp,
            mad,
        }
    }

    fn len(&self) -> usize {
        self.packet.mad.len()
    }
}

/// All transfers of a process.
#[derive(Debug, Default)]
pub struct Transfers {
    by_key: BTreeMap<Key, Transfer>,
    deadlines: Deadlines<Key>,
    /// Bytes of all messages.
    bytes: usize,
}

impl Transfers {
    /// Whether a message with this key is in flight.
    pub fn contains(&self, key: &Key) -> bool {
        self.by_key.contains_key(key)
    }

    /// Whether there is no room for another, of `len` bytes.
    pub fn is_full(&self, len: usize) -> bool {
        self.by_key.len() >= TRANSFERS_MAX || self.bytes.saturating_add(len) > TRANSFER_BYTES_MAX
    }

    /// Begins a transfer.
    pub fn add(&mut self, now: Duration, key: Key, mut transfer: Transfer, out: &mut Vec<Packet>) {
        transfer.pump(now, out);
        self.bytes += transfer.len();
        self.deadlines.add(transfer.deadline, key);
        self.by_key.insert(key, transfer);
    }

    /// Lets a transfer send the segments that its window allows.
    fn pump(&mut self, now: Duration, key: &Key, out: &mut Vec<Packet>) {
        if let Some(transfer) = self.by_key.get_mut(key) {
            self.deadlines.remove(transfer.deadline, *key);
            transfer.pump(now, out);
            self.deadlines.add(transfer.deadline, *key);
        }
    }

    /// Processes an ACK, STOP or ABORT; ignored if there is no such transfer.
    pub fn handle(
        &mut self,
        now: Duration,
        key: &Key,
        rmpp: &RmppHeader,
        out: &mut Vec<Packet>,
    ) -> Option<Progress> {
        let transfer = self.by_key.get_mut(key)?;
        if rmpp.rmpp_type != kind::ACK || rmpp.segment_num >= transfer.next {
            return self.remove(key).map(Progress::Refused);
        }
        if rmpp.segment_num < transfer.acknowledged {
            return Some(Progress::Continue);
        }
        transfer.acknowledged = rmpp.segment_num;
        if rmpp.segment_num == transfer.segments() {
            let transfer = self.remove(key)?;
            let last = transfer.cut(transfer.segments());
            return Some(Progress::Done(transfer, last));
        }
        transfer.window_last = transfer.window_last.max(rmpp.payload_len);
        self.pump(now, key, out);
        Some(Progress::Continue)
    }

    /// Ends a transfer whatever has arrived of it.
    pub fn remove(&mut self, key: &Key) -> Option<Box<Transfer>> {
        let transfer = self.by_key.remove(key)?;
        self.bytes -= transfer.len();
        self.deadlines.remove(transfer.deadline, *key);
        Some(Box::new(transfer))
    }

    /// Forgets an agent's transfers.
    pub fn forget(&mut self, agent: u32) {
        let own = self.by_key.iter();
        let own = own.filter(|(_, transfer)| transfer.agent == agent);
        let keys: Vec<Key> = own.map(|(key, _)| *key).collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// When [`Self::due`] has something to do.
    pub fn deadline(&self) -> Option<Duration> {
        self.deadlines.first()
    }

    /// Sends again what was not acknowledged in time, until one has been sent too often: that one
    /// is given back.
    pub fn due(&mut self, now: Duration, out: &mut Vec<Packet>) -> Option<(PortId, Message)> {
        while let Some(key) = self.deadlines.due(now) {
            let transfer = self.by_key.get_mut(&key)?;
            if transfer.retries_left == 0 {
                return self.remove(&key).map(|over| over.returned);
            }
            transfer.retries_left -= 1;
            transfer.next = transfer.acknowledged + 1;
            self.pump(now, &key, out);
        }
        None
    }
}
