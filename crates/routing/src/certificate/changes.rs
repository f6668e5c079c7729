//! The LIDs whose routes may have changed from one state to the next.

use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::{Lid, PortMask, PortNum, SwitchIndex, UNREACHABLE};

use super::Tables;
use super::classes::{Class, TILE};
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

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(word, bits)| {
            let rest = std::iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)));
            rest.take_while(|bits| *bits != 0)
                .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
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

    /// Adds others.
    pub(super) fn merge(&mut self, other: &Self) {
        let words = self.words.len().max(other.words.len());
        self.words.resize(words, 0);
        let pairs = self.words.iter_mut().zip(&other.words);
        pairs.for_each(|(word, other)| *word |= other);
    }
}

/// Maximum number of entries for switches' own LIDs that one thread reports.
const ENTRIES: usize = 1 << 14;

/// Kinds of LIDs, by which changes are sorted.
#[derive(Debug)]
pub(super) struct Kinds {
    of: Vec<u32>,
}

impl Kinds {
    const NONE: u32 = u32::MAX;
    const SWITCH: u32 = u32::MAX - 1;

    /// Kinds of data classes in tiles, and of switches' own.
    pub(super) fn new(view: &View, data: &[Class], management: &[Class]) -> Self {
        let lids = view.ends.iter().map(|end| end.lid + end.lids).max();
        let mut of = vec![Self::NONE; lids.unwrap_or(0) as usize];
        let tiles = data.chunks(TILE).zip(0..);
        for (classes, kind) in tiles.chain([(management, Self::SWITCH)]) {
            for class in classes {
                class.lids(view).for_each(|lid| of[lid as usize] = kind);
            }
        }
        Self { of }
    }

    fn of(&self, lid: usize) -> u32 {
        self.of.get(lid).copied().unwrap_or(Self::NONE)
    }
}

/// The LIDs whose routes may have changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// All of them.
    pub(super) anywhere: Lids,
    /// Tiles of data classes, and the switches with such a LID of theirs; in order.
    tiles: Vec<(u32, u32)>,
    /// Switches' own LIDs, and the switches where they have changed; in order.
    entries: Vec<(u32, u32)>,
    /// There are more.
    has_more: bool,
}

impl Changes {
    fn with_room(lids: usize) -> Self {
        Self {
            anywhere: Lids::with_room(lids),
            ..Self::default()
        }
    }

    /// Adds those at one switch.
    fn add(&mut self, switch: u32, lids: &Lids, kinds: &Kinds) {
        let mut last = Kinds::NONE;
        for lid in lids.iter() {
            match kinds.of(lid) {
                Kinds::NONE => {}
                Kinds::SWITCH if self.entries.len() < ENTRIES => {
                    self.entries.push((lid as u32, switch));
                }
                Kinds::SWITCH => self.has_more = true,
                tile if tile != last => {
                    self.tiles.push((tile, switch));
                    last = tile;
                }
                _ => {}
            }
        }
        self.anywhere.merge(lids);
    }

    fn merge(mut self, other: Self) -> Self {
        self.anywhere.merge(&other.anywhere);
        self.tiles.extend(other.tiles);
        self.entries.extend(other.entries);
        self.has_more |= other.has_more;
        self
    }

    fn sorted(mut self) -> Self {
        self.tiles.sort_unstable();
        self.tiles.dedup();
        self.entries.sort_unstable();
        self
    }

    /// The switches where some LID of a tile has changed.
    pub(super) fn in_tile(&self, tile: usize) -> impl Iterator<Item = u32> + '_ {
        of(&self.tiles, tile as u32)
    }

    /// Whether [`Self::at`] has all switches.
    pub(super) fn tells_all(&self) -> bool {
        !self.has_more
    }

    /// The switches where one of the switches' own LIDs has changed.
    pub(super) fn at(&self, lid: u32) -> impl Iterator<Item = u32> + '_ {
        of(&self.entries, lid)
    }
}

/// The second ones of pairs that are in order.
fn of(pairs: &[(u32, u32)], first: u32) -> impl Iterator<Item = u32> + '_ {
    let start = pairs.partition_point(|pair| pair.0 < first);
    let own = pairs[start..]
        .iter()
        .take_while(move |pair| pair.0 == first);
    own.map(|pair| pair.1)
}

/// The LIDs for which some switch has another entry or another group than before, or the same that
/// names a port whose link has changed.
pub(super) fn changed_lids(
    (old_view, old): (&View, Tables<'_>),
    (view, new): (&View, Tables<'_>),
    kinds: &Kinds,
) -> Changes {
    let room = room(view, new);
    let changes = over_switches(
        view,
        room,
        || Changes::with_room(room),
        |changes, switch, lids| {
            entries(switch, (old, new), lids);
            groups(switch, (old, new), lids);
            let ports = view.changed_ports(old_view, switch as usize);
            if !ports.is_empty() {
                users(switch, new, &ports, lids);
            }
            changes.add(switch, lids, kinds);
        },
    );
    let all = changes.reduce(|| Changes::with_room(room), Changes::merge);
    all.sorted()
}

/// The LIDs for which some switch has another linear entry.
pub(super) fn moving_lids(view: &View, old: Tables<'_>, new: Tables<'_>) -> Lids {
    let room = room(view, new);
    let empty = || Lids::with_room(room);
    let moving = over_switches(view, room, empty, |all, switch, lids| {
        entries(switch, (old, new), lids);
        all.merge(lids);
    });
    moving.reduce(empty, |mut all, other| {
        all.merge(&other);
        all
    })
}

/// The LIDs for which some switch has another linear entry or another group.
pub(super) fn adapting_lids(view: &View, old: Tables<'_>, new: Tables<'_>) -> Lids {
    let room = room(view, new);
    let empty = || Lids::with_room(room);
    let adapting = over_switches(view, room, empty, |all, switch, lids| {
        entries(switch, (old, new), lids);
        groups(switch, (old, new), lids);
        all.merge(lids);
    });
    adapting.reduce(empty, |mut all, other| {
        all.merge(&other);
        all
    })
}

/// LIDs that there may be.
fn room(view: &View, new: Tables<'_>) -> usize {
    let lids = view.ends.iter().map(|end| end.lid + end.lids).max();
    let rows = (0..view.len() as u32).map(|switch| new.linear.row(SwitchIndex(switch)).len());
    rows.max().unwrap_or(0).max(lids.unwrap_or(0) as usize)
}

/// Iterates over all switches; `add` gets no LIDs and its result for the previous switches.
fn over_switches<T: Send>(
    view: &View,
    room: usize,
    start: impl Fn() -> T + Sync + Send,
    add: impl Fn(&mut T, u32, &mut Lids) + Sync + Send,
) -> impl ParallelIterator<Item = T> {
    (0..view.len() as u32)
        .into_par_iter()
        .with_min_len(64)
        .fold(
            move || (start(), Lids::with_room(room)),
            move |(mut made, mut lids), switch| {
                lids.words.fill(0);
                add(&mut made, switch, &mut lids);
                (made, lids)
            },
        )
        .map(|(made, _)| made)
}

/// Entries that are compared at once.
const PIECE: usize = 512;

/// Entries that differ; those beyond the end of a row drop.
fn entries(switch: u32, (old, new): (Tables<'_>, Tables<'_>), lids: &mut Lids) {
    let at = SwitchIndex(switch);
    let shared = old.linear.row_shared(at).zip(new.linear.row_shared(at));
    if shared.is_some_and(|(a, b)| Arc::ptr_eq(a, b)) {
        return;
    }
    let (before, after) = (old.linear.row(at), new.linear.row(at));
    let both = before.len().min(after.len());
    let pieces = before[..both].chunks(PIECE);
    let pieces = pieces.zip(after[..both].chunks(PIECE)).enumerate();
    for (piece, (before, after)) in pieces.filter(|(_, (a, b))| a != b) {
        let entries = before.iter().zip(after).zip(piece * PIECE..);
        let differ = entries.filter(|((a, b), _)| a != b);
        differ.for_each(|(_, lid)| lids.add(lid));
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
