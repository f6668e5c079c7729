//! One fabric twice: under Weft's daemon, and under the vendor's manager.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use weft_interop::routes::inactive;
use weft_interop::vendor_sm::{SmSettings, Turn, VendorSm, turn};
use weft_interop::{Fabric, Ran, Weftd};
use weft_peers::{VENDOR_SM, program};

use crate::compare::Known;

/// Time limit for a manager.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval of retries.
const PAUSE: Duration = Duration::from_millis(300);
/// The host on which managers and tools run.
const HOST: &str = "node1";

/// Both fabrics with their managers.
pub(crate) struct Pair {
    pub(crate) weft: Fabric,
    pub(crate) vendor: Fabric,
    /// Common data: they assign LIDs alike.
    pub(crate) known: Known,
    weftd: Weftd,
    sm: VendorSm,
    _turn: Turn,
}

impl Pair {
    /// Starts both, and waits until tools find the performance administration of both. `None`
    /// if the vendor's manager is not installed.
    pub(crate) fn start(spec: &str) -> Option<Self> {
        program(VENDOR_SM)?;
        let settings = SmSettings {
            pm: true,
            ..SmSettings::default()
        };
        let turn = turn();
        let (weft, vendor) = (Fabric::start(spec), Fabric::start(spec));
        let sm = VendorSm::start(&vendor, HOST, &settings);
        let mut weftd = Weftd::start(&weft, HOST, &settings);
        weftd.wait_until_master(PATIENCE);
        sm.swept(1, PATIENCE);
        let known = Known {
            switch_lids: switch_lids(&weft),
        };
        let pair = Self {
            weft,
            vendor,
            known,
            weftd,
            sm,
            _turn: turn,
        };
        pair.wait_for_images();
        Some(pair)
    }

    /// Waits until the last images of both are of the whole fabric: one may be of a time at which a
    /// link was not up. The vendor's performance manager does not clear a port that its last image
    /// lacks.
    pub(crate) fn wait_for_images(&self) {
        let links = format!("Links: {} ", self.weft.topology().links().count());
        let whole = [links.as_str(), "NoResp Nodes: 0  NoResp Ports: 0"];
        self.wait_for("opapaquery -o imageInfo -n 0", &whole);
    }

    /// Sweeps that the vendor's manager has ended.
    pub(crate) fn vendors_sweeps(&self) -> usize {
        self.sm.sweeps().len()
    }

    /// Waits until the vendor's manager has ended more than `count` sweeps: it sweeps some time after a port
    /// has changed, and what tools print changes with that.
    pub(crate) fn wait_for_a_sweep_after(&self, count: usize) {
        self.sm.swept(count + 1, PATIENCE);
    }

    /// Runs a tool on both.
    pub(crate) fn run(&self, line: &str) -> [Ran; 2] {
        [&self.weft, &self.vendor].map(|fabric| fabric.run(HOST, line))
    }

    /// Waits until all ports of both that have a link are active.
    pub(crate) fn wait_until_active(&self) {
        let until = Instant::now() + PATIENCE;
        let waiting = |fabric: &&Fabric| inactive(&fabric.view()) > 0;
        while [&self.weft, &self.vendor].iter().any(waiting) {
            assert!(Instant::now() < until, "{}", self.weftd.log());
            std::thread::sleep(PAUSE);
        }
    }

    /// Runs a tool again and again until it ends well on both and prints all of `texts`.
    pub(crate) fn wait_for(&self, line: &str, texts: &[&str]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let both = self.run(line);
            if both.iter().all(|ran| has_all(ran, texts)) {
                return;
            }
            let log = self.weftd.log();
            assert!(Instant::now() < until, "{line}: {both:?}\n{log}");
            std::thread::sleep(PAUSE);
        }
    }
}

fn switch_lids(fabric: &Fabric) -> BTreeSet<u32> {
    let view = fabric.view();
    let switches = view.nodes.iter().filter(|node| node.switch);
    let ports = switches.filter_map(|node| node.ports.first()?.as_ref());
    ports.map(|port| port.lid.0).collect()
}

fn has_all(ran: &Ran, texts: &[&str]) -> bool {
    ran.good && texts.iter().all(|text| ran.text.contains(text))
}
