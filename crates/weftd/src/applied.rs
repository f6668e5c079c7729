//! Plans that are in force and that the configuration file does not have: they end with the daemon,
//! and whoever applied them is told so, also after a restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::{error, warn};
use weft_manager::sm::Settings;

use crate::store;

/// Longest note that is read back, bytes: far above what a plan is called.
const MAX_LEN: u64 = 64 << 10;
/// First line of the note.
const MAGIC: &str = "WEFTPLAN 1";

/// What the file says by its checksum, and what is to be told.
#[derive(Debug, Default)]
struct State {
    from_file: u32,
    told: String,
}

/// The plans in force beside the configuration file.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The note for the next start; none without a state directory.
    note: Option<PathBuf>,
    state: Mutex<State>,
}

impl Applied {
    /// Reads the note of the last run; `settings` are what the configuration file says now.
    pub(crate) fn open(note: Option<PathBuf>, settings: &Settings) -> Self {
        let from_file = digest(settings);
        let text = note.as_ref().and_then(|note| read(note));
        let last = text.as_deref().and_then(decode);
        let lost = last.filter(|(planned, _)| *planned != from_file);
        let told = lost.map_or_else(String::new, |(_, what)| {
            format!("{what} was in force before the last start; the configuration file does not say so and is followed")
        });
        if !told.is_empty() {
            warn!(event = "plan_ended", "{told}");
        }
        let state = Mutex::new(State { from_file, told });
        Self { note, state }
    }

    /// What to tell people, empty where all that is in force is in the file.
    pub(crate) fn told(&self) -> String {
        self.state().told.clone()
    }

    /// The file was read again and is in force.
    pub(crate) async fn reloaded(self: &Arc<Self>, settings: &Settings) {
        self.state().from_file = digest(settings);
        self.in_force(settings, "").await;
    }

    /// These settings are in force, by a plan that is called `what`.
    pub(crate) async fn in_force(self: &Arc<Self>, settings: &Settings, what: &str) {
        let planned = digest(settings);
        let is_file = {
            let mut state = self.state();
            let is_file = planned == state.from_file;
            state.told = match is_file {
                true => String::new(),
                false => format!(
                    "{what} is in force until weftd ends or reads its configuration file, which does not say so"
                ),
            };
            is_file
        };
        let note = (!is_file).then(|| encode(planned, what));
        let own = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || own.keep(note)).await;
        if let Ok(Err(error)) = kept {
            error!(%error, "cannot note in the state directory which plan is in force");
        }
    }

    fn keep(&self, note: Option<String>) -> std::io::Result<()> {
        match (&self.note, note) {
            (None, _) => Ok(()),
            (Some(file), Some(note)) => store::replace(file, note.as_bytes()),
            (Some(file), None) if file.exists() => std::fs::remove_file(file),
            (Some(_), None) => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The note as text; one that cannot be read is told and counts as none.
fn read(note: &Path) -> Option<String> {
    let bytes = store::read(note, MAX_LEN).unwrap_or_else(|error| {
        let note = note.display();
        warn!(%error, %note, "cannot read which plan was in force before the last start");
        None
    });
    bytes.and_then(|bytes| String::from_utf8(bytes).ok())
}

fn digest(settings: &Settings) -> u32 {
    crc32c::crc32c(format!("{settings:?}").as_bytes())
}

/// Three lines, the second with the checksum of the third: checksum of the settings, and words.
fn encode(planned: u32, what: &str) -> String {
    let content = format!("{planned:08x} {}", what.replace('\n', " "));
    let checksum = crc32c::crc32c(content.as_bytes());
    format!("{MAGIC}\n{checksum:08x}\n{content}\n")
}

fn decode(text: &str) -> Option<(u32, String)> {
    let mut lines = text.lines();
    let (magic, checksum, content) = (lines.next()?, lines.next()?, lines.next()?);
    let checksum = u32::from_str_radix(checksum, 16).ok()?;
    let whole = magic == MAGIC && checksum == crc32c::crc32c(content.as_bytes());
    let (planned, what) = content.split_once(' ').filter(|_| whole)?;
    Some((u32::from_str_radix(planned, 16).ok()?, what.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_the_file_lacks_is_told_until_the_file_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let note = Some(dir.path().join("plan.0"));
        let file = Settings::default();
        let mut planned = file.clone();
        planned.routing.spine_first = !planned.routing.spine_first;
        let first = Arc::new(Applied::open(note.clone(), &file));
        assert_eq!(first.told(), "");
        first.in_force(&planned, "engine dmodc").await;
        assert!(first.told().starts_with("engine dmodc is in force until"));

        let second = Arc::new(Applied::open(note.clone(), &file));
        assert!(
            second
                .told()
                .starts_with("engine dmodc was in force before")
        );
        let follows = Applied::open(note.clone(), &planned);
        assert_eq!(follows.told(), "", "the file has it now");
        second.reloaded(&file).await;
        assert_eq!(second.told(), "");
        assert_eq!(Applied::open(note, &file).told(), "");
    }

    #[test]
    fn a_damaged_note_is_none() {
        let good = encode(7, "engine dmodc");
        assert_eq!(decode(&good), Some((7, "engine dmodc".to_owned())));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone().into_bytes();
            bad[bit / 8] ^= 1 << (bit % 8);
            let read = String::from_utf8(bad).ok();
            let read = read.as_deref().and_then(decode);
            let same = Some((7, "engine dmodc".to_owned()));
            assert!(read.is_none() || read == same, "bit {bit}: {read:?}");
        }
    }
}
