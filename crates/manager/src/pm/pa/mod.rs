//! Performance administration: queries of clients, answered from images. No query waits for a
//! sweep; one about an image on the disk waits until that has been read.
//!
//! | module | queries |
//! |---|---|
//! | `images` | references to images; holding images; statistics of an image |
//! | `groups`, `statistics` | groups and virtual fabrics, their ports, nodes, links and statistics |
//! | `focus` | conspicuous ports |
//! | `ports` | counters of ports, and clearing their running totals |
//! | `recall` | queries that wait for an image on the disk |
//! | `config` | capabilities of the administration and settings of the manager |

mod config;
mod focus;
mod groups;
mod images;
mod ports;
mod recall;
mod statistics;

use weft_fabric::Tick;
use weft_wire::header::{method, status};
use weft_wire::id::PKey;
use weft_wire::pa::attribute;
use weft_wire::packet::Packet;
use weft_wire::rmpp::CLASS_LEN;
use weft_wire::sa::{SaHeader, status as sa_status};
use weft_wire::{Block, Layout};

use super::Pm;
use super::image::ImageName;
use crate::gsi::{Answer, Request};

pub(super) use images::run_of;
pub(super) use recall::Waiting;

/// Why a query has no answer: a status of the class or of subnet administration.
type Refusal = u16;

/// Why a query has no answer for now, or ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    /// It is refused.
    Refused(Refusal),
    /// It is about an image that has to be read from the disk first.
    Recall(ImageName),
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Records of one size.
#[derive(Debug, Default)]
struct Records {
    data: Vec<u8>,
    /// Bytes from record to record, a multiple of 8.
    stride: usize,
}

impl Records {
    fn of<T: Layout>(records: impl IntoIterator<Item = T>) -> Self {
        let stride = T::LEN.next_multiple_of(8);
        let mut data = Vec::new();
        for record in records {
            let start = data.len();
            data.resize(start + stride, 0);
            record.encode(&mut data[start..]);
        }
        Self { data, stride }
    }

    fn one<T: Layout>(record: T) -> Self {
        Self::of([record])
    }
}

/// A query's payload as a structure; missing bytes are zero.
fn read<T: Layout + Block>(data: &[u8]) -> T {
    let mut bytes = vec![0; <T as Layout>::LEN];
    for (to, from) in bytes.iter_mut().zip(data) {
        *to = *from;
    }
    T::load(&bytes)
}

impl Pm {
    /// Processes a datagram of a client. As with the vendor's manager, clients that are not
    /// full members of the management partition get no reply.
    pub(super) fn queried(&mut self, now: Tick, packet: &Packet) {
        if packet.pkey != PKey::MGMT_FULL {
            return;
        }
        let Some(request) = self.server.received(now, packet) else {
            return;
        };
        if request.is_response() {
            return;
        }
        self.reply(now, request);
    }

    /// Answers a query, or lets it wait for the image that it is about.
    fn reply(&mut self, now: Tick, request: Request) {
        let answer = match self.perform(now, &request) {
            Ok(records) => Answer {
                status: status::OK,
                class: class_header(&request, told_stride(&request, &records)),
                data: records.data.into(),
            },
            Err(Unanswered::Refused(refusal)) => refuse(&request, refusal),
            Err(Unanswered::Recall(name)) => return self.wait_for(now, name, request),
        };
        self.server.answer(now, &request, answer);
    }

    fn perform(&mut self, now: Tick, request: &Request) -> Result<Records, Unanswered> {
        let data = request.data.as_slice();
        match request.mad.method {
            method::GET => self.get(now, request.mad.attribute_id, data),
            method::SET => self.set(now, request.mad.attribute_id, data),
            method::GET_TABLE => self.get_table(now, request.mad.attribute_id, data),
            _ => Err(sa_status::REQ_INVALID.into()),
        }
    }

    fn get(&mut self, now: Tick, attribute: u16, data: &[u8]) -> Result<Records, Unanswered> {
        match attribute {
            attribute::CLASS_PORT_INFO => Ok(config::class_port_info()),
            attribute::PM_CONFIG => Ok(self.pm_config()),
            attribute::PORT_COUNTERS => self.port_counters(now, &read(data)),
            attribute::VF_PORT_COUNTERS => self.fabric_port_counters(now, &read(data)),
            _ => Err(sa_status::REQ_INVALID.into()),
        }
    }

    fn set(&mut self, now: Tick, attribute: u16, data: &[u8]) -> Result<Records, Unanswered> {
        match attribute {
            attribute::CLEAR_PORT_COUNTERS => Ok(self.clear_port(&read(data))?),
            attribute::CLEAR_ALL_PORT_COUNTERS => Ok(self.clear_all(&read(data))?),
            attribute::CLEAR_VF_PORT_COUNTERS => Ok(self.clear_fabric_port(&read(data))?),
            attribute::FREEZE_IMAGE => self.freeze(now, &read(data)),
            attribute::RELEASE_IMAGE => self.release(now, &read(data)),
            attribute::RENEW_IMAGE => self.renew(now, &read(data)),
            attribute::MOVE_FREEZE => self.move_freeze(now, &read(data)),
            _ => Err(sa_status::REQ_INVALID.into()),
        }
    }

    fn get_table(&mut self, now: Tick, attribute: u16, data: &[u8]) -> Result<Records, Unanswered> {
        match attribute {
            attribute::GROUP_LIST => self.group_list(now),
            attribute::GROUP_LIST2 => self.group_list2(now, &read(data)),
            attribute::GROUP_INFO => self.group_info(now, &read(data)),
            attribute::GROUP_CONFIG => self.group_config(now, &read(data)),
            attribute::GROUP_NODE_INFO => self.group_nodes(now, &read(data)),
            attribute::GROUP_LINK_INFO => self.group_links(now, &read(data)),
            attribute::FOCUS_PORTS => self.focus_ports(now, &read(data)),
            attribute::FOCUS_MULTI => self.focus_multi(now, &read(data)),
            attribute::IMAGE_INFO => self.image_info(now, &read(data)),
            attribute::VF_LIST => self.fabric_list(now),
            attribute::VF_LIST2 => self.fabric_list2(now, &read(data)),
            attribute::VF_INFO => self.fabric_info(now, &read(data)),
            attribute::VF_CONFIG => self.fabric_config(now, &read(data)),
            attribute::VF_FOCUS_PORTS => self.fabric_focus_ports(now, &read(data)),
            _ => Err(sa_status::REQ_INVALID.into()),
        }
    }
}

fn refuse(request: &Request, refusal: Refusal) -> Answer {
    Answer::refusal(refusal, class_header(request, 0))
}

/// The distance between records to report in an answer. The vendor's clients take a distance in an
/// answer of one record for an unexpected table.
fn told_stride(request: &Request, records: &Records) -> usize {
    match request.wants_table() {
        true => records.stride,
        false => 0,
    }
}

/// The class header of an answer: the query's, with the distance between records.
fn class_header(request: &Request, stride: usize) -> [u8; CLASS_LEN] {
    let mut class = request.class;
    // Only the distance is of subnet administration's form; the rest goes back as it came.
    let offset = SaHeader {
        attribute_offset: u16::try_from(stride / 8).unwrap_or(u16::MAX),
        ..SaHeader::default()
    };
    let offset = offset.to_bytes();
    class[8..10].copy_from_slice(&offset[8..10]);
    class
}
