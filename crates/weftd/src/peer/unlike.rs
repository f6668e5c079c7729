//! Settings of a standby that are not its master's: told once, and with `ConfigConsistencyCheckLevel` 2 the end of its
//! standby role until they are the same again.

use std::sync::Arc;

use tracing::{info, warn};
use weft_fabric::enums::SmState;
use weft_fabric::text::count;

use super::settings::{Difference, Settings};
use crate::event_hub::InForce;

/// Differences in a line of the log.
const LOGGED_MAX: usize = 5;

/// The last comparison.
#[derive(Debug, Default)]
pub(crate) struct Unlike {
    theirs: Option<Settings>,
    /// The own ones that were compared.
    own: Option<Arc<InForce>>,
    /// None while it is not known.
    differences: Option<Vec<Difference>>,
    /// The manager was told to stand by no more.
    told: bool,
}

impl Unlike {
    /// The settings of the other one, as it hands them on.
    ///
    /// # Errors
    /// In words, where they are none.
    pub(crate) fn hear(&mut self, bytes: Option<&[u8]>) -> Result<(), String> {
        self.theirs = bytes.map(Settings::from_bytes).transpose()?;
        self.own = None;
        Ok(())
    }

    /// Compares again where either has changed; returns whether there is something new to show.
    pub(crate) fn compare(&mut self, peer: &str, own: &Arc<InForce>) -> bool {
        if self.own.as_ref().is_some_and(|last| Arc::ptr_eq(last, own)) {
            return false;
        }
        self.own = Some(Arc::clone(own));
        let both = own.settings.as_ref().zip(self.theirs.as_ref());
        let now = both.map(|(own, theirs)| own.differences(theirs));
        if now == self.differences {
            return false;
        }
        let some = self.differences.as_ref().is_some_and(|old| !old.is_empty());
        self.differences = now;
        match self.differences() {
            [] if some => info!(
                event = "settings_agree",
                peer, "the settings are those of the manager at {peer} again"
            ),
            [] => {}
            found => warn!(
                event = "settings_differ",
                peer,
                settings = found.len(),
                "{} not as at the manager at {peer}: {}",
                count(found.len(), "setting"),
                words(found)
            ),
        }
        true
    }

    /// What differs, as far as that is known.
    pub(super) fn known(&self) -> Option<&[Difference]> {
        self.differences.as_deref()
    }

    fn differences(&self) -> &[Difference] {
        self.known().unwrap_or_default()
    }

    /// Whether the manager, which has this role, is to be told now that it may stand by or not; none where it knows.
    /// `follows`: the other one is its master.
    pub(crate) fn verdict(&mut self, role: SmState, follows: bool) -> Option<bool> {
        let refuses = self
            .own
            .as_ref()
            .is_some_and(|own| own.refuses_other_settings);
        let differs = self.differences().iter().any(|one| !one.of_version);
        let unlike = refuses && differs;
        if unlike && follows && role == SmState::STANDBY {
            self.told = true;
            return Some(true);
        }
        let ends = self.told && !unlike;
        self.told &= !ends;
        ends.then_some(false)
    }
}

fn words(found: &[Difference]) -> String {
    let told = found
        .iter()
        .take(LOGGED_MAX)
        .map(|one| format!("{} is {} here, {} there", one.path, one.here, one.there));
    let mut words = told.collect::<Vec<_>>().join("; ");
    if found.len() > LOGGED_MAX {
        words += &format!("; and {} more", found.len() - LOGGED_MAX);
    }
    words
}
