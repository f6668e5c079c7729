//! The columns of now and those before, for readers that ask again and again.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::Snapshot;
use weft_health::Page;
use weft_manager::pm::Image;

use crate::columns::{Change, Columns, Kind, Shares};
use crate::layout::Layout;

/// Versions that a reader may be behind to get only what has changed.
const KEPT: usize = 4;

/// What the columns are made of.
#[derive(Debug, Clone)]
pub struct Known {
    /// The fabric.
    pub snapshot: Arc<Snapshot>,
    /// What was counted last.
    pub image: Option<Arc<Image>>,
    /// What is wrong.
    pub page: Arc<Page>,
}

impl Known {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.snapshot, &other.snapshot)
            && self.has_image_of(other)
            && Arc::ptr_eq(&self.page, &other.page)
    }

    fn has_image_of(&self, other: &Self) -> bool {
        let image = |known: &Self| known.image.as_ref().map(Arc::as_ptr);
        image(self) == image(other)
    }
}

/// Layout and columns, computed once for all readers, when something that they are made of is another.
#[derive(Debug, Default)]
pub struct Board {
    made_of: Option<Known>,
    /// Of the image and the layout: they cost most, and change when counters have been read.
    shares: Option<Shares>,
    layout: Arc<Layout>,
    /// Number of the layout, from 1.
    layouts: u64,
    /// Number of the last columns, from 1.
    versions: u64,
    /// The last columns, the newest at the end.
    kept: VecDeque<Arc<Columns>>,
}

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Number of the layout.
    pub layout: u64,
    /// Number of the columns.
    pub version: u64,
    /// What has changed; nothing where the reader has another layout.
    pub changes: Vec<(Kind, Change)>,
}

impl Board {
    /// Whether the columns are made of this.
    pub fn is_of(&self, known: &Known) -> bool {
        self.made_of.as_ref().is_some_and(|made| made.is(known))
    }

    /// Computes layout and columns anew.
    pub fn take(&mut self, known: Known) {
        let topology = &known.snapshot.topology;
        if self.layouts == 0 || !self.layout.holds(topology) {
            self.layout = Arc::new(Layout::of(topology, &self.layout));
            self.layouts += 1;
            self.kept.clear();
            self.shares = None;
        }
        let made_of = self.made_of.as_ref();
        let shares = self
            .shares
            .take()
            .filter(|_| made_of.is_some_and(|made| made.has_image_of(&known)));
        let shares = shares.unwrap_or_else(|| Shares::of(&self.layout, known.image.as_deref()));
        let columns = Columns::of(&self.layout, topology, shares.clone(), &known.page);
        self.shares = Some(shares);
        if self.kept.back().is_none_or(|last| **last != columns) {
            self.versions += 1;
            self.kept.push_back(Arc::new(columns));
            if self.kept.len() > KEPT {
                self.kept.pop_front();
            }
        }
        self.made_of = Some(known);
    }

    /// The layout and its number.
    pub fn layout(&self) -> (u64, Arc<Layout>) {
        (self.layouts, Arc::clone(&self.layout))
    }

    /// What a reader lacks who has this layout and this version; 0 for none.
    pub fn since(&self, layout: u64, version: u64) -> Shown {
        let changes = match self.kept.back() {
            Some(now) if layout == self.layouts => now.since(self.version(version)),
            _ => Vec::new(),
        };
        Shown {
            layout: self.layouts,
            version: self.versions,
            changes,
        }
    }

    fn version(&self, version: u64) -> Option<&Columns> {
        let back = self.versions.checked_sub(version)?;
        let at = self
            .kept
            .len()
            .checked_sub(1 + usize::try_from(back).ok()?)?;
        self.kept.get(at).map(Arc::as_ref)
    }
}
