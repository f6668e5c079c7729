//! Shared helpers of tests that call third-party programs.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_fabric::generate::FabricSpec;
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{Lmc, Topology};
use weft_manager::sm::Settings;
use weft_routing::EngineKind;
use weft_testkit::{Tap, Wait, World};

/// A fabric as on the command line.
pub(crate) fn generate(fabric: &str) -> Arc<Topology> {
    Arc::new(fabric.parse::<FabricSpec>().unwrap().generate().unwrap())
}

/// The real fabric of 400 switches, switched on.
pub(crate) fn real_fabric() -> Option<Arc<Topology>> {
    let file = weft_peers::public_file("hdr-400sw-2328hca.ibnetdiscover")?;
    let text = std::fs::read(file).unwrap();
    Some(Arc::new(
        restart(&import_fabric(&text).unwrap().topology).unwrap(),
    ))
}

/// Settings with an engine and an LMC.
pub(crate) fn settings(engine: EngineKind, lmc: u8) -> Settings {
    let mut settings = Settings::default();
    settings.routing.engine = engine;
    settings.lids.lmc = Lmc(lmc);
    settings
}

/// A fabric whose first sweep has ended.
pub(crate) fn brought_up<T: Tap>(topology: Arc<Topology>, settings: Settings, tap: T) -> World<T> {
    let mut world = World::new(topology, Options::default(), settings, tap).unwrap();
    let ended = world.bring_up(Duration::from_secs(60)).unwrap();
    assert_eq!(ended, Wait::Done, "no sweep ended in 60 s");
    world
}
