//! References of clients to images, and holding images.

use std::sync::Arc;

use weft_fabric::{Node, SmRecord, Tick};
use weft_wire::enums::SmState;
use weft_wire::header::status;
use weft_wire::pa::{ImageId, ImageInfo, ImageSm, MoveFreeze, status as pa_status};
use weft_wire::sa::status as sa_status;
use weft_wire::text::Text;

use super::{Records, Refusal};
use crate::pm::Pm;
use crate::pm::history::Which;
use crate::pm::image::Image;

/// The number of the latest image.
const LATEST: u64 = 0;
/// The number that stands for the image of a time.
const AT_TIME: u64 = u64::MAX;
/// Kinds of image numbers, in their top two bits.
const HELD: u64 = 1;
const SWEEP: u64 = 2;

/// Distinguishes the images of this manager from those of an earlier one that clients may still know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::pm) struct Instance(u32);

impl Instance {
    /// Made from the time of the first image.
    pub(in crate::pm) fn new(unix_time: u64) -> Self {
        Self(unix_time as u32 & 0x00FF_FFFF)
    }

    /// The number of an image for clients: its kind (2 bits), its holder (6), the manager (24) and
    /// the sweep (32).
    fn number(self, kind: u64, holder: u8, sweep: u64) -> u64 {
        kind << 62 | u64::from(holder) << 56 | u64::from(self.0) << 32 | (sweep & 0xFFFF_FFFF)
    }

    /// The image that a client means.
    fn which(self, id: &ImageId) -> Result<Which, Refusal> {
        let offset = i64::from(id.image_offset as i32);
        let number = id.image_number & 0xFFFF_FFFF;
        match (id.image_number, id.image_number >> 62) {
            (LATEST, _) if offset > 0 => Err(status::INVALID_ATTRIB),
            (LATEST, _) => Ok(Which::Latest { offset }),
            (AT_TIME, _) if id.image_time == 0 => Err(status::INVALID_ATTRIB),
            (AT_TIME, _) => Ok(Which::At(u64::from(id.image_time))),
            (_, HELD | SWEEP) if (id.image_number >> 32) as u32 & 0x00FF_FFFF != self.0 => {
                Err(pa_status::NO_IMAGE)
            }
            (_, HELD) => Ok(Which::Held {
                number,
                holder: (id.image_number >> 56) as u8 & 0x3F,
                offset,
            }),
            (_, SWEEP) => Ok(Which::Sweep { number, offset }),
            _ => Err(status::INVALID_ATTRIB),
        }
    }
}

/// An image with the number under which the client knows it.
pub(super) struct Found {
    pub(super) image: Arc<Image>,
    pub(super) id: ImageId,
}

impl Pm {
    /// The image that a client means.
    pub(super) fn image(&mut self, now: Tick, id: &ImageId) -> Result<Found, Refusal> {
        if self.snapshot.is_none() || self.history.latest().is_none() {
            return Err(pa_status::UNAVAILABLE);
        }
        let which = self.instance.which(id)?;
        let image = self.history.find(now, which).ok_or(pa_status::NO_IMAGE)?;
        let number = match which {
            Which::Held { offset: 0, .. } => id.image_number,
            _ => self.instance.number(SWEEP, 0, image.number),
        };
        let id = image_id(number, &image);
        Ok(Found { image, id })
    }

    /// The image that a client holds under a number.
    fn held(&mut self, now: Tick, id: &ImageId) -> Result<(Found, u8), Refusal> {
        let found = self.image(now, id).map_err(no_image)?;
        match self.instance.which(id) {
            Ok(Which::Held {
                holder, offset: 0, ..
            }) => Ok((found, holder)),
            _ => Err(pa_status::NO_IMAGE),
        }
    }

    /// Holds an image for a client.
    pub(super) fn freeze(&mut self, now: Tick, id: &ImageId) -> Result<Records, Refusal> {
        let image = self.image(now, id).map_err(no_image)?.image;
        let holder = self.history.freeze(now, &image);
        let holder = holder.map_err(|_| sa_status::NO_RESOURCES)?;
        let number = self.instance.number(HELD, holder, image.number);
        Ok(Records::one(image_id(number, &image)))
    }

    /// Lets go of a client's image.
    pub(super) fn release(&mut self, now: Tick, id: &ImageId) -> Result<Records, Refusal> {
        let (found, holder) = self.held(now, id)?;
        self.history.release(now, found.image.number, holder);
        Ok(Records::one(found.id))
    }

    /// Lets a client hold its image for longer: finding it is all that it takes.
    pub(super) fn renew(&mut self, now: Tick, id: &ImageId) -> Result<Records, Refusal> {
        Ok(Records::one(self.held(now, id)?.0.id))
    }

    /// Holds another image for a client in place of its own; without room for the other it keeps
    /// its own.
    pub(super) fn move_freeze(&mut self, now: Tick, ask: &MoveFreeze) -> Result<Records, Refusal> {
        let (old, holder) = self.held(now, &ask.old_freeze_image)?;
        let image = self
            .image(now, &ask.new_freeze_image)
            .map_err(no_image)?
            .image;
        let moved = self.history.exchange(now, old.image.number, holder, &image);
        let moved = moved.map_err(|_| sa_status::NO_RESOURCES)?;
        let number = self.instance.number(HELD, moved, image.number);
        Ok(Records::one(MoveFreeze {
            old_freeze_image: ImageId {
                image_number: ask.old_freeze_image.image_number,
                ..ImageId::default()
            },
            new_freeze_image: image_id(number, &image),
        }))
    }

    /// An image in numbers.
    pub(super) fn image_info(&mut self, now: Tick, id: &ImageId) -> Result<Records, Refusal> {
        let Found { image, id } = self.image(now, id)?;
        let roster = &image.roster;
        Ok(Records::one(ImageInfo {
            image_id: id,
            sweep_start: image.unix_time,
            sweep_duration: u32::try_from(image.duration_us).unwrap_or(u32::MAX),
            num_hfi_ports: u16::try_from(roster.hfi_ports).unwrap_or(u16::MAX),
            num_switch_nodes: u16::try_from(roster.switches).unwrap_or(u16::MAX),
            num_switch_ports: roster.switch_ports,
            num_links: roster.links,
            num_sms: roster.snapshot.sms.len() as u32,
            num_no_resp_nodes: image.totals.failed_nodes,
            num_no_resp_ports: image.totals.failed_ports,
            num_skipped_nodes: image.totals.skipped_nodes,
            num_skipped_ports: image.totals.skipped_ports,
            num_unexpected_clear_ports: image.totals.cleared_ports,
            image_interval: image.interval_s,
            sm_info: managers(&image),
        }))
    }
}

/// Identifier of an image in an answer.
fn image_id(number: u64, image: &Image) -> ImageId {
    ImageId {
        image_number: number,
        image_offset: 0,
        image_time: image.unix_time as u32,
    }
}

/// Queries that hold images say "no image" of whatever is no image.
fn no_image(refusal: Refusal) -> Refusal {
    match refusal {
        pa_status::UNAVAILABLE => pa_status::UNAVAILABLE,
        _ => pa_status::NO_IMAGE,
    }
}

/// The master, and of the others the one that comes first.
fn managers(image: &Image) -> [ImageSm; 2] {
    let snapshot = &image.roster.snapshot;
    let mut sms: Vec<&SmRecord> = snapshot.sms.iter().collect();
    let rank = |sm: &&SmRecord| {
        let is_master = sm.state == SmState::MASTER;
        (!is_master, u8::MAX - sm.priority, sm.port_guid)
    };
    sms.sort_by_key(rank);
    let mut records = [ImageSm::default(); 2];
    for (record, sm) in records.iter_mut().zip(sms) {
        let node = snapshot.topology.node(sm.port.node);
        *record = ImageSm {
            lid: sm.lid,
            priority: sm.priority,
            state: sm.state,
            port_number: sm.port.port,
            sm_port_guid: sm.port_guid,
            sm_node_desc: Text::new(&node.map(Node::name).unwrap_or_default()),
        };
    }
    records
}
