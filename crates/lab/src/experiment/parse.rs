//! The text form of a scenario.
//!
//! One setting a line, a word and what it is set to; `#` begins a comment. What stands before the
//! first `case` holds for all cases, what stands after a `case` for that one.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;
use weft_dataplane::traffic::mpi::Stack;
use weft_fabric::{FabricSpec, Sl};
use weft_manager::Settings;
use weft_manager::sm::settings::Preemption;
use weft_routing::{AdaptiveAlgorithm, AdaptiveSettings, EngineKind};

use super::parse_levels::{self as levels, Group, LEVEL_MAX};
use super::parse_traffic::{BYTES_MAX, background, goes_beside, pair, traffic, with_bytes};
use super::scenario::{
    Background, Case, Manager, Pairs, Plot, Point, Published, Scenario, Traffic,
};
use super::values::{Checked, Values, decimal, number, span, switch, unknown};

/// Most cases of a scenario.
pub const CASES_MAX: usize = 1_000;

/// Why a text is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ScenarioError {
    /// The line, counted from 1; the last one for what is missing.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub what: String,
}

const SETTINGS: &str = "experiment, plot, config, fabric, uplinks, gone, engine, lmc, lanes, adaptive, \
    hoq-life, switch-lifetime, stall-count, qos-group, preemption, hosts, ranks, pairs, traffic, \
    sl, stack, background, runs, warm-up, limit, may-not-end, links, baseline, published, sweep, case";
/// What can be swept beside `bytes`.
const SWEPT: [&str; 8] = [
    "hoq-life",
    "switch-lifetime",
    "stall-count",
    "uplinks",
    "gone",
    "lmc",
    "lanes",
    "ranks",
];

impl FromStr for Scenario {
    type Err = ScenarioError;

    /// As [`Scenario::read`], of a text that names no other files.
    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        Self::read(text, |file| {
            Err(format!("{file:?} cannot be read from here"))
        })
    }
}

impl Scenario {
    /// The scenario of a text; `open` gives the content of a file that it names, or why not.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first line that is wrong.
    pub fn read(
        text: &str,
        mut open: impl FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        let mut draft = Draft::default();
        let mut last = 1;
        for (index, line) in text.lines().enumerate() {
            last = index + 1;
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let set = draft.set(last, word, rest.trim(), &mut open);
            set.map_err(|what| ScenarioError { line: last, what })?;
        }
        draft.finish(last)
    }
}

/// A case that may lack something.
#[derive(Debug, Clone, Default)]
struct Partial {
    name: String,
    fabric: Option<FabricSpec>,
    uplinks: Option<u32>,
    manager: Manager,
    hosts: Option<u32>,
    scattered: bool,
    ranks: Option<u32>,
    pairs: Option<Pairs>,
    traffic: Option<Traffic>,
    opx: bool,
    /// The line at hand, which is kept with what uses a service level.
    line: usize,
    sl: Option<(Sl, usize)>,
    background: Option<(Background, usize)>,
    groups: Vec<Group>,
    gone: f64,
    runs: Option<u32>,
    warm_up: Option<Duration>,
    limit: Option<Duration>,
    may_not_end: bool,
    links: bool,
    /// What is swept, and its values as they stand there.
    sweep: Option<(String, Vec<String>)>,
    point: Option<Point>,
    baseline: Option<String>,
    published: Vec<Published>,
}

#[derive(Debug, Default)]
struct Draft {
    title: String,
    common: Partial,
    cases: Vec<Partial>,
    plots: Vec<Plot>,
}

impl Draft {
    fn set(
        &mut self,
        line: usize,
        word: &str,
        rest: &str,
        open: &mut impl FnMut(&str) -> Result<String, String>,
    ) -> Checked<()> {
        match word {
            "baseline"
                if self
                    .cases
                    .iter()
                    .rev()
                    .skip(1)
                    .all(|case| case.name != rest) =>
            {
                return Err(format!("no case {rest:?} before this one"));
            }
            "experiment" => self.title = rest.to_owned(),
            "plot" => self.plots.push(plot(rest)?),
            "case" => self.begin(rest)?,
            _ => {
                let current = self.cases.last_mut().unwrap_or(&mut self.common);
                current.line = line;
                match word {
                    "config" => current.configure(settings(rest, &open(rest)?)?),
                    _ => current.set(word, rest)?,
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: &str) -> Checked<()> {
        if name.is_empty() {
            return Err("a case needs a name".to_owned());
        }
        if self.cases.len() == CASES_MAX {
            return Err(format!("more than {CASES_MAX} cases"));
        }
        self.cases.push(Partial {
            name: name.to_owned(),
            ..self.common.clone()
        });
        Ok(())
    }

    /// The whole; what is missing is said of the `last` line.
    fn finish(self, last: usize) -> Result<Scenario, ScenarioError> {
        let at_end = |what| ScenarioError { line: last, what };
        let mut cases = self.cases;
        if cases.is_empty() {
            cases.push(self.common);
        }
        let mut points = Vec::new();
        for case in cases {
            points.append(&mut case.spread().map_err(at_end)?);
        }
        if points.len() > CASES_MAX {
            return Err(at_end(format!("more than {CASES_MAX} cases")));
        }
        points.iter().try_for_each(Partial::check_levels)?;
        points.iter().try_for_each(Partial::check_background)?;
        let cases = points.into_iter().map(Partial::finish);
        Ok(Scenario {
            title: self.title,
            cases: cases.collect::<Checked<_>>().map_err(at_end)?,
            plots: self.plots,
        })
    }
}

impl Partial {
    fn set(&mut self, word: &str, rest: &str) -> Checked<()> {
        match word {
            "fabric" => {
                let fabric = rest.parse::<FabricSpec>();
                self.fabric = Some(fabric.map_err(|error| error.to_string())?);
            }
            "uplinks" => self.uplinks = Some(number(rest, 1, 255)? as u32),
            "hosts" => {
                let count = rest.strip_suffix("scattered").map(str::trim_end);
                self.scattered = count.is_some();
                self.hosts = Some(number(count.unwrap_or(rest), 1, 1 << 20)? as u32);
            }
            "ranks" => self.ranks = Some(number(rest, 1, 1_024)? as u32),
            "pairs" => self.pairs = Some(pairs(rest)?),
            "traffic" => self.traffic = Some(traffic(rest)?),
            "stack" => self.opx = stack(rest)?,
            "sl" => self.sl = Some((Sl(number(rest, 0, LEVEL_MAX)? as u8), self.line)),
            "background" => self.background = background(rest)?.map(|what| (what, self.line)),
            "gone" => {
                let percent = rest.strip_suffix('%').unwrap_or(rest);
                self.gone = decimal(percent, 100.0)?;
            }
            "runs" => self.runs = Some(number(rest, 1, 10_000)? as u32),
            "may-not-end" => self.may_not_end = switch(rest)?,
            "sweep" => self.sweep = Some(sweep(rest)?),
            "warm-up" => self.warm_up = Some(span(rest)?),
            "limit" => self.limit = Some(span(rest)?),
            "baseline" => self.baseline = Some(rest.to_owned()),
            "links" => self.links = switch(rest)?,
            "published" => self.published.push(published(rest)?),
            _ => self.set_manager(word, rest)?,
        }
        Ok(())
    }

    /// All that an opafm.xml says, in place of what stands before.
    fn configure(&mut self, settings: Settings) {
        self.groups.clear();
        self.manager = Manager::of(settings);
    }

    fn set_manager(&mut self, word: &str, rest: &str) -> Checked<()> {
        let manager = &mut self.manager;
        match word {
            "engine" => {
                let known = EngineKind::NAMED.iter().find(|(name, _)| *name == rest);
                let (_, engine) = known.ok_or_else(|| {
                    let names: Vec<&str> =
                        EngineKind::NAMED.iter().map(|(name, _)| *name).collect();
                    unknown("engine", rest, &names.join(", "))
                })?;
                manager.engine = *engine;
            }
            "lmc" => manager.lmc = number(rest, 0, 7)? as u8,
            "lanes" => {
                manager.lanes = number(rest, 1, 8)? as u8;
                manager.levels.clear();
            }
            "adaptive" => manager.adaptive = adaptive(rest)?,
            "hoq-life" => manager.hoq_life = Some(number(rest, 0, 31)? as u8),
            "switch-lifetime" => manager.switch_lifetime = Some(number(rest, 0, 31)? as u8),
            "stall-count" => manager.stall_count = Some(number(rest, 0, 7)? as u8),
            "qos-group" => levels::add(&mut self.groups, levels::group(rest)?)?,
            "preemption" => {
                let base = manager.base.as_ref();
                let default = base.map_or_else(Preemption::default, |base| base.traffic.preemption);
                manager.preemption = levels::preemption(rest, default)?;
            }
            _ => return Err(unknown("setting", word, SETTINGS)),
        }
        Ok(())
    }

    /// The case at each value of what it sweeps.
    fn spread(mut self) -> Checked<Vec<Self>> {
        let Some((word, values)) = self.sweep.take() else {
            return Ok(vec![self]);
        };
        let point = |text: &String| {
            let mut case = self.clone();
            case.name = format!("{}, {word} {text}", self.name);
            let percent = text.strip_suffix('%').unwrap_or(text);
            let value = match word.as_str() {
                "bytes" => number(text, 0, BYTES_MAX)? as f64,
                _ => decimal(percent, 1e9)?,
            };
            match (word.as_str(), case.traffic.take()) {
                ("bytes", Some(traffic)) => {
                    case.traffic = Some(with_bytes(traffic, value as u64)?);
                }
                (_, traffic) => {
                    case.traffic = traffic;
                    case.set(&word, text)?;
                }
            }
            case.point = Some(Point {
                series: self.name.clone(),
                axis: word.clone(),
                value,
            });
            Ok(case)
        };
        values.iter().map(point).collect()
    }

    /// Whether there are the service levels that it uses.
    fn check_levels(&self) -> Result<(), ScenarioError> {
        let known: Vec<Sl> = self
            .manager()
            .levels()
            .iter()
            .map(|level| level.sl)
            .collect();
        let background = self.background.as_ref();
        let used = background.map(|(background, line)| (background.sl, *line));
        let mut used = self.sl.into_iter().chain(used);
        match used.find(|(sl, _)| !known.contains(sl)) {
            None => Ok(()),
            Some((sl, line)) => {
                let known: Vec<String> = known.iter().map(|sl| sl.0.to_string()).collect();
                let what = unknown("service level", &sl.0.to_string(), &known.join(", "));
                Err(ScenarioError { line, what })
            }
        }
    }

    /// Whether what goes on beside the traffic is of its kind.
    fn check_background(&self) -> Result<(), ScenarioError> {
        let Some((traffic, (background, line))) =
            self.traffic.as_ref().zip(self.background.as_ref())
        else {
            return Ok(());
        };
        goes_beside(traffic, &background.what).map_err(|what| ScenarioError { line: *line, what })
    }

    /// What the manager is told, service levels included.
    fn manager(&self) -> Manager {
        let mut manager = self.manager.clone();
        if !self.groups.is_empty() {
            manager.levels = levels::levels(&self.groups);
        }
        manager
    }

    fn finish(self) -> Checked<Case> {
        let manager = self.manager();
        let name = self.name;
        let missing = |what: &str| format!("case {name:?} has no {what}");
        Ok(Case {
            fabric: self.fabric.ok_or_else(|| missing("fabric"))?,
            traffic: self.traffic.ok_or_else(|| missing("traffic"))?,
            name,
            uplinks: self.uplinks,
            manager,
            hosts: self.hosts,
            scattered: self.scattered,
            ranks: self.ranks.unwrap_or(1),
            pairs: self.pairs.unwrap_or(Pairs::Halves),
            stack: if self.opx { Stack::OPX } else { Stack::PSM2 },
            sl: self.sl.map(|(sl, _)| sl),
            background: self.background.map(|(what, _)| what),
            gone: self.gone,
            runs: self.runs.unwrap_or(1),
            warm_up: self.warm_up.unwrap_or(Duration::from_micros(200)),
            limit: self.limit.unwrap_or(Duration::from_secs(10)),
            may_not_end: self.may_not_end,
            point: self.point,
            links: self.links,
            baseline: self.baseline,
            published: self.published,
        })
    }
}

/// What the first instance of an opafm.xml says.
fn settings(file: &str, text: &str) -> Checked<Settings> {
    let checked = weft_config::check(text, file);
    let instance = checked
        .config
        .as_ref()
        .and_then(|config| config.instances.first());
    let Some(instance) = instance else {
        let finding = checked.errors().next().map(ToString::to_string);
        return Err(finding.unwrap_or_else(|| format!("{file} has no Fm")));
    };
    Settings::from_config(instance).map_err(|error| format!("{file}: {error}"))
}

fn adaptive(text: &str) -> Checked<Option<AdaptiveSettings>> {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("off") => return Ok(None),
        Some("on") => {}
        other => return Err(unknown("value", other.unwrap_or(""), "on, off")),
    }
    let keys = ["algorithm", "frequency", "threshold", "lost-route-only"];
    let values = Values::read(words, &keys)?;
    let default = AdaptiveSettings::default();
    Ok(Some(AdaptiveSettings {
        lost_route_only: values.number("lost-route-only", 0, 0, 1)? == 1,
        algorithm: match values.number("algorithm", 2, 0, 2)? {
            0 => AdaptiveAlgorithm::Random,
            1 => AdaptiveAlgorithm::Greedy,
            _ => AdaptiveAlgorithm::RandomGreedy,
        },
        frequency: values.number("frequency", u64::from(default.frequency), 0, 7)? as u8,
        threshold: values.number("threshold", u64::from(default.threshold), 0, 7)? as u8,
    }))
}

fn pairs(text: &str) -> Checked<Pairs> {
    let mut words = text.split_whitespace();
    match words.next() {
        Some("halves") => Ok(Pairs::Halves),
        Some("shared-uplink") => {
            let count = number(words.next().unwrap_or("2"), 1, 255)?;
            Ok(Pairs::SharedUplink(count as u32))
        }
        Some(first) if first.contains('>') => {
            let all = std::iter::once(first).chain(words);
            Ok(Pairs::List(all.map(pair).collect::<Checked<_>>()?))
        }
        other => Err(unknown(
            "pairs",
            other.unwrap_or(""),
            "halves, shared-uplink COUNT, or FROM>TO …",
        )),
    }
}

fn stack(text: &str) -> Checked<bool> {
    match text {
        "psm2" => Ok(false),
        "opx" => Ok(true),
        _ => Err(unknown("stack", text, "psm2, opx")),
    }
}

/// WORD VALUE VALUE ….
fn sweep(text: &str) -> Checked<(String, Vec<String>)> {
    let mut words = text.split_whitespace().map(str::to_owned);
    let word = words.next().unwrap_or_default();
    if word != "bytes" && !SWEPT.contains(&word.as_str()) {
        let allowed = format!("bytes, {}", SWEPT.join(", "));
        return Err(unknown("thing to sweep", &word, &allowed));
    }
    let values: Vec<String> = words.collect();
    if values.is_empty() {
        return Err(format!("no values to sweep {word} over"));
    }
    Ok((word, values))
}

/// METRIC [over WORD] [log] TITLE.
fn plot(text: &str) -> Checked<Plot> {
    let mut words = text.split_whitespace().peekable();
    let metric = words.next().unwrap_or_default().to_owned();
    let over = words.next_if_eq(&"over").and_then(|_| words.next());
    let logarithmic = words.next_if_eq(&"log").is_some();
    let title: Vec<&str> = words.collect();
    if title.is_empty() {
        let form = "METRIC [over WORD] [log] TITLE";
        return Err(format!("{text:?} is not of the form {form}"));
    }
    Ok(Plot {
        metric,
        over: over.map(str::to_owned),
        logarithmic,
        title: title.join(" "),
    })
}

/// METRIC VALUE PERCENT%.
fn published(text: &str) -> Checked<Published> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [metric, value, within] = words[..] else {
        return Err(format!("{text:?} is not of the form METRIC VALUE PERCENT%"));
    };
    let percent = within.strip_suffix('%');
    let percent = percent.ok_or_else(|| format!("{within:?} is no percentage such as 1%"))?;
    Ok(Published {
        metric: metric.to_owned(),
        value: decimal(value, 1e15)?,
        within: decimal(percent, 1e6)?,
    })
}
