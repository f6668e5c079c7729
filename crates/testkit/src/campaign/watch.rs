//! Judges that look after every Set, while a campaign runs.

use std::sync::{Arc, Mutex, PoisonError};

use weft_dataplane::Network;
use weft_emulator::Emulator;
use weft_emulator::observe::{Observer, SetDone};

use crate::oracle::{Breach, loops};

/// Broken rules that are kept between two looks.
const BREACHES_MAX: usize = 8;

/// Collects what breaks I2 right after a Set.
#[derive(Debug, Clone, Default)]
pub(super) struct SetWatch(Arc<Mutex<Vec<Breach>>>);

impl SetWatch {
    /// Watches a fabric from now on.
    pub(super) fn start(emulator: &mut Emulator) -> Self {
        let watch = Self::default();
        emulator.observe(Box::new(watch.clone()));
        watch
    }

    /// Breaches since the last call.
    pub(super) fn take(&self) -> Vec<Breach> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for SetWatch {
    fn set_done(&mut self, network: &Network, done: SetDone) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= BREACHES_MAX {
            return;
        }
        let found = loops::check_set(network, done)
            .into_iter()
            .map(|breach| Breach {
                what: format!(
                    "after a Set of {} at {} ns: {}",
                    done.attribute, done.now.0, breach.what
                ),
                ..breach
            });
        kept.extend(found);
    }
}
