//! Two managers on one fabric, the vendor's and Weft's in all orders: the standby takes over when the
//! master is killed, no link goes down meanwhile, and the new master is in charge.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};
use weft_interop::peers::{VENDOR_SM, program};
use weft_interop::routes::judge;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_lab::view::FabricView;

const FABRIC: &str = "fattree:128";
const PATIENCE: Duration = Duration::from_secs(60);
/// Where a manager is told to be: the master has the higher priority, as it would else be the one
/// with the lower GUID.
const HOSTS: [&str; 2] = ["node1", "node2"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Vendor,
    Weft,
}

enum Manager {
    Vendor(VendorSm),
    Weft(Weftd),
}

impl Manager {
    fn start(kind: Kind, fabric: &Fabric, host: &str, priority: u8) -> Self {
        let settings = SmSettings {
            priority,
            ping_s: 1,
            ..SmSettings::default()
        };
        match kind {
            Kind::Vendor => Self::Vendor(VendorSm::start(fabric, host, &settings)),
            Kind::Weft => Self::Weft(Weftd::start(fabric, host, &settings)),
        }
    }

    fn wait_until_master(&mut self) {
        match self {
            Self::Vendor(sm) => {
                sm.wait_for("to MASTER", 1, PATIENCE);
                let swept = sm.sweeps().len();
                sm.swept(swept.max(1), PATIENCE);
            }
            Self::Weft(weftd) => weftd.wait_until_master(PATIENCE),
        }
    }

    fn wait_until_standby(&mut self) {
        match self {
            Self::Vendor(sm) => sm.wait_for("to STANDBY", 1, PATIENCE),
            Self::Weft(weftd) => weftd.wait_until_standby(PATIENCE),
        }
    }

    fn kill(&mut self) {
        match self {
            Self::Vendor(sm) => sm.kill(),
            Self::Weft(weftd) => weftd.kill(),
        }
    }

    fn log(&self) -> String {
        match self {
            Self::Vendor(sm) => sm.log(),
            Self::Weft(weftd) => weftd.log(),
        }
    }
}

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
    let guid = guid_of(fabric, host);
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

fn guid_of(fabric: &Fabric, host: &str) -> Guid {
    let (_, node) = fabric
        .topology()
        .nodes()
        .find(|(_, node)| node.name().split(' ').next() == Some(host))
        .unwrap();
    node.guid()
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

    master.kill();
    let watch = watch_ports(&fabric, || standby.wait_until_master());
    assert_eq!(watch, 0, "ports went down: {}", standby.log());
    let own = lid_of(&fabric, HOSTS[1]);
    wait(
        "every port should know the new master",
        &|| standby.log(),
        || master_of(&fabric, "node77") == own,
    );
    all_is_well(&fabric, "taken over", &standby.log());
    assert_eq!(lids(&fabric), before, "LIDs stay as they are");
    routes_around_a_lost_link(&fabric, &standby);
}

fn lid_of(fabric: &Fabric, host: &str) -> Lid {
    let guid = guid_of(fabric, host);
    let found = lids(fabric).into_iter().find(|(other, _)| *other == guid);
    found.unwrap().1
}

/// How many ports were seen not to be active while `wait` waits.
fn watch_ports(fabric: &Fabric, wait: impl FnOnce() + Send) -> usize {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(wait);
        let mut worst = 0;
        while !waiting.is_finished() {
            worst = worst.max(weft_interop::routes::inactive(&fabric.view()));
            std::thread::sleep(Duration::from_millis(20));
        }
        waiting.join().unwrap();
        worst
    })
}

/// A view as it is when a link has gone down and nobody has answered that yet.
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
