//! The thread that writes the recording and its copies.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tracing::{info, warn};
use weft_replay::{Header, SaRest, Writer};

use super::incidents::{self, EXTENSION, Incident, Kind, REASON_MAX, private};
use super::progress::Progress;
use super::{Order, RecordingPlace};
use crate::event_hub::unix_time_ns;

/// Files of the ring, if all have their share of the budget.
const FILES: u64 = 8;
/// Inputs of subnet administration may have one of so many parts of a file's share of the budget.
pub(super) const SA_PARTS: u64 = 2;
/// A copy has the file before the newest one too, unless the newest has begun so long before.
const HOUR_MS: u64 = 3_600_000;
/// Memory for the bytes of a chunk that is kept for the next one.
const BYTES_KEPT: usize = 1 << 20;

/// The recording of this start.
pub(super) struct Recording {
    place: RecordingPlace,
    file: Newest,
    /// The file before it, of this start as well.
    before: Option<PathBuf>,
    /// None once it has ended.
    writer: Option<Writer<File>>,
    others: Others,
    sa: SaRow,
    progress: Arc<Progress>,
}

/// The inputs of subnet administration.
#[derive(Default)]
struct SaRow {
    /// Where they are written.
    to: SaPlace,
    /// Bytes of them in the file that has their state.
    bytes: u64,
    /// Its number.
    file: u64,
}

/// A place for inputs of subnet administration.
#[derive(Default)]
enum SaPlace {
    /// None: their state is not there yet, or they rest.
    #[default]
    Nowhere,
    /// The newest file.
    Newest,
    /// The one before, until their state for the newest comes.
    Before(Writer<File>),
}

/// The newest file.
struct Newest {
    path: PathBuf,
    /// When it began, milliseconds since 1970.
    begun: u64,
    /// Bytes after which the next one is to begin; none while its checkpoint is written, and once the manager's thread is
    /// asked for the next one's.
    share: Option<u64>,
}

/// The other files.
#[derive(Debug, Clone, Copy, Default)]
struct Others {
    /// Their bytes.
    bytes: u64,
    /// Bytes of those of this start.
    own_bytes: u64,
    /// When the oldest of this start began.
    own_begun: Option<u64>,
}

impl Recording {
    /// Begins it.
    pub(super) fn begin(place: RecordingPlace, progress: Arc<Progress>) -> io::Result<Self> {
        for dir in [&place.recordings, &place.incidents] {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let began = progress.started();
        let others = make_room(&place, began, None)?;
        let (mut file, writer) = new_file(&place, began)?;
        file.share = Some(place.budget / FILES);
        Ok(Self {
            place,
            file,
            before: None,
            writer: Some(writer),
            others,
            sa: SaRow::default(),
            progress,
        })
    }

    /// Writes what comes, until nothing more can come.
    pub(super) fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut panic = None;
        let mut bytes = Vec::new();
        while let Some(order) = orders.blocking_recv() {
            match order {
                Order::Chunk(chunk) => {
                    bytes.clear();
                    chunk.write(&mut bytes);
                    self.chunk(&bytes);
                    // The first one may have a whole state, of which nothing is as large again.
                    bytes.shrink_to(BYTES_KEPT);
                }
                Order::Next(manager) => self.next(|to| manager.write(to)),
                Order::SaChunk(chunk) => self.sa_chunk(&chunk.into_bytes()),
                Order::SaNext(state, file) => self.sa_next(file, |to| state.write(to)),
                Order::SaRests(file) => self.disk_is_slow(file),
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

    pub(super) fn chunk(&mut self, chunk: &[u8]) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let written = match writer.chunk(chunk) {
            Ok(written) => written,
            Err(error) => return self.end(&format!("{}: {error}", self.file.path.display())),
        };
        if self.others.bytes + written > self.place.budget {
            let newest = Some((self.file.path.as_path(), written));
            self.others = match make_room(&self.place, self.progress.started(), newest) {
                Ok(others) => others,
                Err(error) => return self.end_of_ring(&error),
            };
        }
        let begun = self.others.own_begun.unwrap_or(self.file.begun);
        self.progress.has(self.others.own_bytes + written, begun);
        if written > self.place.budget {
            let budget = self.place.budget >> 20;
            return self.end(&format!(
                "a file of it has {budget} MiB, which is all of --recording-budget"
            ));
        }
        if self.file.share.take_if(|share| written >= *share).is_some() {
            self.progress.set_full(true);
        }
    }

    /// Begins the next file with the chunks that a checkpoint has.
    pub(super) fn next(&mut self, checkpoint: impl FnOnce(&mut dyn FnMut(&[u8]))) {
        let Some(written) = self.writer.as_ref().map(Writer::written) else {
            return;
        };
        self.others.bytes += written;
        self.others.own_bytes += written;
        self.others.own_begun.get_or_insert(self.file.begun);
        let now = unix_time_ns() / 1_000_000;
        let (file, writer) = match new_file(&self.place, now.max(self.file.begun + 1)) {
            Ok(begun) => begun,
            Err(error) => return self.end_of_ring(&error),
        };
        let before = std::mem::replace(&mut self.file, file);
        self.before = Some(before.path);
        if let Some(writer) = self.writer.replace(writer)
            && matches!(self.sa.to, SaPlace::Newest)
        {
            self.sa.to = SaPlace::Before(writer);
        }
        checkpoint(&mut |chunk| self.chunk(chunk));
        let written = self.writer.as_ref().map_or(0, Writer::written);
        self.file.share = Some(share(self.place.budget, written));
    }

    /// Writes inputs of subnet administration.
    pub(super) fn sa_chunk(&mut self, chunk: &[u8]) {
        match &mut self.sa.to {
            SaPlace::Nowhere => return,
            SaPlace::Newest => {
                let before = self.newest_bytes();
                self.chunk(chunk);
                self.sa.bytes += self.newest_bytes().saturating_sub(before);
            }
            SaPlace::Before(writer) => {
                let before = writer.written();
                let Ok(after) = writer.chunk(chunk) else {
                    // Nothing may follow a gap.
                    self.sa.to = SaPlace::Nowhere;
                    self.progress.let_sa_rest(self.sa.file, SaRest::Disk);
                    return;
                };
                self.count_sa_before(after - before);
            }
        }
        if self.sa.bytes > self.place.budget / FILES / SA_PARTS {
            self.end_sa_row(SaRest::Share);
            self.progress.let_sa_rest(self.sa.file, SaRest::Share);
        }
    }

    /// So many bytes of them are in the file before the newest.
    fn count_sa_before(&mut self, written: u64) {
        self.sa.bytes += written;
        self.others.bytes += written;
        self.others.own_bytes += written;
    }

    /// None follow in the file that has them so far, which says so.
    fn end_sa_row(&mut self, why: SaRest) {
        match std::mem::take(&mut self.sa.to) {
            SaPlace::Nowhere => {}
            SaPlace::Newest => self.chunk(&why.chunk()),
            SaPlace::Before(mut writer) => {
                let before = writer.written();
                // One that cannot be written ends there.
                let after = writer.chunk(&why.chunk()).unwrap_or(before);
                self.count_sa_before(after - before);
            }
        }
    }

    /// They rest in this file, perhaps before their state is in it.
    pub(super) fn disk_is_slow(&mut self, file: u64) {
        self.end_sa_row(SaRest::Disk);
        if self.sa.file != file {
            self.chunk(&SaRest::Disk.chunk());
        }
    }

    /// Inputs of subnet administration begin in the newest file, with the chunks that their state has. `file` is the number of
    /// the newest that they know.
    pub(super) fn sa_next(&mut self, file: u64, state: impl FnOnce(&mut dyn FnMut(&[u8]))) {
        let before = self.newest_bytes();
        // The state belongs to the checkpoint, of which a share is reckoned.
        let share = self.file.share.take();
        state(&mut |chunk| self.chunk(chunk));
        self.file.share = share.map(|_| self::share(self.place.budget, self.newest_bytes()));
        let written = self.newest_bytes().saturating_sub(before);
        self.sa.to = SaPlace::Newest;
        if self.sa.file == file {
            self.sa.bytes += written;
        } else {
            (self.sa.file, self.sa.bytes) = (file, 0);
        }
    }

    fn newest_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::written)
    }

    /// The directory refuses.
    fn end_of_ring(&mut self, error: &io::Error) {
        self.end(&format!("{}: {error}", self.place.recordings.display()));
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
        let end = self.progress.state().end.map(|(end, _)| end);
        let is_young = is_young(self.file.begun, now, end);
        let before = self.before.as_deref();
        let before = before.filter(|before| is_young && before.exists());
        let files = (self.file.path.as_path(), before);
        let saved = incidents::save(files, &self.place.incidents, budget, copy);
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

/// Whether a file has less than an hour, up to now or to the end of the recording.
pub(super) fn is_young(begun: u64, now: u64, end: Option<u64>) -> bool {
    end.unwrap_or(now).saturating_sub(begun) < HOUR_MS
}

/// Bytes after which a file that begins with a checkpoint of so many is followed by the next.
fn share(budget: u64, checkpoint: u64) -> u64 {
    let most = budget / FILES * (FILES - 1);
    // A large checkpoint has as much again behind it, where there is room for that.
    let share = match 2 * checkpoint {
        twice if checkpoint < most => twice.min(most),
        // One that is nearly all of the budget would be followed by another at once: the recording ends instead.
        twice => twice,
    };
    share.max(budget / FILES)
}

/// A reason in one line of at most [`REASON_MAX`] bytes: a panic may have words of any length, on several lines.
fn in_line(reason: &str) -> String {
    let reason = &reason[..reason.floor_char_boundary(REASON_MAX)];
    reason.replace(char::is_control, " ")
}

/// A new file of the ring, which begins at `begun`.
fn new_file(place: &RecordingPlace, begun: u64) -> io::Result<(Newest, Writer<File>)> {
    let path = place.recordings.join(format!("{begun}.{EXTENSION}"));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let header = Header::new(begun * 1_000_000, host.trim());
    let writer = Writer::new(private(&path)?, &header)?;
    let newest = Newest {
        path,
        begun,
        share: None,
    };
    Ok((newest, writer))
}

/// Removes the oldest of the other files until there is room for the newest, with so many bytes so far, or for the share of
/// one that begins. `started` is when the daemon did.
fn make_room(
    place: &RecordingPlace,
    started: u64,
    newest: Option<(&Path, u64)>,
) -> io::Result<Others> {
    let mut files: Vec<(u64, PathBuf, u64)> = Vec::new();
    for entry in fs::read_dir(&place.recordings)? {
        let path = entry?.path();
        let is_newest = newest.is_some_and(|(newest, _)| newest == path);
        if let Some(time) = begun(&path).filter(|_| !is_newest) {
            match fs::metadata(&path) {
                Ok(file) => files.push((time, path, file.len())),
                // One that has just been removed is none.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    files.sort();
    let mut held: u64 = files.iter().map(|(.., bytes)| bytes).sum();
    let room = newest.map_or(place.budget / FILES, |(_, written)| written);
    let mut others = Others::default();
    for (time, path, bytes) in files {
        if held + room > place.budget {
            incidents::remove(&path)?;
            held -= bytes;
        } else if newest.is_some() && time >= started {
            others.own_bytes += bytes;
            others.own_begun.get_or_insert(time);
        }
    }
    Ok(Others {
        bytes: held,
        ..others
    })
}

/// When a recording began, milliseconds since 1970, by its name.
fn begun(path: &Path) -> Option<u64> {
    path.extension().filter(|end| *end == EXTENSION)?;
    path.file_stem()?.to_str()?.parse().ok()
}
