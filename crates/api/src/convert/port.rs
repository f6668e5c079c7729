//! Changes of ports, and ports that are switched off.

use weft_fabric::enums::{LinkSpeed, LinkWidth, NodeType};
use weft_fabric::{Guid, PortNum};
use weft_manager::{DisabledPort, DisabledState, LinkChange, PortAction, PortOrder, PortSide};

use super::port;
use crate::time::known;
use crate::v1;

impl From<PortOrder> for v1::PortChanged {
    fn from(order: PortOrder) -> Self {
        let (action, link) = action_message(order.action);
        Self {
            port: Some(port((order.node, order.port))),
            node_name: String::new(),
            action: action.into(),
            reason: order.note.reason,
            author: order.note.author,
            peer: order.note.peer,
            link,
        }
    }
}

fn action_message(action: PortAction) -> (v1::PortAction, Option<v1::LinkSettings>) {
    let link = match action {
        PortAction::Link(LinkChange { width, speed }) => Some(v1::LinkSettings {
            width_enabled: width.map_or(0, |width| u32::from(width.0)),
            speed_enabled: speed.map_or(0, |speed| u32::from(speed.0)),
        }),
        _ => None,
    };
    let action = match action {
        PortAction::Disable => v1::PortAction::Disable,
        PortAction::Enable => v1::PortAction::Enable,
        PortAction::Bounce => v1::PortAction::Bounce,
        PortAction::Led(true) => v1::PortAction::LedOn,
        PortAction::Led(false) => v1::PortAction::LedOff,
        PortAction::Link(_) => v1::PortAction::SetLink,
    };
    (action, link)
}

/// A change of a port that was made, in words.
pub fn port_action_done(action: v1::PortAction) -> &'static str {
    match action {
        v1::PortAction::Disable => "disabled",
        v1::PortAction::Bounce => "bounced",
        v1::PortAction::LedOn => "beacon switched on",
        v1::PortAction::LedOff => "beacon switched off",
        v1::PortAction::SetLink => "widths or speeds set",
        v1::PortAction::Enable | v1::PortAction::Unspecified => "enabled",
    }
}

/// The action that messages name.
///
/// # Errors
/// The field that is wrong, and what is allowed.
pub fn port_action(
    action: v1::PortAction,
    link: Option<v1::LinkSettings>,
) -> Result<PortAction, (&'static str, String)> {
    let action = match action {
        v1::PortAction::Disable => PortAction::Disable,
        v1::PortAction::Enable => PortAction::Enable,
        v1::PortAction::Bounce => PortAction::Bounce,
        v1::PortAction::LedOn => PortAction::Led(true),
        v1::PortAction::LedOff => PortAction::Led(false),
        v1::PortAction::SetLink => return link_change(link).map(PortAction::Link),
        v1::PortAction::Unspecified => {
            let allowed = "expected DISABLE, ENABLE, BOUNCE, LED_ON, LED_OFF or SET_LINK";
            return Err(("action", allowed.to_owned()));
        }
    };
    match link {
        None => Ok(action),
        Some(_) => Err(("link", "is for action SET_LINK only".to_owned())),
    }
}

fn link_change(link: Option<v1::LinkSettings>) -> Result<LinkChange, (&'static str, String)> {
    let link = link.unwrap_or_default();
    let bits = |field, value: u32| match u16::try_from(value) {
        Ok(0) => Ok(None),
        Ok(bits) => Ok(Some(bits)),
        Err(_) => Err((field, format!("{value:#x} is beyond 0xffff"))),
    };
    let width = bits("link.width_enabled", link.width_enabled)?.map(LinkWidth);
    let speed = bits("link.speed_enabled", link.speed_enabled)?.map(LinkSpeed);
    match (width, speed) {
        (None, None) => Err(("link", "names neither a width nor a speed".to_owned())),
        _ => Ok(LinkChange { width, speed }),
    }
}

/// A port that is switched off, by a manager whose time is in nanoseconds since 1970.
pub fn disabled_port(disabled: DisabledPort) -> v1::DisabledPort {
    let (note, since) = disabled.noted.unwrap_or_default();
    v1::DisabledPort {
        port: Some(side(disabled.port)),
        far: disabled.far.map(side),
        state: match disabled.state {
            DisabledState::Off => v1::DisabledState::Off,
            DisabledState::Found => v1::DisabledState::Found,
            DisabledState::EnabledElsewhere => v1::DisabledState::EnabledElsewhere,
            DisabledState::Gone => v1::DisabledState::Gone,
        }
        .into(),
        reason: note.reason,
        author: note.author,
        peer: note.peer,
        disabled_time: known(since.0),
    }
}

fn side(side: PortSide) -> v1::LinkEnd {
    let (guid, number): (Guid, PortNum) = side.end;
    let node_type = match (side.is_switch, side.name.is_empty()) {
        (true, _) => NodeType::SWITCH.0,
        (false, false) => NodeType::HFI.0,
        (false, true) => 0,
    };
    v1::LinkEnd {
        port: Some(port((guid, number))),
        node_type: i32::from(node_type),
        node_name: side.name,
    }
}
