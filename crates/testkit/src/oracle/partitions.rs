//! I6: no host can send into a partition, or receive from one, that it does not belong to.

use std::collections::BTreeSet;

use super::{Breach, Invariant};
use crate::view::{FabricView, NodeView, PortView};
use weft_fabric::Guid;

/// Key of the management partition, as limited members have it.
const MANAGEMENT: u16 = 0x7FFF;
const FULL: u16 = 0x8000;

/// A secured partition as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    /// Its key without the membership bit.
    pub key: u16,
    /// Full members.
    pub full: BTreeSet<Guid>,
    /// Limited members.
    pub limited: BTreeSet<Guid>,
}

/// I6 over every host that is served from `root`: it holds the keys of its secured partitions
/// and of no other, and its switch passes exactly these. Ports between switches check
/// nothing.
pub fn check(view: &FabricView, root: usize, secured: &[Secured]) -> Vec<Breach> {
    let served = view.served(root);
    let mut breaches = Vec::new();
    for node in view.among(&served) {
        for (number, port) in node.external() {
            let Some(peer) = port.peer.filter(|_| node.switch && port.permitted) else {
                continue;
            };
            let what = judge(view, node, number, port, peer);
            breaches.extend(what.map(|what| Breach::new(Invariant::Isolated, what)));
        }
        if !node.switch {
            let wrong = secured
                .iter()
                .filter_map(|partition| membership(node, partition));
            breaches.extend(wrong.map(|what| Breach::new(Invariant::Isolated, what)));
        }
    }
    breaches
}

fn judge(
    view: &FabricView,
    node: &NodeView,
    number: u8,
    port: &PortView,
    peer: (usize, u8),
) -> Option<String> {
    let (other, far) = (&view.nodes[peer.0], peer.1);
    if other.guid == node.guid {
        return None; // a cable from a node to itself carries nothing
    }
    let checks = (!other.switch, !other.switch);
    if port.checks != checks {
        return Some(format!(
            "port {number} of {} checks P_Keys: {:?}",
            node.guid, port.checks
        ));
    }
    let set = |node: &NodeView, port: u8| -> BTreeSet<u16> {
        node.keys
            .get(usize::from(port))
            .into_iter()
            .flatten()
            .copied()
            .collect()
    };
    let (through, own) = (set(node, number), set(other, far));
    let managed = through.contains(&MANAGEMENT);
    let wrong = !other.switch && (through != own || !managed);
    wrong.then(|| {
        format!(
            "port {number} of {} lets {through:x?} through, {} has {own:x?}",
            node.guid, other.guid
        )
    })
}

fn membership(node: &NodeView, partition: &Secured) -> Option<String> {
    let keys = node.keys.get(1)?;
    let held: Vec<u16> = keys
        .iter()
        .copied()
        .filter(|key| key & !FULL == partition.key)
        .collect();
    let asked = match (
        partition.full.contains(&node.guid),
        partition.limited.contains(&node.guid),
    ) {
        (true, _) => vec![partition.key | FULL],
        (false, true) => vec![partition.key],
        (false, false) => Vec::new(),
    };
    (held != asked).then(|| {
        format!(
            "{} has keys {held:x?} of a secured partition, not {asked:x?}",
            node.guid
        )
    })
}
