//! Standard output, buffered.

use std::fmt::Display;
use std::io::{self, BufWriter, Read, Write, stdout};
use std::path::Path;

use serde::Serialize;

use crate::error::CliError;

/// Prints a value as text.
pub(crate) fn text(value: impl Display) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    write!(out, "{value}")?;
    Ok(out.flush()?)
}

/// Prints a value as JSON, indented.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let mut out = BufWriter::with_capacity(1 << 16, stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Prints a value as one line of JSON, at once.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), CliError> {
    let line = serde_json::to_string(value).map_err(io::Error::from)?;
    text(format_args!("{line}\n"))
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = match file.to_str() {
        Some("-") => io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        _ => std::fs::read(file),
    };
    read.map_err(|source| CliError::file(file, source))
}
