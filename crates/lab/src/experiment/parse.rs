//! The text form of a scenario.
//!
//! One setting per line, a word and its value; `#` begins a comment. Lines before the
//! first `case` apply to all cases, lines after a `case` to that one. `let` gives a value a name for all lines below.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use weft_dataplane::traffic::mpi::RankSchedule;
use weft_fabric::FabricSpec;
use weft_fabric::export::slurm::{Plugin, SlurmTopology, read_conf, read_yaml};
use weft_manager::ManagerSettings;

use super::fabric::Fabric;
use super::parse_case::Partial;
use super::parse_check;
use super::parse_sweep::swept;
use super::parse_variables::Variables;
use super::registry::Registry;
use super::scenario::{LATENCIES, Manager, Metrics, Plot, Scenario, Traffic};
use super::traffic_file;
use super::values::{Checked, at_most};

/// Maximum number of cases of a scenario, including each value of their sweeps.
pub const CASES_MAX: usize = 1_000;
/// Most published figures of all cases, each value of their sweeps counted: a case has its own copy.
const FIGURES_MAX: usize = 1 << 18;
/// Most bytes of a scenario's text.
pub const TEXT_MAX: usize = 1 << 20;
/// Size limit of one of its lines, bytes: a case has its own copy of its lines.
pub const LINE_MAX: usize = 16 << 10;

/// Why a text is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ScenarioError {
    /// The line, counted from 1; the last one for something missing in a scenario without cases.
    pub line: usize,
    /// The error and the allowed values.
    pub what: String,
}

/// Adds the line to an error.
pub(super) fn at<T>(line: usize, checked: Checked<T>) -> Result<T, ScenarioError> {
    checked.map_err(|what| ScenarioError { line, what })
}

impl FromStr for Scenario {
    type Err = ScenarioError;

    /// Reads a text that names no other files; see [`Scenario::read`].
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        Self::read(text, |file| {
            Err(format!("{file:?} cannot be read from here"))
        })
    }
}

impl Scenario {
    /// The scenario of a text; `open` returns the content of a file that it names, or an error.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first line that is wrong.
    pub fn read(
        text: &str,
        open: impl FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Self, ScenarioError> {
        Self::read_with(&Registry::default(), text, open)
    }

    /// The same where a text can name what is in this registry.
    ///
    /// # Errors
    /// See [`Self::read`].
    pub fn read_with(
        registry: &Registry,
        text: &str,
        mut open: impl FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Self, ScenarioError> {
        at(1, at_most(text.len(), TEXT_MAX, "bytes in a scenario"))?;
        let mut draft = Draft::new(registry);
        let (mut last, mut bytes) = (1, 0);
        for (index, line) in text.lines().enumerate() {
            last = index + 1;
            at(last, at_most(line.len(), LINE_MAX, "bytes in a line"))?;
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let line = at(last, draft.variables.filled(line))?;
            bytes += line.len();
            at(
                last,
                at_most(bytes, TEXT_MAX, "bytes in a scenario with its variables"),
            )?;
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
            at(last, draft.set(last, word, rest.trim(), &mut open))?;
        }
        draft.finish(last)
    }
}

struct Draft<'a> {
    registry: &'a Registry,
    title: String,
    variables: Variables,
    common: Partial,
    cases: Vec<Partial>,
    plots: Vec<(Plot, usize)>,
    /// Fabrics by the files that they were read from.
    read: BTreeMap<String, Fabric>,
    /// Traffic by the files that it was read from, and how.
    schedules: BTreeMap<String, Arc<Vec<RankSchedule>>>,
}

impl<'a> Draft<'a> {
    fn new(registry: &'a Registry) -> Self {
        Self {
            registry,
            title: String::new(),
            variables: Variables::default(),
            common: Partial::default(),
            cases: Vec::new(),
            plots: Vec::new(),
            read: BTreeMap::new(),
            schedules: BTreeMap::new(),
        }
    }

    fn set(
        &mut self,
        line: usize,
        word: &str,
        rest: &str,
        open: &mut impl FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Checked<()> {
        match word {
            "baseline" if self.has_no_other(rest) => {
                return Err(format!("no case {rest:?} before this one"));
            }
            "experiment" => {
                self.common.note(line, word.to_owned())?;
                self.title = rest.to_owned();
            }
            "let" => self.variables.set(line, rest)?,
            "plot" => self.plots.push((plot(rest, self.registry)?, line)),
            "case" => self.begin(line, rest)?,
            "config" => {
                self.current().note(line, word.to_owned())?;
                self.current().configure(settings(rest, &open(rest)?)?);
            }
            "fabric" => {
                let fabric = self.fabric(rest, open)?;
                self.current().note(line, word.to_owned())?;
                self.current().fabric = Some(fabric);
            }
            "slurm-topology" => {
                let topology = slurm_topology(rest, &open(rest)?)?;
                self.current().note(line, word.to_owned())?;
                self.current().slurm = Some(Arc::new(topology));
            }
            "traffic" if rest.starts_with("file=") => {
                let traffic = self.traffic(rest, open)?;
                self.current().note(line, word.to_owned())?;
                self.current().traffic = Some((traffic, line));
            }
            _ => {
                let registry = self.registry;
                self.current().set(line, word, rest, registry)?;
            }
        }
        Ok(())
    }

    /// Whether no case before the one at hand is called so.
    fn has_no_other(&self, name: &str) -> bool {
        let mut others = self.cases.iter().rev().skip(1);
        others.all(|case| case.name != name)
    }

    /// The current case, else the settings of all cases.
    fn current(&mut self) -> &mut Partial {
        self.cases.last_mut().unwrap_or(&mut self.common)
    }

    fn fabric(
        &mut self,
        text: &str,
        open: &mut impl FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Checked<Fabric> {
        let spec: FabricSpec = text
            .parse()
            .map_err(|error: weft_fabric::SpecError| error.to_string())?;
        let FabricSpec::File(path) = spec else {
            return Ok(Fabric::Described(spec));
        };
        if let Some(fabric) = self.read.get(&path) {
            return Ok(fabric.clone());
        }
        let fabric = Fabric::import(&open(&path)?).map_err(|what| format!("{path}: {what}"))?;
        self.read.insert(path, fabric.clone());
        Ok(fabric)
    }

    fn traffic(
        &mut self,
        text: &str,
        open: &mut impl FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Checked<Traffic> {
        let (file, form) = traffic_file::named(text)?;
        let ranks = match self.schedules.get(text) {
            Some(ranks) => ranks.clone(),
            None => {
                let ranks = Arc::new(traffic_file::read(form, file, open)?);
                self.schedules.insert(text.to_owned(), ranks.clone());
                ranks
            }
        };
        Ok(Traffic::File {
            file: file.to_owned(),
            ranks,
        })
    }

    fn begin(&mut self, line: usize, name: &str) -> Checked<()> {
        if name.is_empty() {
            return Err("a case needs a name".to_owned());
        }
        at_most(self.cases.len() + 1, CASES_MAX, "cases")?;
        if let Some(other) = self.cases.iter().find(|case| case.name == name) {
            return Err(format!("line {} has a case {name:?} already", other.line));
        }
        self.cases.push(self.common.case(line, name));
        Ok(())
    }

    /// The whole scenario; an error about missing cases refers to the `last` line.
    fn finish(self, last: usize) -> Result<Scenario, ScenarioError> {
        let mut cases = self.cases;
        if cases.is_empty() {
            cases.push(self.common.case(last, ""));
        }
        let (mut count, mut figures) = (0, 0);
        for case in &cases {
            count += case.points();
            at(case.line(), at_most(count, CASES_MAX, "cases"))?;
            figures += case.points() * case.published.len();
            let what = "published figures at all points of sweeps";
            at(case.line(), at_most(figures, FIGURES_MAX, what))?;
        }
        cases.iter().try_for_each(Partial::check_essentials)?;
        parse_check::together(&cases)?;
        parse_check::plots(&self.plots, &cases)?;
        let mut all = Vec::new();
        for case in &cases {
            let line = case.line();
            let base = case.baseline.as_ref();
            let base = base.and_then(|(name, _)| cases.iter().find(|other| other.name == *name));
            for point in case.spread(base)? {
                point.check_levels()?;
                point.check_beside()?;
                point.check_figures()?;
                all.push((point.finish()?, line));
            }
        }
        parse_check::names(&all)?;
        Ok(Scenario {
            title: self.title,
            cases: all.into_iter().map(|(case, _)| case).collect(),
            plots: self.plots.into_iter().map(|(plot, _)| plot).collect(),
            metrics: Metrics(self.registry.metrics().to_vec()),
        })
    }
}

/// Settings of the first instance of an opafm.xml.
fn settings(file: &str, text: &[u8]) -> Checked<Manager> {
    let checked = weft_config::check(text, file);
    let instance = checked
        .config
        .as_ref()
        .and_then(|config| config.instances.first());
    let Some(instance) = instance else {
        let finding = checked.errors().next().map(ToString::to_string);
        return Err(finding.unwrap_or_else(|| format!("{file} has no Fm")));
    };
    let settings =
        ManagerSettings::from_config(instance).map_err(|error| format!("{file}: {error}"))?;
    Ok(Manager::of(settings.sm, settings.congestion))
}

/// A topology.conf or topology.yaml of Slurm's plugin `topology/tree`.
fn slurm_topology(file: &str, text: &[u8]) -> Checked<SlurmTopology> {
    let told = |what: &dyn ToString| format!("{file}: {}", what.to_string());
    let text = std::str::from_utf8(text).map_err(|_| told(&"no text in UTF-8"))?;
    let read = match file.ends_with(".yaml") {
        true => read_yaml(text),
        false => read_conf(text),
    };
    let topology = read.map_err(|error| told(&error))?;
    // With more tiers Slurm also prefers leaves that are near each other.
    let mut below = topology.above.values().flatten();
    match topology.plugin {
        Plugin::Tree if below.all(|name| topology.leaves.contains_key(name)) => Ok(topology),
        Plugin::Tree => Err(told(
            &"switches above switches that have no nodes, allowed: one tier above the leaf switches, as weft slurm topology --skeleton writes it",
        )),
        Plugin::Block => Err(told(&"blocks, allowed: switches, of topology/tree")),
    }
}

/// METRIC [over WORD] [log] TITLE.
fn plot(text: &str, registry: &Registry) -> Checked<Plot> {
    let mut words = text.split_whitespace().peekable();
    let name = words.next().unwrap_or_default();
    let over = words.next_if_eq(&"over").and_then(|_| words.next());
    let logarithmic = words.next_if_eq(&"log").is_some();
    let title: Vec<&str> = words.collect();
    if title.is_empty() {
        let form = "METRIC [over WORD] [log] TITLE";
        return Err(format!("{text:?} is not of the form {form}"));
    }
    Ok(Plot {
        metric: match name {
            LATENCIES if over.is_some() => {
                return Err("times of messages have an axis of their own, without over".to_owned());
            }
            LATENCIES => name.to_owned(),
            name => registry.metric(name)?,
        },
        over: over.map(swept).transpose()?,
        logarithmic,
        title: title.join(" "),
    })
}
