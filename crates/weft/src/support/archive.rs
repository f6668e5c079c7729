//! The archive: a compressed tar file, bounded in size, whose file MANIFEST lists its parts.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::collect::{Collected, PART_MAX};
use super::now_ns;
use super::secrets::Secrets;
use crate::error::CliError;
use crate::time::utc;
use weft_fabric::text::count;

/// Most bytes of all parts, before they are compressed.
const TOTAL_MAX: usize = 512 << 20;

pub(super) struct Archive {
    /// The file as it will be called, and as it is called until it is whole.
    file: PathBuf,
    partial: PathBuf,
    tar: Builder<GzEncoder<File>>,
    /// Directory of all parts in it.
    name: String,
    secrets: Secrets,
    total: usize,
    count: usize,
    missing: usize,
    manifest: String,
}

impl Archive {
    /// Begins an archive that nobody else may read.
    pub(super) fn create(file: &Path, name: &str, secrets: Secrets) -> Result<Self, CliError> {
        let mut partial = file.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let mut options = OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        // One that an earlier call has left.
        let _ = std::fs::remove_file(&partial);
        let opened = options.open(&partial);
        let opened = opened.map_err(|error| CliError::file(&partial, error))?;
        let manifest = format!(
            "weft support {}, {}\nkeys are left out\n\n{:>12}  part (source)\n",
            env!("CARGO_PKG_VERSION"),
            utc(now_ns()),
            "bytes"
        );
        Ok(Self {
            file: file.to_owned(),
            partial,
            tar: Builder::new(GzEncoder::new(opened, Compression::default())),
            name: name.to_owned(),
            secrets,
            total: 0,
            count: 0,
            missing: 0,
            manifest,
        })
    }

    /// Adds a part, or a line that says why it is missing.
    pub(super) fn add(
        &mut self,
        path: &str,
        source: &str,
        part: Collected,
    ) -> Result<(), CliError> {
        let room = TOTAL_MAX - self.total;
        let part = part.and_then(|bytes| match bytes.len() > room {
            true => Err(format!(
                "{} bytes more would make more than {} MiB of all parts",
                bytes.len(),
                TOTAL_MAX >> 20
            )),
            false => Ok(bytes),
        });
        let listed = match part {
            Ok(bytes) => {
                let cut = match bytes.len() >= PART_MAX {
                    true => format!(", cut off after {} MiB", PART_MAX >> 20),
                    false => String::new(),
                };
                let bytes = self.secrets.without(bytes);
                self.append(path, &bytes)?;
                self.total += bytes.len().min(room);
                self.count += 1;
                format!("{:>12}  {path} ({source}){cut}", bytes.len())
            }
            Err(why) => {
                self.missing += 1;
                let why =
                    String::from_utf8_lossy(&self.secrets.without(why.into_bytes())).into_owned();
                format!(
                    "{:>12}  {path} ({source}): {}",
                    "missing",
                    why.replace('\n', " ")
                )
            }
        };
        // Writing to a text cannot fail.
        let _ = writeln!(self.manifest, "{listed}");
        Ok(())
    }

    fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), CliError> {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_mtime(now_ns() / 1_000_000_000);
        let path = format!("{}/{path}", self.name);
        let appended = self.tar.append_data(&mut header, path, bytes);
        appended.map_err(|error| CliError::file(&self.partial, error))
    }

    /// Writes the list of parts and gives the archive its name; returns what is in it, in words.
    pub(super) fn finish(mut self) -> Result<String, CliError> {
        let manifest = std::mem::take(&mut self.manifest);
        self.append("MANIFEST", manifest.as_bytes())?;
        let (partial, file) = (self.partial, self.file);
        let done = || -> io::Result<u64> {
            let written = self.tar.into_inner()?.finish()?;
            written.sync_all()?;
            std::fs::rename(&partial, &file)?;
            Ok(written.metadata()?.len())
        };
        let len = done().map_err(|error| CliError::file(&file, error))?;
        let missing = match self.missing {
            0 => String::new(),
            missing => format!("; {missing} could not be collected, its MANIFEST says why"),
        };
        Ok(format!(
            "{}, {:.1} MB{missing}",
            count(self.count, "part"),
            len as f64 / 1e6
        ))
    }
}
