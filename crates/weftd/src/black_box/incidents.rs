//! Copies of recordings: what people take away to replay it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of a reason.
pub(crate) const REASON_MAX: usize = 512;
/// End of a copy's name, and of a recording's.
pub(super) const EXTENSION: &str = "weftrec";
/// Copies at most.
const COPIES_MAX: usize = 64;

/// What a copy was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An operator's order.
    ByHand,
    /// A sweep left work undone.
    UnfinishedSweep,
    /// A device broke the rules.
    DeviceFault,
    /// A switch did not hold the table that it had confirmed.
    BrokenPromise,
    /// A part of the daemon panicked.
    Panic,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::ByHand,
        Self::UnfinishedSweep,
        Self::DeviceFault,
        Self::BrokenPromise,
        Self::Panic,
    ];

    /// Its name in the names of files and in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ByHand => "by-hand",
            Self::UnfinishedSweep => "unfinished-sweep",
            Self::DeviceFault => "device-fault",
            Self::BrokenPromise => "broken-promise",
            Self::Panic => "panic",
        }
    }
}

/// A copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Incident {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// In words, empty where it is not known.
    pub(crate) reason: String,
    pub(crate) unix_ms: u64,
    /// Bytes of it, and of the file before it where that is copied too.
    pub(crate) bytes: u64,
}

/// The copies of a directory, the oldest first; none where there is none.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<Incident>> {
    let mut all = Vec::new();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        let Some((unix_ms, kind)) = parse(&path) else {
            continue;
        };
        let reason = fs::read_to_string(reason_of(&path)).unwrap_or_default();
        let reason = reason[..reason.floor_char_boundary(REASON_MAX)].to_owned();
        // One that has just been removed is none.
        let Ok(bytes) = bytes_of(&path) else {
            continue;
        };
        let bytes = bytes + bytes_of(&earlier_of(&path)).unwrap_or_default();
        all.push(Incident {
            path,
            kind,
            reason,
            unix_ms,
            bytes,
        });
    }
    all.sort_by_key(|incident| (incident.unix_ms, incident.kind));
    Ok(all)
}

/// Time and kind of a copy, by its name.
fn parse(path: &Path) -> Option<(u64, Kind)> {
    path.extension().filter(|end| *end == EXTENSION)?;
    let stem = path.file_stem()?.to_str()?.strip_prefix("incident-")?;
    let (time, kind) = stem.split_once('-')?;
    let kind = Kind::ALL.into_iter().find(|known| known.name() == kind)?;
    Some((time.parse().ok()?, kind))
}

fn reason_of(path: &Path) -> PathBuf {
    path.with_extension("reason")
}

/// Where the copy of the file before a copy is.
fn earlier_of(path: &Path) -> PathBuf {
    path.with_extension(format!("earlier.{EXTENSION}"))
}

/// Where a copy is while it is written.
fn part_of(path: &Path) -> PathBuf {
    path.with_extension("part")
}

fn bytes_of(path: &Path) -> io::Result<u64> {
    fs::metadata(path).map(|file| file.len())
}

/// Copies a file, and the one before it where there is one, into `dir`, which may have `budget` bytes: where there is no room,
/// the oldest copies go that nobody asked for.
pub(super) fn save(
    (from, before): (&Path, Option<&Path>),
    dir: &Path,
    budget: u64,
    (unix_ms, kind, reason): (u64, Kind, &str),
) -> Result<Incident, String> {
    let mut bytes = bytes_of(from).map_err(|error| error.to_string())?;
    bytes += before.map_or(0, |before| bytes_of(before).unwrap_or_default());
    make_room(dir, budget, bytes)?;
    let name = format!("incident-{unix_ms}-{}.{EXTENSION}", kind.name());
    let path = dir.join(name);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let copied = before.map_or(Ok(()), |before| copy(before, &earlier_of(&path)));
    let copied = copied.and_then(|()| private(&reason_of(&path))?.write_all(reason.as_bytes()));
    let copied = copied.and_then(|()| copy(from, &path));
    copied.inspect_err(|_| discard(&path)).map_err(failed)?;
    Ok(Incident {
        kind,
        reason: reason.to_owned(),
        unix_ms,
        bytes,
        path,
    })
}

/// Removes what there is of a copy that is not whole.
fn discard(path: &Path) {
    let earlier = earlier_of(path);
    let parts = [part_of(path), part_of(&earlier), earlier, reason_of(path)];
    // The error that led here is told; what cannot be removed may not even be there.
    parts.iter().for_each(|part| drop(fs::remove_file(part)));
}

fn make_room(dir: &Path, budget: u64, bytes: u64) -> Result<(), String> {
    let mut kept = list(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    loop {
        let held: u64 = kept.iter().map(|incident| incident.bytes).sum();
        if held + bytes <= budget && kept.len() < COPIES_MAX {
            return Ok(());
        }
        let unasked = |incident: &Incident| incident.kind != Kind::ByHand;
        let Some(oldest) = kept.iter().position(unasked) else {
            return Err(format!(
                "{} has {} incidents of {} MiB, which is the most; remove some",
                dir.display(),
                kept.len(),
                held >> 20
            ));
        };
        let oldest = kept.remove(oldest);
        // As long as the copy is listed, the file before it is counted with it.
        for path in [earlier_of(&oldest.path), oldest.path.clone()] {
            remove(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        // At most some hundred bytes: one that stays does no harm.
        let _ = fs::remove_file(reason_of(&oldest.path));
    }
}

/// Removes a file that may have gone before.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Copies a file, for the owner alone; a copy that has its name is whole.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let part = part_of(to);
    let mut source = fs::File::open(from)?;
    let mut file = private(&part)?;
    io::copy(&mut source, &mut file)?;
    file.sync_all()?;
    fs::rename(part, to)
}

/// A new file that only its owner reads.
pub(super) fn private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn kinds(dir: &Path) -> Vec<(u64, Kind)> {
        let all = list(dir).unwrap();
        all.iter()
            .map(|incident| (incident.unix_ms, incident.kind))
            .collect()
    }

    #[test]
    fn copies_that_nobody_asked_for_make_room_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let (from, copies) = (dir.path().join("recording"), dir.path().join("copies"));
        fs::write(&from, [7; 40]).unwrap();
        fs::create_dir(&copies).unwrap();
        let save = |time, kind| {
            save(
                (&from, None),
                &copies,
                100,
                (time, kind, "a fault; of a switch"),
            )
        };
        save(1, Kind::ByHand).unwrap();
        save(2, Kind::DeviceFault).unwrap();
        let third = save(3, Kind::ByHand).unwrap();
        assert_eq!(kinds(&copies), [(1, Kind::ByHand), (3, Kind::ByHand)]);
        assert_eq!(list(&copies).unwrap()[1], third);
        assert_eq!(fs::read(&third.path).unwrap(), [7; 40]);
        let full = save(4, Kind::UnfinishedSweep).unwrap_err();
        assert!(
            full.contains("2 incidents") && full.contains("remove some"),
            "{full}"
        );
        assert_eq!(kinds(&copies).len(), 2);
        // The reasons of those that are there, and nothing else.
        assert_eq!(fs::read_dir(&copies).unwrap().count(), 4);
    }

    #[test]
    fn the_file_before_is_copied_counted_and_removed_with_its_copy() {
        let dir = tempfile::tempdir().unwrap();
        let [from, before, copies] =
            ["newest", "before", "copies"].map(|name| dir.path().join(name));
        fs::write(&from, [7; 40]).unwrap();
        fs::write(&before, [8; 30]).unwrap();
        fs::create_dir(&copies).unwrap();
        let files = (from.as_path(), Some(before.as_path()));
        let fault = (1, Kind::DeviceFault, "a fault");
        let saved = save(files, &copies, 100, fault).unwrap();
        assert_eq!(saved.bytes, 70);
        assert_eq!(list(&copies).unwrap(), [saved]);
        let earlier = copies.join("incident-1-device-fault.earlier.weftrec");
        assert_eq!(fs::read(&earlier).unwrap(), [8; 30]);
        let alone = (from.as_path(), None);
        save(alone, &copies, 100, (2, Kind::ByHand, "")).unwrap();
        assert_eq!(kinds(&copies), [(2, Kind::ByHand)]);
        assert!(!earlier.exists());
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let [from, before, copies] =
            ["newest", "before", "copies"].map(|name| dir.path().join(name));
        // What is opened and cannot be read.
        fs::create_dir(&from).unwrap();
        fs::write(&before, [8; 30]).unwrap();
        fs::create_dir(&copies).unwrap();
        let save = |files| save(files, &copies, 1 << 20, (1, Kind::ByHand, "a fault"));
        for files in [(&*from, Some(&*before)), (&*before, Some(&*from))] {
            let error = save(files).unwrap_err();
            assert!(error.contains("directory"), "{error}");
            assert_eq!(fs::read_dir(&copies).unwrap().count(), 0, "{error}");
        }
        save((&*before, None)).unwrap();
    }

    #[test]
    fn a_copy_stays_listed_until_the_file_before_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (from, copies) = (dir.path().join("newest"), dir.path().join("copies"));
        fs::write(&from, [7; 40]).unwrap();
        // In its place is what cannot be removed.
        let earlier = copies.join("incident-1-panic.earlier.weftrec");
        fs::create_dir_all(&earlier).unwrap();
        fs::write(copies.join("incident-1-panic.weftrec"), [7; 40]).unwrap();
        let held = bytes_of(&earlier).unwrap() + 40;
        let error = save((&from, None), &copies, held, (2, Kind::Panic, "")).unwrap_err();
        assert!(error.contains(&earlier.display().to_string()), "{error}");
        assert_eq!(kinds(&copies), [(1, Kind::Panic)]);
    }

    #[test]
    fn what_is_no_copy_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "incident-5-panic.part",
            "incident-x-panic.weftrec",
            "incident-5-fire.weftrec",
            "other",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(kinds(dir.path()), []);
        assert_eq!(kinds(&dir.path().join("absent")), []);
    }
}
