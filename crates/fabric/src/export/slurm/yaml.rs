//! `topology.yaml`, which Slurm reads from 25.05 on.
//!
//! Only files that were written here are read back: others may hold topologies of other partitions.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::conf::HEAD;
use super::hostlist::{expand, is_name, of_set};
use super::{Plugin, SlurmTopology, TextError};

/// The name of the one topology.
const NAME: &str = "weft";
/// Words that YAML does not take as text.
const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];

/// The text of a file: one topology, which is the default of the cluster.
pub fn write_yaml(topology: &SlurmTopology) -> String {
    let mut text = format!("{HEAD}\n---\n- topology: {NAME}\n  cluster_default: true\n");
    let (leaves, above) = topology.in_order();
    let (head, item) = match topology.plugin {
        Plugin::Tree => ("  tree:\n    switches:\n", "switch"),
        Plugin::Block => ("  block:\n", "block"),
    };
    text += head;
    // Writing to a String does not fail.
    if topology.plugin == Plugin::Block {
        let sizes: Vec<String> = topology.block_sizes.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "    block_sizes: [{}]\n    blocks:", sizes.join(", "));
    }
    for name in leaves {
        let nodes = scalar(&of_set(&topology.leaves[name]));
        let _ = writeln!(
            text,
            "      - {item}: {}\n        nodes: {nodes}",
            scalar(name)
        );
    }
    for name in above {
        let children = scalar(&of_set(&topology.above[name]));
        let _ = writeln!(
            text,
            "      - switch: {}\n        children: {children}",
            scalar(name)
        );
    }
    text
}

/// Text, in quotes if YAML would take it for something else.
fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    match is_plain {
        true => text.to_owned(),
        false => format!("\"{text}\""),
    }
}

/// Reads a file that [`write_yaml`] wrote.
///
/// # Errors
/// The first line that it does not write.
pub fn read_yaml(text: &str) -> Result<SlurmTopology, TextError> {
    let mut read = SlurmTopology::default();
    let mut name = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            read_line(line, &mut name, &mut read)
                .map_err(|what| TextError::new(index + 1, what))?;
        }
    }
    Ok(read)
}

fn read_line(
    line: &str,
    name: &mut Option<String>,
    read: &mut SlurmTopology,
) -> Result<(), String> {
    let unknown = || {
        format!(
            "{line:?} is not what `weft slurm topology` writes, and other topologies are not its own to change"
        )
    };
    let (key, value) = match line {
        "---" => return Ok(()),
        _ => line.split_once(':').ok_or_else(unknown)?,
    };
    let value = value.trim().trim_matches('"');
    match (key, value) {
        ("- topology", NAME) | ("cluster_default", "true") => {}
        ("tree" | "switches" | "blocks", "") => {}
        ("block", "") => read.plugin = Plugin::Block,
        ("block_sizes", sizes) => {
            let sizes = sizes.trim_start_matches('[').trim_end_matches(']');
            read.block_sizes = super::conf::block_sizes(sizes)?;
        }
        ("- switch" | "- block", new) if is_name(new) => *name = Some(new.to_owned()),
        ("nodes" | "children", list) => {
            let names: BTreeSet<String> = expand(list)?.into_iter().collect();
            let switch = name.clone().ok_or_else(unknown)?;
            let to = match key {
                "nodes" => &mut read.leaves,
                _ => &mut read.above,
            };
            to.entry(switch).or_default().extend(names);
        }
        _ => return Err(unknown()),
    }
    Ok(())
}
