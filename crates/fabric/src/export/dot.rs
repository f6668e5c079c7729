//! Graphviz, for pictures.

use std::io::{self, BufWriter, Write};

use super::escape_name;
use crate::topology::{Node, NodeId, PortRef, Topology};

/// Drawing options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DotOptions {
    /// Draw the hosts; without them a large fabric is still readable.
    pub hosts: bool,
}

impl Default for DotOptions {
    fn default() -> Self {
        Self { hosts: true }
    }
}

/// Writes an undirected graph; `sink` need not be buffered. Nodes are called `n<NodeId>` and carry
/// their names as labels; the labels of a cable's ends are its ports.
///
/// # Errors
/// The sink's.
pub fn write_dot(topology: &Topology, options: DotOptions, sink: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    writeln!(
        out,
        "graph fabric {{\n  graph [rankdir=BT];\n  edge [fontsize=8];"
    )?;
    let shown = |node: &Node| options.hosts || node.is_switch();
    for (id, node) in topology.nodes().filter(|(_, node)| shown(node)) {
        let shape = if node.is_switch() { "box" } else { "ellipse" };
        writeln!(
            out,
            "  n{} [shape={shape}, label=\"{}\"];",
            id.0,
            label(node)
        )?;
    }
    let visible = |id: NodeId| topology.node(id).is_some_and(shown);
    for (a, b) in topology.links() {
        if visible(a.node) && visible(b.node) {
            write_cable(&mut out, topology, a, b)?;
        }
    }
    writeln!(out, "}}")?;
    out.flush()
}

fn write_cable(
    out: &mut impl Write,
    topology: &Topology,
    a: PortRef,
    b: PortRef,
) -> io::Result<()> {
    let lanes = topology.port(a).map_or(0, |port| port.width().lanes());
    let style = if lanes < 4 { ", style=dashed" } else { "" };
    writeln!(
        out,
        "  n{} -- n{} [taillabel=\"{}\", headlabel=\"{}\"{style}];",
        a.node.0, b.node.0, a.port, b.port
    )
}

fn label(node: &Node) -> String {
    let name = escape_name(node.description.bytes());
    name.replace('\\', "\\\\").replace('"', "\\\"")
}
