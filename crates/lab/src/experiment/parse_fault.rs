//! The line `fault` of a scenario.

use super::scenario::{Fault, FaultKind, FaultPlace};
use super::values::{Checked, at_most, decimal, number, span, unknown};

/// Most faults of a case.
pub(super) const FAULTS_MAX: usize = 1_000;
const KINDS: &str = "link-down, link-up, link-lanes=N, node-down, node-up";
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
    let lanes = kind.strip_prefix("link-lanes=");
    let what = match (kind, lanes) {
        (_, Some(lanes)) => FaultKind::Lanes(number(lanes, LANES.0, LANES.1)? as u8),
        ("link-down" | "node-down", _) => FaultKind::Down,
        ("link-up" | "node-up", _) => FaultKind::Up,
        _ => return Err(unknown("fault", kind, KINDS)),
    };
    let place = match kind.starts_with("node") {
        true => node(place.trim())?,
        false => link(place.trim())?,
    };
    Ok(Fault { at, what, place })
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
