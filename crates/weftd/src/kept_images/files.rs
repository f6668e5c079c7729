//! The directory of the images: one file for each, the oldest removed first.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Image, ImageName, Kept};

use super::file::{HEAD_MAX, decode, encode, head};
use crate::store::private;

/// Names of files: before their number and after it.
const NAME: (&str, &str) = ("weft-", ".images");
/// What is being written; what is left of it after a crash is removed.
const UNFINISHED: &str = "weft-unfinished";
const LOCK: &str = "weft-images.lock";
/// Files that there may be; of more, the oldest are removed.
const FILES_MAX: usize = 1 << 20;
/// Longest file, bytes.
const FILE_MAX: u64 = 2 << 30;

/// A file in the directory.
#[derive(Debug)]
struct OnDisk {
    /// Files are numbered as they are written, whatever the clock does.
    number: u64,
    bytes: u64,
    /// None where it is damaged.
    kept: Option<Kept>,
}

/// The directory, held for this daemon alone.
#[derive(Debug)]
pub(super) struct Files {
    dir: PathBuf,
    /// Keeps the lock as long as it is open.
    _lock: File,
    /// The oldest first.
    files: VecDeque<OnDisk>,
    bytes: u64,
}

/// Damaged files, in words.
pub(super) type Damage = Vec<String>;

impl Files {
    /// Opens the directory, making it if it is not there.
    ///
    /// # Errors
    /// In words, with the path.
    pub(super) fn open(dir: &Path) -> Result<(Self, Damage), String> {
        let failed = |error: io::Error| format!("{}: {error}", dir.display());
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(failed)?;
        let lock = private().create(true).truncate(false).open(dir.join(LOCK));
        let lock = lock.map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => format!(
                "{}: another weftd uses it; each instance needs its own StorageLocation",
                dir.display()
            ),
            TryLockError::Error(error) => failed(error),
        })?;
        let mut files = Self {
            dir: dir.to_owned(),
            _lock: lock,
            files: VecDeque::new(),
            bytes: 0,
        };
        let damage = files.look().map_err(failed)?;
        Ok((files, damage))
    }

    /// Finds the files that are there.
    fn look(&mut self) -> io::Result<Damage> {
        let unfinished = fs::remove_file(self.dir.join(UNFINISHED));
        unfinished.or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if let Some(number) = name.to_str().and_then(number_of) {
                found.push((number, entry.metadata()?.len()));
            }
        }
        found.sort_unstable();
        let mut damage = Damage::new();
        let surplus = found.len().saturating_sub(FILES_MAX);
        for (number, _) in found.drain(..surplus) {
            fs::remove_file(self.path(number))?;
        }
        for (number, bytes) in found {
            let path = self.path(number);
            let read = read_head(&path);
            let kept = read.map_err(|why| damage.push(format!("{}: {why}", path.display())));
            self.bytes += bytes;
            self.files.push_back(OnDisk {
                number,
                bytes,
                kept: kept.ok(),
            });
        }
        Ok(damage)
    }

    /// The images that are there, the oldest first.
    pub(super) fn kept(&self) -> Vec<Kept> {
        self.files.iter().filter_map(|file| file.kept).collect()
    }

    /// Whether the directory is still there.
    pub(super) fn is_there(&self) -> bool {
        self.dir.join(LOCK).is_file()
    }

    /// Writes an image after making room for it, and returns its bytes; `gone` gets the names of the images that were removed
    /// for that.
    ///
    /// # Errors
    /// In words, with the path.
    pub(super) fn write(
        &mut self,
        image: &Image,
        kept: &Kept,
        settings: &DiskSettings,
        gone: &mut Vec<ImageName>,
    ) -> Result<u64, String> {
        let bytes = encode(image, kept, settings.divisions.into())?;
        let len = bytes.len() as u64;
        if len > settings.bytes_max {
            let most = settings.bytes_max >> 20;
            return Err(format!(
                "an image has {} KiB, more than MaxDiskSpace, {most} MiB, allows",
                len >> 10
            ));
        }
        self.fit(settings, 1, len, gone)?;
        let number = self.files.back().map_or(1, |last| last.number + 1);
        let path = self.path(number);
        let written = put(&self.dir, &path, &bytes);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        self.bytes += len;
        self.files.push_back(OnDisk {
            number,
            bytes: len,
            kept: Some(*kept),
        });
        Ok(len)
    }

    /// Removes the oldest files until there is room for so many more.
    ///
    /// # Errors
    /// In words, with the path.
    pub(super) fn fit(
        &mut self,
        settings: &DiskSettings,
        files: u64,
        bytes: u64,
        gone: &mut Vec<ImageName>,
    ) -> Result<(), String> {
        while self.files.len() as u64 + files > settings.files_max.max(1)
            || self.bytes + bytes > settings.bytes_max
        {
            let Some(oldest) = self.files.front() else {
                break;
            };
            let path = self.path(oldest.number);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("{}: {error}", path.display()));
                }
                _ => {}
            }
            self.bytes -= oldest.bytes;
            gone.extend(oldest.kept.map(|kept| kept.name));
            self.files.pop_front();
        }
        Ok(())
    }

    /// Reads an image; one that cannot be read is not asked for again.
    ///
    /// # Errors
    /// In words, with the path.
    pub(super) fn read(&mut self, name: ImageName) -> Result<Image, String> {
        let named = |file: &&mut OnDisk| file.kept.is_some_and(|kept| kept.name == name);
        let file = self.files.iter_mut().rfind(named);
        let file = file.ok_or("it is no longer there")?;
        let path = path(&self.dir, file.number);
        let read = crate::store::read(&path, FILE_MAX);
        let bytes = read.map_err(|error| error.to_string());
        let bytes = bytes.and_then(|bytes| bytes.ok_or("it is no longer there".to_owned()));
        bytes.and_then(|bytes| decode(&bytes)).map_err(|why| {
            file.kept = None;
            format!("{}: {why}", path.display())
        })
    }

    fn path(&self, number: u64) -> PathBuf {
        path(&self.dir, number)
    }
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{}{number:010}{}", NAME.0, NAME.1))
}

fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
    // A sign would be accepted, too.
    let digits = number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok();
    // There has to be one after it.
    number.filter(|number| digits && *number < u64::MAX)
}

fn read_head(path: &Path) -> Result<Kept, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(HEAD_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let (head, _) = head(&bytes)?;
    Ok(head.kept)
}

/// Writes a file that is whole or not there. Where that fails, nothing is left of it.
fn put(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = dir.join(UNFINISHED);
    let write = || {
        let mut file = private().create(true).truncate(true).open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        File::open(dir)?.sync_all()
    };
    let written = write();
    if written.is_err() {
        // It would take room that is wanted elsewhere.
        let _ = fs::remove_file(&unfinished);
    }
    written
}
