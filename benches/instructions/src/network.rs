//! Networks that a manager has brought up, and packets that cross them.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use weft_dataplane::Network;
use weft_dataplane::packets::{MICRO, Options as Hardware, Shards, Simulation};
use weft_dataplane::traffic::{Hosts, Pattern, Streams, StreamsOptions};
use weft_emulator::Options as EmulatorOptions;
use weft_fabric::Sl;
use weft_fabric::generate::GenerateError;
use weft_manager::sm::Settings;
use weft_manager::sm::settings::Level;
use weft_routing::EngineKind;
use weft_testkit::{NoTap, Wait, World, WorldError};

use crate::fabrics::new_tree;

/// Why there is no network.
#[derive(Debug, Error)]
pub enum NotUp {
    /// The fabric cannot be made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// Manager and emulator cannot go on.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The first sweep takes too long.
    #[error("{hosts} hosts do not come up: the first sweep has not ended after 600 s")]
    Late {
        /// Hosts of the fabric.
        hosts: u64,
    },
}

/// A fat tree as the manager brings it up, with as many service levels as lanes.
///
/// # Errors
/// [`NotUp`] when the fabric cannot be made or does not come up.
pub fn brought_up(hosts: u64, radix: u8, lanes: u8) -> Result<Network, NotUp> {
    let topology = new_tree(hosts, radix)?;
    let mut settings = Settings::default();
    settings.routing.engine = EngineKind::FatTree;
    settings.levels = (0..lanes)
        .map(|sl| Level {
            sl: Sl(sl),
            bandwidth: 100 / lanes,
            ..Level::default()
        })
        .collect();
    let emulator = EmulatorOptions::default();
    let mut world = World::new(Arc::new(topology), emulator, settings, NoTap)?.without_reader();
    if world.bring_up(Duration::from_secs(600))? == Wait::TimedOut {
        return Err(NotUp::Late { hosts });
    }
    Ok(world.emulator.network().clone())
}

/// Packets of 2,112 bytes to random hosts on eight lanes, at full load.
fn full_swing() -> StreamsOptions {
    StreamsOptions {
        pattern: Pattern::Uniform,
        bytes: 2_112,
        levels: (0..8).map(Sl).collect(),
        load: None,
        begin: 0,
        seed: 1,
    }
}

/// A simulation in steady state: a fat tree of 128 hosts that all send at full load.
///
/// # Errors
/// [`NotUp`] when the fabric cannot be made or does not come up.
pub fn in_full_swing() -> Result<(Simulation, Streams), NotUp> {
    let network = brought_up(128, 16, 8)?;
    let mut simulation = Simulation::new(&network, Hardware::default());
    let mut streams = Streams::new(Hosts::all(&network), full_swing());
    streams.start(&mut simulation);
    simulation.run(&mut streams, 10 * MICRO);
    Ok((simulation, streams))
}

/// A simulation in steady state, in two shards.
///
/// # Errors
/// [`NotUp`] when the fabric cannot be made or does not come up.
pub fn in_two_shards() -> Result<Shards<Streams>, NotUp> {
    let network = brought_up(128, 16, 8)?;
    let hosts = Hosts::all(&network);
    let mut shards = Shards::new(&network, &Hardware::default(), 2, |_| {
        Streams::new(hosts.clone(), full_swing())
    });
    for shard in shards.shards_mut() {
        shard.traffic.start(&mut shard.simulation);
    }
    shards.run(10 * MICRO, 1);
    Ok(shards)
}
