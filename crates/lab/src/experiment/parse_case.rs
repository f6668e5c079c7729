//! One case of a scenario's text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::traffic::mpi::Stack;
use weft_fabric::Sl;
use weft_fabric::constants::BUFFER_UNIT;
use weft_fabric::export::slurm::SlurmTopology;
use weft_manager::sm::settings::Preemption;
use weft_routing::{AdaptiveAlgorithm, AdaptiveSettings, EngineKind};

use super::fabric::Fabric;
use super::hardware::Hardware;
use super::hardware_numbers::{Number, in_units};
use super::links::{Links, SHOWN};
use super::parse::{ScenarioError, at};
use super::parse_beside::{JOBS_MAX, background, job, own_placement, stack};
use super::parse_fault::{FAULTS_MAX, fault};
use super::parse_levels::{self as levels, Group, LEVEL_MAX};
use super::parse_published::Figure;
use super::parse_sweep::{SWEEPS_MAX, Sweep};
use super::parse_traffic::{pair, traffic};
use super::registry::Registry;
use super::scenario::{Beside, Case, Fault, LidOrder, Manager, Pairs, Placement, Point, Traffic};
use super::size;
use super::values::{Checked, Values, at_most, decimal, number, some_span, span, switch, unknown};

/// Allowed size of a switch port's buffer, bytes: the least that holds the largest packet and VL15's space, and
/// the most with which the buffers of 48 ports empty within 2 ms, the shortest head-of-line lifetime that
/// is not checked packet by packet.
const BUFFER_BYTES: (u64, u64) = (32 << 10, 512 << 10);
/// Most hosts of a case.
pub(super) const HOSTS_MAX: u64 = 1 << 20;
/// Default time limit of a case.
pub(super) const LIMIT: Duration = Duration::from_secs(10);
/// Most links that a case keeps by their number.
const LINKS_MAX: u64 = 1 << 16;
/// Most messages that a case keeps one by one.
const MESSAGES_MAX: u64 = 1 << 20;
/// Settings besides those of the hardware.
const SETTINGS: &str = "experiment, let, plot, config, fabric, buffer, uplinks, gone, lid-order, engine, lmc, lanes, adaptive, \
    hoq-life, switch-lifetime, stall-count, max-dropped-lanes, qos-group, preemption, hosts, slurm-topology, placement, ranks, pairs, traffic, \
    sl, stack, background, job, fault, runs, warm-up, limit, may-not-end, links, intervals, messages, latencies, baseline, published, sweep, case";

/// A case that may lack something.
#[derive(Debug, Clone, Default)]
pub(super) struct Partial {
    pub(super) name: String,
    /// Its first line.
    pub(super) line: usize,
    /// Settings of its own lines so far, with line numbers.
    own: BTreeMap<String, usize>,
    pub(super) fabric: Option<Fabric>,
    buffer: Option<u32>,
    hardware: Hardware,
    /// Of the buffer and the hardware, what lines set.
    set: BTreeSet<String>,
    uplinks: Option<u32>,
    lid_order: LidOrder,
    manager: Manager,
    pub(super) hosts: Option<u32>,
    scattered: bool,
    pub(super) slurm: Option<Arc<SlurmTopology>>,
    /// With its line.
    pub(super) placement: Option<(Placement, usize)>,
    ranks: Option<u32>,
    pub(super) pairs: Option<(Pairs, usize)>,
    /// With its line, as all that is checked at the end.
    pub(super) traffic: Option<(Traffic, usize)>,
    stack: Option<Stack>,
    pub(super) sl: Option<(Sl, usize)>,
    pub(super) background: Option<(Arc<Beside>, usize)>,
    pub(super) jobs: Vec<(Arc<Beside>, usize)>,
    pub(super) faults: Vec<(Arc<Fault>, usize)>,
    groups: Vec<Group>,
    gone: f64,
    runs: Option<u32>,
    warm_up: Option<Duration>,
    pub(super) limit: Option<Duration>,
    may_not_end: bool,
    links: Option<Links>,
    /// With its line.
    pub(super) intervals: Option<(Duration, usize)>,
    pub(super) messages: Option<(u32, usize)>,
    pub(super) latencies: bool,
    pub(super) sweeps: Vec<Arc<Sweep>>,
    /// Swept words: settings and what they are here.
    pub(super) chosen: Vec<(String, String)>,
    pub(super) point: Option<Point>,
    pub(super) baseline: Option<(String, usize)>,
    pub(super) published: Vec<Figure>,
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

    /// The line of its last sweep, else its first line.
    pub(super) fn line(&self) -> usize {
        self.sweeps.last().map_or(self.line, |sweep| sweep.line)
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
    pub(super) fn set(
        &mut self,
        line: usize,
        word: &str,
        rest: &str,
        registry: &Registry,
    ) -> Checked<()> {
        match word {
            "published" => {
                let figure = Figure::read(line, rest, registry)?;
                for name in figure.names() {
                    self.note(line, name)?;
                }
                self.publish(figure);
            }
            "qos-group" => self.add_group(line, levels::group(rest)?)?,
            "job" => self.add_job(line, rest, registry)?,
            "traffic" => {
                let mut words = rest.split_whitespace();
                let kind = words.next().unwrap_or("");
                self.traffic = Some((traffic(kind, words, true, registry)?, line));
                self.note(line, word.to_owned())?;
            }
            "fault" => self.add_fault(line, rest)?,
            "sweep" => self.add_sweep(line, rest)?,
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

    /// A job, in place of the one of the same name that all cases have.
    fn add_job(&mut self, line: usize, text: &str, registry: &Registry) -> Checked<()> {
        let (name, job) = job(text, registry)?;
        self.note(line, format!("job {name}"))?;
        let before = self.jobs.len();
        self.jobs
            .retain(|(other, _)| other.name.as_ref() != Some(&name));
        if job.is_none() && self.jobs.len() == before {
            return Err(format!("no job {name} that could be off"));
        }
        self.jobs.extend(job.map(|job| (Arc::new(job), line)));
        at_most(self.jobs.len(), JOBS_MAX, "jobs")
    }

    /// A fault, after those of its time or before that all cases have.
    fn add_fault(&mut self, line: usize, text: &str) -> Checked<()> {
        let fault = fault(text)?;
        self.note(line, format!("fault {text}"))?;
        let place = self.faults.partition_point(|(one, _)| one.at <= fault.at);
        self.faults.insert(place, (Arc::new(fault), line));
        at_most(self.faults.len(), FAULTS_MAX, "faults")
    }

    /// A sweep; the first one of a case is in place of those that all cases have.
    fn add_sweep(&mut self, line: usize, text: &str) -> Checked<()> {
        let sweep = Sweep::read(line, text)?;
        self.note(line, format!("sweep {}", sweep.word))?;
        let own = self.line;
        self.sweeps.retain(|other| other.line >= own);
        self.sweeps.push(Arc::new(sweep));
        at_most(self.sweeps.len(), SWEEPS_MAX, "sweeps of a case")
    }

    /// Applies the setting of a line.
    pub(super) fn apply(&mut self, line: usize, word: &str, rest: &str) -> Checked<()> {
        match word {
            "buffer" => {
                self.buffer = Some(buffer(rest)?);
                self.set.insert(word.to_owned());
            }
            "uplinks" => self.uplinks = Some(number(rest, 1, 255)? as u32),
            "lid-order" => {
                self.lid_order = match rest {
                    "discovery" => LidOrder::Discovery,
                    "random" => LidOrder::Random,
                    _ => return Err(unknown("order", rest, "discovery, random")),
                };
            }
            "hosts" => {
                let count = rest.strip_suffix("scattered").map(str::trim_end);
                self.scattered = count.is_some();
                self.hosts = Some(number(count.unwrap_or(rest), 1, HOSTS_MAX)? as u32);
            }
            "placement" => {
                self.placement = own_placement(rest)?.map(|placement| (placement, line));
            }
            "ranks" => self.ranks = Some(number(rest, 1, 1_024)? as u32),
            "pairs" => self.pairs = Some((pairs(rest)?, line)),
            "stack" => self.stack = Some(stack(rest)?),
            "sl" => self.sl = Some((Sl(number(rest, 0, LEVEL_MAX)? as u8), line)),
            "background" => {
                self.background = background(rest)?.map(|what| (Arc::new(what), line));
            }
            "gone" => {
                let percent = rest.strip_suffix('%').unwrap_or(rest);
                self.gone = decimal(percent, 100.0)?;
            }
            "runs" => self.runs = Some(number(rest, 1, 10_000)? as u32),
            "may-not-end" => self.may_not_end = switch(rest)?,
            "warm-up" => self.warm_up = Some(span(rest)?),
            "limit" => self.limit = Some(some_span(rest)?),
            "baseline" => self.baseline = Some((rest.to_owned(), line)),
            "links" => self.links = Some(links(rest)?),
            "intervals" => {
                let interval = (rest != "off").then(|| some_span(rest)).transpose()?;
                self.intervals = interval.map(|interval| (interval, line));
            }
            "messages" => {
                let most = match rest {
                    "off" => 0,
                    count => number(count, 1, MESSAGES_MAX)? as u32,
                };
                self.messages = (most > 0).then_some((most, line));
            }
            "latencies" => self.latencies = switch(rest)?,
            _ if self.hardware.apply(word, rest)? => {
                self.set.insert(word.to_owned());
            }
            _ => self.set_manager(word, rest)?,
        }
        Ok(())
    }

    /// A figure, in place of those of the same metric that all cases have.
    fn publish(&mut self, figure: Figure) {
        let (own, metric) = (self.line, &figure.published.metric);
        let stays = |other: &Figure| other.line >= own || other.published.metric != *metric;
        self.published.retain(stays);
        self.published.push(figure);
    }

    /// All settings of an opafm.xml, in place of earlier ones.
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
                    "lanes has no effect with qos-group, which has its own lanes".to_owned(),
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
            "max-dropped-lanes" => manager.max_dropped_lanes = Some(number(rest, 0, 3)? as u8),
            "preemption" => {
                let base = manager.base.as_ref();
                let default = base.map_or_else(Preemption::default, |base| base.traffic.preemption);
                manager.preemption = levels::preemption(rest, default)?;
            }
            _ => {
                let hardware = Hardware::KINDS.into_iter().chain(Number::words());
                let hardware: Vec<&str> = hardware.collect();
                let allowed = format!("{SETTINGS}, {}", hardware.join(", "));
                return Err(unknown("setting", word, &allowed));
            }
        }
        Ok(())
    }

    /// Settings of the manager, service levels included.
    pub(super) fn manager(&self) -> Manager {
        let mut manager = self.manager.clone();
        if !self.groups.is_empty() {
            manager.levels = levels::levels(&self.groups);
        }
        manager
    }

    /// The required settings of a case; the traffic with its line.
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

    /// The case; an error about its size refers to its sweep, else to its traffic.
    pub(super) fn finish(self) -> Result<Case, ScenarioError> {
        let (fabric, (traffic, line)) = at(self.line, self.essentials())?;
        let line = self.sweeps.last().map_or(line, |sweep| sweep.line);
        let beside = self.beside().map(|(one, _)| one.clone()).collect();
        let case = Case {
            manager: self.manager(),
            fabric,
            traffic,
            name: self.name,
            buffer: self.buffer,
            hardware: self.hardware,
            set: self.set,
            uplinks: self.uplinks,
            lid_order: self.lid_order,
            hosts: self.hosts,
            scattered: self.scattered,
            slurm: self.slurm,
            placement: self.placement.map(|(placement, _)| placement),
            ranks: self.ranks.unwrap_or(1),
            pairs: self.pairs.map_or(Pairs::Halves, |(pairs, _)| pairs),
            stack: self.stack.unwrap_or(Stack::PSM2),
            sl: self.sl.map(|(sl, _)| sl),
            faults: self.faults.into_iter().map(|(fault, _)| fault).collect(),
            beside,
            gone: self.gone,
            runs: self.runs.unwrap_or(1),
            warm_up: self.warm_up.unwrap_or(Duration::from_micros(200)),
            limit: self.limit.unwrap_or(LIMIT),
            may_not_end: self.may_not_end,
            point: self.point,
            assumed: None,
            links: self.links.unwrap_or(Links::Off),
            intervals: self.intervals.map(|(interval, _)| interval),
            messages: self.messages.map_or(0, |(most, _)| most),
            latencies: self.latencies,
            baseline: self.baseline.map(|(name, _)| name),
            published: (self.published.into_iter())
                .map(|figure| figure.published)
                .collect(),
        };
        at(line, size::check(&case))?;
        Ok(case)
    }
}

fn links(text: &str) -> Checked<Links> {
    match text {
        "on" => Ok(Links::Busiest(SHOWN)),
        "off" => Ok(Links::Off),
        "all" => Ok(Links::All),
        count => number(count, 1, LINKS_MAX)
            .map(|count| Links::Busiest(count as usize))
            .map_err(|what| format!("{what}, nor on, off or all")),
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

/// Bytes in whole units of buffer space.
pub(super) fn buffer(text: &str) -> Checked<u32> {
    let (least, most) = BUFFER_BYTES;
    let bytes = number(text, least, most)?;
    in_units(bytes, text, BUFFER_UNIT).map(|bytes| bytes as u32)
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
