//! Inputs that are left out as a whole.

use std::collections::BTreeMap;

use weft_wire::smp::SmpView;

use crate::inputs::{Entry, What};
use crate::sa::SaWhat;

/// Places of inputs, in groups of which each is left out as a whole.
pub(super) type Groups = Vec<Vec<usize>>;

/// Those of the manager, and those of subnet administration.
pub(super) fn by_row(entries: &[Entry], kept: &[usize]) -> Groups {
    let is_of_sa = |place: &usize| matches!(entries[*place].what, What::Sa(_));
    let (sa, manager): (Vec<usize>, Vec<usize>) = kept.iter().partition(|place| is_of_sa(place));
    [manager, sa]
        .into_iter()
        .filter(|group| !group.is_empty())
        .collect()
}

/// Datagrams by their sender, those behind one port one after the other; other inputs each by itself.
pub(super) fn by_sender(entries: &[Entry], kept: &[usize]) -> Groups {
    let mut groups: BTreeMap<(bool, Vec<u8>, usize), Vec<usize>> = BTreeMap::new();
    for &place in kept {
        let by_lid = |lid: u32| (lid.to_be_bytes().to_vec(), usize::MAX);
        let what = &entries[place].what;
        let (sender, number) = match what {
            What::Received(packet) => match SmpView::parse(&packet.mad) {
                Ok(view) if view.directed.is_some() => {
                    let hops = usize::from(view.header.hop_count);
                    let route = view.directed.map(|route| route.initial_path);
                    let path = route.iter().flatten().skip(1).take(hops);
                    (path.copied().collect(), 0)
                }
                _ => by_lid(packet.slid.0),
            },
            What::Sa(SaWhat::Received(packet)) => by_lid(packet.slid.0),
            _ => (Vec::new(), place.saturating_add(1)),
        };
        let is_of_sa = matches!(what, What::Sa(_));
        groups
            .entry((is_of_sa, sender, number))
            .or_default()
            .push(place);
    }
    groups.into_values().collect()
}

/// Each by itself.
pub(super) fn by_input(_: &[Entry], kept: &[usize]) -> Groups {
    kept.iter().map(|place| vec![*place]).collect()
}

/// All places in them, in order.
pub(super) fn places(groups: &Groups) -> Vec<usize> {
    let mut places: Vec<usize> = groups.iter().flatten().copied().collect();
    places.sort_unstable();
    places
}
