//! Two managers on one fabric, the vendor's and Weft's in all orders: what hosts have registered at the master,
//! its standby knows when it takes over. Weft asks no host to register again; the vendor's manager always asks all.
#![allow(clippy::unwrap_used)]

mod managers;

use std::time::Duration;

use weft_fabric::Guid;
use weft_interop::Fabric;
use weft_interop::membership::{CREATE, JOIN, ask};
use weft_interop::vendor_sm::turn;
use weft_peers::{VENDOR_SM, program};
use weft_wire::header::method;
use weft_wire::id::Gid;

use managers::{Kind, Manager};

const FABRIC: &str = "fattree:8,radix=4";
/// Time in which a master tells its standby of a change: the vendor's looks each second.
const TOLD: Duration = Duration::from_secs(4);
/// Time in which a new master would ask hosts to register again, and change multicast tables.
const SETTLED: Duration = Duration::from_secs(3);
/// Hosts of the managers.
const HOSTS: [&str; 2] = ["node1", "node2"];
/// A group that hosts make.
const GROUP: Gid = Gid {
    prefix: 0xFF12_401B_8001_0000,
    interface: Guid(0x4711),
};

/// A master with hosts in a group, and a standby.
struct Pair {
    fabric: Fabric,
    master: Manager,
    standby: Manager,
}

impl Pair {
    fn start(kinds: [Kind; 2], priorities: [u8; 2]) -> Self {
        let fabric = Fabric::start(FABRIC);
        let mut master = Manager::start(kinds[0], &fabric, HOSTS[0], priorities[0]);
        master.wait_until_master();
        // One member from before the standby is there, one that it hears of by itself.
        let join = |host, change| ask(&fabric, fabric.host(host), GROUP, change);
        assert_eq!(join("node5", (method::SET, CREATE)), Some(0));
        let mut standby = Manager::start(kinds[1], &fabric, HOSTS[1], priorities[1]);
        standby.wait_until_standby();
        std::thread::sleep(TOLD);
        assert_eq!(join("node7", (method::SET, JOIN)), Some(0));
        std::thread::sleep(TOLD);
        Self {
            fabric,
            master,
            standby,
        }
    }

    fn logs(&self) -> String {
        let (master, standby) = (self.master.log(), self.standby.log());
        format!("first master:\n{master}\nits standby:\n{standby}")
    }

    /// The standby is master now, and has everything; the fabric is as it was `before`, where that is given.
    fn is_taken_over(&mut self, before: Option<&State>) {
        self.standby.wait_until_master();
        std::thread::sleep(SETTLED);
        if let Some(before) = before {
            assert_eq!(&State::of(&self.fabric), before, "{}", self.logs());
        }
        // A group that is not known can be created, and not joined.
        let join = |host, change| ask(&self.fabric, self.fabric.host(host), GROUP, change);
        let joined = join("node3", (method::SET, JOIN));
        assert_eq!(joined, Some(0), "{}", self.logs());
        // A host that is no member cannot leave.
        for host in ["node5", "node7", "node3"] {
            let left = join(host, (method::DELETE, JOIN));
            assert_eq!(left, Some(0), "{host} leaves: {}", self.logs());
        }
    }
}

/// What a takeover with registrations does not change.
#[derive(Debug, PartialEq, Eq)]
struct State {
    /// How often hosts were asked to register again.
    asked: u64,
    /// Multicast tables of all switches that forward anything, without rows at the end that are empty.
    tables: Vec<(Guid, Vec<Vec<u8>>)>,
}

impl State {
    fn of(fabric: &Fabric) -> Self {
        let asked = fabric.inspect(|emulator| {
            let network = emulator.network();
            let ports = network.devices().flat_map(|(_, device)| device.ports());
            let asked = ports.map(|(_, at)| u64::from(network.port(at).reregistrations()));
            asked.sum()
        });
        let nodes = fabric.view().nodes;
        let tables = nodes.into_iter().map(|node| {
            let mut rows = node.mft;
            while rows.pop_if(|row| row.is_empty()).is_some() {}
            (node.guid, rows)
        });
        let tables = tables.filter(|(_, rows)| !rows.is_empty()).collect();
        Self { asked, tables }
    }
}

/// Lets a standby take over from a master that is killed.
fn takes_over(first: Kind, second: Kind) {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let mut pair = Pair::start([first, second], [5, 3]);
    let before = State::of(&pair.fabric);
    assert!(!before.tables.is_empty(), "{}", pair.logs());
    pair.master.kill();
    pair.is_taken_over((second == Kind::Weft).then_some(&before));
}

#[test]
fn the_vendors_standby_has_what_hosts_registered_at_weft() {
    takes_over(Kind::Weft, Kind::Vendor);
}

#[test]
fn weft_has_what_hosts_registered_at_the_vendors_master() {
    takes_over(Kind::Vendor, Kind::Weft);
}

#[test]
fn weft_has_what_hosts_registered_at_weft() {
    takes_over(Kind::Weft, Kind::Weft);
}

#[test]
fn the_vendors_master_hands_over_to_weft() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let fabric = Fabric::start(FABRIC);
    let mut master = Manager::start(Kind::Vendor, &fabric, HOSTS[0], 1);
    master.wait_until_master();
    let join = |host, change| ask(&fabric, fabric.host(host), GROUP, change);
    assert_eq!(join("node5", (method::SET, CREATE)), Some(0));
    assert_eq!(join("node7", (method::SET, JOIN)), Some(0));
    std::thread::sleep(SETTLED);
    let before = State::of(&fabric);
    let standby = Manager::start(Kind::Weft, &fabric, HOSTS[1], 8);
    let mut pair = Pair {
        fabric,
        master,
        standby,
    };
    pair.is_taken_over(Some(&before));
}
