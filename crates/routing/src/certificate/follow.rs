//! Follows all classes of destinations, tile by tile, on all cores. The result does not depend
//! on the distribution of tiles over threads.

use rayon::prelude::*;
use weft_fabric::Lid;

use super::Tables;
use super::classes::{Class, TILE, fine};
use super::dependency::Dependencies;
use super::tile::{Shown, Tile};
use super::view::View;

/// Result of following all destinations.
pub(super) struct Followed {
    /// Switch and class where an entry leads nowhere although cables do; in order.
    pub(super) dropped: Vec<(u32, Class)>,
    /// Single LIDs whose steps run in a circle, in order.
    pub(super) looping: Vec<Class>,
    /// At least one.
    pub(super) lanes: Vec<Lane>,
}

/// The waiting in one lane.
pub(super) struct Lane {
    /// The dependencies of all that does not run in a circle.
    pub(super) graph: Dependencies,
    /// Links on a cycle of dependencies or leading to one; none when there is no cycle.
    pub(super) cyclic: Vec<usize>,
}

impl Followed {
    /// Whether a lane has a cycle.
    pub(super) fn is_cyclic(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.cyclic.is_empty())
    }
}

/// Follows destinations, lane by lane.
pub(super) fn follow(view: &View, layers: &[Tables<'_>], all: &[Class]) -> Followed {
    let count = layers
        .iter()
        .map(|tables| tables.linear.lanes().count())
        .max();
    let mut followed = Followed {
        dropped: Vec::new(),
        looping: Vec::new(),
        lanes: Vec::new(),
    };
    for lane in 0..count.unwrap_or(1) {
        let classes = match count {
            Some(0 | 1) | None => all.to_vec(),
            _ => in_lane(layers, lane, &fine(view, all)),
        };
        let shown = follow_lane(view, layers, &classes, &mut followed.lanes);
        followed.dropped.extend(shown.dropped);
        followed.looping.extend(shown.looping);
    }
    followed
}

/// The single LIDs that are in a lane in any of the tables; management counts for the first.
pub(super) fn in_lane(layers: &[Tables<'_>], lane: u8, classes: &[Class]) -> Vec<Class> {
    let is_in = |class: &&Class| match class.lid.filter(|_| class.is_data) {
        Some(lid) => layers
            .iter()
            .any(|tables| tables.linear.lanes().of(Lid(lid)) == lane),
        None => lane == 0,
    };
    classes.iter().filter(is_in).copied().collect()
}

/// Follows some classes: quickly first, LID by LID where that objects.
fn follow_lane(
    view: &View,
    layers: &[Tables<'_>],
    classes: &[Class],
    lanes: &mut Vec<Lane>,
) -> Shown {
    let (mut shown, graph) = run(view, layers, classes);
    let mixed = std::mem::take(&mut shown.looping);
    let (single, extra) = run(view, layers, &fine(view, &mixed));
    shown.looping = single.looping;
    let mut graph = graph.merge(&extra);
    let mut cyclic = graph.cyclic(view);
    if !cyclic.is_empty() {
        (_, graph) = run(view, layers, &fine(view, classes));
        cyclic = graph.cyclic(view);
    }
    lanes.push(Lane { graph, cyclic });
    shown
}

/// Follows some classes. Tiles are assigned to the threads one by one, as neighbours take alike
/// long.
pub(super) fn run(view: &View, layers: &[Tables<'_>], classes: &[Class]) -> (Shown, Dependencies) {
    let threads = rayon::current_num_threads();
    let tiles = classes.len().div_ceil(TILE);
    let parts: Vec<(Vec<Shown>, Dependencies)> = (0..threads.min(tiles))
        .into_par_iter()
        .map(|first| {
            let mut tile = Tile::new(view, layers);
            let mut graph = Dependencies::new(view);
            let own = classes.chunks(TILE).skip(first).step_by(threads);
            let shown = own.map(|classes| {
                let mut shown = Shown::default();
                tile.follow(classes, &mut graph, &mut shown);
                shown
            });
            (shown.collect(), graph)
        })
        .collect();
    let mut all = Shown::default();
    let mut graph = Dependencies::new(view);
    let mut queues = Vec::with_capacity(parts.len());
    for (shown, part) in parts {
        queues.push(shown.into_iter());
        graph = graph.merge(&part);
    }
    // In order of tiles, however many threads there were.
    for index in 0..tiles {
        let shown = queues[index % threads].next().unwrap_or_default();
        all.dropped.extend(shown.dropped);
        all.looping.extend(shown.looping);
    }
    (all, graph)
}
