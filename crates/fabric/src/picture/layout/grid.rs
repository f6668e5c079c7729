//! Grids: switches whose names are coordinates; further dimensions are steps within a place of it.

use std::collections::BTreeSet;

use super::cells::Cells;
use super::{Placed, scale};
use crate::picture::graph::Graph;
use crate::picture::labels::numbers;

/// Share of lines along one dimension from which on names are coordinates, percent.
const ALONG_PERCENT: usize = 80;
/// Between blocks of more than two dimensions, in cells.
const BLOCK_GAP: f32 = 0.2;
/// Stairs are as flat as a picture allows that keeps so much of its size, else they go so far aside with each step.
const STAIRS_READABLE: f32 = 0.5;
const STEEP: f32 = 0.3;

/// None where names are no coordinates.
pub(super) fn place(graph: &Graph, cells: &Cells) -> Option<Placed> {
    let coordinates = coordinates(graph)?;
    let all = || coordinates.iter().flatten();
    let sizes: Vec<usize> = (0..all().next()?.len())
        .map(|dimension| all().map(|at| at[dimension] + 1).max().unwrap_or(1))
        .collect();
    let boxes: Vec<_> = graph.roots().map(|(place, _)| place).collect();
    // Lines need room between boxes.
    let cell = (
        cells.pitch().0 * 1.2,
        cells.row(boxes.iter().copied()) + cells.pitch().1 * 0.4,
    );
    let step = |at: &Vec<usize>| match sizes.len() {
        3 => stepped(at, &sizes, cell),
        _ => nested(at, &sizes, cell),
    };
    Some(Placed {
        at: coordinates.iter().map(|at| at.as_ref().map(step)).collect(),
        captions: Vec::new(),
    })
}

/// Boxes of the third dimension as a flight of stairs in the place of one, so that links of each dimension are short.
fn stepped(at: &[usize], sizes: &[usize], cell: (f32, f32)) -> (f32, f32) {
    let depth = sizes[2] as f32;
    let stair = |aside: f32| (cell.0 * (1.0 + aside * (depth - 1.0)), cell.1 * depth);
    let whole =
        |(width, height): (f32, f32)| scale(width * sizes[0] as f32, height * sizes[1] as f32);
    let aside = match whole(stair(1.0)) >= STAIRS_READABLE {
        true => 1.0,
        false => STEEP,
    };
    let (width, height) = stair(aside);
    let z = at[2] as f32;
    (
        at[0] as f32 * (width + cell.0 * 0.2) + z * cell.0 * aside,
        at[1] as f32 * (height + cell.1 * 0.4) + z * cell.1,
    )
}

/// Dimensions in turn across and down, the later ones in larger steps.
fn nested(at: &[usize], sizes: &[usize], cell: (f32, f32)) -> (f32, f32) {
    let mut place = [0.0; 2];
    let mut steps = [cell.0, cell.1];
    for (dimension, (at, size)) in at.iter().zip(sizes).enumerate() {
        let axis = dimension % 2;
        place[axis] += *at as f32 * steps[axis];
        steps[axis] *= *size as f32 + BLOCK_GAP;
    }
    (place[0], place[1])
}

/// All boxes in rows, by name.
pub(super) fn rows(graph: &Graph, cells: &Cells) -> Placed {
    let boxes: Vec<_> = graph.roots().map(|(place, _)| place).collect();
    // Lines need room between boxes.
    let cell = (
        cells.pitch().0 * 1.3,
        cells.row(boxes.iter().copied()) + cells.pitch().1 * 0.6,
    );
    let columns = best_columns(boxes.len(), cell);
    let mut at = vec![None; graph.boxes.len()];
    for (number, root) in boxes.into_iter().enumerate() {
        let (column, row) = (number % columns, number / columns);
        // Boxes of a column are not in line, so that lines pass between them.
        let aside = cell.0 * 0.15 * (row % 3) as f32;
        at[root] = Some((column as f32 * cell.0 + aside, row as f32 * cell.1));
    }
    Placed {
        at,
        captions: Vec::new(),
    }
}

/// Columns of tiles for the largest picture on a page.
fn best_columns(tiles: usize, (width, height): (f32, f32)) -> usize {
    let scale = |columns: usize| {
        let rows = tiles.div_ceil(columns);
        scale(columns as f32 * width, rows as f32 * height)
    };
    let all = 1..=tiles.max(1);
    all.max_by(|a, b| scale(*a).total_cmp(&scale(*b)))
        .unwrap_or(1)
}

/// By box, two or more coordinates from 0; none where names have no such.
fn coordinates(graph: &Graph) -> Option<Vec<Option<Vec<usize>>>> {
    let roots: Vec<_> = graph.roots().collect();
    let named: Vec<Vec<u32>> = roots.iter().map(|(_, of)| numbers(&of.name)).collect();
    let fields = named.iter().map(Vec::len).min()?;
    if named.iter().any(|numbers| numbers.len() != fields) {
        return None;
    }
    let values = |field: usize| {
        named
            .iter()
            .map(|numbers| numbers[field])
            .collect::<BTreeSet<_>>()
    };
    let values: Vec<(usize, BTreeSet<u32>)> = (0..fields)
        .map(|field| (field, values(field)))
        .filter(|(_, values)| values.len() > 1)
        .collect();
    let size = values.iter().fold(1_usize, |size, (_, values)| {
        size.saturating_mul(values.len())
    });
    if values.len() < 2 || size > 2 * roots.len() {
        return None;
    }
    let mut coordinates = vec![None; graph.boxes.len()];
    for ((place, _), numbers) in roots.iter().zip(&named) {
        let at = values
            .iter()
            .map(|(field, values)| values.range(..numbers[*field]).count());
        coordinates[*place] = Some(at.collect::<Vec<_>>());
    }
    let distinct: BTreeSet<_> = coordinates.iter().flatten().collect();
    (distinct.len() == roots.len() && are_along(graph, &coordinates)).then_some(coordinates)
}

/// Whether most lines lead along one dimension.
fn are_along(graph: &Graph, coordinates: &[Option<Vec<usize>>]) -> bool {
    let ends = graph.lines.iter().map(|line| line.boxes);
    let ends = ends.filter_map(|(a, b)| Some((coordinates[a].as_ref()?, coordinates[b].as_ref()?)));
    let (mut all, mut along) = (0, 0);
    for (a, b) in ends {
        all += 1;
        along += usize::from(a.iter().zip(b).filter(|(a, b)| a != b).count() == 1);
    }
    along * 100 >= all * ALONG_PERCENT
}
