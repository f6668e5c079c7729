//! Objects: what other elements name — applications, device groups, QOS groups, virtual fabrics,
//! PM port groups.

mod application;
mod device_group;
mod port_group;
mod qos;
mod virtual_fabric;

pub use application::{Application, ApplicationSelect, Applications};
pub use device_group::{DeviceGroup, DeviceGroups, DeviceSelect, NodeFacts, NodeType};
pub use port_group::{PmPortGroup, PmPortGroups};
pub use qos::{QosGroup, QosGroups};
pub use virtual_fabric::{VirtualFabric, VirtualFabrics};

use crate::context::Cx;
use crate::finding::Rule;
use crate::syntax::Kind;
use crate::xml::Id;

/// Notes an object under its name; an object that counts must have one.
fn define(kind: Kind, name: &str, enabled: bool, id: Id, cx: &mut Cx<'_>) {
    if enabled {
        require_name(kind, id, cx);
    }
    cx.define(kind, name, id, enabled);
}

fn require_name(kind: Kind, id: Id, cx: &mut Cx<'_>) {
    let document = cx.document;
    let mut names = document
        .children(id)
        .filter(|&child| document.name(child) == "Name");
    if !names.any(|name| !document.text(name).trim_ascii().is_empty()) {
        cx.error(id, Rule::Name, format!("a {} needs a Name", kind.tag()));
    }
}
