//! A file of Slurm's configuration: read within bounds, replaced as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// The longest file that is read, bytes.
const LENGTH_MAX: u64 = 64 << 20;
/// Permissions of a new file.
const MODE: u32 = 0o644;

/// The text of a file; `None` if there is none.
pub(super) fn read(file: &Path) -> Result<Option<String>, CliError> {
    let mut text = String::new();
    let read =
        File::open(file).and_then(|opened| opened.take(LENGTH_MAX + 1).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::file(file, error)),
        Ok(length) if length as u64 > LENGTH_MAX => Err(CliError::Content {
            file: file.to_owned(),
            why: format!("longer than {LENGTH_MAX} bytes"),
        }),
        Ok(_) => Ok(Some(text)),
    }
}

/// Replaces a file: whoever reads it finds the old text or the new one. Owner and permissions stay, and so does a link that
/// leads to it.
pub(super) fn write(file: &Path, text: &str) -> Result<(), CliError> {
    replace(file, text).map_err(|error| CliError::file(file, error))
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    let target = match fs::canonicalize(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => file.to_owned(),
        found => found?,
    };
    let new = beside(&target);
    let written = fill(&new, text, &target).and_then(|()| fs::rename(&new, &target));
    if written.is_err() {
        // The error that counts is the first one.
        let _ = fs::remove_file(&new);
    }
    written?;
    let directory = target.parent().filter(|path| !path.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn fill(new: &Path, text: &str, target: &Path) -> io::Result<()> {
    let mut file = File::create(new)?;
    file.write_all(text.as_bytes())?;
    match fs::metadata(target) {
        Ok(old) => {
            fs::set_permissions(new, old.permissions())?;
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
                chown(new, Some(old.uid()), Some(old.gid()))?;
            }
        }
        Err(_) => fs::set_permissions(new, Permissions::from_mode(MODE))?,
    }
    file.sync_all()
}
