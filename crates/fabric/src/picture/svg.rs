//! SVG 1.1, without scripts and without anything from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use quick_xml::escape::escape;

use super::Picture;
use super::graph::{Graph, Line};
use super::layout::{FOOT, HEAD, Layout, MARGIN, Rect};
use super::style::{self, State, Style};
use crate::export::escape_name;
use crate::text::count_and;
use crate::topology::{PortRef, Topology};

/// Labels of lines at most; all have one where a pointer is over them.
const LABELS_MAX: usize = 200;
/// Width of a character in the legend.
const CHARACTER: f32 = 5.6;
/// Up to so many lines, they are drawn in their full colour.
const FULL: f32 = 80.0;
/// Narrowest picture.
const NARROWEST: f32 = 420.0;

/// Writes the picture.
pub(super) fn write(
    picture: &Picture<'_>,
    graph: &Graph,
    layout: &Layout,
    out: &mut impl Write,
) -> io::Result<()> {
    let common = common_weight(graph);
    let legend = legend(picture, graph, &common);
    let drawn = layout.size.0.max(NARROWEST);
    let rows = wrapped(&legend, drawn);
    let (width, height) = (
        drawn + 2.0 * MARGIN,
        layout.size.1 + HEAD + FOOT + 16.0 * rows.len().saturating_sub(1) as f32 + 2.0 * MARGIN,
    );
    begin(picture, graph.lines.len(), (width, height), out)?;
    let left = MARGIN + (drawn - layout.size.0) / 2.0;
    writeln!(
        out,
        "<g transform=\"translate({left:.1} {:.1})\">",
        MARGIN + HEAD
    )?;
    let scene = Scene {
        picture,
        graph,
        layout,
        common,
    };
    scene.lines(out)?;
    for (x, y, text) in &layout.captions {
        writeln!(
            out,
            "<text class=\"caption\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text.as_str())
        )?;
    }
    scene.boxes(out)?;
    scene.labels(out)?;
    writeln!(out, "</g>")?;
    let top = MARGIN + HEAD + layout.size.1 + 28.0;
    write_legend(&legend, &rows, top, out)?;
    writeln!(out, "</svg>")
}

fn begin(
    picture: &Picture<'_>,
    lines: usize,
    (width, height): (f32, f32),
    out: &mut impl Write,
) -> io::Result<()> {
    let topology = picture.topology;
    let (hfis, switches) = (topology.hfis().count(), topology.switches().len());
    let many = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let counts = [
        many(hfis, "HFI", "HFIs"),
        many(switches, "switch", "switches"),
        many(topology.links().count(), "link", "links"),
    ];
    let counts = counts.join(", ");
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"10\">"
    )?;
    let title = escape_name(picture.title.as_bytes());
    let title = escape(&title);
    writeln!(out, "<title>{title}: {counts}</title>")?;
    writeln!(out, "<style>{}</style>", style_sheet(lines))?;
    writeln!(
        out,
        "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>"
    )?;
    writeln!(
        out,
        "<text class=\"head\" x=\"{MARGIN}\" y=\"{:.0}\">{title}</text>",
        MARGIN + 12.0
    )?;
    writeln!(
        out,
        "<text class=\"counts\" x=\"{MARGIN}\" y=\"{:.0}\">{counts}</text>",
        MARGIN + 27.0
    )
}

fn style_sheet(lines: usize) -> String {
    // Where many lines cross, each is lighter.
    let opacity = (FULL / lines.max(1) as f32).sqrt().clamp(0.12, 1.0);
    let mut text = "\npath{fill:none}text{fill:#0f172a}.head{font-size:14px;font-weight:bold}\
        .counts,.caption,.legend{font-size:10px;fill:#475569}.name{text-anchor:middle}\
        .below{text-anchor:middle;font-size:9px;fill:#475569}\
        .on{text-anchor:middle;font-size:9px;stroke:#ffffff;stroke-width:3px;paint-order:stroke}\
        .switch rect{fill:#e2e8f0;stroke:#334155}.host rect{fill:#f8fafc;stroke:#94a3b8}\
        .switch.out rect{fill:#ffffff;stroke-width:1.6px;stroke-dasharray:6 3}\
        .caption{stroke:#ffffff;stroke-width:3px;paint-order:stroke}\
        .faint{opacity:.25}.line:hover path{stroke:#000000;opacity:1}g:hover>rect{stroke:#000000}\n"
        .to_owned();
    // Writing to a String does not fail.
    let _ = writeln!(text, ".line .well{{opacity:{opacity:.2}}}");
    for style in style::all() {
        let dashes = match style.dashes {
            "" => String::new(),
            dashes => format!(";stroke-dasharray:{dashes}"),
        };
        let _ = writeln!(
            text,
            ".{}{{stroke:{};stroke-width:{}px{dashes}}}",
            style.class, style.color, style.width
        );
    }
    text
}

struct Scene<'a> {
    picture: &'a Picture<'a>,
    graph: &'a Graph,
    layout: &'a Layout,
    /// What most lines carry.
    common: Option<String>,
}

impl Scene<'_> {
    /// Usual lines first, so that the others are seen.
    fn lines(&self, out: &mut impl Write) -> io::Result<()> {
        let mut order: Vec<usize> = (0..self.graph.lines.len()).collect();
        let load = |line: &usize| self.graph.lines[*line].load().unwrap_or(0.0);
        order.sort_by(|a, b| {
            let key = |line: &usize| {
                (
                    self.graph.ways.contains_key(line),
                    self.graph.lines[*line].state(),
                )
            };
            key(a).cmp(&key(b)).then(load(a).total_cmp(&load(b)))
        });
        for line in order {
            self.line(line, out)?;
        }
        Ok(())
    }

    fn line(&self, number: usize, out: &mut impl Write) -> io::Result<()> {
        let line = &self.graph.lines[number];
        let ways = self.graph.ways.get(&number);
        let has_routes = !self.picture.marks.courses.is_empty();
        let faint = if has_routes && ways.is_none() {
            " faint"
        } else {
            ""
        };
        writeln!(
            out,
            "<g class=\"line{faint}\"><title>{}</title>",
            escape(tell(self.picture.topology, line))
        )?;
        let path = self.path(number);
        let style = line_style(line);
        let width = match style == style::WELL {
            // More links, a wider line.
            true if line.links.len() > 1 => format!(" style=\"stroke-width:{:.1}px\"", width(line)),
            _ => String::new(),
        };
        writeln!(out, "<path class=\"{}\"{width} d=\"{path}\"/>", style.class)?;
        // The widest and least important first.
        for (way, _) in ways.into_iter().flatten().rev() {
            writeln!(
                out,
                "<path class=\"{}\" d=\"{path}\"/>",
                style::of_way(*way).class
            )?;
        }
        if line.state() == State::Lost {
            let (x, y) = self.point(number, 0.5);
            writeln!(
                out,
                "<path class=\"lost\" style=\"stroke-dasharray:none\" d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\"/>",
                x - 4.0,
                y - 4.0
            )?;
        }
        writeln!(out, "</g>")
    }

    fn ends(&self, number: usize) -> ((f32, f32), (f32, f32)) {
        let (a, b) = self.graph.lines[number].boxes;
        let (a, b) = (self.layout.rects[a], self.layout.rects[b]);
        match self.layout.bows[number] {
            0.0 => (edge(&a, &b), edge(&b, &a)),
            _ => (side(&a, &b), side(&b, &a)),
        }
    }

    /// The control point of a bent line.
    fn control(&self, number: usize) -> (f32, f32) {
        let ((x1, y1), (x2, y2)) = self.ends(number);
        let (x, y, bow) = ((x1 + x2) / 2.0, (y1 + y2) / 2.0, self.layout.bows[number]);
        match (y1 - y2).abs() < (x1 - x2).abs() {
            true => (x, y - bow),
            false => (x + bow, y),
        }
    }

    fn path(&self, number: usize) -> String {
        let ((x1, y1), (x2, y2)) = self.ends(number);
        let (a, b) = self.graph.lines[number].boxes;
        if a == b {
            // A cable from a switch to itself.
            return format!("M{x1:.1} {y1:.1}m-8 -17c-6 -22 22 -22 16 0");
        }
        let parents = [self.graph.boxes[a].parent, self.graph.boxes[b].parent];
        if let Some((switch, host)) = match parents {
            [_, Some(parent)] if parent == a => Some((a, b)),
            [Some(parent), _] if parent == b => Some((b, a)),
            _ => None,
        } {
            return rail(&self.layout.rects[switch], &self.layout.rects[host]);
        }
        if self.layout.bows[number] == 0.0 {
            return format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        }
        let (x, y) = self.control(number);
        format!("M{x1:.1} {y1:.1}Q{x:.1} {y:.1} {x2:.1} {y2:.1}")
    }

    /// A point of a line, 0 at its first box and 1 at its second.
    fn point(&self, number: usize, at: f32) -> (f32, f32) {
        let (a, b) = self.ends(number);
        let c = self.control(number);
        let of = |a: f32, c: f32, b: f32| {
            (1.0 - at) * (1.0 - at) * a + 2.0 * at * (1.0 - at) * c + at * at * b
        };
        (of(a.0, c.0, b.0), of(a.1, c.1, b.1))
    }

    fn boxes(&self, out: &mut impl Write) -> io::Result<()> {
        for (of, rect) in self.graph.boxes.iter().zip(&self.layout.rects) {
            let class = match (of.is_switch, of.is_drained) {
                (false, _) => "host",
                (true, false) => "switch",
                (true, true) => "switch out",
            };
            let below = match (of.is_drained, of.below.as_str()) {
                (true, "") => "drained".to_owned(),
                (true, below) => format!("drained, {below}"),
                (false, below) => below.to_owned(),
            };
            let mut about = of.name.clone();
            of.folded
                .iter()
                .for_each(|host| about = format!("{about}\n{host}"));
            writeln!(
                out,
                "<g class=\"{class}\" id=\"n{}\"><title>{}</title>",
                of.node.0,
                escape(about)
            )?;
            let Rect {
                x,
                y,
                width,
                height,
            } = rect;
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\"/>"
            )?;
            let (middle, center) = rect.center();
            let name = if below.is_empty() {
                center + 3.5
            } else {
                center - 3.0
            };
            writeln!(
                out,
                "<text class=\"name\" x=\"{middle:.1}\" y=\"{name:.1}\">{}</text>",
                escape(of.label.as_str())
            )?;
            if !below.is_empty() {
                writeln!(
                    out,
                    "<text class=\"below\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
                    center + 10.0,
                    escape(below)
                )?;
            }
            writeln!(out, "</g>")?;
        }
        Ok(())
    }

    /// Weights of lines that are not as most; on routes the ports.
    fn labels(&self, out: &mut impl Write) -> io::Result<()> {
        let lines = 0..self.graph.lines.len();
        let texts = lines.filter_map(|number| Some((number, self.label(number)?)));
        for (number, text) in texts.take(LABELS_MAX) {
            // Lines meet at their ends: labels of neighbours are at different heights.
            let from_below = [0.3, 0.42, 0.36][number % 3];
            let (a, b) = self.graph.lines[number].boxes;
            let at = match self.layout.rects[a].y < self.layout.rects[b].y {
                true => 1.0 - from_below,
                false => from_below,
            };
            let (x, y) = self.point(number, at);
            writeln!(
                out,
                "<text class=\"on\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
                escape(text)
            )?;
        }
        Ok(())
    }

    fn label(&self, number: usize) -> Option<String> {
        let line = &self.graph.lines[number];
        let is_inner = self.graph.is_between_switches(line);
        if let Some(ways) = self.graph.ways.get(&number) {
            let is_base = ways.iter().any(|(way, _)| *way == super::Way::Base);
            return (is_base && is_inner).then(|| self.ports_on_route(line))?;
        }
        if !self.picture.marks.courses.is_empty() {
            return None;
        }
        let weight = line.weight();
        (line.state() != State::Well || self.common.as_ref() != Some(&weight) && is_inner)
            .then_some(weight)
    }

    /// The egress and the ingress port of packets on the base LID's route.
    fn ports_on_route(&self, line: &Line) -> Option<String> {
        let courses = self.picture.marks.courses.iter();
        let base = courses.filter(|course| course.way == super::Way::Base);
        let mut links = base.flat_map(|course| &course.links);
        let ends: BTreeSet<PortRef> = line.links.iter().map(|link| link.ends.0).collect();
        let (a, b) = links.find(|(a, b)| ends.contains(a) || ends.contains(b))?;
        Some(format!("port {} to {}", a.port, b.port))
    }
}

/// Where a line meets a box: in the middle of the side that looks to the other box.
fn edge(of: &Rect, other: &Rect) -> (f32, f32) {
    let (x, y) = of.center();
    let (_, far) = other.center();
    match () {
        () if other.y >= of.y + of.height => (x, of.y + of.height),
        () if other.y + other.height <= of.y => (x, of.y),
        () => (x, if far == y { y } else { y + (far - y).signum() }),
    }
}

/// The line to a host that hangs below a switch, along the left side of its column.
fn rail(switch: &Rect, host: &Rect) -> String {
    let (x, y) = (host.x - 5.0, switch.y + switch.height);
    let start = x.clamp(switch.x + 4.0, switch.x + switch.width - 4.0);
    format!(
        "M{start:.1} {y:.1}v2H{x:.1}V{:.1}H{:.1}",
        host.center().1,
        host.x
    )
}

/// Where a bent line meets a box: above it where the other is in its row, else right of it.
fn side(of: &Rect, other: &Rect) -> (f32, f32) {
    let ((x, y), far) = (of.center(), other.center());
    match (far.1 - y).abs() < (far.0 - x).abs() {
        true => (x + (far.0 - x).signum() * of.width * 0.3, of.y),
        false => (of.x + of.width, y + (far.1 - y).signum() * of.height * 0.25),
    }
}

fn line_style(line: &Line) -> Style {
    match (line.state(), line.load()) {
        (State::Well, Some(share)) => style::of_load(share),
        (state, _) => style::of_state(state),
    }
}

/// Wider with more data rate: of one link of 100g the usual width, of nine three times that.
fn width(line: &Line) -> f32 {
    let mbps: f32 = line.up().map(|link| link.mbps as f32).sum();
    style::WELL.width * (mbps / 100_000.0).sqrt().clamp(1.0, 5.0)
}

/// All links of a line, for a pointer over it.
fn tell(topology: &Topology, line: &Line) -> String {
    let name = |at: PortRef| {
        let name = topology
            .node(at.node)
            .map_or_else(String::new, crate::Node::name);
        format!("{name}:{}", at.port)
    };
    let mut text = line.weight();
    for link in &line.links {
        let state = match link.state {
            State::Well => "",
            State::Drained => ", drained",
            State::Degraded => ", slower than it could be",
            State::Lost => ", down",
        };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "\n{} - {}{state}",
            name(link.ends.0),
            name(link.ends.1)
        );
        if let Some((there, back)) = link.load {
            let _ = write!(
                text,
                ", {:.1} % there, {:.1} % back",
                there * 100.0,
                back * 100.0
            );
        }
    }
    text
}

/// What more lines between switches carry than anything else.
fn common_weight(graph: &Graph) -> Option<String> {
    let mut weights: BTreeMap<String, usize> = BTreeMap::new();
    let lines = graph.lines.iter();
    for line in lines.filter(|line| graph.is_between_switches(line)) {
        *weights.entry(line.weight()).or_default() += 1;
    }
    let most = weights.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(weight, _)| weight)
}

/// What is explained below the picture: a line, or only text.
fn legend(
    picture: &Picture<'_>,
    graph: &Graph,
    common: &Option<String>,
) -> Vec<(Option<Style>, String)> {
    let mut entries = Vec::new();
    let marks = picture.marks;
    if let Some(weight) = common {
        let style = marks.load.is_none().then_some(style::WELL);
        entries.push((style, format!("{weight} between switches, unless marked")));
    }
    if marks.load.is_some() {
        entries.push((None, "utilization, the busier direction:".to_owned()));
        entries.extend(style::loads().map(|style| (Some(style), style.legend.to_owned())));
    }
    let states: BTreeSet<State> = graph.lines.iter().map(Line::state).collect();
    let states = states.into_iter().filter(|state| *state != State::Well);
    let ways: BTreeSet<_> = graph.ways.values().flatten().map(|(way, _)| *way).collect();
    let styles = states
        .map(style::of_state)
        .chain(ways.into_iter().map(style::of_way));
    entries.extend(styles.map(|style| (Some(style), style.legend.to_owned())));
    if marks.lost_with_node > 0 {
        let text = format!(
            "{} down with a node that is gone",
            count_and(marks.lost_with_node, "more link", ["is", "are"])
        );
        entries.push((None, text));
    }
    entries
}

fn entry_width((style, text): &(Option<Style>, String)) -> f32 {
    let sample = if style.is_some() { 38.0 } else { 0.0 };
    sample + text.chars().count() as f32 * CHARACTER + 18.0
}

/// The first entry of each row of the legend.
fn wrapped(legend: &[(Option<Style>, String)], width: f32) -> Vec<usize> {
    let (mut rows, mut x) = (vec![0], 0.0);
    for (number, entry) in legend.iter().enumerate() {
        if x > 0.0 && x + entry_width(entry) > width {
            rows.push(number);
            x = 0.0;
        }
        x += entry_width(entry);
    }
    rows
}

fn write_legend(
    legend: &[(Option<Style>, String)],
    rows: &[usize],
    top: f32,
    out: &mut impl Write,
) -> io::Result<()> {
    let (mut x, mut y) = (MARGIN, top);
    for (number, entry) in legend.iter().enumerate() {
        if number > 0 && rows.contains(&number) {
            (x, y) = (MARGIN, y + 16.0);
        }
        let mut text_at = x;
        if let Some(style) = &entry.0 {
            let line = y - 3.5;
            writeln!(
                out,
                "<path class=\"{}\" d=\"M{x:.1} {line:.1}h32\"/>",
                style.class
            )?;
            text_at += 38.0;
        }
        writeln!(
            out,
            "<text class=\"legend\" x=\"{text_at:.1}\" y=\"{y:.1}\">{}</text>",
            escape(entry.1.as_str())
        )?;
        x += entry_width(entry);
    }
    Ok(())
}
