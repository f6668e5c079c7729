//! Tables of Weft's engines, as the manager writes them into the registers of a torus.

use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::traffic::{Hosts, PathLevels};
use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_fabric::PortRef;
use weft_manager::sm::Settings;
use weft_routing::EngineKind;
use weft_testkit::{NoTap, Wait, World, grid};

use super::{Ready, Torus};
use crate::Failure;

/// Lifetime of packets in registers that never ends.
const ENDLESS: u8 = 31;
const PATIENCE: Duration = Duration::from_secs(600);

/// Brings the torus up without some of its links. Lifetimes are endless, so that nothing resolves a deadlock.
pub(super) fn bring_up(
    torus: &Torus,
    cuts: &[PortRef],
    engine: EngineKind,
    escape: bool,
) -> Result<Ready, Failure> {
    let mut settings = Settings::default();
    settings.routing.engine = engine;
    settings.routing.mesh.dimensions = grid::dimensions(&torus.spec);
    settings.routing.mesh.detour_lane = escape;
    settings.traffic.hoq_life = ENDLESS;
    settings.traffic.switch_lifetime = ENDLESS;
    let topology = Arc::new(torus.topology.clone());
    let mut world = World::new(topology, Options::default(), settings.clone(), NoTap)?;
    for cut in cuts {
        if let Some(node) = torus.topology.node(cut.node) {
            let (node, port) = (node.guid(), cut.port);
            world.control(Control::LinkDown { node, port })?;
        }
    }
    if world.bring_up(PATIENCE)? == Wait::TimedOut {
        return Err(Failure::BringUp {
            hosts: torus.topology.hfis().count() as u64,
            why: format!(
                "the first sweep has not ended after {} s",
                PATIENCE.as_secs()
            ),
        });
    }
    let snapshot = world.snapshot();
    let in_lane = |level, lane| settings.level_in_lane(level, lane);
    let levels = PathLevels::new(snapshot.linear.lanes(), in_lane);
    let network = world.emulator.network().clone();
    Ok(Ready {
        hosts: Hosts::all(&network).with_levels(levels),
        network,
        engine: world.manager().status().engine,
    })
}
