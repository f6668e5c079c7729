//! Tiers from the hosts' switches up: in the order of names, or of what is below where that crosses fewer lines.

use super::cells::Cells;
use super::{Placed, scale};
use crate::picture::graph::Graph;
use crate::topology::Topology;
use crate::tree::{SIDEWAYS_SHARE, tiers};

/// A picture keeps so much of its size, for text that can be read on a page.
const READABLE: f32 = 0.8;
/// Between tiers: a share of the width, within limits.
const GAP_SHARE: f32 = 0.16;
const GAP: (f32, f32) = (70.0, 260.0);

/// None where the fabric has no tiers.
pub(super) fn place(topology: &Topology, graph: &Graph, cells: &Cells) -> Option<Placed> {
    let (levels, top) = levels(topology, graph)?;
    let levels = ordered(graph, levels);
    let heights: Vec<f32> = levels
        .iter()
        .map(|level| cells.row(level.iter().copied()))
        .collect();
    let shape = Shape::best(&levels, &heights, cells.pitch().0);
    let mut placed = Placed {
        at: vec![None; graph.boxes.len()],
        captions: Vec::new(),
    };
    let mut y = 0.0;
    let last = levels.len().saturating_sub(1);
    for (number, (level, height)) in levels.iter().zip(&heights).enumerate().rev() {
        if number < last {
            y += shape.gap;
        }
        let rows = shape.rows(level.len());
        let columns = level.len().div_ceil(rows);
        let spacing = shape.width / columns as f32;
        for (place, root) in level.iter().enumerate() {
            let (column, row) = (place / rows, place % rows);
            // Lines to a row pass between the boxes of the next.
            let aside = match rows {
                1 => 0.0,
                _ => spacing / 4.0 * (if row % 2 == 0 { -1.0 } else { 1.0 }),
            };
            let x = (column as f32 + 0.5) * spacing + aside - cells.pitch().0 / 2.0;
            placed.at[*root] = Some((x, y + row as f32 * height));
        }
        let switches = level.len();
        if levels.len() > 1 {
            let what = match (switches, number == last && top) {
                (1, false) => format!("tier {}: 1 switch", number + 1),
                (_, false) => format!("tier {}: {switches} switches", number + 1),
                (_, true) => "no host is joined to these".to_owned(),
            };
            let at = match number {
                0 => y + rows as f32 * height - 6.0,
                _ => y - 6.0,
            };
            placed.captions.push((0.0, at, what));
        }
        y += rows as f32 * height;
    }
    Some(placed)
}

/// Boxes of each tier, and whether those of the last are joined to no host.
fn levels(topology: &Topology, graph: &Graph) -> Option<(Vec<Vec<usize>>, bool)> {
    let tiers = tiers(topology);
    let tier = |place: usize| tiers[graph.boxes[place].node.0 as usize];
    let roots = || graph.roots().map(|(place, _)| place);
    let highest = roots().map(tier).filter(|tier| *tier != u32::MAX).max()?;
    let (mut all, mut sideways) = (0, 0);
    for line in graph
        .lines
        .iter()
        .filter(|line| tier(line.boxes.0) > 0 && tier(line.boxes.1) > 0)
    {
        all += line.links.len();
        if tier(line.boxes.0) == tier(line.boxes.1) {
            sideways += line.links.len();
        }
    }
    if sideways * SIDEWAYS_SHARE > all {
        return None;
    }
    let mut levels = vec![Vec::new(); highest.max(1) as usize + 1];
    for root in roots() {
        let level = match tier(root) {
            u32::MAX => highest.max(1),
            tier => tier.max(1) - 1,
        };
        levels[level as usize].push(root);
    }
    let unjoined = levels.pop().unwrap_or_default();
    let top = !unjoined.is_empty();
    levels.extend(Some(unjoined).filter(|_| top));
    Some((levels, top))
}

/// Boxes of each tier in order.
fn ordered(graph: &Graph, mut levels: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    // Boxes are numbered in the order of their names.
    for upper in 1..levels.len() {
        let below = &levels[upper - 1];
        let mut at = vec![None; graph.boxes.len()];
        for (place, of) in below.iter().enumerate() {
            at[*of] = Some(place);
        }
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); graph.boxes.len()];
        for line in &graph.lines {
            let (a, b) = line.boxes;
            ends[a].extend(at[b]);
            ends[b].extend(at[a]);
        }
        ends.iter_mut().for_each(|ends| ends.sort_unstable());
        let middle = |of: &usize| {
            let ends = &ends[*of];
            // Twice the mean, in whole numbers, for an order that is total.
            (2 * ends.iter().sum::<usize>())
                .checked_div(ends.len())
                .unwrap_or(0)
        };
        let by_name = levels[upper].clone();
        let mut by_middle = by_name.clone();
        by_middle.sort_by_key(|of| (middle(of), *of));
        let crossings = |order: &[usize]| crossings(order.iter().map(|of| &ends[*of]), below.len());
        if crossings(&by_middle) * 10 < crossings(&by_name) * 9 {
            levels[upper] = by_middle;
        }
    }
    levels
}

/// Pairs of lines that cross, given the sorted lower ends of each upper box in order.
fn crossings<'a>(uppers: impl Iterator<Item = &'a Vec<usize>>, below: usize) -> u64 {
    // A binary indexed tree of the lower ends so far.
    let mut tree = vec![0_u64; below + 1];
    let (mut seen, mut crossings) = (0_u64, 0_u64);
    for ends in uppers {
        for end in ends {
            let mut at = end + 1;
            let mut up_to = 0;
            while at > 0 {
                up_to += tree[at];
                at &= at - 1;
            }
            crossings += seen - up_to;
        }
        for end in ends {
            let mut at = end + 1;
            while at <= below {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
            seen += 1;
        }
    }
    crossings
}

/// Boxes in a row at most, and what follows.
struct Shape {
    columns: usize,
    width: f32,
    gap: f32,
}

impl Shape {
    /// The one with the longest rows whose text can be read on a page, or else that with the largest text.
    fn best(levels: &[Vec<usize>], heights: &[f32], pitch: f32) -> Self {
        let most = levels.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let mut best = (0.0, Self::new(most, most, pitch));
        for columns in (1..=most).rev() {
            let shape = Self::new(columns, most, pitch);
            let rows = levels.iter().zip(heights);
            let rows: f32 = rows
                .map(|(level, height)| shape.rows(level.len()) as f32 * height)
                .sum();
            let height = rows + shape.gap * levels.len().saturating_sub(1) as f32;
            let scale = scale(shape.width, height);
            if scale >= READABLE {
                return shape;
            }
            if scale > best.0 {
                best = (scale, shape);
            }
        }
        best.1
    }

    fn new(columns: usize, most: usize, pitch: f32) -> Self {
        let aside = if columns < most { 0.5 } else { 0.0 };
        let width = (columns as f32 + aside) * pitch;
        let gap = (width * GAP_SHARE).clamp(GAP.0, GAP.1);
        Self {
            columns,
            width,
            gap,
        }
    }

    fn rows(&self, boxes: usize) -> usize {
        boxes.div_ceil(self.columns).max(1)
    }
}
