//! Follows all classes of destinations, tile by tile, on all cores. What it finds does not depend
//! on how the tiles are shared out.

use rayon::prelude::*;

use super::Tables;
use super::classes::{Class, TILE, coarse, fine};
use super::dependency::Dependencies;
use super::tile::{Shown, Tile};
use super::view::View;

/// What following all destinations has shown.
pub(super) struct Followed {
    /// Switch and class where an entry leads nowhere although cables do; in order.
    pub(super) dropped: Vec<(u32, Class)>,
    /// Single LIDs whose steps run in a circle, in order.
    pub(super) looping: Vec<Class>,
    /// The dependencies of all that does not run in a circle.
    pub(super) graph: Dependencies,
    /// Links on a cycle of dependencies or leading to one; none when there is no cycle.
    pub(super) cyclic: Vec<usize>,
}

/// Follows all destinations: quickly first, LID by LID where that objects.
pub(super) fn follow(view: &View, layers: &[Tables<'_>]) -> Followed {
    let classes = coarse(view);
    let (shown, graph) = run(view, layers, &classes);
    let mixed = shown.looping;
    let (single, extra) = run(view, layers, &fine(view, &mixed));
    let graph = graph.merge(&extra);
    let mut followed = Followed {
        cyclic: graph.cyclic(view),
        dropped: shown.dropped,
        looping: single.looping,
        graph,
    };
    if !followed.cyclic.is_empty() {
        let (_, exact) = run(view, layers, &fine(view, &classes));
        followed.cyclic = exact.cyclic(view);
        followed.graph = exact;
    }
    followed
}

/// Follows some classes. Tiles are dealt out to the threads one by one, as neighbours take alike
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
