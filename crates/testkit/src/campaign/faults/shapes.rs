//! Fabrics of a shape that routing does not expect, as steps in time.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::Control;
use weft_fabric::Guid;

use super::place::Places;
use super::plant::{Planter, S};
use crate::campaign::programs::Port;

/// Two leaves, each with one cable left to a spine of its own, and the switch below both spines.
#[derive(Debug)]
struct Detour {
    /// Leaves, and spines: nothing else is at them than the four cables.
    ends: [Guid; 4],
    kept: [Port; 4],
}

/// The first detour of leaves in this order; none where the fabric has no two tiers of switches.
fn find(places: &Places, leaves: &[Guid]) -> Option<Detour> {
    let pairs = leaves.iter().enumerate();
    let mut pairs = pairs.flat_map(|(place, a)| leaves[place + 1..].iter().map(move |b| (*a, *b)));
    pairs.find_map(|(a, b)| between(a, b, places))
}

/// The first detour between two leaves.
fn between(a: Guid, b: Guid, places: &Places) -> Option<Detour> {
    let ways_up = places.links_of(a).iter().flat_map(|of_a| {
        let of_b = places.links_of(b).iter();
        of_b.map(move |of_b| (*of_a, *of_b))
    });
    let is_third =
        |leaf: Guid| leaf != a && leaf != b && places.leaves.binary_search(&leaf).is_ok();
    let mut ways_up = ways_up.filter(|((_, first), (_, second))| first != second);
    ways_up.find_map(|((at_a, first), (at_b, second))| {
        let (down, up) = places.links_of(first).iter().find_map(|(down, leaf)| {
            let mut back = places.links_of(second).iter();
            let (up, _) = back.find(|(_, far)| far == leaf && is_third(*leaf))?;
            Some((*down, *up))
        })?;
        Some(Detour {
            ends: [a, b, first, second],
            kept: [at_a, at_b, down, up],
        })
    })
}

/// Whether a fabric has room for [`Planter::detour`].
pub(super) fn has_detour(places: &Places) -> bool {
    find(places, &places.leaves).is_some()
}

impl Planter<'_> {
    /// Cuts all cables of two leaves and two spines but those of the way from one leaf up, down to a third leaf, up and
    /// down to the other.
    pub(super) fn detour(&mut self, rng: &mut ChaCha8Rng) {
        let mut leaves = self.places.leaves.clone();
        leaves.shuffle(rng);
        let Some(Detour { ends, kept }) = find(self.places, &leaves) else {
            return;
        };
        let far_of_kept = kept.iter().filter_map(|port| self.far(*port));
        let kept: Vec<Port> = kept.iter().copied().chain(far_of_kept).collect();
        let away = self.until.max(2 * S);
        let places = self.places;
        for (port, _) in ends.iter().flat_map(|end| places.links_of(*end)) {
            if !kept.contains(port) {
                let (node, port) = *port;
                self.plant.during(
                    away,
                    Control::LinkDown { node, port },
                    Control::LinkUp { node, port },
                );
            }
        }
    }

    /// The engine was drawn for no fabric in particular. A cable leads from one switch to another where there is room for it,
    /// and a cable is cut.
    pub(super) fn other_shape(&mut self, rng: &mut ChaCha8Rng) {
        let (until, lasting) = (self.until, rng.random_bool(0.5));
        let mut free = self.places.free.clone();
        free.shuffle(rng);
        let first = free.first().copied();
        let other = first.and_then(|first| free.iter().find(|port| port.0 != first.0).copied());
        if let (Some(a), Some(b)) = (first, other) {
            self.plant.control(0, Control::PlugCable { ports: [a, b] });
            if !lasting {
                let (node, port) = a;
                self.plant.control(until, Control::PullCable { node, port });
            }
        }
        let (node, port) = self.places.cable(rng);
        self.plant.control(S, Control::LinkDown { node, port });
        self.plant
            .control(until.max(2 * S), Control::LinkUp { node, port });
    }
}
