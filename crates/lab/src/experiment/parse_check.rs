//! What can be said of a scenario's cases when all of them are read: lines without effect are refused.

use std::collections::BTreeSet;

use super::parse::{ScenarioError, at};
use super::parse_case::Partial;
use super::parse_sweep::value;
use super::scenario::Case;
use super::values::Checked;

/// Checks what cases, as they stand there, say about each other.
pub(super) fn together(cases: &[Partial]) -> Result<(), ScenarioError> {
    pairs(cases)?;
    for case in cases {
        let Some((name, line)) = &case.baseline else {
            continue;
        };
        let base = cases.iter().find(|other| other.name == *name);
        at(*line, base.map_or(Ok(()), |base| comparable(case, base)))?;
    }
    Ok(())
}

/// Whether each line `pairs` says something to a case.
fn pairs(cases: &[Partial]) -> Result<(), ScenarioError> {
    let line = |case: &&Partial| case.pairs.as_ref().map(|(_, line)| *line);
    let uses = |case: &&Partial| (case.traffic.iter()).any(|(traffic, _)| traffic.has_pairs());
    let used: BTreeSet<usize> = cases
        .iter()
        .filter(uses)
        .filter_map(|case| line(&case))
        .collect();
    let mut lines = cases.iter().filter_map(|case| line(&case));
    let unused = lines.find(|line| !used.contains(line));
    unused.map_or(Ok(()), |line| {
        let what = "pairs say nothing to this traffic, allowed beside osu_bw, osu_bibw, \
                    osu_mbw_mr, biband, iperf, osu_latency, osu_multi_lat";
        at(line, Err(what.to_owned()))
    })
}

/// Whether a case, or at least one point of its curve, can be compared with another case.
fn comparable(case: &Partial, base: &Partial) -> Checked<()> {
    let name = &base.name;
    if let Some(there) = &base.sweep {
        let Some(here) = case.sweep.as_ref().filter(|here| here.word == there.word) else {
            let word = &there.word;
            return Err(format!(
                "case {name:?} sweeps {word}: only a case that sweeps {word} can be compared with it"
            ));
        };
        let values = |words: &[String]| -> Checked<Vec<f64>> {
            words.iter().map(|text| value(&here.word, text)).collect()
        };
        let there = values(&there.values)?;
        if !values(&here.values)?.iter().any(|one| there.contains(one)) {
            return Err(format!("case {name:?} sweeps none of the same values"));
        }
    }
    let compared = |case: &Partial| {
        let traffic = case.traffic.as_ref();
        traffic.map(|(traffic, _)| traffic.compared())
    };
    match compared(case) {
        Some(here) if compared(base) != Some(here) => {
            Err(format!("case {name:?} has no {here} to compare with"))
        }
        _ => Ok(()),
    }
}

/// Whether all cases, each value of what they sweep counted, have names of their own.
pub(super) fn names(cases: &[(Case, usize)]) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    for (case, line) in cases {
        if !seen.insert(case.name.as_str()) {
            let what = format!("there are two cases {:?}", case.name);
            return at(*line, Err(what));
        }
    }
    Ok(())
}
