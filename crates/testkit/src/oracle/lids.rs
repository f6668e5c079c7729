//! I5: LIDs are unique and aligned, and stay with their ports.

use std::collections::BTreeMap;

use super::{Breach, Invariant};
use crate::view::FabricView;
use weft_fabric::{Guid, Lid};

/// I5 at one moment: every node that is connected with `root` has LIDs of its own, aligned to its LMC; one
/// that only refused links lead to may have none.
pub fn check(view: &FabricView, root: usize) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut owners: BTreeMap<u32, Guid> = BTreeMap::new();
    let (connected, served) = (view.connected(root), view.served(root));
    let places = (0..view.nodes.len()).filter(|place| connected[*place]);
    for place in places {
        let node = &view.nodes[place];
        let end = node.end_port();
        let Some(port) = end.filter(|port| served[place] || port.lid.0 != 0) else {
            continue;
        };
        if port.lid.0 == 0 || port.lid.0 % port.lmc.lids() != 0 {
            let what = format!("{} has LID {} with LMC {}", node.guid, port.lid, port.lmc);
            breaches.push(Breach::new(Invariant::LidsInOrder, what));
        }
        for lid in port.lid.0..port.lid.0 + port.lmc.lids() {
            if let Some(other) = owners.insert(lid, node.guid) {
                let what = format!("{other} and {} both have LID {lid:#x}", node.guid);
                breaches.push(Breach::new(Invariant::LidsInOrder, what));
            }
        }
    }
    breaches
}

/// Base LIDs by GUID of all nodes that have one.
pub fn by_guid(view: &FabricView) -> BTreeMap<Guid, Lid> {
    let with_lid = view
        .nodes
        .iter()
        .filter_map(|node| Some((node.guid, node.end_port()?.lid)));
    with_lid.filter(|(_, lid)| lid.0 != 0).collect()
}

/// I5 between two moments: ports present at both have the same LID.
pub fn check_stable(before: &BTreeMap<Guid, Lid>, after: &BTreeMap<Guid, Lid>) -> Vec<Breach> {
    let moved = after.iter().filter_map(|(guid, lid)| {
        let old = before.get(guid).filter(|old| *old != lid)?;
        Some(Breach::new(
            Invariant::LidsInOrder,
            format!("{guid} had LID {old}, now {lid}"),
        ))
    });
    moved.collect()
}
