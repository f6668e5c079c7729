//! One case of a scenario's text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::traffic::mpi::Stack;
use weft_fabric::Sl;
use weft_manager::sm::settings::Preemption;
use weft_routing::{AdaptiveAlgorithm, AdaptiveSettings, EngineKind};

use super::fabric::Fabric;
use super::parse::{ScenarioError, at};
use super::parse_levels::{self as levels, Group, LEVEL_MAX};
use super::parse_sweep::Sweep;
use super::parse_traffic::{background, goes_beside, pair, traffic};
use super::scenario::{Background, Case, Manager, Pairs, Point, Published, Traffic};
use super::size;
use super::values::{Checked, Values, decimal, metric, number, some_span, span, switch, unknown};

const SETTINGS: &str = "experiment, plot, config, fabric, uplinks, gone, engine, lmc, lanes, adaptive, \
    hoq-life, switch-lifetime, stall-count, qos-group, preemption, hosts, ranks, pairs, traffic, \
    sl, stack, background, runs, warm-up, limit, may-not-end, links, baseline, published, sweep, case";

/// A case that may lack something.
#[derive(Debug, Clone, Default)]
pub(super) struct Partial {
    pub(super) name: String,
    /// Where it begins.
    pub(super) line: usize,
    /// What its own lines have set so far, and where.
    own: BTreeMap<String, usize>,
    pub(super) fabric: Option<Fabric>,
    uplinks: Option<u32>,
    manager: Manager,
    hosts: Option<u32>,
    scattered: bool,
    ranks: Option<u32>,
    pub(super) pairs: Option<(Pairs, usize)>,
    /// With its line, as all that is checked at the end.
    pub(super) traffic: Option<(Traffic, usize)>,
    opx: bool,
    sl: Option<(Sl, usize)>,
    background: Option<(Background, usize)>,
    groups: Vec<Group>,
    gone: f64,
    runs: Option<u32>,
    warm_up: Option<Duration>,
    limit: Option<Duration>,
    may_not_end: bool,
    links: bool,
    pub(super) sweep: Option<Arc<Sweep>>,
    pub(super) point: Option<Point>,
    pub(super) baseline: Option<(String, usize)>,
    published: Vec<Published>,
}

impl Partial {
    /// A case that begins as this one.
    pub(super) fn case(&self, line: usize, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            line,
            own: BTreeMap::new(),
            ..self.clone()
        }
    }

    /// The line of what it sweeps, else where it begins.
    pub(super) fn line(&self) -> usize {
        self.sweep.as_ref().map_or(self.line, |sweep| sweep.line)
    }

    /// Notes that one of its own lines sets something, which a second one may not set again.
    pub(super) fn note(&mut self, line: usize, what: String) -> Checked<()> {
        match self.own.get(&what) {
            Some(first) => Err(format!("{what} is in line {first} already")),
            None => {
                self.own.insert(what, line);
                Ok(())
            }
        }
    }

    /// A line of its own.
    pub(super) fn set(&mut self, line: usize, word: &str, rest: &str) -> Checked<()> {
        match word {
            "published" => {
                let figure = published(rest)?;
                self.note(line, format!("published {}", figure.metric))?;
                self.publish(figure);
            }
            "qos-group" => self.add_group(line, levels::group(rest)?)?,
            _ => {
                self.apply(line, word, rest)?;
                self.note(line, word.to_owned())?;
            }
        }
        Ok(())
    }

    /// A service level, in place of the one that all cases have.
    fn add_group(&mut self, line: usize, group: Group) -> Checked<()> {
        if let Some(lanes) = self.own.get("lanes") {
            return Err(format!(
                "qos-group and lanes, in line {lanes}, exclude each other"
            ));
        }
        self.note(line, format!("qos-group base-sl={}", group.sl()))?;
        levels::add(&mut self.groups, group)
    }

    /// What a line sets.
    pub(super) fn apply(&mut self, line: usize, word: &str, rest: &str) -> Checked<()> {
        match word {
            "uplinks" => self.uplinks = Some(number(rest, 1, 255)? as u32),
            "hosts" => {
                let count = rest.strip_suffix("scattered").map(str::trim_end);
                self.scattered = count.is_some();
                self.hosts = Some(number(count.unwrap_or(rest), 1, 1 << 20)? as u32);
            }
            "ranks" => self.ranks = Some(number(rest, 1, 1_024)? as u32),
            "pairs" => self.pairs = Some((pairs(rest)?, line)),
            "traffic" => self.traffic = Some((traffic(rest)?, line)),
            "stack" => self.opx = stack(rest)?,
            "sl" => self.sl = Some((Sl(number(rest, 0, LEVEL_MAX)? as u8), line)),
            "background" => self.background = background(rest)?.map(|what| (what, line)),
            "gone" => {
                let percent = rest.strip_suffix('%').unwrap_or(rest);
                self.gone = decimal(percent, 100.0)?;
            }
            "runs" => self.runs = Some(number(rest, 1, 10_000)? as u32),
            "may-not-end" => self.may_not_end = switch(rest)?,
            "sweep" => self.sweep = Some(Arc::new(Sweep::read(line, rest)?)),
            "warm-up" => self.warm_up = Some(span(rest)?),
            "limit" => self.limit = Some(some_span(rest)?),
            "baseline" => self.baseline = Some((rest.to_owned(), line)),
            "links" => self.links = switch(rest)?,
            _ => self.set_manager(word, rest)?,
        }
        Ok(())
    }

    /// A figure, in place of the one of the same metric that all cases have.
    fn publish(&mut self, figure: Published) {
        self.published.retain(|other| other.metric != figure.metric);
        self.published.push(figure);
    }

    /// All that an opafm.xml says, in place of what stands before.
    pub(super) fn configure(&mut self, manager: Manager) {
        self.groups.clear();
        self.manager = manager;
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
            "lanes" if !self.groups.is_empty() => {
                return Err(
                    "lanes says nothing beside qos-group, which has lanes of its own".to_owned(),
                );
            }
            "lanes" => {
                manager.lanes = number(rest, 1, 8)? as u8;
                manager.levels.clear();
            }
            "adaptive" => manager.adaptive = adaptive(rest)?,
            "hoq-life" => manager.hoq_life = Some(number(rest, 0, 31)? as u8),
            "switch-lifetime" => manager.switch_lifetime = Some(number(rest, 0, 31)? as u8),
            "stall-count" => manager.stall_count = Some(number(rest, 0, 7)? as u8),
            "preemption" => {
                let base = manager.base.as_ref();
                let default = base.map_or_else(Preemption::default, |base| base.traffic.preemption);
                manager.preemption = levels::preemption(rest, default)?;
            }
            _ => return Err(unknown("setting", word, SETTINGS)),
        }
        Ok(())
    }

    /// Whether there are the service levels that it uses.
    pub(super) fn check_levels(&self) -> Result<(), ScenarioError> {
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
    pub(super) fn check_background(&self) -> Result<(), ScenarioError> {
        let Some(((traffic, _), (background, line))) =
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

    /// What no case can lack; the traffic with its line.
    fn essentials(&self) -> Checked<(Fabric, (Traffic, usize))> {
        let missing = |what: &str| match self.name.as_str() {
            "" => format!("the scenario has no {what}"),
            name => format!("case {name:?} has no {what}"),
        };
        let fabric = self.fabric.clone().ok_or_else(|| missing("fabric"))?;
        let traffic = self.traffic.clone().ok_or_else(|| missing("traffic"))?;
        Ok((fabric, traffic))
    }

    /// Whether it lacks nothing.
    pub(super) fn check_essentials(&self) -> Result<(), ScenarioError> {
        at(self.line, self.essentials().map(drop))
    }

    /// The case; that it is too large is said of what it sweeps, else of its traffic.
    pub(super) fn finish(self) -> Result<Case, ScenarioError> {
        let (fabric, (traffic, line)) = at(self.line, self.essentials())?;
        let line = self.sweep.as_ref().map_or(line, |sweep| sweep.line);
        let case = Case {
            manager: self.manager(),
            fabric,
            traffic,
            name: self.name,
            uplinks: self.uplinks,
            hosts: self.hosts,
            scattered: self.scattered,
            ranks: self.ranks.unwrap_or(1),
            pairs: self.pairs.map_or(Pairs::Halves, |(pairs, _)| pairs),
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
            baseline: self.baseline.map(|(name, _)| name),
            published: self.published,
        };
        at(line, size::check(&case))?;
        Ok(case)
    }
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

/// METRIC VALUE PERCENT%.
fn published(text: &str) -> Checked<Published> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [name, value, within] = words[..] else {
        return Err(format!("{text:?} is not of the form METRIC VALUE PERCENT%"));
    };
    let percent = within.strip_suffix('%');
    let percent = percent.ok_or_else(|| format!("{within:?} is no percentage such as 1%"))?;
    Ok(Published {
        metric: metric(name)?,
        value: decimal(value, 1e15)?,
        within: decimal(percent, 1e6)?,
    })
}
