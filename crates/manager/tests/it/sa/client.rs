//! A client of subnet administration.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Lid, Sl, Snapshot, Tick};
use weft_manager::sm::Settings;
use weft_manager::{Sa, SaInput, SaOutput, SaSettings};
use weft_routing::EngineKind;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{DATA_AT, Envelope, RMPP_AT, Received, Receiver, RmppHeader, kind};
use weft_wire::sa::SaHeader;

use crate::common::{World, settings};

/// A reply.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) method: u8,
    /// Bytes from record to record.
    pub(crate) stride: usize,
    pub(crate) data: Vec<u8>,
}

impl Reply {
    /// The records, in order.
    pub(crate) fn records<R: Layout>(&self) -> Vec<R> {
        assert_eq!(self.status, 0, "{self:?}");
        if self.data.is_empty() {
            return Vec::new();
        }
        assert_eq!(self.stride, R::LEN.next_multiple_of(8));
        let whole = self.data.chunks(self.stride);
        whole.map(|record| R::decode(record).unwrap()).collect()
    }
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: u8,
    pub(crate) attribute: u16,
    pub(crate) ib: bool,
    pub(crate) mask: u64,
    pub(crate) data: Vec<u8>,
    /// LID of the requester; 0 for the manager's own port.
    pub(crate) lid: Lid,
    pub(crate) pkey: PKey,
    pub(crate) sm_key: u64,
}

impl Ask {
    /// Everything of a record, from the manager's own port.
    pub(crate) fn new(method: u8, attribute: u16) -> Self {
        Self {
            method,
            attribute,
            ib: false,
            mask: 0,
            data: Vec::new(),
            lid: Lid(0),
            pkey: PKey::MGMT_FULL,
            sm_key: 0,
        }
    }

    pub(crate) fn with<R: Layout>(mut self, mask: u64, record: &R) -> Self {
        self.mask = mask;
        self.data = record.to_bytes();
        self
    }

    pub(crate) fn packet(&self, transaction_id: u64) -> Packet {
        let (base_version, class_version) = match self.ib {
            true => (version::IB, version::IB_SA),
            false => (version::OPA, version::OPA),
        };
        let mut class = [0; SaHeader::LEN];
        let header = SaHeader {
            sm_key: self.sm_key,
            component_mask: self.mask,
            ..SaHeader::default()
        };
        header.encode(&mut class);
        let envelope = Envelope {
            mad: MadHeader {
                base_version,
                class_version,
                mgmt_class: class::SUBN_ADM,
                method: self.method,
                transaction_id,
                attribute_id: self.attribute,
                ..MadHeader::default()
            },
            class,
        };
        let mut mad = Vec::new();
        envelope.write(&RmppHeader::default(), &self.data, &mut mad);
        Packet {
            slid: self.lid,
            dlid: Lid(1),
            sl: Sl(0),
            pkey: self.pkey,
            dest_qp: 1,
            src_qp: 1,
            mad,
        }
    }
}

/// An administration with a fabric to tell of.
pub(crate) struct Served {
    pub(crate) sa: Sa,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) now: Tick,
    pub(crate) other: Vec<SaOutput>,
    transaction: u64,
}

/// The fabric of `spec`, brought up with that LMC.
pub(crate) fn snapshot(spec: &str, lmc: u8) -> Arc<Snapshot> {
    let mut manager = settings();
    manager.lids.lmc = weft_fabric::Lmc(lmc);
    swept(spec, manager)
}

/// A fabric that a manager with these settings has swept.
fn swept(spec: &str, manager: Settings) -> Arc<Snapshot> {
    let mut world = World::new(spec, manager);
    world.sweep();
    world.manager.snapshot()
}

impl Served {
    pub(crate) fn new(spec: &str, lmc: u8, settings: SaSettings) -> Self {
        Self::of(snapshot(spec, lmc), settings)
    }

    /// On a fabric that is routed in lanes.
    pub(crate) fn layered(spec: &str) -> Self {
        let mut manager = settings();
        manager.routing.engine = EngineKind::Layered;
        Self::of(swept(spec, manager), SaSettings::default())
    }

    pub(crate) fn of(snapshot: Arc<Snapshot>, settings: SaSettings) -> Self {
        let mut sa = Sa::new(settings);
        sa.handle(Tick(0), SaInput::RegistrationsLost { asked: 0 });
        Self::with(sa, snapshot)
    }

    /// An existing administration, with a snapshot of a fabric.
    pub(crate) fn with(mut sa: Sa, snapshot: Arc<Snapshot>) -> Self {
        sa.handle(Tick(0), SaInput::Published(Arc::clone(&snapshot)));
        Self {
            sa,
            snapshot,
            now: Tick(0),
            other: Vec::new(),
            transaction: 0,
        }
    }

    /// Sends a request, and reassembles the answer.
    pub(crate) fn ask(&mut self, ask: &Ask) -> Reply {
        self.transaction += 1;
        let mut ask = ask.clone();
        if ask.lid == Lid(0) {
            ask.lid = self.snapshot.sms[0].lid;
        }
        let ask = &ask;
        let packet = ask.packet(self.transaction);
        self.now = self.now + Duration::from_millis(1);
        self.sa.handle(self.now, SaInput::Received(packet));
        let mut receiver = Receiver::new(1 << 30, 64);
        loop {
            let mad = match self.sa.poll().expect("no answer") {
                SaOutput::Send(packet) if is_answer(&packet, self.transaction) => packet.mad,
                other => {
                    self.other.push(other);
                    continue;
                }
            };
            let rmpp = RmppHeader::decode(&mad[RMPP_AT..]).unwrap();
            if rmpp.rmpp_type == kind::NONE {
                // One datagram holds one record; the rest is padding.
                let mut single = reply(&mad, mad[DATA_AT..].to_vec());
                single.data.truncate(single.stride);
                return single;
            }
            match receiver.push(&mad).unwrap() {
                Received::Nothing => {}
                Received::Ack {
                    segment_num,
                    window_last,
                } => self.acknowledge(ask, &mad, segment_num, window_last),
                Received::Complete { segment_num } => {
                    self.acknowledge(ask, &mad, segment_num, segment_num);
                    return reply(&mad, receiver.message().unwrap().to_vec());
                }
            }
        }
    }

    /// Sends a request, and returns whether there is no reply.
    pub(crate) fn is_silent(&mut self, ask: &Ask) -> bool {
        self.transaction += 1;
        let mut ask = ask.clone();
        if ask.lid == Lid(0) {
            ask.lid = self.snapshot.sms[0].lid;
        }
        let packet = ask.packet(self.transaction);
        self.sa.handle(self.now, SaInput::Received(packet));
        let sent: Vec<SaOutput> = std::iter::from_fn(|| self.sa.poll()).collect();
        let answers = |output: &SaOutput| match output {
            SaOutput::Send(packet) => is_answer(packet, self.transaction),
            SaOutput::Multicast(_)
            | SaOutput::Groups(_)
            | SaOutput::Storm(_)
            | SaOutput::Stale
            | SaOutput::Persist(_) => false,
        };
        !sent.iter().any(answers)
    }

    fn acknowledge(&mut self, ask: &Ask, mad: &[u8], segment: u32, window: u32) {
        let envelope = Envelope {
            mad: MadHeader::decode(mad).unwrap(),
            class: [0; SaHeader::LEN],
        };
        let mut packet = ask.packet(self.transaction);
        envelope.write_ack(segment, window, &mut packet.mad);
        self.sa.handle(self.now, SaInput::Received(packet));
    }
}

fn is_answer(packet: &Packet, transaction: u64) -> bool {
    let mad = MadHeader::decode(&packet.mad).unwrap();
    mad.transaction_id == transaction && mad.method & 0x80 != 0
}

fn reply(mad: &[u8], data: Vec<u8>) -> Reply {
    let header = MadHeader::decode(mad).unwrap();
    let class = SaHeader::decode(&mad[36..]).unwrap();
    Reply {
        status: header.status,
        method: header.method,
        stride: usize::from(class.attribute_offset) * 8,
        data,
    }
}
