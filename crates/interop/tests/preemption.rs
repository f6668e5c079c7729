//! Preemption is written as by the vendor's manager.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::registers::PortTable;
use weft_emulator::Options;
use weft_fabric::powered_on::let_interleave;
use weft_fabric::{FabricSpec, Topology};
use weft_interop::Fabric;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn, write_config};
use weft_manager::ManagerSettings;
use weft_peers::{VENDOR_SM, program};
use weft_testkit::world::{NoTap, Wait, World};
use weft_wire::Layout;
use weft_wire::sm::VlArbMatrix;

const PATIENCE: Duration = Duration::from_secs(60);
/// The host that the manager runs on.
const HOST: &str = "node1";

#[test]
fn both_managers_write_the_same() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        full: true,
        ranked: true,
        ..SmSettings::default()
    };
    let spec: FabricSpec = "fattree:32,radix=8".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    let_interleave(&mut topology);
    let fabric = Fabric::of(topology.clone(), Options::default());
    let sm = VendorSm::start(&fabric, HOST, &settings);
    sm.swept(1, PATIENCE);
    let theirs = fabric.inspect(|emulator| written(emulator.network()));
    let ours = by_weft(&fabric, topology, &settings);
    assert_eq!((ours.len(), theirs.len()), (128, 128), "ports with cables");
    let rows = |port: &String| !port.ends_with("[]");
    assert!(theirs.iter().all(rows), "{theirs:#?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
}

/// Registers written by Weft's manager with the vendor's configuration.
fn by_weft(fabric: &Fabric, topology: Topology, settings: &SmSettings) -> Vec<String> {
    let path = write_config(fabric, HOST, settings);
    let text = std::fs::read_to_string(path).unwrap();
    let config = weft_config::check(text, "opafm.xml").config.unwrap();
    let settings = ManagerSettings::from_config(&config.instances[0])
        .unwrap()
        .sm;
    let mut world = World::new(Arc::new(topology), Options::default(), settings, NoTap).unwrap();
    assert_eq!(world.bring_up(PATIENCE).unwrap(), Wait::Done);
    written(world.emulator.network())
}

/// For each port with a cable: markers, nest level, distance, parts and limits, and the rows of the
/// matrix that allow something.
fn written(network: &Network) -> Vec<String> {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports());
    let cabled = ports.filter(|(_, at)| network.has_cable(*at));
    let held = cabled.map(|(_, at)| {
        let registers = network.port(at);
        let info = registers.info();
        let matrix = VlArbMatrix::decode(registers.table(PortTable::VlArbMatrix)).unwrap();
        let rows = matrix
            .matrix
            .iter()
            .enumerate()
            .filter(|(_, row)| **row != 0);
        let flits = (
            info.is_vl_marker_enabled,
            info.interleave_max_nest_level_tx_enabled,
            info.interleave_distance_enabled,
        );
        let sizes = [
            info.preemption_min_initial,
            info.preemption_min_tail,
            info.preemption_small_pkt_limit.into(),
            info.preemption_large_pkt_limit.into(),
            info.preemption_limit.into(),
        ];
        let rows: Vec<_> = rows.collect();
        format!("{at:?}: {flits:?} {sizes:?} {rows:?}")
    });
    held.collect()
}
