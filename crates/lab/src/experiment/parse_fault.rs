//! The line `fault` of a scenario.

use weft_dataplane::training::Stuck;

use super::scenario::{Fault, FaultKind, FaultPlace};
use super::values::{Checked, at_most, decimal, number, span, unknown};

/// Most faults of a case.
pub(super) const FAULTS_MAX: usize = 1_000;
const KINDS: &str = "link-down, link-up, link-lanes=N, cable-errors=N, link-loss=P, link-stuck=STATE, node-down, \
                     node-up, reboot=TIME";
const STATES: &str = "offline, polling, training, none";
/// Damaged packets of a million.
const ERRORS: (u64, u64) = (0, 1_000_000);
/// Lanes of a cable, and ports of a node.
const LANES: (u64, u64) = (1, 4);
const PORTS: (u64, u64) = (1, 254);
/// Bytes of a NodeDescription.
const NAME_MAX: usize = 64;

/// TIME KIND PLACE.
pub(super) fn fault(text: &str) -> Checked<Fault> {
    let (at, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let (kind, place) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let at = span(at)?;
    let what = kind_of(kind)?;
    let of_node = kind.starts_with("node") || matches!(what, FaultKind::Reboot(_));
    let place = match of_node {
        true => node(place.trim())?,
        false => link(place.trim())?,
    };
    Ok(Fault { at, what, place })
}

/// KIND, or KIND=VALUE.
fn kind_of(text: &str) -> Checked<FaultKind> {
    let (kind, value) = text.split_once('=').unwrap_or((text, ""));
    Ok(match (kind, value) {
        ("link-down" | "node-down", "") => FaultKind::Down,
        ("link-up" | "node-up", "") => FaultKind::Up,
        ("link-lanes", lanes) => FaultKind::Lanes(number(lanes, LANES.0, LANES.1)? as u8),
        ("cable-errors", count) => FaultKind::Errors(number(count, ERRORS.0, ERRORS.1)? as u32),
        ("link-loss", share) => FaultKind::Loss((decimal(share, 1.0)? * 1e6).round() as u32),
        ("link-stuck", state) => FaultKind::Stuck(stuck(state)?),
        ("reboot", time) => FaultKind::Reboot(span(time)?),
        _ => return Err(unknown("fault", text, KINDS)),
    })
}

fn stuck(state: &str) -> Checked<Option<Stuck>> {
    Ok(match state {
        "none" => None,
        "offline" => Some(Stuck::Offline),
        "polling" => Some(Stuck::Polling),
        "training" => Some(Stuck::Training),
        _ => return Err(unknown("state of a link", state, STATES)),
    })
}

fn node(text: &str) -> Checked<FaultPlace> {
    match text {
        "" => Err("no node: its description is missing".to_owned()),
        name => Ok(FaultPlace::Node(name_of(name)?)),
    }
}

/// NAME:PORT, or P%.
fn link(text: &str) -> Checked<FaultPlace> {
    if let Some(percent) = text.strip_suffix('%') {
        return Ok(FaultPlace::Drawn(decimal(percent, 100.0)?));
    }
    let form = || format!("{text:?} is no link such as edge-1:25 or 5%");
    let (name, port) = text.rsplit_once(':').ok_or_else(form)?;
    if name.is_empty() {
        return Err(form());
    }
    let port = number(port, PORTS.0, PORTS.1)? as u8;
    Ok(FaultPlace::Port(name_of(name)?, port))
}

fn name_of(text: &str) -> Checked<String> {
    at_most(text.len(), NAME_MAX, "bytes in a node's description")?;
    Ok(text.to_owned())
}
