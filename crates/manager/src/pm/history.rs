//! The last images, those that clients hold, and those before that are on the disk.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Tick;

use super::image::{Image, ImageName};
use super::kept::{Kept, Shelf};

/// Holders of one image.
const HOLDERS_MAX: u8 = 64;

/// An image that clients hold.
#[derive(Debug)]
struct Frame {
    image: Arc<Image>,
    /// One bit a holder.
    holders: u64,
    /// Start of the search for the next free bit: a bit just returned is not reused at once.
    next: u8,
    used: Tick,
}

/// Why an image cannot be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// All places are taken.
    #[error("{0} images are held already")]
    Frames(usize),
    /// Too many clients hold this image.
    #[error("{HOLDERS_MAX} clients hold this image already")]
    Holders,
}

/// Reference of a client to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The latest one, or an earlier one by distance.
    Latest {
        /// 0 or negative.
        offset: i64,
    },
    /// The one that covers this second since 1970.
    At(u64),
    /// One by its name, or a later one by distance.
    Of {
        /// The image's name.
        name: ImageName,
        /// Negative before.
        offset: i64,
    },
    /// One that the client holds, or a later one by distance.
    Held {
        /// The image's name.
        name: ImageName,
        /// The holder's bit.
        holder: u8,
        /// Negative before.
        offset: i64,
    },
}

/// Where an image is.
#[derive(Debug)]
pub(crate) enum Sought {
    /// Here.
    Here(Arc<Image>),
    /// On the disk.
    Kept(ImageName),
}

/// The images of the last sweeps, a bounded number, and those that clients hold longer.
#[derive(Debug)]
pub(crate) struct History {
    images: VecDeque<Arc<Image>>,
    images_max: usize,
    frames: Vec<Frame>,
    frames_max: usize,
    lease: Duration,
    shelf: Shelf,
}

impl History {
    pub(crate) fn new(images: u32, frames: u32, lease: Duration) -> Self {
        let mut history = Self {
            images: VecDeque::new(),
            images_max: 0,
            frames: Vec::new(),
            frames_max: 0,
            lease,
            shelf: Shelf::default(),
        };
        history.resize(images, frames, lease);
        history
    }

    /// Changes the bounds; the oldest images go.
    pub(crate) fn resize(&mut self, images: u32, frames: u32, lease: Duration) {
        self.images_max = images.max(2) as usize;
        self.frames_max = frames.max(1) as usize;
        self.lease = lease;
        self.trim();
    }

    fn trim(&mut self) {
        let surplus = self.images.len().saturating_sub(self.images_max);
        self.images.drain(..surplus);
    }

    /// Adds the image of the latest sweep; the oldest goes when there are too many.
    pub(crate) fn push(&mut self, image: Arc<Image>) {
        self.images.push_back(image);
        self.trim();
    }

    /// The image of the latest sweep.
    pub(crate) fn latest(&self) -> Option<&Arc<Image>> {
        self.images.back()
    }

    /// Finds an image. Finding one that is held is a use of it.
    pub(crate) fn find(&mut self, now: Tick, which: Which) -> Option<Sought> {
        match which {
            Which::Latest { offset: 0 } => self.latest().cloned().map(Sought::Here),
            Which::Latest { offset } => {
                let latest = self.latest()?.name();
                self.stepped(now, latest, offset)
            }
            Which::At(unix) => {
                let covers = |image: &&Arc<Image>| {
                    let span = image.unix_time..image.unix_time + u64::from(image.interval_s);
                    span.contains(&unix)
                };
                match self.images.iter().rev().find(covers) {
                    Some(image) => Some(Sought::Here(Arc::clone(image))),
                    None => self.shelved(now, self.shelf.at(unix)?),
                }
            }
            Which::Of { name, offset } => self.stepped(now, name, offset),
            Which::Held {
                name,
                holder,
                offset,
            } => {
                let image = self.held(now, name, holder)?;
                match offset {
                    0 => Some(Sought::Here(image)),
                    offset => self.stepped(now, name, offset),
                }
            }
        }
    }

    /// The image so many after that of a name. Before the recent ones come those on the disk that begin before them.
    fn stepped(&mut self, now: Tick, name: ImageName, offset: i64) -> Option<Sought> {
        if name.composite && offset == 0 {
            return self.shelved(now, self.shelf.place(name)?);
        }
        let first = self.images.front()?.name();
        let older = self.shelf.before(first);
        // One of several sweeps that are in memory too is where the first of them is.
        let sweep = ImageName {
            composite: false,
            ..name
        };
        let recent = self.recent(sweep).map(|place| older + place);
        let from = recent.or_else(|| self.shelf.place(name))?;
        let to = from.checked_add_signed(isize::try_from(offset).ok()?)?;
        match to.checked_sub(older) {
            Some(place) => self.images.get(place).cloned().map(Sought::Here),
            None => self.shelved(now, to),
        }
    }

    /// An image on the disk, by its place there: read again unless somebody holds it or it has been read a while ago.
    fn shelved(&mut self, now: Tick, place: usize) -> Option<Sought> {
        let kept = self.shelf.get(place)?;
        let mut held = self.frames.iter().map(|frame| &frame.image);
        let held = held.find(|image| image.is_all_of(&kept)).cloned();
        let here = held.or_else(|| self.shelf.take(now, &kept));
        Some(here.map_or(Sought::Kept(kept.name), Sought::Here))
    }

    /// Place of a recent image that is named.
    fn recent(&self, name: ImageName) -> Option<usize> {
        let first = self.images.front()?;
        if name.composite || name.run != first.run {
            return None;
        }
        let place = usize::try_from(name.sweep.checked_sub(first.number)?).ok()?;
        // Numbers go up by one with each image.
        (place < self.images.len()).then_some(place)
    }

    /// Learns of images on the disk, the oldest first.
    pub(crate) fn kept(&mut self, images: Vec<Kept>) {
        self.shelf.add(images);
    }

    /// Learns of images that are no longer on the disk.
    pub(crate) fn removed(&mut self, images: &[ImageName]) {
        self.shelf.remove(images);
    }

    /// Keeps an image of the disk for the queries to come; where it cannot be read, it is as if it were not there.
    pub(crate) fn recalled(&mut self, now: Tick, name: ImageName, image: Option<Arc<Image>>) {
        self.shelf.recalled(now, name, image);
    }

    /// Lets go of images of the disk that have not been asked for during the time of a lease.
    pub(crate) fn forget(&mut self, now: Tick) {
        self.shelf.forget(now, self.lease);
    }

    fn held(&mut self, now: Tick, name: ImageName, holder: u8) -> Option<Arc<Image>> {
        self.expire(now);
        let bit = 1u64.checked_shl(u32::from(holder))?;
        let mut frames = self.frames.iter_mut();
        let frame = frames.find(|frame| frame.image.name() == name && frame.holders & bit != 0)?;
        frame.used = now;
        Some(Arc::clone(&frame.image))
    }

    /// Releases images that have not been used for the time of a lease.
    fn expire(&mut self, now: Tick) {
        let lease = self.lease;
        self.frames
            .retain(|frame| frame.holders != 0 && now.since(frame.used) <= lease);
    }

    /// Holds an image; returns the holder's bit.
    ///
    /// # Errors
    /// [`Refused`] when too many images, or this one too often, are held.
    pub(crate) fn freeze(&mut self, now: Tick, image: &Arc<Image>) -> Result<u8, Refused> {
        self.expire(now);
        let mut frames = self.frames.iter_mut();
        if let Some(frame) = frames.find(|frame| frame.image.name() == image.name()) {
            if frame.image.kept() != image.kept() {
                // It has grown since, and has the name still.
                return Err(Refused::Frames(self.frames_max));
            }
            let holder = (0..HOLDERS_MAX)
                .map(|step| (frame.next + step) % HOLDERS_MAX)
                .find(|holder| frame.holders & 1 << holder == 0)
                .ok_or(Refused::Holders)?;
            frame.holders |= 1 << holder;
            frame.next = (holder + 1) % HOLDERS_MAX;
            frame.used = now;
            return Ok(holder);
        }
        if self.frames.len() >= self.frames_max {
            return Err(Refused::Frames(self.frames_max));
        }
        self.frames.push(Frame {
            image: Arc::clone(image),
            holders: 1,
            next: 1,
            used: now,
        });
        Ok(0)
    }

    /// Lets go of an image; returns whether it was held.
    pub(crate) fn release(&mut self, now: Tick, name: ImageName, holder: u8) -> Option<Arc<Image>> {
        let image = self.held(now, name, holder)?;
        for frame in &mut self.frames {
            if frame.image.name() == name {
                frame.holders &= !(1 << holder);
            }
        }
        self.expire(now);
        Some(image)
    }

    /// Holds an image in place of another; returns the holder's bit.
    ///
    /// # Errors
    /// [`Refused`] when there is no room; the other is still held then.
    pub(crate) fn exchange(
        &mut self,
        now: Tick,
        name: ImageName,
        holder: u8,
        image: &Arc<Image>,
    ) -> Result<u8, Refused> {
        let mut frames = self.frames.iter();
        let alone =
            frames.any(|frame| frame.image.name() == name && frame.holders == 1u64 << holder);
        match self.freeze(now, image) {
            Err(Refused::Frames(_)) if alone => {
                // The place that is given up is the one that was missing.
                self.release(now, name, holder);
                self.freeze(now, image)
            }
            Ok(new) => {
                self.release(now, name, holder);
                Ok(new)
            }
            refused => refused,
        }
    }

    /// Bytes of memory that all images use.
    pub(crate) fn bytes(&self) -> u64 {
        let frames = self.frames.iter().map(|frame| &frame.image);
        let shared = frames.filter(|image| self.recent(image.name()).is_none());
        let here = self.images.iter().chain(shared);
        here.map(|image| image.bytes()).sum::<u64>() + self.shelf.bytes()
    }
}
