//! Members of multicast groups over the end of a daemon: hosts join over the fabric, and the fabric's
//! registers tell what becomes of it.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use weft_fabric::{Guid, PortNum};
use weft_interop::Fabric;
use weft_interop::membership::{self, CREATE, JOIN};
use weft_wire::header::method;
use weft_wire::id::Gid;
use weft_wire::sm::AttributeId;

use crate::harness::{Daemon, Start, configure, stock_config, wait_for};
use crate::watch::Watcher;

/// IPoIB's broadcast group, which the stock configuration has.
pub(crate) const BROADCAST: Gid = Gid {
    prefix: 0xFF12_401B_8001_0000,
    interface: Guid(0xFFFF_FFFF),
};
/// A group of a host's own.
const OWN: Gid = Gid {
    prefix: 0xFF12_A01B_FE80_0000,
    interface: Guid(0x99),
};
/// A fabric with hosts that join, whatever becomes of its manager.
pub(crate) struct Site {
    pub(crate) fabric: Fabric,
    pub(crate) hosts: Vec<Guid>,
}

impl Site {
    pub(crate) fn new(spec: &str) -> Self {
        Self::of(Fabric::start(spec))
    }

    pub(crate) fn of(fabric: Fabric) -> Self {
        let hosts = fabric.topology().hfis().map(|(_, node)| node.guid());
        Self {
            hosts: hosts.collect(),
            fabric,
        }
    }

    /// A daemon on one of the hosts.
    fn daemon(&self, dir: TempDir, host: usize) -> Daemon {
        self.start(dir, host).up()
    }

    /// A daemon to start on one of the hosts.
    pub(crate) fn start(&self, dir: TempDir, host: usize) -> Start {
        let (address, host) = (self.fabric.address().to_string(), self.hosts[host]);
        Start::on(dir, &["--connect", &address, "--host", &host.to_string()])
    }

    /// Number of Sets to multicast tables so far.
    fn writes(&self) -> u64 {
        let writes = |emulator: &weft_emulator::Emulator| {
            emulator.stats().total(AttributeId::MULTICAST_FDB).1
        };
        self.fabric.inspect(writes)
    }

    /// The writes, once there are none for a second.
    pub(crate) fn settled(&self) -> u64 {
        let mut before = self.writes();
        wait_for(|| {
            std::thread::sleep(Duration::from_secs(1));
            let now = self.writes();
            (std::mem::replace(&mut before, now) == now).then_some(now)
        })
    }

    /// Number of requests to register again, by host.
    pub(crate) fn asked(&self) -> Vec<u32> {
        let hosts = self.hosts.clone();
        self.fabric.inspect(move |emulator| {
            let network = emulator.network();
            let of = |guid: &Guid| {
                let device = network.device(network.find(*guid).unwrap()).unwrap();
                network
                    .port(device.port(PortNum(1)).unwrap())
                    .reregistrations()
            };
            hosts.iter().map(of).collect()
        })
    }

    /// Sends a membership request for the broadcast group.
    pub(crate) fn ask(&self, host: usize, method: u8) -> u16 {
        self.ask_of(BROADCAST, host, (method, JOIN))
    }

    /// Sends a membership request from a host; returns the answer's status.
    fn ask_of(&self, mgid: Gid, host: usize, change: (u8, u64)) -> u16 {
        membership::ask(&self.fabric, self.hosts[host], mgid, change).expect("no answer")
    }

    pub(crate) fn join(&self, hosts: &[usize]) {
        for host in hosts {
            assert_eq!(self.ask(*host, method::SET), 0, "host {host} joins");
        }
    }
}

fn directory() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
    dir
}

pub(crate) fn stored(dir: &Path) -> std::path::PathBuf {
    dir.join("state/registrations.0")
}

/// What is written before it takes the place of that.
fn next(dir: &Path) -> std::path::PathBuf {
    stored(dir).with_extension("0.new")
}

#[test]
fn a_crash_of_the_daemon_is_invisible_to_members() {
    let site = Site::new("fattree:16,radix=8");
    let daemon = site.daemon(directory(), 0);
    let members = [2, 5, 9, 14];
    site.join(&members);
    wait_for(|| stored(daemon.dir.path()).exists().then_some(()));
    let writes = site.settled();
    assert!(writes > 0, "members are in the tables");
    let again = site.daemon(daemon.crash(), 0);
    assert_eq!(site.settled(), writes, "Sets to multicast tables");
    assert_eq!(site.asked(), [0; 16], "hosts notice nothing");
    for member in members {
        assert_eq!(site.ask(member, method::DELETE), 0, "{member} was a member");
    }
    assert!(site.settled() > writes);
    assert!(!again.log().contains("register again"), "{}", again.log());
}

#[test]
fn a_crash_right_after_a_join_has_hosts_register_again() {
    let site = Site::new("fattree:16,radix=8");
    let daemon = site.daemon(directory(), 0);
    let members = [2, 5, 9, 14];
    site.join(&members);
    wait_for(|| stored(daemon.dir.path()).exists().then_some(()));
    let writes = site.settled();
    // The crash comes before anything is stored again.
    symlink("/dev/full", next(daemon.dir.path())).unwrap();
    site.join(&[3]);
    assert!(
        !stored(daemon.dir.path()).exists(),
        "what is stored lacks host 3, which was told that it is a member"
    );
    let dir = daemon.crash();
    std::fs::remove_file(next(dir.path())).unwrap();
    let again = site.daemon(dir, 0);
    let later = site.writes();
    wait_for(|| (site.asked() == [1; 16]).then_some(()));
    // The tables stay as they are found until hosts have joined again.
    site.join(&members);
    site.join(&[3]);
    wait_for(|| stored(again.dir.path()).exists().then_some(()));
    let left = site.settled() - later;
    assert!(left <= 2, "{left} Sets for one host at most");
    assert!(later - writes <= 2);
    for member in members {
        assert_eq!(site.ask(member, method::DELETE), 0, "{member} is a member");
    }
}

#[test]
fn a_manager_that_knows_no_registrations_has_hosts_register_again() {
    let site = Site::new("fattree:16,radix=8");
    let first = site.daemon(directory(), 0);
    let members = [2, 5, 9, 14];
    site.join(&members);
    wait_for(|| stored(first.dir.path()).exists().then_some(()));
    let writes = site.settled();
    // As standby of the first one it might have copies.
    let earlier = first.crash();
    let second = site.daemon(directory(), 1);
    wait_for(|| site.asked().iter().all(|asked| *asked == 1).then_some(()));
    assert_eq!(site.writes(), writes, "tables stay until members are back");
    site.join(&members);
    wait_for(|| stored(second.dir.path()).exists().then_some(()));
    site.settled();
    for member in members {
        assert_eq!(site.ask(member, method::DELETE), 0, "{member} is a member");
    }
    // The first daemon's file is out of date.
    assert!(stored(earlier.path()).exists());
}

#[test]
fn the_port_of_a_host_that_ends_groups_again_and_again_is_bounced() {
    let site = Site::new("fattree:16,radix=8");
    let dir = tempfile::tempdir().unwrap();
    let lmc = "<Lmc>0</Lmc>";
    let policy = "<McDosThreshold>3</McDosThreshold><McDosAction>1</McDosAction>";
    let file = dir.path().join("opafm.xml");
    configure(&file, &[(lmc, &format!("{lmc}{policy}"))]);
    let daemon = site.daemon(dir, 0);
    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    for _ in 0..3 {
        for change in [(method::SET, CREATE), (method::DELETE, JOIN)] {
            assert_eq!(site.ask_of(OWN, 5, change), 0);
        }
    }
    let storm = watcher.until("multicast_storm")["data"].clone();
    assert_eq!(storm["groups"], 3);
    assert_eq!(storm["bounced"], true);
    // Its link trains again, and it can register.
    watcher.until("sweep_ended");
    site.join(&[5]);
    daemon.logs("is bounced: the host behind it has ended 3 multicast groups");
}
