//! Graphviz, with every node at the place that it has in the SVG: `dot`, `neato` and `fdp` keep it.

use std::io::{self, Write};

use super::graph::{Graph, Line};
use super::layout::Layout;
use super::style::{self, State, Style};

/// Dots of Graphviz in an inch, of which lengths of boxes are.
const INCH: f32 = 72.0;

/// Writes an undirected graph; nodes are called `n<NodeId>`.
pub(super) fn write(graph: &Graph, layout: &Layout, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "graph fabric {{\n  graph [layout=neato, splines=line, outputorder=edgesfirst];\n  \
         node [shape=box, fixedsize=true, fontsize=10, style=filled, fillcolor=\"#e2e8f0\"];\n  \
         edge [fontsize=8, color=\"{}\"];",
        style::WELL.color
    )?;
    for (of, rect) in graph.boxes.iter().zip(&layout.rects) {
        let (x, y) = rect.center();
        let mut label = of.label.clone();
        if !of.below.is_empty() {
            label = format!("{label}\n{}", of.below);
        }
        let mut about = of.name.clone();
        of.folded
            .iter()
            .for_each(|host| about = format!("{about}\n{host}"));
        let drained = if of.is_drained { ", style=dashed" } else { "" };
        writeln!(
            out,
            "  n{} [pos=\"{x:.1},{:.1}!\", width={:.2}, height={:.2}, label=\"{}\", tooltip=\"{}\"{drained}];",
            of.node.0,
            layout.size.1 - y,
            rect.width / INCH,
            rect.height / INCH,
            quoted(&label),
            quoted(&about)
        )?;
    }
    for (number, line) in graph.lines.iter().enumerate() {
        let way = graph.ways.get(&number).and_then(|ways| ways.first());
        let style = match (way, line.state(), line.load()) {
            (Some((way, _)), ..) => style::of_way(*way),
            (None, State::Well, Some(share)) => style::of_load(share),
            (None, state, _) => style::of_state(state),
        };
        write_line(graph, line, style, out)?;
    }
    writeln!(out, "}}")
}

fn write_line(graph: &Graph, line: &Line, style: Style, out: &mut impl Write) -> io::Result<()> {
    let (a, b) = (&graph.boxes[line.boxes.0], &graph.boxes[line.boxes.1]);
    let mut attributes = String::new();
    if line.links.len() > 1 || line.state() != State::Well {
        attributes += &format!("label=\"{}\", ", line.weight());
    }
    if let [link] = line.links.as_slice() {
        let (tail, head) = link.ends;
        attributes += &format!("taillabel=\"{}\", headlabel=\"{}\", ", tail.port, head.port);
    }
    if style.class != style::WELL.class {
        attributes += &format!("color=\"{}\", ", style.color);
    }
    if !style.dashes.is_empty() {
        attributes += match line.state() {
            State::Lost => "style=dotted, ",
            _ => "style=dashed, ",
        };
    }
    attributes += &format!("penwidth={}", style.width);
    writeln!(out, "  n{} -- n{} [{attributes}];", a.node.0, b.node.0)
}

/// Text between double quotes: Graphviz reads `\n` as the end of a line.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}
