//! A link between switches of a real fabric that goes down every second for a minute: how often each manager moves
//! routes, and whether the link is in use again afterwards.
#![allow(clippy::unwrap_used)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, Guid, PortNum, Topology};
use weft_interop::routes::judge;
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::{VENDOR_SM, program, public_file};

const PATIENCE: Duration = Duration::from_secs(120);
/// A real fabric: 400 switches, 2,328 hosts.
const REAL: &str = "hdr-400sw-2328hca.ibnetdiscover";
/// A fabric of its size, for where the file is not there.
const LIKE_IT: &str = "fattree:2592";
const LOSSES: u32 = 60;
const HALF_A_SECOND: Duration = Duration::from_millis(500);
/// `<WindowSize>`, in which losses count and for which a quarantine lasts.
const WINDOW: Duration = Duration::from_secs(60);
/// Most times that routes may move: around the link, back, and around it again.
const REROUTES_MAX: usize = 3;

fn topology() -> Topology {
    match public_file(REAL) {
        Some(file) => {
            let bytes = std::fs::read(file).unwrap();
            restart(&import_fabric(&bytes).unwrap().topology).unwrap()
        }
        None => LIKE_IT.parse::<FabricSpec>().unwrap().generate().unwrap(),
    }
}

/// One end of a link between switches that is not the only one of either.
fn between_switches(topology: &Topology) -> (Guid, PortNum) {
    let is_switch = |node| topology.switch_index(node).is_some();
    let links = topology.links();
    let mut links = links.filter(|(a, b)| is_switch(a.node) && is_switch(b.node));
    let (end, _) = links.nth(100).unwrap();
    (topology.node(end.node).unwrap().guid(), end.port)
}

/// The forwarding tables of all switches.
fn tables(fabric: &Fabric) -> u64 {
    let mut hasher = DefaultHasher::new();
    let nodes = fabric.view().nodes.into_iter();
    nodes.for_each(|node| node.lft.hash(&mut hasher));
    hasher.finish()
}

/// Looks at the tables, each half a second after the last one.
#[derive(Debug)]
struct Moves {
    last: u64,
    /// Looks at which they were other ones than before.
    count: usize,
}

impl Moves {
    fn of(fabric: &Fabric) -> Self {
        let last = tables(fabric);
        Self { last, count: 0 }
    }

    fn look(&mut self, fabric: &Fabric) {
        let now = tables(fabric);
        self.count += usize::from(std::mem::replace(&mut self.last, now) != now);
    }
}

#[test]
fn a_flapping_link_moves_routes_three_times_at_most() {
    if program(VENDOR_SM).is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        routing: "shortestpath",
        changes: &[("<WindowSize>15<", "<WindowSize>1<")],
        ..SmSettings::default()
    };
    let topology = topology();
    let (node, port) = between_switches(&topology);
    let fabrics = [(); 2].map(|()| Fabric::of(topology.clone(), Options::default()));
    let [weft, vendor] = &fabrics;
    let host = topology.hfis().next().unwrap().1.guid().to_string();
    let mut weftd = Weftd::start(weft, &host, &settings);
    let sm = VendorSm::start(vendor, &host, &settings);
    weftd.wait_until_master(PATIENCE);
    sm.swept(1, PATIENCE);
    let whole = tables(weft);

    let mut moves = [weft, vendor].map(Moves::of);
    let sweeps = sm.sweeps().len();
    let mut next = Instant::now();
    for half in 0..2 * LOSSES {
        let control = match half % 2 {
            0 => Control::LinkDown { node, port },
            _ => Control::LinkUp { node, port },
        };
        fabrics
            .iter()
            .for_each(|fabric| fabric.control(control.clone()));
        next += HALF_A_SECOND;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        for (moves, fabric) in moves.iter_mut().zip(&fabrics) {
            moves.look(fabric);
        }
    }
    let [ours, theirs] = moves.map(|moves| moves.count);
    let sweeps = sm.sweeps().len() - sweeps;
    println!(
        "{LOSSES} losses: weftd moved routes {ours} times, sm {theirs} times in {sweeps} sweeps"
    );
    let log = weftd.log();
    assert!((1..=REROUTES_MAX).contains(&ours), "{ours} times\n{log}");
    assert!(theirs >= ours, "{theirs} times there, {ours} here");
    assert!(
        log.contains("is in quarantine: its link went down"),
        "{log}"
    );
    // All but its two ends.
    let judgement = judge(&weft.view());
    let faults = (judgement.lost, judgement.inactive);
    assert_eq!(faults, (0, 2), "{judgement:?}");

    let until = Instant::now() + 2 * WINDOW;
    while tables(weft) != whole {
        let log = weftd.log();
        assert!(
            Instant::now() < until,
            "the link is not in use again\n{log}"
        );
        std::thread::sleep(HALF_A_SECOND);
    }
    assert!(judge(&weft.view()).is_good());
}
