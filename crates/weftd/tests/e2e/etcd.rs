//! Mastership by a key in etcd: whatever becomes of etcd and of managers, the fabric goes on, and there is one master.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use weft_interop::Running;

use crate::harness::{Daemon, Start, data, free_address, signal, text, wait_for};
use crate::pair::{Pair, Relay, elevating, leads, role};
use crate::registrations::{Site, stored};

/// Time of a lease, and the longest one from a death to a new master here: etcd looks for leases that have ended twice a
/// second, and debug builds share few cores with other tests.
const LEASE: Duration = Duration::from_secs(5);
const REPLACED_WITHIN: Duration = Duration::from_secs(9);

/// An etcd of one server.
struct Etcd {
    programs: [PathBuf; 2],
    process: Running,
    dir: TempDir,
    at: SocketAddr,
    peer: SocketAddr,
    options: Vec<String>,
}

impl Etcd {
    /// None where this machine has none.
    fn start() -> Option<Self> {
        Self::with(&[])
    }

    /// With TLS where there are options.
    fn with(options: &[String]) -> Option<Self> {
        let programs = [
            weft_peers::program("etcd")?,
            weft_peers::program("etcdctl")?,
        ];
        let (at, peer) = (free_address(), free_address());
        let dir = tempfile::tempdir().unwrap();
        let mut etcd = Self {
            process: run(&programs[0], dir.path(), "data", [at, peer], options),
            programs,
            dir,
            at,
            peer,
            options: options.to_vec(),
        };
        if options.is_empty() {
            etcd.answers();
        }
        Some(etcd)
    }

    fn answers(&mut self) {
        wait_for(|| {
            let ended = self.process.try_wait().unwrap();
            assert_eq!(ended, None, "etcd has ended");
            self.ctl(&["endpoint", "health"]).then_some(())
        });
    }

    /// Begins again, with the data of this directory.
    fn again(&mut self, data: &str) {
        self.process.kill();
        let ends = [self.at, self.peer];
        self.process = run(
            &self.programs[0],
            self.dir.path(),
            data,
            ends,
            &self.options,
        );
        self.answers();
    }

    /// Whether a command of its client succeeds.
    fn ctl(&self, args: &[&str]) -> bool {
        let mut command = Command::new(&self.programs[1]);
        command.env("ETCDCTL_API", "3").args(args);
        command.args(["--endpoints", &format!("http://{}", self.at)]);
        command.output().unwrap().status.success()
    }

    /// What a key has.
    fn value(&self, key: &str) -> String {
        let mut command = Command::new(&self.programs[1]);
        command.env("ETCDCTL_API", "3");
        command.args(["--endpoints", &format!("http://{}", self.at)]);
        command.args(["get", "--print-value-only", key]);
        text(&command.output().unwrap().stdout)
    }

    fn url(&self) -> String {
        format!("etcd://{}/hall1", self.at)
    }

    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }
}

fn run(
    etcd: &Path,
    dir: &Path,
    data: &str,
    [at, peer]: [SocketAddr; 2],
    options: &[String],
) -> Running {
    let mut command = Command::new(etcd);
    let scheme = match options.is_empty() {
        true => "http",
        false => "https",
    };
    let (at, peer) = (format!("{scheme}://{at}"), format!("http://{peer}"));
    command.arg("--data-dir").arg(dir.join(data));
    command.args(["--listen-client-urls", &at, "--advertise-client-urls", &at]);
    command.args(["--listen-peer-urls", &peer]);
    command.args(["--initial-advertise-peer-urls", &peer]);
    command.args(["--initial-cluster", &format!("default={peer}")]);
    command.args(options);
    command.stdout(Stdio::null());
    command.stderr(std::fs::File::create(dir.join("log")).unwrap());
    Running::start(&mut command)
}

/// A master and its standby that ask etcd.
struct Managers {
    site: Site,
    etcd: Etcd,
    master: Daemon,
    standby: Daemon,
}

impl Managers {
    fn new() -> Option<Self> {
        let etcd = Etcd::start()?;
        let url = etcd.url();
        Some(Self::at(etcd, &url, &url, false))
    }

    /// They are a pair as well.
    fn paired() -> Option<Self> {
        let etcd = Etcd::start()?;
        let url = etcd.url();
        Some(Self::at(etcd, &url, &url, true))
    }

    /// Each of them finds etcd somewhere.
    fn at(etcd: Etcd, first: &str, second: &str, is_pair: bool) -> Self {
        let site = Site::new("fattree:16,radix=8");
        let master = begun(asks(site.start(elevating(), 0), first));
        let peer = ["--peer", &master.api];
        let peer: &[&str] = if is_pair { &peer } else { &[] };
        let standby = begun(asks(site.start(elevating(), 1), second).args(peer));
        site.join(&[2, 5, 9]);
        wait_for(|| stored(master.dir.path()).exists().then_some(()));
        site.settled();
        let managers = Self {
            site,
            etcd,
            master,
            standby,
        };
        managers.even();
        assert_eq!(managers.roles(), ["Master", "Standby"]);
        assert_eq!(mandate(&managers.master)["held"], true);
        assert_eq!(mandate(&managers.standby)["held"], false);
        managers
    }

    /// Waits until the standby has all of the state, and a copy of registrations.
    fn even(&self) {
        self.standby.logs("has all registrations of the master");
        wait_for(|| {
            let state = |daemon: &Daemon| std::fs::read(daemon.dir.path().join("state/state.0"));
            let same = state(&self.master).ok()? == state(&self.standby).ok()?;
            let lacks = mandate(&self.master)["behind_seconds"] != 0;
            let behind = Pair::shown(&self.standby).is_some_and(|peer| peer["behind"] != 0);
            (same && !lacks && !behind).then_some(())
        });
        // What hosts register arrives within a second.
        std::thread::sleep(Duration::from_secs(1));
    }

    fn roles(&self) -> [String; 2] {
        [&self.master, &self.standby].map(role)
    }

    /// Hosts were asked nothing, and those that joined are members, one of them no more after this.
    fn nothing_is_lost(&self, member: usize) {
        assert_eq!(self.site.asked(), [0; 16], "hosts notice nothing");
        let left = self.site.ask(member, weft_wire::header::method::DELETE);
        assert_eq!(left, 0, "{member} was a member");
    }

    fn writes(&self) -> u64 {
        self.site
            .fabric
            .inspect(|emulator| emulator.stats().sets_total())
    }
}

fn asks(start: Start, etcd: &str) -> Start {
    start.args(&["--ha", etcd])
}

/// Starts it with its log in a file.
fn logged(mut start: Start) -> Daemon {
    let log = std::fs::File::create(start.dir.path().join("stderr")).unwrap();
    start.command.stderr(log);
    start.up_unlogged()
}

/// Starts it and waits until it has swept as master, or stands by.
pub(crate) fn begun(start: Start) -> Daemon {
    let daemon = logged(start);
    wait_for(|| {
        let log = daemon.log();
        let leads = log.split_once("this manager is master");
        let has_swept =
            |(_, later): (&str, &str)| later.contains("fabric up") || later.contains(") ended in ");
        let stands_by = log.contains("standby: another manager");
        (stands_by || leads.is_some_and(has_swept)).then_some(())
    });
    daemon
}

fn mandate(daemon: &Daemon) -> Value {
    let fabric = daemon.weft_ok(&["fabric", "show", "--json"]);
    let fabric: Value = serde_json::from_str(&fabric).unwrap();
    fabric["mandate"].clone()
}

fn metric(daemon: &Daemon, name: &str) -> String {
    let scraped = daemon.scrape();
    let line = scraped.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("{name} is not in {scraped}"))
        .to_owned()
}

#[test]
fn a_killed_master_is_replaced_when_its_lease_ends() {
    let Some(managers) = Managers::new() else {
        return;
    };
    let held = managers.etcd.value("/weft/hall1/master");
    assert!(held.contains("\"port\":\"0x"), "{held}");
    let term = mandate(&managers.master)["term"].as_u64().unwrap();
    let dies = Instant::now();
    managers.master.signal("KILL");
    let took = leads(&managers.standby, dies);
    println!("process killed: {took:?} to the end of the first sweep");
    assert!(took < REPLACED_WITHIN, "{took:?}");
    let shown = mandate(&managers.standby);
    assert_eq!(shown["held"], true, "{shown}");
    assert!(shown["term"].as_u64().unwrap() > term, "{shown}");
    managers.nothing_is_lost(5);
}

#[test]
fn a_master_that_stops_as_asked_gives_the_key_back() {
    let Some(managers) = Managers::paired() else {
        return;
    };
    let ends = Instant::now();
    let (code, _) = managers.master.stop();
    assert_eq!(code, Some(0));
    let took = leads(&managers.standby, ends);
    println!("stopped as asked: {took:?} to the end of the first sweep");
    assert!(took < LEASE, "{took:?}: {}", managers.standby.log());
}

#[test]
fn a_frozen_master_is_replaced_and_does_no_harm_when_it_wakes() {
    let Some(managers) = Managers::new() else {
        return;
    };
    let dies = Instant::now();
    managers.master.signal("STOP");
    let took = leads(&managers.standby, dies);
    println!("process stopped: {took:?} to the end of the first sweep");
    assert!(took < REPLACED_WITHIN, "{took:?}");
    std::thread::sleep(Duration::from_secs(4));
    let sets = managers.writes();
    managers.master.signal("CONT");
    wait_for(|| (role(&managers.master) == "Standby").then_some(()));
    // Longer than a beat of both, and a poll.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(managers.writes(), sets, "{}", managers.master.log());
    assert_eq!(managers.roles(), ["Standby", "Master"]);
    assert_eq!(mandate(&managers.master)["held"], false);
    managers.nothing_is_lost(5);
}

/// etcd is broken for longer than a lease and mended again, and nothing else happens.
fn goes_on(breaks: impl FnOnce(&mut Etcd), mends: impl FnOnce(&mut Etcd)) {
    let Some(mut managers) = Managers::new() else {
        return;
    };
    let sets = managers.writes();
    breaks(&mut managers.etcd);
    for daemon in [&managers.master, &managers.standby] {
        daemon.logs("etcd is out of reach");
        assert_eq!(metric(daemon, "weft_etcd_answers"), "weft_etcd_answers 0");
        let shown = daemon.weft_ok(&["fabric", "show"]);
        assert!(shown.contains("OUT OF REACH since"), "{shown}");
    }
    let master = &managers.master;
    let health = wait_for(|| {
        let page = text(&master.weft(&["health"]).stdout);
        page.contains("etcd is out of reach").then_some(page)
    });
    assert!(health.contains("this manager is master"), "{health}");
    std::thread::sleep(LEASE);
    assert_eq!(managers.roles(), ["Master", "Standby"]);
    assert_eq!(managers.writes(), sets, "nobody writes anything");
    managers.site.join(&[6]);
    managers.site.settled();
    let sets = managers.writes();
    mends(&mut managers.etcd);
    wait_for(|| (mandate(&managers.master)["held"] == true).then_some(()));
    wait_for(|| (mandate(&managers.standby)["answers"] == true).then_some(()));
    assert_eq!(
        metric(&managers.master, "weft_etcd_answers"),
        "weft_etcd_answers 1"
    );
    std::thread::sleep(LEASE + Duration::from_secs(1));
    assert_eq!(managers.roles(), ["Master", "Standby"]);
    assert_eq!(managers.writes(), sets, "nobody writes anything");
    managers.nothing_is_lost(6);
    // etcd decides again.
    let dies = Instant::now();
    managers.master.signal("KILL");
    let took = leads(&managers.standby, dies);
    assert!(took < REPLACED_WITHIN, "{took:?}");
    assert_eq!(mandate(&managers.standby)["held"], true);
}

#[test]
fn the_fabric_goes_on_while_etcd_is_killed() {
    goes_on(|etcd| etcd.process.kill(), |etcd| etcd.again("data"));
}

#[test]
fn the_fabric_goes_on_while_etcd_is_frozen() {
    let send = |name: &'static str| move |etcd: &mut Etcd| signal(etcd.process.id(), name);
    goes_on(send("STOP"), send("CONT"));
}

#[test]
fn the_fabric_goes_on_with_a_new_etcd_that_knows_nothing() {
    goes_on(|etcd| etcd.process.kill(), |etcd| etcd.again("empty"));
}

#[test]
fn an_older_copy_of_etcd_changes_nothing() {
    let Some(mut managers) = Managers::new() else {
        return;
    };
    let copy = managers.etcd.file("copy");
    assert!(managers.etcd.ctl(&["snapshot", "save", &copy]));
    // The key has another holder than in the copy.
    managers.master.signal("KILL");
    leads(&managers.standby, Instant::now());
    let first = managers.site.start(elevating(), 0);
    managers.master = begun(asks(first, &managers.etcd.url()));
    assert_eq!(managers.roles(), ["Standby", "Master"]);
    managers.etcd.process.kill();
    let peer = format!("http://{}", managers.etcd.peer);
    let restored = managers.etcd.file("restored");
    let cluster = format!("default={peer}");
    assert!(managers.etcd.ctl(&[
        "snapshot",
        "restore",
        &copy,
        "--data-dir",
        &restored,
        "--initial-cluster",
        &cluster,
        "--initial-advertise-peer-urls",
        &peer,
    ]));
    managers.etcd.again("restored");
    let sets = managers.writes();
    // The lease of the copy has no owner and ends.
    wait_for(|| (mandate(&managers.standby)["held"] == true).then_some(()));
    std::thread::sleep(LEASE + Duration::from_secs(1));
    assert_eq!(managers.roles(), ["Standby", "Master"]);
    assert_eq!(managers.writes(), sets, "nobody writes anything");
    managers.nothing_is_lost(5);
}

#[test]
fn compaction_changes_nothing() {
    let Some(managers) = Managers::new() else {
        return;
    };
    for _ in 0..3 {
        assert!(managers.etcd.ctl(&["put", "other", "value"]));
    }
    let term = mandate(&managers.master)["term"].as_u64().unwrap();
    assert!(managers.etcd.ctl(&["compact", &(term + 2).to_string()]));
    assert!(managers.etcd.ctl(&["defrag"]));
    managers.master.signal("KILL");
    leads(&managers.standby, Instant::now());
    managers.nothing_is_lost(5);
}

#[test]
fn a_standby_has_the_state_that_its_master_wrote() {
    let Some(managers) = Managers::new() else {
        return;
    };
    let (master, standby) = (&managers.master, &managers.standby);
    let port = "node:edge1:port:4";
    master.weft_ok(&["port", "disable", "--reason", "a bad cable", port]);
    master.weft_ok(&["drain", "node:core2"]);
    let link = "node:edge2:port:5";
    master.weft_ok(&["quarantine", "add", link, "--reason", "it flaps"]);
    // A plan is for the fabric that it was made for.
    managers.site.settled();
    let planned = master.weft_ok(&["route", "plan", "--engine", "shortestpath", "--json"]);
    let planned: Value = serde_json::from_str(&planned).unwrap();
    master.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
    managers.site.settled();
    managers.even();
    let drains = master.weft_ok(&["route", "drains"]);
    let disabled = master.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains("a bad cable"), "{disabled}");
    assert_eq!(
        metric(master, "weft_etcd_lag_seconds"),
        "weft_etcd_lag_seconds 0.0"
    );
    master.signal("KILL");
    leads(standby, Instant::now());
    assert_eq!(standby.weft_ok(&["route", "drains"]), drains);
    assert_eq!(standby.weft_ok(&["port", "list", "--disabled"]), disabled);
    let quarantined = standby.weft_ok(&["quarantine", "list"]);
    assert!(quarantined.contains("it flaps"), "{quarantined}");
    standby.logs("whose state was in etcd as hall1, has ended with the takeover");
    managers.nothing_is_lost(5);
}

#[test]
fn state_in_etcd_that_is_torn_newer_or_of_another_fabric_is_refused_in_words() {
    let Some(managers) = Managers::new() else {
        return;
    };
    let head = "/weft/hall1/head/state";
    let good = managers.etcd.value(head);
    let prefix: Value = serde_json::from_str(&good).unwrap();
    let prefix = prefix["prefix"].to_string();
    let of = |format: u32, prefix: &str| {
        format!("{{\"format\":{format},\"term\":99,\"sequence\":5,\"prefix\":{prefix}}}")
    };
    let piece = "/weft/hall1/piece/state/0000000000000063-0000000000000005/000000";
    assert!(managers.etcd.ctl(&["put", piece, "no piece"]));
    for (value, told) in [
        (of(1, "7"), "not taken, state: it is of another fabric"),
        (of(2, &prefix), "not taken, state: format 2"),
        ("{".to_owned(), "not taken, state: EOF"),
        (of(1, &prefix), "not taken, state: a piece that is none"),
        (
            of(1, &prefix).replace("99", "98"),
            "not taken, state: pieces are missing",
        ),
    ] {
        assert!(managers.etcd.ctl(&["put", head, &value]));
        managers.standby.logs(told);
    }
    // The next change takes their place.
    managers.master.weft_ok(&["drain", "node:core2"]);
    managers.even();
    assert_eq!(managers.etcd.value(piece), "", "strange pieces are gone");
    assert_eq!(managers.roles(), ["Master", "Standby"]);
}

#[test]
fn what_a_master_writes_after_it_has_lost_the_key_is_refused() {
    let Some(etcd) = Etcd::start() else { return };
    let relay = Arc::new(Relay::default());
    let through = relay.start(&format!("http://{}", etcd.at));
    let through = through.replace("http:", "etcd:") + "/hall1";
    let direct = etcd.url();
    let managers = Managers::at(etcd, &through, &direct, false);
    let head = managers.etcd.value("/weft/hall1/head/state");
    relay.holds(true);
    managers.master.weft_ok(&["drain", "node:core2"]);
    // Its write is under way now.
    std::thread::sleep(Duration::from_millis(500));
    managers.standby.signal("STOP");
    assert!(managers.etcd.ctl(&["del", "/weft/hall1/master"]));
    assert!(managers.etcd.ctl(&["put", "/weft/hall1/master", "another"]));
    relay.holds(false);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(managers.etcd.value("/weft/hall1/head/state"), head);
    assert_eq!(role(&managers.master), "Master");
    managers.standby.signal("CONT");
}

#[test]
fn who_is_cut_off_from_etcd_hands_over_to_who_is_not() {
    for is_pair in [true, false] {
        hands_over(is_pair);
    }
}

fn hands_over(is_pair: bool) {
    let Some(etcd) = Etcd::start() else { return };
    let relay = Arc::new(Relay::default());
    let through = relay.start(&format!("http://{}", etcd.at));
    let through = through.replace("http:", "etcd:") + "/hall1";
    let direct = etcd.url();
    let managers = Managers::at(etcd, &through, &direct, is_pair);
    relay.holds(true);
    wait_for(|| (managers.roles() == ["Standby", "Master"]).then_some(()));
    assert_eq!(mandate(&managers.standby)["held"], true);
    managers.master.logs("etcd is out of reach");
    relay.holds(false);
    wait_for(|| (mandate(&managers.master)["answers"] == true).then_some(()));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(managers.roles(), ["Standby", "Master"]);
    managers.nothing_is_lost(5);
}

#[test]
fn without_etcd_a_standby_takes_over_where_the_master_is_gone_in_the_fabric() {
    let Some(mut managers) = Managers::paired() else {
        return;
    };
    managers.etcd.process.kill();
    managers.standby.logs("etcd is out of reach");
    let dies = Instant::now();
    managers.master.signal("KILL");
    let took = leads(&managers.standby, dies);
    println!("etcd and process killed: {took:?} to the end of the first sweep");
    managers.nothing_is_lost(5);
}

#[test]
fn a_key_that_says_nothing_usable_is_refused_in_words() {
    let Some(etcd) = Etcd::start() else { return };
    let site = Site::new("one-switch:4");
    for (value, told) in [
        ("{\"format\":1", "names no manager"),
        ("{\"format\":9}", "format 9, this version knows 1"),
        (
            "{\"format\":1,\"port\":\"0x1\",\"host\":\"a\",\"prefix\":\"0x7\"}",
            "another fabric",
        ),
    ] {
        assert!(etcd.ctl(&["put", "/weft/hall1/master", value]));
        let daemon = logged(asks(site.start(elevating(), 0), &etcd.url()));
        daemon.logs(told);
        let shown = daemon.weft_ok(&["fabric", "show"]);
        assert!(shown.contains(told), "{shown}");
        assert_eq!(role(&daemon), "Discovering");
        daemon.logs("no manager runs the fabric of 4 HFIs and 1 switch yet");
        assert!(etcd.ctl(&["del", "/weft/hall1/master"]));
        leads(&daemon, Instant::now());
        assert_eq!(mandate(&daemon)["held"], true);
        assert_eq!(daemon.stop().0, Some(0));
    }
}

#[test]
fn etcd_is_reached_by_tls_with_certificate_user_and_password() {
    let [ca, server, server_key, client, client_key] = [
        "ca.pem",
        "server.pem",
        "server.key",
        "client.pem",
        "client.key",
    ]
    .map(|name| data(name).to_str().unwrap().to_owned());
    let options = [
        ("--cert-file", &server),
        ("--key-file", &server_key),
        ("--trusted-ca-file", &ca),
    ];
    let options = options.map(|(name, value)| format!("{name}={value}"));
    let options = [&options[..], &["--client-cert-auth".to_owned()]].concat();
    let Some(etcd) = Etcd::with(&options) else {
        return;
    };
    let ctl = |args: &[&str]| {
        let mut command = Command::new(&etcd.programs[1]);
        command.env("ETCDCTL_API", "3").args(args);
        command.args(["--endpoints", &format!("https://{}", etcd.at)]);
        command.args(["--cacert", &ca, "--cert", &client, "--key", &client_key]);
        command.output().unwrap().status.success()
    };
    wait_for(|| ctl(&["endpoint", "health"]).then_some(()));
    for args in [
        &["user", "add", "root:sesame-open"][..],
        &["user", "grant-role", "root", "root"],
        &["auth", "enable"],
    ] {
        assert!(ctl(args), "{args:?}");
    }
    let user = etcd.file("user");
    let site = Site::new("one-switch:4");
    let url = etcd.url();
    let tls = [
        "--ha-ca",
        &ca,
        "--ha-cert",
        &client,
        "--ha-key",
        &client_key,
    ];
    for (password, answers) in [("sesame-open", true), ("sesame-shut", false)] {
        std::fs::write(&user, format!("root:{password}\n")).unwrap();
        std::fs::set_permissions(&user, PermissionsExt::from_mode(0o600)).unwrap();
        let start = asks(site.start(elevating(), 0), &url).args(&tls);
        // Without etcd it begins after the time of a lease.
        let daemon = begun(start.args(&["--ha-user", &user]));
        let shown = mandate(&daemon);
        assert_eq!(shown["held"], answers, "{shown}");
        let log = daemon.log();
        assert!(!log.contains("sesame"), "{log}");
        assert_eq!(log.contains("authentication failed"), !answers, "{log}");
        assert_eq!(daemon.stop().0, Some(0));
    }
}
