//! Head-of-line lifetimes and buffers are written as by the vendor's manager, where the file changes them.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::registers::PortTable;
use weft_emulator::Options;
use weft_fabric::{FabricSpec, Topology};
use weft_interop::Fabric;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn, write_config};
use weft_manager::ManagerSettings;
use weft_peers::{VENDOR_SM, program};
use weft_testkit::world::{NoTap, Wait, World};
use weft_wire::Layout;
use weft_wire::sm::BufferControlTable;

const PATIENCE: Duration = Duration::from_secs(60);
/// The host that the manager runs on.
const HOST: &str = "node1";

/// For each port of a switch with a cable, the queues' lifetimes, and what its data lanes have. What they
/// share is left over: opa-fm computes management's part (`_setup_buffer_control`), Weft leaves lane 15 what
/// the neighbour gave it.
type Written = Vec<(Vec<u8>, Vec<u16>)>;

fn written(network: &Network) -> Written {
    let switches = network.devices().filter(|(_, device)| device.is_switch());
    let ports = switches.flat_map(|(_, device)| device.ports());
    let cabled = ports.filter(|(_, at)| network.has_cable(*at));
    let held = cabled.map(|(_, at)| {
        let registers = network.port(at);
        let lives = registers.info().xmit_q.iter().map(|queue| queue.hoq_life);
        let buffers =
            BufferControlTable::decode(registers.table(PortTable::BufferControl)).unwrap();
        let own = buffers.vl.iter().take(15).map(|vl| vl.tx_dedicated_limit);
        (lives.collect(), own.collect())
    });
    held.collect()
}

fn by_sm(topology: &Topology, settings: &SmSettings) -> (Written, Written) {
    let fabric = Fabric::of(topology.clone(), Options::default());
    let sm = VendorSm::start(&fabric, HOST, settings);
    sm.swept(1, PATIENCE);
    let theirs = fabric.inspect(|emulator| written(emulator.network()));
    (theirs, by_weft(&fabric, topology, settings))
}

/// Registers written by Weft's manager with the vendor's configuration.
fn by_weft(fabric: &Fabric, topology: &Topology, settings: &SmSettings) -> Written {
    let path = write_config(fabric, HOST, settings);
    let text = std::fs::read_to_string(path).unwrap();
    let config = weft_config::check(text, "opafm.xml").config.unwrap();
    let settings = ManagerSettings::from_config(&config.instances[0])
        .unwrap()
        .sm;
    let topology = Arc::new(topology.clone());
    let mut world = World::new(topology, Options::default(), settings, NoTap).unwrap();
    assert_eq!(world.bring_up(PATIENCE).unwrap(), Wait::Done);
    written(world.emulator.network())
}

#[test]
fn scaled_timers_and_shared_memory_are_as_by_the_vendors_manager() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let spec: FabricSpec = "fattree:32,radix=8".parse().unwrap();
    let topology = spec.generate().unwrap();
    let stock = SmSettings {
        full: true,
        ..SmSettings::default()
    };
    let (before, _) = by_sm(&topology, &stock);
    for changes in [
        &[("<TimerScalingEnable>0<", "<TimerScalingEnable>1<")],
        &[("<MinSharedVLMem>0<", "<MinSharedVLMem>60<")],
        &[("<MinSharedVLMem>0<", "<MinSharedVLMem>95<")],
    ] {
        let settings = SmSettings {
            changes,
            ..stock.clone()
        };
        let (theirs, ours) = by_sm(&topology, &settings);
        assert_eq!(theirs.len(), 96, "ports of switches with cables");
        assert_ne!(theirs, before, "{changes:?} changes something");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert_eq!(ours, theirs, "{changes:?}");
        }
    }
}
