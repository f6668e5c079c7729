//! The images of performance administration beyond those in memory: `ShortTermHistory` of opafm.xml.
//!
//! A thread puts the images of sweeps together, writes them, and reads them again when a client asks about their time: the
//! manager never waits for the disk.
//!
//! | module | contents |
//! |---|---|
//! | `keeper` | the thread |
//! | `files` | its directory, within its bounds |
//! | `file` | a file |

mod file;
mod files;
mod keeper;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Image, ImageName, PmInput};

use crate::error::DaemonError;
use crate::stopping::Stopping;
use crate::supervisor::Supervisor;

/// Work that waits for the thread: more than queries that the manager lets wait.
const JOBS_MAX: usize = 256;
/// Images among it, each of which may be large.
const IMAGES_MAX: u64 = 2;
/// What the thread has told and the manager has not taken in.
const TOLD_MAX: usize = 64;
/// Time that the thread has at the end.
const END: Duration = Duration::from_secs(5);

/// Work for the thread.
enum Job {
    Image(Arc<Image>),
    Recall(ImageName),
    /// None where nothing is to be kept.
    Settings(Option<DiskSettings>),
    /// A new manager does not know what there is.
    Tell,
}

/// Where images are kept.
#[derive(Debug, Clone)]
pub(crate) enum ImagePlace {
    /// Where `StorageLocation` says.
    Configured,
    /// In this directory, whatever that says: the images of an emulated fabric do not belong among a real one's.
    Dir(PathBuf),
}

/// The thread as the manager's thread sees it.
pub(crate) struct KeptImages {
    jobs: mpsc::Sender<Job>,
    told: mpsc::Receiver<PmInput>,
    /// Images that wait.
    waiting: Arc<AtomicU64>,
}

impl KeptImages {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`DaemonError::Part`] if there is no thread for it.
    pub(crate) fn start(
        parts: &mut Supervisor,
        place: ImagePlace,
        stopping: &Stopping,
    ) -> Result<Self, DaemonError> {
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let waiting = Arc::new(AtomicU64::new(0));
        let (done, mut ended) = oneshot::channel::<()>();
        let counted = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name("images".to_owned());
        let spawned = thread.spawn(move || {
            keeper::run(place, queue, &tell, &counted);
            // Nobody waits for a disk that hangs.
            let _ = done.send(());
        });
        spawned.map_err(|error| DaemonError::part("images", error.to_string()))?;
        let stopping = stopping.clone();
        parts.task("images", async move {
            tokio::select! {
                biased;
                () = stopping.wait() => {}
                _ = &mut ended => return Err(DaemonError::part("images", "their thread has ended".to_owned())),
            }
            // Ends with the thread that makes the images.
            let _ = tokio::time::timeout(END, ended).await;
            Ok(())
        });
        Ok(Self {
            jobs,
            told,
            waiting,
        })
    }

    /// Hands an image on, or drops it where the disk does not keep up.
    pub(crate) fn image(&self, image: Arc<Image>) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= IMAGES_MAX
            || self.jobs.try_send(Job::Image(image)).is_err()
        {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Asks for an image; returns the answer where the thread has ended, or has too much to do.
    pub(crate) fn recall(&self, name: ImageName) -> Option<PmInput> {
        match self.jobs.try_send(Job::Recall(name)) {
            Ok(()) => None,
            Err(TrySendError::Full(_)) => Some(PmInput::RecallRefused(name)),
            Err(TrySendError::Closed(_)) => Some(PmInput::Recalled { name, image: None }),
        }
    }

    /// Changes the settings.
    pub(crate) fn reconfigure(&self, settings: Option<DiskSettings>) {
        // Without a thread there is nothing to change.
        let _ = self.jobs.try_send(Job::Settings(settings));
    }

    /// Has a new manager told of all that there is.
    pub(crate) fn tell(&self) {
        let _ = self.jobs.try_send(Job::Tell);
    }

    /// The next word for the manager; none once the thread has ended.
    pub(crate) async fn told(&mut self) -> Option<PmInput> {
        self.told.recv().await
    }
}
