//! The images of performance administration beyond those in memory: `ShortTermHistory` of opafm.xml.
//!
//! A thread puts the images of sweeps together, writes them, and reads them again when a client asks about their time: the
//! manager never waits for the disk.
//!
//! | module | contents |
//! |---|---|
//! | `keeper` | the thread |
//! | `jobs` | what waits for it, bounded |
//! | `files` | its directory, within its bounds |
//! | `file` | a file |

mod file;
mod files;
mod jobs;
mod keeper;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Image, ImageName, PmInput};

use crate::error::DaemonError;
use crate::stopping::Stopping;
use crate::supervisor::{self, Supervisor};
use jobs::{Jobs, Refused};

/// What the thread has told and the manager has not taken in.
const TOLD_MAX: usize = 64;
/// Time that the thread has at the end.
const END: Duration = Duration::from_secs(5);

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
    jobs: Jobs,
    told: mpsc::Receiver<PmInput>,
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
        let (jobs, queue) = jobs::queue();
        let (tell, told) = mpsc::channel(TOLD_MAX);
        let ended = supervisor::spawn("images", move || {
            keeper::run(place, queue, &tell);
            Ok(())
        })?;
        let stopping = stopping.clone();
        parts.task("images", async move {
            let mut ended = pin!(ended);
            tokio::select! {
                biased;
                () = stopping.wait() => {}
                ended = &mut ended => return ended,
            }
            // Ends with the thread that makes the images; nobody waits for a disk that hangs.
            tokio::time::timeout(END, ended).await.unwrap_or(Ok(()))
        });
        Ok(Self { jobs, told })
    }

    /// Hands an image on, or drops it where the disk does not keep up.
    pub(crate) fn image(&self, image: Arc<Image>) {
        self.jobs.image(image);
    }

    /// Asks for an image; returns the answer where the thread has ended, or has too much to do.
    pub(crate) fn recall(&self, name: ImageName) -> Option<PmInput> {
        match self.jobs.recall(name) {
            Ok(()) => None,
            Err(Refused::Busy) => Some(PmInput::RecallRefused(name)),
            Err(Refused::Ended) => Some(PmInput::Recalled { name, image: None }),
        }
    }

    /// Changes the settings, however much waits.
    pub(crate) fn reconfigure(&self, settings: Option<DiskSettings>) {
        self.jobs.settings(settings);
    }

    /// Has a new manager told of all that there is, however much waits.
    pub(crate) fn tell(&self) {
        self.jobs.tell();
    }

    /// The next word for the manager; none once the thread has ended.
    pub(crate) async fn told(&mut self) -> Option<PmInput> {
        self.told.recv().await
    }
}
