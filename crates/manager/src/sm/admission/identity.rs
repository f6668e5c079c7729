//! What a device says about itself, against what its neighbour's hardware reports.

use weft_fabric::Guid;
use weft_fabric::admission::{Defect, RefusedNode};
use weft_fabric::enums::NodeType;
use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo};

use super::{Findings, Refusal};
use crate::sm::devices::{Device, Identity};
use crate::sm::settings::AdmissionSettings;

/// The place of an HFI port's number, less one, in its PortGUID.
const PORT_SHIFT: u32 = 30;

/// Why a device is not taken for the node that its neighbour's hardware reports.
#[derive(Debug)]
pub(in crate::sm) enum Rejection {
    /// It breaks the rules.
    Fault(String),
    /// It is not let into the fabric.
    Refused(Box<Refusal>),
}

impl From<String> for Rejection {
    fn from(what: String) -> Self {
        Self::Fault(what)
    }
}

/// Compares what a device says about itself.
///
/// # Errors
/// [`Rejection`] where it differs. Without a comparison a device with another NodeGUID or type is a fault: nothing
/// can be programmed by two names.
pub(in crate::sm) fn check(
    device: &Device,
    info: &NodeInfo,
    description: NodeDescription,
    port: &PortInfo,
    settings: &AdmissionSettings,
) -> Result<(), Rejection> {
    let identity = &device.identity;
    let mut found = node(identity, info);
    // The manager's own node was found behind no port.
    let trusted = identity.found_by;
    let trusted = trusted.filter(|_| settings.doubts(identity.guid));
    if trusted.is_some() && info.node_type == NodeType::HFI {
        hfi_port(&mut found, identity, info, port);
    }
    if found.is_empty() {
        return Ok(());
    }
    let Some(trusted) = trusted else {
        return Err(Rejection::Fault(found.evidence()));
    };
    Err(Rejection::Refused(Box::new(Refusal {
        node: RefusedNode {
            trusted,
            neighbour: identity.guid,
            info: *info,
            description,
            defects: found.defects(),
        },
        evidence: found.evidence(),
    })))
}

fn node(identity: &Identity, info: &NodeInfo) -> Findings {
    let mut found = Findings::default();
    if info.node_guid != identity.guid {
        found.add(
            Defect::NodeGuid,
            format!(
                "it claims to be node {}, it was found as {}",
                info.node_guid, identity.guid
            ),
        );
    }
    let reported = match identity.said_switch {
        true => NodeType::SWITCH,
        false => NodeType::HFI,
    };
    if info.node_type != reported {
        found.add(
            Defect::NodeType,
            format!(
                "it claims to be of type {}, it was found as {reported}",
                info.node_type
            ),
        );
    }
    found
}

fn hfi_port(found: &mut Findings, identity: &Identity, info: &NodeInfo, port: &PortInfo) {
    let reported = identity.said_port;
    let wrong = [info.local_port_num, port.local_port_num];
    if let Some(named) = wrong.into_iter().find(|named| *named != reported) {
        found.add(
            Defect::PortNumber,
            format!("it claims to answer from port {named}, it was found as port {reported}"),
        );
    }
    let place = u64::from(reported.0.saturating_sub(1) & 3) << PORT_SHIFT;
    let expected = Guid(identity.guid.0 & !(3 << PORT_SHIFT) | place);
    if info.port_guid != expected {
        found.add(
            Defect::PortGuid,
            format!(
                "it has PortGUID {}, its NodeGUID and port make {expected}",
                info.port_guid
            ),
        );
    }
}
