//! The images that the shell keeps on the disk: which there are, and the last ones that were read again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Tick;

use super::image::{Image, ImageName};

/// Images of the disk that stay in memory for the time of a lease, besides those that clients hold.
const RECALLED_MAX: usize = 2;

/// An image on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub name: ImageName,
    /// Sweeps that it was put together from.
    pub images: u32,
    /// Seconds since 1970 at the start of the first of them.
    pub unix_time: u64,
    /// Seconds that its counts cover.
    pub interval_s: u32,
}

impl Kept {
    /// Whether a sweep is one of those that it was put together from.
    fn has(&self, name: ImageName) -> bool {
        let after = name.sweep.checked_sub(self.name.sweep);
        self.name.run == name.run && after.is_some_and(|after| after < u64::from(self.images))
    }

    fn covers(&self, unix: u64) -> bool {
        let after = unix.checked_sub(self.unix_time);
        after.is_some_and(|after| after < u64::from(self.interval_s))
    }
}

/// What is on the disk, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    kept: VecDeque<Kept>,
    /// Images that were read, and when they were last asked for.
    recalled: Vec<(Arc<Image>, Tick)>,
}

impl Shelf {
    pub(crate) fn add(&mut self, images: Vec<Kept>) {
        for image in images {
            match self.kept.back_mut() {
                Some(last) if last.name == image.name => *last = image,
                _ => self.kept.push_back(image),
            }
        }
    }

    pub(crate) fn remove(&mut self, images: &[ImageName]) {
        // The oldest go first.
        for name in images {
            match self.kept.front() {
                Some(first) if first.name == *name => drop(self.kept.pop_front()),
                _ => self.kept.retain(|kept| kept.name != *name),
            }
        }
    }

    /// The image at a place.
    pub(crate) fn get(&self, place: usize) -> Option<Kept> {
        self.kept.get(place).copied()
    }

    /// Place of the image of a time, of several the newest.
    pub(crate) fn at(&self, unix: u64) -> Option<usize> {
        self.kept.iter().rposition(|kept| kept.covers(unix))
    }

    /// Place of an image by its name, or of that which its sweep is a part of.
    pub(crate) fn place(&self, name: ImageName) -> Option<usize> {
        self.kept.iter().rposition(|kept| kept.has(name))
    }

    /// How many images begin before a sweep; all of other managers do.
    pub(crate) fn before(&self, first: ImageName) -> usize {
        let begins = |kept: &Kept| kept.name.run != first.run || kept.name.sweep < first.sweep;
        self.kept
            .iter()
            .rposition(begins)
            .map_or(0, |last| last + 1)
    }

    /// An image that has been read. To take it is a use of it.
    pub(crate) fn take(&mut self, now: Tick, kept: &Kept) -> Option<Arc<Image>> {
        let mut recalled = self.recalled.iter_mut();
        let (image, used) = recalled.find(|(image, _)| image.is_all_of(kept))?;
        *used = now;
        Some(Arc::clone(image))
    }

    /// Keeps an image that was read in place of the one that was not asked for the longest; one that could not be read is
    /// as if it were not there.
    pub(crate) fn recalled(&mut self, now: Tick, name: ImageName, image: Option<Arc<Image>>) {
        let of_name = image.and_then(|image| Some((image.kept()?, image)));
        let Some((kept, image)) = of_name.filter(|(kept, _)| kept.name == name) else {
            return self.remove(&[name]);
        };
        // What was read is the newest word on it.
        if let Some(told) = self.kept.iter_mut().rfind(|told| told.name == name) {
            *told = kept;
        }
        self.recalled.retain(|(other, _)| other.name() != name);
        if self.recalled.len() >= RECALLED_MAX {
            self.recalled.sort_by_key(|(_, used)| *used);
            self.recalled.remove(0);
        }
        self.recalled.push((image, now));
    }

    /// Lets go of images that have not been asked for during the time of a lease.
    pub(crate) fn forget(&mut self, now: Tick, lease: Duration) {
        self.recalled.retain(|(_, used)| now.since(*used) <= lease);
    }

    /// Bytes of memory that the images use.
    pub(crate) fn bytes(&self) -> u64 {
        self.recalled.iter().map(|(image, _)| image.bytes()).sum()
    }
}
