//! The columns of now and those before, for readers that ask again and again.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::Snapshot;
use weft_health::Page;
use weft_manager::pm::{Image, ImageName};

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

/// Layout and columns, computed once for all readers, when something that they are made of is another. States and marks
/// are made at once; loads take longer and come after, see [`Self::to_count`].
#[derive(Debug, Default)]
pub struct Board {
    made_of: Option<Known>,
    layout: Arc<Layout>,
    /// Number of the layout, from 1.
    layouts: u64,
    /// Number of the last columns, from 1.
    versions: u64,
    /// The last columns, the newest at the end.
    kept: VecDeque<Arc<Columns>>,
    shares: Shares,
    /// What the shares are of.
    counted: Of,
    /// What they are being made of.
    counting: Option<Of>,
}

/// Identity of a layout and of an image.
type Of = (u64, Option<ImageName>);

/// Loads to be made, which takes some time.
#[derive(Debug)]
pub struct ToCount {
    of: Of,
    layout: Arc<Layout>,
    image: Option<Arc<Image>>,
}

/// Loads that were made.
#[derive(Debug)]
pub struct Counted {
    of: Of,
    shares: Shares,
}

impl ToCount {
    /// Makes them.
    pub fn count(self) -> Counted {
        Counted {
            of: self.of,
            shares: Shares::of(&self.layout, self.image.as_deref()),
        }
    }
}

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Number of the layout.
    pub layout: u64,
    /// Number of the columns.
    pub version: u64,
    /// Generation of the fabric that states are of; 0 before there is one.
    pub generation: u64,
    /// Number of the image that loads are of; 0 before there is one.
    pub image: u64,
    /// What has changed; nothing where the reader has another layout.
    pub changes: Vec<(Kind, Change)>,
}

impl Board {
    /// Whether the columns are made of this.
    pub fn is_of(&self, known: &Known) -> bool {
        let image = |known: &Known| known.image.as_deref().map(Image::name);
        self.made_of.as_ref().is_some_and(|made| {
            Arc::ptr_eq(&made.snapshot, &known.snapshot)
                && Arc::ptr_eq(&made.page, &known.page)
                && image(made) == image(known)
        })
    }

    /// Makes layout, states and marks anew; loads stay as they were.
    pub fn take(&mut self, known: Known) {
        let (topology, page) = (&known.snapshot.topology, &known.page);
        // Of what is not listed, it cannot be said that nothing misses it.
        let is_current = page.generation == known.snapshot.generation && page.left_out() == 0;
        let before = self.made_of.as_ref().map(|made| &made.snapshot.topology);
        let holds = match before {
            None => false,
            Some(before) if Arc::ptr_eq(before, topology) => {
                self.layout.shows(topology, page, is_current)
            }
            Some(_) => self.layout.holds(topology, page, is_current),
        };
        if !holds {
            let layout = Layout::of(topology, &self.layout, page, is_current);
            self.layout = Arc::new(layout);
            self.layouts += 1;
            self.kept.clear();
            self.shares = Shares::of(&self.layout, None);
        }
        self.made_of = Some(known);
        self.make();
    }

    /// Loads that are to be made; none where they are there, or being made.
    pub fn to_count(&mut self) -> Option<ToCount> {
        let image = self.made_of.as_ref()?.image.clone();
        let of = (self.layouts, image.as_deref().map(Image::name));
        if self.counting.is_some() || self.counted == of {
            return None;
        }
        self.counting = Some(of);
        Some(ToCount {
            of,
            layout: Arc::clone(&self.layout),
            image,
        })
    }

    /// Takes loads, none where they could not be made. Those of a layout of before are of no use any more.
    pub fn put(&mut self, counted: Option<Counted>) {
        self.counting = None;
        let Some(Counted { of, shares }) = counted else {
            return;
        };
        if of.0 == self.layouts {
            (self.counted, self.shares) = (of, shares);
            self.make();
        }
    }

    fn make(&mut self) {
        let Some(Known { snapshot, page, .. }) = &self.made_of else {
            return;
        };
        let shares = self.shares.clone();
        let columns = Columns::of(&self.layout, &snapshot.topology, shares, page);
        if self.kept.back().is_none_or(|last| **last != columns) {
            self.versions += 1;
            self.kept.push_back(Arc::new(columns));
            if self.kept.len() > KEPT {
                self.kept.pop_front();
            }
        }
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
        let made = self.made_of.as_ref();
        let (of, image) = self.counted;
        let image = image.filter(|_| of == self.layouts);
        Shown {
            layout: self.layouts,
            version: self.versions,
            generation: made.map_or(0, |made| made.snapshot.generation),
            image: image.map_or(0, |image| image.sweep),
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
