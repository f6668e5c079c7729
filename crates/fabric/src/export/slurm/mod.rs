//! Topology files of Slurm: `topology.conf` and `topology.yaml`, for its plugins `topology/tree` and `topology/block`.
//!
//! [`place`] makes a [`SlurmTopology`] from a fabric and from the file that is there, because the scheduler's view of a
//! cluster is to change when hosts or switches change their places, and not when a link, a switch or a host is down for
//! a while: what was placed stays where it was until it is seen elsewhere. [`write_conf`] and [`write_yaml`] write it,
//! [`read_conf`] and [`read_yaml`] read it back.

mod change;
mod conf;
mod full;
mod hostlist;
mod known;
mod names;
mod place;
mod skeleton;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

pub use change::{Change, Refusal};
pub use conf::{read_conf, write_conf};
pub use hostlist::{compress, expand};
pub use known::KnownNodes;
pub use place::{Note, Placed, Request, place};
pub use yaml::{read_yaml, write_yaml};

/// Slurm's plugin that a file is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Plugin {
    /// `topology/tree`: switches and what is below them.
    #[default]
    Tree,
    /// `topology/block`: the nodes of each leaf switch are a block.
    Block,
}

/// What stands above the leaf switches of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    /// Every switch that joins more leaf switches than those below it do.
    #[default]
    Full,
    /// One root for each fabric.
    Skeleton,
}

/// What a topology file of Slurm says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlurmTopology {
    /// The plugin.
    pub plugin: Plugin,
    /// Slurm's nodes of each leaf switch, or of each block.
    pub leaves: BTreeMap<String, BTreeSet<String>>,
    /// The switches directly below each switch that is not a leaf.
    pub above: BTreeMap<String, BTreeSet<String>>,
    /// Numbers of nodes of blocks, the smallest first; none in a tree.
    pub block_sizes: Vec<u32>,
}

impl SlurmTopology {
    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.leaves.values().flatten().map(String::as_str)
    }

    /// The leaf switch or block of each node; the first one of several.
    pub fn leaf_of(&self) -> BTreeMap<&str, &str> {
        let mut leaf_of = BTreeMap::new();
        for (leaf, nodes) in &self.leaves {
            for node in nodes {
                leaf_of.entry(node.as_str()).or_insert(leaf.as_str());
            }
        }
        leaf_of
    }

    /// The tier of each name: 0 for leaves, one more than the highest below for others.
    fn tiers(&self) -> BTreeMap<&str, u32> {
        let mut tiers: BTreeMap<&str, u32> =
            self.leaves.keys().map(|name| (name.as_str(), 0)).collect();
        // As many rounds as there can be tiers; a circle ends them too.
        for _ in 0..self.above.len() {
            let before = tiers.clone();
            for (name, children) in &self.above {
                let below = children.iter().filter_map(|name| before.get(name.as_str()));
                tiers.insert(name, below.max().map_or(1, |tier| tier + 1));
            }
            if tiers == before {
                break;
            }
        }
        tiers
    }

    /// Names in the order of a file: leaf switches, then each tier above them, by name.
    fn in_order(&self) -> (Vec<&str>, Vec<&str>) {
        let mut leaves: Vec<&str> = self.leaves.keys().map(String::as_str).collect();
        leaves.sort_by_key(|name| hostlist::natural(name));
        let tiers = self.tiers();
        let mut above: Vec<&str> = self.above.keys().map(String::as_str).collect();
        above.sort_by_key(|name| (tiers.get(name).copied(), hostlist::natural(name)));
        (leaves, above)
    }
}

/// Text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what is allowed.
    pub what: String,
}

impl TextError {
    fn new(line: usize, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { line, what }
    }
}
