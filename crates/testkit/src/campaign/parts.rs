//! Judges of a fabric that has several managers: of each connected part of it.

use std::time::Duration;

use weft_fabric::enums::SmState;
use weft_fabric::{Guid, Tick};
use weft_manager::Manager;
use weft_manager::io::Event;

use super::watch::Circle;
use crate::cluster::Cluster;
use crate::oracle::{Breach, Invariant, masters};
use crate::view::{self, FabricView};

/// Everything that must hold in quiet, for each connected part of the fabric with a manager that runs: one of them is
/// its master, the others stand by for it, and `rules` of the part, the place of the master's host and the master.
pub(super) fn judge(
    cluster: &Cluster,
    rules: impl Fn(&FabricView, usize, &Manager) -> Vec<Breach>,
) -> Vec<Breach> {
    let view = view::read(cluster.emulator.network());
    let mut judged = vec![false; view.nodes.len()];
    let mut breaches = Vec::new();
    for (number, _) in cluster.running() {
        let Some(place) = view.find(cluster.host(number)) else {
            continue; // a host without power
        };
        let linked = view.nodes[place]
            .external()
            .any(|(_, port)| port.peer.is_some());
        if !linked || judged[place] {
            continue;
        }
        let part = view.connected(place);
        judged
            .iter_mut()
            .zip(&part)
            .for_each(|(judged, part)| *judged |= part);
        match master_of(cluster, &view, &part) {
            Ok((root, master)) => breaches.extend(rules(&view, root, master)),
            Err(wrong) => breaches.extend(wrong),
        }
    }
    breaches
}

/// I7: Sets that managers have sent, and that their roles do not permit.
pub(super) fn illegal(cluster: &mut Cluster) -> impl Iterator<Item = Breach> {
    cluster.take_illegal().into_iter().map(|set| {
        let what = format!(
            "manager {} wrote {} as {} at {} ns",
            set.member, set.attribute, set.role, set.at.0
        );
        Breach::new(Invariant::OneMaster, what)
    })
}

/// The one master of a part, with the place of its host; every other manager there stands by for it.
fn master_of<'a>(
    cluster: &'a Cluster,
    view: &FabricView,
    part: &[bool],
) -> Result<(usize, &'a Manager), Vec<Breach>> {
    let here = |number: usize| {
        let place = view.find(cluster.host(number));
        place.filter(|place| part[*place])
    };
    let members: Vec<(usize, usize, &Manager)> = cluster
        .running()
        .filter_map(|(number, manager)| Some((number, here(number)?, manager)))
        .collect();
    let masters: Vec<_> = members
        .iter()
        .filter(|(.., manager)| manager.role() == SmState::MASTER)
        .collect();
    let [(_, root, master)] = masters.as_slice() else {
        let roles = members
            .iter()
            .map(|(number, _, manager)| format!("manager {number} is {}", manager.role()));
        let what = roles.collect::<Vec<_>>().join(", ");
        return Err(vec![Breach::new(Invariant::OneMaster, what)]);
    };
    match check_standbys(&members, master.status().master) {
        wrong if wrong.is_empty() => Ok((*root, *master)),
        wrong => Err(wrong),
    }
}

/// Whether the manager that closed a circle could not know the tables of all switches. `events` are those of all
/// managers until now; a Set is in flight for `in_flight` at most.
pub(super) fn could_not_know(
    cluster: &Cluster,
    events: &[(Tick, usize, Event)],
    circle: &Circle,
    in_flight: Duration,
) -> bool {
    let network = cluster.emulator.network();
    let port = |member: usize| {
        let host = network.find(cluster.host(member))?;
        Some(network.device_at(host).first_port_index())
    };
    let sweeps = events.iter().filter_map(|(at, member, event)| match event {
        Event::SweepStarted { .. } => (port(*member)? == circle.done.from).then_some(*at),
        _ => None,
    });
    masters::could_not_know(circle.done.now, in_flight, circle.other_wrote, sweeps)
}

/// Checks that every other manager is standby to the master.
fn check_standbys(members: &[(usize, usize, &Manager)], master: Option<Guid>) -> Vec<Breach> {
    let others = members
        .iter()
        .filter(|(.., manager)| manager.role() != SmState::MASTER);
    let wrong = others.filter(|(.., manager)| {
        manager.role() != SmState::STANDBY || manager.status().master != master
    });
    wrong
        .map(|(number, _, manager)| {
            let what = format!(
                "manager {number} is {} for {:?}, the master is {master:?}",
                manager.role(),
                manager.status().master
            );
            Breach::new(Invariant::OneMaster, what)
        })
        .collect()
}
