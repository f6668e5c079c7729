//! Whether a device is still there.

use std::ffi::{CStr, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's directory of devices.
const DEVICES: &str = "/sys/class/infiniband";

/// The directory of the devices' files.
const FILES: &str = "/dev/infiniband";

/// Whether the directory of the devices' files that this process sees is one that was removed: a service with devices of its
/// own (systemd's `PrivateDevices=` and `BindPaths=`) goes on seeing that of its start, and never gets the one that a driver
/// makes when it is loaded anew.
pub fn files_are_of_the_past() -> bool {
    was_removed(Path::new(FILES))
}

/// A directory without a name: devtmpfs removes one when its last device goes, and whoever has it mounted keeps it.
fn was_removed(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.nlink() == 0)
}

/// The kernel's directory of a device. Kernels before 5.12 let a program keep reading the port
/// of a removed device, on which nothing arrives (user_mad.c, `ib_umad_read`):
/// there this is the only sign.
#[derive(Debug)]
pub(super) struct Presence {
    path: PathBuf,
    /// Inode of the directory; none for a device that the kernel does not know, such as one of a
    /// preloaded library.
    inode: Option<u64>,
}

impl Presence {
    /// The presence of a device as it is now.
    pub(super) fn of(device: &CStr) -> Self {
        Self::in_directory(Path::new(DEVICES), OsStr::from_bytes(device.to_bytes()))
    }

    fn in_directory(devices: &Path, device: &OsStr) -> Self {
        let path = devices.join(device);
        let inode = inode(&path);
        Self { path, inode }
    }

    /// Whether the device has gone since, even if one of the same name is there again.
    pub(super) fn has_gone(&self) -> bool {
        self.inode.is_some() && inode(&self.path) != self.inode
    }
}

/// Needs no file descriptor, so that a process that has none left does not lose its device.
fn inode(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_directory_that_is_kept_open_is_known_to_be_removed() {
        let devices = tempfile::tempdir().unwrap();
        let files = devices.path().join("infiniband");
        assert!(!was_removed(&files), "a driver may still come");
        fs::create_dir(&files).unwrap();
        let kept = fs::File::open(&files).unwrap();
        let seen = PathBuf::from(format!("/proc/self/fd/{}", kept.as_raw_fd()));
        assert!(!was_removed(&seen));
        fs::remove_dir(&files).unwrap();
        fs::create_dir(&files).unwrap();
        assert!(was_removed(&seen), "another has its name");
        assert!(!was_removed(&files));
    }

    #[test]
    fn a_device_that_was_taken_away_is_missed_even_when_another_has_its_name() {
        let devices = tempfile::tempdir().unwrap();
        let name = OsStr::new("hfi1_0");
        let unknown = Presence::in_directory(devices.path(), name);
        fs::create_dir(devices.path().join(name)).unwrap();
        assert!(!unknown.has_gone(), "the kernel did not know it");

        let known = Presence::in_directory(devices.path(), name);
        assert!(!known.has_gone());
        fs::rename(devices.path().join(name), devices.path().join("kept")).unwrap();
        assert!(known.has_gone());
        fs::create_dir(devices.path().join(name)).unwrap();
        assert!(known.has_gone(), "it is another device");
    }
}
