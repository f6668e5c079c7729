//! Lines about health.

use tracing::{info, warn};
use weft_health::{Color, End};

/// The colour of health is another.
pub(super) fn changed(before: Color, now: Color, reason: &str) {
    let (before, color) = (before.name(), now.name());
    match now {
        Color::Green => info!(
            event = "health_changed",
            before, color, reason, "health is {color}, it was {before}: {reason}"
        ),
        _ => warn!(
            event = "health_changed",
            before,
            color,
            reason,
            "health is {color}, it was {before}: {reason}; weft health tells more"
        ),
    }
}

/// A link has errors, or none any more.
pub(super) fn link(a: &End, b: Option<&End>, errors: Option<&str>) {
    let guid = |end: &End| end.node.to_string();
    let port = |end: &End| end.port.unwrap_or_default().0;
    let (b_name, b_guid, b_port) = (b.map(|end| &*end.name), b.map(guid), b.map(port));
    let far = b.map_or_else(String::new, |end| format!(" to {end}"));
    match errors {
        Some(what) => warn!(
            event = "link_has_errors",
            a = a.name,
            a_guid = guid(a),
            a_port = port(a),
            b = b_name,
            b_guid,
            b_port,
            what,
            "errors of the link from {a}{far}: {what}"
        ),
        None => info!(
            event = "link_is_well",
            a = a.name,
            a_guid = guid(a),
            a_port = port(a),
            b = b_name,
            b_guid,
            b_port,
            "the link from {a}{far} has no errors any more"
        ),
    }
}
