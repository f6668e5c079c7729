//! Checks of a scenario's cases after all of them are read: refuses lines without effect
//! and conflicting settings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Sl;

use super::parse::{ScenarioError, at};
use super::parse_beside::goes_beside;
use super::parse_case::{LIMIT, Partial};
use super::parse_sweep::value;
use super::scenario::{Beside, Case, LATENCIES, Placement, PlacementKind, Plot, Traffic};
use super::values::{Checked, unknown};

impl Partial {
    /// Whether there are the service levels that it uses.
    pub(super) fn check_levels(&self) -> Result<(), ScenarioError> {
        let known: Vec<Sl> = self
            .manager()
            .levels()
            .iter()
            .map(|level| level.sl)
            .collect();
        // Messages have a level, packets by a pattern may have all of them.
        let level =
            |traffic: &Traffic, sl: Option<Sl>| sl.or(traffic.is_messages().then_some(Sl(0)));
        let own = self.traffic.as_ref();
        let own = own.and_then(|(traffic, line)| {
            let (sl, line) = self.sl.map_or((None, *line), |(sl, line)| (Some(sl), line));
            Some((level(traffic, sl)?, line))
        });
        let beside = self.beside();
        let beside = beside.filter_map(|(one, line)| Some((level(&one.traffic, one.sl)?, *line)));
        let mut used = own.into_iter().chain(beside);
        match used.find(|(sl, _)| !known.contains(sl)) {
            None => Ok(()),
            Some((sl, line)) => {
                let known: Vec<String> = known.iter().map(|sl| sl.0.to_string()).collect();
                let what = unknown("service level", &sl.0.to_string(), &known.join(", "));
                Err(ScenarioError { line, what })
            }
        }
    }

    /// Jobs besides the traffic, with their lines.
    pub(super) fn beside(&self) -> impl Iterator<Item = &(Arc<Beside>, usize)> {
        self.background.iter().chain(&self.jobs)
    }

    /// Checks that jobs and faults are compatible with the traffic.
    pub(super) fn check_beside(&self) -> Result<(), ScenarioError> {
        let Some((traffic, _)) = self.traffic.as_ref() else {
            return Ok(());
        };
        for (beside, line) in self.beside() {
            at(*line, goes_beside(traffic, &beside.traffic))?;
            at(*line, self.in_time(traffic, beside.begin))?;
        }
        for (fault, line) in &self.faults {
            at(*line, self.in_time(traffic, fault.at))?;
        }
        self.check_followed(traffic)?;
        self.check_slurm()?;
        match (traffic, self.faults.first()) {
            (Traffic::Bisection { .. } | Traffic::AllPairs { .. }, Some((_, line))) => {
                let what = "nothing happens to the fabric beside this traffic, allowed beside all but \
                            bisection and mpi_nxnlatbw";
                at(*line, Err(what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that intervals and messages can be told of its traffic, and that it can be placed.
    fn check_followed(&self, traffic: &Traffic) -> Result<(), ScenarioError> {
        let rounds = matches!(
            traffic,
            Traffic::Bisection { .. } | Traffic::AllPairs { .. }
        );
        if let Some((_, line)) = self.intervals.filter(|_| rounds) {
            let what =
                "no intervals of this traffic, allowed with all but bisection and mpi_nxnlatbw";
            return at(line, Err(what.to_owned()));
        }
        let packets = matches!(traffic, Traffic::Stream { .. });
        if let Some((_, line)) = self.messages.filter(|_| rounds || packets) {
            let what = "no messages of this traffic, allowed with all but bisection, mpi_nxnlatbw and packets by a \
                        pattern";
            return at(line, Err(what.to_owned()));
        }
        if let Some((_, line)) = self.placement.filter(|_| !traffic.has_placement()) {
            let what = "no placement of this traffic, allowed with all but bisection, mpi_nxnlatbw and packets by a \
                        pattern, or off";
            return at(line, Err(what.to_owned()));
        }
        Ok(())
    }

    /// Whether there is what placements by Slurm's topology need.
    fn check_slurm(&self) -> Result<(), ScenarioError> {
        let is_meant = |one: &Placement| one.kind == PlacementKind::Topology;
        let own = self.placement.iter().filter(|(one, _)| is_meant(one));
        let own = own.map(|(_, line)| *line);
        let beside = self.beside();
        let beside = beside.filter(|(one, _)| one.placement.as_ref().is_some_and(is_meant));
        match own.chain(beside.map(|(_, line)| *line)).next() {
            Some(line) if self.slurm.is_none() => {
                let what = "placement by the topology of Slurm, of which there is none: add slurm-topology FILE";
                at(line, Err(what.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether something can happen while a case runs, as far as that is known before.
    fn in_time(&self, traffic: &Traffic, begin: Duration) -> Checked<()> {
        let end = match traffic {
            Traffic::Stream { span, .. } => *span * 2,
            _ => self.limit.unwrap_or(LIMIT),
        };
        match begin < end {
            true => Ok(()),
            false => Err(format!("{begin:?} is too late: the case ends at {end:?}")),
        }
    }

    /// Names of its jobs.
    pub(super) fn job_names(&self) -> impl Iterator<Item = &str> {
        self.jobs.iter().filter_map(|(job, _)| job.name.as_deref())
    }

    /// Whether each figure of a job, `NAME.METRIC`, names one of its jobs.
    pub(super) fn check_figures(&self) -> Result<(), ScenarioError> {
        let names: Vec<&str> = self.job_names().collect();
        for figure in &self.published {
            let job = figure.published.metric.split_once('.').map(|(job, _)| job);
            if let Some(job) = job.filter(|job| !names.contains(job)) {
                // Of a common figure it is said where the case begins.
                let line = figure.line.max(self.line);
                return at(line, Err(unknown("job", job, &names.join(", "))));
            }
        }
        Ok(())
    }
}

/// Checks references between cases.
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

/// Checks that each line `pairs` has an effect on a case.
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
        let what = "pairs have no effect on this traffic, allowed with osu_bw, osu_bibw, \
                    osu_mbw_mr, biband, iperf, osu_latency, osu_multi_lat, bulk, ib_read_bw";
        at(line, Err(what.to_owned()))
    })
}

/// Whether each plot of a job's metric, `NAME.METRIC`, has a case with that job.
pub(super) fn plots(plots: &[(Plot, usize)], cases: &[Partial]) -> Result<(), ScenarioError> {
    let names: BTreeSet<&str> = cases.iter().flat_map(Partial::job_names).collect();
    for (plot, line) in plots {
        if plot.metric == LATENCIES && !cases.iter().any(|case| case.latencies) {
            let what = "no case has the times of its messages, allowed: latencies on in one";
            return at(*line, Err(what.to_owned()));
        }
        let job = plot.metric.split_once('.').map(|(job, _)| job);
        if let Some(job) = job.filter(|job| !names.contains(job)) {
            let names: Vec<&str> = names.into_iter().collect();
            return at(*line, Err(unknown("job", job, &names.join(", "))));
        }
    }
    Ok(())
}

/// Whether a case, or at least one of those of its sweeps, can be compared with another case.
fn comparable(case: &Partial, base: &Partial) -> Checked<()> {
    let name = &base.name;
    for there in &base.sweeps {
        let Some(here) = case.sweeps.iter().find(|here| here.word == there.word) else {
            let word = &there.word;
            return Err(format!(
                "case {name:?} sweeps {word}: only a case that sweeps {word} can be compared with it"
            ));
        };
        if there.is_choice() {
            if here.values.iter().all(|one| there.values.contains(one)) {
                continue;
            }
            let word = &there.word;
            return Err(format!(
                "case {name:?} does not sweep all these words of {word}, allowed: some of its own"
            ));
        }
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

/// Checks that all cases, including each value of their sweeps, have unique names, and that no two share a curve.
pub(super) fn names(cases: &[(Case, usize)]) -> Result<(), ScenarioError> {
    let mut seen = BTreeSet::new();
    let mut curves = BTreeMap::new();
    for (case, line) in cases {
        if !seen.insert(case.name.as_str()) {
            let what = format!("there are two cases {:?}", case.name);
            return at(*line, Err(what));
        }
        let Some(point) = &case.point else { continue };
        for word in point.all().map(|one| one.word.as_str()) {
            let curve = point.curve(word);
            let other = curves.entry((word, curve)).or_insert(&point.series);
            if **other != point.series {
                let (own, curve) = (&point.series, point.curve(word));
                let what = format!(
                    "cases {other:?} and {own:?} have one curve {curve:?}, allowed: another name"
                );
                return at(*line, Err(what));
            }
        }
    }
    Ok(())
}
