//! Files of `weft-lab run`: read up to a limit, replaced whole.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// The file and the reason: it cannot be read, or is longer.
pub(crate) fn read(file: &Path, most: u64) -> Result<Vec<u8>, String> {
    let name = file.display();
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    let read = read.map_err(|error| format!("{name}: {error}"))?;
    if read as u64 > most {
        return Err(format!(
            "{name} is longer than {most} bytes, which is allowed"
        ));
    }
    Ok(bytes)
}

/// Reads a text file of at most `most` bytes.
///
/// # Errors
/// See [`read`]; also invalid UTF-8.
pub(crate) fn read_text(file: &Path, most: u64) -> Result<String, String> {
    let text = String::from_utf8(read(file, most)?);
    text.map_err(|_| format!("{} is no text in UTF-8", file.display()))
}

/// Replaces a file; a crash leaves the old or the new one.
///
/// # Errors
/// The file and the reason.
pub(crate) fn replace(file: &Path, content: &[u8]) -> Result<(), String> {
    put(file, content).map_err(|error| format!("{}: {error}", file.display()))
}

fn put(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let mut written = File::create(&new)?;
    written.write_all(content)?;
    written.sync_all()?;
    fs::rename(&new, file)?;
    File::open(directory(file))?.sync_all()
}

/// The directory of a file.
pub(crate) fn directory(file: &Path) -> &Path {
    let parent = file.parent().unwrap_or(Path::new(""));
    match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    }
}

/// Checks that files can be written into a directory.
///
/// # Errors
/// The directory and the reason.
pub(crate) fn check_directory(directory: &Path) -> Result<(), String> {
    let probe = directory.join(format!(".weft-lab.{}.new", std::process::id()));
    let written = File::create(&probe).and_then(|_| fs::remove_file(&probe));
    written.map_err(|error| format!("{}: {error}", directory.display()))
}

/// The relative path from a directory to an existing file, for links in documents.
///
/// # Errors
/// The path that cannot be found.
pub(crate) fn way(from: &Path, to: &Path) -> Result<String, String> {
    let whole = |path: &Path| {
        let whole = path.canonicalize();
        whole.map_err(|error| format!("{}: {error}", path.display()))
    };
    let (from, to) = (whole(from)?, whole(to)?);
    let both = from.components().zip(to.components());
    let common = both.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(common)).collect();
    Ok(way.to_string_lossy().into_owned())
}
