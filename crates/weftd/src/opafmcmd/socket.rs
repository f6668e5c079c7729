//! The sockets where the vendor's client looks for them: `sm_N` and `pm_N` in a directory, for instance N.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::UnixListener;

/// Why a socket cannot be made.
#[derive(Debug, Error)]
pub(super) enum SocketError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: another manager listens there", .0.display())]
    InUse(PathBuf),
    #[error("{} is no socket; it is left as it is", .0.display())]
    NoSocket(PathBuf),
}

/// A socket, removed when dropped.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It is a stale one where that fails, which the next daemon removes.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Makes a socket for its owner alone, and the directory if need be; one that nobody listens at is replaced.
pub(super) fn open(dir: &Path, name: &str) -> Result<Socket, SocketError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SocketError::Io { path, source }
    };
    std::fs::create_dir_all(dir).map_err(failed(dir))?;
    let path = dir.join(name);
    remove_stale(&path)?;
    let listener = UnixListener::bind(&path).map_err(failed(&path))?;
    let owner = std::fs::Permissions::from_mode(0o600);
    let socket = Socket {
        listener,
        path: path.clone(),
    };
    std::fs::set_permissions(&path, owner).map_err(failed(&path))?;
    Ok(socket)
}

fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NoSocket(path.to_owned()));
    }
    if Blocking::connect(path).is_ok() {
        return Err(SocketError::InUse(path.to_owned()));
    }
    let removed = std::fs::remove_file(path);
    removed.map_err(|source| SocketError::Io {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_the_owners_replaces_a_stale_one_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("made");
        let socket = open(&dir, "sm_0").unwrap();
        let path = dir.join("sm_0");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let said = open(&dir, "sm_0").unwrap_err().to_string();
        assert!(said.contains("another manager"), "{said}");
        drop(socket);
        assert!(!path.exists());

        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "stale");
        open(&dir, "sm_0").unwrap();
        std::fs::write(&path, "kept").unwrap();
        let said = open(&dir, "sm_0").unwrap_err().to_string();
        assert!(said.contains("is no socket"), "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
        assert!(
            open(&path, "sm_0").is_err(),
            "a directory that cannot be made"
        );
    }
}
