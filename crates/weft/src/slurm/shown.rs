//! What has been done, for people and for programs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use weft_fabric::export::slurm::{Change, Note, Placed, compress};
use weft_fabric::text::count;

/// A file after a run.
pub(super) struct Done<'a> {
    pub(super) file: &'a Path,
    /// It differs from what it was, or would.
    pub(super) changed: bool,
    pub(super) written: bool,
    pub(super) reconfigured: bool,
    pub(super) change: Change,
    pub(super) placed: Placed,
}

impl Done<'_> {
    pub(super) fn as_text(&self) -> String {
        let state = match (self.changed, self.written) {
            (false, _) => "unchanged",
            (true, true) => "written",
            (true, false) => "would be written",
        };
        let topology = &self.placed.topology;
        let mut text = format!(
            "{}: {state}: {} in {}",
            self.file.display(),
            count(topology.nodes().count(), "node"),
            count(topology.leaves.len(), "leaf"),
        );
        if !topology.above.is_empty() {
            text += &format!(", {} above", topology.above.len());
        }
        text.push('\n');
        if self.changed {
            lines(&self.change)
                .iter()
                .for_each(|line| text += &format!("  {line}\n"));
        }
        if self.reconfigured {
            text += "  scontrol reconfigure: done\n";
        }
        for note in &self.placed.notes {
            text += &format!("note: {note}\n");
        }
        if let Some(yaml) = self.hidden_by() {
            text += &format!("note: Slurm does not read this file, because there is {yaml}\n");
        }
        text
    }

    /// The file that Slurm reads instead.
    fn hidden_by(&self) -> Option<String> {
        let yaml = self.file.with_file_name("topology.yaml");
        let is_conf = self
            .file
            .file_name()
            .is_some_and(|name| name == "topology.conf");
        (is_conf && yaml.exists()).then(|| yaml.display().to_string())
    }

    pub(super) fn as_json(&self) -> Value {
        let (topology, change) = (&self.placed.topology, &self.change);
        let moved = change
            .moved
            .iter()
            .map(|(node, from, to)| json!({"node": node, "from": from, "to": to}));
        json!({
            "file": self.file.display().to_string(),
            "changed": self.changed,
            "written": self.written,
            "reconfigured": self.reconfigured,
            "nodes": topology.nodes().count(),
            "leaves": topology.leaves.len(),
            "above": topology.above.len(),
            "added": change.added,
            "removed": change.removed,
            "moved": moved.collect::<Vec<_>>(),
            "new_switches": change.new_switches,
            "lost_switches": change.lost_switches,
            "other_children": change.other_children,
            "notes": self.placed.notes.iter().map(note).collect::<Vec<_>>(),
            "hidden_by": self.hidden_by(),
        })
    }
}

fn list(names: &[String]) -> String {
    compress(names.iter().map(String::as_str))
}

fn lines(change: &Change) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |names: &[String], noun: &str, what: &str| {
        if !names.is_empty() {
            lines.push(format!(
                "{} {what}: {}",
                count(names.len(), noun),
                list(names)
            ));
        }
    };
    say(&change.added, "node", "added");
    say(&change.removed, "node", "removed");
    let mut moves: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (node, from, to) in &change.moved {
        moves.entry((from, to)).or_default().push(node.clone());
    }
    for ((from, to), nodes) in moves {
        say(&nodes, "node", &format!("moved from {from} to {to}"));
    }
    say(&change.new_switches, "switch", "added");
    say(&change.lost_switches, "switch", "removed");
    say(
        &change.other_children,
        "switch",
        "with other switches below",
    );
    if change.settings {
        lines.push("another plugin or other sizes of blocks".to_owned());
    }
    lines
}

fn note(note: &Note) -> Value {
    match note {
        Note::Kept(nodes) => json!({"kind": "kept", "nodes": nodes}),
        Note::KeptLinks(links) => json!({"kind": "kept_links", "links": links}),
        Note::Unplaced(nodes) => json!({"kind": "unplaced", "nodes": nodes}),
        Note::Unknown(hosts) => json!({"kind": "unknown", "hosts": hosts}),
    }
}
