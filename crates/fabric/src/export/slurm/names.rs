//! Names of switches that Slurm takes, no two of them the same.

use std::collections::BTreeMap;

use super::SlurmTopology;
use super::skeleton::is_root;
use crate::topology::{Node, NodeId, Topology};

/// Longest name without the GUID, bytes.
const NAME_MAX: usize = 64;

/// The name of each switch. Of several with one description each has its GUID added, and has it still when the others are
/// gone, if the file that is there names it so.
pub(super) fn of_switches(
    topology: &Topology,
    old: Option<&SlurmTopology>,
) -> BTreeMap<NodeId, String> {
    let switches = || {
        let nodes = topology.switches().iter();
        nodes.filter_map(|id| Some((*id, topology.node(*id)?)))
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, node) in switches() {
        *counts.entry(valid(&node.name())).or_default() += 1;
    }
    let is_old = |name: &str| {
        let has =
            |old: &SlurmTopology| old.leaves.contains_key(name) || old.above.contains_key(name);
        old.is_some_and(has)
    };
    let name = |node: &Node| {
        let plain = valid(&node.name());
        let long = format!("{plain}_{:016x}", node.guid().0);
        let is_taken = counts.get(&plain).is_some_and(|count| *count > 1);
        match is_taken || is_reserved(&plain) || is_old(&long) {
            true => long,
            false => plain,
        }
    };
    switches().map(|(id, node)| (id, name(node))).collect()
}

/// Names that mean something else to Slurm or in these files, or nothing at all.
fn is_reserved(name: &str) -> bool {
    name.is_empty() || name.eq_ignore_ascii_case("default") || is_root(name)
}

/// A description with one '_' for all in a row that is not a letter, a digit, '-' or '_'. A dot is not kept: it parts the
/// switches of an address in Slurm.
fn valid(description: &str) -> String {
    let mut name = String::new();
    for character in description.trim().chars() {
        match character {
            kept if kept.is_ascii_alphanumeric() || kept == '-' || kept == '_' => name.push(kept),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name.truncate(NAME_MAX);
    match name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
        true => name,
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_become_names() {
        for (description, name) in [
            ("edge1", "edge1"),
            (
                "OmniPth00117501fa000400 Leaf 101, Chip A",
                "OmniPth00117501fa000400_Leaf_101_Chip_A",
            ),
            ("a[1-3],b=#c", "a_1-3_b_c"),
            ("caf\u{e9}.x", "caf_x"),
            (" \u{1b}[2J ", "_2J"),
            ("", ""),
            ("#=,", ""),
        ] {
            assert_eq!(valid(description), name);
        }
    }
}
