//! The daemon is killed at every step of its first sweep, of a plan, of a drain, and of a write of its state. The one that
//! starts after it lacks nothing that was acknowledged and writes no table that is right; the fabric is as it should be.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use weft_emulator::Options;
use weft_fabric::{FabricSpec, Guid};
use weft_interop::{Fabric, Running};
use weft_testkit::oracle::{lids, reach};
use weft_testkit::view::FabricView;
use weft_wire::sm::AttributeId;

use crate::harness::{Daemon, PATIENCE, text, wait_for, weft};
use crate::pair::elevating;
use crate::process::program;
use crate::registrations::Site;

const TREE: &str = "fattree:16,radix=8";
/// Time that an agent takes for a datagram, nanoseconds: strikes fall between two of them.
const AGENT_NS: u64 = 1_000_000;
/// Strikes of a sweep, a plan and a drain, at equal distances.
const STRIKES: u64 = 8;
/// Entries of a block of a linear forwarding table.
const BLOCK: usize = 64;

pub(crate) fn site() -> Site {
    let spec: FabricSpec = TREE.parse().unwrap();
    let options = Options {
        agent_latency_ns: AGENT_NS,
        ..Options::default()
    };
    Site::of(Fabric::of(spec.generate().unwrap(), options))
}

/// Sets that devices have carried out.
fn sets(site: &Site) -> u64 {
    let count = |emulator: &weft_emulator::Emulator| emulator.stats().sets_total();
    site.fabric.inspect(count)
}

fn table_sets(site: &Site) -> u64 {
    let attribute = AttributeId::LINEAR_FDB;
    let count = move |emulator: &weft_emulator::Emulator| emulator.stats().total(attribute).1;
    site.fabric.inspect(count)
}

/// Waits until so many Sets have been carried out, or something else has happened.
fn until(site: &Site, count: u64, mut ended: impl FnMut() -> bool) {
    let start = Instant::now();
    while sets(site) < count && !ended() {
        assert!(start.elapsed() < PATIENCE, "{} Sets", sets(site));
    }
}

/// Blocks of linear forwarding tables that differ.
fn changed_blocks(before: &FabricView, after: &FabricView) -> usize {
    let pairs = before.nodes.iter().zip(&after.nodes);
    let of_switch =
        |(before, after): (&weft_testkit::view::NodeView, &weft_testkit::view::NodeView)| {
            let len = before.lft.len().max(after.lft.len());
            let entry = |lft: &Vec<u8>, at| lft.get(at).copied().unwrap_or(0xFF);
            let differs = |at: &usize| entry(&before.lft, *at) != entry(&after.lft, *at);
            let blocks = (0..len).filter(differs).map(|at| at / BLOCK);
            blocks.collect::<std::collections::BTreeSet<_>>().len()
        };
    pairs.map(of_switch).sum()
}

/// What the fabric was when the daemon was struck.
pub(crate) struct Struck {
    view: FabricView,
    table_sets: u64,
    dir: TempDir,
}

impl Struck {
    pub(crate) fn new(site: &Site, dir: TempDir) -> Self {
        // What is on its way arrives.
        std::thread::sleep(Duration::from_nanos(20 * AGENT_NS));
        Self {
            view: site.fabric.view(),
            table_sets: table_sets(site),
            dir,
        }
    }

    /// Starts a daemon after that one, and judges what it does.
    pub(crate) fn judged(self, site: &Site, at: &str) -> Daemon {
        let again = site.start(self.dir, 0).up();
        let view = site.fabric.view();
        let root = view.find(site.hosts[0]).unwrap();
        let mut breaches = reach::check_reachable(&view, root);
        breaches.extend(reach::check_loops(&view));
        let before = lids::by_guid(&self.view);
        breaches.extend(lids::check_stable(&before, &lids::by_guid(&view)));
        assert!(breaches.is_empty(), "{at}: {breaches:?}\n{}", again.log());
        let written = table_sets(site) - self.table_sets;
        let needed = changed_blocks(&self.view, &view) as u64;
        assert!(
            written <= needed,
            "{at}: {written} Sets to tables for {needed} blocks that were wrong\n{}",
            again.log()
        );
        again
    }
}

/// A client as a child.
pub(crate) fn begin(daemon: &Daemon, args: &[&str]) -> Child {
    let mut command = program(weft());
    command.env("WEFT_ADDRESS", &daemon.api).args(args);
    command.stdin(Stdio::null());
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(crate) fn ended(client: Child) -> Output {
    client.wait_with_output().unwrap()
}

#[test]
fn a_first_sweep_that_is_struck_is_finished_by_the_next_daemon() {
    let whole = site();
    let daemon = whole.start(elevating(), 0).up();
    let all = sets(&whole);
    drop(daemon);
    for strike in 1..=STRIKES {
        let site = site();
        let mut start = site.start(elevating(), 0);
        start.command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon = Running::start(&mut start.command);
        until(&site, all * strike / STRIKES, || false);
        daemon.kill();
        let struck = Struck::new(&site, start.dir);
        drop(struck.judged(&site, &format!("strike {strike} of {STRIKES}")));
    }
}

/// Whether tables lead over a switch to others.
fn leads_over(view: &FabricView, switch: Guid) -> bool {
    let at = view.find(switch).unwrap();
    let mut others = view
        .nodes
        .iter()
        .filter(|node| node.switch && node.guid != switch);
    let own: Vec<_> = view.nodes[at].lids().collect();
    others.any(|node| {
        let lids = view
            .nodes
            .iter()
            .flat_map(weft_testkit::view::NodeView::lids);
        let mut lids = lids.filter(|lid| !own.contains(lid));
        lids.any(|lid| {
            let mut ports = node.egress(lid).filter_map(|number| node.port(number));
            ports.any(|port| port.peer.is_some_and(|(peer, _)| peer == at))
        })
    })
}

#[test]
fn a_drain_that_is_struck_is_kept_where_it_was_promised_and_harms_nobody_where_not() {
    let mut promised = 0;
    for strike in 0..=STRIKES {
        let site = site();
        let daemon = site.start(elevating(), 0).up();
        wait_for(|| {
            daemon
                .dir
                .path()
                .join("state/state.0")
                .exists()
                .then_some(())
        });
        let first = sets(&site);
        daemon.weft_ok(&["drain", "node:core2"]);
        let of_drain = sets(&site) - first;
        assert!(of_drain > 0);
        daemon.weft_ok(&["undrain", "node:core2"]);
        let first = sets(&site);
        let mut client = begin(&daemon, &["drain", "node:core2"]);
        until(&site, first + of_drain * strike / STRIKES, || {
            client.try_wait().unwrap().is_some()
        });
        if strike == STRIKES {
            // The last Set is done, and what was drained is to be promised.
            wait_for(|| client.try_wait().unwrap().map(|_| ()));
        }
        let dir = daemon.crash();
        let done = ended(client).status.success();
        promised += usize::from(done);
        let struck = Struck::new(&site, dir);
        let again = struck.judged(&site, &format!("strike {strike} of {STRIKES}"));
        let drains = again.weft_ok(&["route", "drains"]);
        // What was not promised may be in force; multicast follows later.
        let is_drained = drains.contains("core2: ");
        assert!(
            !done || drains == "core2: safe to pull\n",
            "it was promised: {drains}"
        );
        let core2 = site.fabric.host("core2");
        assert_eq!(
            leads_over(&site.fabric.view(), core2),
            !is_drained,
            "{drains}"
        );
    }
    assert!(promised > 0, "the last one is promised");
}

#[test]
fn a_plan_that_is_struck_leaves_routes_that_hold() {
    for strike in 0..=STRIKES {
        let site = site();
        let daemon = site.start(elevating(), 0).up();
        let plan = || {
            let said = daemon.weft_ok(&["route", "plan", "--engine", "shortestpath", "--json"]);
            let plan: serde_json::Value = serde_json::from_str(&said).unwrap();
            plan["plan_id"].to_string()
        };
        let first = sets(&site);
        daemon.weft_ok(&["route", "apply", &plan()]);
        let of_plan = sets(&site) - first;
        daemon.weft_ok(&["route", "rollback"]);
        let plan = plan();
        let first = sets(&site);
        let mut client = begin(&daemon, &["route", "apply", &plan]);
        until(&site, first + of_plan * strike / STRIKES, || {
            client.try_wait().unwrap().is_some()
        });
        let dir = daemon.crash();
        ended(client);
        let struck = Struck::new(&site, dir);
        drop(struck.judged(&site, &format!("strike {strike} of {STRIKES}")));
    }
}

/// Where a write of the state is struck.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// Before the new file is open.
    Open,
    /// With so many bytes in it.
    Bytes(usize),
    /// With all of them, before it takes the old one's place.
    Whole,
    /// When it has taken it.
    Renamed,
}

/// Has a daemon write its state, and kills it in the middle of that; what the new file has by then, where it has not
/// taken the old one's place.
fn strike(daemon: Daemon, point: Point, file: &Path, pipe: &Path) -> (TempDir, Option<Vec<u8>>) {
    match point {
        Point::Open => {
            std::thread::sleep(Duration::from_millis(300));
            (daemon.crash(), None)
        }
        Point::Bytes(count) => {
            let mut bytes = vec![0; count];
            File::open(pipe).unwrap().read_exact(&mut bytes).unwrap();
            (daemon.crash(), Some(bytes))
        }
        Point::Whole => {
            let mut bytes = Vec::new();
            File::open(pipe).unwrap().read_to_end(&mut bytes).unwrap();
            (daemon.crash(), Some(bytes))
        }
        Point::Renamed => {
            let before = std::fs::read(file).unwrap();
            let start = Instant::now();
            while std::fs::read(file).unwrap() == before {
                assert!(start.elapsed() < PATIENCE);
            }
            (daemon.crash(), None)
        }
    }
}

/// A port, as it is named, whose link is to be disabled.
pub(crate) fn disabled(daemon: &Daemon, reason: &str) -> bool {
    daemon
        .weft_ok(&["port", "list", "--disabled"])
        .contains(reason)
}

#[test]
fn a_write_of_the_state_that_is_struck_leaves_the_old_or_the_new_one() {
    for point in [
        Point::Open,
        Point::Bytes(0),
        Point::Bytes(1),
        Point::Bytes(60),
        Point::Whole,
        Point::Renamed,
    ] {
        let site = site();
        let daemon = site.start(elevating(), 0).up();
        daemon.weft_ok(&[
            "port",
            "disable",
            "--reason",
            "the first",
            "node:edge1:port:5",
        ]);
        let file: PathBuf = daemon.dir.path().join("state/state.0");
        let next = file.with_extension("0.new");
        let takes_place = matches!(point, Point::Renamed);
        if !takes_place {
            let mut mkfifo = Command::new("mkfifo");
            assert!(mkfifo.arg(&next).status().unwrap().success());
        }
        let asked = [
            "port",
            "disable",
            "--reason",
            "the second",
            "node:edge2:port:5",
        ];
        let client = begin(&daemon, &asked);
        let (dir, bytes) = strike(daemon, point, &file, &next);
        let client = ended(client);
        let is_promised = client.status.success();
        assert!(
            takes_place || !is_promised,
            "{point:?}: {}",
            text(&client.stdout)
        );
        let next = dir.path().join("state/state.0.new");
        if !takes_place {
            std::fs::remove_file(&next).unwrap();
        }
        if let Some(bytes) = bytes {
            std::fs::write(&next, bytes).unwrap();
        }
        let again = Struck::new(&site, dir).judged(&site, &format!("{point:?}"));
        assert!(disabled(&again, "the first"), "{point:?}: it was promised");
        assert_eq!(disabled(&again, "the second"), takes_place, "{point:?}");
        let log = again.log();
        assert!(!log.contains("cannot be used"), "{point:?}: {log}");
    }
}
