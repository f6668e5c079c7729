//! Judges that look after every Set, while a campaign runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use weft_dataplane::{Network, PortIndex};
use weft_emulator::Emulator;
use weft_emulator::observe::{Observer, SetDone};
use weft_fabric::Tick;

use crate::oracle::Breach;
use crate::oracle::loops::Circles;

/// Broken rules that are kept between two looks.
const BREACHES_MAX: usize = 8;

/// A rule broken by a Set.
#[derive(Debug, Clone)]
pub(super) struct Circle {
    pub(super) done: SetDone,
    pub(super) breach: Breach,
    /// When another port than that of the Set last wrote to a switch.
    pub(super) other_wrote: Option<Tick>,
}

/// Collects what breaks I2 right after a Set.
#[derive(Debug, Clone, Default)]
pub(super) struct SetWatch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    circles: Vec<Circle>,
    /// Circles that exist.
    open: Circles,
    /// When each port last wrote to a switch.
    wrote: BTreeMap<PortIndex, Tick>,
}

impl SetWatch {
    /// Watches a fabric from now on.
    pub(super) fn start(emulator: &mut Emulator) -> Self {
        let watch = Self::default();
        emulator.observe(Box::new(watch.clone()));
        watch
    }

    /// Cables have been plugged in elsewhere: circles that are there now were closed by no Set.
    pub(super) fn recabled(&self, network: &Network) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.open.recabled(network);
    }

    /// Breaches since the last call.
    pub(super) fn take(&self) -> Vec<Breach> {
        let circles = self.take_circles().into_iter();
        circles.map(|circle| circle.breach).collect()
    }

    /// Breaches since the last call, with their Sets.
    pub(super) fn take_circles(&self) -> Vec<Circle> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut seen.circles)
    }
}

impl Observer for SetWatch {
    fn set_done(&mut self, network: &Network, done: SetDone) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if network.device_at(done.node).is_switch() {
            seen.wrote.insert(done.from, done.now);
        }
        let others = seen.wrote.iter().filter(|(port, _)| **port != done.from);
        let other_wrote = others.map(|(_, at)| *at).max();
        let found = seen
            .open
            .closed_by(network, done)
            .into_iter()
            .map(|breach| Circle {
                done,
                breach: dated(done, breach),
                other_wrote,
            });
        let room = BREACHES_MAX.saturating_sub(seen.circles.len());
        let found: Vec<Circle> = found.take(room).collect();
        seen.circles.extend(found);
    }
}

fn dated(done: SetDone, breach: Breach) -> Breach {
    let (attribute, now) = (done.attribute, done.now.0);
    let what = format!("after a Set of {attribute} at {now} ns: {}", breach.what);
    Breach { what, ..breach }
}
