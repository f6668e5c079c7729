//! What differs between two topology files, and which changes are refused.

use std::collections::BTreeMap;

use thiserror::Error;

use super::SlurmTopology;

/// What a new file changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Nodes that the old file lacks.
    pub added: Vec<String>,
    /// Nodes that only the old file has.
    pub removed: Vec<String>,
    /// Nodes with another leaf switch, and the old and the new one.
    pub moved: Vec<(String, String, String)>,
    /// Switches and blocks that the old file lacks.
    pub new_switches: Vec<String>,
    /// Switches and blocks that only the old file has.
    pub lost_switches: Vec<String>,
    /// Switches in both whose children are not the same.
    pub other_children: Vec<String>,
    /// The plugin or the sizes of blocks differ.
    pub settings: bool,
}

/// Why a file is not to be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Slurm does not start with such a file, or runs nothing.
    #[error(
        "no node that Slurm knows is in the fabric: a file without nodes stops slurmctld, so none is written"
    )]
    Empty,
    /// Most likely a mistake.
    #[error(
        "{lost} of the {before} nodes of the file would no longer be in it, which is more than half; --force writes it"
    )]
    Lost {
        /// Nodes that would vanish.
        lost: usize,
        /// Nodes of the old file.
        before: usize,
    },
}

impl Change {
    /// What the new file changes.
    pub fn between(old: &SlurmTopology, new: &SlurmTopology) -> Self {
        let mut change = Self {
            settings: old.plugin != new.plugin || old.block_sizes != new.block_sizes,
            ..Self::default()
        };
        let (before, after) = (old.leaf_of(), new.leaf_of());
        for (node, leaf) in &after {
            match before.get(node) {
                None => change.added.push((*node).to_owned()),
                Some(was) if was != leaf => {
                    let [node, was, leaf] = [*node, *was, *leaf].map(str::to_owned);
                    change.moved.push((node, was, leaf));
                }
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|node| !after.contains_key(*node));
        change.removed = gone.map(|node| (*node).to_owned()).collect();
        let (before, after) = (switches(old), switches(new));
        let only = |a: &BTreeMap<&str, bool>, b: &BTreeMap<&str, bool>| {
            let only = a.keys().filter(|name| !b.contains_key(*name));
            only.map(|name| (*name).to_owned()).collect()
        };
        change.new_switches = only(&after, &before);
        change.lost_switches = only(&before, &after);
        let both = new.above.iter().filter(|(name, children)| {
            before.contains_key(name.as_str()) && old.above.get(*name) != Some(children)
        });
        change.other_children = both.map(|(name, _)| name.clone()).collect();
        change
    }

    /// Whether Slurm would place jobs as before.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses what no cluster wants.
    ///
    /// # Errors
    /// [`Refusal::Empty`] of a file without nodes, [`Refusal::Lost`] of one that lacks more than half of the old nodes.
    pub fn admit(&self, old: &SlurmTopology, new: &SlurmTopology) -> Result<(), Refusal> {
        let (lost, before) = (self.removed.len(), old.leaf_of().len());
        if new.nodes().next().is_none() {
            Err(Refusal::Empty)
        } else if lost * 2 > before {
            Err(Refusal::Lost { lost, before })
        } else {
            Ok(())
        }
    }
}

/// All switches and blocks; `true` if others are below it.
fn switches(topology: &SlurmTopology) -> BTreeMap<&str, bool> {
    let leaves = topology.leaves.keys().map(|name| (name.as_str(), false));
    let above = topology.above.keys().map(|name| (name.as_str(), true));
    leaves.chain(above).collect()
}
