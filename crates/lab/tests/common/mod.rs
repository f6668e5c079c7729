//! What the tests that call other people's programs share.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_fabric::generate::FabricSpec;
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{Lmc, Topology};
use weft_lab::{Tap, World};
use weft_manager::sm::Settings;
use weft_routing::EngineKind;

/// Whether other people's programs and data have to be there.
pub(crate) fn peers_required() -> bool {
    std::env::var("WEFT_PEERS").is_ok_and(|value| value == "required")
}

/// Runs a program of somebody else's; none, said aloud, when it is not there and need not be.
pub(crate) fn peer(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(why) => {
            let program = command.get_program().to_string_lossy().into_owned();
            assert!(!peers_required(), "{program} cannot be run: {why}");
            eprintln!("not run: {program} cannot be run: {why}");
            None
        }
    }
}

/// A file of public data that is not in the repository; none, said aloud, when it is not there and
/// need not be.
pub(crate) fn public_file(name: &str) -> Option<Vec<u8>> {
    let Ok(directory) = std::env::var("WEFT_TOPOLOGIES") else {
        assert!(
            !peers_required(),
            "WEFT_TOPOLOGIES is not set, {name} is needed"
        );
        eprintln!("not run: WEFT_TOPOLOGIES is not set, {name} is needed");
        return None;
    };
    let path = std::path::Path::new(&directory).join(name);
    Some(std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display())))
}

/// A fabric as on the command line.
pub(crate) fn generate(fabric: &str) -> Arc<Topology> {
    Arc::new(fabric.parse::<FabricSpec>().unwrap().generate().unwrap())
}

/// The real fabric of 400 switches, switched on.
pub(crate) fn real_fabric() -> Option<Arc<Topology>> {
    let text = public_file("hdr-400sw-2328hca.ibnetdiscover")?;
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
    assert!(
        world.bring_up(Duration::from_secs(60)).unwrap(),
        "no sweep ended in 60 s"
    );
    world
}
