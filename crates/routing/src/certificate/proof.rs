//! Stored proofs, so that the next one has to follow only changes.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{Lanes, LinearTables, Node, PortGroupTables, SwitchIndex, Topology};
use weft_state::State;

use super::again::{Again, Known, States};
use super::changes::{Changes, Kinds, changed_lids};
use super::classes::{Class, TILE, coarse};
use super::dependency::{Dependencies, Moves, NO_PLACE};
use super::follow::run;
use super::tile::{Shown, Tile};
use super::view::View;
use super::{Certificate, Judged, Refusal, Tables, answers, judge, summary};

/// Most words of dependencies that are kept: 128 MiB. Larger fabrics are certified as a whole every
/// time.
const KEPT_LIMIT: usize = 1 << 24;

/// A certificate with all that shows it.
#[derive(Debug, State)]
pub(crate) struct Proof {
    pub(super) judged: Judged,
    /// The nodes of the topology.
    nodes: Vec<Arc<Node>>,
    linear: Arc<LinearTables>,
    groups: Arc<PortGroupTables>,
    /// None where LIDs had to be followed one by one.
    parts: Option<Parts>,
}

/// Proof that data flows.
#[derive(Debug, State)]
struct Parts {
    /// Findings of each tile of data classes, in the order of [`coarse`].
    tiles: Vec<Arc<Known>>,
    /// By link, its place in an order in which links wait for earlier ones only.
    places: Vec<u32>,
}

impl Proof {
    /// Certifies tables.
    ///
    /// # Errors
    /// [`Refusal`] with the finding.
    pub(crate) fn new(
        topology: &Topology,
        linear: &Arc<LinearTables>,
        groups: &Arc<PortGroupTables>,
    ) -> Result<Self, Refusal> {
        let tables = Tables { linear, groups };
        let proof = |judged, parts| Self {
            judged,
            nodes: topology.nodes_shared().to_vec(),
            linear: Arc::clone(linear),
            groups: Arc::clone(groups),
            parts,
        };
        if let Some((judged, parts)) = whole(topology, tables) {
            return Ok(proof(judged, Some(parts)));
        }
        Ok(proof(judge(topology, tables)?, None))
    }

    /// Whether answers on the service level of the request are free of deadlock, too.
    pub(crate) fn covers_answers(&self) -> bool {
        answers::are_covered(&self.judged, self.tables())
    }

    /// Updates the proof after a change of topology and tables: follows only destinations
    /// with changed entries, or entries over a changed link. `None` if that does not prove that
    /// the tables are good; [`Self::new`] then decides.
    pub(crate) fn advance(
        &self,
        topology: &Topology,
        linear: &Arc<LinearTables>,
        groups: &Arc<PortGroupTables>,
    ) -> Option<Self> {
        let parts = self.parts.as_ref()?;
        if !is_single(linear.lanes()) {
            return None;
        }
        let view = self.view(topology)?;
        let states = States {
            old: (&self.judged.view, self.tables()),
            new: (&view, Tables { linear, groups }),
        };
        let classes = coarse(&view);
        let (data, management) = split(&classes);
        let kinds = Kinds::new(&view, data, management);
        let changes = changed_lids(states.old, states.new, &kinds);
        if !management_arrives(&view, states.new.1, management, &changes) {
            return None;
        }
        let graph = &self.judged.graphs.first()?;
        let moves = Moves::new(graph, (states.old.0, &view));
        let tiles = renew(&parts.tiles, states, data, (&changes, &moves))?;
        let places = moves.places(&parts.places);
        let (judged, parts) = finish(view, tiles, Some(places))?;
        Some(Self {
            judged,
            nodes: topology.nodes_shared().to_vec(),
            linear: Arc::clone(linear),
            groups: Arc::clone(groups),
            parts: Some(parts),
        })
    }

    /// The view of the changed topology, of lanes without halves; `None` if ends or LIDs have changed.
    fn view(&self, topology: &Topology) -> Option<View> {
        let old = &self.judged.view;
        let changed = topology.changed_since(&self.nodes);
        let after = changed.and_then(|changed| old.after(topology, &changed));
        let view = match after {
            Some(view) => view,
            None if View::shared_lids(topology).is_empty() => View::new(topology, Lanes::SINGLE),
            None => return None,
        };
        view.has_same_ends(old).then_some(view)
    }

    /// The nodes of the topology.
    pub(crate) fn nodes(&self) -> &[Arc<Node>] {
        &self.nodes
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

/// Most switches with changes for which a tile is not followed as a whole.
const FEW: usize = 8;

/// Findings of all tiles, renewed if necessary.
fn renew(
    tiles: &[Arc<Known>],
    states: States<'_>,
    data: &[Class],
    (changes, moves): (&Changes, &Moves),
) -> Option<Vec<Arc<Known>>> {
    let (old, new) = (states.old.0, states.new.0);
    let layers = [states.new.1];
    let stays = new.has_same_links(old);
    let empty = Dependencies::new(new);
    let made = tiles.par_iter().zip(data.par_chunks(TILE)).enumerate();
    let made = made.map_init(
        || (None, None),
        |(again, whole), (index, (known, classes))| {
            let changed: Vec<u32> = changes.in_tile(index).collect();
            if changed.is_empty() && stays {
                return Some(Arc::clone(known));
            }
            let graph = || known.graph.moved((old, new), moves);
            if changed.is_empty() {
                return Some(Arc::new(known.with(graph())));
            }
            let again = again.get_or_insert_with(|| Again::new(states));
            let mut few = || again.follow(classes, known, &changed, graph());
            let made = if changed.len() <= FEW { few() } else { None };
            made.map(Arc::new).or_else(|| {
                let tile = whole.get_or_insert_with(|| Tile::new(new, &layers));
                follow_tile(tile, classes, &empty)
            })
        },
    );
    made.collect()
}

/// Whether management still arrives everywhere.
///
/// If the entries for a LID have changed at some switches, its routes lead to one of these or
/// over entries that are proved; so it is enough to walk from each of these.
fn management_arrives(
    view: &View,
    tables: Tables<'_>,
    classes: &[Class],
    changes: &Changes,
) -> bool {
    let walked = |class: &Class| {
        let mut lids = class.lids(view);
        lids.all(|lid| {
            let mut starts = changes.at(lid);
            starts.all(|from| arrives(view, tables, from, (class.target, lid)))
        })
    };
    if tables.groups.switches.is_empty() && changes.tells_all() {
        return classes.par_iter().all(walked);
    }
    let due = |class: &&Class| changes.anywhere.any(class.lids(view));
    let due: Vec<Class> = classes.iter().filter(due).copied().collect();
    is_clean(&run(view, &[tables], &due).0)
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

type Whole = (Judged, Parts);

/// Whether all traffic is in one lane without halves.
fn is_single(lanes: &Lanes) -> bool {
    lanes.count() < 2 && lanes.datelines().is_none()
}

/// Follows everything, class by class, tile by tile; none where that does not suffice.
fn whole(topology: &Topology, tables: Tables<'_>) -> Option<Whole> {
    if !is_single(tables.linear.lanes()) || !View::shared_lids(topology).is_empty() {
        return None;
    }
    let view = View::new(topology, tables.linear.lanes());
    let classes = coarse(&view);
    let (data, management) = split(&classes);
    let empty = Dependencies::new(&view);
    if data.len().div_ceil(TILE) * empty.words() > KEPT_LIMIT {
        return None;
    }
    let layers = [tables];
    let tiles = data.par_chunks(TILE).map_init(
        || Tile::new(&view, &layers),
        |tile, classes| follow_tile(tile, classes, &empty),
    );
    let tiles = tiles.collect::<Option<Vec<Arc<Known>>>>()?;
    if !is_clean(&run(&view, &layers, management).0) {
        return None;
    }
    finish(view, tiles, None)
}

/// Combines the findings of the tiles; `None` if that closes a cycle. `places` may still be a valid
/// order of the links.
fn finish(view: View, tiles: Vec<Arc<Known>>, places: Option<Vec<u32>>) -> Option<Whole> {
    let all = tiles.iter().map(|tile| &tile.graph);
    let graph = Dependencies::new(&view).union(all);
    let kept = places.filter(|places| graph.is_in_order(&view, places));
    let found = || Some(graph.places(&view)).filter(|places| !places.contains(&NO_PLACE));
    let places = kept.or_else(found)?;
    let graphs = vec![graph];
    let judged = Judged {
        certificate: summary(&view, &graphs),
        view,
        graphs,
    };
    Some((judged, Parts { tiles, places }))
}

/// Findings of a tile; `None` if a class has a fault.
fn follow_tile(tile: &mut Tile<'_>, classes: &[Class], empty: &Dependencies) -> Option<Arc<Known>> {
    let mut graph = empty.empty();
    let mut shown = Shown::default();
    tile.follow(classes, &mut graph, &mut shown);
    is_clean(&shown).then(|| Arc::new(Known::new(graph, tile)))
}

fn is_clean(shown: &Shown) -> bool {
    shown.dropped.is_empty() && shown.looping.is_empty()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::samples::{Dice, changed, fabric, grouped};
    use super::*;
    use crate::{EngineKind, Settings, certify, route};

    #[test]
    fn what_follows_from_a_proof_is_what_judging_anew_says() {
        let whole = fabric("fattree:54,radix=6");
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
