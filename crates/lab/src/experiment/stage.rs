//! The fabric of a case, brought up by the manager.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::packets::{NANO, Picos, Random};
use weft_dataplane::traffic::PathLevels;
use weft_emulator::{Options, io::Control};
use weft_fabric::powered_on::{give_buffers, let_interleave};
use weft_fabric::{Guid, Lmc, NodeId, PortNum, Topology};
use weft_manager::sm::Settings;

use super::fabric::Fabric;
use super::faults;
use super::lid_order;
use super::perform::ExperimentError;
use super::scenario::{Case, LidOrder, Manager};
use weft_testkit::grid;
use weft_testkit::world::{NoTap, Wait, World};

/// Virtual time in which the manager must have brought a fabric up.
const BRING_UP_MAX: Duration = Duration::from_secs(600);

/// Virtual time between bring-up and traffic where something happens to the fabric: a trap soon after a
/// sweep has to wait (`TrapHoldDown`), as traffic does not begin with the fabric.
const REST: Duration = Duration::from_secs(10);

/// A fabric that is ready for traffic.
#[derive(Debug)]
pub struct Staged {
    /// The devices, as the manager programmed them, and the manager.
    pub world: World,
    /// The service levels in path records.
    pub levels: PathLevels,
    /// Its faults, in order of time.
    pub(super) faults: Vec<(Picos, Vec<Control>)>,
}

impl Staged {
    /// The devices.
    pub fn network(&self) -> &Network {
        self.world.emulator.network()
    }
}

/// Brings a case's fabric up.
///
/// # Errors
/// [`ExperimentError`] when the fabric cannot be made or does not come up, or when it does not have what
/// something is to happen to.
pub fn set(case: &Case, seed: u64) -> Result<Staged, ExperimentError> {
    let mut topology = case.fabric.generate()?;
    if case.manager.preemption.is_some() {
        let_interleave(&mut topology);
    }
    if let Some(bytes) = case.buffer {
        give_buffers(&mut topology, bytes);
    }
    if case.lid_order == LidOrder::Random {
        lid_order::draw(&mut topology, Lmc(case.manager.lmc), seed);
    }
    let mut cuts = superfluous_uplinks(&topology, case.uplinks);
    let spare = drawn_links(&topology, case.gone, seed, &cuts);
    cuts.extend(spare);
    let faults = faults::resolve(&topology, &case.faults, seed, &cuts)?;
    let mut settings = settings(&case.manager);
    if let (Fabric::Described(spec), []) = (&case.fabric, &settings.routing.mesh.dimensions[..]) {
        settings.routing.mesh.dimensions = grid::dimensions(spec);
    }
    let (topology, wanted) = (Arc::new(topology), settings.clone());
    let mut world = World::new(topology, options(case), wanted, NoTap)?;
    for (node, port) in cuts {
        world.control(Control::LinkDown { node, port })?;
    }
    if world.bring_up(BRING_UP_MAX)? == Wait::TimedOut {
        return Err(ExperimentError::NotUp {
            seconds: BRING_UP_MAX.as_secs(),
        });
    }
    let refusals = world.control_congestion(case.manager.congestion.clone())?;
    if let Some(what) = refusals.into_iter().next() {
        return Err(ExperimentError::Refused { what });
    }
    if !case.faults.is_empty() {
        world.run_until(world.now() + REST)?;
    }
    let snapshot = world.snapshot();
    let in_lane = |level, lane| settings.level_in_lane(level, lane);
    Ok(Staged {
        levels: PathLevels::new(snapshot.linear.lanes(), in_lane),
        world,
        faults,
    })
}

/// Datagrams take time if there are faults during traffic.
fn options(case: &Case) -> Options {
    match case.faults.is_empty() {
        true => Options::default(),
        false => Options {
            agent_latency_ns: case.hardware.agent_time / NANO,
            hop_latency_ns: case.hardware.hop_time / NANO,
            ..Options::default()
        },
    }
}

fn settings(manager: &Manager) -> Settings {
    let base = manager.base.as_deref().cloned();
    let mut settings = base.unwrap_or_default();
    settings.routing.engine = manager.engine;
    settings.routing.adaptive = manager.adaptive;
    settings.lids.lmc = Lmc(manager.lmc);
    settings.levels = manager.levels();
    for policy in [&mut settings.links.hfi, &mut settings.links.switch] {
        let dropped = manager.max_dropped_lanes;
        policy.max_dropped_lanes = dropped.unwrap_or(policy.max_dropped_lanes);
    }
    let traffic = &mut settings.traffic;
    traffic.hoq_life = manager.hoq_life.unwrap_or(traffic.hoq_life);
    traffic.switch_lifetime = manager.switch_lifetime.unwrap_or(traffic.switch_lifetime);
    traffic.vl_stall_count = manager.stall_count.unwrap_or(traffic.vl_stall_count);
    traffic.preemption = manager.preemption.unwrap_or(traffic.preemption);
    settings
}

/// The links of edge switches to others beyond the number that each keeps; those that it keeps are
/// spread over the switches above.
fn superfluous_uplinks(topology: &Topology, keep: Option<u32>) -> Vec<(Guid, PortNum)> {
    let Some(keep) = keep else { return Vec::new() };
    let edges = topology.switches().iter();
    edges
        .filter(|id| is_edge(topology, **id))
        .flat_map(|id| beyond(topology, *id, keep as usize))
        .collect()
}

/// A percentage of the links between switches that are not cut already, drawn by the seed.
pub(super) fn drawn_links(
    topology: &Topology,
    percent: f64,
    seed: u64,
    cuts: &[(Guid, PortNum)],
) -> Vec<(Guid, PortNum)> {
    let cut: BTreeSet<(Guid, PortNum)> = cuts.iter().copied().collect();
    let mut links = Vec::new();
    for id in topology.switches() {
        let Some(node) = topology.node(*id) else {
            continue;
        };
        for (number, port) in node.external_ports() {
            let peer = port
                .peer
                .filter(|peer| topology.switch_index(peer.node).is_some());
            let Some(peer) = peer.filter(|peer| (peer.node, peer.port) > (*id, number)) else {
                continue;
            };
            let there = topology
                .node(peer.node)
                .map(|node| (node.guid(), peer.port));
            let ends = [Some((node.guid(), number)), there];
            if !ends.iter().flatten().any(|end| cut.contains(end)) {
                links.push((node.guid(), number));
            }
        }
    }
    let count = (links.len() as f64 * percent / 100.0).round() as usize;
    Random::new(seed).shuffle(&mut links);
    links.truncate(count);
    links
}

fn is_edge(topology: &Topology, id: NodeId) -> bool {
    let node = topology.node(id);
    let mut peers = node.into_iter().flat_map(|node| {
        let ports = node.external_ports();
        ports.filter_map(|(_, port)| port.peer)
    });
    peers.any(|peer| topology.switch_index(peer.node).is_none())
}

fn beyond(topology: &Topology, id: NodeId, keep: usize) -> Vec<(Guid, PortNum)> {
    let Some(node) = topology.node(id) else {
        return Vec::new();
    };
    // Uplinks by the number of earlier ones to the same switch, then by that switch.
    let mut uplinks: Vec<(usize, NodeId, PortNum)> = Vec::new();
    for (number, port) in node.external_ports() {
        let above = port.peer.map(|peer| peer.node);
        if let Some(above) = above.filter(|above| topology.switch_index(*above).is_some()) {
            let before = uplinks.iter().filter(|(_, other, _)| *other == above);
            uplinks.push((before.count(), above, number));
        }
    }
    uplinks.sort_unstable();
    let rest = uplinks.into_iter().skip(keep);
    rest.map(|(_, _, port)| (node.guid(), port)).collect()
}
