//! The text form of a scenario.
//!
//! One setting a line, a word and what it is set to; `#` begins a comment. What stands before the
//! first `case` holds for all cases, what stands after a `case` for that one.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;
use weft_fabric::FabricSpec;
use weft_routing::{AdaptiveAlgorithm, AdaptiveSettings, EngineKind};

use super::scenario::{Case, Manager, Pairs, Published, Scenario, StreamPattern, Traffic};

/// Most cases of a scenario.
pub const CASES_MAX: usize = 1_000;
/// Most bytes of a message or packet in a scenario.
const BYTES_MAX: u64 = 1 << 40;

/// Why a text is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct ScenarioError {
    /// The line, counted from 1; the last one for what is missing.
    pub line: usize,
    /// What is wrong and what is allowed.
    pub what: String,
}

/// Routing engines by their names in opafm.xml.
const ENGINES: [(&str, EngineKind); 8] = [
    ("auto", EngineKind::Automatic),
    ("dmodc", EngineKind::Dmodc),
    ("shortestpath", EngineKind::ShortestPath),
    ("fattree", EngineKind::FatTree),
    ("dgshortestpath", EngineKind::DgShortestPath),
    ("hypercube", EngineKind::Hypercube),
    ("dor", EngineKind::Dor),
    ("layered", EngineKind::Layered),
];
const SETTINGS: &str = "experiment, fabric, uplinks, engine, lmc, lanes, adaptive, hoq-life, \
    switch-lifetime, stall-count, hosts, ranks, pairs, traffic, limit, links, \
    baseline, published, case";
const TRAFFIC: &str = "osu_bw, osu_bibw, osu_mbw_mr, iperf, osu_latency, osu_multi_lat, \
    mpi_nxnlatbw, alltoall, uniform, permutation, shift, hotspot";

impl FromStr for Scenario {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let mut draft = Draft::default();
        let mut last = 1;
        for (index, line) in text.lines().enumerate() {
            last = index + 1;
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let set = draft.set(word, rest.trim());
            set.map_err(|what| ScenarioError { line: last, what })?;
        }
        draft
            .finish()
            .map_err(|what| ScenarioError { line: last, what })
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
    limit: Option<Duration>,
    links: bool,
    baseline: Option<String>,
    published: Vec<Published>,
}

#[derive(Debug, Default)]
struct Draft {
    title: String,
    common: Partial,
    cases: Vec<Partial>,
}

type Checked<T> = Result<T, String>;

impl Draft {
    fn set(&mut self, word: &str, rest: &str) -> Checked<()> {
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
            "case" => self.begin(rest)?,
            _ => {
                let current = self.cases.last_mut().unwrap_or(&mut self.common);
                current.set(word, rest)?;
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

    fn finish(self) -> Checked<Scenario> {
        let mut cases = self.cases;
        if cases.is_empty() {
            cases.push(self.common);
        }
        let cases = cases.into_iter().map(Partial::finish);
        Ok(Scenario {
            title: self.title,
            cases: cases.collect::<Checked<_>>()?,
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
            "limit" => self.limit = Some(span(rest)?),
            "baseline" => self.baseline = Some(rest.to_owned()),
            "links" => self.links = switch(rest)?,
            "published" => self.published.push(published(rest)?),
            _ => self.set_manager(word, rest)?,
        }
        Ok(())
    }

    fn set_manager(&mut self, word: &str, rest: &str) -> Checked<()> {
        let manager = &mut self.manager;
        match word {
            "engine" => {
                let known = ENGINES.iter().find(|(name, _)| *name == rest);
                let (_, engine) = known.ok_or_else(|| {
                    let names: Vec<&str> = ENGINES.iter().map(|(name, _)| *name).collect();
                    unknown("engine", rest, &names.join(", "))
                })?;
                manager.engine = *engine;
            }
            "lmc" => manager.lmc = number(rest, 0, 7)? as u8,
            "lanes" => manager.lanes = number(rest, 1, 8)? as u8,
            "adaptive" => manager.adaptive = adaptive(rest)?,
            "hoq-life" => manager.hoq_life = Some(number(rest, 0, 31)? as u8),
            "switch-lifetime" => manager.switch_lifetime = Some(number(rest, 0, 31)? as u8),
            "stall-count" => manager.stall_count = Some(number(rest, 0, 7)? as u8),
            _ => return Err(unknown("setting", word, SETTINGS)),
        }
        Ok(())
    }

    fn finish(self) -> Checked<Case> {
        let name = self.name;
        let missing = |what: &str| format!("case {name:?} has no {what}");
        Ok(Case {
            fabric: self.fabric.ok_or_else(|| missing("fabric"))?,
            traffic: self.traffic.ok_or_else(|| missing("traffic"))?,
            name,
            uplinks: self.uplinks,
            manager: self.manager,
            hosts: self.hosts,
            scattered: self.scattered,
            ranks: self.ranks.unwrap_or(1),
            pairs: self.pairs.unwrap_or(Pairs::Halves),
            limit: self.limit.unwrap_or(Duration::from_secs(10)),
            links: self.links,
            baseline: self.baseline,
            published: self.published,
        })
    }
}

fn unknown(what: &str, text: &str, allowed: &str) -> String {
    format!("unknown {what} {text:?}, allowed: {allowed}")
}

fn number(text: &str, least: u64, most: u64) -> Checked<u64> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let value = digits.parse::<u64>().ok();
    let value = value.and_then(|value| value.checked_mul(factor));
    value
        .filter(|value| (least..=most).contains(value))
        .ok_or_else(|| format!("{text:?} is no whole number from {least} to {most}"))
}

fn decimal(text: &str, most: f64) -> Checked<f64> {
    let value = text.parse::<f64>().ok();
    value
        .filter(|value| (0.0..=most).contains(value))
        .ok_or_else(|| format!("{text:?} is no number from 0 to {most}"))
}

/// Longest span, seconds.
const SPAN_MAX: f64 = 3_600.0;

fn span(text: &str) -> Checked<Duration> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit)?;
        Some((digits.trim(), *factor))
    });
    let (digits, factor) =
        unit.ok_or_else(|| format!("{text:?} is no span of time such as 5ms, units: us, ms, s"))?;
    let seconds = decimal(digits, SPAN_MAX / factor)? * factor;
    Ok(Duration::from_secs_f64(seconds))
}

fn switch(text: &str) -> Checked<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(unknown("value", text, "on, off")),
    }
}

/// Words of the form key=value.
struct Values<'a> {
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Values<'a> {
    fn read(words: impl Iterator<Item = &'a str>, allowed: &[&str]) -> Checked<Self> {
        let pair = |word: &'a str| {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{word:?} is not of the form key=value"))?;
            if allowed.contains(&key) {
                Ok((key, value))
            } else {
                Err(unknown("key", key, &allowed.join(", ")))
            }
        };
        let pairs = words.map(pair).collect::<Checked<_>>()?;
        Ok(Self { pairs })
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        let found = self.pairs.iter().rev().find(|(name, _)| *name == key);
        found.map(|(_, value)| *value)
    }

    fn number(&self, key: &str, default: u64, least: u64, most: u64) -> Checked<u64> {
        let value = self.get(key);
        let value = value.map_or(Ok(default), |text| number(text, least, most));
        value.map_err(|what| format!("{key}: {what}"))
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

fn pair(text: &str) -> Checked<(u32, u32)> {
    let (from, to) = text
        .split_once('>')
        .ok_or_else(|| format!("{text:?} is not of the form FROM>TO"))?;
    Ok((
        number(from, 0, 1 << 20)? as u32,
        number(to, 0, 1 << 20)? as u32,
    ))
}

fn traffic(text: &str) -> Checked<Traffic> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or("");
    match kind {
        "osu_bw" | "osu_bibw" | "osu_mbw_mr" | "iperf" => bandwidth(kind, words),
        "osu_latency" | "osu_multi_lat" | "mpi_nxnlatbw" => latency(kind, words),
        "alltoall" => {
            let values = Values::read(words, &["bytes"])?;
            let bytes = values.number("bytes", 256 << 10, 0, BYTES_MAX)?;
            Ok(Traffic::AllToAll { bytes })
        }
        _ => stream(kind, words),
    }
}

fn bandwidth<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "window", "skip", "iterations"])?;
    Ok(Traffic::Bandwidth {
        bytes: values.number("bytes", 4 << 20, 1, BYTES_MAX)?,
        window: values.number("window", 64, 1, 1 << 16)? as u32,
        skip: values.number("skip", 2, 0, 1 << 20)? as u32,
        iterations: values.number("iterations", 20, 1, 1 << 20)? as u32,
        both_ways: kind == "osu_bibw",
        ip: kind == "iperf",
    })
}

fn latency<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "iterations", "sessions"])?;
    let bytes = values.number("bytes", 8, 0, BYTES_MAX)?;
    let iterations = values.number("iterations", 100, 1, 1 << 20)? as u32;
    if kind == "mpi_nxnlatbw" {
        let sessions = values.number("sessions", 0, 0, 1 << 20)? as u32;
        return Ok(Traffic::AllPairs {
            bytes,
            iterations,
            sessions,
        });
    }
    Ok(Traffic::Latency { bytes, iterations })
}

fn stream<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "load", "span", "by", "percent"])?;
    let pattern = match kind {
        "uniform" => StreamPattern::Uniform,
        "permutation" => StreamPattern::Permutation,
        "shift" => StreamPattern::Shift(values.number("by", 1, 1, 1 << 20)? as u32),
        "hotspot" => StreamPattern::Hotspot(values.number("percent", 50, 0, 100)? as u32),
        _ => return Err(unknown("traffic", kind, TRAFFIC)),
    };
    Ok(Traffic::Stream {
        pattern,
        bytes: values.number("bytes", 8_256, 8, 10_368)? as u32,
        load: values
            .get("load")
            .map(|load| decimal(load, 1.0))
            .transpose()?,
        span: span(values.get("span").unwrap_or("1ms"))?,
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
