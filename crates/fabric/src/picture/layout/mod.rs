//! Places of boxes: by tiers where links lead up from the hosts, in a grid where names are coordinates, else in a
//! circle, or in rows where that would be too large.

mod cells;
mod circle;
mod grid;
mod tiers;

use super::graph::Graph;
use crate::topology::Topology;
use cells::Cells;

/// A landscape page of A4 without its margins, at 96 dots an inch; lengths are of these dots.
const PAGE: (f32, f32) = (1060.0, 735.0);
/// What stands above and below the boxes.
pub(super) const HEAD: f32 = 58.0;
pub(super) const FOOT: f32 = 40.0;
/// Around all.
pub(super) const MARGIN: f32 = 16.0;

/// A box's upper left corner and size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
}

impl Rect {
    pub(super) fn center(&self) -> (f32, f32) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }
}

/// Where everything is.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// By box.
    pub(super) rects: Vec<Rect>,
    /// By line, how far it is bent to the side, so that it does not run behind boxes.
    pub(super) bows: Vec<f32>,
    /// Text at a place.
    pub(super) captions: Vec<(f32, f32, String)>,
    /// From the upper left corner of the first to the lower right one of the last.
    pub(super) size: (f32, f32),
}

impl Layout {
    pub(super) fn new(topology: &Topology, graph: &Graph) -> Self {
        let cells = Cells::new(graph);
        let placed = tiers::place(topology, graph, &cells)
            .or_else(|| grid::place(graph, &cells))
            .or_else(|| circle::place(graph, &cells))
            .unwrap_or_else(|| grid::rows(graph, &cells));
        let mut layout = Self {
            rects: cells.rects(graph, &placed.at),
            bows: Vec::new(),
            captions: placed.captions,
            size: (0.0, 0.0),
        };
        layout.move_to_origin();
        layout.bows = layout.bends(graph, cells.pitch().0);
        layout.leave_room(graph);
        layout
    }

    fn move_to_origin(&mut self) {
        let corner = |of: fn(&Rect) -> f32| self.rects.iter().map(of).reduce(f32::min);
        let (left, top) = (corner(|rect| rect.x), corner(|rect| rect.y));
        let (left, top) = (left.unwrap_or(0.0), top.unwrap_or(0.0));
        for rect in &mut self.rects {
            rect.x -= left;
            rect.y -= top;
            self.size.0 = self.size.0.max(rect.x + rect.width);
            self.size.1 = self.size.1.max(rect.y + rect.height);
        }
        for (x, y, _) in &mut self.captions {
            *x -= left;
            *y -= top;
        }
    }

    /// Lines that bend beyond the outermost boxes; they keep half of their bow.
    fn leave_room(&mut self, graph: &Graph) {
        for (line, bow) in graph
            .lines
            .iter()
            .zip(&self.bows)
            .filter(|(_, bow)| **bow > 0.0)
        {
            let [a, b] = [line.boxes.0, line.boxes.1].map(|place| self.rects[place]);
            if a.center().0 == b.center().0 {
                self.size.0 = self.size.0.max(a.x + a.width + bow / 2.0);
            }
        }
    }

    /// Lines along a row or a column bend where other boxes are between their ends.
    fn bends(&self, graph: &Graph, pitch: f32) -> Vec<f32> {
        let bend = |(a, b): (usize, usize)| {
            let ((x1, y1), (x2, y2)) = (self.rects[a].center(), self.rects[b].center());
            let height = self.rects[a].height.max(self.rects[b].height);
            let (across, down) = ((x2 - x1).abs(), (y2 - y1).abs());
            let hangs = graph.boxes[a].parent == Some(b) || graph.boxes[b].parent == Some(a);
            match () {
                () if hangs || a == b => 0.0,
                () if down < 1.0 && across > pitch * 1.7 => height * longer(across / pitch),
                () if across < 1.0 && down > height * 2.9 => pitch * 0.4 * longer(down / height),
                () => 0.0,
            }
        };
        graph.lines.iter().map(|line| bend(line.boxes)).collect()
    }
}

/// Lines over more boxes bend more.
fn longer(boxes: f32) -> f32 {
    (0.8 + 0.1 * boxes).min(1.6)
}

/// The upper left corners of cells by box, and captions.
struct Placed {
    at: Vec<Option<(f32, f32)>>,
    captions: Vec<(f32, f32, String)>,
}

/// How much of its size a picture keeps on a page.
fn scale(width: f32, height: f32) -> f32 {
    let (width, height) = (width + 2.0 * MARGIN, height + HEAD + FOOT + 2.0 * MARGIN);
    (PAGE.0 / width).min(PAGE.1 / height)
}
