//! Stores the manager's state over restarts.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tracing::{error, info};
use weft_manager::sm::written_by_newer;

use crate::error::DaemonError;

/// Size limit of the file on reading, bytes: far above the needs of all 2^20 LIDs.
const MAX_LEN: u64 = 256 << 20;

/// Delay before a failed write is retried, initially and at most.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// The directory, held for this daemon alone.
#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
    file: PathBuf,
    /// Keeps the lock as long as it is open.
    _lock: File,
}

impl Store {
    /// Opens the directory, making it if it is not there, for one instance of the manager.
    pub(crate) fn open(dir: &Path, instance: usize) -> Result<Self, DaemonError> {
        let refuse = |why: String| DaemonError::State {
            dir: dir.to_owned(),
            why,
        };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|error| refuse(error.to_string()))?;
        let lock = dir.join(format!("lock.{instance}"));
        let lock = private().create(true).truncate(false).open(lock);
        let lock = lock.map_err(|error| refuse(error.to_string()))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => refuse("another weftd uses it".to_owned()),
            TryLockError::Error(error) => refuse(error.to_string()),
        })?;
        let file = dir.join(format!("state.{instance}"));
        Ok(Self {
            dir: dir.to_owned(),
            file,
            _lock: lock,
        })
    }

    /// The directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the last written state; `None` if there is none.
    ///
    /// # Errors
    /// [`DaemonError::State`] if it cannot be read, or if a newer program wrote it: a copy is then kept,
    /// because this program would overwrite it.
    pub(crate) fn load(&self) -> Result<Option<Vec<u8>>, DaemonError> {
        let refuse = |why| DaemonError::State {
            dir: self.dir.clone(),
            why,
        };
        let bytes = read(&self.file, MAX_LEN).map_err(|error| refuse(error.to_string()))?;
        let newer = bytes.as_deref().and_then(written_by_newer);
        let (Some((found, known)), Some(bytes)) = (newer, &bytes) else {
            return Ok(bytes);
        };
        let file = self.file.display();
        let copy = PathBuf::from(format!("{file}.format{found}"));
        replace(&copy, bytes).map_err(|error| refuse(format!("{}: {error}", copy.display())))?;
        Err(refuse(format!(
            "{file} was written by a newer weftd (format {found}, this one reads up to {known}); start \
             that one, or remove the file: LIDs are then learnt from the fabric, and drains, disabled ports and \
             quarantine are forgotten. \
             {} is a copy",
            copy.display()
        )))
    }

    /// Replaces the last written state by `bytes`; a crash leaves the one or the other.
    pub(crate) fn save(&self, bytes: &[u8]) -> io::Result<()> {
        replace(&self.file, bytes)
    }

    /// Path of the note about plans.
    pub(crate) fn note(&self) -> PathBuf {
        self.beside("plan")
    }

    /// Path of the registrations at subnet administration.
    pub(crate) fn registrations(&self) -> PathBuf {
        self.beside("registrations")
    }

    /// Path of the totals of port counters.
    pub(crate) fn counters(&self) -> PathBuf {
        self.beside("counters")
    }

    /// Path of the memory of nodes and links.
    pub(crate) fn seen(&self) -> PathBuf {
        self.beside("seen")
    }

    /// Path of the directory of the record of changes.
    pub(crate) fn audit(&self) -> PathBuf {
        self.beside("audit")
    }

    /// Path of the directory of images of an emulated fabric.
    pub(crate) fn images(&self) -> PathBuf {
        self.beside("images")
    }

    /// Path of the directory of baselines.
    pub(crate) fn baselines(&self) -> PathBuf {
        self.beside("baselines")
    }

    fn beside(&self, name: &str) -> PathBuf {
        let instance = self.file.extension().unwrap_or_default();
        self.dir.join(name).with_extension(instance)
    }
}

/// At most the first `most` bytes of a file, none where there is none.
pub(crate) fn read(from: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(from) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Puts `bytes` in place of a file; a crash leaves the old or the new ones.
pub(crate) fn replace(to: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = to.to_owned().into_os_string();
    temporary.push(".new");
    let mut file = private().create(true).truncate(true).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, to)?;
    let dir = to.parent().unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

/// Files that only their owner reads.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// The latest state to write; it replaces older ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latest {
    /// Counts up from 1; 0 for nothing yet.
    pub(crate) number: u64,
    pub(crate) bytes: Arc<[u8]>,
}

/// Progress of writing the manager's state to disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Saved {
    /// Number of the last [`Latest`] that is.
    pub(crate) number: u64,
    /// Why a newer one is not, in words; it is tried again.
    pub(crate) failure: Option<String>,
}

impl Saved {
    /// Without a state directory, nothing has to be written.
    pub(crate) fn everything() -> Self {
        Self {
            number: u64::MAX,
            failure: None,
        }
    }
}

/// Writes whatever comes newest, again and again where that fails, until the sender is gone and the
/// last is written or cannot be.
pub(crate) async fn keep(
    store: Store,
    mut latest: watch::Receiver<Latest>,
    saved: watch::Sender<Saved>,
) {
    let store = Arc::new(store);
    let mut pause = None;
    loop {
        let ended = tokio::select! {
            changed = latest.changed() => changed.is_err(),
            () = rest(pause) => false,
        };
        let Latest { number, bytes } = latest.borrow_and_update().clone();
        if number > saved.borrow().number {
            let store = Arc::clone(&store);
            let result = tokio::task::spawn_blocking(move || store.save(&bytes)).await;
            let result = result.map_err(io::Error::other).and_then(|saved| saved);
            pause = next_pause(pause, result.is_err());
            note(&saved, number, result);
        }
        if ended {
            return;
        }
    }
}

/// Waits before the next attempt, for ever where none is needed.
async fn rest(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

fn next_pause(before: Option<Duration>, failed: bool) -> Option<Duration> {
    let longer = before.map_or(RETRY, |before| (before * 2).min(RETRY_MAX));
    failed.then_some(longer)
}

fn note(saved: &watch::Sender<Saved>, number: u64, result: io::Result<()>) {
    let before = saved.borrow().failure.clone();
    let failure = result.err().map(|error| error.to_string());
    match &failure {
        // Once for each reason: it may be tried for hours.
        Some(why) if before.as_ref() != Some(why) => error!(
            event = "state_unsaved",
            error = why,
            "cannot write LIDs, drains and disabled ports to the state directory; a restart forgets what \
             has changed, until a later attempt succeeds"
        ),
        None if before.is_some() => {
            info!(
                event = "state_saved",
                "the state directory is up to date again"
            );
        }
        _ => {}
    }
    saved.send_modify(|saved| {
        if failure.is_none() {
            saved.number = number;
        }
        saved.failure = failure;
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keeps_the_last_and_lets_nobody_else_in() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("a/b");
        let store = Store::open(&dir, 0).unwrap();
        assert_eq!(store.load().unwrap(), None);
        store.save(b"one").unwrap();
        store.save(b"two").unwrap();
        assert_eq!(store.load().unwrap().unwrap(), b"two");
        let mode = std::fs::metadata(dir.join("state.0"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = Store::open(&dir, 0).unwrap_err().to_string();
        assert!(second.contains("another weftd uses it"), "{second}");
        assert!(Store::open(&dir, 1).is_ok());
    }

    #[test]
    fn what_a_newer_program_wrote_is_kept_and_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        let newer = [&b"WEFTKEPT\x00\x00\x03\xe7"[..], &[0; 100]].concat();
        store.save(&newer).unwrap();
        let error = store.load().unwrap_err();
        assert_eq!(error.exit_code(), 6);
        let said = error.to_string();
        assert!(
            said.contains("written by a newer weftd (format 999"),
            "{said}"
        );
        let copy = std::fs::read(dir.path().join("state.0.format999")).unwrap();
        assert_eq!(copy, newer);
        assert_eq!(std::fs::read(dir.path().join("state.0")).unwrap(), newer);
    }

    #[tokio::test]
    async fn writes_the_newest_before_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        let (sender, receiver) = watch::channel(Latest::default());
        let task = tokio::spawn(keep(store, receiver, watch::Sender::default()));
        for number in 1..100u8 {
            sender.send_replace(latest(number));
        }
        drop(sender);
        task.await.unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        assert_eq!(store.load().unwrap().unwrap(), [99]);
    }

    fn latest(number: u8) -> Latest {
        Latest {
            number: number.into(),
            bytes: Arc::from([number]),
        }
    }

    #[tokio::test]
    async fn what_could_not_be_written_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        // A directory blocks the temporary file.
        let obstacle = dir.path().join("state.0.new");
        std::fs::create_dir(&obstacle).unwrap();
        let (sender, receiver) = watch::channel(Latest::default());
        let (saved, mut seen) = watch::channel(Saved::default());
        let task = tokio::spawn(keep(store, receiver, saved));
        sender.send_replace(latest(7));
        let failed = seen
            .wait_for(|saved| saved.failure.is_some())
            .await
            .unwrap();
        assert_eq!(failed.number, 0);
        drop(failed);
        std::fs::remove_dir(&obstacle).unwrap();
        let written = seen.wait_for(|saved| saved.number == 7).await.unwrap();
        assert_eq!(written.failure, None);
        drop(written);
        assert_eq!(std::fs::read(dir.path().join("state.0")).unwrap(), [7]);
        drop(sender);
        task.await.unwrap();
    }
}
