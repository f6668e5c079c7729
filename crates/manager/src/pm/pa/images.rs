//! References of clients to images, and holding images.

use std::sync::Arc;

use weft_fabric::Tick;
use weft_wire::header::status;
use weft_wire::pa::{ImageId, ImageInfo, MoveFreeze, status as pa_status};
use weft_wire::sa::status as sa_status;

use super::{Records, Refusal, Unanswered};
use crate::pm::Pm;
use crate::pm::history::{Sought, Which};
use crate::pm::image::{Image, ImageName};

/// The number of the latest image.
const LATEST: u64 = 0;
/// The number that stands for the image of a time.
const AT_TIME: u64 = u64::MAX;
/// Kinds of image numbers, in their top two bits.
const HELD: u64 = 1;
const SWEEP: u64 = 2;

/// The bit of an image that was put together, above its sweep.
const COMPOSITE: u64 = 1 << 31;
/// Bits of the manager in an image's number.
const RUN: u32 = 0x00FF_FFFF;

/// Distinguishes the images of a manager from those of an earlier one that clients may still know: from the time of its
/// first image.
pub(in crate::pm) fn run_of(unix_time: u64) -> u32 {
    unix_time as u32 & RUN
}

/// The number of an image for clients: its kind (2 bits), its holder (6), the manager (24), whether it was put together
/// (1) and the sweep (31).
fn number(kind: u64, holder: u8, name: ImageName) -> u64 {
    let bit = if name.composite { COMPOSITE } else { 0 };
    let sweep = name.sweep & (COMPOSITE - 1) | bit;
    kind << 62 | u64::from(holder) << 56 | u64::from(name.run & RUN) << 32 | sweep
}

/// The image that a client means.
fn which(id: &ImageId) -> Result<Which, Refusal> {
    let offset = i64::from(id.image_offset as i32);
    let name = ImageName {
        run: (id.image_number >> 32) as u32 & RUN,
        sweep: id.image_number & (COMPOSITE - 1),
        composite: id.image_number & COMPOSITE != 0,
    };
    match (id.image_number, id.image_number >> 62) {
        (LATEST, _) if offset > 0 => Err(status::INVALID_ATTRIB),
        (LATEST, _) => Ok(Which::Latest { offset }),
        (AT_TIME, _) if id.image_time == 0 => Err(status::INVALID_ATTRIB),
        (AT_TIME, _) => Ok(Which::At(u64::from(id.image_time))),
        (_, HELD) => Ok(Which::Held {
            name,
            holder: (id.image_number >> 56) as u8 & 0x3F,
            offset,
        }),
        (_, SWEEP) => Ok(Which::Of { name, offset }),
        _ => Err(status::INVALID_ATTRIB),
    }
}

/// An image with the number under which the client knows it.
pub(super) struct Found {
    pub(super) image: Arc<Image>,
    pub(super) id: ImageId,
}

impl Pm {
    /// The image that a client means.
    pub(super) fn image(&mut self, now: Tick, id: &ImageId) -> Result<Found, Unanswered> {
        self.check_running()?;
        let which = which(id)?;
        let image = match self.history.find(now, which).ok_or(pa_status::NO_IMAGE)? {
            Sought::Here(image) => image,
            Sought::Kept(name) => return Err(Unanswered::Recall(name)),
        };
        let number = match which {
            Which::Held { offset: 0, .. } => id.image_number,
            _ => number(SWEEP, 0, image.name()),
        };
        let id = image_id(number, &image);
        Ok(Found { image, id })
    }

    /// The image that a client holds under a number.
    fn held(&mut self, now: Tick, id: &ImageId) -> Result<(Found, u8), Unanswered> {
        self.check_running()?;
        match which(id) {
            Ok(Which::Held {
                holder, offset: 0, ..
            }) => Ok((self.image(now, id).map_err(no_image)?, holder)),
            _ => Err(pa_status::NO_IMAGE.into()),
        }
    }

    /// Holds an image for a client.
    pub(super) fn freeze(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
        let image = self.image(now, id).map_err(no_image)?.image;
        let holder = self.history.freeze(now, &image);
        let holder = holder.map_err(|_| sa_status::NO_RESOURCES)?;
        let number = number(HELD, holder, image.name());
        Ok(Records::one(image_id(number, &image)))
    }

    /// Lets go of a client's image.
    pub(super) fn release(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
        let (found, holder) = self.held(now, id)?;
        self.history.release(now, found.image.name(), holder);
        Ok(Records::one(found.id))
    }

    /// Lets a client hold its image for longer: finding it is all that it takes.
    pub(super) fn renew(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
        Ok(Records::one(self.held(now, id)?.0.id))
    }

    /// Holds another image for a client in place of its own; without room for the other it keeps
    /// its own.
    pub(super) fn move_freeze(
        &mut self,
        now: Tick,
        ask: &MoveFreeze,
    ) -> Result<Records, Unanswered> {
        let (old, holder) = self.held(now, &ask.old_freeze_image)?;
        let image = self
            .image(now, &ask.new_freeze_image)
            .map_err(no_image)?
            .image;
        let moved = self.history.exchange(now, old.image.name(), holder, &image);
        let moved = moved.map_err(|_| sa_status::NO_RESOURCES)?;
        let number = number(HELD, moved, image.name());
        Ok(Records::one(MoveFreeze {
            old_freeze_image: ImageId {
                image_number: ask.old_freeze_image.image_number,
                ..ImageId::default()
            },
            new_freeze_image: image_id(number, &image),
        }))
    }

    /// An image in numbers.
    pub(super) fn image_info(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
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
            num_sms: roster.sms,
            num_no_resp_nodes: image.totals.failed_nodes,
            num_no_resp_ports: image.totals.failed_ports,
            num_skipped_nodes: image.totals.skipped_nodes,
            num_skipped_ports: image.totals.skipped_ports,
            num_unexpected_clear_ports: image.totals.cleared_ports,
            image_interval: image.interval_s,
            sm_info: roster.sm_records,
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
fn no_image(why: Unanswered) -> Unanswered {
    match why {
        Unanswered::Recall(_) | Unanswered::Refused(pa_status::UNAVAILABLE) => why,
        Unanswered::Refused(_) => pa_status::NO_IMAGE.into(),
    }
}
