//! The fabric beside its topology file, and HFIs in the place of others.

use tracing::{info, warn};
use weft_fabric::Guid;
use weft_manager::sm::replacements::{Offer, Replaced};
use weft_manager::{LinkEnd, TopologyFault};

/// A link, or the manager's own node, is not as the topology file has it.
pub(super) fn fault(fault: &TopologyFault) {
    let trusted = fault.trusted.as_ref();
    let is_quarantined = !fault.enforced.is_empty();
    let effect = match is_quarantined {
        true => "; routes leave the link out",
        false => "",
    };
    warn!(
        event = "topology_fault",
        node = fault.found.name,
        node_guid = %fault.found.node,
        port = fault.found.port.0,
        at = trusted.map(|end| end.name.as_str()),
        at_guid = trusted.map(|end| end.node.to_string()),
        at_port = trusted.map(|end| end.port.0),
        quarantined = is_quarantined,
        "{fault}{effect}"
    );
}

/// An HFI is in the place of another.
pub(super) fn recognised(offer: &Offer) {
    let (old, new, place) = (offer.old, &offer.new, &offer.place);
    warn!(
        event = "replacement_recognised",
        node = new.name,
        node_guid = %new.node,
        port = new.port.0,
        old = offer.old_name,
        old_guid = %old,
        at = place.name,
        at_guid = %place.node,
        at_port = place.port.0,
        "{} ({old}) is gone, and {} ({}) is in its place at {place}; 'weft replace {old}' lets it have its LID and count as it",
        offer.old_name,
        new.name,
        new.node,
    );
}

/// It counts as the other.
pub(super) fn replaced(replaced: &Replaced) {
    let (old, new) = (replaced.old, &replaced.new);
    let lid = match replaced.lid {
        Some(lid) => format!("gets its LID {lid}"),
        None => "keeps its own LID".to_owned(),
    };
    info!(
        event = "hfi_replaced",
        node = new.name,
        node_guid = %new.node,
        port = new.port.0,
        old_guid = %old,
        lid = replaced.lid.map(|lid| lid.0),
        reason = replaced.reason,
        "{} ({}) is in the place of {old} and {lid}",
        new.name,
        new.node,
    );
}

/// It counts for itself again.
pub(super) fn removed(old: Guid, new: &LinkEnd) {
    info!(
        event = "replacement_removed",
        node = new.name,
        node_guid = %new.node,
        old_guid = %old,
        "{} ({}) does not count as {old} any more",
        new.name,
        new.node,
    );
}
