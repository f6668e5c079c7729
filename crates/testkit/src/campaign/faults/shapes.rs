//! Fabrics of a shape that routing does not expect, as steps in time.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::Control;
use weft_fabric::{Guid, NodeId, PortRef, Topology};

use super::place::Places;
use super::plant::{Planter, S};
use crate::campaign::programs::Port;

/// A cable between switches, by its end there, and the switch at the other end.
type Link = (Port, Guid);

/// Two leaves, each with one cable left to a spine of its own, and the switch below both spines.
#[derive(Debug)]
struct Detour {
    /// Leaves, and spines: nothing else is at them than the four cables.
    ends: [Guid; 4],
    kept: [Port; 4],
}

/// Cables of a switch to others.
fn links(topology: &Topology, switch: Guid) -> Vec<Link> {
    let guid = |id: NodeId| topology.node(id).map(weft_fabric::Node::guid);
    let Some(id) = topology.find(switch) else {
        return Vec::new();
    };
    let ends = topology.links().flat_map(|(a, b)| [(a, b), (b, a)]);
    let own = ends.filter(|(end, far): &(PortRef, PortRef)| {
        end.node == id && far.node != id && topology.switch_index(far.node).is_some()
    });
    own.filter_map(|(end, far)| Some(((switch, end.port), guid(far.node)?)))
        .collect()
}

/// The first detour of leaves in this order; none where the fabric has no two tiers of switches.
fn find(topology: &Topology, leaves: &[Guid]) -> Option<Detour> {
    let to = |links: &[Link], switch: Guid| links.iter().find(|(_, far)| *far == switch).copied();
    for (place, a) in leaves.iter().enumerate() {
        let of_a = links(topology, *a);
        for b in &leaves[place + 1..] {
            let of_b = links(topology, *b);
            for (at_a, first) in &of_a {
                let of_first = links(topology, *first);
                for (at_b, second) in of_b.iter().filter(|(_, far)| far != first) {
                    let of_second = links(topology, *second);
                    let below = of_first.iter().find_map(|(port, middle)| {
                        let is_other = middle != a && middle != b && leaves.contains(middle);
                        let back = to(&of_second, *middle).filter(|_| is_other)?;
                        Some((*port, back.0))
                    });
                    if let Some((down, up)) = below {
                        return Some(Detour {
                            ends: [*a, *b, *first, *second],
                            kept: [*at_a, *at_b, down, up],
                        });
                    }
                }
            }
        }
    }
    None
}

/// Whether a fabric has room for [`Planter::detour`].
pub(super) fn has_detour(topology: &Topology, places: &Places) -> bool {
    find(topology, &places.leaves).is_some()
}

impl Planter<'_> {
    /// Cuts all cables of two leaves and two spines but those of the way from one leaf up, down to a third leaf, up and
    /// down to the other.
    pub(super) fn detour(&mut self, rng: &mut ChaCha8Rng) {
        let mut leaves = self.places.leaves.clone();
        leaves.shuffle(rng);
        let Some(Detour { ends, kept }) = find(self.topology, &leaves) else {
            return;
        };
        let far_of_kept = kept.iter().filter_map(|port| self.far(*port));
        let kept: Vec<Port> = kept.iter().copied().chain(far_of_kept).collect();
        let away = self.until.max(2 * S);
        for (port, _) in ends.iter().flat_map(|end| links(self.topology, *end)) {
            if !kept.contains(&port) {
                let (node, port) = port;
                self.plant.during(
                    away,
                    Control::LinkDown { node, port },
                    Control::LinkUp { node, port },
                );
            }
        }
    }

    /// The other end of a cable.
    fn far(&self, (node, port): Port) -> Option<Port> {
        let node = self.topology.find(node)?;
        let far = self.topology.peer(PortRef { node, port })?;
        Some((self.topology.node(far.node)?.guid(), far.port))
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
