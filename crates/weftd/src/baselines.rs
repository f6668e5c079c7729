//! Baselines: topology files of the fabric that were saved under a name, to compare it with later.
//!
//! They are files `NAME.topology` in a directory beside the state, which `opareport -T` reads too. Their last line is
//! a comment with counts and a checksum.

use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use thiserror::Error;
use weft_fabric::Snapshot;
use weft_fabric::export::write_topology;
use weft_fabric::import::TOPOLOGY_FILE_MAX;

use crate::store;

/// Most baselines.
pub(crate) const BASELINES_MAX: usize = 64;
/// Longest name, bytes.
const NAME_MAX: usize = 64;
const SUFFIX: &str = ".topology";
const MARK: &str = "<!-- weft baseline:";
/// More than the last line has.
const LAST_LINE_MAX: u64 = 256;

/// Why a baseline cannot be had, or kept.
#[derive(Debug, Error)]
pub(crate) enum BaselineError {
    #[error("the daemon has no state directory (--state-dir), where baselines are kept")]
    NoDirectory,
    #[error(
        "name: {0:?} is no name of a baseline; allowed: 1 to 64 letters, digits, '-', '_' and '.', no '.' first"
    )]
    Name(String),
    #[error("there is a baseline {0} already; save it under another name, or replace it")]
    Exists(String),
    #[error("there is no baseline {name}; {there}")]
    Missing { name: String, there: String },
    #[error("there are {BASELINES_MAX} baselines, which is the most; remove one first")]
    TooMany,
    #[error("baseline {0} is damaged: its checksum is wrong; remove it, or save it anew")]
    Damaged(String),
    #[error("baseline {name}: {error}")]
    File { name: String, error: io::Error },
}

/// A baseline, without its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    /// Seconds since 1970.
    pub(crate) saved_unix_time: u64,
    pub(crate) hfis: u32,
    pub(crate) switches: u32,
    pub(crate) links: u32,
}

/// All baselines of an instance.
#[derive(Debug)]
pub(crate) struct Baselines {
    dir: Option<PathBuf>,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Baselines {
    /// Those in a directory, which is made with the first one; none can be kept without it.
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        let changing = Mutex::default();
        Self { dir, changing }
    }

    /// Saves the fabric under a name.
    pub(crate) fn save(
        &self,
        name: &str,
        snapshot: &Snapshot,
        replace: bool,
    ) -> Result<Baseline, BaselineError> {
        let failed = |error| BaselineError::File {
            name: name.to_owned(),
            error,
        };
        let file = self.file(name)?;
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = file.exists();
        if is_there && !replace {
            return Err(BaselineError::Exists(name.to_owned()));
        }
        if !is_there && self.list()?.len() >= BASELINES_MAX {
            return Err(BaselineError::TooMany);
        }
        let topology = &*snapshot.topology;
        let baseline = Baseline {
            name: name.to_owned(),
            saved_unix_time: now(),
            hfis: topology.hfis().count() as u32,
            switches: topology.switches().len() as u32,
            links: topology.links().count() as u32,
        };
        let mut text = Vec::new();
        write_topology(snapshot, &mut text).map_err(failed)?;
        text.extend(last_line(&baseline, &text).into_bytes());
        let dir = file.parent().unwrap_or(Path::new("."));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(failed)?;
        store::replace(&file, &text).map_err(failed)?;
        Ok(baseline)
    }

    /// All of them, by name.
    pub(crate) fn list(&self) -> Result<Vec<Baseline>, BaselineError> {
        let dir = self.dir.as_ref().ok_or(BaselineError::NoDirectory)?;
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let name = dir.display().to_string();
                return Err(BaselineError::File { name, error });
            }
        };
        let names = entries.filter_map(|entry| {
            let file = entry.ok()?.file_name();
            let name = file.to_str()?.strip_suffix(SUFFIX)?.to_owned();
            is_name(&name).then_some(name)
        });
        let mut all: Vec<Baseline> = names
            .map(|name| {
                let read = described(&dir.join(format!("{name}{SUFFIX}")), &name);
                read.unwrap_or_else(|| Baseline::unknown(name))
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// The topology file of a baseline.
    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, BaselineError> {
        let file = self.file(name)?;
        let text = store::read(&file, TOPOLOGY_FILE_MAX + LAST_LINE_MAX);
        let text = text.map_err(|error| BaselineError::File {
            name: name.to_owned(),
            error,
        })?;
        let mut text = text.ok_or_else(|| self.missing(name))?;
        let damaged = || BaselineError::Damaged(name.to_owned());
        let end = text.len().saturating_sub(1);
        let from = text[..end].iter().rposition(|byte| *byte == b'\n');
        let from = from.ok_or_else(damaged)? + 1;
        let line = parsed(&String::from_utf8_lossy(&text[from..])).ok_or_else(damaged)?;
        text.truncate(from);
        (crc32c::crc32c(&text) == line.sum)
            .then_some(text)
            .ok_or_else(damaged)
    }

    /// Removes one.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BaselineError> {
        let file = self.file(name)?;
        match std::fs::remove_file(file) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.missing(name)),
            Err(error) => Err(BaselineError::File {
                name: name.to_owned(),
                error,
            }),
        }
    }

    fn file(&self, name: &str) -> Result<PathBuf, BaselineError> {
        if !is_name(name) {
            return Err(BaselineError::Name(name.to_owned()));
        }
        let dir = self.dir.as_ref().ok_or(BaselineError::NoDirectory)?;
        Ok(dir.join(format!("{name}{SUFFIX}")))
    }

    fn missing(&self, name: &str) -> BaselineError {
        let all = self.list().unwrap_or_default();
        let names: Vec<&str> = all.iter().map(|one| &*one.name).collect();
        BaselineError::Missing {
            name: name.to_owned(),
            there: match names.is_empty() {
                true => "none is saved yet".to_owned(),
                false => format!("there are: {}", names.join(", ")),
            },
        }
    }
}

impl Baseline {
    /// A file that cannot be read.
    fn unknown(name: String) -> Self {
        Self {
            name,
            saved_unix_time: 0,
            hfis: 0,
            switches: 0,
            links: 0,
        }
    }
}

/// Whether a name is also one of a file, in any shell and file system.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits)
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

/// The last line of a file.
struct LastLine {
    numbers: [u64; 4],
    sum: u32,
}

fn last_line(of: &Baseline, text: &[u8]) -> String {
    let mut line = MARK.to_owned();
    let numbers = [
        of.saved_unix_time,
        of.hfis.into(),
        of.switches.into(),
        of.links.into(),
    ];
    for (number, what) in numbers.iter().zip(["s", "HFIs", "switches", "links"]) {
        let _ = write!(line, " {number} {what},");
    }
    format!("{line} crc32c {:#010x} -->\n", crc32c::crc32c(text))
}

fn parsed(line: &str) -> Option<LastLine> {
    let (numbers, sum) = line.strip_prefix(MARK)?.split_once(" crc32c 0x")?;
    let sum = u32::from_str_radix(sum.trim_end().strip_suffix(" -->")?, 16).ok()?;
    let numbers = numbers
        .split(',')
        .filter_map(|part| part.split_whitespace().next());
    let numbers: Option<Vec<u64>> = numbers.map(|number| number.parse().ok()).collect();
    let numbers = numbers?.try_into().ok()?;
    Some(LastLine { numbers, sum })
}

/// What the last line of a file says.
fn described(file: &Path, name: &str) -> Option<Baseline> {
    let mut file = std::fs::File::open(file).ok()?;
    let len = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(LAST_LINE_MAX)))
        .ok()?;
    let mut tail = Vec::new();
    file.take(LAST_LINE_MAX).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let [saved_unix_time, hfis, switches, links] = parsed(tail.lines().last()?)?.numbers;
    Some(Baseline {
        name: name.to_owned(),
        saved_unix_time,
        hfis: hfis.try_into().ok()?,
        switches: switches.try_into().ok()?,
        links: links.try_into().ok()?,
    })
}

#[cfg(test)]
#[path = "baselines_tests.rs"]
mod tests;
