//! Which of the fabrics are measured.

use clap::Args;

pub use weft_instructions::fabrics::{TREES, give_lids, new_tree, tree};

/// Which of [`TREES`] are measured, and how often.
#[derive(Debug, Clone, Args)]
pub struct TreeOptions {
    /// Only the tree with this many hosts.
    #[arg(long)]
    hosts: Option<u64>,
    /// Number of runs; the fastest counts.
    #[arg(long, default_value_t = 5)]
    runs: u32,
}

impl TreeOptions {
    /// Hosts and radix of each tree.
    pub fn trees(&self) -> impl Iterator<Item = (u64, u8)> + use<> {
        let hosts = self.hosts;
        let trees = TREES.into_iter();
        trees.filter(move |tree| hosts.is_none_or(|only| only == tree.0))
    }

    /// Runs, one at least.
    pub fn runs(&self) -> u32 {
        self.runs.max(1)
    }
}
