//! Cells: a box with those that hang below it.

use super::Rect;
use crate::picture::graph::Graph;

/// Height of a switch's box and of a host's.
const SWITCH: f32 = 34.0;
const HOST: f32 = 17.0;
/// Between boxes of a cell, and between cells.
const INNER: f32 = 4.0;
const SPACE: (f32, f32) = (14.0, 18.0);
/// Left of a host, for the line from its switch.
const RAIL: f32 = 9.0;
/// Hosts below each other.
const HOSTS_DOWN: usize = 16;
/// Width of a character of a label, and what is left and right of it.
const CHARACTER: f32 = 6.2;
const SIDES: f32 = 12.0;
const NARROWEST: f32 = 58.0;

pub(super) struct Cells {
    /// By box, those that hang below it.
    children: Vec<Vec<usize>>,
    switch_width: f32,
    /// With the line beside it.
    host_width: f32,
    width: f32,
}

impl Cells {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut children = vec![Vec::new(); graph.boxes.len()];
        let (mut switch, mut host) = (NARROWEST, NARROWEST);
        for (place, of) in graph.boxes.iter().enumerate() {
            let characters = of.label.chars().count().max(of.below.chars().count());
            let width = characters as f32 * CHARACTER + SIDES;
            match of.parent {
                Some(parent) => {
                    children[parent].push(place);
                    host = host.max(width);
                }
                None => switch = switch.max(width),
            }
        }
        let most = children.iter().map(Vec::len).max().unwrap_or(0);
        let columns = most.div_ceil(HOSTS_DOWN) as f32;
        let hosts = columns * (host + RAIL + INNER) - INNER;
        Self {
            children,
            switch_width: switch,
            host_width: host + RAIL,
            width: switch.max(hosts),
        }
    }

    /// From one cell to the next, and from a row to the next where nothing hangs below boxes.
    pub(super) fn pitch(&self) -> (f32, f32) {
        (self.width + SPACE.0, SWITCH + SPACE.1)
    }

    /// From a row of cells to the next.
    pub(super) fn row(&self, of: impl Iterator<Item = usize>) -> f32 {
        let down = of.map(|root| self.children[root].len().min(HOSTS_DOWN));
        SWITCH + SPACE.1 + down.max().unwrap_or(0) as f32 * (HOST + INNER)
    }

    /// All boxes, with cells at their places.
    pub(super) fn rects(&self, graph: &Graph, at: &[Option<(f32, f32)>]) -> Vec<Rect> {
        let mut rects = vec![Rect::default(); graph.boxes.len()];
        for (root, (x, y)) in at
            .iter()
            .enumerate()
            .filter_map(|(n, at)| Some((n, (*at)?)))
        {
            rects[root] = Rect {
                x: x + (self.width - self.switch_width) / 2.0,
                y,
                width: self.switch_width,
                height: SWITCH,
            };
            let columns = self.children[root].len().div_ceil(HOSTS_DOWN) as f32;
            let left = x + (self.width - columns * (self.host_width + INNER) + INNER) / 2.0;
            for (n, child) in self.children[root].iter().enumerate() {
                let (column, row) = (n / HOSTS_DOWN, n % HOSTS_DOWN);
                rects[*child] = Rect {
                    x: left + column as f32 * (self.host_width + INNER) + RAIL,
                    y: y + SWITCH + INNER + row as f32 * (HOST + INNER),
                    width: self.host_width - RAIL,
                    height: HOST,
                };
            }
        }
        rects
    }
}
