//! Changes of ports by order.

use tracing::info;
use weft_api::{port_action_done, v1};
use weft_fabric::text::asker;
use weft_manager::PortAction;

use super::{called, guid};

/// What an action is called.
pub(crate) fn name(action: PortAction) -> &'static str {
    match action {
        PortAction::Disable => "disable",
        PortAction::Enable => "enable",
        PortAction::Bounce => "bounce",
        PortAction::Led(true) => "led on",
        PortAction::Led(false) => "led off",
        PortAction::Link(_) => "link settings",
    }
}

/// What has become of a port.
pub(crate) fn done(action: PortAction) -> &'static str {
    match action {
        PortAction::Disable => "is disabled",
        PortAction::Enable => "is enabled",
        PortAction::Bounce => "is bounced",
        PortAction::Led(true) => "has its beacon on",
        PortAction::Led(false) => "has its beacon off",
        PortAction::Link(_) => "has other link settings",
    }
}

/// Logs a change that a device has confirmed.
pub(super) fn changed(changed: &v1::PortChanged) {
    let id = changed.port.unwrap_or_default();
    let action = port_action_done(changed.action());
    let name = called(id.node_guid, &changed.node_name);
    let width = changed.link.map(|link| link.width_enabled);
    let speed = changed.link.map(|link| link.speed_enabled);
    info!(
        event = "port_changed",
        action,
        node = changed.node_name,
        node_guid = guid(id.node_guid),
        port = id.port,
        reason = changed.reason,
        author = changed.author,
        peer = changed.peer,
        width_enabled = width,
        speed_enabled = speed,
        "port {} of {name} {action} by {}{}",
        id.port,
        asker(&changed.author, &changed.peer, "a client"),
        reason(changed)
    );
}

fn reason(changed: &v1::PortChanged) -> String {
    match &changed.reason[..] {
        "" => String::new(),
        reason => format!(": {reason}"),
    }
}
