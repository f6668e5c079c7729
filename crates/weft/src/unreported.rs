//! Results of changes that could not be printed because the output was gone: the next call prints
//! them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write, stderr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use weft_fabric::text::for_terminal;

use crate::error::CliError;

/// Most bytes of a note that are kept and said; the rest is cut off.
const NOTE_MAX: usize = 16 << 10;

/// Handles the result of printing what a command has changed. A lost output is an
/// error here, and the text is stored for the next call.
///
/// # Errors
/// The output's, with the text.
pub(crate) fn or_keep(printed: Result<(), CliError>, done: &str) -> Result<(), CliError> {
    match printed {
        Err(CliError::Output(source)) => {
            keep(done);
            let done = done.trim_end().to_owned();
            Err(CliError::Untold { done, source })
        }
        other => other,
    }
}

/// Prints on standard error the unreported result of an earlier call, once.
pub(crate) fn say_last() {
    let Some(note) = read() else { return };
    let said = writeln!(
        stderr(),
        "weft: an earlier call could not report its result, because its output was closed:\n{}",
        for_terminal(note.trim_end())
    );
    if let (Ok(()), Some(file)) = (said, file()) {
        // Where it stays it is said again, which is true.
        let _ = std::fs::remove_file(file);
    }
}

/// In the user's directory for state (XDG Base Directory Specification); none where there is no home.
fn file() -> Option<PathBuf> {
    let set = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let base = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(base.join("weft/untold"))
}

fn read() -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(file()?).ok()?;
    let limit = NOTE_MAX as u64;
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds a message. If it cannot be stored it is lost; the error on standard error contains it, too.
fn keep(done: &str) {
    let written = || -> io::Result<()> {
        let file = file().ok_or(io::ErrorKind::NotFound)?;
        if let Some(dir) = file.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).mode(0o600).open(file)?;
        let room = NOTE_MAX.saturating_sub(file.metadata()?.len() as usize);
        let cut = done.len().min(room);
        file.write_all(done.as_bytes().get(..cut).unwrap_or_default())
    };
    let _ = written();
}
