//! Where the manager's state is kept over restarts.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tokio::sync::watch;
use tracing::error;

use crate::error::DaemonError;

/// Largest file that is read back, bytes: far above what all 2^20 LIDs need.
const MAX_LEN: u64 = 256 << 20;

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

    /// What was written last, none when that was never.
    pub(crate) fn load(&self) -> Result<Option<Vec<u8>>, DaemonError> {
        read(&self.file, MAX_LEN).map_err(|error| DaemonError::State {
            dir: self.dir.clone(),
            why: error.to_string(),
        })
    }

    /// Puts `bytes` in place of what was written last; a crash leaves the one or the other.
    pub(crate) fn save(&self, bytes: &[u8]) -> io::Result<()> {
        replace(&self.file, bytes)
    }

    /// Where the note about plans is kept.
    pub(crate) fn note(&self) -> PathBuf {
        let state = self.file.extension().unwrap_or_default();
        self.dir.join("plan").with_extension(state)
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
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// What the manager wants written; the newest counts.
pub(crate) type Latest = Option<Vec<u8>>;

/// Writes whatever comes newest, until the sender is gone and the last is written.
pub(crate) async fn keep(store: Store, mut latest: watch::Receiver<Latest>) {
    let store = std::sync::Arc::new(store);
    loop {
        let ended = latest.changed().await.is_err();
        let bytes = latest.borrow_and_update().clone();
        if let Some(bytes) = bytes.filter(|_| !ended) {
            let store = store.clone();
            let saved = tokio::task::spawn_blocking(move || store.save(&bytes)).await;
            if let Ok(Err(error)) = saved {
                error!(%error, "cannot write LIDs and drains to the state directory; they are lost on restart");
            }
        }
        if ended {
            return;
        }
    }
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

    #[tokio::test]
    async fn writes_the_newest_before_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        let (sender, receiver) = watch::channel(None);
        let task = tokio::spawn(keep(store, receiver));
        for number in 0..100u8 {
            sender.send_replace(Some(vec![number]));
        }
        drop(sender);
        task.await.unwrap();
        let store = Store::open(dir.path(), 0).unwrap();
        assert_eq!(store.load().unwrap().unwrap(), [99]);
    }
}
