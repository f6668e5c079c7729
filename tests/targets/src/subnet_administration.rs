//! Clients of subnet administration that send any datagrams: queries, registrations, segments and
//! ACKs, between notices, sweeps and time that passes.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Lid, Sl, Tick};
use weft_manager::sa::{Registered, Sa, SaInput, SaOutput, SaSettings};
use weft_wire::Layout;
use weft_wire::header::MadHeader;
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{CLASS_LEN, Envelope, RMPP_AT, RmppHeader, kind};

use crate::three_hosts::FABRIC;

/// Outputs to one input: more than there can be on so small a fabric.
const OUTPUTS_MAX: usize = 10_000;
/// Registrations of each kind that the administration takes here.
const REGISTERED_MAX: usize = 8;

/// Kinds of steps; the rest of the first byte chooses the requester.
mod step {
    pub(super) const MASK: u8 = 0x07;
    pub(super) const NOTICE: u8 = 1;
    pub(super) const WAIT: u8 = 2;
    pub(super) const ACKNOWLEDGE: u8 = 3;
    pub(super) const SWEEP: u8 = 4;
    pub(super) const RECONFIGURE: u8 = 5;
    pub(super) const RESTART: u8 = 6;
    /// The requester is a full member of the management partition.
    pub(super) const FULL: u8 = 0x08;
    pub(super) const CLIENT_SHIFT: u8 = 4;
}

/// A fabric of three hosts, and a client's view of its administration.
struct Served {
    sa: Sa,
    now: Tick,
    /// The segment of a table that came last.
    segment: Option<Packet>,
    /// The last stored registrations.
    stored: Option<Vec<u8>>,
}

/// Runs clients of a small fabric by the input, step after step: one byte for the kind, a
/// length of two bytes, and the data. Datagrams of any content, notices, passing time, ACKs
/// with any window, other snapshots and settings, and restarts.
///
/// # Panics
/// When the administration does not finish, sends an invalid datagram, or keeps more than it
/// may.
pub fn run(mut bytes: &[u8]) {
    let mut served = Served::new();
    while let Some(([what, high, low], after)) = bytes.split_first_chunk::<3>() {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (content, after) = after.split_at(len);
        bytes = after;
        served.step(*what, content);
        served.drain();
        served.check();
    }
}

fn settings() -> SaSettings {
    SaSettings {
        services_max: REGISTERED_MAX,
        subscriptions_max: REGISTERED_MAX,
        ..SaSettings::default()
    }
}

impl Served {
    fn new() -> Self {
        let mut served = Self {
            sa: Sa::new(settings()),
            now: Tick(0),
            segment: None,
            stored: None,
        };
        served.input(SaInput::Published(Arc::clone(&FABRIC)));
        served.drain();
        served
    }

    fn input(&mut self, input: SaInput) {
        self.now = self.now + Duration::from_millis(1);
        self.sa.handle(self.now, input);
    }

    fn step(&mut self, what: u8, content: &[u8]) {
        match what & step::MASK {
            step::NOTICE => self.input(SaInput::Notice(content.to_vec())),
            step::WAIT => {
                let seconds = content.first().copied().unwrap_or(1);
                self.now = self.now + Duration::from_secs(seconds.into());
                self.input(SaInput::Tick);
            }
            step::ACKNOWLEDGE => self.acknowledge(content),
            step::SWEEP => self.input(SaInput::Published(Arc::clone(&FABRIC))),
            step::RECONFIGURE => self.sa.reconfigure(settings()),
            step::RESTART => self.restart(),
            _ => self.input(SaInput::Received(packet(what, content.to_vec()))),
        }
    }

    /// Restarts with the stored registrations.
    fn restart(&mut self) {
        let unsaved = self.sa.unsaved();
        let is_whole = unsaved.is_some();
        let Some(stored) = unsaved.or_else(|| self.stored.clone()) else {
            return;
        };
        let before = self.sa.registered();
        match Sa::restored(settings(), &stored, Tick(0)) {
            Ok(sa) => self.sa = sa,
            Err(error) => panic!("what was kept cannot be read: {error}"),
        }
        let after = self.sa.registered();
        let kept = |all: &Registered| (all.services, all.subscriptions);
        assert!(!is_whole || kept(&before) == kept(&after));
        self.now = Tick(0);
        self.input(SaInput::Published(Arc::clone(&FABRIC)));
    }

    /// Acknowledges what came last, up to a window that the bytes give.
    fn acknowledge(&mut self, content: &[u8]) {
        let Some(segment) = self.segment.clone() else {
            return;
        };
        let number = RmppHeader::decode(segment.mad.get(RMPP_AT..).unwrap_or_default());
        let (Ok(mad), Ok(number)) = (MadHeader::decode(&segment.mad), number) else {
            return;
        };
        let envelope = Envelope {
            mad,
            class: [0; CLASS_LEN],
        };
        let window = content.first().copied().unwrap_or(8);
        let mut ack = Packet {
            slid: segment.dlid,
            dlid: segment.slid,
            ..segment
        };
        let segment = number.segment_num;
        envelope.write_ack(segment, segment.saturating_add(window.into()), &mut ack.mad);
        self.input(SaInput::Received(ack));
    }

    fn drain(&mut self) {
        let mut outputs = 0;
        while let Some(output) = self.sa.poll() {
            outputs += 1;
            assert!(outputs < OUTPUTS_MAX, "it does not come to an end");
            match output {
                SaOutput::Send(packet) => self.note(packet),
                SaOutput::Persist(bytes) => self.stored = Some(bytes),
                _ => {}
            }
        }
    }

    fn note(&mut self, packet: Packet) {
        assert!(packet.mad.len() <= Packet::MAD_LEN_MAX);
        let rmpp = RmppHeader::decode(packet.mad.get(RMPP_AT..).unwrap_or_default());
        if rmpp.is_ok_and(|rmpp| rmpp.rmpp_type == kind::DATA) {
            self.segment = Some(packet);
        }
    }

    fn check(&self) {
        let (registered, settings) = (self.sa.registered(), settings());
        let own = settings.own_services.len();
        assert!(registered.services <= REGISTERED_MAX + own);
        assert!(registered.subscriptions <= REGISTERED_MAX);
        assert!(registered.transfers <= settings.limits.transfers);
    }
}

/// A datagram from one of the hosts, the switch, or an unassigned LID.
fn packet(what: u8, mad: Vec<u8>) -> Packet {
    let full = what & step::FULL != 0;
    Packet {
        slid: Lid(u32::from(what >> step::CLIENT_SHIFT)),
        dlid: Lid(1),
        sl: Sl(0),
        pkey: match full {
            true => PKey::MGMT_FULL,
            false => PKey::MGMT_LIMITED,
        },
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}
