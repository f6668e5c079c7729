//! Shares of bandwidth become the arbitration tables that the vendor's manager writes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::Network;
use weft_dataplane::registers::PortTable;
use weft_emulator::Options;
use weft_fabric::{FabricSpec, Topology};
use weft_interop::Fabric;
use weft_interop::vendor_sm::Share::{High, Percent};
use weft_interop::vendor_sm::{Share, SmSettings, VendorSm, turn, write_config};
use weft_manager::ManagerSettings;
use weft_peers::{VENDOR_SM, program};
use weft_testkit::world::{NoTap, Wait, World};
use weft_wire::Layout;
use weft_wire::sm::{VlArbElement, VlArbTable};

const PATIENCE: Duration = Duration::from_secs(60);
/// The host that the manager runs on.
const HOST: &str = "node1";

/// The virtual fabrics without `QOS` have the rest.
const ALIKE: [&[Share]; 8] = [
    &[],
    &[Percent(30)],
    &[Percent(20), Percent(30)],
    &[Percent(10), Percent(20), Percent(30)],
    &[Percent(25), Percent(25)],
    &[High],
    &[Percent(20), High, Percent(30)],
    &[High, Percent(60), High],
];
/// Shares that 16 turns of a packet each cannot express: `_set_vlarb_entry` of `sm_qos.c` makes turns of 254
/// units stand for two of 160, which has no effect on 8-KiB packets. Weft's are always of 160.
const HEAVIER: [&[Share]; 3] = [
    &[Percent(15), Percent(35)],
    &[Percent(5), Percent(5), Percent(5)],
    &[Percent(33), High],
];

/// Registers of a port with a cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    between_switches: bool,
    /// Turns with low and with high priority, as lane:weight.
    low: String,
    high: String,
    /// VL.HighLimit.
    limit: u16,
}

#[test]
fn both_managers_write_the_same() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let mut tables = BTreeSet::new();
    for shares in ALIKE {
        let [ours, theirs] = by_both(shares);
        println!("{shares:?}: {:?}", ours[0]);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.low, theirs.low, "{shares:?}");
            compare_high(ours, theirs);
        }
        tables.insert(ours[0].clone());
    }
    assert_eq!(
        tables.len(),
        ALIKE.len(),
        "a table of its own for each case"
    );
    for shares in HEAVIER {
        let [ours, theirs] = by_both(shares);
        println!("{shares:?}: {:?}, vendor's {}", ours[0], theirs[0].low);
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let heavy = |held: &Held| held.low.contains(":254");
            assert!(heavy(theirs) && !heavy(ours), "{ours:?}; {theirs:?}");
            compare_high(ours, theirs);
        }
    }
}

/// Between switches the vendor's manager leaves HighLimit at 0, as it counts virtual fabrics with
/// priority where it makes P_Keys, and makes none there (`sm_partMgr.c`: `sm_compute_portPkeys`).
/// With 0 each packet with priority waits for one without. Weft's limit is that of all ports.
fn compare_high(ours: &Held, theirs: &Held) {
    assert_eq!(ours.high, theirs.high);
    match theirs.between_switches {
        true => assert_eq!(theirs.limit, 0),
        false => assert_eq!(ours.limit, theirs.limit),
    }
    let lanes = ours.high.split_whitespace().count();
    assert_eq!(usize::from(ours.limit), lanes);
}

/// Registers of each port with a cable, written by Weft and by the vendor's manager.
fn by_both(shares: &'static [Share]) -> [Vec<Held>; 2] {
    let settings = SmSettings {
        shares,
        ..SmSettings::default()
    };
    let spec: FabricSpec = "fattree:8,radix=4".parse().unwrap();
    let topology = spec.generate().unwrap();
    let fabric = Fabric::of(topology.clone(), Options::default());
    let theirs = by_the_vendors(&fabric, &settings);
    let ours = by_weft(&fabric, topology, &settings);
    for held in [&ours, &theirs] {
        let between = held.iter().filter(|held| held.between_switches).count();
        assert_eq!((held.len(), between), (32, 16), "ports with cables");
    }
    [ours, theirs]
}

fn by_the_vendors(fabric: &Fabric, settings: &SmSettings) -> Vec<Held> {
    let sm = VendorSm::start(fabric, HOST, settings);
    sm.swept(1, PATIENCE);
    fabric.inspect(|emulator| written(emulator.network()))
}

/// Registers written by Weft's manager with the vendor's configuration.
fn by_weft(fabric: &Fabric, topology: Topology, settings: &SmSettings) -> Vec<Held> {
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

fn written(network: &Network) -> Vec<Held> {
    let devices = network.devices();
    let ports = devices.flat_map(|(_, device)| device.ports());
    let held = ports.filter_map(|(_, at)| {
        let peer = network.peer(at)?;
        let registers = network.port(at);
        let is_switch = |at| network.device_at(network.node_of(at)).switch().is_some();
        Some(Held {
            between_switches: is_switch(at) && is_switch(peer),
            low: turns(registers.table(PortTable::VlArbLow)),
            high: turns(registers.table(PortTable::VlArbHigh)),
            limit: registers.info().vl_high_limit,
        })
    });
    held.collect()
}

fn turns(table: &[u8]) -> String {
    let table = VlArbTable::decode(table).unwrap();
    let used = table.elements.iter().filter(|turn| turn.weight > 0);
    let named = used.map(|VlArbElement { vl, weight }| format!("{}:{weight}", vl.0));
    named.collect::<Vec<_>>().join(" ")
}
