//! Proofs that are kept, so that the next one has to follow only what has changed.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{LinearTables, PortGroupTables, Topology};

use super::changes::changed_lids;
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
        let changed = changed_lids((&self.judged.view, old), (&view, new));
        let classes = coarse(&view);
        let moved = |class: &Class| changed.any(class.lids(&view));
        let split = classes.partition_point(|class| class.is_data);
        let (data, management) = classes.split_at(split);
        let due: Vec<bool> = data
            .par_chunks(TILE)
            .map(|tile| tile.iter().any(moved))
            .collect();
        let layers = [new];
        let due_tiles: Vec<&[Class]> = data
            .chunks(TILE)
            .zip(&due)
            .filter(|(_, due)| **due)
            .map(|(tile, _)| tile)
            .collect();
        let mut fresh = follow_tiles(&view, &layers, &due_tiles)?.into_iter();
        let due_management: Vec<Class> = management
            .iter()
            .filter(|class| moved(class))
            .copied()
            .collect();
        if !is_clean(&run(&view, &layers, &due_management).0) {
            return None;
        }
        let stays = view.has_same_links(&self.judged.view);
        let old_tiles = tiles.par_iter().zip(&due);
        let kept: Vec<Option<Arc<Dependencies>>> = old_tiles
            .map(|(tile, due)| match (due, stays) {
                (true, _) => None,
                (false, true) => Some(Arc::clone(tile)),
                (false, false) => Some(Arc::new(tile.moved(&self.judged.view, &view))),
            })
            .collect();
        let tiles: Option<Vec<_>> = kept
            .into_iter()
            .map(|tile| tile.or_else(|| fresh.next()))
            .collect();
        let (judged, tiles) = finish(view, tiles?)?;
        Some(Self {
            judged,
            linear: Arc::clone(linear),
            groups: Arc::clone(groups),
            tiles: Some(tiles),
        })
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

type Whole = (Judged, Vec<Arc<Dependencies>>);

/// Follows everything, class by class, tile by tile; none where that does not suffice.
fn whole(topology: &Topology, tables: Tables<'_>) -> Option<Whole> {
    if tables.linear.lanes().count() > 1 || !View::shared_lids(topology).is_empty() {
        return None;
    }
    let view = View::new(topology);
    let classes = coarse(&view);
    let (data, management) = classes.split_at(classes.partition_point(|class| class.is_data));
    if data.len().div_ceil(TILE) * Dependencies::new(&view).words() > KEPT_LIMIT {
        return None;
    }
    let layers = [tables];
    let all: Vec<&[Class]> = data.chunks(TILE).collect();
    let tiles = follow_tiles(&view, &layers, &all)?;
    if !is_clean(&run(&view, &layers, management).0) {
        return None;
    }
    finish(view, tiles)
}

/// Puts what the tiles have shown together; none where it closes a cycle.
fn finish(view: View, tiles: Vec<Arc<Dependencies>>) -> Option<Whole> {
    let graph = Dependencies::union(&view, &tiles);
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
) -> Option<Vec<Arc<Dependencies>>> {
    let followed = tiles.par_iter().map_init(
        || Tile::new(view, layers),
        |tile, classes| {
            let mut graph = Dependencies::new(view);
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
    use weft_fabric::{Lid, PortNum, PortRef, SwitchIndex, SwitchPortGroups};

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

    /// Some entries of some switches point elsewhere.
    fn changed(old: &LinearTables, dice: &mut Dice) -> Arc<LinearTables> {
        let mut rows: Vec<Arc<[u8]>> = (0..old.len() as u32)
            .map(|switch| Arc::clone(old.row_shared(SwitchIndex(switch)).unwrap()))
            .collect();
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
        let (mut good, mut bad) = (0, 0);
        for _ in 0..600 {
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
            let groups = grouped(&whole, &mut dice);
            let tables = Tables {
                linear: &linear,
                groups: &groups,
            };
            let judged = certify(&next, tables);
            match proof.advance(&next, &linear, &groups) {
                Some(proof) => {
                    assert_eq!(Ok(proof.certificate()), judged.as_ref());
                    good += 1;
                }
                None => bad += usize::from(judged.is_err()),
            }
        }
        assert!(good > 100, "{good}");
        assert!(bad > 100, "{bad}");
    }
}
