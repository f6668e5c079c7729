//! The thread that puts images together, writes and reads them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use tracing::{debug, info, warn};
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Composite, Image, ImageName, Kept, PmInput};

use super::ImagePlace;
use super::files::Files;
use super::jobs::{Job, Queue};

/// Works until no more can come, and then writes what it has.
pub(super) fn run(place: ImagePlace, mut queue: Queue, tell: &mpsc::Sender<PmInput>) {
    let mut keeper = Keeper::new(place, tell);
    while let Some(job) = queue.next() {
        keeper.work(job);
    }
    keeper.close();
}

pub(super) struct Keeper<'a> {
    place: ImagePlace,
    tell: &'a mpsc::Sender<PmInput>,
    /// None where nothing is to be kept.
    settings: Option<DiskSettings>,
    files: Option<Files>,
    /// The image that is being put together.
    open: Option<Composite>,
    /// Whether the last image could not be written.
    is_failing: bool,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(place: ImagePlace, tell: &'a mpsc::Sender<PmInput>) -> Self {
        Self {
            place,
            tell,
            settings: None,
            files: None,
            open: None,
            is_failing: false,
        }
    }

    pub(super) fn work(&mut self, job: Job) {
        match job {
            Job::Image(image) => self.image(&image),
            Job::Recall(name) => {
                let image = self.read(name).map(Arc::new);
                self.say(PmInput::Recalled { name, image });
            }
            Job::Settings(settings) => self.reconfigure(settings),
            Job::Tell => self.tell_all(),
        }
    }

    /// Tells the manager, which may have ended.
    fn say(&self, what: PmInput) {
        let _ = self.tell.blocking_send(what);
    }

    fn dir(&self, settings: &DiskSettings) -> PathBuf {
        match &self.place {
            ImagePlace::Configured => PathBuf::from(&settings.dir),
            ImagePlace::Dir(dir) => dir.clone(),
        }
    }

    fn reconfigure(&mut self, settings: Option<DiskSettings>) {
        if settings == self.settings {
            return;
        }
        let dir = |settings: &Option<DiskSettings>| settings.as_ref().map(|this| this.dir.clone());
        self.close();
        if dir(&settings) != dir(&self.settings) {
            let gone = self.kept().iter().map(|kept| kept.name).collect();
            self.say(PmInput::Removed(gone));
            self.files = None;
        }
        self.settings = settings;
        self.open_files();
        self.fit();
    }

    /// Opens the directory where it is not open; tells once why it cannot be.
    fn open_files(&mut self) {
        let Some(settings) = &self.settings else {
            return;
        };
        if self.files.as_ref().is_some_and(Files::is_there) {
            return;
        }
        let dir = self.dir(settings);
        // Its lock first.
        let gone = self.files.take().map(|files| files.kept());
        let gone = gone.unwrap_or_default();
        if !gone.is_empty() {
            self.say(PmInput::Removed(
                gone.iter().map(|kept| kept.name).collect(),
            ));
        }
        match Files::open(&dir) {
            Ok((files, damage)) => {
                for what in damage {
                    warn!(
                        event = "images_damaged",
                        "images of performance administration: {what}; it is left out"
                    );
                }
                let kept = files.kept();
                let (dir, count) = (dir.display(), kept.len());
                debug!(
                    event = "images_opened",
                    "{dir} has {count} images of performance administration"
                );
                self.say(PmInput::Kept(kept));
                self.files = Some(files);
            }
            Err(why) => self.failed(&why),
        }
    }

    /// Removes what the settings no longer allow.
    fn fit(&mut self) {
        let (Some(files), Some(settings)) = (&mut self.files, &self.settings) else {
            return;
        };
        let mut gone = Vec::new();
        let fitted = files.fit(settings, 0, 0, &mut gone);
        self.say(PmInput::Removed(gone));
        if let Err(why) = fitted {
            self.failed(&why);
        }
    }

    /// What there is to ask for, the oldest first.
    fn kept(&self) -> Vec<Kept> {
        let files = self.files.as_ref().map(Files::kept).unwrap_or_default();
        let open = self.open.as_ref().map(Composite::kept);
        files.into_iter().chain(open).collect()
    }

    /// Tells all of it, in place of what was told before.
    fn tell_all(&self) {
        let kept = self.kept();
        let names = kept.iter().map(|kept| kept.name).collect();
        self.say(PmInput::Removed(names));
        self.say(PmInput::Kept(kept));
    }

    fn image(&mut self, image: &Image) {
        let Some(settings) = &self.settings else {
            return;
        };
        let most = settings.images;
        if self
            .open
            .as_ref()
            .is_some_and(|open| !open.goes_on_with(image))
        {
            self.close();
        }
        match &mut self.open {
            Some(open) => open.add(image),
            None => self.open = Some(Composite::new(image)),
        }
        if self.open.as_ref().is_some_and(|open| open.images() >= most) {
            self.close();
        } else if let Some(open) = &self.open {
            self.say(PmInput::Kept(vec![open.kept()]));
        }
    }

    /// Writes the image that is being put together.
    pub(super) fn close(&mut self) {
        let Some(whole) = self.open.take() else {
            return;
        };
        let kept = whole.kept();
        if !self.files.as_ref().is_some_and(Files::is_there) {
            // Those that are there come before it.
            self.say(PmInput::Removed(vec![kept.name]));
        }
        self.open_files();
        let (Some(files), Some(settings)) = (&mut self.files, &self.settings) else {
            return self.say(PmInput::Removed(vec![kept.name]));
        };
        let mut gone = Vec::new();
        let begun = Instant::now();
        let written = files.write(&whole.finish(), &kept, settings, &mut gone);
        match written {
            Ok(bytes) => {
                let ms = begun.elapsed().as_millis() as u64;
                debug!(
                    event = "images_kept",
                    bytes, ms, "wrote an image of {bytes} bytes in {ms} ms"
                );
                self.say(PmInput::Kept(vec![kept]));
                if std::mem::take(&mut self.is_failing) {
                    info!(
                        event = "images_written",
                        "images of performance administration are kept again"
                    );
                }
            }
            Err(why) => {
                gone.push(kept.name);
                self.failed(&why);
            }
        }
        self.say(PmInput::Removed(gone));
    }

    fn failed(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_failing, true) {
            warn!(
                event = "images_unwritten",
                "images of performance administration are not kept: {why}"
            );
        }
    }

    fn read(&mut self, name: ImageName) -> Option<Image> {
        if let Some(open) = self.open.as_ref().filter(|open| open.kept().name == name) {
            return Some(open.image());
        }
        let begun = Instant::now();
        match self.files.as_mut()?.read(name) {
            Ok(image) => {
                let ms = begun.elapsed().as_millis() as u64;
                debug!(event = "images_read", ms, "read an image in {ms} ms");
                Some(image)
            }
            Err(why) => {
                warn!(
                    event = "images_damaged",
                    "images of performance administration: {why}; it is left out"
                );
                None
            }
        }
    }
}
