//! The event that other virtual fabrics are in force.

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::count;

/// The event as a line.
pub(crate) fn changed_text(changed: &v1::VirtualFabricsChanged) -> String {
    format!(
        "virtual fabrics changed: {} new, {} gone, {} with other settings; other keys for {}, {} of them lose some",
        changed.added.len(),
        changed.removed.len(),
        changed.changed.len(),
        count(changed.ports, "port"),
        changed.losing_ports
    )
}

/// The event as JSON.
pub(crate) fn changed_json(changed: &v1::VirtualFabricsChanged) -> Value {
    let keys = changed.handed_over.iter().map(|key| format!("{key:#06x}"));
    json!({
        "added": changed.added,
        "removed": changed.removed,
        "changed": changed.changed,
        "ports": changed.ports,
        "losing_ports": changed.losing_ports,
        "handed_over": keys.collect::<Vec<_>>(),
    })
}
