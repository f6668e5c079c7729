//! Listening Unix sockets: that of the API, and those where the vendor's client looks for a manager.

use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as Blocking;
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::net::UnixListener;

/// Why a socket cannot be made.
#[derive(Debug, Error)]
pub(crate) enum SocketError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: another manager listens there", .0.display())]
    InUse(PathBuf),
    #[error("{} is no socket; it is left as it is", .0.display())]
    NoSocket(PathBuf),
}

/// A socket, removed when dropped.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It is a stale one where that fails, which the next daemon removes.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whom the mode of a socket lets connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Open {
    /// Its owner alone.
    ToOwner,
    /// Every user of this host.
    ToAll,
}

/// Makes a socket, and its directory if need be; one that nobody listens at is replaced.
pub(crate) fn open(path: &Path, to: Open) -> Result<Socket, SocketError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SocketError::Io { path, source }
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.exists()) {
        std::fs::create_dir_all(dir).map_err(failed(dir))?;
        if to == Open::ToAll {
            // Whatever the umask: a socket in a closed directory is closed.
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(dir, mode).map_err(failed(dir))?;
        }
    }
    remove_stale(path)?;
    let listener = UnixListener::bind(path).map_err(failed(path))?;
    let mode = match to {
        Open::ToOwner => 0o600,
        Open::ToAll => 0o666,
    };
    let socket = Socket {
        listener,
        path: path.to_owned(),
    };
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).map_err(failed(path))?;
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
        let path = dir.join("sm_0");
        let socket = open(&path, Open::ToOwner).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let said = open(&path, Open::ToOwner).unwrap_err().to_string();
        assert!(said.contains("another manager"), "{said}");
        drop(socket);
        assert!(!path.exists());
        let socket = open(&path, Open::ToAll).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        drop(socket);

        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "stale");
        open(&path, Open::ToOwner).unwrap();
        std::fs::write(&path, "kept").unwrap();
        let said = open(&path, Open::ToOwner).unwrap_err().to_string();
        assert!(said.contains("is no socket"), "{said}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "kept");
        assert!(
            open(&path.join("sm_0"), Open::ToOwner).is_err(),
            "a directory that cannot be made"
        );
    }
}
