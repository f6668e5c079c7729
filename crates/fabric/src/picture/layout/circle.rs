//! Circles, wider than high as a page is: every box in the order of names, lines across.

use std::f32::consts::TAU;

use super::Placed;
use super::cells::Cells;
use crate::picture::graph::Graph;

/// With more boxes a circle is too large for a page.
const BOXES_MAX: usize = 64;
/// Width of a page to its height.
const WIDE: f32 = 1.4;

/// None where there are too many boxes.
pub(super) fn place(graph: &Graph, cells: &Cells) -> Option<Placed> {
    let boxes: Vec<_> = graph.roots().map(|(place, _)| place).collect();
    if boxes.len() > BOXES_MAX {
        return None;
    }
    let cell = (cells.pitch().0, cells.row(boxes.iter().copied()));
    let mut radius = cell.1;
    // Ends: from a radius on, no two places are within a cell of each other.
    while boxes.len() > 1 && overlap(&places(boxes.len(), radius), cell) {
        radius *= 1.05;
    }
    let mut at = vec![None; graph.boxes.len()];
    for (root, place) in boxes.iter().zip(places(boxes.len(), radius)) {
        at[*root] = Some(place);
    }
    Some(Placed {
        at,
        captions: Vec::new(),
    })
}

/// Places from the left over the top.
fn places(count: usize, radius: f32) -> Vec<(f32, f32)> {
    let place = |n: usize| {
        let angle = n as f32 / count as f32 * TAU;
        (-angle.cos() * radius * WIDE, -angle.sin() * radius)
    };
    (0..count).map(place).collect()
}

fn overlap(places: &[(f32, f32)], cell: (f32, f32)) -> bool {
    let near =
        |a: &(f32, f32), b: &(f32, f32)| (a.0 - b.0).abs() < cell.0 && (a.1 - b.1).abs() < cell.1;
    let pairs = places.iter().enumerate();
    let mut pairs = pairs.flat_map(|(n, a)| places[n + 1..].iter().map(move |b| (a, b)));
    pairs.any(|(a, b)| near(a, b))
}
