//! `weft slurm`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum SlurmCommand {
    /// Write Slurm's topology.conf or topology.yaml from the fabric; the file changes only if hosts or switches have moved.
    #[command(after_help = TOPOLOGY)]
    Topology(SlurmTopologyArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct SlurmTopologyArgs {
    /// The file's format; by default that of the name of --output, conf otherwise. Slurm reads yaml from 25.05 on.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<SlurmFormat>,
    /// Slurm's plugin: topology/tree, or topology/block, where the nodes of each leaf switch are a block.
    #[arg(long, value_enum, value_name = "PLUGIN", default_value_t = SlurmPlugin::Tree)]
    pub(crate) plugin: SlurmPlugin,
    /// Only leaf switches and one root for each fabric, instead of all switches that join some.
    #[arg(long)]
    pub(crate) skeleton: bool,
    /// Sizes of blocks, such as 24,48; by default that of the smallest block.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) block_sizes: Vec<u32>,
    /// The nodes that Slurm knows, instead of asking scontrol: output of `scontrol show nodes`, or names; `-` is standard
    /// input.
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,
    /// Write to this file, if it would change, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Run `scontrol reconfigure` if the file has changed. If that fails, the old file is put back.
    #[arg(long, requires = "output")]
    pub(crate) reconfigure: bool,
    /// Only print what would change.
    #[arg(short = 'n', long, requires = "output")]
    pub(crate) dry_run: bool,
    /// Leave out nodes, switches and links that the file has and the fabric has not.
    #[arg(long)]
    pub(crate) prune: bool,
    /// Also where more than half of the file's nodes would go, or the file is not understood.
    #[arg(long)]
    pub(crate) force: bool,
    /// Read the fabric from an opareport snapshot instead of the daemon; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) snapshot: Option<PathBuf>,
    /// Print what changes as JSON.
    #[arg(long, requires = "output")]
    pub(crate) json: bool,
}

/// A format of the topology file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SlurmFormat {
    Conf,
    Yaml,
}

/// A plugin of Slurm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SlurmPlugin {
    Tree,
    Block,
}

const TOPOLOGY: &str = "\
What the file has and the fabric lacks for the moment stays in it: a link, a switch or a host that is down \
changes nothing, and a node that is seen at another switch moves there. --prune removes what is gone. A file \
without nodes is never written.\n\n\
Examples:
  weft slurm topology --skeleton                       print the file
  weft slurm topology -n -o /etc/slurm/topology.conf   what would change
  weft slurm topology --skeleton -o /etc/slurm/topology.conf --reconfigure";
