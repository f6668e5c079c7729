//! The lines `traffic` and `background` of a scenario.

use weft_dataplane::traffic::mpi::Load;
use weft_fabric::Sl;

use super::parse_levels::LEVEL_MAX;
use super::scenario::{Background, Beside, StreamPattern, Traffic};
use super::values::{Checked, Values, decimal, number, some_span, unknown};

/// Most bytes of a message in a scenario.
pub(super) const BYTES_MAX: u64 = 1 << 40;
/// Bytes of the messages of bandwidths, of all other messages, and of packets on the link.
const BANDWIDTH_BYTES: (u64, u64) = (1, BYTES_MAX);
const MESSAGE_BYTES: (u64, u64) = (0, BYTES_MAX);
const PACKET_BYTES: (u64, u64) = (8, 10_368);
const TRAFFIC: &str = "osu_bw, osu_bibw, osu_mbw_mr, biband, iperf, osu_latency, osu_multi_lat, \
    mpi_nxnlatbw, alltoall, uniform, permutation, shift, hotspot, bisection";
const BACKGROUND: &str = "off, bulk, rdma-read, uniform, permutation, shift, hotspot";

/// What ranks do.
pub(super) fn traffic(text: &str) -> Checked<Traffic> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or("");
    match kind {
        "osu_bw" | "osu_bibw" | "osu_mbw_mr" | "biband" | "iperf" => bandwidth(kind, words),
        "osu_latency" | "osu_multi_lat" | "mpi_nxnlatbw" => latency(kind, words),
        "alltoall" => {
            let values = Values::read(words, &["bytes", "skip", "iterations"])?;
            Ok(Traffic::AllToAll {
                bytes: bytes(&values, 256 << 10, MESSAGE_BYTES)?,
                skip: values.number("skip", 0, 0, 1 << 20)? as u32,
                iterations: values.number("iterations", 1, 1, 1 << 20)? as u32,
            })
        }
        "bisection" => {
            let values = Values::read(words, &["matchings"])?;
            let matchings = values.number("matchings", 1_000, 1, 1 << 20)? as u32;
            Ok(Traffic::Bisection { matchings })
        }
        _ => stream(kind, words),
    }
}

fn bandwidth<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "window", "skip", "iterations"])?;
    Ok(Traffic::Bandwidth {
        bytes: bytes(&values, 4 << 20, BANDWIDTH_BYTES)?,
        window: values.number("window", 64, 1, 1 << 16)? as u32,
        skip: values.number("skip", 2, 0, 1 << 20)? as u32,
        iterations: values.number("iterations", 20, 1, 1 << 20)? as u32,
        both_ways: matches!(kind, "osu_bibw" | "biband"),
        ip: kind == "iperf",
    })
}

fn latency<'a>(kind: &str, words: impl Iterator<Item = &'a str>) -> Checked<Traffic> {
    let values = Values::read(words, &["bytes", "iterations", "sessions"])?;
    let bytes = bytes(&values, 8, MESSAGE_BYTES)?;
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
    let pattern = pattern(kind, &values)?;
    Ok(Traffic::Stream {
        pattern: pattern.ok_or_else(|| unknown("traffic", kind, TRAFFIC))?,
        bytes: packet_bytes(&values)?,
        load: load(&values)?,
        span: some_span(values.get("span").unwrap_or("1ms"))?,
    })
}

/// A pattern by its name, none if there is no such one.
fn pattern(kind: &str, values: &Values<'_>) -> Checked<Option<StreamPattern>> {
    Ok(Some(match kind {
        "uniform" => StreamPattern::Uniform,
        "permutation" => StreamPattern::Permutation,
        "shift" => StreamPattern::Shift(values.number("by", 1, 1, 1 << 20)? as u32),
        "hotspot" => StreamPattern::Hotspot(values.number("percent", 50, 0, 100)? as u32),
        _ => return Ok(None),
    }))
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

/// What goes on beside the traffic.
pub(super) fn background(text: &str) -> Checked<Option<Background>> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or("");
    let messages = match kind {
        "off" => return Ok(None),
        "bulk" => Some(Load::Bulk),
        "rdma-read" => Some(Load::Read),
        _ => None,
    };
    let keys: &[&str] = match messages {
        Some(_) => &["sl", "pairs"],
        None => &["sl", "bytes", "load", "by", "percent"],
    };
    let values = Values::read(words, keys)?;
    let list = |text: &str| text.split(',').map(pair).collect::<Checked<_>>();
    let what = match messages {
        Some(load) => Beside::Messages {
            load,
            pairs: values.get("pairs").map(list).transpose()?,
        },
        None => Beside::Packets {
            pattern: pattern(kind, &values)?
                .ok_or_else(|| unknown("background", kind, BACKGROUND))?,
            bytes: packet_bytes(&values)?,
            load: load(&values)?,
        },
    };
    let sl = Sl(values.number("sl", 0, 0, LEVEL_MAX)? as u8);
    Ok(Some(Background { sl, what }))
}

/// Whether something can go on beside the traffic.
pub(super) fn goes_beside(traffic: &Traffic, beside: &Beside) -> Checked<()> {
    let allowed = match (traffic, beside) {
        // A tournament is one run after the other on the same devices; what goes on beside it
        // would have to end with each.
        (Traffic::Bisection { .. } | Traffic::AllPairs { .. }, _) => "off",
        (Traffic::Stream { .. }, Beside::Messages { .. }) => {
            "off, uniform, permutation, shift, hotspot"
        }
        (Traffic::Stream { .. }, Beside::Packets { .. }) | (_, Beside::Messages { .. }) => {
            return Ok(());
        }
        (_, Beside::Packets { .. }) => "off, bulk, rdma-read",
    };
    Err(format!(
        "this cannot go beside the traffic, allowed: {allowed}"
    ))
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

/// The same with another size of messages, in the same range as on its line.
pub(super) fn with_bytes(traffic: &Traffic, text: &str) -> Checked<Traffic> {
    let mut traffic = traffic.clone();
    let size = |(least, most): (u64, u64)| number(text, least, most);
    match &mut traffic {
        Traffic::Bandwidth { bytes, .. } => *bytes = size(BANDWIDTH_BYTES)?,
        Traffic::Latency { bytes, .. }
        | Traffic::AllPairs { bytes, .. }
        | Traffic::AllToAll { bytes, .. } => *bytes = size(MESSAGE_BYTES)?,
        Traffic::Stream { bytes, .. } => *bytes = size(PACKET_BYTES)? as u32,
        Traffic::Bisection { .. } => return Err("bisection has no bytes to sweep".to_owned()),
    }
    Ok(traffic)
}
