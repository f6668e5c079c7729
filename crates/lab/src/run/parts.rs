//! Parts of a run: processes that each perform some of the cases, on one machine or several that share a directory.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::experiment::outcome_store::OutcomeStore;

use super::Arguments;
use super::seen::Seen;
use super::state::{Kept, stored};
use super::work::{self, Work};

/// Ending of the names of files with outcomes.
const ENDING: &str = "state";

/// Most parts.
const PARTS_MAX: u32 = 1_000_000;

/// Names of the variables for the number of a process and for how many there are, by what starts them. Open MPI goes
/// first: its processes have those of Slurm too, where it runs in one of its jobs.
const RANKS: [[&str; 2]; 3] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    ["SLURM_PROCID", "SLURM_STEP_NUM_TASKS"],
];

/// A part, one of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// From 1.
    number: u32,
    parts: u32,
}

impl Part {
    fn new(number: u32, parts: u32) -> Option<Self> {
        let is_one = (1..=parts).contains(&number) && parts <= PARTS_MAX;
        is_one.then_some(Self { number, parts })
    }

    /// The part of this process, by the variables of what has started it.
    fn of_rank(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let number = |name: &str| variable(name)?.parse::<u32>().ok();
        let found = RANKS.iter().find_map(|[rank, ranks]| {
            let (rank, ranks) = (number(rank)?, number(ranks)?);
            Self::new(rank.checked_add(1)?, ranks)
        });
        found.ok_or_else(|| {
            let names: Vec<String> = RANKS.iter().map(|names| names.join(" and ")).collect();
            format!("no rank: neither {} are set", names.join(", nor "))
        })
    }

    /// Its own of all, in turns: costs of cases often rise along a sweep.
    fn own<'a, T: Copy>(self, all: &'a [T]) -> impl Iterator<Item = T> + 'a {
        let first = (self.number - 1) as usize;
        all.iter().copied().skip(first).step_by(self.parts as usize)
    }

    fn file(self, directory: &Path) -> PathBuf {
        let Self { number, parts } = self;
        directory.join(format!("{number}-of-{parts}.{ENDING}"))
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "rank" {
            return Self::of_rank(|name| env::var(name).ok());
        }
        let numbers = text.split_once('/');
        let part = numbers
            .and_then(|(number, parts)| Self::new(number.parse().ok()?, parts.parse().ok()?));
        part.ok_or_else(|| {
            format!("allowed are PART/PARTS, from 1/1 to {PARTS_MAX}/{PARTS_MAX}, and rank")
        })
    }
}

/// Performs the cases of a part that no part has performed, and keeps their outcomes in the part's own file.
/// Returns what to print.
///
/// # Errors
/// A file that cannot be read or written, a case without an outcome.
pub(super) fn perform(
    arguments: &Arguments,
    directory: &Path,
    part: Part,
    cases: &[&Work<'_>],
) -> Result<String, String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let file = part.file(directory);
    let kept = Kept::open(&file)?;
    let elsewhere = read(directory)?;
    let own: Vec<&Work<'_>> = part.own(cases).collect();
    let is_open = |work: &&Work<'_>| {
        kept.outcomes.get(&work.key).is_some() || elsewhere.get(&work.key).is_none()
    };
    let open: Vec<&Work<'_>> = own.iter().copied().filter(is_open).collect();
    let seen = Seen::new(directory, cases);
    work::perform_open(&open, arguments, kept, Some((seen, cases.len())))?;
    let (own, all) = (own.len(), cases.len());
    Ok(format!("{}: {own} of {all} cases\n", file.display()))
}

/// Outcomes of all parts.
///
/// # Errors
/// A file that cannot be read; a case without an outcome, unless cases without one are performed here.
pub(super) fn all(
    directory: &Path,
    cases: &[&Work<'_>],
    resume: bool,
) -> Result<OutcomeStore, String> {
    let kept = read(directory)?;
    let mut missing = cases.iter().filter(|work| kept.get(&work.key).is_none());
    let Some(first) = missing.next().filter(|_| !resume) else {
        return Ok(kept);
    };
    Err(format!(
        "{} has no outcome of case {:?} and {} others of {}: run the parts again, which go on where they were, or add \
         --resume to perform them here",
        directory.display(),
        first.case.name,
        missing.count(),
        cases.len()
    ))
}

/// Files with outcomes in a directory.
///
/// # Errors
/// The directory's.
pub(super) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// All outcomes in a directory.
fn read(directory: &Path) -> Result<OutcomeStore, String> {
    let files = files(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut all = OutcomeStore::default();
    for file in files {
        all.0.extend(stored(&file)?.0);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parts_have_each_case_once() {
        let all: Vec<u32> = (0..11).collect();
        let of = |text: &str| text.parse::<Part>().unwrap().own(&all).collect::<Vec<_>>();
        assert_eq!(of("2/4"), [1, 5, 9]);
        let mut together = ["1/4", "2/4", "3/4", "4/4"].map(of).concat();
        together.sort_unstable();
        assert_eq!(together, all);
        assert!(of("12/12").is_empty());
        for wrong in ["0/4", "5/4", "1/0", "1", "a/b", "1/1000001", ""] {
            let error = wrong.parse::<Part>().unwrap_err();
            assert!(error.contains("PART/PARTS"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_rank_is_that_of_what_has_started_it() {
        let of = |set: &[(&str, &str)]| {
            Part::of_rank(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let slurm = [("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "4")];
        let mpi = [("OMPI_COMM_WORLD_RANK", "5"), ("OMPI_COMM_WORLD_SIZE", "8")];
        let pmi = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        assert_eq!(of(&slurm).ok(), Part::new(3, 4));
        assert_eq!(of(&[slurm, mpi].concat()).ok(), Part::new(6, 8));
        assert_eq!(of(&pmi).ok(), Part::new(1, 2));
        for without in [
            &[][..],
            &[("SLURM_PROCID", "2")],
            &[("PMI_RANK", "9"), ("PMI_SIZE", "2")],
        ] {
            assert!(of(without).is_err(), "{without:?}");
        }
    }
}
