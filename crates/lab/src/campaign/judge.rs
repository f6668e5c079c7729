//! What must hold in a quiet fabric, whatever a campaign did before.

use weft_fabric::Lid;

use crate::oracle::multicast::Group;
use crate::oracle::partitions::Secured;
use crate::oracle::{Breach, choices, deadlock, lids, multicast, partitions, reach, tables};
use crate::view::{self, FabricView};
use crate::world::World;

/// The devices' registers.
pub(super) fn view(world: &World) -> FabricView {
    view::read(world.emulator.network())
}

/// The place of the manager's host.
pub(super) fn root(world: &World, view: &FabricView) -> usize {
    let (host, _) = world.host();
    view.find(host).unwrap_or_default()
}

/// Everything that must hold in a quiet fabric with these groups and partitions; destinations are in
/// the lanes that `lane` says.
pub(super) fn quiet(
    world: &World,
    groups: &[Group],
    secured: &[Secured],
    lane: impl Fn(Lid) -> u8,
) -> Vec<Breach> {
    let view = view(world);
    let root = root(world, &view);
    let snapshot = world.snapshot();
    let mut breaches = reach::check_loops(&view);
    breaches.extend(reach::check_reachable(&view, root));
    breaches.extend(choices::check(&view, root));
    breaches.extend(deadlock::check_lanes(&view, lane));
    breaches.extend(lids::check(&view, root));
    breaches.extend(tables::check(&view, root, &snapshot));
    breaches.extend(multicast::check_loops(&view));
    breaches.extend(multicast::check_delivery(&view, root, groups));
    breaches.extend(multicast::check_published(&view, root, &snapshot));
    breaches.extend(partitions::check(&view, root, secured));
    breaches
}
