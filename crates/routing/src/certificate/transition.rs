//! Certifies the transition from old tables to new ones: switches take their new entries one by one, so
//! packets meet every mixture of old and new.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{Lanes, Lid, LinearTables, PortGroupTables, SwitchIndex, Topology, UNREACHABLE};

use super::changes::{Lids, adapting_lids, moving_lids};
use super::classes::{Class, TILE, coarse, fine};
use super::dependency::{Dependencies, Moves};
use super::diagnosis::circles;
use super::finding::Refusal;
use super::follow::{Lane, follow, in_lane, run};
use super::proof::Proof;
use super::tile::{Shown, Tile};
use super::view::View;
use super::{Certificate, Judged, Tables, judge};
use crate::diff::{WritePlan, changed_blocks};

/// Transition from old tables to new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// Certificate of the new tables.
    pub certificate: Certificate,
    /// Blocks to write, in order.
    pub plan: WritePlan,
    /// The tables between the two phases of the plan; none where nothing has to be drained.
    pub middle: Option<LinearTables>,
}

/// Certifies new tables and every mixture with the old ones during the transition.
///
/// Where switches change lanes' halves otherwise than before ([`Old::moves_halves`]), all data traffic
/// between switches is drained: SCtoSC tables change before the last phase. A destination that changes its lane is drained. Senders that keep using its old service level
/// afterwards, because they have not renewed their path record, are not covered.
///
/// Adaptive routing is assumed to be paused while tables change ([`WritePlan::pause_adaptive`]), so
/// only linear entries mix. Old tables need not be good: faulty entries are
/// drained. Packets sent before an entry is drained are still in buffers then: they must have left
/// them before the second phase begins if [`WritePlan::settle_drained`] is set: if entries are
/// drained only because old and new ones together run in a loop, remaining packets of the old ones take
/// new entries from their next switch on, and are not proved to close no cycle with the packets of these.
/// [`WritePlan::settle_adaptive`] is the corresponding condition for the pause.
///
/// # Errors
/// [`Refusal`] when the new tables themselves are wrong.
pub fn certify_transition(
    topology: &Topology,
    old: Tables<'_>,
    new: Tables<'_>,
) -> Result<Transition, Refusal> {
    Ok(between(&judge(topology, new)?, Old::of(old), new))
}

/// Tables that switches may hold before the change.
#[derive(Debug, Clone, Copy)]
pub struct Old<'a> {
    /// The tables that they have confirmed.
    pub tables: Tables<'a>,
    /// Those that were sent, where some were not confirmed: each entry may be that of the one or the other.
    pub possible: Option<&'a LinearTables>,
    /// Some switch that has them changes lanes' halves otherwise than it will with the new ones.
    pub moves_halves: bool,
}

impl<'a> Old<'a> {
    /// Tables of which all is certain.
    pub fn of(tables: Tables<'a>) -> Self {
        Self {
            tables,
            possible: None,
            moves_halves: false,
        }
    }

    /// All tables that there may be.
    fn layers(self) -> impl Iterator<Item = &'a LinearTables> {
        [self.tables.linear].into_iter().chain(self.possible)
    }
}

/// Certifies a transition while more links are up than the new tables are made for: old entries may lead
/// over all of `links`, which has the nodes of `topology`, with the same numbers, and its links.
///
/// # Errors
/// [`Refusal`] when the new tables themselves are wrong for `topology`.
pub fn certify_transition_over(
    links: &Topology,
    topology: &Topology,
    old: Old<'_>,
    new: Tables<'_>,
) -> Result<Transition, Refusal> {
    let judged = among(&judge(topology, new)?, links, new.linear.lanes());
    Ok(between(&judged, old, new))
}

/// Certifies a transition to tables that are already proved.
pub(crate) fn transition(proof: &Proof, old: Old<'_>) -> Transition {
    between(&proof.judged, old, proof.tables())
}

/// Certifies a transition to tables that are already proved, while more links are up.
pub(crate) fn transition_over(proof: &Proof, links: &Topology, old: Old<'_>) -> Transition {
    let new = proof.tables();
    let judged = among(&proof.judged, links, new.linear.lanes());
    between(&judged, old, new)
}

/// The judged tables in a fabric with more links, which they do not use.
fn among(judged: &Judged, links: &Topology, lanes: &Lanes) -> Judged {
    let view = View::new(links, lanes);
    let views = (&judged.view, &view);
    let moved = |graph: &Dependencies| graph.moved(views, &Moves::new(graph, views));
    let graphs = judged.graphs.iter().map(moved).collect();
    Judged {
        certificate: judged.certificate.clone(),
        graphs,
        view,
    }
}

fn between(judged: &Judged, old: Old<'_>, new: Tables<'_>) -> Transition {
    let moves_halves = old.moves_halves;
    let Drained {
        mut lids,
        may_close_cycles,
    } = to_drain(judged, old, new);
    if moves_halves {
        lids.append(&mut all_data(&judged.view, old));
    }
    let goes = |switch: SwitchIndex, before: u8, after: u8| {
        let between_switches = || judged.view.link_at(switch.0 as usize, before).is_some();
        before != after || (moves_halves && between_switches())
    };
    let (middle, entries) = without(old, new.linear, &lids, goes);
    let is_certain = old.possible.is_none();
    let old = old.tables;
    let mut phases = Vec::new();
    if entries > 0 {
        phases.push(changed_blocks(old.linear, &middle));
    }
    phases.push(changed_blocks(&middle, new.linear));
    phases.retain(|writes| !writes.is_empty());
    let has_groups = !old.groups.switches.is_empty() || !new.groups.switches.is_empty();
    let moves_grouped = moves_halves && has_groups;
    let pause_adaptive = old.groups != new.groups || moves_grouped;
    let plan = WritePlan {
        phases,
        drained: entries,
        settle_drained: entries > 0 && (may_close_cycles || moves_halves),
        pause_adaptive,
        settle_adaptive: pause_adaptive
            && (!is_certain || moves_grouped || leftovers_may_close(judged, old, new)),
    };
    Transition {
        certificate: judged.certificate.clone(),
        plan,
        middle: (entries > 0).then_some(middle),
    }
}

/// Drained entries.
struct Drained {
    lids: BTreeSet<u32>,
    /// Old routes to them close a cycle of dependencies with new ones, or they change their lane;
    /// otherwise they only loop while old and new entries mix.
    may_close_cycles: bool,
}

/// All LIDs but those of switches, whose traffic waits for nothing.
fn all_data(view: &View, old: Old<'_>) -> BTreeSet<u32> {
    let rows = old.layers().flat_map(|layer| {
        let switches = 0..layer.len() as u32;
        switches.map(|switch| layer.row(SwitchIndex(switch)).len() as u32)
    });
    let mut lids: BTreeSet<u32> = (1..rows.max().unwrap_or(0)).collect();
    for end in view.ends.iter().filter(|end| !end.is_hfi()) {
        (end.lid..end.lid + end.lids).for_each(|lid| {
            lids.remove(&lid);
        });
    }
    lids
}

/// The LIDs whose old routes close a loop or a cycle of dependencies together with new ones, and
/// those that change their lane: packets in flight in the old lane must not take new entries.
fn to_drain(judged: &Judged, old: Old<'_>, new: Tables<'_>) -> Drained {
    let view = &judged.view;
    let groups = PortGroupTables::default();
    let bare = |linear| Tables {
        linear,
        groups: &groups,
    };
    let (lanes, before) = (new.linear.lanes(), old.tables.linear.lanes());
    let in_new_lanes = |layer: &LinearTables| layer.clone().with_lanes(Arc::clone(lanes));
    let moved: Vec<LinearTables> = old.layers().map(in_new_lanes).collect();
    let new = bare(new.linear);
    let mut layers: Vec<Tables<'_>> = moved.iter().map(bare).collect();
    // What keeps all its entries is covered by the proof of the new tables.
    let mut moving = Lids::default();
    layers
        .iter()
        .for_each(|old| moving.merge(&moving_lids(view, *old, new)));
    layers.push(new);
    let mut classes = coarse(view);
    classes.retain(|class| moving.any(class.lids(view)));
    let followed = follow(view, &layers, &classes);
    let looping = followed.looping.iter().filter_map(|class| class.lid);
    let mut drained: BTreeSet<u32> = looping.collect();
    let moves = |lid: &u32| before.of(Lid(*lid)) != lanes.of(Lid(*lid));
    if before != lanes {
        let ends = view.ends.iter().filter(|end| end.is_hfi());
        let lids = ends.flat_map(|end| end.lid..end.lid + end.lids);
        drained.extend(lids.filter(moves));
    }
    let none = Dependencies::new(view);
    for (lane, followed) in followed.lanes.into_iter().enumerate() {
        // Drained LIDs take new entries only.
        let certified = judged.graphs.get(lane).unwrap_or(&none);
        let mixed = followed.graph.merge(certified);
        if followed.cyclic.is_empty() && mixed.cyclic(view).is_empty() {
            continue;
        }
        let all = fine(view, &coarse(view));
        let lane = lane as u8;
        let kept = |class: &Class| class.lid.is_none_or(|lid| !drained.contains(&lid));
        let mut mixed = in_lane(&layers, lane, &all);
        mixed.retain(kept);
        let (_, after) = run(view, &[new], &in_lane(&[new], lane, &all));
        let (_, all) = run(view, &layers, &mixed);
        let all = all.merge(&after);
        let bad = closing(view, &all, &after);
        drained.extend(users(view, &layers, &mixed, &bad));
    }
    let mut classes = fine(view, &coarse(view));
    classes.retain(|class| class.lid.is_some_and(|lid| drained.contains(&lid)));
    Drained {
        may_close_cycles: !drained.is_empty()
            && (old.possible.is_some()
                || before != lanes
                || old_routes_close(judged, layers[0], &classes)),
        lids: drained,
    }
}

/// Whether the routes of `old` to these LIDs close a cycle of dependencies with all routes of the new
/// tables. What an old entry has sent off waits for the link that it named.
fn old_routes_close(judged: &Judged, old: Tables<'_>, classes: &[Class]) -> bool {
    let view = &judged.view;
    let none = Dependencies::new(view);
    let lanes = judged.graphs.len().max(1);
    (0..lanes).any(|lane| {
        let certified = judged.graphs.get(lane).unwrap_or(&none);
        let (_, before) = run(view, &[old], &in_lane(&[old], lane as u8, classes));
        !before.merge(certified).cyclic(view).is_empty()
    })
}

/// Whether packets that old groups and entries have sent off, wherever they still wait, may close a
/// cycle with what new entries and groups send. Where old and new ones mix into a loop, the routes of the
/// old ones count, and those of the new ones.
fn leftovers_may_close(judged: &Judged, old: Tables<'_>, new: Tables<'_>) -> bool {
    let view = &judged.view;
    let adapting = adapting_lids(view, old, new);
    let mut classes = coarse(view);
    classes.retain(|class| adapting.any(class.lids(view)));
    let moved = old.linear.clone();
    let moved = moved.with_lanes(Arc::clone(new.linear.lanes()));
    let groups = PortGroupTables::default();
    let before = Tables {
        linear: &moved,
        groups: old.groups,
    };
    let after = Tables {
        linear: new.linear,
        groups: &groups,
    };
    let followed = follow(view, &[before, after], &classes);
    if !followed.looping.is_empty() {
        return old_routes_close(judged, before, &fine(view, &classes));
    }
    let none = Dependencies::new(view);
    let closes = |(lane, followed): (usize, Lane)| {
        let certified = judged.graphs.get(lane).unwrap_or(&none);
        !followed.graph.merge(certified).cyclic(view).is_empty()
    };
    followed.lanes.into_iter().enumerate().any(closes)
}

/// The dependencies on cycles that the new tables alone do not have.
fn closing(view: &View, all: &Dependencies, after: &Dependencies) -> Dependencies {
    let mut bad = Dependencies::new(view);
    for circle in circles(view, all, &all.cyclic(view)) {
        let members: BTreeSet<usize> = circle.iter().copied().collect();
        for &link in &circle {
            let first = view.links_of(view.links[link].to as usize).start;
            for next in all
                .successors(view, link)
                .filter(|next| members.contains(next))
            {
                let (word, bit) = ((next - first) / 64, (next - first) % 64);
                bad.row_mut(link)[word] |= 1 << bit & !after.row(link)[word];
            }
        }
    }
    bad
}

/// The LIDs that use any of these dependencies.
fn users(view: &View, layers: &[Tables<'_>], classes: &[Class], bad: &Dependencies) -> Vec<u32> {
    if bad.count() == 0 {
        return Vec::new();
    }
    let mut tile = Tile::new(view, layers);
    let mut users = Vec::new();
    for classes in classes.chunks(TILE) {
        let mut graph = Dependencies::new(view);
        tile.follow(classes, &mut graph, &mut Shown::default());
        let used = tile.users(bad);
        let hit = classes.iter().enumerate();
        users.extend(
            hit.filter(|(bit, _)| used >> bit & 1 == 1)
                .filter_map(|(_, class)| class.lid),
        );
    }
    users
}

/// The old tables with the entries of some LIDs dropped that go, from a port to another one, and how
/// many those are.
fn without(
    old: Old<'_>,
    new: &LinearTables,
    lids: &BTreeSet<u32>,
    is_going: impl Fn(SwitchIndex, u8, u8) -> bool,
) -> (LinearTables, u64) {
    let mut entries = 0;
    let confirmed = old.tables.linear;
    let rows = (0..confirmed.len().max(new.len()) as u32)
        .map(SwitchIndex)
        .map(|switch| {
            let mut row: Arc<[u8]> = confirmed.row_shared(switch).cloned().unwrap_or_default();
            let after = new.row(switch);
            let goes = |lid: &&u32| {
                let after = after.get(**lid as usize).copied().unwrap_or(UNREACHABLE);
                let mut before = old
                    .layers()
                    .filter_map(|layer| layer.row(switch).get(**lid as usize));
                before.any(|before| *before != UNREACHABLE && is_going(switch, *before, after))
            };
            let going: Vec<u32> = lids.iter().filter(goes).copied().collect();
            entries += going.len() as u64;
            if !going.is_empty() {
                let row = Arc::make_mut(&mut row);
                going.iter().for_each(|lid| {
                    let entry = row.get_mut(*lid as usize);
                    entry.into_iter().for_each(|entry| *entry = UNREACHABLE);
                });
            }
            row
        });
    let middle = LinearTables::new(rows.collect());
    (middle.with_lanes(Arc::clone(new.lanes())), entries)
}
