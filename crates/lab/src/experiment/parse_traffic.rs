//! Traffic of ranks or hosts: the line `traffic` of a scenario, and that part of `job`.

use weft_dataplane::constants::ALL_PAIRS_SKIP;
use weft_dataplane::traffic::mpi::{ExchangeOrder, Load};

use super::collectives::Chosen;
use super::registry::Registry;
use super::scenario::{StreamPattern, Traffic};
use super::size::RANKS_MAX;
use super::values::{Checked, Values, decimal, number, rate, some_span, unknown};

/// Most bytes of a message in a scenario.
pub(super) const BYTES_MAX: u64 = 1 << 40;
/// Bytes of the messages of bandwidths, of all other messages, and of packets on the link.
const BANDWIDTH_BYTES: (u64, u64) = (1, BYTES_MAX);
const MESSAGE_BYTES: (u64, u64) = (0, BYTES_MAX);
const PACKET_BYTES: (u64, u64) = (8, 10_368);
const READ_BYTES: (u64, u64) = (1, 1 << 30);
/// Maximum number of unmeasured iterations.
const SKIP_MAX: u64 = 1 << 20;
const TRAFFIC: &str = "osu_bw, osu_bibw, osu_mbw_mr, biband, iperf, osu_latency, osu_multi_lat, \
    mpi_nxnlatbw, alltoall, collective=NAME, bulk, ib_read_bw, uniform, permutation, shift, hotspot, bisection";
/// What stands before the name of a collective.
const COLLECTIVE: &str = "collective=";
/// Bytes of a file that is copied, and reads of ib_read_bw (perftest's default), where nothing is said and
/// there is nothing else whose end could end them.
const FILE_BYTES: u64 = 64 << 20;
const READS: u64 = 1_000;
/// Most of them.
const READS_MAX: u64 = 1 << 30;

/// Traffic of ranks; `ends` if it has to end by itself.
pub(super) fn traffic<'a>(
    kind: &str,
    words: impl Iterator<Item = &'a str>,
    ends: bool,
    registry: &Registry,
) -> Checked<Traffic> {
    if let Some(name) = kind.strip_prefix(COLLECTIVE) {
        return collective(registry.collective(name)?, words);
    }
    match kind {
        "osu_bw" | "osu_bibw" | "osu_mbw_mr" | "biband" | "iperf" => bandwidth(kind, words),
        "osu_latency" | "osu_multi_lat" | "mpi_nxnlatbw" => latency(kind, words),
        "alltoall" => {
            let keys = ["bytes", "skip", "iterations", "order", "overlap"];
            let values = Values::read(words, &keys)?;
            Ok(Traffic::AllToAll {
                bytes: bytes(&values, 256 << 10, MESSAGE_BYTES)?,
                skip: values.number("skip", 0, 0, SKIP_MAX)? as u32,
                iterations: values.number("iterations", 1, 1, 1 << 20)? as u32,
                order: exchange_order(values.get("order").unwrap_or("ring"))?,
                overlap: values.number("overlap", 1, 1, 1 << 10)? as u32,
            })
        }
        "bisection" => {
            let values = Values::read(words, &["matchings"])?;
            let matchings = values.number("matchings", 1_000, 1, 1 << 20)? as u32;
            Ok(Traffic::Bisection { matchings })
        }
        "bulk" => bulk(words, ends),
        "ib_read_bw" => reads(words, ends),
        _ => {
            let own = pattern_keys(kind).ok_or_else(|| unknown("traffic", kind, TRAFFIC))?;
            let span: &[&str] = if ends { &["span"] } else { &[] };
            let keys = [&["bytes", "load"], own, span].concat();
            let values = Values::read(words, &keys)?;
            stream(pattern(kind, &values)?, &values)
        }
    }
}

/// Ranks that call a collective, one time after the other.
fn collective<'a>(of: Chosen, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "root", "iterations"])?;
    Ok(Traffic::Collective {
        of,
        bytes: bytes(&values, 8, MESSAGE_BYTES)?,
        root: values.number("root", 0, 0, RANKS_MAX - 1)? as u32,
        iterations: values.number("iterations", 1, 1, 1 << 20)? as u32,
    })
}

fn exchange_order(text: &str) -> Checked<ExchangeOrder> {
    match text {
        "ring" => Ok(ExchangeOrder::Ring),
        "xor" => Ok(ExchangeOrder::Xor),
        "random" => Ok(ExchangeOrder::Random),
        _ => Err(unknown("order", text, "ring, xor, random")),
    }
}

/// Copies of files, each of a number of bytes.
fn bulk<'a>(words: impl Iterator<Item = &'a str>, ends: bool) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "rate", "both-ways"])?;
    let file = match values.get("bytes") {
        Some(text) => Some(number(text, 1, BYTES_MAX)?),
        None => ends.then_some(FILE_BYTES),
    };
    Ok(Traffic::Copies {
        load: Load::Bulk,
        bytes: Load::Bulk.payload(),
        total: file,
        rate: copy_rate(&values)?,
        both_ways: both_ways(&values)?,
    })
}

/// ib_read_bw.
fn reads<'a>(words: impl Iterator<Item = &'a str>, ends: bool) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "iterations", "both-ways"])?;
    let reads = match values.get("iterations") {
        Some(text) => Some(number(text, 1, READS_MAX)?),
        None => ends.then_some(READS),
    };
    let bytes = bytes(&values, Load::Read.payload(), READ_BYTES)?;
    Ok(Traffic::Copies {
        load: Load::Read,
        bytes,
        total: reads.map(|reads| reads * bytes),
        rate: None,
        both_ways: both_ways(&values)?,
    })
}

/// Rate at which files are read.
pub(super) fn copy_rate(values: &Values<'_>) -> Checked<Option<u64>> {
    let text = values.get("rate");
    let value = text.map(|text| rate(text, 1_000_000)).transpose();
    value.map_err(|what| format!("rate: {what}"))
}

fn both_ways(values: &Values<'_>) -> Checked<bool> {
    Ok(values.number("both-ways", 0, 0, 1)? == 1)
}

fn bandwidth<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "window", "skip", "iterations"])?;
    Ok(Traffic::Bandwidth {
        bytes: bytes(&values, 4 << 20, BANDWIDTH_BYTES)?,
        window: values.number("window", 64, 1, 1 << 16)? as u32,
        skip: values.number("skip", 2, 0, SKIP_MAX)? as u32,
        iterations: values.number("iterations", 20, 1, 1 << 20)? as u32,
        both_ways: matches!(kind, "osu_bibw" | "biband"),
        ip: kind == "iperf",
    })
}

fn latency<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let mut keys = vec!["bytes", "skip", "iterations"];
    if kind == "mpi_nxnlatbw" {
        keys.extend(["sessions", "large"]);
    }
    let values = Values::read(words, &keys)?;
    let bytes = bytes(&values, 8, MESSAGE_BYTES)?;
    let iterations = values.number("iterations", 100, 1, 1 << 20)? as u32;
    if kind == "mpi_nxnlatbw" {
        let sessions = values.number("sessions", 0, 0, 1 << 20)? as u32;
        let (least, most) = BANDWIDTH_BYTES;
        let large = values.get("large").map(|text| number(text, least, most));
        return Ok(Traffic::AllPairs {
            bytes,
            skip: values.number("skip", u64::from(ALL_PAIRS_SKIP), 0, SKIP_MAX)? as u32,
            iterations,
            sessions,
            large: large.transpose()?,
        });
    }
    let skip = values
        .get("skip")
        .map(|_| values.number("skip", 0, 0, SKIP_MAX))
        .transpose()?;
    Ok(Traffic::Latency {
        bytes,
        skip: skip.map(|skip| skip as u32),
        iterations,
    })
}

/// Packets by a pattern.
pub(super) fn stream(pattern: StreamPattern, values: &Values<'_>) -> Checked<Traffic> {
    Ok(Traffic::Stream {
        pattern,
        bytes: packet_bytes(values)?,
        load: load(values)?,
        span: some_span(values.get("span").unwrap_or("1ms"))?,
    })
}

/// Settings of a pattern; `None` for an unknown pattern.
pub(super) fn pattern_keys(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "uniform" | "permutation" => Some(&[]),
        "shift" => Some(&["by"]),
        "hotspot" => Some(&["percent"]),
        "tornado" | "transpose" => Some(&["side"]),
        _ => None,
    }
}

/// A pattern that has [keys](pattern_keys).
pub(super) fn pattern(kind: &str, values: &Values<'_>) -> Checked<StreamPattern> {
    Ok(match kind {
        "permutation" => StreamPattern::Permutation,
        "shift" => StreamPattern::Shift(values.number("by", 1, 1, 1 << 20)? as u32),
        "hotspot" => StreamPattern::Hotspot(values.number("percent", 50, 0, 100)? as u32),
        "tornado" => StreamPattern::Tornado(side(values)?),
        "transpose" => StreamPattern::Transpose(side(values)?),
        _ => StreamPattern::Uniform,
    })
}

/// Switches along each dimension of a grid.
fn side(values: &Values<'_>) -> Checked<u32> {
    Ok(values.number("side", 4, 2, 1 << 10)? as u32)
}

fn packet_bytes(values: &Values<'_>) -> Checked<u32> {
    Ok(bytes(values, 8_256, PACKET_BYTES)? as u32)
}

fn bytes(values: &Values<'_>, default: u64, (least, most): (u64, u64)) -> Checked<u64> {
    values.number("bytes", default, least, most)
}

fn load(values: &Values<'_>) -> Checked<Option<f64>> {
    let load = values.get("load").map(|load| decimal(load, 1.0));
    load.transpose()
}

/// FROM>TO.
pub(super) fn pair(text: &str) -> Checked<(u32, u32)> {
    let (from, to) = text
        .split_once('>')
        .ok_or_else(|| format!("{text:?} is not of the form FROM>TO"))?;
    Ok((
        number(from, 0, 1 << 20)? as u32,
        number(to, 0, 1 << 20)? as u32,
    ))
}

/// The traffic with another size of messages, in the range of its line.
pub(super) fn with_bytes(traffic: &Traffic, text: &str) -> Checked<Traffic> {
    let mut traffic = traffic.clone();
    let size = |(least, most): (u64, u64)| number(text, least, most);
    match &mut traffic {
        Traffic::Bandwidth { bytes, .. } => *bytes = size(BANDWIDTH_BYTES)?,
        Traffic::Latency { bytes, .. }
        | Traffic::AllPairs { bytes, .. }
        | Traffic::AllToAll { bytes, .. }
        | Traffic::Collective { bytes, .. } => *bytes = size(MESSAGE_BYTES)?,
        Traffic::Stream { bytes, .. } => *bytes = size(PACKET_BYTES)? as u32,
        Traffic::Copies {
            load: Load::Read,
            bytes,
            total,
            ..
        } => {
            let reads = total.map(|total| total / *bytes);
            *bytes = size(READ_BYTES)?;
            *total = reads.map(|reads| reads * *bytes);
        }
        Traffic::Copies { total, .. } => *total = Some(size((1, BYTES_MAX))?),
        Traffic::Bisection { .. } => return Err("bisection has no bytes to sweep".to_owned()),
        Traffic::File { .. } => return Err("a file says its own bytes".to_owned()),
    }
    Ok(traffic)
}
