//! Two daemons as a pair: what the master has promised is the standby's when it takes over, and it notices at once.
//! The fabric's registers tell what becomes of hosts and ports.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use weft_fabric::PortNum;
use weft_wire::header::method;

use crate::harness::{Daemon, configure, data, wait_for};
use crate::registrations::{Site, stored};

/// Longest time from a death to a new master here, where debug builds share few cores with other tests. Without a pair
/// it is 5 s and more.
const AT_ONCE: Duration = Duration::from_secs(3);

/// A master and its standby on a fabric.
pub(crate) struct Pair {
    pub(crate) site: Site,
    pub(crate) master: Daemon,
    pub(crate) standby: Daemon,
}

impl Pair {
    /// The standby reaches the master at an address made of the master's own.
    fn through(address: impl Fn(&str) -> String) -> Self {
        Self::with(elevating(), address)
    }

    /// The standby has a directory of its own.
    pub(crate) fn with(standby: TempDir, address: impl Fn(&str) -> String) -> Self {
        let site = Site::new("fattree:16,radix=8");
        let master = site.start(elevating(), 0).up();
        let peer = address(&master.api);
        let standby = site.start(standby, 1).args(&["--peer", &peer]).up();
        Self {
            site,
            master,
            standby,
        }
    }

    pub(crate) fn new() -> Self {
        Self::through(str::to_owned)
    }

    /// The other daemon as one of them shows it.
    pub(crate) fn shown(daemon: &Daemon) -> Option<Value> {
        let fabric = daemon.weft_ok(&["fabric", "show", "--json"]);
        let fabric: Value = serde_json::from_str(&fabric).unwrap();
        Some(fabric["peers"][0].clone()).filter(|peer| !peer.is_null())
    }

    /// Waits until the standby has all of the state.
    pub(crate) fn even(&self) {
        wait_for(|| {
            let file = stored(self.standby.dir.path());
            let master = std::fs::read(stored(self.master.dir.path())).ok()?;
            let same = std::fs::read(file).is_ok_and(|copy| copy == master);
            let shown = [&self.master, &self.standby].map(Self::shown);
            let even = shown.iter().flatten().all(|peer| {
                peer["connected"] == true && peer["leads"] == true && peer["behind"] == 0
            });
            (same && even && shown.iter().all(Option::is_some)).then_some(())
        });
    }

    /// Number of changes of the states of ports, and of Sets.
    pub(crate) fn totals(&self) -> (u64, u64) {
        self.site.fabric.inspect(|emulator| {
            let changes = emulator.network().state_changes();
            (changes, emulator.stats().sets_total())
        })
    }
}

/// A directory with the stock configuration, whose master stays master when a better one comes back.
pub(crate) fn elevating() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let name = "<Name>fm0</Name>";
    let elevated = format!("{name}<ElevatedPriority>8</ElevatedPriority>");
    configure(&dir.path().join("opafm.xml"), &[(name, &elevated)]);
    dir
}

pub(crate) fn role(daemon: &Daemon) -> String {
    let fabric = daemon.weft_ok(&["fabric", "show", "--json"]);
    let fabric: Value = serde_json::from_str(&fabric).unwrap();
    fabric["role"].as_str().unwrap().to_owned()
}

/// Waits until it is master and has swept as one; the time that took.
pub(crate) fn leads(daemon: &Daemon, since: Instant) -> Duration {
    daemon.logs("this manager is master");
    wait_for(|| {
        let log = daemon.log();
        let (_, later) = log.rsplit_once("this manager is master")?;
        later.contains(") ended in ").then(|| since.elapsed())
    })
}

#[test]
fn a_standby_takes_over_at_once_with_all_that_was_promised() {
    let pair = Pair::new();
    let members = [2, 5, 9, 14];
    pair.site.join(&members);
    // That of the host after the first member.
    let port = "node:edge1:port:4";
    let (master, standby) = (&pair.master, &pair.standby);
    master.weft_ok(&["port", "disable", "--reason", "a bad cable", port]);
    master.weft_ok(&["drain", "node:core2"]);
    let link = "node:edge2:port:5";
    master.weft_ok(&["quarantine", "add", link, "--reason", "it flaps"]);
    wait_for(|| stored(master.dir.path()).exists().then_some(()));
    let writes = pair.site.settled();
    pair.even();
    let (changes, _) = pair.totals();
    let drains = master.weft_ok(&["route", "drains"]);
    let disabled = master.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains("a bad cable"), "{disabled}");

    let dies = Instant::now();
    master.signal("KILL");
    let took = leads(standby, dies);
    println!("process killed: {took:?} to the end of the first sweep");
    assert!(took < AT_ONCE, "{took:?}: {}", standby.log());
    assert_eq!(standby.weft_ok(&["route", "drains"]), drains);
    assert_eq!(standby.weft_ok(&["port", "list", "--disabled"]), disabled);
    let quarantined = standby.weft_ok(&["quarantine", "list"]);
    assert!(
        quarantined.contains("edge2") && quarantined.contains("it flaps"),
        "{quarantined}"
    );
    assert_eq!(pair.site.settled(), writes, "Sets to multicast tables");
    assert_eq!(pair.site.asked(), [0; 16], "hosts notice nothing");
    assert_eq!(pair.totals().0, changes, "states of ports");
    for member in members {
        let left = pair.site.ask(member, method::DELETE);
        assert_eq!(left, 0, "{member} was a member");
    }
    let log = standby.log();
    assert!(
        log.contains("says that no subnet manager runs there"),
        "{log}"
    );
    assert!(!log.contains("are asked to register again"), "{log}");
}

#[test]
fn a_frozen_master_is_replaced_and_does_no_harm_when_it_wakes() {
    let pair = Pair::new();
    pair.site.join(&[3, 4]);
    wait_for(|| stored(pair.master.dir.path()).exists().then_some(()));
    let writes = pair.site.settled();
    pair.even();
    let (changes, _) = pair.totals();
    let dies = Instant::now();
    pair.master.signal("STOP");
    let took = leads(&pair.standby, dies);
    println!("process stopped: {took:?} to the end of the first sweep");
    assert!(took < AT_ONCE, "{took:?}: {}", pair.standby.log());
    assert_eq!(pair.site.settled(), writes);
    std::thread::sleep(Duration::from_secs(4));
    let (_, sets) = pair.totals();
    pair.master.signal("CONT");
    wait_for(|| (role(&pair.master) == "Standby").then_some(()));
    std::thread::sleep(Duration::from_secs(1));
    let (states, after) = pair.totals();
    assert_eq!(
        after,
        sets,
        "Sets since the old master woke: {}",
        pair.master.log()
    );
    assert_eq!(states, changes, "states of ports");
    assert_eq!(role(&pair.standby), "Master");
    assert_eq!(pair.site.asked(), [0; 16], "hosts notice nothing");
}

/// Passes bytes between a follower and the daemon until it is cut.
#[derive(Default)]
pub(crate) struct Relay {
    streams: Mutex<Vec<TcpStream>>,
    cut: AtomicBool,
    /// Bytes wait.
    holds: AtomicBool,
}

impl Relay {
    /// Its address, as a URL.
    pub(crate) fn start(self: &Arc<Self>, to: &str) -> String {
        let to: SocketAddr = to.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let relay = Arc::clone(self);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if relay.cut.load(Ordering::SeqCst) {
                    continue;
                }
                let far = TcpStream::connect(to).unwrap();
                let copies = [&stream, &far].map(|one| one.try_clone().unwrap());
                relay.streams.lock().unwrap().extend(copies);
                let back = [&far, &stream].map(|one| one.try_clone().unwrap());
                relay.pass(stream, far);
                let [from, to] = back;
                relay.pass(from, to);
            }
        });
        format!("http://{address}")
    }

    fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets no byte through for a while; none is lost.
    fn hold(&self, time: Duration) {
        self.holds(true);
        std::thread::sleep(time);
        self.holds(false);
    }

    /// Whether bytes wait from now on.
    pub(crate) fn holds(&self, holds: bool) {
        self.holds.store(holds, Ordering::SeqCst);
    }

    fn pass(self: &Arc<Self>, mut from: TcpStream, mut to: TcpStream) {
        let relay = Arc::clone(self);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = from.read(&mut bytes) {
                while relay.holds.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                if to.write_all(&bytes[..len]).is_err() {
                    return;
                }
            }
        });
    }
}

/// Three signs of life are missed, and the master answers in the fabric: the connection goes on, with all that is known.
#[test]
fn a_channel_that_is_late_costs_nothing() {
    let relay = Arc::new(Relay::default());
    let pair = Pair::through(|api| relay.start(api));
    pair.site.join(&[2, 5]);
    wait_for(|| stored(pair.master.dir.path()).exists().then_some(()));
    pair.site.settled();
    pair.even();
    relay.hold(Duration::from_millis(400));
    // The manager has looked, and is told again what was promised.
    std::thread::sleep(Duration::from_secs(1));
    pair.even();
    let log = pair.standby.log();
    assert_eq!(role(&pair.standby), "Standby", "{log}");
    assert!(!log.contains("no signs of life"), "{log}");
    pair.master.signal("KILL");
    leads(&pair.standby, Instant::now());
    assert_eq!(pair.site.asked(), [0; 16], "hosts notice nothing");
}

#[test]
fn a_cut_channel_is_no_death_and_what_was_handed_on_counts_as_old() {
    let relay = Arc::new(Relay::default());
    let pair = Pair::through(|api| relay.start(api));
    let members = [2, 5, 9, 14];
    pair.site.join(&members);
    wait_for(|| stored(pair.master.dir.path()).exists().then_some(()));
    pair.site.settled();
    pair.even();
    let before = pair.totals();
    relay.cut();
    pair.standby
        .logs("but answers in the fabric: it is master still");
    assert_eq!(role(&pair.standby), "Standby");
    assert_eq!(Pair::shown(&pair.standby).unwrap()["connected"], false);
    assert_eq!(pair.totals(), before, "nobody writes anything");
    // One more is promised that the standby does not hear of.
    pair.site.join(&[6]);
    pair.site.settled();
    pair.master.signal("KILL");
    leads(&pair.standby, Instant::now());
    wait_for(|| {
        pair.site
            .asked()
            .iter()
            .all(|asked| *asked == 1)
            .then_some(())
    });
}

/// M_Keys of all end ports, sorted.
fn keys(site: &Site) -> Vec<u64> {
    let mut keys = site.fabric.inspect(|emulator| {
        let network = emulator.network();
        let ends = network.devices().filter_map(|(_, device)| {
            let number = PortNum(u8::from(!device.is_switch()));
            device.port(number)
        });
        ends.map(|at| network.port(at).info().m_key)
            .collect::<Vec<u64>>()
    });
    keys.sort_unstable();
    keys
}

#[test]
fn with_fencing_ports_have_other_keys_after_a_takeover_and_none_after_its_end() {
    let site = Site::new("fattree:16,radix=8");
    let place = tempfile::tempdir().unwrap();
    let secret = place.path().join("secret");
    std::fs::write(&secret, [0x5E; 32]).unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let fenced = ["--fencing-secret", secret.to_str().unwrap()];
    let master = site.start(elevating(), 0).args(&fenced).up();
    let peer = ["--peer", &master.api];
    let standby = site.start(elevating(), 1).args(&peer).args(&fenced).up();
    master.logs("devices get the keys of term 1");
    let first = keys(&site);
    assert!(first[0] != 0 && first.windows(2).all(|two| two[0] < two[1]));
    let shown = master.weft_ok(&["fabric", "show", "--json"]);
    assert!(!shown.contains(&format!("{:x}", first[0])), "{shown}");
    wait_for(|| (Pair::shown(&standby)?["behind"] == 0).then_some(()));

    let dies = Instant::now();
    master.signal("KILL");
    leads(&standby, dies);
    standby.logs("devices get the keys of term 2");
    // What does not answer in time has its key by the next sweep.
    wait_for(|| {
        let second = keys(&site);
        let are_new = second.iter().all(|key| *key != 0 && !first.contains(key));
        are_new.then_some(())
    });
    assert!(
        !standby.log().contains("does not answer"),
        "{}",
        standby.log()
    );
    standby.signal("KILL");

    let last = site
        .start(elevating(), 2)
        .args(&fenced)
        .args(&["--fencing-end"])
        .up();
    wait_for(|| keys(&site).iter().all(|key| *key == 0).then_some(()));
    drop(last);
}

#[test]
fn a_pair_works_over_a_unix_socket() {
    let site = Site::new("one-switch:4");
    let place = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", place.path().join("api.sock").display());
    let master = site.start(elevating(), 0).args(&["--listen", &socket]).up();
    let standby = site.start(elevating(), 1).args(&["--peer", &socket]).up();
    is_followed(&master, &standby);
}

/// The standby has the master's state, byte for byte.
fn is_followed(master: &Daemon, standby: &Daemon) {
    let state = |daemon: &Daemon| std::fs::read(daemon.dir.path().join("state/state.0")).ok();
    wait_for(|| (state(master)? == state(standby)?).then_some(()));
    standby.logs("connected to the manager at");
}

#[test]
fn over_tls_only_the_certificate_of_an_administrator_follows() {
    let [ca, server, server_key, client, client_key] = [
        "ca.pem",
        "server.pem",
        "server.key",
        "client.pem",
        "client.key",
    ]
    .map(|name| data(name).to_str().unwrap().to_owned());
    let names = "certificates = [\"cn:client.test\"]";
    for (rules, follows) in [
        (format!("[administer]\n{names}\n"), true),
        (format!("[operate]\n{names}\n"), false),
    ] {
        let site = Site::new("one-switch:4");
        let dir = elevating();
        let access = dir.path().join("access.toml");
        std::fs::write(&access, rules).unwrap();
        let shows = |cert: &str, key: &str| {
            let words = ["--tls-cert", cert, "--tls-key", key, "--tls-client-ca", &ca];
            words.map(str::to_owned)
        };
        let own = shows(&server, &server_key);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let access = ["--access", access.to_str().unwrap()];
        let master = site.start(dir, 0).args(&own).args(&access).up();
        assert!(master.api.starts_with("https://"), "{}", master.api);
        let own = shows(&client, &client_key);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let peer = ["--peer", &master.api];
        let standby = site.start(elevating(), 1).args(&own).args(&peer).up();
        if follows {
            is_followed(&master, &standby);
        } else {
            standby.logs("no signs of life of the manager at");
            standby.logs("administer");
            assert!(!standby.log().contains("connected to the manager at"));
        }
    }
}
