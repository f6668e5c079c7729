//! Jobs of traffic between hosts, in their text form.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_dataplane::constants::{PSM2_HEADERS, PSM2_PAYLOAD};
use weft_dataplane::fluid::{Demand, Receivers};
use weft_dataplane::packets::Random;
use weft_dataplane::traffic::Pattern;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Guid, PortNum};

use crate::target::{near, suggestion};

/// Most pairs of a pattern; one more is refused.
pub const PAIRS_MAX: usize = 65_536;
/// Payload of a packet in bytes, least and most: 10,240 is the largest MTU.
pub const PAYLOAD: (u32, u32) = (8, 10_240);
/// Longest name of a job, characters.
pub const NAME_MAX: usize = 64;
/// The available patterns.
const PATTERNS: &str = "pairs A:B …, permutation [seed=N], shift [by=N], uniform, \
    hotspot to=HOST [percent=N]";

/// Traffic that runs until it is stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficJob {
    /// Its name; 1 to [`NAME_MAX`] characters.
    pub name: String,
    /// Senders and receivers.
    pub pattern: TrafficPattern,
    /// Limit for each sender, percent of a 100 Gb/s link: above 0, up to 100.
    #[serde(default = "full")]
    pub rate_percent: f64,
    /// Bytes of payload of each packet, within [`PAYLOAD`].
    #[serde(default = "largest")]
    pub payload: u32,
}

fn full() -> f64 {
    100.0
}

fn largest() -> u32 {
    PSM2_PAYLOAD
}

impl TrafficJob {
    /// A job that sends as much as fits, in packets of PSM2's size.
    pub fn new(name: impl Into<String>, pattern: TrafficPattern) -> Self {
        Self {
            name: name.into(),
            pattern,
            rate_percent: full(),
            payload: largest(),
        }
    }

    /// Flits of each packet on the link, headers included.
    pub(crate) fn flits(&self) -> u32 {
        (self.payload + PSM2_HEADERS).div_ceil(8)
    }
}

/// Senders and receivers. Written as words: `pairs node1:node5 node2:node6`, `permutation seed=7`,
/// `shift by=3`, `uniform`, `hotspot to=node1 percent=50`. A host is given by its name, without
/// the name of its HFI, or by its HFI's GUID (`0x…`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TrafficPattern {
    /// The first host of each pair to the second.
    Pairs(Vec<(String, String)>),
    /// Each host to one other, each from one other, drawn by the seed.
    Permutation {
        /// The seed.
        seed: u64,
    },
    /// Each host to the host `by` places on, in the fabric's order.
    Shift {
        /// Distance.
        by: u32,
    },
    /// Each host to all others, the same to each.
    Uniform,
    /// A fraction of each host's traffic to one, the rest to all others.
    Hotspot {
        /// The one.
        to: String,
        /// The part, 0 to 100.
        percent: u32,
    },
}

/// Words that are no pattern, or a pattern that the fabric has no hosts for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    /// No pattern is called so.
    #[error("no pattern of traffic is called {0:?}; there are {PATTERNS}")]
    Unknown(String),
    /// A word that does not belong to the pattern.
    #[error("{word:?} is no part of a pattern {pattern:?}; there are {PATTERNS}")]
    Word {
        /// The word.
        word: String,
        /// The pattern.
        pattern: String,
    },
    /// No pair, or too many.
    #[error("{0} pairs, allowed: 1 to {PAIRS_MAX}, each as HOST:HOST")]
    Pairs(usize),
    /// A host sends to itself.
    #[error("{0} would send to itself")]
    Itself(String),
    /// No HFI is called so.
    #[error(
        "no host is called {name:?} in the emulated fabric{}",
        suggestion(near)
    )]
    NoHost {
        /// The name.
        name: String,
        /// Names of hosts that resemble it.
        near: Vec<String>,
    },
    /// A pattern of all hosts needs two.
    #[error("the emulated fabric has {0} hosts; a pattern of all of them needs 2")]
    TooFew(usize),
}

impl FromStr for TrafficPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut words = text.split_whitespace();
        let kind = words.next().unwrap_or("");
        let words = with_hfis(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match kind {
            "pairs" => pairs(&words),
            "permutation" => {
                let [seed] = values(kind, &words, ["seed"])?;
                let seed = number(kind, "seed", seed, 1)?;
                Ok(Self::Permutation { seed })
            }
            "shift" => {
                let [by] = values(kind, &words, ["by"])?;
                let by = number(kind, "by", by, 1)?;
                Ok(Self::Shift { by })
            }
            "uniform" => values(kind, &words, []).map(|[]| Self::Uniform),
            "hotspot" => {
                let [to, percent] = values(kind, &words, ["to", "percent"])?;
                let percent = number(kind, "percent", percent, 50)?;
                match to {
                    Some(to) if percent <= 100 => Ok(Self::Hotspot {
                        to: to.to_owned(),
                        percent,
                    }),
                    Some(_) => Err(misfit(kind, &format!("percent={percent}"))),
                    None => Err(misfit(kind, "")),
                }
            }
            _ => Err(PatternError::Unknown(kind.to_owned())),
        }
    }
}

/// Words, with the HFI of a host behind its name: `node1 hfi1_0` is one.
fn with_hfis<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let is_hfi = |word: &str| {
        let number = word
            .strip_prefix("hfi")
            .and_then(|rest| rest.split_once('_'));
        number.is_some_and(|(number, _)| {
            !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let mut joined: Vec<String> = Vec::new();
    for word in words {
        match joined.last_mut() {
            Some(last) if is_hfi(word) => *last = format!("{last} {word}"),
            _ => joined.push(word.to_owned()),
        }
    }
    joined
}

fn misfit(pattern: &str, word: &str) -> PatternError {
    let (pattern, word) = (pattern.to_owned(), word.to_owned());
    PatternError::Word { word, pattern }
}

fn pairs(words: &[&str]) -> Result<TrafficPattern, PatternError> {
    if words.is_empty() || words.len() > PAIRS_MAX {
        return Err(PatternError::Pairs(words.len()));
    }
    let pair = |word: &&str| match word.split_once(':') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok((from.to_owned(), to.to_owned()))
        }
        _ => Err(misfit("pairs", word)),
    };
    let pairs: Result<_, _> = words.iter().map(pair).collect();
    Ok(TrafficPattern::Pairs(pairs?))
}

/// The values of words `NAME=VALUE`, in the order of `names`.
fn values<'a, const N: usize>(
    pattern: &str,
    words: &[&'a str],
    names: [&str; N],
) -> Result<[Option<&'a str>; N], PatternError> {
    let mut values = [None; N];
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| misfit(pattern, word))?;
        let place = names.iter().position(|known| *known == name);
        let slot = place.and_then(|place| values.get_mut(place));
        match slot {
            Some(slot) if slot.is_none() => *slot = Some(value),
            _ => return Err(misfit(pattern, word)),
        }
    }
    Ok(values)
}

fn number<T: FromStr>(
    pattern: &str,
    name: &str,
    value: Option<&str>,
    usual: T,
) -> Result<T, PatternError> {
    match value {
        None => Ok(usual),
        Some(text) => text
            .parse()
            .map_err(|_| misfit(pattern, &format!("{name}={text}"))),
    }
}

impl TryFrom<String> for TrafficPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<TrafficPattern> for String {
    fn from(pattern: TrafficPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for TrafficPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pairs(pairs) => {
                f.write_str("pairs")?;
                pairs
                    .iter()
                    .try_for_each(|(from, to)| write!(f, " {from}:{to}"))
            }
            Self::Permutation { seed } => write!(f, "permutation seed={seed}"),
            Self::Shift { by } => write!(f, "shift by={by}"),
            Self::Uniform => f.write_str("uniform"),
            Self::Hotspot { to, percent } => write!(f, "hotspot to={to} percent={percent}"),
        }
    }
}

/// Current state of all jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficReport {
    /// The jobs, in the order in which they were started.
    pub jobs: Vec<JobReport>,
    /// Routes that switches have moved by adaptive routing since the first job.
    pub routes_moved: u64,
}

/// Current state of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// The job.
    pub job: TrafficJob,
    /// Hosts that want to send.
    pub senders: u32,
    /// Senders without a usable path.
    pub blocked: u32,
    /// Payload that all of them send, bytes a second.
    pub bytes_per_second: f64,
    /// Payload of the slowest and of the fastest of them, bytes a second.
    pub slowest: f64,
    /// See `slowest`.
    pub fastest: f64,
}

/// Converts a job to the demands of hosts.
pub(crate) fn demands(network: &Network, job: &TrafficJob) -> Result<Vec<Demand>, PatternError> {
    let demand = |(from, to)| Demand {
        from,
        to,
        limit: job.rate_percent / 100.0,
        flits: job.flits(),
    };
    let flows = match &job.pattern {
        TrafficPattern::Pairs(pairs) => named_pairs(network, pairs)?,
        pattern => among_all(network, pattern)?,
    };
    Ok(flows.into_iter().map(demand).collect())
}

type Flows = Vec<(PortIndex, Receivers)>;

fn named_pairs(network: &Network, pairs: &[(String, String)]) -> Result<Flows, PatternError> {
    let names = Names::new(network);
    let flows = pairs.iter().map(|(from, to)| {
        let flow = (names.find(network, from)?, names.find(network, to)?);
        match flow.0 == flow.1 {
            true => Err(PatternError::Itself(from.clone())),
            false => Ok((flow.0, Receivers::One(flow.1))),
        }
    });
    flows.collect()
}

fn among_all(network: &Network, pattern: &TrafficPattern) -> Result<Flows, PatternError> {
    let hosts: Arc<[PortIndex]> = ports(network).collect();
    let count = hosts.len();
    if count < 2 {
        return Err(PatternError::TooFew(count));
    }
    let to = |receivers: Vec<u32>| {
        let flows = hosts.iter().zip(receivers);
        let flows = flows.filter_map(|(from, to)| Some((*from, *hosts.get(to as usize)?)));
        let flows = flows.filter(|(from, to)| from != to);
        flows.map(|(from, to)| (from, Receivers::One(to))).collect()
    };
    let all = |receivers: Receivers| {
        hosts
            .iter()
            .map(|from| (*from, receivers.clone()))
            .collect()
    };
    Ok(match pattern {
        TrafficPattern::Shift { by } => {
            let shifted = |from: usize| ((from as u64 + u64::from(*by)) % count as u64) as u32;
            to((0..count).map(shifted).collect())
        }
        TrafficPattern::Permutation { seed } => {
            let mut random = Random::new(*seed);
            match Pattern::random_permutation(count as u32, &mut random) {
                Pattern::Permutation(receivers) => to(receivers),
                _ => Vec::new(),
            }
        }
        TrafficPattern::Hotspot { to, percent } => all(Receivers::Hotspot {
            hot: Names::new(network).find(network, to)?,
            part: f64::from(*percent) / 100.0,
            hosts: Arc::clone(&hosts),
        }),
        TrafficPattern::Uniform => all(Receivers::Others(Arc::clone(&hosts))),
        TrafficPattern::Pairs(pairs) => return named_pairs(network, pairs),
    })
}

/// The first port of each HFI.
fn ports(network: &Network) -> impl Iterator<Item = PortIndex> {
    let hfis = network.topology().hfis();
    hfis.filter_map(|(id, _)| network.device(id)?.port(PortNum(1)))
}

/// Hosts by name: the first one of each name.
struct Names(BTreeMap<String, PortIndex>);

impl Names {
    fn new(network: &Network) -> Self {
        let mut names = BTreeMap::new();
        for (id, node) in network.topology().hfis() {
            let port = network
                .device(id)
                .and_then(|device| device.port(PortNum(1)));
            let name = node.description.text().to_string();
            let host = name.split(' ').next().unwrap_or("").to_owned();
            if let Some(port) = port {
                names.entry(name).or_insert(port);
                names.entry(host).or_insert(port);
            }
        }
        Self(names)
    }

    fn find(&self, network: &Network, name: &str) -> Result<PortIndex, PatternError> {
        let guid = name
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let by_guid = guid.and_then(|guid| {
            let device = network.device(network.find(Guid(guid))?)?;
            device.port(PortNum(1)).filter(|_| !device.is_switch())
        });
        let found = by_guid.or_else(|| self.0.get(name).copied());
        found.ok_or_else(|| PatternError::NoHost {
            name: name.to_owned(),
            near: near(network.topology(), name, |node| !node.is_switch()),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_words() {
        let cases = [
            ("pairs a:b c:d", Ok("pairs a:b c:d")),
            (
                "pairs node1 hfi1_0:node2 hfi1_0 c:d hfi1_1",
                Ok("pairs node1 hfi1_0:node2 hfi1_0 c:d hfi1_1"),
            ),
            (
                "hotspot to=a hfi1_0 percent=7",
                Ok("hotspot to=a hfi1_0 percent=7"),
            ),
            ("permutation", Ok("permutation seed=1")),
            ("permutation seed=7", Ok("permutation seed=7")),
            ("shift  by=3", Ok("shift by=3")),
            ("uniform", Ok("uniform")),
            ("hotspot to=a", Ok("hotspot to=a percent=50")),
            ("", Err("no pattern of traffic is called \"\"")),
            ("circle", Err("is called \"circle\"; there are pairs")),
            ("pairs", Err("0 pairs, allowed: 1 to 65536")),
            ("pairs a>b", Err("\"a>b\" is no part")),
            ("pairs a:", Err("\"a:\" is no part")),
            ("shift by=-1", Err("\"by=-1\" is no part")),
            ("shift by=1 by=2", Err("\"by=2\" is no part")),
            ("uniform by=2", Err("\"by=2\" is no part")),
            ("hotspot", Err("pattern \"hotspot\"")),
            ("hotspot to=a percent=101", Err("\"percent=101\"")),
        ];
        for (text, wanted) in cases {
            match (text.parse::<TrafficPattern>(), wanted) {
                (Ok(pattern), Ok(wanted)) => {
                    assert_eq!(pattern.to_string(), wanted);
                    assert_eq!(wanted.parse(), Ok(pattern));
                }
                (Err(error), Err(wanted)) => {
                    assert!(error.to_string().contains(wanted), "{text}: {error}");
                }
                (got, wanted) => panic!("{text}: {got:?}, not {wanted:?}"),
            }
        }
    }

    #[test]
    fn jobs_come_as_json() {
        let json = r#"{"name":"e1","pattern":"pairs a:b"}"#;
        let job: TrafficJob = serde_json::from_str(json).unwrap();
        assert_eq!((job.rate_percent, job.payload), (100.0, 8_192));
        assert_eq!(job.flits(), 1_032);
        let wrong = r#"{"name":"e1","pattern":"pairs"}"#;
        let error = serde_json::from_str::<TrafficJob>(wrong).unwrap_err();
        assert!(error.to_string().contains("0 pairs"), "{error}");
    }
}
