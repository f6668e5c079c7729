//! Work that waits for the thread: few images, some queries, and settings and a request to tell all at most once each, so that
//! these always find room.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Image, ImageName};

/// Images that wait, each of which may be large; further ones are dropped.
pub(super) const IMAGES_MAX: usize = 2;
/// Queries that wait, more than the manager lets wait; further ones are refused.
pub(super) const RECALLS_MAX: usize = 256;

/// Work for the thread.
#[derive(Debug)]
pub(super) enum Job {
    Image(Arc<Image>),
    Recall(ImageName),
    /// None where nothing is to be kept.
    Settings(Option<DiskSettings>),
    /// A new manager does not know what there is.
    Tell,
}

/// Why a query does not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Too many do.
    Busy,
    /// The thread has ended.
    Ended,
}

/// What is in the queue; settings are beside it.
enum Queued {
    Image(Arc<Image>),
    Recall(ImageName),
    Settings,
    Tell,
}

/// How much of each kind waits.
#[derive(Default)]
struct Waiting {
    images: AtomicUsize,
    recalls: AtomicUsize,
    /// The newest ones, where some wait: those before them no longer matter.
    settings: Mutex<Option<Option<DiskSettings>>>,
    tell: AtomicBool,
}

/// The end that gives work.
pub(super) struct Jobs {
    queue: mpsc::Sender<Queued>,
    waiting: Arc<Waiting>,
}

/// The end that takes it.
pub(super) struct Queue {
    queue: mpsc::Receiver<Queued>,
    waiting: Arc<Waiting>,
}

/// Both ends.
pub(super) fn queue() -> (Jobs, Queue) {
    // Counted before it is put in and after it is taken out, so that there is always room for what counts allow.
    let (sender, queue) = mpsc::channel(IMAGES_MAX + RECALLS_MAX + 2);
    let waiting = Arc::<Waiting>::default();
    let jobs = Jobs {
        queue: sender,
        waiting: Arc::clone(&waiting),
    };
    (jobs, Queue { queue, waiting })
}

impl Jobs {
    pub(super) fn image(&self, image: Arc<Image>) {
        if enter(&self.waiting.images, IMAGES_MAX) {
            self.put(Queued::Image(image));
        }
    }

    pub(super) fn recall(&self, name: ImageName) -> Result<(), Refused> {
        if self.queue.is_closed() {
            return Err(Refused::Ended);
        }
        match enter(&self.waiting.recalls, RECALLS_MAX) {
            true => self.put(Queued::Recall(name)),
            false => return Err(Refused::Busy),
        }
        Ok(())
    }

    pub(super) fn settings(&self, settings: Option<DiskSettings>) {
        let mut newest = self.waiting.settings();
        if newest.replace(settings).is_none() {
            self.put(Queued::Settings);
        }
    }

    pub(super) fn tell(&self) {
        if !self.waiting.tell.swap(true, Ordering::AcqRel) {
            self.put(Queued::Tell);
        }
    }

    /// Images that wait.
    #[cfg(test)]
    pub(super) fn images(&self) -> usize {
        self.waiting.images.load(Ordering::Acquire)
    }

    fn put(&self, queued: Queued) {
        // There is room; a thread that has ended does nothing any more.
        let _ = self.queue.try_send(queued);
    }
}

impl Queue {
    /// Waits for the next job; none when no more can come.
    pub(super) fn next(&mut self) -> Option<Job> {
        loop {
            match self.queue.blocking_recv()? {
                Queued::Image(image) => {
                    self.waiting.images.fetch_sub(1, Ordering::AcqRel);
                    return Some(Job::Image(image));
                }
                Queued::Recall(name) => {
                    self.waiting.recalls.fetch_sub(1, Ordering::AcqRel);
                    return Some(Job::Recall(name));
                }
                Queued::Settings => {
                    let newest = self.waiting.settings().take();
                    if let Some(settings) = newest {
                        return Some(Job::Settings(settings));
                    }
                }
                Queued::Tell => {
                    self.waiting.tell.store(false, Ordering::Release);
                    return Some(Job::Tell);
                }
            }
        }
    }
}

impl Waiting {
    fn settings(&self) -> std::sync::MutexGuard<'_, Option<Option<DiskSettings>>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts one more, if there may be one.
fn enter(count: &AtomicUsize, most: usize) -> bool {
    let more = |count: usize| (count < most).then_some(count + 1);
    let entered = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
    entered.is_ok()
}
