//! The thread that writes the recording and its copies.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::{info, warn};
use weft_replay::{Header, Writer};

use super::incidents::{self, EXTENSION, Incident, Kind, REASON_MAX, private};
use super::progress::Progress;
use super::{Order, RecordingPlace};
use crate::event_hub::unix_time_ns;

/// The recording of this start.
pub(super) struct Recording {
    place: RecordingPlace,
    path: PathBuf,
    /// None once it has ended.
    writer: Option<Writer<File>>,
    /// Bytes of earlier recordings.
    older: u64,
    progress: Arc<Progress>,
}

impl Recording {
    /// Begins it.
    pub(super) fn begin(place: RecordingPlace, progress: Arc<Progress>) -> io::Result<Self> {
        for dir in [&place.recordings, &place.incidents] {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let now = unix_time_ns();
        let older = make_room(&place, None)?;
        let name = format!("{}.{EXTENSION}", now / 1_000_000);
        let path = place.recordings.join(name);
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let header = Header::new(now, host.trim());
        let writer = Writer::new(private(&path)?, &header)?;
        Ok(Self {
            place,
            path,
            writer: Some(writer),
            older,
            progress,
        })
    }

    /// Writes what comes, until nothing more can come.
    pub(super) fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut panic = None;
        while let Some(order) = orders.blocking_recv() {
            match order {
                Order::Chunk(chunk) => self.chunk(&chunk),
                Order::Save { kind, reason, told } => {
                    let saved = self.save(kind, &reason);
                    // Who asked may have gone.
                    let _ = told.map(|told| told.send(saved));
                }
                Order::Panicked(words) => panic = Some(words),
            }
        }
        if let Some(words) = panic {
            // The log has what comes of it.
            let _ = self.save(Kind::Panic, &words);
        }
    }

    fn chunk(&mut self, chunk: &[u8]) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let written = match writer.chunk(chunk) {
            Ok(written) => written,
            Err(error) => return self.end(&format!("{}: {error}", self.path.display())),
        };
        self.progress.has(written);
        if self.older + written > self.place.budget {
            self.older = make_room(&self.place, Some((&self.path, written))).unwrap_or(self.older);
        }
        if written > self.place.budget {
            let budget = self.place.budget >> 20;
            self.end(&format!(
                "the recording has {budget} MiB (--recording-budget)"
            ));
        }
    }

    fn end(&mut self, why: &str) {
        self.writer = None;
        self.progress.end(why);
    }

    /// Copies the recording, and tells it in the log.
    fn save(&self, kind: Kind, reason: &str) -> Result<Incident, String> {
        let reason = in_line(reason);
        let now = unix_time_ns() / 1_000_000;
        let budget = 2 * self.place.budget;
        let copy = (now, kind, reason.as_str());
        let saved = incidents::save(&self.path, &self.place.incidents, budget, copy);
        match &saved {
            Ok(incident) => {
                let file = incident.path.display().to_string();
                let kind = kind.name();
                info!(
                    event = "incident_saved",
                    file, kind, "recording saved ({reason}): {file}"
                );
            }
            Err(error) => warn!(
                event = "incident_unsaved",
                %error,
                "a recording could not be saved ({reason}): {error}"
            ),
        }
        saved
    }
}

/// A reason in one line of at most [`REASON_MAX`] bytes: a panic may have words of any length, on several lines.
fn in_line(reason: &str) -> String {
    let reason = &reason[..reason.floor_char_boundary(REASON_MAX)];
    reason.replace(char::is_control, " ")
}

/// Removes the oldest of the other recordings until there is room for this one, with so many bytes so far; returns the bytes
/// of those that stay. One that begins finds half of the budget.
fn make_room(place: &RecordingPlace, own: Option<(&Path, u64)>) -> io::Result<u64> {
    let mut files: Vec<(u64, PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(&place.recordings)? {
        let path = entry?.path();
        let is_own = own.is_some_and(|(own, _)| own == path);
        if let Some(time) = begun(&path).filter(|_| !is_own) {
            let bytes = fs::metadata(&path)?.len();
            files.push((time, path, bytes));
        }
    }
    files.sort();
    let mut held: u64 = files.iter().map(|(.., bytes)| bytes).sum();
    let room = own.map_or(place.budget / 2, |(_, written)| written);
    for (_, path, bytes) in files {
        if held == 0 || held + room <= place.budget {
            break;
        }
        fs::remove_file(path)?;
        held -= bytes;
    }
    Ok(held)
}

/// When a recording began, milliseconds since 1970, by its name.
fn begun(path: &Path) -> Option<u64> {
    path.extension().filter(|end| *end == EXTENSION)?;
    path.file_stem()?.to_str()?.parse().ok()
}
