//! Files with secrets, that only their user may read.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::read_opened;

/// Rights of others than the file's user.
const OTHERS: u32 = 0o077;

/// The bytes of a file that is no longer than `most` bytes; otherwise why not, in words without its content.
pub(crate) fn read(file: &Path, most: u64) -> Result<Vec<u8>, String> {
    let opened = File::open(file).map_err(|why| why.to_string())?;
    let about = opened.metadata().map_err(|why| why.to_string())?;
    let mode = about.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!(
            "others than its user may use it (mode {:04o}); chmod 600 {}",
            mode & 0o7777,
            file.display()
        ));
    }
    read_opened(opened, most)
}
