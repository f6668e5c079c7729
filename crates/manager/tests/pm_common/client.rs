//! A client of performance administration.

#![allow(clippy::unwrap_used, dead_code)]

use std::sync::Arc;

use weft_fabric::{Guid, Lid, PKey, Sl, Tick};
use weft_manager::pm::settings::PortGroup;
use weft_manager::pm::{Image, ImageName, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::sm::settings::{Members, Selector};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::pa::{FocusPortsReq, GroupConfigReq};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{DATA_AT, RMPP_AT, Received, Receiver, RmppHeader, kind};
use weft_wire::sa::SaHeader;
use weft_wire::text::Text;

use super::Watched;

pub(crate) const FABRIC: &str = "fattree:32,radix=8";

/// An answer: its status and its records, each of the length that the answer says.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) records: Vec<Vec<u8>>,
    /// Datagrams that it took.
    pub(crate) segments: usize,
}

impl Answer {
    /// The records as structures.
    pub(crate) fn read<T: Layout>(&self) -> Vec<T> {
        assert_eq!(self.status, 0);
        let records = self.records.iter();
        records.map(|record| T::decode(record).unwrap()).collect()
    }

    pub(crate) fn one<T: Layout>(&self) -> T {
        let mut records = self.read();
        assert_eq!(records.len(), 1);
        records.pop().unwrap()
    }
}

pub(crate) fn packet(pkey: PKey, mad: Vec<u8>) -> Packet {
    Packet {
        slid: Lid(7),
        dlid: Lid(1),
        sl: Sl(0),
        pkey,
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}

pub(crate) fn query(method: u8, attribute: u16, data: &[u8]) -> Vec<u8> {
    let header = MadHeader {
        base_version: version::OPA,
        mgmt_class: class::PA,
        class_version: version::OPA,
        method,
        transaction_id: 0x1234_5678,
        attribute_id: attribute,
        ..MadHeader::default()
    };
    let mut mad = header.to_bytes();
    mad.resize(DATA_AT, 0);
    // The vendor's OUI, where requests of this class carry it.
    mad[37..40].copy_from_slice(&[0x00, 0x06, 0x6A]);
    mad.extend_from_slice(data);
    mad
}

/// Sends a request, acknowledges segments, and returns the whole answer.
pub(crate) fn ask(pm: &mut Pm, now: Tick, method: u8, attribute: u16, data: &[u8]) -> Answer {
    ask_with(pm, now, (method, attribute), data, &mut |name| {
        panic!("{name:?} is to be read again")
    })
}

/// The same, with a disk.
pub(crate) fn ask_with(
    pm: &mut Pm,
    now: Tick,
    (method, attribute): (u8, u16),
    data: &[u8],
    disk: &mut dyn FnMut(ImageName) -> Option<Arc<Image>>,
) -> Answer {
    let request = packet(PKey::MGMT_FULL, query(method, attribute, data));
    pm.handle(now, PmInput::Received(request));
    let mut receiver = Receiver::new(1 << 26, 8);
    let mut segments = 0;
    loop {
        let output = pm.poll().expect("the answer ends early");
        let answer = match output {
            PmOutput::Send(answer) => answer,
            PmOutput::Recall(name) => {
                let image = disk(name);
                pm.handle(now, PmInput::Recalled { name, image });
                continue;
            }
            _ => continue,
        };
        let header = MadHeader::decode(&answer.mad).unwrap();
        if header.mgmt_class != class::PA {
            continue;
        }
        assert_eq!((answer.dlid, answer.pkey), (Lid(7), PKey::MGMT_FULL));
        let response = match method {
            method::SET => method::GET_RESP,
            method => method | method::RESPONSE,
        };
        assert_eq!(header.method, response);
        assert_eq!(&answer.mad[37..40], [0x00, 0x06, 0x6A]);
        segments += 1;
        let rmpp = RmppHeader::decode(&answer.mad[RMPP_AT..]).unwrap();
        let stride = stride(&answer.mad);
        if rmpp.rmpp_type == kind::NONE {
            // The vendor's clients refuse one record that has a distance to the next.
            assert_eq!(stride, 0);
            let data = answer.mad[DATA_AT..].to_vec();
            return finish(header.status, data.clone(), data.len(), segments);
        }
        let step = receiver.push(&answer.mad).unwrap();
        let (segment, window) = match step {
            Received::Nothing => continue,
            Received::Ack {
                segment_num,
                window_last,
            } => (segment_num, window_last),
            Received::Complete { segment_num } => (segment_num, segment_num),
        };
        let mut ack = Vec::new();
        let envelope = *receiver.envelope().unwrap();
        envelope.write_ack(segment, window, &mut ack);
        pm.handle(now, PmInput::Received(packet(PKey::MGMT_FULL, ack)));
        if let Some(message) = receiver.message() {
            return finish(header.status, message.to_vec(), stride, segments);
        }
    }
}

fn stride(mad: &[u8]) -> usize {
    let class = SaHeader::decode(&mad[36..]).unwrap();
    usize::from(class.attribute_offset) * 8
}

fn finish(status: u16, data: Vec<u8>, stride: usize, segments: usize) -> Answer {
    let records = match stride {
        0 => Vec::new(),
        stride => {
            assert_eq!(data.len() % stride, 0, "half a record");
            data.chunks(stride).map(<[u8]>::to_vec).collect()
        }
    };
    Answer {
        status,
        records,
        segments,
    }
}

/// A fabric after two sweeps, with a group that has no ports.
pub(crate) fn watched() -> Watched {
    let mut settings = PmSettings::default();
    let first_host = Guid(0);
    settings.groups.push(PortGroup {
        name: "Nobody".to_owned(),
        members: Members::of([Selector::NodeGuid(first_host)]),
    });
    let mut watched = Watched::new(FABRIC, settings);
    watched.sweep();
    watched.sweep();
    watched
}

pub(crate) fn get<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    ask(
        &mut watched.pm,
        watched.now,
        method::GET,
        attribute,
        &data.to_bytes(),
    )
}

pub(crate) fn set<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    ask(
        &mut watched.pm,
        watched.now,
        method::SET,
        attribute,
        &data.to_bytes(),
    )
}

pub(crate) fn table<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    let now = watched.now;
    ask(
        &mut watched.pm,
        now,
        method::GET_TABLE,
        attribute,
        &data.to_bytes(),
    )
}

pub(crate) fn group(name: &str) -> GroupConfigReq {
    GroupConfigReq {
        group_name: Text::new(name),
        ..GroupConfigReq::default()
    }
}

pub(crate) fn focus(name: &str, select: u32) -> FocusPortsReq {
    FocusPortsReq {
        group_name: Text::new(name),
        select,
        range: 1_000,
        ..FocusPortsReq::default()
    }
}
