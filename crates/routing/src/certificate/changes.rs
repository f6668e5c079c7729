//! The LIDs whose routes may have changed from one state to the next.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{Lid, PortMask, PortNum, SwitchIndex, UNREACHABLE};

use super::Tables;
use super::view::View;

/// Some LIDs.
#[derive(Debug, Default, Clone)]
pub(super) struct Lids {
    words: Vec<u64>,
}

impl Lids {
    fn with_room(lids: usize) -> Self {
        Self {
            words: vec![0; lids.div_ceil(64)],
        }
    }

    fn add(&mut self, lid: usize) {
        if let Some(word) = self.words.get_mut(lid / 64) {
            *word |= 1 << (lid % 64);
        }
    }

    fn has(&self, lid: u32) -> bool {
        let word = self.words.get(lid as usize / 64);
        word.is_some_and(|word| word >> (lid % 64) & 1 == 1)
    }

    /// Whether any of these is in it.
    pub(super) fn any(&self, mut lids: impl Iterator<Item = u32>) -> bool {
        lids.any(|lid| self.has(lid))
    }

    fn merge(mut self, other: Self) -> Self {
        let pairs = self.words.iter_mut().zip(other.words);
        pairs.for_each(|(word, other)| *word |= other);
        self
    }
}

/// The LIDs for which some switch has another entry or another group than before, or the same that
/// names a port whose link has changed.
pub(super) fn changed_lids(
    (old_view, old): (&View, Tables<'_>),
    (view, new): (&View, Tables<'_>),
) -> Lids {
    over_switches(view, new, |switch, lids| {
        entries(switch, (old, new), lids);
        groups(switch, (old, new), lids);
        let ports = view.changed_ports(old_view, switch as usize);
        if !ports.is_empty() {
            users(switch, new, &ports, lids);
        }
    })
}

/// The LIDs for which some switch has another linear entry.
pub(super) fn moving_lids(view: &View, old: Tables<'_>, new: Tables<'_>) -> Lids {
    over_switches(view, new, |switch, lids| entries(switch, (old, new), lids))
}

fn over_switches(view: &View, new: Tables<'_>, add: impl Fn(u32, &mut Lids) + Sync) -> Lids {
    let lids = view.ends.iter().map(|end| end.lid + end.lids).max();
    let rows = (0..view.len() as u32).map(|switch| new.linear.row(SwitchIndex(switch)).len());
    let room = rows.max().unwrap_or(0).max(lids.unwrap_or(0) as usize);
    (0..view.len() as u32)
        .into_par_iter()
        .with_min_len(64)
        .fold(
            || Lids::with_room(room),
            |mut lids, switch| {
                add(switch, &mut lids);
                lids
            },
        )
        .reduce(|| Lids::with_room(room), Lids::merge)
}

/// Entries that differ; those beyond the end of a row drop.
fn entries(switch: u32, (old, new): (Tables<'_>, Tables<'_>), lids: &mut Lids) {
    let at = SwitchIndex(switch);
    let shared = old.linear.row_shared(at).zip(new.linear.row_shared(at));
    if shared.is_some_and(|(a, b)| Arc::ptr_eq(a, b)) {
        return;
    }
    let (before, after) = (old.linear.row(at), new.linear.row(at));
    let both = before.len().min(after.len());
    let blocks = before[..both].chunks(64).zip(after[..both].chunks(64));
    for (block, (before, after)) in blocks.enumerate() {
        if before != after {
            let entries = before.iter().zip(after).enumerate();
            let differ = entries.filter(|(_, (a, b))| a != b);
            differ.for_each(|(entry, _)| lids.add(block * 64 + entry));
        }
    }
    let rest = before[both..].iter().chain(&after[both..]).enumerate();
    rest.filter(|(_, port)| **port != UNREACHABLE)
        .for_each(|(entry, _)| lids.add(both + entry));
}

fn groups(switch: u32, (old, new): (Tables<'_>, Tables<'_>), lids: &mut Lids) {
    let of = |tables: Tables<'_>| tables.groups.switches.get(switch as usize).cloned();
    let (before, after) = (of(old), of(new));
    let alike = match (&before, &after) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        (None, None) => true,
        _ => false,
    };
    if alike {
        return;
    }
    let len = |groups: &Option<Arc<_>>| {
        groups
            .as_ref()
            .map_or(0, |groups: &Arc<weft_fabric::SwitchPortGroups>| {
                groups.fdb.len()
            })
    };
    for lid in 0..len(&before).max(len(&after)) as u32 {
        let group =
            |tables: Tables<'_>| tables.groups.group(SwitchIndex(switch), Lid(lid)).copied();
        if group(old) != group(new) {
            lids.add(lid as usize);
        }
    }
}

/// The LIDs that a switch sends to one of these ports.
fn users(switch: u32, tables: Tables<'_>, ports: &PortMask, lids: &mut Lids) {
    let at = SwitchIndex(switch);
    for (lid, port) in tables.linear.row(at).iter().enumerate() {
        if ports.contains(PortNum(*port)) {
            lids.add(lid);
        }
    }
    let fdb = tables.groups.switches.get(switch as usize);
    for lid in 0..fdb.map_or(0, |groups| groups.fdb.len()) as u32 {
        let group = tables.groups.group(at, Lid(lid));
        if group.is_some_and(|group| !(*group & *ports).is_empty()) {
            lids.add(lid as usize);
        }
    }
}
