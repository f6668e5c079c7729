//! Two managers on one fabric, the vendor's and Weft's in all orders: the standby takes over when the
//! master is killed, no port changes its state meanwhile, and the new master is in charge.
#![allow(clippy::unwrap_used)]

mod managers;

use std::time::{Duration, Instant};

use weft_dataplane::counters::Counter;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};
use weft_interop::Fabric;
use weft_interop::routes::judge;
use weft_interop::vendor_sm::turn;
use weft_peers::{VENDOR_SM, program};
use weft_testkit::view::FabricView;

use managers::{Kind, Manager};

const FABRIC: &str = "fattree:128";
const PATIENCE: Duration = Duration::from_secs(60);
/// Hosts of the managers: the master has the higher priority, because otherwise the one with the
/// lower GUID would win.
const HOSTS: [&str; 2] = ["node1", "node2"];

/// The LIDs of all nodes that have one.
fn lids(fabric: &Fabric) -> Vec<(Guid, Lid)> {
    let view = fabric.view();
    let nodes = view.nodes.iter();
    nodes
        .filter_map(|node| Some((node.guid, node.end_port()?.lid)))
        .collect()
}

/// The LID that a host's port has for the master's.
fn master_of(fabric: &Fabric, host: &str) -> Lid {
    let guid = fabric.host(host);
    fabric.inspect(move |emulator| {
        let network = emulator.network();
        let (_, device) = network
            .devices()
            .find(|(_, device)| device.info.node_guid == guid)
            .unwrap();
        let (_, at) = device.ports().next().unwrap();
        network.port(at).info().master_sm_lid
    })
}

/// Waits until something holds.
fn wait(what: &str, log: &dyn Fn() -> String, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}, and is not; {}", log());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn all_is_well(fabric: &Fabric, when: &str, log: &str) {
    let judgement = judge(&fabric.view());
    println!("{when}: {judgement:?}");
    assert!(judgement.is_good(), "{when}: {judgement:?}\n{log}");
}

/// Lets one manager take over from another that is killed.
fn takes_over(first: Kind, second: Kind) {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(FABRIC);
    let mut master = Manager::start(first, &fabric, HOSTS[0], 5);
    master.wait_until_master();
    let mut standby = Manager::start(second, &fabric, HOSTS[1], 3);
    standby.wait_until_standby();
    wait(
        "the master's sweep should be over",
        &|| master.log(),
        || judge(&fabric.view()).is_good(),
    );
    let before = lids(&fabric);
    let links = Links::of(&fabric);

    master.kill();
    standby.wait_until_master();
    let own = lid_of(&fabric, HOSTS[1]);
    wait(
        "every port should know the new master",
        &|| standby.log(),
        || master_of(&fabric, "node77") == own,
    );
    all_is_well(&fabric, "taken over", &standby.log());
    assert_eq!(Links::of(&fabric), links, "ports: {}", standby.log());
    assert_eq!(lids(&fabric), before, "LIDs stay as they are");
    routes_around_a_lost_link(&fabric, &standby);
}

fn lid_of(fabric: &Fabric, host: &str) -> Lid {
    let guid = fabric.host(host);
    let found = lids(fabric).into_iter().find(|(other, _)| *other == guid);
    found.unwrap().1
}

/// Shows afterwards whether a port was active all the time.
#[derive(Debug, PartialEq, Eq)]
struct Links {
    /// Changes of state of all ports since the fabric was made; nobody can clear it.
    state_changes: u64,
    /// LinkDowned of each port.
    downed: Vec<u64>,
}

impl Links {
    fn of(fabric: &Fabric) -> Self {
        fabric.inspect(|emulator| {
            let network = emulator.network();
            let ports = network.devices().flat_map(|(_, device)| device.ports());
            let downed = ports.map(|(_, at)| network.counter(at, Counter::LinkDowned));
            Self {
                state_changes: network.state_changes(),
                downed: downed.collect(),
            }
        })
    }
}

#[test]
fn a_port_that_bounces_within_a_moment_is_seen() {
    let fabric = Fabric::start("one-switch:2");
    let before = Links::of(&fabric);
    let topology = fabric.topology();
    let (end, _) = topology.links().next().unwrap();
    let (node, port) = (topology.node(end.node).unwrap().guid(), end.port);
    fabric.control(Control::LinkDown { node, port });
    fabric.control(Control::LinkUp { node, port });
    let after = Links::of(&fabric);
    assert_eq!(after.state_changes - before.state_changes, 4);
    assert_eq!(after.downed.iter().sum::<u64>(), 2);
}

/// A view after a link has gone down, before any reaction.
fn without_link(mut view: FabricView, node: Guid, port: PortNum) -> FabricView {
    let mut end = Some((view.find(node).unwrap(), port.0));
    while let Some((place, port)) = end {
        let port = view.nodes[place].ports[usize::from(port)].as_mut();
        end = port.unwrap().peer.take();
    }
    view
}

/// The new master is in charge: it answers a trap.
fn routes_around_a_lost_link(fabric: &Fabric, standby: &Manager) {
    let topology = fabric.topology();
    let switch = |node| topology.switch_index(node).is_some();
    let (end, _) = topology
        .links()
        .find(|(a, b)| switch(a.node) && switch(b.node))
        .unwrap();
    let (node, port) = (topology.node(end.node).unwrap().guid(), end.port);
    let cut = without_link(fabric.view(), node, port);
    assert_ne!(judge(&cut).lost, 0, "the link carries something");
    fabric.control(Control::LinkDown { node, port });
    wait("all pairs should be routed", &|| standby.log(), || {
        judge(&fabric.view()).is_good()
    });
    all_is_well(fabric, "around a lost link", &standby.log());
}

#[test]
fn the_vendors_standby_takes_over_from_the_vendors_master() {
    takes_over(Kind::Vendor, Kind::Vendor);
}

#[test]
fn weft_takes_over_from_the_vendors_master() {
    takes_over(Kind::Vendor, Kind::Weft);
}

#[test]
fn the_vendors_standby_takes_over_from_weft() {
    takes_over(Kind::Weft, Kind::Vendor);
}

#[test]
fn weft_takes_over_from_weft() {
    takes_over(Kind::Weft, Kind::Weft);
}
