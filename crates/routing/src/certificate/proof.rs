//! Proofs that are kept, so that the next one has to follow only what has changed.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{LinearTables, PortGroupTables, SwitchIndex, Topology};

use super::changes::{Changes, changed_lids};
use super::classes::{Class, TILE, coarse};
use super::dependency::Dependencies;
use super::follow::run;
use super::tile::{Shown, Tile};
use super::view::View;
use super::{Certificate, Judged, Refusal, Tables, judge, summary};

/// Most words of dependencies that are kept: 128 MiB. Larger fabrics are certified as a whole every
/// time.
const KEPT_LIMIT: usize = 1 << 24;

/// A certificate with all that shows it.
#[derive(Debug)]
pub(crate) struct Proof {
    pub(super) judged: Judged,
    linear: Arc<LinearTables>,
    groups: Arc<PortGroupTables>,
    /// What is known of each tile of data classes, in the order of [`coarse`]; none where LIDs had
    /// to be followed one by one.
    tiles: Option<Vec<Arc<Dependencies>>>,
}

impl Proof {
    /// Judges tables.
    ///
    /// # Errors
    /// [`Refusal`] with what is wrong.
    pub(crate) fn new(
        topology: &Topology,
        linear: &Arc<LinearTables>,
        groups: &Arc<PortGroupTables>,
    ) -> Result<Self, Refusal> {
        let tables = Tables { linear, groups };
        let proof = |judged, tiles| Self {
            judged,
            linear: Arc::clone(linear),
            groups: Arc::clone(groups),
            tiles,
        };
        if let Some((judged, tiles)) = whole(topology, tables) {
            return Ok(proof(judged, Some(tiles)));
        }
        Ok(proof(judge(topology, tables)?, None))
    }

    /// The same for what has become of the topology and the tables: follows only destinations
    /// whose entries have changed or lead over a link that has. None where that does not show that
    /// the tables are good; [`Self::new`] then tells.
    pub(crate) fn advance(
        &self,
        topology: &Topology,
        linear: &Arc<LinearTables>,
        groups: &Arc<PortGroupTables>,
    ) -> Option<Self> {
        let tiles = self.tiles.as_ref()?;
        if linear.lanes().count() > 1 || !View::shared_lids(topology).is_empty() {
            return None;
        }
        let view = View::new(topology);
        if !view.has_same_ends(&self.judged.view) {
            return None;
        }
        let (new, old) = (Tables { linear, groups }, self.tables());
        let changes = changed_lids((&self.judged.view, old), (&view, new));
        let classes = coarse(&view);
        let (data, management) = split(&classes);
        let is_due = |class: &Class| changes.anywhere.any(class.lids(&view));
        let chunks = data.par_chunks(TILE);
        let due: Vec<bool> = chunks.map(|tile| tile.iter().any(is_due)).collect();
        if !management_arrives(&view, new, management, &changes) {
            return None;
        }
        let tiles = self.renew(tiles, (&view, new), data, &due)?;
        let (judged, tiles) = finish(view, tiles)?;
        Some(Self {
            judged,
            linear: Arc::clone(linear),
            groups: Arc::clone(groups),
            tiles: Some(tiles),
        })
    }

    /// The dependencies of all tiles, followed anew where that is due.
    fn renew(
        &self,
        tiles: &[Arc<Dependencies>],
        (view, tables): (&View, Tables<'_>),
        data: &[Class],
        due: &[bool],
    ) -> Option<Vec<Arc<Dependencies>>> {
        let old = &self.judged.view;
        let again = data.chunks(TILE).zip(due).filter(|(_, due)| **due);
        let again: Vec<&[Class]> = again.map(|(tile, _)| tile).collect();
        let layers = [tables];
        let empty = Dependencies::new(view);
        let mut fresh = follow_tiles(view, &layers, &again, &empty)?.into_iter();
        let stays = view.has_same_links(old);
        let changed: Vec<bool> = (0..view.len())
            .map(|switch| view.is_changed(old, switch))
            .collect();
        let kept: Vec<Option<Arc<Dependencies>>> = tiles
            .par_iter()
            .zip(due)
            .map(|(tile, due)| match (due, stays) {
                (true, _) => None,
                (false, true) => Some(Arc::clone(tile)),
                (false, false) => Some(Arc::new(tile.moved((old, view), &empty, &changed))),
            })
            .collect();
        kept.into_iter()
            .map(|tile| tile.or_else(|| fresh.next()))
            .collect()
    }

    /// The certificate.
    pub(crate) fn certificate(&self) -> &Certificate {
        &self.judged.certificate
    }

    pub(super) fn tables(&self) -> Tables<'_> {
        Tables {
            linear: &self.linear,
            groups: &self.groups,
        }
    }
}

/// The classes of data and those of management.
fn split(classes: &[Class]) -> (&[Class], &[Class]) {
    classes.split_at(classes.partition_point(|class| class.is_data))
}

/// Whether management still arrives everywhere.
///
/// Where the entries for a LID have changed at a few switches only, its routes lead to one of these
/// or over entries that are proved; so it is enough to walk from each of these.
fn management_arrives(
    view: &View,
    tables: Tables<'_>,
    classes: &[Class],
    changes: &Changes,
) -> bool {
    let adaptive = !tables.groups.switches.is_empty();
    let due = |class: &&Class| match adaptive {
        true => changes.anywhere.any(class.lids(view)),
        false => changes.elsewhere.any(class.lids(view)),
    };
    let all: Vec<Class> = classes.iter().filter(due).copied().collect();
    if !is_clean(&run(view, &[tables], &all).0) {
        return false;
    }
    let others = classes.par_iter().filter(|class| !adaptive && !due(class));
    others.all(|class| {
        let mut lids = class
            .lids(view)
            .filter(|lid| changes.anywhere.any([*lid].into_iter()));
        lids.all(|lid| {
            let mut starts = changes.apart.iter();
            starts.all(|from| arrives(view, tables, *from, (class.target, lid)))
        })
    })
}

/// Whether the linear entries lead a switch's own LID from another switch to its port 0.
fn arrives(view: &View, tables: Tables<'_>, from: u32, (target, lid): (u32, u32)) -> bool {
    let mut at = from;
    for _ in 0..=view.len() {
        let row = tables.linear.row(SwitchIndex(at));
        let Some(port) = row.get(lid as usize) else {
            return false;
        };
        if at == target {
            return *port == 0;
        }
        let Some(link) = view.link_at(at as usize, *port) else {
            return false;
        };
        at = view.links[link].to;
    }
    false
}

type Whole = (Judged, Vec<Arc<Dependencies>>);

/// Follows everything, class by class, tile by tile; none where that does not suffice.
fn whole(topology: &Topology, tables: Tables<'_>) -> Option<Whole> {
    if tables.linear.lanes().count() > 1 || !View::shared_lids(topology).is_empty() {
        return None;
    }
    let view = View::new(topology);
    let classes = coarse(&view);
    let (data, management) = split(&classes);
    let empty = Dependencies::new(&view);
    if data.len().div_ceil(TILE) * empty.words() > KEPT_LIMIT {
        return None;
    }
    let layers = [tables];
    let all: Vec<&[Class]> = data.chunks(TILE).collect();
    let tiles = follow_tiles(&view, &layers, &all, &empty)?;
    if !is_clean(&run(&view, &layers, management).0) {
        return None;
    }
    finish(view, tiles)
}

/// Puts what the tiles have shown together; none where it closes a cycle.
fn finish(view: View, tiles: Vec<Arc<Dependencies>>) -> Option<Whole> {
    let graph = Dependencies::new(&view).union(&tiles);
    if !graph.cyclic(&view).is_empty() {
        return None;
    }
    let graphs = vec![graph];
    let judged = Judged {
        certificate: summary(&view, &graphs),
        view,
        graphs,
    };
    Some((judged, tiles))
}

/// The dependencies of each tile; none where a class is not clean.
fn follow_tiles(
    view: &View,
    layers: &[Tables<'_>],
    tiles: &[&[Class]],
    empty: &Dependencies,
) -> Option<Vec<Arc<Dependencies>>> {
    let followed = tiles.par_iter().map_init(
        || Tile::new(view, layers),
        |tile, classes| {
            let mut graph = empty.empty();
            let mut shown = Shown::default();
            tile.follow(classes, &mut graph, &mut shown);
            is_clean(&shown).then(|| Arc::new(graph))
        },
    );
    followed.collect()
}

fn is_clean(shown: &Shown) -> bool {
    shown.dropped.is_empty() && shown.looping.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use weft_fabric::generate::FabricSpec;
    use weft_fabric::{Lid, PortNum, PortRef, SwitchPortGroups};

    use super::*;
    use crate::{EngineKind, Settings, certify, route};

    /// Numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    fn fabric() -> Topology {
        let spec: FabricSpec = "fattree:54,radix=6".parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
        for (end, lid) in ends.into_iter().zip(1..) {
            let node = topology.node_mut(end.node).unwrap();
            node.port_mut(end.port).unwrap().info.lid = Lid(lid);
        }
        topology
    }

    /// Some entries of some switches point elsewhere, in some cases most of one switch's, as after a
    /// lost link.
    fn changed(old: &LinearTables, dice: &mut Dice) -> Arc<LinearTables> {
        let mut rows: Vec<Arc<[u8]>> = (0..old.len() as u32)
            .map(|switch| Arc::clone(old.row_shared(SwitchIndex(switch)).unwrap()))
            .collect();
        if dice.below(3) == 0 {
            let count = rows.len();
            let row = Arc::make_mut(&mut rows[dice.below(count)]);
            let (from, to) = (4 + dice.below(3) as u8, 4 + dice.below(3) as u8);
            let entries = row.iter_mut().filter(|port| **port == from);
            entries.for_each(|port| *port = to);
        }
        for _ in 0..dice.below(4) {
            let count = rows.len();
            let row = Arc::make_mut(&mut rows[dice.below(count)]);
            let lid = dice.below(row.len());
            row[lid] = [1, 2, 3, 4, 5, 6, 0xFF][dice.below(7)];
        }
        Arc::new(LinearTables::new(rows))
    }

    /// One switch may have a group of two ports for a few LIDs.
    fn grouped(topology: &Topology, dice: &mut Dice) -> Arc<PortGroupTables> {
        let count = topology.switches().len();
        let chosen = dice.below(count * 2);
        let ports = [1, 4 + dice.below(3) as u8].map(PortNum);
        let mut fdb = vec![0xFF; 128];
        fdb[1 + dice.below(54)] = 0;
        let groups = SwitchPortGroups {
            groups: vec![ports.into_iter().collect()],
            fdb,
        };
        let switch = |switch| {
            Arc::new(if switch == chosen {
                groups.clone()
            } else {
                SwitchPortGroups::default()
            })
        };
        Arc::new(PortGroupTables {
            switches: (0..count).map(switch).collect(),
        })
    }

    #[test]
    fn what_follows_from_a_proof_is_what_judging_anew_says() {
        let whole = fabric();
        let settings = Settings {
            engine: EngineKind::Dmodc,
            ..Settings::default()
        };
        let cables: Vec<_> = whole.links().skip(54).collect();
        let mut dice = Dice(7);
        // By whether the tables have groups: without, management is walked from where it changed.
        let (mut good, mut bad) = ([0; 2], [0; 2]);
        for _ in 0..1200 {
            let mut topology = whole.clone();
            if dice.below(2) == 0 {
                topology.disconnect(cables[dice.below(cables.len())].0);
            }
            let routed = route(&topology, &settings).unwrap();
            let proof = Proof::new(&topology, routed.linear(), routed.groups()).unwrap();
            let mut next = topology.clone();
            if dice.below(3) == 0 {
                next.disconnect(cables[dice.below(cables.len())].0);
            }
            if dice.below(4) == 0 {
                next = whole.clone();
            }
            let linear = changed(routed.linear(), &mut dice);
            let adaptive = dice.below(2) == 0;
            let groups = match adaptive {
                true => grouped(&whole, &mut dice),
                false => Arc::default(),
            };
            let tables = Tables {
                linear: &linear,
                groups: &groups,
            };
            let judged = certify(&next, tables);
            match proof.advance(&next, &linear, &groups) {
                Some(proof) => {
                    assert_eq!(Ok(proof.certificate()), judged.as_ref());
                    good[usize::from(adaptive)] += 1;
                }
                None => bad[usize::from(adaptive)] += usize::from(judged.is_err()),
            }
        }
        assert!(good.iter().all(|good| *good > 100), "{good:?}");
        assert!(bad.iter().all(|bad| *bad > 100), "{bad:?}");
    }
}
