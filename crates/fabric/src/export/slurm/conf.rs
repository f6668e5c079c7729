//! `topology.conf`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::hostlist::{expand, is_name, of_set};
use super::known::value;
use super::{Plugin, SlurmTopology, TextError};

/// The first line of a file.
pub(super) const HEAD: &str =
    "# Written by `weft slurm topology`: changes by hand are lost when hosts or switches move.";

/// The text of a file: leaf switches first, then tier by tier, by name.
pub fn write_conf(topology: &SlurmTopology) -> String {
    let mut text = format!("{HEAD}\n");
    let (leaves, above) = topology.in_order();
    let kind = match topology.plugin {
        Plugin::Tree => "SwitchName",
        Plugin::Block => "BlockName",
    };
    // Writing to a String does not fail.
    for name in leaves {
        let _ = writeln!(
            text,
            "{kind}={name} Nodes={}",
            of_set(&topology.leaves[name])
        );
    }
    for name in above {
        let children = of_set(&topology.above[name]);
        let _ = writeln!(text, "SwitchName={name} Switches={children}");
    }
    if !topology.block_sizes.is_empty() {
        let sizes: Vec<String> = topology.block_sizes.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "BlockSizes={}", sizes.join(","));
    }
    text
}

/// Reads a file, of whoever wrote it.
///
/// # Errors
/// The line that is not understood.
pub fn read_conf(text: &str) -> Result<SlurmTopology, TextError> {
    let mut read = SlurmTopology::default();
    let mut joined = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        match line.strip_suffix('\\') {
            Some(first) => joined.push_str(first),
            None => {
                joined.push_str(line);
                let words = std::mem::take(&mut joined);
                read_line(&words, &mut read).map_err(|what| TextError::new(index + 1, what))?;
            }
        }
    }
    Ok(read)
}

fn read_line(line: &str, read: &mut SlurmTopology) -> Result<(), String> {
    let mut name = None;
    let (mut nodes, mut switches) = (BTreeSet::new(), BTreeSet::new());
    for word in line.split_whitespace() {
        let field = |key| value(word, key);
        if let Some(text) = field("SwitchName").or(field("BlockName")) {
            if !is_name(text) {
                return Err(format!("{text:?} is no name of a single switch or block"));
            }
            if field("BlockName").is_some() {
                read.plugin = Plugin::Block;
            }
            name = Some(text);
        } else if let Some(list) = field("Nodes") {
            nodes.extend(expand(list)?);
        } else if let Some(list) = field("Switches") {
            switches.extend(expand(list)?);
        } else if let Some(sizes) = field("BlockSizes") {
            read.plugin = Plugin::Block;
            read.block_sizes = block_sizes(sizes)?;
            return Ok(());
        } else if field("LinkSpeed").is_none() && field("BlockLevels").is_none() {
            return Err(format!(
                "{word:?}: SwitchName=, Switches=, Nodes=, LinkSpeed=, BlockName= and BlockSizes= are understood"
            ));
        }
    }
    if let Some(name) = name {
        add(&mut read.leaves, name, nodes);
        add(&mut read.above, name, switches);
    }
    Ok(())
}

fn add(to: &mut BTreeMap<String, BTreeSet<String>>, name: &str, what: BTreeSet<String>) {
    if !what.is_empty() {
        to.entry(name.to_owned()).or_default().extend(what);
    }
}

/// Sizes of blocks between commas.
pub(super) fn block_sizes(text: &str) -> Result<Vec<u32>, String> {
    let sizes = text.split(',').map(|size| size.trim().parse());
    let sizes: Result<Vec<u32>, _> = sizes.collect();
    sizes.map_err(|_| format!("{text:?} is no list of sizes of blocks, such as 30,120"))
}
