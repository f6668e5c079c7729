//! The same fabric twice: once under Weft's daemon, once under the vendor's manager.

use std::time::{Duration, Instant};

use weft_interop::peers::{VENDOR_SM, program};
use weft_interop::vendor_sm::{SmSettings, Turn, VendorSm, turn};
use weft_interop::{Fabric, Ran, Weftd};

/// How long a manager may take for anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often something is tried.
const PAUSE: Duration = Duration::from_millis(300);
/// The host on which managers and tools run.
const HOST: &str = "node1";

/// Both fabrics with their managers.
pub(crate) struct Pair {
    pub(crate) weft: Fabric,
    pub(crate) vendor: Fabric,
    weftd: Weftd,
    _sm: VendorSm,
    _turn: Turn,
}

impl Pair {
    /// Brings both up, and waits until tools find the performance administration of both. None
    /// where the vendor's manager is not installed.
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
        let pair = Self {
            weft,
            vendor,
            weftd,
            _sm: sm,
            _turn: turn,
        };
        pair.wait_for("opapaquery -o imageInfo -n 0", "Image Interval");
        Some(pair)
    }

    /// Runs a tool on both.
    pub(crate) fn run(&self, line: &str) -> [Ran; 2] {
        [&self.weft, &self.vendor].map(|fabric| fabric.run(HOST, line))
    }

    /// Runs a tool again and again until it ends well on both and prints `text`.
    pub(crate) fn wait_for(&self, line: &str, text: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let both = self.run(line);
            if both.iter().all(|ran| ran.good && ran.text.contains(text)) {
                return;
            }
            let log = self.weftd.log();
            assert!(Instant::now() < until, "{line}: {both:?}\n{log}");
            std::thread::sleep(PAUSE);
        }
    }
}
