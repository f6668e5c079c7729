//! The lines `job` and `background` of a scenario.

use std::time::Duration;

use weft_dataplane::traffic::mpi::{Load, Stack};
use weft_fabric::Sl;

use super::parse_levels::LEVEL_MAX;
use super::parse_traffic::{copy_rate, pair, pattern, pattern_keys, stream, traffic};
use super::registry::Registry;
use super::scenario::{Beside, Pairs, Placement, PlacementKind, Traffic};
use super::values::{Checked, Values, number, span, unknown};

/// Maximum number of jobs besides a case's own traffic.
pub(super) const JOBS_MAX: usize = 16;
/// Settings of a job besides its traffic's own.
const JOB: [&str; 7] = [
    "ranks",
    "placement",
    "hosts",
    "pairs",
    "stack",
    "sl",
    "begin",
];
const BACKGROUND: &str = "off, bulk, rdma-read, uniform, permutation, shift, hotspot";

/// NAME KIND key=value …; none where it is off.
pub(super) fn job(text: &str, registry: &Registry) -> Checked<(String, Option<Beside>)> {
    let mut words = text.split_whitespace();
    let name = job_name(words.next().unwrap_or(""))?;
    let kind = words.next().unwrap_or("");
    if kind == "off" {
        return alone(words).map(|()| (name, None));
    }
    let of_job = |word: &&str| {
        let key = word.split_once('=').map(|(key, _)| key);
        key.is_some_and(|key| JOB.contains(&key))
    };
    let (about, own): (Vec<&str>, Vec<&str>) = words.partition(of_job);
    let traffic = traffic(kind, own.iter().copied(), false, registry)
        .map_err(|what| format!("{what}; beside these, of any job: {}", JOB.join(", ")))?;
    let about = Values::read(about.into_iter(), about_job(&traffic))?;
    let beside = Beside {
        name: Some(name.clone()),
        ranks: about.number("ranks", 1, 1, 1_024)? as u32,
        placement: placement(&about)?,
        pairs: pairs(&about)?,
        stack: stack(about.get("stack").unwrap_or("psm2"))?,
        sl: about.get("sl").map(level).transpose()?,
        begin: about.get("begin").map_or(Ok(Duration::ZERO), span)?,
        traffic,
    };
    Ok((name, Some(beside)))
}

/// Settings that apply to some traffic.
fn about_job(traffic: &Traffic) -> &'static [&'static str] {
    match traffic {
        Traffic::Stream { .. } => &["sl", "begin"],
        _ if traffic.has_pairs() && traffic.is_mpi() => &JOB,
        _ if traffic.has_pairs() => &["ranks", "placement", "hosts", "pairs", "sl", "begin"],
        _ => &["ranks", "placement", "hosts", "stack", "sl", "begin"],
    }
}

/// `placement=KIND`, with `hosts=N` for some only.
fn placement(values: &Values<'_>) -> Checked<Option<Placement>> {
    match (values.get("placement"), values.get("hosts")) {
        (Some(kind), _) => placed(kind, values, KINDS).map(Some),
        (None, Some(hosts)) => Err(format!(
            "hosts={hosts} of which? allowed with placement=block, placement=random, placement=switches, placement=topology"
        )),
        (None, None) => Ok(None),
    }
}

/// KIND, with hosts=N for some only; none where it is off.
pub(super) fn own_placement(text: &str) -> Checked<Option<Placement>> {
    let mut words = text.split_whitespace();
    match words.next().unwrap_or("") {
        "off" => alone(words).map(|()| None),
        kind => {
            let allowed = format!("{KINDS}, off");
            placed(kind, &Values::read(words, &["hosts"])?, &allowed).map(Some)
        }
    }
}

/// Kinds of placements.
const KINDS: &str = "block, random, switches, topology";

fn placed(kind: &str, values: &Values<'_>, allowed: &str) -> Checked<Placement> {
    let hosts = values.get("hosts");
    let hosts = hosts.map(|_| values.number("hosts", 2, 2, 1 << 20));
    Ok(Placement {
        kind: match kind {
            "block" => PlacementKind::Block,
            "random" => PlacementKind::Random,
            "switches" => PlacementKind::Switches,
            "topology" => PlacementKind::Topology,
            _ => return Err(unknown("placement", kind, allowed)),
        },
        hosts: hosts.transpose()?.map(|hosts| hosts as u32),
    })
}

/// That nothing follows.
fn alone<'a>(mut words: impl Iterator<Item = &'a str>) -> Checked<()> {
    words.next().map_or(Ok(()), |word| {
        Err(format!("{word:?} has no effect after off"))
    })
}

/// Small letters, digits and hyphens, so that NAME.METRIC is one word.
fn job_name(text: &str) -> Checked<String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    match !text.is_empty() && text.len() <= 32 && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "{text:?} is no name of a job, allowed: 1 to 32 of a to z, 0 to 9 and -"
        )),
    }
}

/// Unmeasured background traffic; `None` if it is off.
pub(super) fn background(text: &str) -> Checked<Option<Beside>> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or("");
    let load = match kind {
        "off" => return alone(words).map(|()| None),
        "bulk" => Some((Load::Bulk, &["sl", "pairs", "rate"][..])),
        "rdma-read" => Some((Load::Read, &["sl", "pairs"][..])),
        _ => None,
    };
    let (traffic, values) = match load {
        Some((load, keys)) => {
            let values = Values::read(words, keys)?;
            let traffic = Traffic::Copies {
                load,
                bytes: load.payload(),
                total: None,
                rate: copy_rate(&values)?,
                both_ways: true,
            };
            (traffic, values)
        }
        None => {
            let own = pattern_keys(kind).ok_or_else(|| unknown("background", kind, BACKGROUND))?;
            let values = Values::read(words, &[&["sl", "bytes", "load"], own].concat())?;
            (stream(pattern(kind, &values)?, &values)?, values)
        }
    };
    Ok(Some(Beside {
        name: None,
        traffic,
        ranks: 1,
        placement: None,
        pairs: pairs(&values)?,
        stack: Stack::PSM2,
        sl: Some(level(values.get("sl").unwrap_or("0"))?),
        begin: Duration::ZERO,
    }))
}

/// `pairs=0>4,1>5`, else halves.
fn pairs(values: &Values<'_>) -> Checked<Pairs> {
    let list = |text: &str| text.split(',').map(pair).collect::<Checked<_>>();
    let listed = values.get("pairs").map(list).transpose()?;
    Ok(listed.map_or(Pairs::Halves, Pairs::List))
}

fn level(text: &str) -> Checked<Sl> {
    Ok(Sl(number(text, 0, LEVEL_MAX)? as u8))
}

/// Software stack of MPI.
pub(super) fn stack(text: &str) -> Checked<Stack> {
    match text {
        "psm2" => Ok(Stack::PSM2),
        "opx" => Ok(Stack::OPX),
        "verbs" => Ok(Stack::VERBS),
        "sockets" => Ok(Stack::IPOIB),
        _ => Err(unknown("stack", text, "psm2, opx, verbs, sockets")),
    }
}

/// Whether a job can run together with the traffic.
pub(super) fn goes_beside(traffic: &Traffic, beside: &Traffic) -> Checked<()> {
    let allowed = match (traffic, beside) {
        // A tournament is a series of runs on one set of devices; a job
        // would have to end with each.
        (Traffic::Bisection { .. } | Traffic::AllPairs { .. }, _) => "nothing",
        (_, Traffic::Bisection { .. } | Traffic::AllPairs { .. }) => {
            "all but bisection and mpi_nxnlatbw"
        }
        (Traffic::Stream { .. }, beside) if !matches!(beside, Traffic::Stream { .. }) => {
            "uniform, permutation, shift, hotspot, tornado, transpose"
        }
        _ => return Ok(()),
    };
    Err(format!(
        "this cannot go beside the traffic, allowed: {allowed}"
    ))
}
